package tune

import (
	"math"
	"slices"
	"strconv"

	"orrery/profiles"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/search"
	"orrery/sim/sensitivity"
	"orrery/sim/stat"
	"orrery/sim/task"
)

// reportSchema is the version of the report's JSON.
const reportSchema = 4

// Decisions.
const (
	Change = "change"
	Keep   = "keep the current policy"
	Unsure = "not enough evidence"
)

// Report is what came out. It holds no time of day and no path, so that the same
// problem gives the same bytes.
type Report struct {
	Schema   int         `json:"schema"`
	Traces   []TraceInfo `json:"traces"`
	VCluster string      `json:"vcluster,omitempty"`
	Current  string      `json:"current"` // the name of the current policy

	// Unheeded says, a sentence each, what more of the work asked for than a replay may leave
	// unmet, where it was allowed to.
	Unheeded []string `json:"unheeded,omitempty"`
	// Overloaded names the traces on which the current policy is overloaded, where an
	// objective is made of waits.
	Overloaded []string `json:"overloaded,omitempty"`

	Decision string `json:"decision"`
	Why      string `json:"why"`
	Chosen   string `json:"chosen,omitempty"`
	// Equal are the candidates between which nothing decides, Chosen the first; none
	// where one is best.
	Equal   []string        `json:"equal,omitempty"`
	Again   []Again         `json:"again,omitempty"`
	Changes []SettingChange `json:"changes,omitempty"` // from the current policy to the candidate in About

	Goal       Goal        `json:"goal"`
	Bounds     []Bound     `json:"bounds,omitempty"` // by constraint
	Method     string      `json:"method,omitempty"`
	Batch      int         `json:"batch,omitempty"` // points that were asked for at a time, the first ones
	Race       search.Rule `json:"race,omitempty"`
	Budget     int         `json:"budget"`
	Seed       uint64      `json:"seed"`
	Replicas   int         `json:"replicas"`
	JitterUS   int64       `json:"jitter_us"`
	FollowUS   int64       `json:"follow_us"`
	Confidence float64     `json:"confidence"`
	Runs       int         `json:"runs"`
	Windows    []Window    `json:"windows"`
	Floors     []FloorLine `json:"noise"`

	Tried    []Tried  `json:"tried"`
	Varied   []string `json:"varied,omitempty"`   // settings with what they may be, before the screening
	Settings []string `json:"settings,omitempty"` // of the search, by column
	Search   []Trial  `json:"search,omitempty"`
	// SearchNow are the objectives under the current policy on the windows of the
	// search, which Search is to be compared with.
	SearchNow []metric.Number `json:"search_now,omitempty"`
	Dropped   []Dropped       `json:"dropped,omitempty"`
	// Finalists are the candidates that were replayed on the whole traces, in the
	// order of the race. Those that break a bound there have no lines.
	Finalists []Finalist `json:"finalists,omitempty"`

	About       string        `json:"about,omitempty"` // the candidate that the following is of
	Secondary   []Line        `json:"besides,omitempty"`
	Groups      []GroupLine   `json:"groups,omitempty"`
	Shares      []ShareSeries `json:"shares,omitempty"` // now, then
	Loads       []LoadLine    `json:"loads,omitempty"`
	Work        [2]task.Work  `json:"work"` // on the whole traces: now, then
	Sensitivity []Sensitivity `json:"sensitivity,omitempty"`
	Around      string        `json:"around,omitempty"` // the candidate that the following are beside
	Slopes      []Slope       `json:"slopes,omitempty"`
	Joint       []Joint       `json:"interactions,omitempty"`

	at       int
	profiles []Recommended
	cluster  *profiles.Cluster
	space    search.Space
	units    map[string]string
}

// TraceInfo is a trace with the current policy.
type TraceInfo struct {
	Name   string `json:"name"`
	Hash   string `json:"hash"`
	SpecID string `json:"spec_id"` // of the current policy on it
	Jobs   int64  `json:"jobs"`    // submitted in its windows
	// LeadUS is how much of the trace before the first window warms the cluster up.
	LeadUS int64 `json:"lead_us"`
}

