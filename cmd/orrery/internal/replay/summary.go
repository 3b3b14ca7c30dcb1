package replay

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/internal/doc"
	"orrery/reports"
	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/reports/table"
	"orrery/sim"
	"orrery/sim/metric"
	"orrery/sim/rundir"
	"orrery/traces"
)

// summary is what an operator wants to know of a replay in ten seconds.
type summary struct {
	trace  *logfile.Trace
	out    *sim.Outcome
	dir    string
	report bool

	recorded *recordedWaits // nil where the log records no start
}

// table has one line a question: its value, and what one should know about it.
func (s *summary) table() *doc.Table {
	t := doc.New("result", "value", "remark")
	d := s.out.Document
	for i := range d.Unheeded {
		u := &d.Unheeded[i]
		t.Row("UNHEEDED", doc.Quantity(fmt.Sprintf("%.3g %% of the work", float64(100*u.Share)), u.Share).In(doc.Bad), u.Text)
	}
	t.Row("trace", d.Trace.Name, fmt.Sprintf("%s rows, %s", plot.Count(d.Trace.Rows), s.began()))
	if r := s.trace.Report; r != nil {
		t.Row("import", doc.Quantity(plot.Count(r.Kept), r.Kept), imported(r))
	}
	t.Row("cluster", s.cluster(), "")
	t.Row("policy", s.policy(), s.cycle())
	t.Row("jobs", s.count("jobs_submitted"), s.outcomes())
	if c := d.Site; c != nil {
		words := fmt.Sprintf("%s left with a checkpoint", plot.Count(c.Suspended))
		if c.Shed > 0 {
			words += fmt.Sprintf("; %s were shed for the power cap", plot.Count(c.Shed))
		}
		t.Row("preempted", doc.Quantity(plot.Count(c.Preempted), c.Preempted), words)
		t.Row("failed attempts", doc.Quantity(plot.Count(c.Requeued+c.Failed), c.Requeued+c.Failed), fmt.Sprintf("%s of them requeued; %s nodes were lost", plot.Count(c.Requeued), plot.Count(c.NodesLost)))
		if c.Resized > 0 {
			t.Row("resized", doc.Quantity(plot.Count(c.Resized), c.Resized), "times that a reactive service got more nodes or gave some back")
		}
		s.failureRows(t)
		if c.Moot > 0 {
			t.Row("moot changes", doc.Quantity(plot.Count(c.Moot), c.Moot), "of the cluster file or the trace, that found nothing to change")
		}
	}
	s.powerRows(t)
	for i := range d.Services {
		x := &d.Services[i]
		t.Row("service "+x.Name, doc.Quantity(fmt.Sprintf("%.3g %%", float64(100*x.Missed)), x.Missed), servedWords(x))
	}
	for _, p := range []struct{ name, label string }{
		{"wait_mean", "mean wait"}, {"wait_p50", "p50 wait"}, {"wait_p95", "p95 wait"}, {"wait_max", "longest wait"},
		{"bounded_slowdown_mean", "mean bounded slowdown"}, {"bounded_slowdown_p95", "p95 bounded slowdown"},
		{"makespan", "makespan"},
	} {
		t.Row(p.label, s.cell(p.name, metric.All), s.note(p.name))
		if r := s.recorded; r != nil && p.name == "wait_mean" {
			t.Row("mean wait recorded", doc.Quantity(table.Span(r.Recorded), r.Recorded), r.words())
		}
	}
	for _, p := range []struct{ name, label string }{{"utilisation", "utilisation"}, {"loss_of_capacity", "loss of capacity"}} {
		t.Row(p.label, s.cell(p.name, metric.All), s.steady(p.name))
	}
	v := s.out.Table.Verdict
	t.Row("verdict", doc.Quantity(string(v), string(v)).In(tone(v)), reports.VerdictWords(v))
	t.Row("fingerprint", d.Fingerprint, "over what happened when and on which nodes; equal runs have equal ones")
	return t
}

// failureRows are counts of what breaks, those that are not 0.
func (s *summary) failureRows(t *doc.Table) {
	c := s.out.Document.Site
	for _, p := range []struct {
		name string
		n    int64
		note string
	}{
		{"shared failures", c.SharedFailures, "of parts that several nodes need"},
		{"failed boots", c.FailedBoots, "of nodes, which were booted again"},
		{"failed prologues", c.FailedPrologues, "each on a node, which drained"},
		{"fingerprints that drifted", c.Drifts, "each of a node, which drained"},
		{"agents that fell silent", c.SilentAgents, "on nodes that worked"},
		{"broken starts", c.BrokenStarts, "on nodes that were broken and not yet known to be"},
	} {
		if p.n > 0 {
			t.Row(p.name, doc.Quantity(plot.Count(p.n), p.n), p.note)
		}
	}
}

