// Package metric defines what is measured on a replay: each metric once, with
// unit, formula, source and edge cases, a streaming accumulator for the state
// over time, and the reduction of finished jobs to a table. It must not know
// files, figures or how a schedule came about.
package metric

import (
	"orrery/scheduler/model"
	"orrery/sim/record/column"
)

// Windows of a metric.
const (
	All    = "all"    // every job; the series from the first submission to the last end
	Steady = "steady" // warm-up and cool-down cut off, see Config
)

// Config says what the machine is and which part of a run counts as steady.
type Config struct {
	Units      int64          // of the machine, at least 1
	WarmupJobs int64          // the steady window begins at the submission of the job with this rank, from 0
	Warmup     model.Duration // or this long after the first submission; at most one of the two
	Cooldown   model.Duration // the steady window ends this long before the last submission
	LastSubmit model.Time     // the last submission; needed only when Cooldown > 0
}

// State is the system between two instants.
type State struct {
	BusyUnits      int64
	QueuedUnits    int64 // asked for by the jobs that wait
	QueuedJobs     int32
	RunningJobs    int32
	MinQueuedUnits int32 // smallest request that waits, 0 when nobody does
}

// Series accumulates the state of the system over time.
type Series struct{}

// NewSeries returns an empty accumulator.
func NewSeries(cfg Config) (*Series, error) { return &Series{}, nil }

// Observe says that the state is st from now on, until the next call.
func (s *Series) Observe(now model.Time, st State) {}

// CountSubmit counts n submissions at now, refused ones included.
func (s *Series) CountSubmit(now model.Time, n int32) {}

// CountStart counts n starts at now.
func (s *Series) CountStart(now model.Time, n int32) {}

// CountEnd counts n ends of running jobs at now.
func (s *Series) CountEnd(now model.Time, n int32) {}

// Bins returns the time bins so far.
func (s *Series) Bins() []column.Bin { return nil }

// Verdict says whether the queue was bounded.
type Verdict string

// Verdicts, from the mildest.
const (
	Stable     Verdict = "STABLE"
	Backlogged Verdict = "BACKLOGGED"
	Overloaded Verdict = "OVERLOADED"
)

// Metric is one measured number.
type Metric struct {
	Name   string   `json:"name"`
	Unit   string   `json:"unit"`
	Window string   `json:"window"`
	Value  *float64 `json:"value"` // nil when undefined; Note says why
	Count  int64    `json:"count"` // of the observations behind Value
	Note   string   `json:"note,omitempty"`
}

// Table is the content of metrics.json.
type Table struct {
	Schema  int      `json:"schema"` // 1
	Verdict Verdict  `json:"verdict"`
	Metrics []Metric `json:"metrics"` // in the order of Definitions, window by window
}

// Get finds a metric by name and window.
func (t *Table) Get(name, window string) (Metric, bool) {
	for _, m := range t.Metrics {
		if m.Name == name && m.Window == window {
			return m, true
		}
	}
	return Metric{}, false
}

// ParseTable reads the content of metrics.json.
func ParseTable(b []byte) (Table, error) { return Table{}, nil }

// Definition says what a metric is.
type Definition struct {
	Name    string // as in metrics.json
	Unit    string
	Formula string
	Source  string
	Edge    string // what happens at the edges: who is left out, what is undefined
}

// Definitions lists every metric in the order of Table.
func Definitions() []Definition { return nil }

// Compute reduces the jobs and the series to the table of metrics.
func Compute(jobs column.Scanner, s *Series) (Table, error) { return Table{Schema: 1}, nil }
