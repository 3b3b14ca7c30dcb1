// Package compare says what changed from one finished run to another of the same trace, or
// to a schedule made elsewhere, in tables and on a page. It reads results and must not know
// how a schedule comes about.
package compare

import (
	"fmt"
	"math"
	"slices"

	"orrery/internal/doc"
	"orrery/reports/internal/rundata"
	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/paired"
	"orrery/sim/record"
)

// MismatchError says that two runs cannot be compared, since they do not
// replay the same trace. It is the caller's choice of directories that is
// wrong, not their content.
type MismatchError struct {
	A, B         string // directories
	HashA, HashB string // of the traces; "" when a run does not say
}

// Error names both traces and the way out.
func (e *MismatchError) Error() string {
	say := func(h string) string {
		if h == "" {
			return "a trace that it does not name"
		}
		return "trace " + h[:min(len(h), 12)]
	}
	return fmt.Sprintf("%s and %s cannot be compared: the first replays %s, the second %s; replay one trace under both settings",
		e.A, e.B, say(e.HashA), say(e.HashB))
}

// Comparison is what changed from run A to run B of one trace.
type Comparison struct {
	A       Side         `json:"a"`
	B       Side         `json:"b"`
	Metrics []MetricDiff `json:"metrics"`
	Groups  []GroupDiff  `json:"groups,omitempty"` // of sites: vClusters, tenants and classes
	Jobs    JobCounts    `json:"jobs"`
	// Windows is the comparison by windows of submission, which has intervals; nil
	// until a caller makes it (sim/paired).
	Windows *paired.Result `json:"windows,omitempty"`
	Moved   []MovedJob     `json:"moved"` // the jobs whose start moved most, the largest move first
	// Unranked says why some metrics have no rank, as Overloaded does.
	Unranked string `json:"unranked,omitempty"`
	// BeginsIdle says so of a trace with a warm start and no job that ran or waited then.
	BeginsIdle string `json:"begins_idle,omitempty"`

	waitsA, waitsB plot.Waits
}

// Side says what one of the runs is.
type Side struct {
	Dir     string         `json:"dir"`
	Policy  string         `json:"policy"`
	Verdict metric.Verdict `json:"verdict,omitempty"`
}

// MetricDiff is one metric of both runs. Pointers are nil where a value is
// undefined.
type MetricDiff struct {
	Name     string   `json:"name"`
	Unit     string   `json:"unit"`
	Window   string   `json:"window"`
	A        *float64 `json:"a"`
	B        *float64 `json:"b"`
	Diff     *float64 `json:"difference"` // B-A
	Relative *float64 `json:"relative"`   // (B-A)/|A|, nil when A is 0
	Better   string   `json:"better"`     // lower or higher; "" where neither is better
	// Change is differs, same, unranked (see NotRanked), or "" where a value is
	// undefined. A difference of two replays alone has no rank: the comparison by
	// windows says what it is worth.
	Change string `json:"change"`
}

// NotRanked is the change of a metric that depends on the length of the log,
// since one of the runs is overloaded.
const NotRanked = paired.Unranked

// differs is the change of a metric whose values are not equal.
const differs = paired.Differs

// JobCounts says how the starts moved. Times are compared to the microsecond.
type JobCounts struct {
	Same         int64 `json:"same"`
	Earlier      int64 `json:"earlier"` // in B than in A
	Later        int64 `json:"later"`
	StartedOnlyA int64 `json:"started_only_a"`
	StartedOnlyB int64 `json:"started_only_b"`
	NeverStarted int64 `json:"never_started"` // in either
	OnlyA        int64 `json:"only_a"`        // jobs that B does not have
	OnlyB        int64 `json:"only_b"`
}

// MovedJob is a job that started at another time.
type MovedJob struct {
	Job   int32          `json:"job"` // row of the trace
	ID    int64          `json:"id"`
	User  string         `json:"user,omitempty"`
	Procs int32          `json:"procs"`
	WaitA model.Duration `json:"wait_a_us"`
	WaitB model.Duration `json:"wait_b_us"`

	user int32
}

// Moved is how much later the job started in B, negative when earlier.
func (m *MovedJob) Moved() model.Duration { return m.WaitB - m.WaitA }

// mostMoved is the number of jobs that a comparison names.
const mostMoved = 20

