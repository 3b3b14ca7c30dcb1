package studies

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/settings"
	"orrery/cmd/orrery/internal/studypage"
	"orrery/profiles"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/search"
	"orrery/sim/tune"
)

// axisFlags are the flags of a sweep of a log, without an experiment file.
type axisFlags struct {
	vary        []string
	points      int32
	cluster     string
	profiles    []string
	procs       int32
	objectives  []string
	constraints []string
	windows     string
	scenarios   []string
	given       func(flag string) bool
}

// axisNames are the flags that go without an experiment file alone.
var axisNames = []string{"vary", "points", "cluster", "profile", "procs", "objective", "subject-to", "windows", "scenario"}

func (a *axisFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVarP(&a.vary, "vary", "P", nil, "setting `PATH=VALUES` to vary: PATH as in experiment files, VALUES a list A,B,C or a range LOW..HIGH[:STEP]; may be given several times")
	f.Int32Var(&a.points, "points", 0, "sample `N` points of the ranges (Sobol) instead of trying all combinations")
	f.StringVar(&a.cluster, "cluster", "", "cluster file `FILE`, or the name of one of the program")
	f.StringArrayVar(&a.profiles, "profile", nil, "profile `NAME`, or the path of a file, to vary the settings of; may be given several times")
	f.Int32Var(&a.procs, "procs", 0, "plain cluster of `P` one-core nodes; without it the log says")
	f.StringArrayVar(&a.objectives, "objective", nil, "`METRIC` to order the table by, with min: or max: before it where it is not clear; may be given several times")
	f.StringArrayVar(&a.constraints, "subject-to", nil, "bound `\"METRIC <= VALUE\"` (or >=) with the unit of the metric; may be given several times")
	f.StringVar(&a.windows, "windows", "", "windows `N` or NxLENGTH of the log, such as 20 or 4x7d, measured in one replay of it; without it the whole log")
	f.StringArrayVar(&a.scenarios, "scenario", nil, "scenario `FILE` under which all points are replayed, or none for the log as it is; may be given several times (docs/WHATIF.md)")
	a.given = f.Changed
	cli.Grouped(f, cli.GroupPoints, axisNames...)
	cli.CompleteFlag(cmd, "vary", cli.CompleteSetting())
	cli.CompleteFlag(cmd, "cluster", cli.WordsOrFiles(profiles.ClusterNames()...))
	cli.CompleteFlag(cmd, "profile", cli.WordsOrFiles(profiles.Names()...))
	cli.CompleteFlag(cmd, "scenario", cli.WordsOrFiles(profiles.NoScenario))
	cli.CompleteFlag(cmd, "objective", cli.CompleteMetric)
	cli.CompleteFlag(cmd, "subject-to", cli.CompleteBound)
}

// given lists those that were typed.
func givenOf(f *pflag.FlagSet, names []string) (out []string) {
	for _, name := range names {
		if f.Changed(name) {
			out = append(out, "--"+name)
		}
	}
	return out
}

// experiment is what the flags ask for, as an experiment file would.
func (a *axisFlags) experiment(log string) (*profiles.Experiment, error) {
	e := profiles.NewExperiment()
	e.Name, e.Traces, e.Cluster, e.Profiles = studypage.ByFlags, []string{log}, a.cluster, a.profiles
	e.Scenarios = a.scenarios
	e.Inapplicable = "ignore" // a combination in which a setting has no effect is tried once
	if a.given("procs") {
		e.Plain.Nodes = a.procs
	}
	if a.points > 0 {
		e.Design, e.Points = "sobol", a.points
	}
	base, err := a.base()
	if err != nil {
		return nil, err
	}
	for _, text := range a.vary {
		axis, err := a.axis(base, text)
		if err != nil {
			return nil, err
		}
		e.Settings = append(e.Settings, axis)
	}
	if err := a.goals(e); err != nil {
		return nil, err
	}
	if a.windows != "" {
		if e.Windows, err = windowsOf(a.windows); err != nil {
			return nil, err
		}
	}
	if err := e.Validate(); err != nil {
		return nil, cli.Coded(cli.ExitUsage, err)
	}
	return e, nil
}

// base is the cluster whose keys are varied.
func (a *axisFlags) base() (*profiles.Cluster, error) {
	if a.cluster == "" {
		return profiles.PlainCluster(1, 1, 0)
	}
	return settings.LoadCluster("--cluster", a.cluster)
}

// mostSteps is the largest number of values that a range is divided into.
const mostSteps = 10_000

// axis reads PATH=A,B,C, PATH=LOW..HIGH or PATH=LOW..HIGH:STEP.
func (a *axisFlags) axis(base *profiles.Cluster, text string) (profiles.SettingAxis, error) {
	var axis profiles.SettingAxis
	given, err := profiles.ParseAssignment(text)
	if err != nil {
		return axis, cli.Usagef("-P %s: want PATH=A,B,C or PATH=LOW..HIGH[:STEP], for example weights.wait_time=1,2,5", text)
	}
	axis.Path = given.Path
	s, err := base.Setting(given.Path)
	if err != nil {
		return axis, cli.Usagef("-P %v", err)
	}
	low, rest, ranged := strings.Cut(given.Value, "..")
	if !ranged {
		for value := range strings.SplitSeq(given.Value, ",") {
			axis.Values = append(axis.Values, strings.TrimSpace(value))
		}
		return axis, nil
	}
	high, step, stepped := strings.Cut(rest, ":")
	numeric, whole := s.Numeric()
	switch {
	case !numeric:
		return axis, cli.Usagef("-P %s: %s is %s and has no range: want values, A,B,C", text, s.Path, s.Kind)
	case a.points > 0 && stepped:
		return axis, cli.Usagef("-P %s: --points samples the range: leave the step out", text)
	case a.points > 0:
		axis.From, axis.To = low, high
		return axis, nil
	case !stepped && !whole:
		return axis, cli.Usagef("-P %s: want a step, %s..%s:STEP, or a sample of the range with --points N", text, low, high)
	case !stepped:
		step = "1"
	}
	axis.Values, err = steps(&s, low, high, step)
	if err != nil {
		return axis, cli.Usagef("-P %s: %v", text, err)
	}
	return axis, nil
}

