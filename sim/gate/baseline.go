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

	"orrery/internal/seal"
	"orrery/profiles"
	"orrery/sim"
	"orrery/sim/plan"
)

// BaselineSchema is the version of a baseline file, and OldestBaseline the first that
// is read. Those of schema 3 have no digest; those of schema 2 do not say under which semantics their runs were scheduled;
// those of schema 1 have windows that were replayed each on its own.
const (
	BaselineSchema = 4
	OldestBaseline = 2
	SealedBaseline = 4 // the first that has its SHA-256
)

// Baseline is what was stored of the runs of a gate.
type Baseline struct {
	Schema    int           `json:"schema"`
	Semantics int           `json:"semantics,omitempty"` // of all runs, as in their specs; 0 where the file does not say
	Gate      string        `json:"gate"`
	Runs      []BaselineRun `json:"runs"` // in the order of the gate file
}

// VersionError says that a baseline is of a version that is not read.
type VersionError struct{ Found int }

// Error names the version, and those that are read.
func (e *VersionError) Error() string {
	return fmt.Sprintf("reading a baseline: found schema %d, want %d to %d: make it anew with --update-baseline", e.Found, OldestBaseline, BaselineSchema)
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
	Run        string     `json:"run"`
	Provenance Provenance `json:"provenance"`
	// Sight says of each paired check against what is stored here what it can see.
	Sight   []Sight          `json:"sight,omitempty"`
	Replays []BaselineReplay `json:"replays"`
}

// Sight is what a paired check against a baseline can see, of a candidate as noisy as
// the baseline is.
type Sight struct {
	Check    string  `json:"check"`
	Metric   string  `json:"metric"`
	Windows  int     `json:"windows"`
	Replicas int     `json:"replicas"`
	Margin   float64 `json:"margin"` // as a part of the mean
	// Detectable is the smallest regression that is found in 8 of 10 cases, as a part
	// of the mean; null when nothing is known of it.
	Detectable *float64 `json:"detectable"`
}

// String says it in a line.
func (s *Sight) String() string {
	if s.Detectable == nil {
		return fmt.Sprintf("%s: how small a regression it finds is not known", s.Check)
	}
	return fmt.Sprintf("%s: with %d windows and %d seeds a regression of %.1f %% is found in 8 of 10 cases (margin %.1f %%)",
		s.Check, s.Windows, s.Replicas, 100**s.Detectable, 100*s.Margin)
}

// BaselineReplay is what was stored of a replay: always its identity and its
// work, and the numbers that checks of the gate refer to.
type BaselineReplay struct {
	Window      int                 `json:"window"` // the first
	Seed        uint64              `json:"seed"`
	Replica     bool                `json:"replica,omitempty"` // the gate chose the seed
	Task        string              `json:"task"`
	Spec        string              `json:"spec"`
	Jobs        string              `json:"jobs"`
	Fingerprint string              `json:"fingerprint"`
	Queue       string              `json:"queue"`
	Work        sim.Work            `json:"work"`
	Metrics     map[string]*float64 `json:"metrics,omitempty"` // NAME/WINDOW or BY/GROUP/NAME/WINDOW; null is undefined
	Parts       string              `json:"windows,omitempty"`
	// Values are the numbers of paired checks, by window.
	Values map[string][]*float64 `json:"values,omitempty"`
}