// Runs compares the runs in directories a and b. It refuses runs of
// different traces by a *MismatchError; complaints about content are
// *record.DataError. Memory is 8 bytes per job of the trace; time is one pass
// over the jobs of each.
func Runs(a, b string) (*Comparison, error) {
	c := &Comparison{A: Side{Dir: a}, B: Side{Dir: b}}
	runs := [2]*record.Run{}
	tables := [2]metric.Table{}
	hashes := [2]string{}
	rows := int64(0)
	for i, side := range []*Side{&c.A, &c.B} {
		f, err := record.Open(side.Dir)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		runs[i] = f
		about, err := rundata.ReadAbout(f)
		if err != nil {
			return nil, err
		}
		if tables[i], err = rundata.ReadMetrics(f); err != nil {
			return nil, err
		}
		side.Policy, side.Verdict = about.Policy(), tables[i].Verdict
		c.BeginsIdle = about.BeginsIdle() // both replay the same trace
		hashes[i], rows = about.TraceHash, max(rows, about.Rows)
	}
	if hashes[0] == "" || hashes[0] != hashes[1] {
		return nil, &MismatchError{A: a, B: b, HashA: hashes[0], HashB: hashes[1]}
	}
	c.Metrics, c.Groups = diffMetrics(&tables[0], &tables[1]), diffGroups(&tables[0], &tables[1])
	if c.A.Verdict == metric.Overloaded || c.B.Verdict == metric.Overloaded {
		unrank(c.Metrics)
		for i := range c.Groups {
			unrank(c.Groups[i].Metrics)
		}
	}
	c.Unranked = c.overloaded()
	if err := c.diffJobs(runs[0], runs[1], rows); err != nil {
		return nil, err
	}
	return c, nil
}

// overloaded says why metrics that depend on the length of the log have no rank; ""
// when none has lost it.
func (c *Comparison) overloaded() string {
	unranked := func(m MetricDiff) bool { return m.Change == NotRanked }
	if !slices.ContainsFunc(c.Metrics, unranked) && !slices.ContainsFunc(c.Groups, func(g GroupDiff) bool { return slices.ContainsFunc(g.Metrics, unranked) }) {
		return ""
	}
	var over []string
	for _, side := range []*Side{&c.A, &c.B} {
		if side.Verdict == metric.Overloaded {
			over = append(over, side.Dir)
		}
	}
	switch len(over) {
	case 0:
		return ""
	case 1:
		return over[0] + " is overloaded: its waits, and what comes of them, say how long the log is"
	}
	return "both runs are overloaded: their waits, and what comes of them, say how long the log is"
}

// Alike says whether both runs started each job at the same time.
func (c *Comparison) Alike() bool {
	return c.Jobs == JobCounts{Same: c.Jobs.Same, NeverStarted: c.Jobs.NeverStarted}
}

// unrank takes the ranks off the metrics that depend on the length of the log.
func unrank(metrics []MetricDiff) {
	for i := range metrics {
		if m := &metrics[i]; metric.Lengthens(m.Name) && m.Better != "" && m.Change == differs {
			m.Change = NotRanked
		}
	}
}

func diffMetrics(a, b *metric.Table) []MetricDiff {
	var out []MetricDiff
	for _, m := range a.Metrics {
		other, _ := b.Get(m.Name, m.Window)
		out = append(out, diffMetric(m, other))
	}
	for _, m := range b.Metrics {
		if _, known := a.Get(m.Name, m.Window); !known {
			d := diffMetric(metric.Metric{Name: m.Name, Unit: m.Unit, Window: m.Window}, m)
			out = append(out, d)
		}
	}
	return out
}

func diffMetric(a, b metric.Metric) MetricDiff {
	d := MetricDiff{Name: a.Name, Unit: a.Unit, Window: a.Window, Better: metric.SenseOf(a.Name).String(), A: a.Value, B: b.Value}
	if a.Value == nil || b.Value == nil {
		return d
	}
	diff := *b.Value - *a.Value
	d.Diff = &diff
	if *a.Value != 0 {
		rel := diff / math.Abs(*a.Value)
		d.Relative = &rel
	}
	d.Change = differs
	if diff == 0 {
		d.Change = "same"
	}
	return d
}

// gone marks a job of A that B has as well, or that A does not have.
const gone = record.Absent + 1