// Goal is what was asked for.
type Goal struct {
	Objectives  []search.Objective  `json:"objectives"`
	Constraints []search.Constraint `json:"constraints,omitempty"` // on the worst window, and on the whole trace
}

// SettingChange is a key that changes: of the profile of a vCluster, or without one of a
// service (services.NAME.KEY) or a plain cluster.
type SettingChange struct {
	VCluster string `json:"vcluster,omitempty"`
	Key      string `json:"key"`
	Before   string `json:"before"`
	After    string `json:"after"`
}

// FloorLine is how far an objective moves by jittered arrivals alone, under the
// current policy.
type FloorLine struct {
	Metric  string        `json:"metric"`
	Windows string        `json:"windows"` // the set
	Value   metric.Number `json:"value"`
	High    metric.Number `json:"high"`  // upper end of its interval
	Share   metric.Number `json:"share"` // High as a part of the objective
}

// Tried is a candidate of the race on the tuning windows that it has run.
type Tried struct {
	Name    string `json:"name"`
	Role    string `json:"role"`
	Windows int    `json:"windows"`
	// Metrics are the means of the objectives, and the worst of the constraints.
	Metrics    []metric.Number `json:"metrics"`
	Feasible   bool            `json:"feasible"`
	Overloaded bool            `json:"overloaded,omitempty"` // its queue grows without end
	// Waiting is how many jobs still waited when its run stopped, FollowUS after the
	// last of these windows. They count with their wait so far.
	Waiting  int64 `json:"still_waiting,omitempty"`
	Finalist bool  `json:"finalist,omitempty"`
	Rank     int   `json:"rank,omitempty"` // among those left at the end, 1 the best

	values []float64
	run    task.Task
}

// Finalist is a candidate on the whole traces and on the acceptance windows.
type Finalist struct {
	Name  string `json:"name"`
	Role  string `json:"role"`
	Lines []Line `json:"lines,omitempty"` // by objective
	Fits  []Fit  `json:"fits,omitempty"`
	// Whole are figures of the whole traces, end to end.
	Whole  []WholeLine `json:"whole"`
	Broken string      `json:"broken,omitempty"` // why it is out
	// Constraints are in the order of the goal.
	Constraints []Kept `json:"constraints,omitempty"`

	at int
}

// Line is one number of a candidate against the current policy.
type Line struct {
	Metric     string        `json:"metric"`
	Unit       string        `json:"unit,omitempty"`
	Now        Range         `json:"now"`
	Then       Range         `json:"then"`
	Difference Range         `json:"difference"`
	Relative   Range         `json:"relative"`
	P          metric.Number `json:"p"` // corrected
	// Noise is the part of the variance of the change that the jitter of arrivals makes.
	Noise   metric.Number `json:"noise"`
	Windows int           `json:"windows"`
	Runs    int           `json:"runs"` // of both sides
	Verdict stat.Verdict  `json:"verdict"`
	Reason  string        `json:"reason"`
}

// Fit holds the gain on the tuning windows against that on the others, as parts
// of the current policy.
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
		Difference: rangeOf(r.Difference), Relative: rangeOf(r.Relative), P: metric.Number(r.Corrected), Noise: metric.Number(r.Noise.Share),
		Windows: r.Windows, Runs: r.Runs, Verdict: r.Verdict, Reason: r.Reason,
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
// on a plain cluster.
func (r *Report) Profiles() []Recommended { return r.profiles }

// Cluster is the file to use instead of what is there, with the Profiles in it; nil where
// profiles say all that changes.
func (r *Report) Cluster() *profiles.Cluster { return r.cluster }

// Space is what was searched.
func (r *Report) Space() search.Space { return r.space }

// UnitOf is the unit of a setting that was searched: s of a span, "" of what has
// none.
func (r *Report) UnitOf(setting string) string { return r.units[setting] }

