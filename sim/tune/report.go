package tune

import (
	"math"
	"slices"

	"orrery/profiles"
	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/sensitivity"
	"orrery/sim/stat"
	"orrery/sim/task"
)

// ReportSchema is the version of the report's JSON.
const ReportSchema = 1

// Decisions.
const (
	Change = "change"
	Keep   = "keep what you have"
	Unsure = "not enough evidence"
)

// Report is what came out. It holds no time of day and no path, so that the same
// problem gives the same bytes.
type Report struct {
	Schema   int    `json:"schema"`
	Trace    string `json:"trace"` // its name
	Hash     string `json:"trace_hash"`
	SpecID   string `json:"spec_id"` // of what runs now
	VCluster string `json:"vcluster,omitempty"`

	Decision string          `json:"decision"`
	Why      string          `json:"why"`
	Chosen   string          `json:"chosen,omitempty"`
	Changes  []SettingChange `json:"changes,omitempty"` // from what runs now to the one in About

	Goal       Goal        `json:"goal"`
	Method     string      `json:"method,omitempty"`
	Race       search.Rule `json:"race,omitempty"`
	Budget     int         `json:"budget"`
	Seed       uint64      `json:"seed"`
	Replicas   int         `json:"replicas"`
	ShakeUS    int64       `json:"shake_us"`
	Confidence float64     `json:"confidence"`
	Runs       int         `json:"runs"` // of windows, shaken ones and all
	Windows    []Window    `json:"windows"`
	Floors     []FloorLine `json:"noise"`

	Tried     []Tried    `json:"tried"`
	Varied    []string   `json:"varied,omitempty"`   // settings with what they may be, before the screening
	Settings  []string   `json:"settings,omitempty"` // of the search, by column
	Search    []Trial    `json:"search,omitempty"`
	Dropped   []Dropped  `json:"dropped,omitempty"`
	Finalists []Finalist `json:"finalists,omitempty"`

	About       string        `json:"about,omitempty"` // whom the following is of
	Besides     []Line        `json:"besides,omitempty"`
	Groups      []GroupLine   `json:"groups,omitempty"`
	Shares      []ShareSeries `json:"shares,omitempty"` // now, then
	Work        [2]task.Work  `json:"work"`             // on the acceptance windows: now, then
	Sensitivity []Sensitivity `json:"sensitivity,omitempty"`
	Around      string        `json:"around,omitempty"` // whom the following are beside
	Slopes      []Slope       `json:"slopes,omitempty"`
	Joint       []Joint       `json:"interactions,omitempty"`

	at       int
	profiles []Recommended
	space    search.Space
	units    map[string]string
}

// Goal is what was asked for.
type Goal struct {
	Objectives  []search.Objective  `json:"objectives"`
	Constraints []search.Constraint `json:"constraints,omitempty"` // on the worst window
}

// SettingChange is a key that changes.
type SettingChange struct {
	VCluster string `json:"vcluster,omitempty"`
	Key      string `json:"key"`
	Before   string `json:"before"`
	After    string `json:"after"`
}

// FloorLine is the noise of an objective.
type FloorLine struct {
	Metric  string        `json:"metric"`
	Windows string        `json:"windows"` // the set
	Value   metric.Number `json:"value"`
	High    metric.Number `json:"high"` // what must be exceeded
	Share   metric.Number `json:"share"`
}

// Tried is a candidate of the race on the tuning windows that it has run.
type Tried struct {
	Name    string `json:"name"`
	Role    string `json:"role"`
	Windows int    `json:"windows"`
	// Metrics are the means of the objectives, and the worst of the constraints.
	Metrics    []metric.Number `json:"metrics"`
	Feasible   bool            `json:"feasible"`
	Overloaded int             `json:"overloaded,omitempty"` // windows
	Finalist   bool            `json:"finalist,omitempty"`
	Rank       int             `json:"rank,omitempty"` // among those left at the end, 1 the best

	values []float64
}

// Finalist is a candidate on the acceptance windows.
type Finalist struct {
	Name   string `json:"name"`
	Role   string `json:"role"`
	Lines  []Line `json:"lines"` // by objective
	Fits   []Fit  `json:"fits"`
	Broken string `json:"broken,omitempty"` // why it is out
	// Constraints are in the order of the goal.
	Constraints []Kept `json:"constraints,omitempty"`

	at int
}