// steps are the values from low to high, both included where the step leads there.
func steps(s *profiles.Setting, low, high, step string) ([]string, error) {
	var at [3]float64
	for i, text := range []string{low, high, step} {
		var err error
		if at[i], err = s.Number(strings.TrimSpace(text)); err != nil {
			return nil, err
		}
	}
	switch {
	case at[1] < at[0]:
		return nil, fmt.Errorf("the range runs backwards: want LOW..HIGH")
	case at[2] <= 0:
		return nil, fmt.Errorf("found the step %s, want one above 0", step)
	case (at[1]-at[0])/at[2] > mostSteps:
		return nil, fmt.Errorf("the range has more than %d steps: want larger ones, or --points N", mostSteps)
	}
	const slack = 1e-9 // of a step: the last one may be missed by rounding
	var out []string
	for i := range int((at[1]-at[0])/at[2]+slack) + 1 {
		out = append(out, s.Text(at[0]+float64(i)*at[2]))
	}
	return out, nil
}

// goals enters objectives and constraints.
func (a *axisFlags) goals(e *profiles.Experiment) error {
	for _, text := range a.objectives {
		o, err := ObjectiveOf(text)
		if err != nil {
			return err
		}
		m := measureOf(o.Metric)
		way := map[search.Direction]string{search.Minimise: "minimise", search.Maximise: "maximise"}[o.Direction]
		e.Objectives = append(e.Objectives, profiles.Objective{Metric: m.Metric, By: m.By, Group: m.Group, Direction: way, Window: metric.Steady})
	}
	for _, text := range a.constraints {
		c, err := ConstraintOf(text)
		if err != nil {
			return err
		}
		m := measureOf(c.Metric)
		bound := profiles.AmountOf(c.Value, metric.UnitOf(c.Metric))
		out := profiles.Constraint{Metric: m.Metric, By: m.By, Group: m.Group, Window: metric.Steady}
		if c.Relation == search.AtMost {
			out.AtMost = &bound
		} else {
			out.AtLeast = &bound
		}
		e.Constraints = append(e.Constraints, out)
	}
	return nil
}

// measureOf takes a measure apart that measureFlag has read, in the words of files.
func measureOf(text string) metric.Measure {
	m, err := metric.ParseMeasure(text)
	if err != nil {
		panic(err) // it was read before
	}
	if m.By == "" {
		m.By = metric.ByRun
	}
	return m
}

// windowsOf reads N or NxLENGTH.
func windowsOf(text string) ([]profiles.WindowAxis, error) {
	w := profiles.WindowAxis{Follow: plan.DefaultFollow}
	count, length, ok := strings.Cut(text, "x")
	n, err := strconv.ParseInt(count, 10, 32)
	if w.Count = int32(n); ok && err == nil {
		w.Length, err = cli.ParseSpan(length)
	}
	if err != nil || w.Count < 1 || ok && w.Length == 0 {
		return nil, cli.Usagef("--windows %s: want N, for so many windows that divide the log, or NxLENGTH, such as 4x7d for four windows of a week", text)
	}
	return []profiles.WindowAxis{w}, nil
}

// measureFlag reads the measure that a flag names: METRIC, or METRIC of KIND NAME.
func measureFlag(flag, text, measure string) (string, error) {
	m, err := metric.ParseMeasure(measure)
	if err == nil {
		err = m.Validate()
	}
	if err != nil {
		return "", cli.Usagef("%s %q: %v", flag, text, err)
	}
	return m.String(), nil
}

// ObjectiveOf reads a measure, with min: or max: before it.
func ObjectiveOf(text string) (search.Objective, error) {
	way, name, given := strings.Cut(text, ":")
	if !given {
		way, name = "", text
	}
	name, err := measureFlag("--objective", text, name)
	if err != nil {
		return search.Objective{}, err
	}
	switch way {
	case "":
		return search.Objective{Metric: name, Direction: tune.DirectionOf(name)}, nil
	case "min":
		return search.Objective{Metric: name, Direction: search.Minimise}, nil
	case "max":
		return search.Objective{Metric: name, Direction: search.Maximise}, nil
	}
	return search.Objective{}, cli.Usagef("--objective %q: found %s: before the metric, want min: or max:, or none of them", text, way)
}

// ConstraintOf reads a measure, a relation and a bound with the unit of the measure.
func ConstraintOf(text string) (search.Constraint, error) {
	for _, relation := range []search.Relation{search.AtMost, search.AtLeast} {
		name, value, ok := strings.Cut(text, string(relation))
		if !ok {
			continue
		}
		name, err := measureFlag("--subject-to", text, name)
		if err != nil {
			return search.Constraint{}, err
		}
		c := search.Constraint{Metric: name, Relation: relation}
		bound, err := profiles.ParseAmount(strings.TrimSpace(value))
		if err == nil {
			c.Value, err = bound.In(metric.UnitOf(name))
		}
		if err != nil {
			return c, cli.Usagef("--subject-to %q: %v behind %s", text, err, relation)
		}
		return c, nil
	}
	return search.Constraint{}, cli.Usagef("--subject-to %q: want METRIC <= VALUE or METRIC >= VALUE, or METRIC of KIND NAME <= VALUE", text)
}