// finish fills in what the steps have left.
func (t *tuner) finish() *Report {
	r := &t.out
	r.Schema, r.VCluster = reportSchema, t.problem.VCluster
	t.traces()
	r.Goal = Goal{t.goal.Objectives, t.goal.written}
	if len(r.Goal.Objectives) == 0 {
		r.Goal.Objectives = t.opt.Objectives
	}
	r.Seed, r.Replicas, r.JitterUS, r.FollowUS, r.Confidence = t.opt.Seed, t.opt.Replicas, int64(t.opt.JitterBy), int64(t.opt.Follow), t.opt.Stat.Confidence
	r.Budget = len(t.history)
	r.Runs, r.Windows, r.Search, r.space = t.runs, t.windows, t.history, t.space.Space
	r.units = t.space.units
	if len(t.space.Space) > 0 {
		r.Settings = t.space.Columns()
	}
	if len(t.candidates) > 0 {
		r.Current = t.base().name
	}
	if len(t.history) > 0 {
		now, _ := t.read(t.base(), screeningScope, t.screening)
		for _, o := range t.goal.Objectives {
			r.SearchNow = append(r.SearchNow, metric.Number(now[o.Metric]))
		}
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

// traces says what the figures are of.
func (t *tuner) traces() {
	for k := range t.problem.Traces {
		p := &t.problem.Traces[k]
		info := TraceInfo{Name: p.Set.Name, Hash: p.Spec.Trace, SpecID: p.Spec.ID()}
		list := wholeScope.of(t, k)
		for i := range list {
			info.Jobs += list[i].Jobs
		}
		if first, _, ok, err := p.Set.Bounds(); err == nil && ok && len(list) > 0 {
			info.LeadUS = int64(list[0].Begin.Sub(first))
		}
		t.out.Traces = append(t.out.Traces, info)
	}
}

// noise lists how far the objectives move by jittered arrivals.
func (t *tuner) noise() {
	t.out.Floors = []FloorLine{} // a list, also where nothing was measured
	if len(t.goal.Objectives) == 0 {
		return
	}
	for _, o := range t.out.Goal.Objectives {
		for _, set := range []struct {
			name    string
			windows []int
		}{{"screening", t.screening}, {ForAcceptance, t.acceptance}} {
			f, err := t.floor(o.Metric, set.windows)
			if err != nil {
				continue // of a group, which replicas do not tell of
			}
			now := stat.Mean(t.values(t.base(), wholeScope, o.Metric, set.windows))
			t.out.Floors = append(t.out.Floors, FloorLine{
				Metric: o.Metric, Windows: set.name, Value: metric.Number(f.Value), High: metric.Number(f.High), Share: metric.Number(f.High / math.Abs(now)),
			})
		}
	}
}

// tried is a candidate on the tuning windows that it has run: all of them, or those
// that the search looks at.
func (t *tuner) tried(i int) Tried {
	c := t.candidates[i]
	out := Tried{Name: c.name, Role: c.role, values: c.values}
	if i == 0 {
		out.values = t.currentValues()
	}
	if len(t.goal.Objectives) == 0 { // it ended before anything was compared
		out.Metrics = slices.Repeat([]metric.Number{metric.Undefined}, len(t.out.Goal.Objectives))
		return out
	}
	s, windows := screeningScope, t.screening
	if t.result(c, tuningScope, 0, 0) != nil {
		s, windows = tuningScope, t.tuning
	}
	out.Windows, out.Overloaded = len(windows), t.beside(c, s).piling()
	metrics, failed := t.read(c, s, windows)
	out.run = t.task(runRequest{of: c, scope: s})
	if t.result(c, wholeScope, 0, 0) != nil {
		out.run = t.task(runRequest{of: c, scope: wholeScope})
	}
	for _, o := range t.goal.Objectives {
		out.Metrics = append(out.Metrics, metric.Number(metrics[o.Metric]))
	}
	for _, k := range t.goal.Constraints {
		out.Metrics = append(out.Metrics, metric.Number(metrics[k.Metric]))
	}
	for k := range t.problem.Traces {
		if x, ok := t.result(c, s, k, 0).Value("jobs_unfinished", metric.Steady); ok && s != wholeScope {
			out.Waiting += int64(x)
		}
	}
	score, err := t.goal.Score(search.Result{Metrics: metrics, Failed: failed})
	out.Feasible = err == nil && score.Feasible()
	out.Finalist = slices.ContainsFunc(t.out.Finalists, func(f Finalist) bool { return f.at == i })
	out.Rank = slices.Index(t.raced, i) + 1
	return out
}

// currentValues are the settings of the search as the current policy has them, NaN for a
// choice that the search does not make; nil where it has no such settings.
func (t *tuner) currentValues() []float64 {
	if t.problem.Cluster == nil || len(t.space.Space) == 0 {
		return nil
	}
	now := t.inUse()
	if now == nil {
		return nil
	}
	out, err := t.space.settingsOf(now)
	if err != nil {
		return nil // the settings of another kind of policy
	}
	return out
}

// Task is the longest run of the candidate on the first trace, without jitter. It is
// the zero Task where nothing was compared.
func (t *Tried) Task() task.Task { return t.run }

// Values of the search's settings, of the current policy as they are; nil for a baseline.
func (t *Tried) Values() []float64 { return t.values }

// changes lists the keys that differ from the current policy, and the profiles to use.
func (t *tuner) changes(c *candidate) {
	now := t.candidates[0]
	if c.cluster == nil {
		a, b := &now.specs[0], &c.specs[0]
		for _, k := range []SettingChange{
			{Key: "order", Before: or(a.Order, "fcfs"), After: or(b.Order, "fcfs")},
			{Key: "backfill", Before: backfillOf(a), After: backfillOf(b)},
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
	}
	ofProfiles, ofServices := len(t.out.Changes) > 0, profiles.DiffServices(now.cluster, c.cluster)
	for _, d := range ofServices {
		t.out.Changes = append(t.out.Changes, SettingChange{"", d.Key, d.Before, d.After})
	}
	if t.out.Decision == Change {
		t.out.recommend(c.cluster, t.tuned(), ofProfiles || len(ofServices) == 0, len(ofServices) > 0)
	}
}

// recommend keeps what is to be used: profiles, and where services change the cluster file.
func (r *Report) recommend(c *profiles.Cluster, tuned []int, ofProfiles, ofServices bool) {
	source := "tuned on the trace with the content hash "
	for i := range r.Traces {
		if i > 0 {
			source += " and "
		}
		source += r.Traces[i].Hash
	}
	cluster := *c
	cluster.VClusters = slices.Clone(c.VClusters)
	for _, i := range tuned {
		if ofProfiles {
			p := *c.VClusters[i].Profile.Inline
			p.Name, p.Description, p.Source = "tuned", "Recommended by orrery tune: "+r.About+".", source
			r.profiles = append(r.profiles, Recommended{cluster.VClusters[i].Name, p})
			cluster.VClusters[i].Profile = profiles.ProfileRef{Inline: &p}
		}
	}
	if ofServices {
		r.cluster = &cluster
	}
}

// backfillOf is the backfilling of a plain cluster as a flag has it.
func backfillOf(s *plan.Spec) string {
	out := or(s.Backfill, "easy")
	if s.Depth > 0 {
		out += ":" + strconv.Itoa(s.Depth)
	}
	return out
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

// idle says whether a setting has changed nothing wherever it was moved, but for
// rounding.
func (s *Sensitivity) idle(k int) bool {
	most := metric.Number(0)
	for i := range s.Parts {
		most = max(most, s.Parts[i].Change.High)
	}
	return s.Parts[k].Change.High <= rounding*most
}

// inertSettings are the settings of which nothing rises above the noise, in any objective: those
// that changed nothing at all wherever they were moved, and the others.
func (r *Report) inertSettings() (idle, withinNoise []string) {
	if len(r.Sensitivity) == 0 {
		return nil, nil
	}
	for k, p := range r.Sensitivity[0].Parts {
		moves := func(s Sensitivity) bool { return s.Parts[k].Influence != sensitivity.Inert }
		changes := func(s Sensitivity) bool { return !s.idle(k) }
		switch {
		case slices.ContainsFunc(r.Sensitivity, moves):
		case slices.ContainsFunc(r.Sensitivity, changes):
			withinNoise = append(withinNoise, p.Setting)
		default:
			idle = append(idle, p.Setting)
		}
	}
	return idle, withinNoise
}
