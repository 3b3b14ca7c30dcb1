package metric

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"orrery/internal/spelling"
	"orrery/scheduler/model"
	"orrery/sim/record/column"
)

// ByRun is what Measure.By is written as in files where a number is of the whole
// run; the others are groups that results of tasks have, and tables of metrics have
// not. Of users these are the 20 with the most work.
const (
	ByRun     = "run"
	BySize    = "size"
	ByKind    = "kind"
	ByRuntime = "runtime"
	ByUser    = "user"
)

// kinds are the names of the groups by kind.
var kinds = []string{model.Bounded.String(), model.Service.String(), model.Reactive.String(), model.Session.String()}

// Column says what a number of a group is: of the jobs of one vCluster, tenant,
// class, kind or size.
type Column struct {
	Name, Unit string
	Sense      Sense // which way it is better
	Formula    string
	Of         []string // kinds of groups that have it
	read       func(g *column.Group) (*float64, int64)
}

// InTables says that tables of metrics have it; results of tasks have all.
func (c *Column) InTables() bool { return c.read != nil }

// Read gives the number of a row of a table of metrics, nil when it is undefined or
// not in tables, and how many jobs are behind it.
func (c *Column) Read(g *column.Group) (value *float64, jobs int64) {
	if c.read == nil {
		return nil, 0
	}
	return c.read(g)
}

// Columns lists the numbers of groups.
func Columns() []Column { return slices.Clone(columns) }

