package scaling

import (
	"fmt"

	"orrery/reports/plot"
	"orrery/reports/table"
	"orrery/sim/scaling"
	"orrery/sim/service/vm"
)

// machineHeads are the measures of virtual machines that tell most, as many as a page has room
// for: cost goes with the unit hours.
func machineHeads() []headed {
	return []headed{
		{"throttled", "CPU late %"}, {"memory_short", "RAM short %"}, {"granted", "granted %"}, {"cost", "cost"},
		{"theta_under", "θ under %"}, {"theta_over", "θ over %"}, {"unanswered", "unanswered"},
		{"capacity_pressure", "pressure h"}, {"migrated", "migrated"}, {"stayed", "stayed"}, {"changes", "changes"},
	}
}

// aboutMachines says what was compared.
func aboutMachines(c *scaling.Comparison) string {
	m := c.Machines
	return fmt.Sprintf("%s, %s, %s of demand on %s and %s, which call for %s CPU hours.", table.Counted(len(c.Policies), "policy"), table.Counted(c.Seeds, "seed"),
		plot.Span(c.Length.Seconds()), table.Counted(m.Count, "machine"), table.Counted(len(m.Nodes), "node"), figureText(m.Called))
}

// mostRows is how many nodes of all policies together have rows of their own in a figure, and
// mostLate the share of CPU time that may be late in a step.
const (
	mostRows = 16
	mostLate = 0.01
)

// machineFigures draw the compute units on the nodes over the needs, and what presses nodes.
func machineFigures(c *scaling.Comparison) []*plot.Figure {
	var units, pressures []plot.SupplyRow
	rows, note := len(c.Machines.Nodes), "each row is one node under a policy, of the first seed"
	if rows*len(c.Policies) > mostRows {
		rows, note = 1, "each row is all nodes under a policy, of the first seed"
	}
	for i := range c.Policies {
		p := &c.Policies[i]
		for n := range rows {
			name := p.Name
			if rows > 1 {
				name += fmt.Sprintf(", node %d", n+1)
			}
			units = append(units, unitsRow(name, p.Machines.Timeline, n, rows))
		}
		pressures = append(pressures, pressureRow(p))
	}
	return []*plot.Figure{plot.UnitsOverDemand("supply", units, note, plot.Clock{}), plot.Pressures("pressure", pressures, plot.Clock{})}
}

// unitsRow are the compute units of one node, or of all where there is one row.
func unitsRow(name string, steps []vm.Step, node, rows int) plot.SupplyRow {
	r := plot.SupplyRow{Name: name, Limit: mostLate}
	for _, s := range steps {
		y, called, late := plot.Supply{StartUS: int64(s.At), WidthUS: int64(s.Width)}, 0.0, 0.0
		for n, x := range s.Nodes {
			if rows > 1 && n != node {
				continue
			}
			y.Need, y.Ready, y.Held = y.Need+x.Needed, y.Ready+x.Has, y.Held+x.Reserved
			called, late = called+x.Called, late+x.Throttled
		}
		if called > 0 {
			y.Missed = late / called
		}
		r.Supplies = append(r.Supplies, y)
	}
	return r
}

// pressureRow are the pressures of all nodes under a policy, and its migrations.
func pressureRow(p *scaling.Policy) plot.SupplyRow {
	r := plot.SupplyRow{Name: p.Name}
	for _, s := range p.Machines.Timeline {
		y := plot.Supply{StartUS: int64(s.At), WidthUS: int64(s.Width), Held: float64(s.Begun), Missed: float64(s.Stayed)}
		for _, x := range s.Nodes {
			y.Need, y.Ready = y.Need+x.Capacity, y.Ready+x.Logical
		}
		r.Supplies = append(r.Supplies, y)
	}
	return r
}
