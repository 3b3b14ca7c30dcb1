// Package gate says whether a change may pass: it replays the runs of a gate
// file, side by side and from memory, and holds what comes out against a stored
// baseline, against another run, and against stated limits. What it may say of
// each check is that it holds, that it does not (a regression), or that the
// evidence does not suffice.
//
// It must not know files, flags or the clock: traces and clusters are given to
// it, and so is who updates a baseline, when and why. A gate is a function of
// its file and of the traces; the number of workers has no part in it.
package gate

import (
	"cmp"
	"context"
	"slices"

	"orrery/profiles"
	"orrery/traces/transform"
)

// Files gives what a gate file names, relative to it.
type Files interface {
	// Trace opens a trace. It stays open until the gate is through.
	Trace(ctx context.Context, path string) (*transform.Set, error)
	// Cluster reads a cluster file, with these profiles ([VCLUSTER=]NAME) instead
	// of its own.
	Cluster(path string, use []string) (*profiles.Cluster, error)
	// Scenario reads a scenario file.
	Scenario(path string) (*profiles.Scenario, error)
}

// Verdict is what may be said of a check.
type Verdict string

// The verdicts.
const (
	Holds      Verdict = "holds"
	Regression Verdict = "regression"
	Undecided  Verdict = "not enough evidence"
)

// worst of two verdicts: a regression is one, whatever else is not known.
func worst(a, b Verdict) Verdict {
	switch {
	case a == Regression || b == Regression:
		return Regression
	case a == Undecided || b == Undecided:
		return Undecided
	}
	return Holds
}

// Kinds of checks, as the keys of a gate file.
const (
	Exact   = "exact"
	Banded  = "banded"
	Paired  = "paired"
	Counted = "counted"
	Bound   = "bound"
	Balance = "balance"
	Steady  = "steady"
	Thrash  = "thrash"
)

// Finding is the outcome of one check.
type Finding struct {
	Kind    string  `json:"kind"`
	Check   string  `json:"check"`
	Run     string  `json:"run"`
	Metric  string  `json:"metric,omitempty"`
	Verdict Verdict `json:"verdict"`
	Found   string  `json:"found_text"`
	Want    string  `json:"want_text"`
	Why     string  `json:"why,omitempty"`
	// Numbers are what Found and Want say, one for each number that was held against
	// a limit.
	Numbers []Quantity `json:"numbers,omitempty"`
	// Replicas is how many jittered replays of each side a paired check on one trace
	// decided on.
	Replicas int `json:"replicas,omitempty"`
	// Baseline says where the stored numbers come from.
	Baseline *Provenance `json:"baseline,omitempty"`
}

// Quantity is one number of a check, with all its digits.
type Quantity struct {
	Name  string   `json:"name"`            // the metric, the count, or gain
	Unit  string   `json:"unit"`            // of all that follow; 1 is none
	Value *float64 `json:"value,omitempty"` // nil when it is undefined
	// Low and High bound it, each with the confidence of the gate; of a gain.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// AtLeast and AtMost are the limits.
	AtLeast *float64 `json:"at_least,omitempty"`
	AtMost  *float64 `json:"at_most,omitempty"`
}

// Report is the outcome of a gate.
type Report struct {
	Schema      int       `json:"schema"` // 3
	Gate        string    `json:"gate"`
	Description string    `json:"description,omitempty"`
	Verdict     Verdict   `json:"verdict"`
	Checks      []Finding `json:"checks"`
	Replays     []Replay  `json:"replays"`
}

// Count is how many checks came to a verdict.
func (r *Report) Count(v Verdict) int {
	n := 0
	for i := range r.Checks {
		if r.Checks[i].Verdict == v {
			n++
		}
	}
	return n
}

// Unheeded says what jobs requested and replays left unmet, each sentence once: it is to be
// read before any finding.
func (r *Report) Unheeded() []string {
	var out []string
	for i := range r.Replays {
		for _, text := range r.Replays[i].Unheeded {
			if text = r.Replays[i].Run + ": " + text; !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

// Options say how a gate is run. But for Baseline none of them changes a finding.
type Options struct {
	Workers  int                 // at least 1
	Progress func(done, all int) // called by one goroutine at a time; nil for never
	// Baseline is what was stored, whose seeds paired checks against it replay; nil
	// where there is none, or where it is to be made anew.
	Baseline *Baseline
}

// Run replays everything that the gate is about. The replays are in the order of
// the file: run by run, seed by seed. Paired checks on a trace begin with a few
// replicas, and get as many more as the noise between them asks for: that depends on
// what the replays come to, never on how long they take.
func Run(ctx context.Context, g *profiles.Gate, files Files, o Options) (*Evidence, error) {
	p, err := prepare(ctx, g, files)
	if err != nil {
		return nil, err
	}
	e := &Evidence{gate: g, made: make([]int, len(p.runs))}
	for i := range p.runs {
		e.chosen = append(e.chosen, p.runs[i].trace != nil)
	}
	for todo := e.due(p, o.Baseline, true); len(todo) > 0; todo = e.due(p, o.Baseline, false) {
		more, err := p.replay(ctx, todo, len(e.outcomes), o)
		if err != nil {
			return nil, err
		}
		e.outcomes = append(e.outcomes, more...)
	}
	place := func(name string) int {
		return slices.IndexFunc(g.Runs, func(r profiles.GateRun) bool { return r.Name == name })
	}
	slices.SortStableFunc(e.outcomes, func(a, b outcome) int { return cmp.Compare(place(a.Run), place(b.Run)) })
	return e, nil
}

// Evidence is what the replays of a gate came to.
type Evidence struct {
	gate     *profiles.Gate
	outcomes []outcome
	chosen   []bool // by run: the gate chooses its seeds
	made     []int  // by run: replicas that were asked for
}

// due are the replays that are to be made next: at first those that the file states,
// and always the replicas that paired checks want and do not have.
func (e *Evidence) due(p *gatePlan, base *Baseline, first bool) []errand {
	var out []errand
	for i := range p.runs {
		r := &p.runs[i]
		if first {
			out = append(out, r.own...)
		}
		want := e.made[i]
		for k := range e.gate.Paired {
			if c := &e.gate.Paired[k]; r.trace != nil && (c.Run == r.run.Name || c.Against == r.run.Name) {
				want = max(want, e.wanted(c, base))
			}
		}
		for k := e.made[i]; k < want; k++ {
			out = append(out, r.replica(k+1))
		}
		e.made[i] = want
	}
	return out
}

// of lists the outcomes of a run, but for its replicas.
func (e *Evidence) of(run string) []*outcome { return e.list(run, false) }

// replicas lists those of a run.
func (e *Evidence) replicas(run string) []*outcome { return e.list(run, true) }

func (e *Evidence) list(run string, replicas bool) []*outcome {
	var out []*outcome
	for i := range e.outcomes {
		if x := &e.outcomes[i]; x.Run == run && x.Replica == replicas {
			out = append(out, x)
		}
	}
	return out
}

// Judge makes every check of the gate. base is the stored baseline; nil is none.
func (e *Evidence) Judge(base *Baseline) (*Report, error) {
	r := &Report{Schema: 3, Gate: e.gate.Name, Description: e.gate.Description, Verdict: Holds}
	for i := range e.outcomes {
		r.Replays = append(r.Replays, e.outcomes[i].Replay)
	}
	found, err := e.checks(base)
	if err != nil {
		return nil, err
	}
	r.Checks = found
	for i := range found {
		r.Verdict = worst(r.Verdict, found[i].Verdict)
	}
	return r, nil
}
