package fidelity

import (
	"math"
	"slices"

	"orrery/scheduler/model"
)

// values are the measures of one draw, NaN where there is none.
type values [Measures]float64

// sample are jobs that are measured together, as the record has them; spans and instants in seconds.
type sample struct {
	jobs   []int // places among the jobs that are compared
	waits  []float64
	starts []float64

	mean, median, p95 float64
}

func sampleOf(all []Job, jobs []int) *sample {
	s := &sample{jobs: jobs}
	for _, i := range jobs {
		s.waits = append(s.waits, seconds(all[i].Wait()))
		s.starts = append(s.starts, seconds(model.Duration(all[i].Start)))
	}
	s.mean, s.median, s.p95 = mean(s.waits), quantile(0.5, s.waits), quantile(0.95, s.waits)
	return s
}

func seconds(d model.Duration) float64 { return float64(d) / float64(model.Second) }

// replayed are the waits and starts of the jobs of the sample in a draw, read by the clock of the record.
func (s *sample) replayed(all []Job, times []Times) (waits, starts []float64) {
	for _, i := range s.jobs {
		waits = append(waits, seconds(times[i].Start.Sub(all[i].Submit)))
		starts = append(starts, seconds(model.Duration(times[i].Start)))
	}
	return waits, starts
}

// measure fills in the measures that groups of jobs have.
func (s *sample) measure(v *values, waits, starts []float64) {
	for m := range v {
		v[m] = math.NaN()
	}
	v[MeanWaitReplayed], v[MedianWaitReplayed], v[P95WaitReplayed] = mean(waits), quantile(0.5, waits), quantile(0.95, waits)
	v[WaitError], v[WaitErrorSeconds] = relative(s.mean, v[MeanWaitReplayed]), v[MeanWaitReplayed]-s.mean
	v[MedianWaitError], v[P95WaitError] = relative(s.median, v[MedianWaitReplayed]), relative(s.p95, v[P95WaitReplayed])
	v[RankCorrelationWaits] = spearman(noticed(s.waits, waits))
	v[RankCorrelationStarts] = spearman(s.starts, starts)
	errs := make([]float64, len(starts))
	for i := range starts {
		errs[i] = math.Abs(starts[i] - s.starts[i])
	}
	v[StartErrorP90] = quantile(0.9, errs)
	if s.mean > 0 {
		v[WassersteinOverMean] = wasserstein(s.waits, waits) / s.mean
	}
}

// workload is a sample of all jobs, with what the measures of the whole go by.
type workload struct {
	*sample
	all      []Job
	submits  []float64
	overtook int64 // pairs in the record
	units    []int64
	makespan float64
}

func workloadOf(all []Job) *workload {
	everyone := make([]int, len(all))
	for i := range everyone {
		everyone[i] = i
	}
	w := &workload{sample: sampleOf(all, everyone), all: all}
	first, last := model.Never, model.Time(math.MinInt64)
	for i := range all {
		w.submits = append(w.submits, seconds(model.Duration(all[i].Submit)))
		first, last = min(first, all[i].Submit), max(last, all[i].End)
	}
	w.units, _ = held(all)
	w.overtook = overtakings(w.submits, w.starts, w.starts)
	w.makespan = seconds(last.Sub(first))
	return w
}

// measureWhole fills in all measures.
func (w *workload) measureWhole(v *values, times []Times) {
	waits, starts := w.replayed(w.all, times)
	w.measure(v, waits, starts)
	both, did := overtakings(w.submits, w.starts, starts), overtakings(w.submits, starts, starts)
	if w.overtook > 0 {
		v[OvertakingsReproduced] = float64(both) / float64(w.overtook)
	}
	if did > 0 {
		v[OvertakingsFalse] = float64(did-both) / float64(did)
	}
	last := slices.MaxFunc(times, func(a, b Times) int { return int(min(1, max(-1, a.End-b.End))) })
	v[MakespanError] = relative(w.makespan, seconds(last.End.Sub(slices.MinFunc(w.all, bySubmit).Submit)))
	v[UtilisationRMSE] = utilisationRMSE(w.all, w.units, times)
}

func bySubmit(a, b Job) int { return int(min(1, max(-1, a.Submit-b.Submit))) }