// ParseBaseline reads a baseline file. One of a version that is not read is a
// *VersionError, whatever else is in it.
func ParseBaseline(text []byte) (*Baseline, error) {
	var head struct {
		Schema *int `json:"schema"`
	}
	if json.Unmarshal(text, &head) == nil && head.Schema != nil && (*head.Schema < OldestBaseline || *head.Schema > BaselineSchema) {
		return nil, &VersionError{*head.Schema}
	}
	if head.Schema != nil {
		var err error
		if text, err = seal.CutVersioned(text, SealedBaseline); err != nil {
			return nil, fmt.Errorf("reading a baseline: found %w, expected what --update-baseline wrote; restore the file from version control, or make it anew with --update-baseline --reason TEXT --force", err)
		}
	}
	var b Baseline
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return nil, damaged(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, damaged(errors.New("more behind its end"))
	}
	if head.Schema == nil {
		return nil, damaged(errors.New("no schema"))
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

// JSON is the form of the file: indented, for people look at what changed, with its SHA-256.
func (b *Baseline) JSON() []byte {
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		panic(err) // words, integers and finite numbers
	}
	return seal.Object(text)
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

// replays are what was stored of the replays of a run, but for replicas; nothing of a
// nil one.
func (r *BaselineRun) replays() map[spot]*BaselineReplay {
	if r == nil {
		return nil
	}
	out := make(map[spot]*BaselineReplay, len(r.Replays))
	for i := range r.Replays {
		if r.Replays[i].Replica {
			continue
		}
		out[spot{r.Replays[i].Window, r.Replays[i].Seed}] = &r.Replays[i]
	}
	return out
}

// Update is the baseline that these replays make. Runs that come out as they did
// before keep their provenance, the others get p. Changed are the names of these.
func (e *Evidence) Update(before *Baseline, p Provenance) (after *Baseline, changed []string, err error) {
	after = &Baseline{Schema: BaselineSchema, Semantics: plan.Semantics, Gate: e.gate.Name}
	needs, compared := needed(e.gate), comparedWith(e.gate)
	for i := range e.gate.Runs {
		name := e.gate.Runs[i].Name
		run := BaselineRun{Run: name, Provenance: p}
		for _, x := range e.of(name) {
			stored := x.stored(compared[name])
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
		for _, x := range e.replicas(name) {
			run.Replays = append(run.Replays, x.stored(compared[name]))
		}
		if run.Sight, err = e.sights(name); err != nil {
			return nil, nil, err
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

// stored is a replay with the windows of these measures.
func (x *outcome) stored(compared []profiles.Measure) BaselineReplay {
	out := BaselineReplay{
		Window: x.Window, Seed: x.Seed, Replica: x.Replica, Task: x.Task, Spec: x.Spec, Jobs: x.Jobs, Parts: x.Parts, Fingerprint: x.Fingerprint, Queue: x.Verdict, Work: x.Work,
	}
	for i := range compared {
		if out.Values == nil {
			out.Values = map[string][]*float64{}
		}
		name := nameOf(&compared[i])
		values := []*float64{}
		for _, v := range x.windows[name] {
			values = append(values, finite(v))
		}
		out.Values[name] = values
	}
	return out
}

// sights say what the paired checks of a run against the baseline can see.
func (e *Evidence) sights(run string) ([]Sight, error) {
	var out []Sight
	for i := range e.gate.Paired {
		c := &e.gate.Paired[i]
		if c.Run != run || c.Against != "baseline" || !e.onOneTrace(c) {
			continue
		}
		_, now, err := e.sidesOf(c, nil)
		if err != nil {
			return nil, err
		}
		side, _ := replicasOf(now, now)
		rule, err := ruleOf(e.gate, c, len(side))
		if err != nil {
			return nil, err
		}
		_, found, err := rule.Sight(side)
		if err != nil {
			return nil, err
		}
		var f Finding
		f.name(c.Name, c.Run, label(&c.Of)+" against "+c.Against)
		s := Sight{Check: f.Check, Metric: nameOf(&c.Of), Windows: found.Windows, Replicas: len(side), Detectable: finite(found.Detectable)}
		if m := finite(found.Margin / found.Baseline); m != nil {
			s.Margin = *m
		}
		out = append(out, s)
	}
	return out, nil
}

func sameReplay(a, b BaselineReplay) bool {
	same := func(x, y *float64) bool { return x == nil && y == nil || x != nil && y != nil && *x == *y }
	sameList := func(x, y []*float64) bool { return slices.EqualFunc(x, y, same) }
	if !maps.EqualFunc(a.Metrics, b.Metrics, same) || !maps.EqualFunc(a.Values, b.Values, sameList) {
		return false
	}
	return a.Window == b.Window && a.Replica == b.Replica && a.Seed == b.Seed && a.Task == b.Task && a.Spec == b.Spec && a.Jobs == b.Jobs && a.Parts == b.Parts &&
		a.Fingerprint == b.Fingerprint && a.Queue == b.Queue && a.Work == b.Work
}

// needed are the measures of each run that banded checks hold against the baseline.
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
	return out
}

// comparedWith are the measures of each run that paired checks hold against the
// baseline, window by window.
func comparedWith(g *profiles.Gate) map[string][]profiles.Measure {
	out := map[string][]profiles.Measure{}
	for i := range g.Paired {
		if c := &g.Paired[i]; c.Against == "baseline" && !slices.Contains(out[c.Run], c.Of) {
			out[c.Run] = append(out[c.Run], c.Of)
		}
	}
	return out
}

// NeedsBaseline says whether any check is against what was stored.
func NeedsBaseline(g *profiles.Gate) bool {
	return len(g.Exact)+len(g.Banded)+len(g.Counted) > 0 ||
		slices.ContainsFunc(g.Paired, func(p profiles.GatePaired) bool { return p.Against == "baseline" })
}
