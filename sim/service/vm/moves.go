package vm

import (
	"orrery/autoscale"
	"orrery/scheduler/model"
	"orrery/sim/des"
)

// again is how long it takes until a node is sought anew for a migration without one.
const again = 10 * model.Second

// leave begins a migration: a pod on another node takes over what the machine has reserved.
func (w *World) leave(now model.Time, i int, held autoscale.Resources) {
	m := &w.vms[i]
	m.moving, m.held, m.until = true, held, now.Add(w.cfg.Pending)
	w.out.Migrations++
	w.step.Begun++
	w.target(now, i)
}

// target places the pod that is to take a machine over, on a node that has room. Where there
// is none it is tried again until the migration fails.
func (w *World) target(now model.Time, i int) {
	m := &w.vms[i]
	to, ok := w.place(m.held, m.node)
	switch {
	case ok:
		w.touch(now, to)
		if err := w.plugin.Reserve(m.pod^1, to, w.podOf(m.held), false); err != nil {
			w.err = err // it has room
			return
		}
		w.check(now, to)
		m.to = to
		w.push(now.Add(model.Duration(float64(m.size.Memory)/w.cfg.Bandwidth*float64(model.Second))), des.RankNodeUp, i, moved)
	case now < m.until:
		w.push(min(now.Add(again), m.until), des.RankNodeUp, i, seek)
	default:
		w.stay(now, m)
	}
}

// stay ends a migration that failed: the machine is entered anew with what it had reserved,
// so that it does not leave before its agent has been heard of. The server knows its permit:
// there is no buffer.
func (w *World) stay(now model.Time, m *machine) {
	m.moving = false
	w.out.Stayed++
	w.step.Stayed++
	w.touch(now, m.node)
	w.plugin.Delete(m.pod)
	pod := w.podOf(m.held)
	pod.Max = m.held
	if err := w.plugin.Reserve(m.pod, m.node, pod, true); err != nil {
		w.err = err // one that was found is never refused
	}
	w.check(now, m.node)
}

// comes is an event of RankNodeUp.
func (w *World) comes(now model.Time, i int, what model.Ref) {
	m := &w.vms[i]
	switch what {
	case moved:
		w.out.Moved++
		w.step.Moved++
		w.touch(now, m.node)
		w.plugin.Delete(m.pod)
		w.check(now, m.node)
		m.pod, m.node, m.moving = m.pod^1, m.to, false
	case seek:
		w.target(now, i)
	case fresh:
		m.back = true
		w.restart(i)
	}
}

// faults are pushed once.
func (w *World) faults() {
	if w.cfg.Fixed {
		return
	}
	for i := range w.vms {
		for _, s := range w.cfg.Restarts {
			w.push(s.From, des.RankNodeDown, i, 0)
			w.push(s.To, des.RankNodeUp, i, fresh)
		}
	}
}

// fails is the end of an agent: what the actuators are doing goes on, but no agent hears of it.
func (w *World) fails(m *machine) {
	m.agent, m.permit, m.back, m.wake = nil, nil, false, model.Never
	m.facts = m.facts[:0]
	for e := range m.flying {
		m.flying[e].deaf = m.flying[e].busy
	}
	w.out.Restarts++
}

// restart begins a fresh agent, once what the last one began has ended: it finds the machine
// as it is, and without a permit that is its bound.
func (w *World) restart(i int) {
	m := &w.vms[i]
	for e := range m.flying {
		if m.flying[e].busy {
			return
		}
	}
	if m.back = false; m.agent != nil {
		return
	}
	m.permits, _ = w.cfg.units(m.size)
	if err := w.agentOf(m); err != nil && w.err == nil {
		w.err = err
	}
}
