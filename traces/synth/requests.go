package synth

import (
	"sort"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/traces/synth/internal/param"
)

// Requests is how users come to request a walltime. The true run time is an
// accuracy times what the user would need to be safe, and the request is that
// need rounded up to a value that people write.
//
// Assumption: accuracies are uniform, as the histograms of Mu'alem and
// Feitelson are roughly (Utilization, predictability, workloads, and user
// runtime estimates in scheduling the IBM SP2 with backfilling, IEEE TPDS
// 12(6), 2001), and requests take few round values (Tsafrir, Etsion,
// Feitelson: Modeling user runtime estimates, JSSPP 2005). Neither is fitted,
// and requests do not depend on the user.
type Requests struct {
	// MinAccuracy is the smallest run time divided by need, above 0 and at
	// most 1.
	MinAccuracy float64
	// Values are the requests, ascending. The last is the cluster's limit: a job that
	// needs more requests that. None means that no job states a request.
	Values []model.Duration
}

// defaultRequests has accuracies from a twentieth and values from five minutes
// to two days.
func defaultRequests() Requests {
	r := Requests{MinAccuracy: 0.05}
	for _, minutes := range []model.Duration{5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 360, 480, 600, 720, 1080, 1440, 2160, 2880} {
		r.Values = append(r.Values, minutes*model.Minute)
	}
	return r
}

// Validate names the first of them that makes no sense as a parameter of a generator
// whose run times are up to longest.
func (r *Requests) Validate(generator string, longest model.Duration) error {
	ascending := sort.SliceIsSorted(r.Values, func(i, j int) bool { return r.Values[i] < r.Values[j] })
	last := len(r.Values) - 1
	return param.FirstWrong(generator, []param.Check{
		param.That(r.MinAccuracy > 0 && r.MinAccuracy <= 1, "Requests.MinAccuracy", r.MinAccuracy, "above 0, up to 1"),
		param.That(ascending && (last < 0 || r.Values[0] > 0), "Requests.Values", r.Values, "ascending values above 0"),
		param.That(last < 0 || r.Values[last] >= longest, "Requests.Values", r.Values, "a last value of at least the longest run time, "+longest.String()),
	})
}

// Request is the walltime requested for a run time; ok is false when users
// state none. It takes one draw.
func (r *Requests) Request(run model.Duration, s *draw.Source) (d model.Duration, ok bool) {
	if len(r.Values) == 0 {
		return 0, false
	}
	need := model.Duration(float64(run) / s.Uniform(r.MinAccuracy, 1))
	i := sort.Search(len(r.Values)-1, func(i int) bool { return r.Values[i] >= need })
	return r.Values[i], true
}
