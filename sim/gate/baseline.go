package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"orrery/profiles"
	"orrery/sim"
)

// BaselineSchema is the version of a baseline file.
const BaselineSchema = 1

// Baseline is what was stored of the runs of a gate.
type Baseline struct {
	Schema int           `json:"schema"`
	Gate   string        `json:"gate"`
	Runs   []BaselineRun `json:"runs"` // in the order of the gate file
}

// Provenance says where stored numbers come from. Who updates a baseline states
// it; nothing of it is found out here.
type Provenance struct {
	Reason  string `json:"reason"`
	By      string `json:"by,omitempty"`
	At      string `json:"at,omitempty"`      // RFC 3339
	Version string `json:"version,omitempty"` // of the program
	Commit  string `json:"commit,omitempty"`  // of the files beside the gate
}

// BaselineRun is what was stored of a run.
type BaselineRun struct {
	Run        string           `json:"run"`
	Provenance Provenance       `json:"provenance"`
	Replays    []BaselineReplay `json:"replays"`
}

// BaselineReplay is what was stored of a replay: always its identity and its
// work, and the numbers that checks of the gate refer to.
type BaselineReplay struct {
	Window      int                 `json:"window"`
	Seed        uint64              `json:"seed"`
	Task        string              `json:"task"`
	Spec        string              `json:"spec"`
	Jobs        string              `json:"jobs"`
	Fingerprint string              `json:"fingerprint"`
	Queue       string              `json:"queue"`
	Work        sim.Work            `json:"work"`
	Metrics     map[string]*float64 `json:"metrics,omitempty"` // NAME/WINDOW or BY/GROUP/NAME/WINDOW; null is undefined
}

// ParseBaseline reads a baseline file.
func ParseBaseline(text []byte) (*Baseline, error) {
	var b Baseline
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return nil, damaged(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, damaged(errors.New("more behind its end"))
	}
	if b.Schema != BaselineSchema {
		return nil, fmt.Errorf("reading a baseline: found schema %d, want %d; make it anew with --update-baseline", b.Schema, BaselineSchema)
	}
	return &b, nil
}

// damaged says what was found in place of a baseline, in words of its file.
func damaged(err error) error {
	found := err.Error()
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		found = "nothing in it"
	case errors.Is(err, io.ErrUnexpectedEOF):
		found = "the beginning of one alone"
	case errors.As(err, &kind):
		found = fmt.Sprintf("%s at the key %s", kind.Value, kind.Field)
	}
	return fmt.Errorf("reading a baseline: found %s, expected the JSON that --update-baseline writes; restore the file from version control, or remove it and make it anew with --update-baseline --reason TEXT", strings.TrimPrefix(found, "json: "))
}

// JSON is the form of the file: indented, for people look at what changed.
func (b *Baseline) JSON() []byte {
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		panic(err) // words, integers and finite numbers
	}
	return append(text, '\n')
}

// find is what was stored of a run, nil when nothing was.
func (b *Baseline) find(run string) *BaselineRun {
	if b == nil {
		return nil
	}
	for i := range b.Runs {
		if b.Runs[i].Run == run {
			return &b.Runs[i]
		}
	}
	return nil
}

// spot says which replay of a run it is.
type spot struct {
	window int
	seed   uint64
}

func (r *Replay) spot() spot { return spot{r.Window, r.Seed} }

// replays are what was stored of the replays of a run; nothing of a nil one.
func (r *BaselineRun) replays() map[spot]*BaselineReplay {
	if r == nil {
		return nil
	}
	out := make(map[spot]*BaselineReplay, len(r.Replays))
	for i := range r.Replays {
		out[spot{r.Replays[i].Window, r.Replays[i].Seed}] = &r.Replays[i]
	}
	return out
}

// Update is the baseline that these replays make. Runs that come out as they did
// before keep their provenance, the others get p. Changed are the names of these.
func (e *Evidence) Update(before *Baseline, p Provenance) (after *Baseline, changed []string, err error) {
	after = &Baseline{Schema: BaselineSchema, Gate: e.gate.Name}
	needs := needed(e.gate)
	for i := range e.gate.Runs {
		name := e.gate.Runs[i].Name
		run := BaselineRun{Run: name, Provenance: p}
		for _, x := range e.of(name) {
			stored := BaselineReplay{
				Window: x.Window, Seed: x.Seed, Task: x.Task, Spec: x.Spec, Jobs: x.Jobs, Fingerprint: x.Fingerprint, Queue: x.Verdict, Work: x.Work,
			}
			for _, m := range needs[name] {
				n, err := x.numberOf(&m)
				if err != nil {
					return nil, nil, err
				}
				if stored.Metrics == nil {
					stored.Metrics = map[string]*float64{}
				}
				stored.Metrics[nameOf(&m)] = n.v
			}
			run.Replays = append(run.Replays, stored)
		}
		if old := before.find(name); old != nil && slices.EqualFunc(old.Replays, run.Replays, sameReplay) {
			run.Provenance = old.Provenance
		} else {
			changed = append(changed, name)
		}
		after.Runs = append(after.Runs, run)
	}
	return after, changed, nil
}

func sameReplay(a, b BaselineReplay) bool {
	same := func(x, y *float64) bool { return x == nil && y == nil || x != nil && y != nil && *x == *y }
	if !maps.EqualFunc(a.Metrics, b.Metrics, same) {
		return false
	}
	return a.Window == b.Window && a.Seed == b.Seed && a.Task == b.Task && a.Spec == b.Spec && a.Jobs == b.Jobs &&
		a.Fingerprint == b.Fingerprint && a.Queue == b.Queue && a.Work == b.Work
}

// needed are the measures of each run that checks hold against the baseline.
func needed(g *profiles.Gate) map[string][]profiles.Measure {
	out := map[string][]profiles.Measure{}
	add := func(run string, m profiles.Measure) {
		if !slices.Contains(out[run], m) {
			out[run] = append(out[run], m)
		}
	}
	for i := range g.Banded {
		add(g.Banded[i].Run, g.Banded[i].Of)
	}
	for i := range g.Paired {
		if g.Paired[i].Against == "baseline" {
			add(g.Paired[i].Run, g.Paired[i].Of)
		}
	}
	return out
}

// NeedsBaseline says whether any check is against what was stored.
func NeedsBaseline(g *profiles.Gate) bool {
	return len(g.Exact)+len(g.Banded)+len(g.Counted) > 0 ||
		slices.ContainsFunc(g.Paired, func(p profiles.GatePaired) bool { return p.Against == "baseline" })
}
