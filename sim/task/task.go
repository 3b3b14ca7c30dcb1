// Package task says what one task of a study is and computes it: a spec of a
// replay on a trace, on a window of it or with its arrivals shaken, and the
// metrics that come out, from memory and without a run directory. Tasks and
// results are bytes that are the same wherever and however often they are made.
// It must not know where tasks come from, who computes them, or what a study
// directory looks like.
package task

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"orrery/scheduler/model"
	"orrery/sim"
)

// Task is a replay to be measured. Spec.Trace is the content hash of the trace
// that Window and Shake start from, and Spec is bound to that trace (sim.Spec.Bind).
type Task struct {
	Spec   sim.Spec
	Window *Window // nil: the whole trace
	Shake  *Shake  // nil: arrivals as they are; of the window where there is one
}

// LeastJobs of a window, below which its metrics say nothing.
const LeastJobs = 20

// Window is a part of the trace, in µs since its epoch.
type Window struct {
	Begin model.Time `json:"begin_us"`
	End   model.Time `json:"end_us"`
	Warm  bool       `json:"warm,omitempty"` // begins with what the log has running and waiting then
}

// Shake moves each submission by up to By in either direction.
type Shake struct {
	By   model.Duration `json:"by_us"`
	Seed uint64         `json:"seed"`
}

// wire is a Task as JSON.
type wire struct {
	Spec   json.RawMessage `json:"spec"`
	Window *Window         `json:"window,omitempty"`
	Shake  *Shake          `json:"shake,omitempty"`
}

// JSON is the canonical form.
func (t Task) JSON() []byte { return t.with(t.Spec.JSON()) }

// Of is the canonical form of the task whose spec has that canonical form.
func Of(spec []byte, window *Window, shake *Shake) []byte {
	return Task{Window: window, Shake: shake}.with(spec)
}

// with is JSON where the canonical form of the spec is at hand.
func (t Task) with(spec []byte) []byte {
	b, err := json.Marshal(wire{spec, t.Window, t.Shake})
	if err != nil {
		panic(err) // integers, and JSON
	}
	return b
}

// ID is the SHA-256 of the canonical form, in hexadecimal.
func (t Task) ID() string { return IDOf(t.JSON()) }

// IDOf is the id of a task in its canonical form.
func IDOf(task []byte) string { return digest(task) }

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Parse reads a task. Keys that a task does not have are refused, for they would
// ask for something that does not happen.
func Parse(b []byte) (Task, error) {
	var w wire
	var t Task
	if err := strict(b, &w); err != nil {
		return t, fmt.Errorf("reading a task: %w", err)
	}
	if err := strict(w.Spec, &t.Spec); err != nil {
		return t, fmt.Errorf("reading the spec of a task: %w", err)
	}
	t.Window, t.Shake = w.Window, w.Shake
	if w := t.Window; w != nil && w.End <= w.Begin {
		return t, fmt.Errorf("reading a task: found a window from %s to %s, want one that ends after it begins", w.Begin, w.End)
	}
	return t, nil
}

func strict(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("found more behind its end")
	}
	return nil
}