// diffJobs keeps the starts of A by job and streams B past them.
func (c *Comparison) diffJobs(a, b *record.Run, rows int64) error {
	// The file bounds what is asked for at once, whatever run.json claims.
	starts := make([]int64, 0, min(rows, 2*a.Rows()+1024))
	err := a.Scan(func(j *record.Columns) error {
		for i, job := range j.Job {
			if job < 0 || rows > 0 && int64(job) >= rows {
				return badJob(a, job, rows)
			}
			for int(job) >= len(starts) {
				starts = append(starts, gone)
			}
			starts[job] = j.Start[i]
			addWait(&c.waitsA, j.Wait[i])
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = b.Scan(func(j *record.Columns) error {
		for i, job := range j.Job {
			if job < 0 {
				return badJob(b, job, rows)
			}
			addWait(&c.waitsB, j.Wait[i])
			if int(job) >= len(starts) || starts[job] == gone {
				c.Jobs.OnlyB++
				continue
			}
			c.diffJob(j, i, starts[job])
			starts[job] = gone
		}
		return nil
	})
	for _, s := range starts {
		if s != gone {
			c.Jobs.OnlyA++
		}
	}
	users := b.Users()
	for i, m := range c.Moved {
		if m.user >= 0 && int(m.user) < len(users) {
			c.Moved[i].User = users[m.user]
		}
	}
	return err
}

func badJob(r *record.Run, job int32, rows int64) error {
	return rundata.Damaged(r, "jobs.parquet", fmt.Sprintf("row %d of a trace of %d rows", job, rows))
}

func addWait(w *plot.Waits, us int64) {
	if us == record.Absent {
		w.Absent++
		return
	}
	w.Add(us)
}

// diffJob counts row i of B against the start in A.
func (c *Comparison) diffJob(j *record.Columns, i int, startA int64) {
	startB := j.Start[i]
	switch {
	case startA == record.Absent && startB == record.Absent:
		c.Jobs.NeverStarted++
		return
	case startA == record.Absent:
		c.Jobs.StartedOnlyB++
		return
	case startB == record.Absent:
		c.Jobs.StartedOnlyA++
		return
	case startA == startB:
		c.Jobs.Same++
		return
	case startB < startA:
		c.Jobs.Earlier++
	default:
		c.Jobs.Later++
	}
	c.keepMoved(MovedJob{
		Job: j.Job[i], ID: j.ID[i], Procs: j.Procs[i], user: j.User[i],
		WaitA: model.Duration(startA - j.Submit[i]), WaitB: model.Duration(startB - j.Submit[i]),
	})
}

// keepMoved inserts m into the list of the largest moves, equal ones ascending
// by job.
func (c *Comparison) keepMoved(m MovedJob) {
	ahead := func(x, y *MovedJob) bool {
		dx, dy := magnitude(x.Moved()), magnitude(y.Moved())
		return dx > dy || dx == dy && x.Job < y.Job
	}
	if len(c.Moved) == mostMoved {
		if !ahead(&m, &c.Moved[mostMoved-1]) {
			return
		}
		c.Moved = c.Moved[:mostMoved-1]
	}
	k := len(c.Moved)
	c.Moved = append(c.Moved, m)
	for ; k > 0 && ahead(&m, &c.Moved[k-1]); k-- {
		c.Moved[k] = c.Moved[k-1]
	}
	c.Moved[k] = m
}

func magnitude(d model.Duration) model.Duration {
	if d < 0 {
		return -d
	}
	return d
}

// ownFigures draws the waits of both runs over one another, and their difference.
func (c *Comparison) ownFigures() []*plot.Figure {
	says := c.says()
	a, b := plot.Named{Name: "A", About: says[0], Waits: &c.waitsA}, plot.Named{Name: "B", About: says[1], Waits: &c.waitsB}
	both := plot.WaitCDF(a, b)
	both.Name = "wait-cdf-compared"
	return []*plot.Figure{both, plot.WaitDifference(a, b)}
}

// MetricTable shows the metrics of both runs with their differences.
func (c *Comparison) MetricTable() *doc.Table {
	t := doc.New("metric", "unit", "window", "A", "B", "difference", "relative", "better", "change")
	for _, d := range c.Metrics {
		rel := doc.Cell{}
		if d.Relative != nil {
			rel = doc.Quantity(fmt.Sprintf("%+.2f %%", 100**d.Relative), *d.Relative)
		}
		t.Row(d.Name, d.Unit, d.Window, optional(d.A, ""), optional(d.B, ""), optional(d.Diff, "+"), rel, optionalText(d.Better), changeCell(d.Change))
	}
	return t
}

func optionalText(s string) doc.Cell {
	if s == "" {
		return doc.Cell{}
	}
	return doc.Cell{Text: s, JSON: s}
}

func optional(v *float64, sign string) doc.Cell {
	if v == nil {
		return doc.Cell{}
	}
	s := page.Number(*v)
	if *v > 0 {
		s = sign + s
	}
	return doc.Quantity(s, *v)
}

func changeCell(change string) doc.Cell {
	if change == "" {
		return doc.Cell{}
	}
	c := doc.Cell{Text: change, JSON: change}
	if change == differs {
		return c
	}
	return c.In(doc.Faint)
}

// CountTable shows how many jobs started earlier, later or not at all.
func (c *Comparison) CountTable() *doc.Table {
	t := doc.New("jobs from A to B", "count")
	for _, row := range []struct {
		name  string
		count int64
	}{
		{"start at the same time", c.Jobs.Same},
		{"start earlier", c.Jobs.Earlier},
		{"start later", c.Jobs.Later},
		{"started in A only", c.Jobs.StartedOnlyA},
		{"started in B only", c.Jobs.StartedOnlyB},
		{"never started", c.Jobs.NeverStarted},
		{"in A only", c.Jobs.OnlyA},
		{"in B only", c.Jobs.OnlyB},
	} {
		t.Row(row.name, row.count)
	}
	return t
}

// MovedTable shows the jobs that moved most.
func (c *Comparison) MovedTable() *doc.Table {
	t := doc.New("job", "user", "procs", "wait in A", "wait in B", "moved")
	for i := range c.Moved {
		m := &c.Moved[i]
		sign := "+"
		if m.Moved() < 0 {
			sign = ""
		}
		var user any
		if m.User != "" {
			user = m.User
		}
		t.Row(m.ID, user, m.Procs, span(m.WaitA, ""), span(m.WaitB, ""), span(m.Moved(), sign))
	}
	return t
}

func span(d model.Duration, sign string) doc.Cell {
	return doc.Quantity(sign+d.String(), d.Seconds())
}
