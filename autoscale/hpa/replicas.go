package hpa

import (
	"errors"

	"orrery/scheduler/model"
)

// Why a metric demands nothing.
var (
	ErrNoMetrics  = errors.New("no samples")
	ErrNoPods     = errors.New("no pods")
	ErrUnready    = errors.New("no samples of pods that are ready")
	ErrNoRequest  = errors.New("a pod without a request for the resource")
	ErrOtherPods  = errors.New("samples of other pods only")
	ErrMetricType = errors.New("no such type of metric")
)

// Use is how much of its target a metric has reached.
type Use struct {
	Percent int64 // of what was requested, for Utilization
	Average int64 // per pod, or of the whole for Total, in thousandths
}

// replicas is how many a metric demands.
func (p *Policy) replicas(now model.Time, i int) (int64, Use, error) {
	m := &p.cfg.Metrics[i]
	switch m.Kind {
	case Utilization, AverageUse, PodsAverage:
		return p.perPod(now, i)
	case InvalidMetric:
		return 0, Use{}, ErrMetricType
	}
	s := &p.totals[i]
	if !s.fresh(now, p.cfg.MaxAge) {
		return 0, Use{}, ErrNoMetrics
	}
	switch m.Kind {
	case Total:
		return p.byRatio(float64(s.milli)/float64(toMilli(m.Target)), s.milli)
	case TotalPerPod:
		return p.perReplica(s.milli, toMilli(m.Target))
	}
	ratio := s.ratio / m.Target
	if p.cfg.Tolerance.within(ratio) {
		return p.size, Use{}, nil
	}
	return ceil(float64(ratio * float64(p.size))), Use{}, nil
}

// byRatio scales the ready pods. From zero there is nothing to scale, and no tolerance.
func (p *Policy) byRatio(ratio float64, milli int64) (int64, Use, error) {
	use := Use{Average: milli}
	if p.size == 0 {
		return ceil(ratio), use, nil
	}
	if p.cfg.Tolerance.within(ratio) {
		return p.size, use, nil
	}
	known, ready := false, 0
	for i := range p.pods.list {
		if x := &p.pods.list[i]; x.known {
			known = true
			if x.ready() {
				ready++
			}
		}
	}
	if !known {
		return 0, use, ErrNoPods
	}
	return ceil(float64(ratio * float64(ready))), use, nil
}

// perReplica is as many replicas as have the target each.
func (p *Policy) perReplica(milli, target int64) (int64, Use, error) {
	n := p.size
	ratio := float64(milli) / float64(float64(target)*float64(n))
	if !p.cfg.Tolerance.within(ratio) {
		n = ceil(float64(milli) / float64(target))
	}
	use := Use{}
	if p.size > 0 {
		use.Average = ceil(float64(milli) / float64(p.size))
	}
	return n, use, nil
}

// tally sums the samples of a metric by the group of their pods.
type tally struct {
	use, request     int64 // of the samples counted
	matched, entries int64 // pods with a request, and all, among them
	ready            int64
	unready, missing int64
	absent           int64 // what the missing pods requested
	stand            int64 // what they are taken to use on the way down
	aside            int64 // what the unready ones requested
	known            bool  // there are pods at all
	unrequested      bool
	sampled          bool
}

// perPod is the demand of a metric that has a sample for each pod.
func (p *Policy) perPod(now model.Time, i int) (int64, Use, error) {
	m := &p.cfg.Metrics[i]
	t := p.tally(now, i)
	if err := m.lacks(&t); err != nil {
		return 0, Use{}, err
	}
	ratio, use := m.ratio(&t)
	switch down := ratio < 1; {
	case down && t.missing > 0:
		return p.refilledDown(m, &t), use, nil
	case !down && t.missing+t.unready > 0: // exactly at the target this comes to no change
		return p.refilledUp(m, &t), use, nil
	case p.cfg.Tolerance.within(ratio):
		return p.size, use, nil
	}
	return ceil(float64(ratio * float64(t.ready))), use, nil
}

// lacks is what a metric of pods cannot do without.
func (m *Metric) lacks(t *tally) error {
	switch {
	case !t.sampled:
		return ErrNoMetrics
	case !t.known:
		return ErrNoPods
	case t.entries == 0:
		return ErrUnready
	case m.Kind == Utilization && t.unrequested:
		return ErrNoRequest
	case m.Kind == Utilization && t.request == 0:
		return ErrOtherPods
	}
	return nil
}

// refilledDown is the demand on the way down, where pods without a sample are taken to use
// all of the target: never more than there is.
func (p *Policy) refilledDown(m *Metric, t *tally) int64 {
	t.add(t.missing, t.stand, t.absent)
	again, _ := m.ratio(t)
	if again >= 1-p.cfg.Tolerance.Down {
		return p.size
	}
	return min(p.size, ceil(float64(again*float64(t.entries))))
}

// refilledUp is the demand on the way up, where pods without a sample, and those whose
// sample is set aside, are taken to use nothing: never less than there is.
func (p *Policy) refilledUp(m *Metric, t *tally) int64 {
	t.add(t.missing+t.unready, 0, t.absent+t.aside)
	again, _ := m.ratio(t)
	if again <= 1+p.cfg.Tolerance.Up {
		return p.size
	}
	return max(p.size, ceil(float64(again*float64(t.entries))))
}

// stand is what a pod without a sample is taken to use on the way down: all that it
// requested, or the target where that is more.
func (m *Metric) stand(request int64) int64 {
	if m.Kind != Utilization {
		return toMilli(m.Target)
	}
	return request * max(100, int64(m.Target)) / 100
}

// ratio of what is used to the target, in whole percents or thousandths.
func (m *Metric) ratio(t *tally) (float64, Use) {
	if m.Kind == Utilization {
		use := Use{Percent: t.use * 100 / t.request, Average: t.use / t.matched}
		return float64(use.Percent) / m.Target, use
	}
	use := Use{Average: t.use / t.entries}
	return float64(use.Average) / float64(toMilli(m.Target)), use
}

// tally sums up.
func (p *Policy) tally(now model.Time, i int) tally {
	m := &p.cfg.Metrics[i]
	var t tally
	for j := range p.pods.list {
		x := &p.pods.list[j]
		s := &x.samples[i]
		has := s.fresh(now, p.cfg.MaxAge)
		t.sampled = t.sampled || has
		request := x.request(m)
		if x.known {
			t.known = true
			t.unrequested = t.unrequested || request == 0
		}
		switch p.group(now, x, m, s) {
		case counted:
			t.ready++
			t.add(1, s.milli, request)
		case unready:
			t.unready++
			t.aside += request
		case missing:
			t.missing++
			t.absent += request
			t.stand += m.stand(request)
		case ignored:
			if !x.known && has {
				t.other(m, s.milli)
			}
		}
	}
	return t
}

// add counts pods with what they use and requested.
func (t *tally) add(n, use, request int64) {
	t.entries += n
	t.matched += n
	t.use += use
	t.request += request
}

// other adds the sample of another pod, which has a use where no requests are looked up.
func (t *tally) other(m *Metric, milli int64) {
	t.entries++
	if m.Kind != Utilization {
		t.use += milli
	}
}
