package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim"
	"orrery/sim/metric"
	"orrery/sim/record"
)

// watcher is the sink of a replay: it keeps the jobs for the metrics, and of the
// attempts what the measures of gates are made of.
type watcher struct {
	record.Memory
	spans      []held
	borrowing  int64
	taken      []model.Duration // lengths of the borrowing attempts that their lender ended
	left, kept int64            // attempts that gave way to other work; of these, with a checkpoint
}

// held is a change of what is at work.
type held struct {
	at                 model.Time
	procs, nodes, gpus int64
}

func (w *watcher) reset(site bool) {
	w.Memory.Reset()
	w.Jobs.OfSite = site
	w.spans, w.taken = w.spans[:0], nil
	w.borrowing, w.left, w.kept = 0, 0, 0
}

// Attempt implements record.Sink.
func (w *watcher) Attempt(a *model.AttemptRecord) {
	procs, nodes, gpus := int64(a.Procs), int64(a.Nodes), int64(a.GPUs)
	w.spans = append(w.spans, held{a.Start, procs, nodes, gpus}, held{a.End, -procs, -nodes, -gpus})
	if a.Borrowed > 0 {
		w.borrowing++
		if a.Reason == model.ReasonReclaimed {
			w.taken = append(w.taken, a.End.Sub(a.Start))
		}
	}
	if a.Reason != model.ReasonPreempted && a.Reason != model.ReasonReclaimed && a.Reason != model.ReasonPower {
		return
	}
	switch a.Outcome {
	case model.Suspended:
		w.left, w.kept = w.left+1, w.kept+1
	case model.Failed:
		w.left++
	}
}

// own are the measures of a replay that no table of metrics has.
type own struct {
	jobs, passes, examined int64
	preempted, mostOfOne   int64
	stretch                model.Duration // least of run times by attempts, of jobs that were asked to leave
	borrowing              int64
	taken                  []model.Duration
	left, kept             int64
	ramp                   model.Duration
	full                   bool // the cluster ever was
}

// fullFrom is the part of the cluster, in per cent, from which it counts as full.
const fullFrom = 95

// measure takes the measures of a replay that is over.
func (w *watcher) measure(res *sim.Result) own {
	o := own{
		jobs: int64(w.Jobs.Len()), passes: int64(res.Work.Passes), examined: int64(res.Work.Examined),
		borrowing: w.borrowing, taken: w.taken, left: w.left, kept: w.kept,
	}
	for i, n := range w.Jobs.Preemptions {
		o.preempted, o.mostOfOne = o.preempted+int64(n), max(o.mostOfOne, int64(n))
		if stretch := model.Duration(w.Jobs.Runtime[i] / (int64(n) + 1)); n > 0 && (o.preempted == int64(n) || stretch < o.stretch) {
			o.stretch = stretch
		}
	}
	slices.SortStableFunc(w.spans, func(a, b held) int { return cmp.Compare(a.at, b.at) })
	busy, total := int64(0), res.Cluster.Total()
	for i, s := range w.spans {
		busy += s.units(res)
		if (i+1 == len(w.spans) || w.spans[i+1].at > s.at) && busy*100 >= total*fullFrom {
			o.ramp, o.full = s.at.Sub(res.First), true
			break
		}
	}
	return o
}

// units are those of the cluster: nodes where a site allocates whole nodes, GPUs
// where jobs share them.
func (h *held) units(res *sim.Result) int64 {
	switch {
	case res.Site == nil:
		return h.procs
	case res.Cluster.Whole:
		return h.nodes
	}
	return h.gpus
}

// flaps are the borrowing attempts that their lender ended within soon.
func (o *own) flaps(soon model.Duration) (n int64) {
	for _, d := range o.taken {
		if d <= soon {
			n++
		}
	}
	return n
}

// usualSoon is what flaps counts by where nothing else is said.
const usualSoon = 10 * model.Minute

// number is a measured value; nil when it is undefined.
type number struct {
	v    *float64
	jobs int64 // behind it
	note string
}

func part(n, of int64, note string) number {
	if of == 0 {
		return number{note: note}
	}
	x := float64(n) / float64(of)
	return number{v: &x, jobs: of}
}

// MeasureDefinition says what a measure is that gates add to docs/METRICS.md.
type MeasureDefinition struct {
	Name, Unit    string
	Sense         metric.Sense // which way it is better
	Formula, Edge string
	of            func(*own) number
}

// Measures lists the measures of gates. They are over the whole run.
func Measures() []MeasureDefinition { return slices.Clone(measures) }