// Kept is a constraint on the acceptance windows.
type Kept struct {
	Metric   string          `json:"metric"`
	Relation search.Relation `json:"relation"`
	Asked    float64         `json:"asked"`
	// Bound is what was to hold: what was asked, or how far it is broken now.
	Bound metric.Number `json:"bound"`
	// Now and Then are the worst windows of what runs now and of the candidate,
	// unknown where no window has a value.
	Now  metric.Number `json:"now"`
	Then metric.Number `json:"then"`
	// Beyond is how far Then is beyond Bound, as a fraction of it; below 0 it is
	// kept by so much.
	Beyond metric.Number `json:"beyond"`
	Holds  bool          `json:"holds"`
}

// by says by how much a constraint is broken, "" where that is no number.
func (k *Kept) by() string {
	if !k.Beyond.Defined() || k.Beyond <= 0 {
		return ""
	}
	return " (by " + search.Beyond(float64(k.Beyond)) + ")"
}

// Line is one number of a candidate against what runs now.
type Line struct {
	Metric     string        `json:"metric"`
	Unit       string        `json:"unit,omitempty"`
	Now        Range         `json:"now"`
	Then       Range         `json:"then"`
	Difference Range         `json:"difference"`
	Relative   Range         `json:"relative"`
	P          metric.Number `json:"p"`     // corrected
	Floor      metric.Number `json:"floor"` // standard error that the measured noise alone would make
	Windows    int           `json:"windows"`
	Verdict    stat.Verdict  `json:"verdict"`
	Reason     string        `json:"reason"`
}

// Fit holds the gain on the tuning windows against that on the others, as parts
// of what runs now.
type Fit struct {
	Metric string `json:"metric"`
	Tuned  Range  `json:"tuned"`
	Held   Range  `json:"held"`
	Gap    Range  `json:"gap"`
	Shown  bool   `json:"shown"` // that it is overfitted
}

// Range is an estimate with its interval.
type Range struct {
	Estimate metric.Number `json:"estimate"`
	Low      metric.Number `json:"low"`
	High     metric.Number `json:"high"`
}

// unknown is the Range of what has no value.
var unknown = Range{metric.Undefined, metric.Undefined, metric.Undefined}

func rangeOf(i stat.Interval) Range {
	return Range{metric.Number(i.Estimate), metric.Number(i.Low), metric.Number(i.High)}
}

func lineOf(r stat.Row) Line {
	return Line{
		Metric: r.Metric, Unit: unitOf(r.Metric), Now: rangeOf(r.Baseline), Then: rangeOf(r.CandidateValue),
		Difference: rangeOf(r.Difference), Relative: rangeOf(r.Relative), P: metric.Number(r.Corrected), Floor: metric.Number(r.Noise.Error),
		Windows: r.Windows, Verdict: r.Verdict, Reason: r.Reason,
	}
}

func fitOf(name string, o stat.Overfitting) Fit {
	return Fit{Metric: name, Tuned: rangeOf(o.Tuning), Held: rangeOf(o.Acceptance), Gap: rangeOf(o.Gap), Shown: o.Shown}
}

// Recommended is a profile that is to be used, of one vCluster.
type Recommended struct {
	VCluster string
	Profile  profiles.Profile
}

// Profiles are those to use instead of what is there; none when nothing changes or
// on a plain machine.
func (r *Report) Profiles() []Recommended { return r.profiles }

// Space is what was searched.
func (r *Report) Space() search.Space { return r.space }

// UnitOf is the unit of a setting that was searched: s of a span, "" of what has
// none.
func (r *Report) UnitOf(setting string) string { return r.units[setting] }

// finish fills in what the steps have left.
func (t *tuner) finish() *Report {
	r := &t.out
	r.Schema, r.Trace, r.Hash, r.SpecID, r.VCluster = ReportSchema, t.problem.Trace.Name, t.problem.Spec.Trace, t.problem.Spec.ID(), t.problem.VCluster
	r.Goal = Goal{t.goal.Objectives, t.goal.written}
	if len(r.Goal.Objectives) == 0 {
		r.Goal.Objectives = t.opt.Objectives
	}
	r.Seed, r.Replicas, r.ShakeUS, r.Confidence = t.opt.Seed, t.opt.Replicas, int64(t.opt.ShakeBy), t.opt.Stat.Confidence
	r.Budget = len(t.history)
	r.Runs, r.Windows, r.Search, r.space = t.runs, t.windows, t.history, t.space.Space
	r.units = t.space.units
	if len(t.space.Space) > 0 {
		r.Settings = t.space.Columns()
	}
	t.noise()
	for i := range t.candidates {
		r.Tried = append(r.Tried, t.tried(i))
	}
	if c := t.about(); c != nil {
		t.changes(c)
	}
	return r
}