// imported says what became of the rows of a raw log.
func imported(r *traces.Report) string {
	text := fmt.Sprintf("of %s rows of the log kept", plot.Count(r.Read))
	for _, d := range r.Dropped {
		text += fmt.Sprintf(", %s dropped: %s", plot.Count(d.Count), d.Rule)
	}
	for _, d := range r.Repaired {
		text += fmt.Sprintf(", %s repaired: %s", plot.Count(d.Count), d.Rule)
	}
	return text
}

func tone(v metric.Verdict) doc.Tone {
	if v == metric.Stable {
		return doc.Good
	}
	return doc.Bad
}

func (s *summary) began() string {
	d := s.out.Document
	if !d.Trace.EpochKnown {
		return "of unknown date"
	}
	at := time.UnixMicro(int64(d.Trace.EpochUS) + int64(d.FirstUS)).UTC()
	return "from " + at.Format("2006-01-02 15:04") + " UTC"
}

func (s *summary) cluster() string {
	c := s.out.Document.Cluster
	switch site := s.out.Document.Site != nil; {
	case site && c.Whole:
		return plot.Count(int64(c.Nodes)) + " nodes"
	case site:
		return fmt.Sprintf("%s nodes, %s GPUs", plot.Count(int64(c.Nodes)), plot.Count(c.Units))
	case int64(c.Nodes) == c.Units:
		return plot.Count(c.Units) + " processors"
	}
	of := "processors"
	if s.out.Result.Spec.Cluster.Table && slices.ContainsFunc(s.trace.Nodes(), func(n traces.Node) bool { return n.GPUs > 0 }) {
		of = "GPUs" // each with its part of the processors of its node
	}
	text := fmt.Sprintf("%s nodes, %s %s", plot.Count(int64(c.Nodes)), plot.Count(c.Units), of)
	if c.Whole {
		text += ", whole nodes"
	}
	return text
}

func (s *summary) policy() string {
	if site := s.out.Result.Site; site != nil {
		var parts []string
		for i, name := range site.VClusters {
			parts = append(parts, name+" by "+site.Profiles[i])
		}
		return strings.Join(parts, ", ")
	}
	spec := s.out.Result.Spec
	text := cmp.Or(spec.Order, "fcfs") + ", " + cmp.Or(spec.Backfill, "easy")
	if spec.Depth > 0 {
		text += fmt.Sprintf(":%d", spec.Depth)
	}
	return text
}

func (s *summary) cycle() string {
	if site := s.out.Result.Site; site != nil {
		return plot.Count(int64(len(site.Tenants))) + " tenants"
	}
	spec := s.out.Result.Spec
	text := cmp.Or(spec.EventOrder, "batch") + " events"
	if spec.Cycle > 0 {
		text += ", a pass every " + spec.Cycle.String()
	}
	return text
}

func (s *summary) value(name string) int64 {
	v, _ := s.out.Table.Value(name, metric.All) // counts are never undefined
	return int64(v)
}

func (s *summary) count(name string) doc.Cell {
	n := s.value(name)
	return doc.Quantity(plot.Count(n), n)
}

// outcomes says how the jobs left the system, leaving out what did not occur.
func (s *summary) outcomes() string {
	var parts []string
	ends := []string{"completed", "timeout", "cancelled", "rejected", "unfinished"}
	if s.out.Document.Site != nil { // the plain cluster takes no notice of how jobs ended in the log
		ends = slices.Insert(ends, 1, "failed")
	}
	for _, o := range ends {
		if n := s.value("jobs_" + o); n > 0 {
			parts = append(parts, plot.Count(n)+" "+o)
		}
	}
	if n := s.out.Document.Jobs.Dropped; n > 0 {
		parts = append(parts, plot.Count(n)+" more rows dropped")
	}
	return strings.Join(parts, ", ")
}

// cell spells a metric as people read it.
func (s *summary) cell(name, window string) doc.Cell {
	m, _ := s.out.Table.Get(name, window)
	if m.Value == nil {
		return doc.Cell{}
	}
	v := *m.Value
	switch {
	case m.Unit == "s":
		return doc.Quantity(table.Span(v), v)
	case name == "utilisation" || name == "loss_of_capacity":
		return doc.Quantity(fmt.Sprintf("%.1f %%", 100*v), v)
	}
	return doc.Float(v, 2)
}

func (s *summary) note(name string) string {
	m, _ := s.out.Table.Get(name, metric.All)
	return m.Note
}