var measures = []MeasureDefinition{
	{"preemptions_per_job", "1", metric.Lower, "how often jobs were asked to leave their nodes, by jobs", "null without a job",
		func(o *own) number { return part(o.preempted, o.jobs, "no job left the system") }},
	{"preemptions_of_one", "1", metric.Lower, "most often that one job was asked to leave its nodes", "null without a job",
		func(o *own) number { return part(o.mostOfOne*o.jobs, o.jobs, "no job left the system") }},
	{"work_between_preemptions", "s", metric.Higher, "run time by one more than how often the job was asked to leave its nodes: the least of the jobs that ever were", "null when no job was asked",
		func(o *own) number {
			if o.preempted == 0 {
				return number{note: "no job was asked to leave its nodes"}
			}
			x := o.stretch.Seconds()
			return number{v: &x, jobs: o.jobs}
		}},
	{"flaps", "1", metric.Lower, "attempts on borrowed nodes that their lender ended within 10 min, by attempts on borrowed nodes", "0 when no job borrowed",
		func(o *own) number { return o.flapping(usualSoon) }},
	{"checkpoint_success", "1", metric.Higher, "attempts that gave way to other work and left a checkpoint behind, by attempts that gave way to other work", "null when none did",
		func(o *own) number { return part(o.kept, o.left, "no attempt gave way to other work") }},
	{"ramp_up", "s", metric.Lower, "first instant at which 95 % of the processors or nodes are busy, from the first submission", "null when they never are",
		func(o *own) number {
			if !o.full {
				return number{note: "the cluster was never full"}
			}
			x := o.ramp.Seconds()
			return number{v: &x, jobs: o.jobs}
		}},
	{"examined_per_pass", "1", metric.Lower, "waiting jobs examined, by passes", "null without a pass",
		func(o *own) number { n := part(o.examined, o.passes, "there was no pass"); n.jobs = o.jobs; return n }},
}

func (o *own) flapping(soon model.Duration) number {
	if o.borrowing == 0 {
		x := 0.0
		return number{v: &x, note: "no job borrowed"}
	}
	return part(o.flaps(soon), o.borrowing, "")
}

// numberOf is the value of a measure in a replay. The error names a metric or
// group that there is not.
func (x *outcome) numberOf(m *profiles.Measure) (number, error) {
	if m.By != "run" {
		return x.ofGroup(m)
	}
	for i := range measures {
		if measures[i].Name == m.Metric {
			return measures[i].of(&x.own), nil
		}
	}
	f, ok := x.table.Get(m.Metric, m.Over)
	if !ok {
		return number{}, fmt.Errorf("found %q, which is a metric of sites: this run is of a plain cluster", m.Metric)
	}
	return number{f.Value, f.Count, f.Note}, nil
}

func (x *outcome) ofGroup(m *profiles.Measure) (number, error) {
	column := metric.ColumnOf(m.Metric) // there is one: see checkNames
	for i := range x.table.Groups {
		g := &x.table.Groups[i]
		if g.By == m.By && g.Name == m.Group && g.Window == m.Over {
			v, n := column.Read(g)
			return number{v, n, ""}, nil
		}
	}
	if m.By == metric.ByClass {
		if n, err := strconv.Atoi(m.Group); err == nil && n >= 0 && n <= model.SensitiveClass {
			return number{note: "no job of this class was submitted in the window"}, nil
		}
		return number{}, fmt.Errorf("found the class %q, want 0 to %d", m.Group, model.SensitiveClass)
	}
	return number{}, fmt.Errorf("found %q, which is no %s of this run", m.Group, m.By)
}

// nameOf is a measure in one word, as baselines keep it.
func nameOf(m *profiles.Measure) string {
	if m.By == "run" {
		return m.Metric + "/" + m.Over
	}
	return m.By + "/" + m.Group + "/" + m.Metric + "/" + m.Over
}

// label is a measure for people.
func label(m *profiles.Measure) string {
	out := m.Metric
	if m.By != "run" {
		out += " of " + m.By + " " + m.Group
	}
	if m.Over == metric.All {
		out += " (all jobs)"
	}
	return out
}

// senseOf says whether more of a measure is better; known is false of what is
// neither good nor bad. A queue that grows is bad in a gate, which has a run to compare with.
func senseOf(name string) (more, known bool) {
	better := metric.SenseOf(name).Better()
	if i := slices.IndexFunc(measures, func(d MeasureDefinition) bool { return d.Name == name }); i >= 0 {
		better = measures[i].Sense.Better()
	}
	if name == "queue_growth" {
		better = metric.Lower.Better()
	}
	return better > 0, better != 0
}
