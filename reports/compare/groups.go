package compare

import (
	"orrery/internal/doc"
	"orrery/reports/page"
	"orrery/sim/metric"
	"orrery/sim/record"
)

// GroupDiff is one vCluster, tenant or class in both runs of a site.
type GroupDiff struct {
	By      string       `json:"by"` // vcluster, tenant or class
	Name    string       `json:"name"`
	Window  string       `json:"window"`
	JobsA   *int64       `json:"jobs_a"` // nil where the run has no such group
	JobsB   *int64       `json:"jobs_b"`
	Metrics []MetricDiff `json:"metrics"`
}

// groupMetrics are the figures of a group that are compared. Starved and within_target
// are shares of the jobs, share is of what was held.
var groupMetrics = []struct {
	name, unit string
	of         func(*record.Group) *float64
}{
	{"wait_mean", "s", func(g *record.Group) *float64 { return g.WaitMean }},
	{"wait_p90", "s", func(g *record.Group) *float64 { return g.WaitP90 }},
	{"wait_max", "s", func(g *record.Group) *float64 { return g.WaitMax }},
	{"within_target", "", func(g *record.Group) *float64 { return g.Within }},
	{"starved", "", func(g *record.Group) *float64 { return g.Starved }},
	{"share", "", func(g *record.Group) *float64 { return g.Share }},
	{"started", "jobs", func(g *record.Group) *float64 { return counted(g.Started) }},
	{"preemptions", "", func(g *record.Group) *float64 { return counted(g.Preemptions) }},
	{"requeues", "", func(g *record.Group) *float64 { return counted(g.Requeues) }},
	{"energy", "kWh", energyOf},
	{"lost_gpu_hours", "GPU·h", func(g *record.Group) *float64 { h := float64(g.LostUS) / 3.6e9; return &h }},
}

// energyOf is nil where no power is known.
func energyOf(g *record.Group) *float64 {
	if g.EnergyHigh == 0 {
		return nil
	}
	x := float64(g.Energy) / 3.6e9
	return &x
}

func counted(n int64) *float64 { x := float64(n); return &x }

// diffGroups compares the groups of two sites, in the order of the first; those of
// the second alone follow. Runs of no site have none.
func diffGroups(a, b *metric.Table) []GroupDiff {
	type key struct{ by, name, window string }
	keyOf := func(g *record.Group) key { return key{g.By, g.Name, g.Window} }
	inB := map[key]*record.Group{}
	for i := range b.Groups {
		inB[keyOf(&b.Groups[i])] = &b.Groups[i]
	}
	var out []GroupDiff
	met := map[key]bool{}
	for i := range a.Groups {
		k := keyOf(&a.Groups[i])
		met[k] = true
		out = append(out, diffGroup(&a.Groups[i], inB[k]))
	}
	for i := range b.Groups {
		if !met[keyOf(&b.Groups[i])] {
			out = append(out, diffGroup(nil, &b.Groups[i]))
		}
	}
	return out
}

// diffGroup compares a group; one of the two may be nil.
func diffGroup(a, b *record.Group) GroupDiff {
	one := a
	if one == nil {
		one = b
	}
	d := GroupDiff{By: one.By, Name: one.Name, Window: one.Window}
	for _, m := range groupMetrics {
		x := metric.Metric{Name: m.name, Unit: m.unit, Window: one.Window}
		y := x
		if a != nil {
			x.Value, d.JobsA = m.of(a), &a.Jobs
		}
		if b != nil {
			y.Value, d.JobsB = m.of(b), &b.Jobs
		}
		d.Metrics = append(d.Metrics, diffMetric(x, y))
	}
	return d
}

// GroupTable shows the vClusters, tenants and classes of both runs over the whole
// run: mean waits in seconds and shares of what was held. It is empty for runs of no
// site.
func (c *Comparison) GroupTable() *doc.Table {
	t := doc.New("group", "name", "jobs A", "jobs B", "mean wait A", "mean wait B", "difference", "change", "share A", "share B", "preemptions A", "preemptions B")
	for i := range c.Groups {
		g := &c.Groups[i]
		if g.Window != metric.All {
			continue
		}
		wait, share, preempted := g.metric("wait_mean"), g.metric("share"), g.metric("preemptions")
		t.Row(g.By, g.Name, jobsCell(g.JobsA), jobsCell(g.JobsB), optional(wait.A, ""), optional(wait.B, ""), optional(wait.Diff, "+"), changeCell(wait.Change),
			optional(share.A, ""), optional(share.B, ""), optional(preempted.A, ""), optional(preempted.B, ""))
	}
	return t
}

// metric is the figure of a name.
func (g *GroupDiff) metric(name string) *MetricDiff {
	for i := range g.Metrics {
		if g.Metrics[i].Name == name {
			return &g.Metrics[i]
		}
	}
	return &MetricDiff{}
}

func jobsCell(n *int64) doc.Cell {
	if n == nil {
		return doc.Cell{}
	}
	return page.CountCell(*n)
}
