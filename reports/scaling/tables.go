// Package scaling draws the comparison of scaling policies on one service: tables for
// terminals, figures, and a page.
package scaling

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"orrery/internal/doc"
	"orrery/reports/plot"
	"orrery/reports/table"
	"orrery/scheduler/model"
	"orrery/sim/scaling"
	"orrery/sim/stat"
)

// measureAt is the place of a measure of a comparison.
func measureAt(c *scaling.Comparison, name string) int {
	return slices.IndexFunc(c.Measures(), func(m scaling.Measure) bool { return m.Name == name })
}

// missedAt is the place of what policies are to have little of beside the cost.
func missedAt(c *scaling.Comparison) int {
	if c.Machines != nil {
		return measureAt(c, "throttled")
	}
	return measureAt(c, "missed")
}

// figureText is a number to three digits or so.
func figureText(v float64) string { return plot.Measure{}.Say(v) }

// withReach is a mean with how far its interval reaches, where that is known.
func withReach(i stat.Interval) string {
	if math.IsNaN(i.Low) || i.Low == i.High {
		return figureText(i.Estimate)
	}
	return figureText(i.Estimate) + " ± " + figureText((i.High-i.Low)/2)
}

// headed is a measure with the head of its column.
type headed struct{ name, head string }

// PolicyTable has the measures of each policy that tell most, as means over the seeds with
// how far their 95 % intervals reach.
func PolicyTable(c *scaling.Comparison) *doc.Table {
	shown := []headed{
		{"missed", "missed %"}, {"bad_intervals", "bad steps %"}, {"latency_p95", "p95 s"}, {"cost", "cost"}, {"utilisation", "util %"},
		{"theta_under", "θ under %"}, {"theta_over", "θ over %"}, {"tau_under", "τ under %"}, {"tau_over", "τ over %"}, {"instability", "υ %"}, {"changes", "changes"}, {"reversals", "reversals"},
	}
	if c.Machines != nil {
		shown = machineHeads()
	}
	heads := []string{"policy", "start"}
	for _, s := range shown {
		heads = append(heads, s.head)
	}
	t := doc.New(append(heads, "won")...)
	for i := range c.Policies {
		p := &c.Policies[i]
		row := []any{p.Name, p.Start.String()}
		for _, s := range shown {
			v := p.Mean[measureAt(c, s.name)]
			row = append(row, doc.Quantity(withReach(v), v.Estimate))
		}
		t.Row(append(row, doc.Quantity(fmt.Sprintf("%.0f %%", 100*p.Won), p.Won))...)
	}
	if c.Machines != nil {
		return t.Optional("changes").Optional("unanswered").Optional("won")
	}
	return t.Optional("changes", "reversals").Optional("υ %").Optional("util %").Optional("won")
}

// ResponseTable has how each policy answered the step of the demand, as means over the seeds
// in which it reacted; nil where the demand has no step.
func ResponseTable(c *scaling.Comparison) *doc.Table {
	if c.Onset == nil {
		return nil
	}
	heads := []string{"policy"}
	for _, m := range scaling.ResponseMeasures() {
		heads = append(heads, m.Name+" "+m.Unit)
	}
	t := doc.New(append(heads, "note")...)
	for i := range c.Policies {
		p := &c.Policies[i]
		row := []any{p.Name}
		for k := range p.Answers {
			if v := p.Answers[k].Mean; v != nil {
				row = append(row, doc.Quantity(withReach(*v), v.Estimate))
				continue
			}
			row = append(row, "-")
		}
		t.Row(append(row, p.Unanswered)...)
	}
	return t
}

// OnsetText says which step the responses are to.
func OnsetText(c *scaling.Comparison) string {
	if c.Onset == nil || c.Onset.Reason != "" {
		return "Response to the step"
	}
	return fmt.Sprintf("Response to the step at %s from a need of %d to %d", c.Onset.At, c.Onset.Before, c.Onset.After)
}

