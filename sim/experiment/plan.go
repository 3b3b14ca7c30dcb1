// Package experiment turns an experiment, as its file describes it, into the
// tasks of a study, and their results into rows: which points there are, on which
// scenarios, which task is which, and what came of each point. It must not know
// what computes the tasks, where the study lies, or how rows are shown.
package experiment

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"orrery/internal/seal"
	"orrery/sim/metric"
	"orrery/sim/task"
)

// Schema is the version of Plan as JSON. Since 3 it holds its SHA-256, and since 4 the jitter
// is called that. Those from OldestSchema on are read.
const (
	Schema       = 4
	OldestSchema = 2
	sealedSchema = 3
)

// Plan is what an experiment came to: points, scenarios, and the task of each
// pair. It is kept with the study, for the specs alone do not say which values
// were whose.
type Plan struct {
	Schema      int          `json:"schema"`
	Name        string       `json:"name"`
	Description string       `json:"description,omitempty"`
	File        string       `json:"experiment"` // its YAML, every key that applies
	Traces      []TraceRef   `json:"traces"`
	Parameters  []Parameter  `json:"parameters"`
	Objectives  []Goal       `json:"objectives"`
	Constraints []Constraint `json:"constraints,omitempty"`
	Show        []string     `json:"show,omitempty"`
	Scenarios   []Scenario   `json:"scenarios"`
	Aside       []Aside      `json:"aside,omitempty"`   // windows that are no scenario
	Remarks     []string     `json:"remarks,omitempty"` // to be read beside the figures of the scenarios
	Points      []Point      `json:"points"`
	Merged      int          `json:"merged,omitempty"` // points left out for being like another
}

// TraceRef names a trace of a plan.
type TraceRef struct {
	Name string `json:"name"`
	Hash string `json:"hash"` // of its content
	Jobs int64  `json:"jobs"`
}

// Parameter is a setting in which points differ.
type Parameter struct {
	Name    string  `json:"name"`
	Numeric bool    `json:"numeric,omitempty"`
	Whole   bool    `json:"whole,omitempty"`
	Weight  bool    `json:"weight,omitempty"` // one of several that sum to 1
	Unit    string  `json:"unit,omitempty"`
	Low     float64 `json:"low,omitempty"` // of a sample
	High    float64 `json:"high,omitempty"`
	Log     bool    `json:"log,omitempty"`
}

// Goal is an objective; see profiles.Objective.
type Goal struct {
	Metric   string `json:"metric"`
	Window   string `json:"window"`
	Maximise bool   `json:"maximise,omitempty"`
}

// Constraint bounds a metric; see profiles.Constraint.
type Constraint struct {
	Metric  string   `json:"metric"`
	Window  string   `json:"window"`
	AtMost  *float64 `json:"at_most,omitempty"`
	AtLeast *float64 `json:"at_least,omitempty"`
}

// Scenario is what every point is tried on.
type Scenario struct {
	Trace int    `json:"trace"` // in Plan.Traces
	Name  string `json:"name"`
	// File is the scenario file under which it is replayed, as the experiment names it, none for
	// the trace as it is; empty where the experiment lists none.
	File   string       `json:"file,omitempty"`
	Window *task.Window `json:"window,omitempty"` // that is replayed
	// Parts of the window are scenarios that share their tasks; Part is the place of
	// this one among them, from 1, and 0 where the whole window is the scenario.
	Parts  []metric.Span `json:"parts,omitempty"`
	Part   int           `json:"part,omitempty"`
	Jitter *task.Jitter  `json:"jitter,omitempty"`
	// Before is the jitter in plans before schema 4. ParsePlan makes it Jitter.
	Before *task.Jitter `json:"shake,omitempty"`
}

// shares says whether a point has one task for two scenarios.
func (s *Scenario) shares(o *Scenario) bool {
	return s.Trace == o.Trace && s.File == o.File && reflect.DeepEqual(s.Window, o.Window) && reflect.DeepEqual(s.Jitter, o.Jitter) && slices.Equal(s.Parts, o.Parts)
}

// figures are those of the scenario in the result of its task.
func (s *Scenario) figures(r *task.Result) *task.Figures {
	if s.Part > 0 && s.Part <= len(r.Parts) {
		return &r.Parts[s.Part-1]
	}
	return &r.Figures
}

// Aside is a window with too few jobs to be replayed.
type Aside struct {
	Trace  string `json:"trace"`
	Window string `json:"window"`
	Jobs   int    `json:"jobs"` // submitted in it, fewer than task.LeastJobs
}

// Point is a profile with settings.
type Point struct {
	ID     string    `json:"id"`
	Name   string    `json:"name,omitempty"`
	Values []string  `json:"values"`  // by parameter, in the spelling of the files; "" where it does not apply
	At     []float64 `json:"numbers"` // the same as numbers, 0 where it is none
	Tasks  []string  `json:"tasks"`   // by scenario: ids

	sites [][]byte // by trace: the cluster file, until it is bound
}

// mostTasks of an experiment: of points on scenarios.
const mostTasks = 200_000

// Task is a point on a scenario.
type Task struct {
	spec     []byte // in its canonical form, which the scenarios of a trace share
	scenario *Scenario
}

// JSON is the canonical form, see task.Task.
func (t Task) JSON() []byte {
	return task.Task{Window: t.scenario.Window, Jitter: t.scenario.Jitter, Parts: t.scenario.Parts}.Of(t.spec)
}

// JSON is the plan as it is kept.
func (p *Plan) JSON() []byte {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // numbers are finite, the rest are words
	}
	return seal.Object(b)
}

// ParsePlan reads what JSON wrote.
func ParsePlan(b []byte) (*Plan, error) {
	b, err := seal.CutVersioned(b, sealedSchema)
	if err != nil {
		return nil, fmt.Errorf("reading the plan of a study: found %w: sweep the experiment again", err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	p := new(Plan)
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("reading the plan of a study: %w", err)
	}
	if p.Schema < OldestSchema || p.Schema > Schema {
		return nil, fmt.Errorf("reading the plan of a study: found schema %d, want %d to %d: sweep the experiment again with this program", p.Schema, OldestSchema, Schema)
	}
	for i := range p.Scenarios {
		x := &p.Scenarios[i]
		x.Jitter, x.Before = cmp.Or(x.Jitter, x.Before), nil
	}
	for i := range p.Points {
		if q := &p.Points[i]; len(q.Tasks) != len(p.Scenarios) || len(q.Values) != len(p.Parameters) || len(q.At) != len(q.Values) {
			return nil, fmt.Errorf("reading the plan of a study: point %s has %d tasks and %d values, want %d and %d: sweep the experiment again",
				q.ID, len(q.Tasks), len(q.Values), len(p.Scenarios), len(p.Parameters))
		}
	}
	return p, nil
}

// Size is the number of tasks: of points on scenarios, of which several may share
// one.
func (p *Plan) Size() int {
	n := 0
	for i := range p.Scenarios {
		if i == 0 || !p.Scenarios[i].shares(&p.Scenarios[i-1]) {
			n++
		}
	}
	return n * len(p.Points)
}