// about is the candidate that the report tells of.
func (t *tuner) about() *candidate {
	if c := t.chosen(); c != nil {
		return c
	}
	if len(t.out.Finalists) > 0 {
		return t.candidates[t.out.Finalists[0].at]
	}
	return nil
}

// noise lists the floors of the objectives.
func (t *tuner) noise() {
	for _, o := range t.out.Goal.Objectives {
		for _, set := range []struct {
			name    string
			windows []int
		}{{"screening", t.screening}, {ForAcceptance, t.acceptance}} {
			f, ok := t.floors[floorKey{o.Metric, set.name}]
			if !ok {
				continue
			}
			values := valuesOf(t.seen(t.candidates[0], set.windows), o.Metric)
			t.out.Floors = append(t.out.Floors, FloorLine{
				Metric: o.Metric, Windows: set.name, Value: metric.Number(f.Value), High: metric.Number(f.High), Share: metric.Number(f.High / math.Abs(stat.Mean(values))),
			})
		}
	}
}

// seen are the results of a candidate that are known, of some windows.
func (t *tuner) seen(c *candidate, windows []int) []*task.Result {
	var out []*task.Result
	for _, a := range on(c, windows) {
		if r := t.known[a.key()]; r != nil {
			out = append(out, r)
		}
	}
	return out
}

func (t *tuner) tried(i int) Tried {
	c := t.candidates[i]
	results := t.seen(c, t.tuning)
	out := Tried{Name: c.name, Role: c.role, Windows: len(results), Overloaded: count(results, overloaded), values: c.values}
	if len(t.goal.Objectives) == 0 { // it ended before anything was compared
		out.Metrics = slices.Repeat([]metric.Number{metric.Undefined}, len(t.out.Goal.Objectives))
		return out
	}
	var ran []int
	for _, w := range t.tuning {
		if t.known[ask{of: c, window: w}.key()] != nil {
			ran = append(ran, w)
		}
	}
	metrics, failed := t.goal.read(t.seen(t.candidates[0], ran), results)
	for _, o := range t.goal.Objectives {
		out.Metrics = append(out.Metrics, metric.Number(metrics[o.Metric]))
	}
	for _, k := range t.goal.Constraints {
		out.Metrics = append(out.Metrics, metric.Number(metrics[k.Metric]))
	}
	score, err := t.goal.Score(search.Result{Metrics: metrics, Failed: failed})
	out.Feasible = err == nil && score.Feasible()
	out.Finalist = slices.ContainsFunc(t.out.Finalists, func(f Finalist) bool { return f.at == i })
	out.Rank = slices.Index(t.raced, i) + 1
	return out
}

// Values of the search's settings, nil for a baseline.
func (t *Tried) Values() []float64 { return t.values }

// changes lists the keys that differ from what runs now, and the profiles to use.
func (t *tuner) changes(c *candidate) {
	now := t.candidates[0]
	if c.cluster == nil {
		a, b := &now.spec, &c.spec
		for _, k := range []SettingChange{
			{Key: "order", Before: or(a.Order, "fcfs"), After: or(b.Order, "fcfs")},
			{Key: "backfill", Before: or(a.Backfill, "easy"), After: or(b.Backfill, "easy")},
		} {
			if k.Before != k.After {
				t.out.Changes = append(t.out.Changes, k)
			}
		}
		return
	}
	for _, i := range t.tuned() {
		before, after := now.cluster.VClusters[i].Profile.Inline, c.cluster.VClusters[i].Profile.Inline
		name := c.cluster.VClusters[i].Name
		for _, d := range profiles.Diff(before, after) {
			t.out.Changes = append(t.out.Changes, SettingChange{name, d.Key, d.Before, d.After})
		}
		if t.out.Decision == Change {
			p := *after
			p.Name = "tuned"
			p.Description = "Recommended by orrery tune: " + c.name + "."
			p.Source = "tuned on the trace with the content hash " + t.problem.Spec.Trace
			t.out.profiles = append(t.out.profiles, Recommended{name, p})
		}
	}
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// Counted says how many windows of a set count.
func (r *Report) Counted(set string) int {
	n := 0
	for i := range r.Windows {
		if r.Windows[i].Set == set && r.Windows[i].Aside == "" {
			n++
		}
	}
	return n
}

// Inert are the settings that move no objective by more than the noise.
func (r *Report) Inert() []string {
	if len(r.Sensitivity) == 0 {
		return nil
	}
	var out []string
	for k, p := range r.Sensitivity[0].Parts {
		moves := func(s Sensitivity) bool { return s.Parts[k].Influence != sensitivity.Inert }
		if !slices.ContainsFunc(r.Sensitivity, moves) {
			out = append(out, p.Setting)
		}
	}
	return out
}