// AgainstTable compares each policy with the first by what matters most: paired over the
// seeds.
func AgainstTable(c *scaling.Comparison) *doc.Table {
	t := doc.New("policy", "measure", "difference", "low", "high", "verdict")
	for i := range c.Policies {
		p := &c.Policies[i]
		if len(p.Against) == 0 {
			continue
		}
		names := []string{"missed", "bad_intervals", "latency_p95", "cost", "deviation"}
		if c.Machines != nil {
			names = []string{"throttled", "memory_short", "cost", "theta_under", "theta_over"}
		}
		for _, name := range names {
			k := measureAt(c, name)
			d, m := p.Against[k], c.Measures()[k]
			t.Row(p.Name, m.Says+" ("+m.Unit+")", doc.Quantity(figureText(d.Estimate), d.Estimate), doc.Quantity(figureText(d.Low), d.Low), doc.Quantity(figureText(d.High), d.High), p.Verdict(k))
		}
	}
	return t
}

// GuardTable counts which rules fired and which guards stopped them, of the first seed.
func GuardTable(c *scaling.Comparison) *doc.Table {
	t := doc.New("policy", "rule", "guard", "proposed", "decisions")
	for i := range c.Policies {
		for _, r := range c.Policies[i].First.Rules {
			proposed := ""
			if r.Proposed {
				proposed = "yes"
			}
			t.Row(c.Policies[i].Name, string(r.Rule), string(r.Guard), proposed, r.N)
		}
	}
	return t
}

// DecisionTable is the log of the decisions that wanted a change, up to so many of each
// policy; 0 is all that was kept.
func DecisionTable(c *scaling.Comparison, most int) *doc.Table {
	heads := []string{"policy", "time", "size", "rule", "wanted", "guard", "proposed", "repeated"}
	if c.Machines != nil {
		heads = slices.Insert(heads, 2, "machine")
	}
	t := doc.New(heads...)
	for i := range c.Policies {
		p := &c.Policies[i]
		for k, d := range p.Decisions {
			if most > 0 && k == most {
				break
			}
			proposed := ""
			if d.Proposed {
				proposed = "yes"
			}
			row := []any{p.Name, d.At.String(), d.Size, string(d.Rule), d.Would, string(d.Guard), proposed, d.Repeated}
			if c.Machines != nil {
				row = slices.Insert(row, 2, any(d.Machine))
			}
			t.Row(row...)
		}
	}
	return t
}

// About says in words what was compared, and which policy wins what.
func About(c *scaling.Comparison) []string {
	mode := "request by request"
	if c.Fluid {
		mode = "as flows"
	}
	out := []string{fmt.Sprintf("%s, %s, %s of demand with %s requests, simulated %s.", table.Counted(len(c.Policies), "policy"), table.Counted(c.Seeds, "seed"), plot.Span(c.Length.Seconds()), plot.Count(int64(c.Requests)), mode)}
	least, both := "Fewest missed", "misses"
	if c.Machines != nil {
		out, least, both = []string{aboutMachines(c)}, "Least CPU time done late", "late CPU time"
	}
	if rivals := compared(c); len(rivals) > 1 {
		line := fmt.Sprintf("%s, in percent: %s. Lowest cost: %s. Not dominated by cost and %s: %s", least, best(rivals, missedAt(c)), best(rivals, measureAt(c, "cost")), both, strings.Join(front(c), ", "))
		if len(rivals) < len(c.Policies) {
			line += "; clairvoyant is a reference and left out"
		}
		out = append(out, line+".")
	}
	if left := leftOpen(c); left != "" {
		out = append(out, "Requests still waited when the run ended, and are late where that was longer than the goal allows: "+left+".")
	}
	for _, n := range c.Notes {
		out = append(out, n+".")
	}
	return out
}

