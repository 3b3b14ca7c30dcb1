package traces

import (
	"orrery/scheduler/model"
)

// Use is the most of something that jobs held at once by their recorded starts and ends, for longer than no time. Records
// are not feasible schedules: it may be more than there was.
type Use struct {
	What   string  `json:"what"` // processors, nodes or GPUs
	Peak   float64 `json:"peak"`
	Stated int64   `json:"stated,omitempty"` // what there was, by the table of nodes, else by the file; 0 where neither says
}

// Requests says how many jobs ran longer than they requested.
type Requests struct {
	Jobs     int64   `json:"jobs"` // with a run time and a requested time
	Exceeded int64   `json:"exceeded"`
	Share    float64 `json:"share"`   // exceeded ÷ jobs
	Without  int64   `json:"without"` // jobs that lack either
}

// What a report says of where instants come from, where no time zone is used. The date of relative ones is not known.
const (
	TimesRelative = "counted from a zero of the source's own; no zone"
	TimesUTC      = "UTC: instants that count from 1970 or name their zone"
)

// measure is what the rows of a bundle state of time and of what jobs held. Memory grows with the jobs that wait or run
// at one instant, and not with the rows.
type measure struct {
	extents  [6]extent // of measuredTables
	requests Requests
	ran      int64 // jobs with a recorded start and end
	nodes    [3]int64
	peaks    Peaks
}

var measuredTables = [6]string{"jobs", "events", "prices", "load", "telemetry", "mig"}

const (
	ofJobs = iota
	ofEvents
	ofPrices
	ofLoad
	ofTelemetry
	ofInstances
)

// measuredUnits are those of what jobs hold that reports list.
var measuredUnits = [3]string{"processors", "nodes", "GPUs"}

// extent is from the first to the last instant that the rows of a table state.
type extent struct {
	first, last model.Time
	any         bool
}

func (e *extent) add(t model.Time) {
	if !e.any || t < e.first {
		e.first = t
	}
	if !e.any || t > e.last {
		e.last = t
	}
	e.any = true
}

// step is what is held more, or less, from an instant on.
type step struct {
	at model.Time
	by Held
}

// Measure has the Writer note what Measured answers, of the rows that it is given from now on.
func (w *Writer) Measure() { w.measure = &measure{peaks: Peaks{now: model.AbsentTime}} }

// job takes a job; those before it were submitted no later.
func (m *measure) job(j *Job) {
	e := &m.extents[ofJobs]
	e.add(j.Submit)
	for _, t := range [...]Opt[model.Time]{j.Start, j.End, j.CancelledAt} {
		if t.OK {
			e.add(t.V)
		}
	}
	switch {
	case !j.Runtime.OK || !j.Walltime.OK || j.Walltime.V <= 0:
		m.requests.Without++
	case j.Runtime.V > j.Walltime.V:
		m.requests.Exceeded++
		fallthrough
	default:
		m.requests.Jobs++
	}
	end := j.End
	if !end.OK && j.Start.OK && j.Runtime.OK {
		end = Some(j.Start.V.Add(j.Runtime.V))
	}
	if !j.Start.OK || !end.OK {
		return
	}
	m.ran++
	m.peaks.Add(j.Submit, j.Start.V, end.V, HeldBy(j))
}

func (m *measure) node(n *Node) {
	m.nodes[0] += int64(n.CPUs)
	m.nodes[1]++
	m.nodes[2] += int64(n.GPUs)
}

// Measured adds to each table of a report what the rows of it state that were written since Measure: from when to when they
// are, how much their jobs held at once, and how many ran longer than requested. times is where their instants come from, in
// words. It is called once, behind the last row.
func (w *Writer) Measured(r *Report, times string) {
	m := w.measure
	m.peaks.Finish()
	for i := range r.Tables {
		t := &r.Tables[i]
		for k, name := range measuredTables {
			if e := &m.extents[k]; name == t.Table && e.any {
				first, last := int64(e.first+w.meta.Epoch), int64(e.last+w.meta.Epoch)
				t.FirstUS, t.LastUS, t.Times = &first, &last, times
			}
		}
		if t.Table == "jobs" {
			t.Use, t.Requests = m.use(&w.meta), m.asked()
		}
	}
}

func (m *measure) asked() *Requests {
	r := m.requests
	if r.Jobs > 0 {
		r.Share = float64(r.Exceeded) / float64(r.Jobs)
	}
	return &r
}

// use lists what jobs held any of.
func (m *measure) use(meta *Meta) (out []Use) {
	stated := [3]int64{int64(meta.MaxProcs), int64(meta.MaxNodes), 0}
	for i, what := range measuredUnits {
		if m.nodes[i] > 0 {
			stated[i] = m.nodes[i]
		}
		peak := float64(m.peaks.Most[i])
		if i == 2 {
			peak /= 1000
		}
		if peak > 0 {
			out = append(out, Use{What: what, Peak: peak, Stated: stated[i]})
		}
	}
	return out
}

// steps is a heap by instant.
type steps []step

func (s steps) Len() int           { return len(s) }
func (s steps) Less(i, k int) bool { return s[i].at < s[k].at }
func (s steps) Swap(i, k int)      { s[i], s[k] = s[k], s[i] }

// Push implements heap.Interface.
func (s *steps) Push(x any) { *s = append(*s, x.(step)) }

// Pop implements heap.Interface.
func (s *steps) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}
