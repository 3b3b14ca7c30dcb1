package naive_test

import (
	"testing"

	"orrery/scheduler/model"
	"orrery/scheduler/site"
)

func rvMutex(a *naiveErrand, m int32) {
	a.Deps = append(a.Deps, model.Dependency{On: -1, Condition: model.Mutex, Mutex: m})
}

// Gate in preemptAbove is not recorded.
func TestElsewhereGate(t *testing.T) {
	w := wakeSite([]int{0, 0, 0, 1}, 2)
	w.cfg.Policies[0].Preempts = true
	w.cfg.Policies[0].Preemption.NearCompletion = 0
	w.cfg.Policies[0].Cycle = 10 * model.Second
	w.enqueue(0, 0, 1, 1000, 0)                  // victim
	w.enqueue(0, 0, 2, 1000, 8).Sensitive = true // runs
	w.enqueue(0, 1, 3, 100, 9)                   // H: victims of class 0..8 : 3 nodes may all leave
	q := w.enqueue(0, 2, 1, 100, 4)
	rvMutex(q, 0)
	y := w.enqueue(1, 3, 1, 20, 5)
	rvMutex(y, 0)
	rvTrace(t, w)
}

// The core beside the naive one alone, so that the test sees whether it would look by itself.
func TestElsewhereFreshPreempts(t *testing.T) {
	w := wakeSite([]int{0, 0, 0, 0, 1}, 2)
	w.cfg.Policies[0].Preempts = true
	w.cfg.Policies[0].Preemption.NearCompletion = 0
	w.cfg.Policies[0].Cycle = 10 * model.Second
	w.enqueue(0, 0, 1, 1000, 0)                  // victim
	w.enqueue(0, 0, 2, 1000, 8).Sensitive = true // runs
	w.enqueue(0, 1, 4, 100, 9)                   // H
	w.enqueue(0, 1, 1, 5000, 3)                  // Z: has room, delays H
	w.enqueue(0, 12, 2, 100, 4)                  // q, fresh: preempts the victim
	rvTrace(t, w)
}

// A job elsewhere is overdue, and less than a second is left until the reservation.
func TestElsewhereOverdue(t *testing.T) {
	w := wakeSite([]int{0, 0, 1}, 2)
	w.cfg.Site.PowerCap = 100
	w.cfg.Policies[0].Cycle = model.Second / 2
	w.cfg.Extend = true
	w.grace = 1000 * model.Second
	w.cfg.Quota.Tick = 1000 * model.Second
	w.cfg.Quota.Window = 4000 * model.Second
	for i := range w.cfg.Site.Nodes {
		w.cfg.Site.Nodes[i].BusyPower = 0
	}
	e := w.enqueue(0, 0, 1, 20, 5) // E ends at 20.4
	e.Walltime += 400 * model.Millisecond
	e.runtime = 100 * model.Second
	x := w.enqueue(1, 0, 1, 10, 5) // X elsewhere: predicted 10, ends at 100
	x.Power, x.runtime = 60, 100*model.Second
	h := w.enqueue(0, 1, 2, 100, 9)
	h.Power = 60
	w.enqueue(0, 1, 1, 5000, 1) // Z0: would delay H
	z := w.enqueue(0, 19, 1, 1, 0)
	z.Submit += model.Time(900 * model.Millisecond)
	z.Eligible = z.Submit
	rvTrace(t, w)
}

func rvTrace(t *testing.T, w *naiveWorld) {
	st := &naiveStage{w: w, pair: &both{a: site.New(w.cfg), b: w.naive()}}
	st.play(st.pair)
	for _, l := range st.pair.trace {
		t.Log(l)
	}
	requireAlike(t, w)
}
