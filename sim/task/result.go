package task

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"orrery/sim/losers"
	"orrery/sim/metric"
)

// Result is what a task came to. It is a function of the task alone.
type Result struct {
	Task string `json:"task"` // its ID
	Figures
	// Unheeded says, a sentence each, what more of the work asked for than a replay may leave
	// unmet, where it was allowed to.
	Unheeded []string `json:"unheeded,omitempty"`
	// Parts and Brief are those of the task, each as if it were the steady window.
	Parts []Figures `json:"parts,omitempty"`
	Brief []Figures `json:"brief,omitempty"`
	Work  Work      `json:"work"` // of the whole run
	// Cells are all jobs of the whole run, if the task asks for them: also those before and
	// behind its window. They are in order of their names.
	Cells []losers.Cell `json:"cells,omitempty"`
}

// Figures are what was measured on a run, or on a part of it.
type Figures struct {
	// Fingerprint is that of the run, as in run.json; of a part, a hash of when
	// each of its jobs started and left.
	Fingerprint string            `json:"fingerprint"`
	Verdict     metric.Verdict    `json:"verdict"`
	Metrics     map[string]Metric `json:"metrics"`
	// Groups tells more of parts of the work: by tenant, vcluster, class, kind,
	// size, run time and user (metric.ByTenant and so on), then by name. They are
	// over the window GroupsOf.
	Groups   map[string]map[string]Group `json:"groups,omitempty"`
	GroupsOf string                      `json:"groups_of,omitempty"` // steady, or all where the run has no steady window
}

// Metric is one number in both windows; nil when it is undefined there.
type Metric struct {
	All         *float64 `json:"all,omitempty"`
	Steady      *float64 `json:"steady,omitempty"`
	CountAll    int64    `json:"count_all,omitempty"` // jobs behind the value
	CountSteady int64    `json:"count_steady,omitempty"`
}

// Work counts what the run cost, in things that can be counted.
type Work struct {
	Instants uint64 `json:"instants"`
	Passes   uint64 `json:"passes"`
	Examined uint64 `json:"examined"`
}

// Value is the value of a metric in a window (metric.All or metric.Steady); false
// when it is undefined or unknown.
func (r *Figures) Value(name, window string) (float64, bool) {
	m := r.Metrics[name]
	v := m.All
	if window == metric.Steady {
		v = m.Steady
	}
	if v == nil {
		return 0, false
	}
	return *v, true
}

// Of is the value of a measure: of the run in a window, or of a group in GroupsOf;
// false when it is undefined or unknown, or groups are of another window.
func (r *Figures) Of(m metric.Measure, window string) (float64, bool) {
	switch {
	case m.By == "":
		return r.Value(m.Metric, window)
	case window != r.GroupsOf:
		return 0, false
	}
	g := r.Groups[m.By][m.Group]
	return g.Value(m.Metric)
}

// json is the form in which a result is kept: keys in order, every number in its
// shortest spelling.
func (r *Result) json() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // finite numbers and words
	}
	return b
}

// ParseResult reads what JSON wrote.
func ParseResult(b []byte) (Result, error) {
	var r Result
	if err := strict(b, &r); err != nil {
		return r, fmt.Errorf("reading the result of a task: %w", err)
	}
	return r, nil
}

// ResultOf reads the result of the task with an ID, and refuses that of another one.
func ResultOf(id string, b []byte) (Result, error) {
	r, err := ParseResult(b)
	if err == nil && r.Task != id {
		err = fmt.Errorf("found the result of the task %.12s, want that of %.12s", r.Task, id)
	}
	return r, err
}

// enter puts a table of metrics in.
func (r *Figures) enter(t *metric.Table) {
	r.Verdict, r.Metrics = t.Verdict, make(map[string]Metric, len(t.Metrics))
	for _, x := range t.Metrics {
		m := r.Metrics[x.Name]
		if x.Window == metric.Steady {
			m.Steady, m.CountSteady = x.Value, x.Count
		} else {
			m.All, m.CountAll = x.Value, x.Count
		}
		r.Metrics[x.Name] = m
	}
	r.Groups = map[string]map[string]Group{}
	for i := range t.Groups {
		g := &t.Groups[i]
		if g.Window != r.GroupsOf {
			continue
		}
		out := r.group(g.By, g.Name)
		for k := range columns {
			value, _ := columns[k].Read(g)
			out.set(k, value)
		}
	}
}

// group is a group of the result, which it is put into.
func (r *Figures) group(by, name string) Group {
	if r.Groups[by] == nil {
		r.Groups[by] = map[string]Group{}
	}
	if r.Groups[by][name] == nil {
		r.Groups[by][name] = slices.Repeat(Group{math.NaN()}, len(columns))
	}
	return r.Groups[by][name]
}
