// Package task says what one task of a study is and computes it: a spec of a
// replay on a trace, the window of it that is measured, another load or jittered
// arrivals, and the metrics that come out, from memory and without a run
// directory. Tasks and results are bytes that are the same wherever and however
// often they are made. It must not know where tasks come from, what computes them,
// or what a study directory looks like.
package task

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/plan"
)

// Task is a replay to be measured. Spec.Trace is the content hash of the trace
// that the others start from, and Spec is bound to that trace (sim.Spec.Bind).
type Task struct {
	Spec   plan.Spec
	Window *Window // nil: the whole trace
	Jitter *Jitter // nil: arrivals as they are; of the window where there is one
	// Load, in thousandths, is what the load is multiplied by: the time between
	// submissions is divided by it. 0 leaves it as it is.
	Load int
	// Parts of the window, or of the trace, are measured each by itself too. They may
	// overlap. Of those in Brief the groups are left out.
	Parts, Brief []metric.Span
	// Cells asks for the waits of all jobs by user, size and so on: Result.Cells.
	Cells bool
}

// Window is the part of a trace that is measured: the jobs submitted in
// [Begin, End), in µs since the epoch of the trace.
type Window struct {
	Begin model.Time `json:"begin_us"`
	End   model.Time `json:"end_us"`
	// Lead is how much of the trace before Begin is replayed first, under the same
	// settings; nil is all of it.
	Lead *model.Duration `json:"lead_us,omitempty"`
	// Warm says that the lead begins with what the log has running and waiting then,
	// as far as it says. Without a lead the trace begins as it does.
	Warm bool `json:"warm,omitempty"`
	// Follow is for how long the load goes on after End, at most, until the jobs of
	// the window have left. Those that have not count with their wait so far.
	Follow model.Duration `json:"follow_us"`
}

// Replayed says in words how much of the trace is replayed before the window, and
// in which state that begins.
func (w *Window) Replayed() string {
	switch {
	case w.Lead == nil:
		return "all of the trace before it is replayed first"
	case w.Warm:
		return fmt.Sprintf("%s of the trace before it is replayed first, from what the log has running and waiting then", *w.Lead)
	}
	return fmt.Sprintf("%s of the trace before it is replayed first, from an idle cluster", *w.Lead)
}

func (w *Window) validate() error {
	switch {
	case w.End <= w.Begin:
		return fmt.Errorf("found a window from %s to %s, want one that ends after it begins", w.Begin, w.End)
	case w.Follow < 0 || w.Lead != nil && *w.Lead < 0:
		return fmt.Errorf("found a window with a lead or a follow-up below 0, want 0 or more")
	case w.Lead == nil && w.Warm:
		return fmt.Errorf("found a warm window without a lead, want one: the state of the log is taken where the lead begins")
	}
	return nil
}

// checkParts refuses parts that the run does not hold.
func (t *Task) checkParts() error {
	for _, list := range [][]metric.Span{t.Parts, t.Brief} {
		for _, p := range list {
			if w := t.Window; p.To <= p.From || w != nil && (p.From < w.Begin || p.To > w.End) {
				return fmt.Errorf("found a part from %s to %s, want one that ends after it begins and lies in the window", p.From, p.To)
			}
		}
	}
	return nil
}

// Jitter moves each submission by up to By in either direction.
type Jitter struct {
	By   model.Duration `json:"by_us"`
	Seed uint64         `json:"seed"`
}

// wire is a Task as JSON.
type wire struct {
	Spec   json.RawMessage `json:"spec"`
	Window *Window         `json:"window,omitempty"`
	Jitter *Jitter         `json:"jitter,omitempty"`
	Before *Jitter         `json:"shake,omitempty"` // the jitter, as it was called; read and not written
	Load   int             `json:"load_thousandths,omitempty"`
	Parts  []metric.Span   `json:"parts,omitempty"`
	Brief  []metric.Span   `json:"brief,omitempty"`
	Cells  bool            `json:"cells,omitempty"`
}

// JSON is the canonical form.
func (t Task) JSON() []byte { return t.with(t.Spec.JSON()) }

// Of is the canonical form of t with another spec, which has that canonical form.
func (t Task) Of(spec []byte) []byte { return t.with(spec) }

// with is JSON where the canonical form of the spec is at hand.
func (t Task) with(spec []byte) []byte {
	b, err := json.Marshal(wire{Spec: spec, Window: t.Window, Jitter: t.Jitter, Load: t.Load, Parts: t.Parts, Brief: t.Brief, Cells: t.Cells})
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
	t.Window, t.Jitter, t.Load, t.Parts, t.Brief, t.Cells = w.Window, cmp.Or(w.Jitter, w.Before), w.Load, w.Parts, w.Brief, w.Cells
	if w := t.Window; w != nil {
		if err := w.validate(); err != nil {
			return t, fmt.Errorf("reading a task: %w", err)
		}
	}
	if t.Load < 0 {
		return t, fmt.Errorf("reading a task: found a load of %d thousandths, want 0 or more", t.Load)
	}
	if err := t.checkParts(); err != nil {
		return t, fmt.Errorf("reading a task: %w", err)
	}
	return t, nil
}

// Replay is the spec of the replay, of the trace that Runner.Trace derives.
func (t *Task) Replay() plan.Spec {
	spec := t.Spec
	if w := t.Window; w != nil {
		spec.Measure = &plan.Measure{From: w.Begin, To: w.End, Follow: w.Follow}
	}
	return spec
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
