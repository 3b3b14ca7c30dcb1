package naive_test

import (
	"orrery/scheduler/model"
)

// service makes a reactive service of some jobs.
func (d *naiveDraw) service(e *naiveErrand) {
	if !d.has(withServices) || !d.chance("reactive", 45) {
		return
	}
	a := &e.Allocation
	a.Kind = model.Reactive
	a.NodesMin = int32(d.n("least", 1, max(1, int(a.NodesMin)/2)))
	a.NodesMax = a.NodesMin + int32(d.n("more", 0, len(d.w.cfg.Site.Nodes)))
	e.runtime = d.span("serves", 1, 60)
	a.Scaled = d.has(withScaled) && d.chance("scaled", 70)
	switch {
	case d.chance("no end", 50):
		a.Walltime = model.Forever
	default:
		a.Walltime = max(d.unit, e.runtime+d.span("over", -2, 6))
	}
}

// demands draws what services are to have, and a fact about what is none now and then.
func (d *naiveDraw) demands() {
	for i := range d.w.jobs {
		e := &d.w.jobs[i]
		if e.Kind != model.Reactive && !d.chance("no service", 5) {
			continue
		}
		for range d.n("demands", 0, 4) {
			at := e.Submit.Add(d.span("later by", 0, 50))
			seq := uint64(0)
			if d.has(withScaled) && d.chance("answered", 70) {
				seq = uint64(len(d.w.changes) + 1)
			}
			d.w.changes = append(d.w.changes, naiveChange{at, model.Fact{
				Seq:  seq,
				Kind: model.FactDemand, Job: e.Job, Ref: model.Ref(i), Value: int64(d.n("demand", 0, len(d.w.cfg.Site.Nodes)+2)),
			}})
		}
	}
}
