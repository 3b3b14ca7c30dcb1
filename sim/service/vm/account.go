package vm

import (
	"orrery/autoscale/neon"
	"orrery/internal/libm"
	"orrery/scheduler/model"
)

const hour = 3600.0

// settle lets a machine work up to now: it does what is called for and what is left, as far
// as it has CPUs.
func (w *World) settle(now model.Time, m *machine) {
	if now <= m.at {
		return
	}
	s := now.Sub(m.at).Seconds()
	has := float64(m.size.CPU) / 1000
	called := float64(m.cpu * s)
	done := min(float64(has*s), called+m.backlog)
	late := max(0, called-done)
	w.out.Demand, w.out.Throttled = w.out.Demand+called, w.out.Throttled+late
	n := &w.step.Nodes[m.node]
	n.Called, n.Throttled = n.Called+called, n.Throttled+late
	m.called += called
	m.backlog = max(0, m.backlog+called-done)
	run := m.cpu + m.backlog/m.work // tasks that run or want to
	m.load = run + float64((m.load-run)*libm.Exp(-s/60))
	use := w.use(m)
	if use > float64(m.size.Memory) {
		w.out.Short += s
	}
	m.cached = min(float64(w.cfg.Memory.Cache), m.cached+float64(w.cfg.Memory.Fill*s), max(0, float64(m.size.Memory)-use))
	m.at = now
	w.charge(m, s)
}

// charge counts the compute units of a machine over some seconds.
func (w *World) charge(m *machine, s float64) {
	least, most := w.cfg.units(m.size)
	h, o := s/hour, &w.out
	o.Machines += h
	o.UnitHours += float64(most * h)
	o.Needed += float64(m.need * h)
	o.Wanted += float64(m.goal * h)
	o.Granted += float64(min(m.goal, m.permits) * h)
	switch {
	case least < m.need:
		o.Lack += float64((m.need - least) * h)
		o.Under += h
	case least > m.need:
		o.Surplus += float64((least - m.need) * h)
		o.Over += h
	}
	n := &w.step.Nodes[m.node]
	n.Needed += float64(m.need * s)
	n.Has += float64(least * s)
}

// touch counts what a node has reserved up to now, before that changes.
func (w *World) touch(now model.Time, n int) {
	if now <= w.nodes[n] {
		return
	}
	s := now.Sub(w.nodes[n]).Seconds()
	w.nodes[n] = now
	cpu, memory := w.plugin.Node(n)
	unit := w.cfg.Agent.Unit
	more := func(of func(l *neon.Ledger) int64) float64 {
		return max(float64(of(&cpu))/float64(unit.CPU), float64(of(&memory))/float64(unit.Memory))
	}
	reserved := more(func(l *neon.Ledger) int64 { return l.Reserved })
	logical, capacity := more((*neon.Ledger).Logical), more(func(l *neon.Ledger) int64 { return l.Pressure })
	if cpu.Reserved > cpu.Total || memory.Reserved > memory.Total {
		w.out.Crowded += s
	}
	w.out.Logical += float64(logical * s / hour)
	w.out.Capacity += float64(capacity * s / hour)
	x := &w.step.Nodes[n]
	x.Reserved += float64(reserved * s)
	x.Logical += float64(logical * s)
	x.Capacity += float64(capacity * s)
}

// check holds a node against the sums of the plugin.
func (w *World) check(now model.Time, n int) {
	if err := w.plugin.Check(n); err != nil && w.err == nil {
		w.err = &SumError{At: now, Err: err}
	}
}

// record ends a step of the timeline.
func (w *World) record(now model.Time) {
	for i := range w.vms {
		w.settle(now, &w.vms[i])
	}
	for n := range w.nodes {
		w.touch(now, n)
		w.check(now, n)
	}
	if w.cfg.Step == 0 {
		return
	}
	x := &w.step
	if x.Width = now.Sub(x.At); x.Width == 0 {
		return
	}
	s := x.Width.Seconds()
	for n := range x.Nodes {
		y := &x.Nodes[n]
		*y = Node{y.Needed / s, y.Has / s, y.Reserved / s, y.Logical / s, y.Capacity / s, y.Called, y.Throttled}
	}
	w.out.Timeline = append(w.out.Timeline, *x)
	w.step = Step{At: now, Nodes: make([]Node, len(w.nodes))}
}
