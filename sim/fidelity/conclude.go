package fidelity

import (
	"fmt"
	"math"

	"orrery/sim/metric"
)

// Verdict is how far replays may be believed on a question.
type Verdict string

// The verdicts.
const (
	Holds   Verdict = "holds"        // what a replay says may be taken as it is
	Roughly Verdict = "roughly"      // for comparisons of large differences alone
	Not     Verdict = "does not"     // a replay says nothing of it
	Unknown Verdict = "not measured" // too few jobs, or no figure
)

// Conclusion says what one may conclude from replays of the site about a question.
type Conclusion struct {
	About   string  `json:"about"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"`
}

// Bounds of the verdicts: assumptions, and no result. They are those that a change of policy has to be larger
// than to be worth a decision; docs/FIDELITY.md says why each is what it is.
const (
	enoughJobs = 30 // below, means say more of the jobs than of the policy

	goodMean, roughMean         = 0.05, 0.15 // of the mean wait
	goodGroup, roughGroup       = 0.15, 0.30 // of the mean wait of a size class
	goodShape, roughShape       = 0.10, 0.30 // Wasserstein distance over the mean wait
	goodOrder, roughOrder       = 0.90, 0.70 // rank correlation of waits
	goodBusy, roughBusy         = 0.05, 0.15 // of the utilisation
	orderBelowRuns              = 0.05       // how far below that of two real runs an order may be
	quietDraws                  = 0.04       // half an interval of the mean wait, as a part of it
	goodOvertakings, roughPairs = 0.80, 0.50 // of the overtakings of the record
)

// conclude says in words what the figures allow.
func (r *Report) conclude() []Conclusion {
	if r.All.Jobs < enoughJobs {
		return []Conclusion{{"all", Unknown, fmt.Sprintf("%d jobs were compared, and a verdict needs %d: the figures say more of these jobs than of the site.", r.All.Jobs, enoughJobs)}}
	}
	return append([]Conclusion{r.ofMean(), r.ofShape(), r.ofSizes(), r.ofOrder(), r.ofPairs(), r.ofUse()}, r.ofDraws())
}

// graded compares a figure, of which less is better, with its bounds.
func graded(x, good, rough float64) Verdict {
	switch {
	case math.IsNaN(x):
		return Unknown
	case x <= good:
		return Holds
	case x <= rough:
		return Roughly
	}
	return Not
}

// farthest is the end of an interval that is farther from 0.
func farthest(i Interval) float64 { return max(math.Abs(float64(i.Low)), math.Abs(float64(i.High))) }

func (r *Report) ofMean() Conclusion {
	e := r.All.Measures[WaitError]
	c := Conclusion{About: "mean wait", Verdict: graded(math.Abs(float64(e.Value)), goodMean, roughMean)}
	says := fmt.Sprintf("The replay's mean wait is %s from the record (%s to %s over the draws). ", percent(e.Value), percent(e.Low), percent(e.High))
	switch c.Verdict {
	case Holds:
		c.Text = says + "Mean waits of replays of this site may be read as they are."
	case Roughly:
		c.Text = says + fmt.Sprintf("A change of the mean wait by less than %.0f %% may not be read off a replay of this site; which of two policies has the shorter wait may, where they differ by more.", 100*farthest(e))
	case Not:
		c.Text = says + "The mean waits of replays are not those that this site would have: compare policies with each other alone, and take no wait as a promise."
	default:
		c.Text = "No job waited in the record: nothing can be said of waits."
	}
	return c
}

func (r *Report) ofShape() Conclusion {
	w := r.All.Measures[WassersteinOverMean]
	c := Conclusion{About: "distribution of waits", Verdict: graded(float64(w.Value), goodShape, roughShape)}
	if c.Verdict == Unknown {
		c.Text = "No job waited in the record."
		return c
	}
	c.Text = fmt.Sprintf("The distributions of waits are %s of the mean wait apart; the 95th percentile is %s from the record. ", share(w.Value), percent(r.All.Measures[P95WaitError].Value)) +
		map[Verdict]string{Holds: "Percentiles of waits may be read off replays.", Roughly: "Percentiles may be compared between replays, and not taken as those of the site.", Not: "Percentiles of waits say nothing of this site."}[c.Verdict]
	return c
}

