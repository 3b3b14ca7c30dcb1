package fidelity

// Measure is a figure that is measured anew in every draw.
type Measure int

// The measures, in the order in which they are shown.
const (
	MeanWaitReplayed Measure = iota
	WaitError
	WaitErrorSeconds
	MedianWaitReplayed
	MedianWaitError
	P95WaitReplayed
	P95WaitError
	RankCorrelationWaits
	RankCorrelationStarts
	StartErrorP90
	WassersteinOverMean
	groupMeasures // those above are of groups of jobs too

	OvertakingsReproduced Measure = iota - 1
	OvertakingsFalse
	MakespanError
	UtilisationRMSE
	Measures
)

// Definition says what a measure is.
type Definition struct {
	Key     string // in JSON; with _low and _high behind it, the interval over the draws
	Unit    string // s, or 1
	Formula string
	Range   string
}

// definitions of the measures. w and W are the recorded and the replayed wait of a job, s and S the starts.
var definitions = [Measures]Definition{
	MeanWaitReplayed:      {"mean_wait_replayed_s", "s", "mean(W)", "0 and more"},
	WaitError:             {"wait_error", "1", "(mean(W) - mean(w)) / mean(w)", "-1 and more; 0 is no error"},
	WaitErrorSeconds:      {"wait_error_s", "s", "mean(W) - mean(w)", "any; 0 is no error"},
	MedianWaitReplayed:    {"median_wait_replayed_s", "s", "p50(W)", "0 and more"},
	MedianWaitError:       {"median_wait_error", "1", "(p50(W) - p50(w)) / p50(w)", "-1 and more; 0 is no error"},
	P95WaitReplayed:       {"p95_wait_replayed_s", "s", "p95(W)", "0 and more"},
	P95WaitError:          {"p95_wait_error", "1", "(p95(W) - p95(w)) / p95(w)", "-1 and more; 0 is no error"},
	RankCorrelationWaits:  {"rank_correlation_waits", "1", "Spearman's rho of w and W over the jobs with w > 5 s or W > 5 s", "-1 to 1; 1 is the same order"},
	RankCorrelationStarts: {"rank_correlation_starts", "1", "Spearman's rho of s and S", "-1 to 1; 1 is the same order"},
	StartErrorP90:         {"start_error_p90_s", "s", "p90(|S - s|)", "0 and more; 0 is no error"},
	WassersteinOverMean:   {"wasserstein_over_mean", "1", "W1(w, W) / mean(w)", "0 and more; 0 is the same distribution"},
	OvertakingsReproduced: {"overtakings_reproduced", "1", "|R and P| / |R|", "0 to 1; 1 is all of them"},
	OvertakingsFalse:      {"overtakings_false", "1", "|P without R| / |P|", "0 to 1; 0 is none"},
	MakespanError:         {"makespan_error", "1", "(M - m) / m", "-1 and more; 0 is no error"},
	UtilisationRMSE:       {"utilisation_rmse", "1", "sqrt(mean over time of (U(t) - u(t))^2)", "0 and more; 0 is no error"},
}

// Definitions are all measures in their order.
func Definitions() []Definition { return definitions[:] }

// Key of the measure in JSON.
func (m Measure) Key() string { return definitions[m].Key }

// What the definitions rest on.
const (
	// noticedWait parts the waits that are ranked from those that are the delay of any start: a site starts
	// a job that nothing stands in the way of within some seconds, in an order that says nothing.
	noticedWait = 5.0 // s
	// leastRanked jobs have an order worth a correlation: that of two is 1 or -1 always.
	leastRanked = 3
	// drawnOutside is the share of the draws that lies outside an interval, half of it on either side.
	drawnOutside = 0.05
)
