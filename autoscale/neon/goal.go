package neon

import (
	"math"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// metrics are the samples that an agent goes by.
type metrics struct {
	system [3]float64 // by Load, MemoryUsage, MemoryCache
	has    [3]bool
	pages  []float64 // working set by minutes, from 1
}

// known says whether all of the system's samples are there.
func (m *metrics) known() bool { return m.has[Load] && m.has[MemoryUsage] && m.has[MemoryCache] }

// goal is how much a machine is to have.
type goal struct {
	rule  autoscale.Rule
	guard autoscale.Guard     // what changed the wanted amount
	want  autoscale.Resources // before bounds
	give  autoscale.Resources
	wait  model.Duration // until a wish or refusal that matters ends; Forever for none
	down  bool           // wait only unless the monitor is asked meanwhile
	wish  model.Duration // the part of wait that does not depend on that
}

// most bounds the compute units of a goal; every machine ends far below.
const most = 1 << 31

// byMetrics is the number of compute units that the metrics call for, and whether all of
// them are there.
func (a *Agent) byMetrics() (n int64, rule autoscale.Rule, all bool) {
	c, m := &a.cfg, &a.metrics
	cpu, memory := float64(c.Unit.CPU)/1000, float64(c.Unit.Memory)
	rule = RuleLoad
	take := func(v float64, r autoscale.Rule) { // whole units
		if v = min(v, most); v > float64(n) {
			n, rule = int64(v), r
		}
	}
	if m.known() {
		take(math.Round(m.system[Load]/c.LoadTarget/cpu), RuleLoad)
		take(math.Ceil(math.Round(m.system[MemoryUsage]/c.MemoryTarget)/memory), RuleMemory)
	}
	if !c.CacheMetrics || len(m.pages) == 0 {
		return n, rule, m.known() && !c.CacheMetrics
	}
	if set, ok := c.workingSet(m.pages); ok {
		take(math.Ceil(set/c.CacheShare/memory), RuleCache)
		if m.known() {
			cached := min(math.Trunc(set), m.system[MemoryCache])
			take(math.Ceil(math.Trunc((cached+m.system[MemoryUsage])/c.TotalTarget)/memory), RuleTotal)
		}
	}
	return n, rule, m.known()
}

// beyond is the smallest number of compute units that is more than x in the resources
// asked for.
func (a *Agent) beyond(x autoscale.Resources, cpu, memory bool) (n int64) {
	if cpu {
		n = 1 + x.CPU/a.cfg.Unit.CPU
	}
	if memory {
		n = max(n, 1+x.Memory/a.cfg.Unit.Memory)
	}
	return n
}

// goal is computed anew from the metrics, the wishes of the monitor and its refusals.
func (a *Agent) goal(now model.Time) goal {
	n, rule, all := a.byMetrics()
	g := goal{rule: rule, wait: model.Forever, wish: model.Forever}
	measured := n
	if left := a.wished.at.Add(a.cfg.WishValid).Sub(now); a.wished.is && left > 0 {
		if k := a.beyond(a.wished.base, a.wished.cpu, a.wished.memory); k > measured {
			n, g.rule, g.wish = k, RuleWish, left
		}
	}
	left := a.refused.at.Add(a.cfg.DownRetry).Sub(now)
	refused := a.refused.is && left > 0
	if refused {
		if k := a.beyond(a.refused.asked, true, true); k > measured {
			g.wait, g.down = left, true
			if k > n {
				n, g.rule = k, RuleRefused
			}
		}
	}
	unit := a.cfg.Unit
	g.want = autoscale.Resources{CPU: n * unit.CPU, Memory: n * unit.Memory}
	if !all {
		kept := atLeast(g.want, a.using)
		if kept != g.want {
			g.guard = GuardPartial
			if !a.metrics.known() {
				g.guard = autoscale.GuardNoMetric
			}
		}
		g.give = kept
	} else {
		g.give = g.want
	}
	before := g.give
	g.give = atLeast(atMost(g.give, a.cfg.Max), a.cfg.Min)
	switch {
	case anyLess(g.give, before):
		g.guard = autoscale.GuardMax
	case anyLess(before, g.give):
		g.guard = autoscale.GuardMin
	}
	if refused {
		// A machine keeps what it could not give back, even beyond its maximum.
		keep := autoscale.Resources{CPU: unit.CPU * (1 + a.refused.asked.CPU/unit.CPU), Memory: unit.Memory * (1 + a.refused.asked.Memory/unit.Memory)}
		if kept := atLeast(g.give, atMost(a.refused.from, keep)); kept != g.give {
			g.give, g.guard, g.wait, g.down = kept, GuardDenied, left, true
		}
	}
	return g
}