// ofSizes judges by the worst of the size classes with enough jobs.
func (r *Report) ofSizes() Conclusion {
	worst, name, n := -1.0, "", 0
	for i := range r.Sizes {
		row := &r.Sizes[i]
		if e := row.Measures[WaitError].Value; row.Jobs >= enoughJobs && e.Defined() {
			if n++; math.Abs(float64(e)) > worst {
				worst, name = math.Abs(float64(e)), fmt.Sprintf("those of %s %s with %s", row.Name, r.Unit, percent(e))
			}
		}
	}
	if n < 2 {
		return Conclusion{"sizes of jobs", Unknown, fmt.Sprintf("Fewer than two size classes have %d jobs that waited.", enoughJobs)}
	}
	c := Conclusion{About: "sizes of jobs", Verdict: graded(worst, goodGroup, roughGroup)}
	c.Text = fmt.Sprintf("Of the jobs in the %d size classes with %d or more the farthest from the record are %s. ", n, enoughJobs, name) +
		map[Verdict]string{Holds: "Who pays for a change, small jobs or large ones, may be read off replays.", Roughly: "Which sizes gain from a change may be read where they gain much.", Not: "Which sizes gain and which lose may not be read off replays."}[c.Verdict]
	return c
}

func (r *Report) ofOrder() Conclusion {
	rho := r.All.Measures[RankCorrelationWaits].Value
	c := Conclusion{About: "single jobs", Verdict: Unknown}
	if !rho.Defined() {
		c.Text = fmt.Sprintf("Too few jobs waited more than %g s for an order of waits.", noticedWait)
		return c
	}
	c.Verdict = graded(-float64(rho), -goodOrder, -roughOrder)
	c.Text = fmt.Sprintf("The rank correlation of waits is %.2f. ", float64(rho)) +
		map[Verdict]string{Holds: "The start of a single job may be read off a replay.", Roughly: "Jobs that wait long in a replay are by and large those that wait long at the site; a single start may not be read.", Not: "When a single job starts may not be read off a replay."}[c.Verdict]
	if s := r.Spread; s != nil && s.RankCorrelationWaits.Defined() {
		if rho >= s.RankCorrelationWaits-orderBelowRuns {
			c.Text += fmt.Sprintf(" The site itself does not repeat it better: two real runs have %.2f in the mean.", float64(s.RankCorrelationWaits))
		} else {
			c.Text += fmt.Sprintf(" Two real runs of the site have %.2f in the mean: the rules of the replay differ from those of the site.", float64(s.RankCorrelationWaits))
		}
	}
	return c
}

func (r *Report) ofPairs() Conclusion {
	o, wrong := r.All.Measures[OvertakingsReproduced].Value, r.All.Measures[OvertakingsFalse].Value
	c := Conclusion{About: "overtakings", Verdict: graded(-float64(o), -goodOvertakings, -roughPairs)}
	if c.Verdict == Unknown {
		c.Text = "No job overtook another in the record."
		return c
	}
	c.Text = fmt.Sprintf("%s of the overtakings of the record are in the replay", share(o))
	if wrong.Defined() {
		c.Text += fmt.Sprintf(", and %s of those of the replay are not in the record", share(wrong))
	}
	c.Text += ". " + map[Verdict]string{Holds: "Priority and backfilling act on the jobs as they did.", Roughly: "Priority and backfilling act alike in part.", Not: "The replay lets other jobs ahead than the site did."}[c.Verdict]
	return c
}

func (r *Report) ofUse() Conclusion {
	u := r.All.Measures[UtilisationRMSE].Value
	c := Conclusion{About: "utilisation", Verdict: graded(float64(u), goodBusy, roughBusy)}
	if c.Verdict == Unknown {
		c.Text = "No time goes by in the record."
		return c
	}
	c.Text = fmt.Sprintf("Over time the utilisation is %s from the record (root mean square), and the makespan %s. ", share(u), percent(r.All.Measures[MakespanError].Value)) +
		map[Verdict]string{Holds: "What is busy when may be read off replays.", Roughly: "Utilisation may be read in the mean over hours, not at an instant.", Not: "What is busy at an instant may not be read off replays."}[c.Verdict]
	return c
}

// ofDraws says whether one replay may stand for all.
func (r *Report) ofDraws() Conclusion {
	m := r.All.Measures[MeanWaitReplayed]
	c := Conclusion{About: "one replay alone", Verdict: Unknown, Text: "One draw says nothing of how far another would be from it."}
	if r.Draws < 2 || !(m.Value > 0) {
		return c
	}
	half := float64(m.High-m.Low) / 2 / float64(m.Value)
	c.Verdict = graded(half, quietDraws, math.Inf(1))
	c.Text = fmt.Sprintf("Over %d draws the mean wait moves by %.1f %% to either side of its middle. ", r.Draws, 100*half) +
		map[Verdict]string{Holds: "One replay may stand for all.", Roughly: "Compare policies over several draws, never by one replay."}[c.Verdict]
	return c
}

func percent(x metric.Number) string {
	if !x.Defined() {
		return "not defined"
	}
	return fmt.Sprintf("%+.1f %%", 100*float64(x))
}

func share(x metric.Number) string { return fmt.Sprintf("%.0f %%", 100*float64(x)) }