// leftOpen is of which policies at least one request of a thousand waited at the end.
func leftOpen(c *scaling.Comparison) string {
	k := measureAt(c, "open")
	if k < 0 {
		return ""
	}
	var out []string
	for i := range c.Policies {
		if share := c.Policies[i].Mean[k].Estimate; share >= 0.1 {
			out = append(out, fmt.Sprintf("%s (%s %%)", c.Policies[i].Name, figureText(share)))
		}
	}
	return strings.Join(out, ", ")
}

// reference is whether a policy knows the demand ahead, which none in production does.
func reference(p scaling.Policy) bool { return p.Kind == "clairvoyant" }

// compared are the policies but for references: those that compete.
func compared(c *scaling.Comparison) []scaling.Policy {
	return slices.DeleteFunc(slices.Clone(c.Policies), reference)
}

// best names the policies with the least of a measure, and how much it is.
func best(policies []scaling.Policy, k int) string {
	var names []string
	least := math.Inf(1)
	for i := range policies {
		v := policies[i].Mean[k].Estimate
		if v < least {
			names, least = nil, v
		}
		if v == least {
			names = append(names, policies[i].Name)
		}
	}
	return fmt.Sprintf("%s (%s)", strings.Join(names, ", "), figureText(least))
}

// front are the policies than which no other misses less at no more cost.
func front(c *scaling.Comparison) (names []string) {
	policies, missed, cost := compared(c), missedAt(c), measureAt(c, "cost")
	for i := range policies {
		a := policies[i].Mean
		if !slices.ContainsFunc(policies, func(p scaling.Policy) bool {
			b := p.Mean
			no := b[missed].Estimate <= a[missed].Estimate && b[cost].Estimate <= a[cost].Estimate
			return no && (b[missed].Estimate < a[missed].Estimate || b[cost].Estimate < a[cost].Estimate)
		}) {
			names = append(names, policies[i].Name)
		}
	}
	return names
}

// figures draw the sizes over the needs, and cost over misses.
func figures(c *scaling.Comparison) []*plot.Figure {
	if c.Machines != nil {
		return append(machineFigures(c), tradeOff(c, "CPU time done late"))
	}
	var rows []plot.SupplyRow
	for i := range c.Policies {
		p := &c.Policies[i]
		r := plot.SupplyRow{Name: p.Name, Limit: c.Missable}
		for k, x := range p.First.Timeline {
			s := plot.Supply{StartUS: int64(x.At), WidthUS: int64(c.Step), Ready: x.Ready, Held: x.Held}
			if k < len(c.Needs) {
				s.Need = float64(c.Needs[k])
			}
			if x.Arrived > 0 {
				s.Missed = min(1, (x.Late+x.Lost)/x.Arrived)
			}
			r.Supplies = append(r.Supplies, s)
		}
		if n := len(r.Supplies); n > 0 { // the last step may be shorter
			r.Supplies[n-1].WidthUS = int64(model.Time(c.Length) - model.Time(r.Supplies[n-1].StartUS))
		}
		rows = append(rows, r)
	}
	return []*plot.Figure{plot.SupplyOverDemand("supply", rows, plot.Clock{}), tradeOff(c, "requests late or lost")}
}

// tradeOff draws cost over what is missed.
func tradeOff(c *scaling.Comparison, missedName string) *plot.Figure {
	var all []plot.Candidate
	names, missed, cost := front(c), missedAt(c), measureAt(c, "cost")
	for i := range c.Policies {
		p := &c.Policies[i]
		standing := plot.Baseline
		switch {
		case reference(*p):
			standing = plot.Reference
		case slices.Contains(names, p.Name):
			standing = plot.Chosen
		}
		all = append(all, plot.Candidate{Name: p.Name, Standing: standing, At: []float64{p.Mean[missed].Estimate / 100, p.Mean[cost].Estimate}})
	}
	return plot.Pareto("cost-over-misses", plot.Measure{Name: missedName, Share: true, Better: -1}, plot.Measure{Name: "cost", Better: -1}, all)
}