// ColumnOf finds the number of groups with this name, nil for none.
func ColumnOf(name string) *Column {
	i := slices.IndexFunc(columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &columns[i]
}

var (
	bySite = []string{ByVCluster, ByTenant, ByClass}
	byAll  = []string{ByVCluster, ByTenant, ByClass, ByKind, BySize, ByRuntime, ByUser}
)

var columns = []Column{
	{"jobs", "jobs", Neither, "count of its jobs with t in the window", byAll, func(g *column.Group) (*float64, int64) { return number(float64(g.Jobs)), g.Jobs }},
	{"started", "jobs", Neither, "of these, that started", byAll, func(g *column.Group) (*float64, int64) { return number(float64(g.Started)), g.Jobs }},
	{"preemptions", "1", Lower, "how often they were asked to leave their nodes", bySite, func(g *column.Group) (*float64, int64) { return number(float64(g.Preemptions)), g.Jobs }},
	{"requeues", "1", Lower, "how often they went back to the queue after a failure", bySite, func(g *column.Group) (*float64, int64) { return number(float64(g.Requeues)), g.Jobs }},
	{"wait_mean", "s", Lower | GrowsWithLog | MeanOverJobs, "sum(w) / N", byAll, func(g *column.Group) (*float64, int64) { return g.WaitMean, g.Started }},
	{"wait_p50", "s", Lower | GrowsWithLog, "p50 of w", byAll, func(g *column.Group) (*float64, int64) { return g.WaitP50, g.Started }},
	{"wait_p90", "s", Lower | GrowsWithLog, "p90 of w", byAll, func(g *column.Group) (*float64, int64) { return g.WaitP90, g.Started }},
	{"wait_p95", "s", Lower | GrowsWithLog, "p95 of w", byAll, func(g *column.Group) (*float64, int64) { return g.WaitP95, g.Started }},
	{"wait_p99", "s", Lower | GrowsWithLog, "p99 of w", byAll, func(g *column.Group) (*float64, int64) { return g.WaitP99, g.Started }},
	{"wait_max", "s", Lower | GrowsWithLog, "max(w)", byAll, func(g *column.Group) (*float64, int64) { return g.WaitMax, g.Started }},
	{"bounded_slowdown_mean", "1", Lower | GrowsWithLog | MeanOverJobs, "sum(max(1, R/max(r, 10 s))) / N", byAll, nil},
	{"work", "h", Neither, "sum(n*r), n times hours", byAll, nil},
	{"within_target", "1", Higher | MeanOverJobs, "count(w <= target of the class) / N", bySite, func(g *column.Group) (*float64, int64) { return g.Within, g.Jobs }},
	{"starved", "1", Lower | MeanOverJobs, "count(w > limit) / N", bySite, func(g *column.Group) (*float64, int64) { return g.Starved, g.Jobs }},
	{"share", "1", Neither, "s_k", bySite[:2], func(g *column.Group) (*float64, int64) { return g.Share, g.Jobs }},
	{"deviation", "1", Neither, "s_k - f_k", bySite[1:2], func(g *column.Group) (*float64, int64) { return g.Deviation, g.Jobs }},
}

// Measure names a number: a metric of the run, or a column of one group.
type Measure struct {
	Metric string
	By     string // "" for the run
	Group  string
}

// String is how people write a measure: wait_p95, or wait_p95 of tenant physics.
func (m Measure) String() string {
	if m.By == "" {
		return m.Metric
	}
	return m.Metric + " of " + m.By + " " + m.Group
}

// measureSyntax says how a measure is written.
const measureSyntax = "METRIC, or METRIC of KIND NAME with one of vcluster, tenant, class, kind, size, runtime and user for KIND"

// ParseMeasure reads what String writes. Whether there is such a number is for Validate to
// say.
func ParseMeasure(text string) (Measure, error) {
	switch words := strings.Fields(text); {
	case len(words) == 1:
		return Measure{Metric: words[0]}, nil
	case len(words) == 4 && words[1] == "of":
		return Measure{words[0], words[2], words[3]}, nil
	}
	return Measure{}, fmt.Errorf("found %q, want %s", text, measureSyntax)
}

// Validate says what is wrong with a measure whatever the site: there is no such
// metric, column or kind of groups, or no group of that name can be.
func (m Measure) Validate() error {
	if m.By == "" {
		if definitionOf(m.Metric) != nil {
			return nil
		}
		return fmt.Errorf("there is no metric %q%s: see orrery help metrics", m.Metric, spelling.Hint(m.Metric, metricNames()))
	}
	if !slices.Contains(byAll, m.By) {
		return fmt.Errorf("found groups by %q%s, want one of %s", m.By, spelling.Hint(m.By, byAll), strings.Join(byAll, ", "))
	}
	if c := ColumnOf(m.Metric); c == nil || !slices.Contains(c.Of, m.By) {
		return fmt.Errorf("found %q, which is no number of a %s%s: want one of %s", m.Metric, m.By, spelling.Hint(m.Metric, columnsOf(m.By)), strings.Join(columnsOf(m.By), ", "))
	}
	return m.named()
}

// named says what is wrong with the name of a group.
func (m Measure) named() error {
	switch m.By {
	case ByClass:
		if n, err := strconv.Atoi(m.Group); err != nil || n < 0 || n >= numClasses || strconv.Itoa(n) != m.Group {
			return fmt.Errorf("found the class %q, want a number from 0 to %d", m.Group, numClasses-1)
		}
	case ByKind:
		if !slices.Contains(kinds, m.Group) {
			return fmt.Errorf("found the kind %q%s, want one of %s", m.Group, spelling.Hint(m.Group, kinds), strings.Join(kinds, ", "))
		}
	case BySize:
		for class := range Sizes {
			if SizeName(class) == m.Group {
				return nil
			}
		}
		return fmt.Errorf("found the size %q, want 1, 2-4, 5-16, 17-64 and so on, up to powers of four", m.Group)
	case ByRuntime:
		var names []string
		for class := range Runtimes {
			names = append(names, RuntimeName(class))
		}
		if !slices.Contains(names, m.Group) {
			return fmt.Errorf("found the run time %q, want one of %s", m.Group, strings.Join(names, ", "))
		}
	}
	return nil
}

// Parts are what groups a site has.
type Parts struct {
	VClusters, Tenants []string
	Promised           []int32 // classes whose jobs should start within a stated wait
}

// In says whether a run has the number of a measure that Validate found no fault
// with; p is nil of a plain cluster.
func (m Measure) In(p *Parts) error {
	promise := strings.HasPrefix(m.Metric, "within_target")
	switch {
	case p == nil && (promise || !slices.Contains(ofPlain, m.By)):
		return fmt.Errorf("%s: a plain cluster knows jobs by size, run time and user alone: give a cluster file, or a profile", m)
	case p == nil:
		return nil
	case m.By == ByClass && promise:
		if !slices.ContainsFunc(p.Promised, func(class int32) bool { return strconv.Itoa(int(class)) == m.Group }) {
			return fmt.Errorf("%s: the cluster file promises nothing to class %s: add to it classes: [{class: %s, target_wait: 15m}]", m, m.Group, m.Group)
		}
	case promise && len(p.Promised) == 0:
		return fmt.Errorf("%s: the cluster file promises nothing to any class: add to it, for example, classes: [{class: 10, target_wait: 15m}]", m)
	}
	list := p.VClusters
	if m.By == ByTenant {
		list = p.Tenants
	}
	if m.By != ByVCluster && m.By != ByTenant || slices.Contains(list, m.Group) {
		return nil
	}
	if len(list) == 0 {
		return fmt.Errorf("%s: the site has no %s", m, m.By)
	}
	const most = 20
	return fmt.Errorf("found the %s %q, which the site does not have%s: want one of %s", m.By, m.Group, spelling.Hint(m.Group, list), strings.Join(list[:min(len(list), most)], ", "))
}

// ofPlain are the groups of a cluster that is no site.
var ofPlain = []string{"", BySize, ByRuntime, ByUser}

// columnsOf are the names of the numbers that a kind of groups has.
func columnsOf(by string) []string {
	var out []string
	for i := range columns {
		if slices.Contains(columns[i].Of, by) {
			out = append(out, columns[i].Name)
		}
	}
	return out
}

// Unit of a measure, 1 where it has none; "" of what there is not.
func (m Measure) Unit() string {
	if m.By != "" {
		if c := ColumnOf(m.Metric); c != nil {
			return c.Unit
		}
		return ""
	}
	if d := definitionOf(m.Metric); d != nil {
		return d.Unit
	}
	return ""
}

// metricNames are the names of the metrics of a run.
func metricNames() []string {
	var out []string
	for _, list := range [][]definition{definitions, siteDefinitions, supplyDefinitions, serviceDefinitions} {
		for i := range list {
			out = append(out, list[i].Name)
		}
	}
	return out
}

// definitionOf finds the metric of a run with this name, nil for none.
func definitionOf(name string) *definition {
	for _, list := range [][]definition{definitions, siteDefinitions, supplyDefinitions, serviceDefinitions} {
		if i := slices.IndexFunc(list, func(d definition) bool { return d.Name == name }); i >= 0 {
			return &list[i]
		}
	}
	return nil
}

// UnitOf is the unit of a measure as people write it.
func UnitOf(text string) string {
	m, err := ParseMeasure(text)
	if err != nil {
		return ""
	}
	return m.Unit()
}

// fractions are numbers between 0 and 1, or differences of such, that people read
// in percent.
var fractions = []string{
	"utilisation", "loss_of_capacity", "waited_fraction", "share_deviation_max", "within_target_wait", "starved_fraction", "useful_fraction", "goodput",
	"within_target", "starved", "share", "deviation",
	"service_missed", "service_lost", "service_bad_steps", "service_theta_under", "service_tau_under", "service_tau_over", "service_instability",
}

// Fraction says whether people read a measure in percent.
func (m Measure) Fraction() bool { return slices.Contains(fractions, m.Metric) }

// IsFraction says whether people read a measure in percent, false of what is none.
func IsFraction(text string) bool {
	m, err := ParseMeasure(text)
	return err == nil && m.Fraction()
}
