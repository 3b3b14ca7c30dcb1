package scaling

import (
	"fmt"

	"orrery/autoscale"
	"orrery/autoscale/neon"
	"orrery/profiles"
	"orrery/scheduler/model"
)

// nodeUnits are the nodes of a file in compute units.
func nodeUnits(c *profiles.ScalingMachines) (list []Node) {
	for _, n := range nodesOf(c) {
		list = append(list, Node{float64(n.CPU) / float64(thousandths(c.UnitCPUs)), float64(n.Memory) / float64(c.UnitMemory)})
	}
	return list
}

// logKey is what one of the agents decides about: an actuator, or a migration.
type logKey struct {
	machine int
	verb    autoscale.Verb
	entity  autoscale.Entity
}

// mostUnitsLogged bounds the log of decisions about machines.
const mostUnitsLogged = 50_000

// unitLog keeps the decisions of the agents and of the plugin.
type unitLog struct {
	p    *Policy
	unit *autoscale.Resources
	last map[logKey]int // of the decisions
}

// log keeps a decision about another size or node, and one without metrics, once for as long
// as it stays the same.
func (l unitLog) log(now model.Time, machine int, d *autoscale.Decision, has autoscale.Resources) {
	key := logKey{machine, d.Would.Verb, d.Entity}
	if d.Would.Verb == autoscale.Migrate {
		key.entity = autoscale.Whole
	}
	what := ""
	switch {
	case d.Would.Verb == autoscale.Migrate:
		what = "leave the node"
	case d.Entity == neon.VM:
		what = "resize to " + l.units(d.Would.Resources)
	case d.Entity == neon.Scheduler && d.Rule != neon.RuleReport:
		what = "permit for " + l.units(d.Would.Resources)
	case d.Entity == autoscale.Whole && (d.Guard == autoscale.GuardNoMetric || d.Guard == neon.GuardPartial):
		what = "goal of " + l.units(d.Would.Resources)
	default:
		return
	}
	x := Decision{At: now, Machine: machine + 1, Size: has.CPU / l.unit.CPU, Rule: d.Rule, Guard: d.Guard, Would: what, Proposed: d.Proposed()}
	if n, known := l.last[key]; known && !x.Proposed {
		if last := &l.p.Decisions[n]; last.Size == x.Size && last.Rule == x.Rule && last.Guard == x.Guard && last.Would == x.Would && !last.Proposed {
			last.Repeated++
			return
		}
	}
	if len(l.p.Decisions) == mostUnitsLogged {
		l.p.Left++
		return
	}
	l.last[key] = len(l.p.Decisions)
	l.p.Decisions = append(l.p.Decisions, x)
}

// units are compute units in words.
func (l unitLog) units(x autoscale.Resources) string {
	cpu, memory := x.CPU/l.unit.CPU, x.Memory/l.unit.Memory
	if cpu != memory {
		return fmt.Sprintf("%d units of CPU and %d of memory", cpu, memory)
	}
	return fmt.Sprintf("%d units", cpu)
}