func (s *summary) steady(name string) string {
	c := s.cell(name, metric.Steady)
	if c.Text == "" {
		return "no steady window"
	}
	return c.Text + " without warm-up and cool-down"
}

// awkward lists the rows that a replay had to decide about.
func (s *summary) awkward() *doc.Table {
	t := doc.New("rule", "rows", "what was done", "first ids")
	for _, r := range s.out.Document.Awkward {
		t.Row(r.Rule, r.Count, r.Doc, strings.Trim(fmt.Sprint(r.Examples), "[]"))
	}
	return t
}

// next says where the results are and what to type now.
func (s *summary) next(w io.Writer) {
	log := ""
	if !s.trace.Sample {
		log = " " + cmp.Or(cli.QuotedAll(s.trace.Names), cli.Quoted(s.trace.Label))
	}
	switch {
	case s.dir == "":
		fmt.Fprintf(w, "\nNothing was written. To keep the results: orrery replay%s --out run --report\n", log)
	case s.report:
		fmt.Fprintf(w, "\nReport: %s\nNext: orrery compare %s OTHER-RUN\n",
			filepath.Join(s.dir, page.FileHTML), cli.Quoted(s.dir))
	default:
		fmt.Fprintf(w, "\nResults: %s\nNext: orrery report %s\n", s.dir, cli.Quoted(s.dir))
	}
}

// powerRows say what the run drew, and how much of it was modelled.
func (s *summary) powerRows(t *doc.Table) {
	d := s.out.Document
	if h := d.Hardware; h != nil {
		t.Row("modelled", percentOf(h.ModelledUS, h.GPUUS), fmt.Sprintf("of GPU time at work; %s in a class of work. What is not known counts as recorded", percentOf(h.ClassedUS, h.GPUUS)))
		var lost []string
		for _, x := range h.LostUS {
			lost = append(lost, x.Term+" "+percentOf(x.US, h.GPUUS))
		}
		t.Row("run time lost", strings.Join(lost, ", "), "of GPU time at work, relative to the record; below 0 is a gain")
	}
	if d.Power == nil {
		return
	}
	for _, m := range []struct{ name, label, unit string }{
		{"energy", "energy", "kWh"}, {"energy_cost", "cost of energy", d.Power.Currency}, {"carbon", "carbon", "kg"},
	} {
		v, known := s.out.Table.Value(m.name, metric.All)
		if !known {
			continue
		}
		low, _ := s.out.Table.Value(m.name+"_low", metric.All)
		high, _ := s.out.Table.Value(m.name+"_high", metric.All)
		t.Row(m.label, doc.Quantity(amountWords(v)+" "+m.unit, v), amountWords(low)+" to "+amountWords(high))
	}
	if d.Power.OverCapUS > 0 {
		t.Row("above the cap", doc.Quantity(table.Span(float64(d.Power.OverCapUS)/1e6), d.Power.OverCapUS).In(doc.Bad), "that the nodes drew more than power_cap")
	}
}

// percentOf is a part of a whole, empty where there is none.
func percentOf(part, whole int64) string {
	if whole == 0 {
		return "none"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// amountWords writes an amount of energy, money or carbon to the whole unit, and a small one to
// its tenth.
func amountWords(x float64) string {
	if math.Abs(x) < 1000 {
		return fmt.Sprintf("%.1f", x)
	}
	return plot.Count(int64(math.Round(x)))
}

// servedWords says what a service held and what it did not get; its value is the share of the
// requests that were late or lost.
func servedWords(s *rundir.Service) string {
	if s.Rejected != "" {
		return "rejected at submission: " + s.Rejected
	}
	text := fmt.Sprintf("of its requests missed; by %s, %.0f node hours, size changed %s times up and %s down", s.Policy, float64(s.NodeUS)/3.6e9, plot.Count(s.Ups), plot.Count(s.Downs))
	unmet := int64(0)
	var why []string
	for _, reason := range slices.Sorted(maps.Keys(s.Unmet)) {
		unmet += s.Unmet[reason]
		why = append(why, fmt.Sprintf("%s %s", reason, plot.Count(s.Unmet[reason])))
	}
	if unmet > 0 {
		text += fmt.Sprintf("; %s of %s demands not met (%s)", plot.Count(unmet), plot.Count(s.Demands), strings.Join(why, ", "))
	}
	if s.Reclaimed > 0 {
		text += fmt.Sprintf("; %s replicas went home with borrowed nodes", plot.Count(s.Reclaimed))
	}
	if s.Preempted > 0 {
		text += fmt.Sprintf("; asked to leave %s times", plot.Count(s.Preempted))
	}
	return text
}
