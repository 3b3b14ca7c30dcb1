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
	"orrery/sim/task"
)

// reportSchema is the version of the report's JSON.
const reportSchema = 5

// Verdicts.
const (
	Change = "change"
	Keep   = "keep"
	Unsure = "not enough evidence"
)

// Report is what came out. It holds no time of day and no path, so that the same
// problem gives the same bytes.
type Report struct {
	Schema   int         `json:"schema"`
	Traces   []TraceInfo `json:"traces"`
	VCluster string      `json:"vcluster,omitempty"`
	Scenario string      `json:"scenario,omitempty"` // under which all runs are, as it was named
	Current  string      `json:"current"`            // the name of the current policy

	// Unheeded says, a sentence each, what more of the work asked for than a replay may leave
	// unmet, where it was allowed to.
	Unheeded []string `json:"unheeded,omitempty"`
	// Overloaded names the traces on which the current policy is overloaded, where an
	// objective is made of waits.
	Overloaded []string `json:"overloaded,omitempty"`

	Verdict string `json:"verdict"`
	Why     string `json:"why"`
	// Recommended is what to change to; nil where nothing is.
	Recommended *Recommendation `json:"recommended,omitempty"`
	// Gain and P are of the candidate in About: the gain in the first objective on the whole
	// traces, as a part of the current policy, and its p-value in the joint test.
	Gain metric.Number `json:"gain"`
	P    metric.Number `json:"p"`
	// DetectableGain is the smallest gain that the test would have found with a probability
	// of 0.8, and WeeksNeeded how long a log would show the gain of About as surely;
	// undefined where none does, and of a recommendation.
	DetectableGain metric.Number `json:"detectable_gain"`
	WeeksNeeded    metric.Number `json:"weeks_needed"`
	Tested         int           `json:"tested"` // candidates in the joint test: those that keep their bounds
	Dependence     metric.Number `json:"dependence"`
	// Equal are candidates that pass too, and that jittered arrivals do not tell from the one
	// that is recommended.
	Equal   []string        `json:"equal,omitempty"`
	Changes []SettingChange `json:"changes,omitempty"` // from the current policy to the candidate in About

	Goal   Goal    `json:"goal"`
	Bounds []Bound `json:"bounds"` // by constraint, of About
	// Losers are groups of jobs that wait longer under About on the whole traces, those that
	// lose most hours first; Gainers those that wait less.
	Losers  []LoserLine `json:"losers"`
	Gainers []LoserLine `json:"gainers"`

	Method   string `json:"method,omitempty"`
	Batch    int    `json:"batch,omitempty"` // points that were asked for at a time, the first ones
	Budget   int64  `json:"budget_jobs"`
	Replayed int64  `json:"replayed_jobs"` // of the budget
	// NotReplayed are candidates, and LeftOut what else, that the budget did not pay for.
	NotReplayed  []string      `json:"not_replayed,omitempty"`
	LeftOut      []string      `json:"left_out,omitempty"`
	Margin       metric.Number `json:"margin"`         // the least gain for a change
	NoGroupWorse metric.Number `json:"no_group_worse"` // undefined where it was not asked for
	Seed         uint64        `json:"seed"`
	Replicas     int           `json:"replicas"`
	JitterUS     int64         `json:"jitter_us"`
	Confidence   float64       `json:"confidence"`
	Runs         int           `json:"runs"`
	Windows      []Window      `json:"windows"`
	Floors       []FloorLine   `json:"noise"`

	Tried    []Tried  `json:"tried"`
	Varied   []string `json:"varied,omitempty"`   // settings with what they may be, before the screening
	Settings []string `json:"settings,omitempty"` // of the search, by column
	Search   []Trial  `json:"search,omitempty"`
	// Finalists pass the test, or came closest; the best first.
	Finalists []Finalist `json:"finalists,omitempty"`

	About       string        `json:"about,omitempty"` // the candidate that the following is of
	Secondary   []Line        `json:"besides,omitempty"`
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
}

// Goal is what was asked for.
type Goal struct {
	Objectives  []search.Objective  `json:"objectives"`
	Constraints []search.Constraint `json:"constraints,omitempty"` // on the whole traces
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
	Metric string        `json:"metric"`
	Value  metric.Number `json:"value"`
	High   metric.Number `json:"high"`  // upper end of its interval
	Share  metric.Number `json:"share"` // High as a part of the objective
}

// Tried is a candidate on the whole traces.
type Tried struct {
	Name string `json:"name"`
	Role string `json:"role"`
	// Metrics are the objectives, and then what the constraints are of.
	Metrics []metric.Number `json:"metrics"`
	Gain    metric.Number   `json:"gain"` // in the first objective
	P       metric.Number   `json:"p"`
	Out     string          `json:"out,omitempty"` // why it is none to recommend, whatever it gains
	// Same says that each job starts and leaves as under the current policy.
	Same bool `json:"same_schedule,omitempty"`
	// Overloaded says that its queue grows without end, and that of the current policy does
	// not.
	Overloaded bool `json:"overloaded,omitempty"`
	// WorstGroup is the group with 1 % of the work or more whose mean wait grows by the
	// largest factor, and Worse by how much, as a part.
	WorstGroup string        `json:"worst_group,omitempty"`
	Worse      metric.Number `json:"worst_group_longer"`
	Finalist   bool          `json:"finalist,omitempty"`
	Rank       int           `json:"rank,omitempty"` // by gain among those that keep their bounds, 1 the best

	values []float64
	run    task.Task
}

// Recommendation says what to change to.
type Recommendation struct {
	Name string `json:"name"`
	// Order and Backfill are those of a plain cluster, or of a site where all vClusters that
	// are tuned have the same.
	Order    string `json:"order,omitempty"`
	Backfill string `json:"backfill,omitempty"`
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
	r.Goal = Goal{t.goal.Objectives, t.goal.written}
	if len(r.Goal.Objectives) == 0 {
		r.Goal.Objectives = t.opt.Objectives
	}
	r.Seed, r.Replicas, r.JitterUS, r.Confidence = t.opt.Seed, t.opt.Replicas, int64(t.opt.JitterBy), t.opt.Stat.Confidence
	r.Budget, r.Replayed, r.Margin, r.NoGroupWorse = t.opt.Budget, t.replayed, metric.Number(t.opt.Margin), metric.Undefined
	if t.opt.NoGroupWorse > 0 {
		r.NoGroupWorse = metric.Number(t.opt.NoGroupWorse)
	}
	r.Runs, r.Windows, r.Search, r.space = t.runs, t.windows, t.history, t.space.Space
	r.units = t.space.units
	if len(t.space.Space) > 0 {
		r.Settings = t.space.Columns()
	}
	if len(t.candidates) > 0 {
		r.Current = t.base().name
	}
	t.traces()
	t.noise()
	t.tried()
	if r.Losers == nil { // lists, also where nothing was compared
		r.Losers, r.Gainers = []LoserLine{}, []LoserLine{}
	}
	if r.Bounds == nil {
		r.Bounds = []Bound{}
	}
	r.Gain, r.P = metric.Undefined, metric.Undefined
	if c := t.about(); c != nil {
		f := t.finding(r.at)
		r.Gain, r.P = metric.Number(f.Gain), metric.Number(f.P)
		t.changes(c)
	}
	for i := range r.Bounds { // without a candidate those of the current policy
		r.Bounds[i] = t.boundOn(t.candidates[r.at], i)
	}
	t.chances()
	return r
}

// traces says what the figures are of.
func (t *tuner) traces() {
	for k := range t.problem.Traces {
		p := &t.problem.Traces[k]
		info := TraceInfo{Name: p.Set.Name, Hash: p.Spec.Trace, SpecID: p.Spec.ID()}
		for _, w := range t.of(k) {
			info.Jobs += w.Jobs
		}
		t.out.Traces = append(t.out.Traces, info)
	}
}

// noise lists how far the objectives move by jittered arrivals.
func (t *tuner) noise() {
	t.out.Floors = []FloorLine{} // a list, also where nothing was measured
	if len(t.goal.Objectives) == 0 || t.result(t.base(), wholeScope, 0, t.opt.Replicas) == nil {
		return
	}
	for _, o := range t.out.Goal.Objectives {
		f, err := t.floor(o.Metric, t.counting)
		if err != nil {
			continue // of a group, which replicas do not tell of
		}
		now := t.whole(t.base(), o.Metric, 0)
		t.out.Floors = append(t.out.Floors, FloorLine{
			Metric: o.Metric, Value: metric.Number(f.Value), High: metric.Number(f.High), Share: metric.Number(f.High / math.Abs(now)),
		})
	}
}

// tried lists all candidates, the current policy first.
func (t *tuner) tried() {
	t.out.Tried = []Tried{}
	if t.evidence == nil { // it ended before anything was compared
		return
	}
	ranked := t.evidence.Ranked(func(i int) bool { return t.noted[i+1].out == "" })
	for i, c := range t.candidates {
		out := Tried{Name: c.name, Role: c.role, values: c.values, Gain: metric.Undefined, P: metric.Undefined, Worse: metric.Undefined, run: t.task(runRequest{of: c, scope: wholeScope})}
		for _, o := range t.goal.Objectives {
			out.Metrics = append(out.Metrics, metric.Number(t.whole(c, o.Metric, 0)))
		}
		for k := range t.out.Bounds {
			out.Metrics = append(out.Metrics, t.boundOn(c, k).Then)
		}
		if i == 0 {
			out.values = t.currentValues()
			t.out.Tried = append(t.out.Tried, out)
			continue
		}
		f, n := t.finding(i), &t.noted[i]
		out.Gain, out.P, out.Out, out.Worse = metric.Number(f.Gain), metric.Number(f.P), n.out, n.growth()
		if n.harmed {
			out.WorstGroup = n.worst.By + " " + n.worst.Name
		}
		out.Overloaded, out.Same = t.piling(c, wholeScope), t.same(c)
		out.Finalist = slices.ContainsFunc(t.out.Finalists, func(f Finalist) bool { return f.at == i })
		out.Rank = slices.Index(ranked, i-1) + 1
		t.out.Tried = append(t.out.Tried, out)
	}
}

// same says whether the schedules of a candidate are those of the current policy.
func (t *tuner) same(c *candidate) bool {
	for k := range t.problem.Traces {
		if t.result(c, wholeScope, k, 0).Fingerprint != t.result(t.base(), wholeScope, k, 0).Fingerprint {
			return false
		}
	}
	return true
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

// Task is the run of the candidate on the first trace, without jitter.
func (t *Tried) Task() task.Task { return t.run }

// Values of the search's settings, of the current policy as they are; nil for a baseline.
func (t *Tried) Values() []float64 { return t.values }

// changes lists the keys that differ from the current policy, and the profiles to use.
func (t *tuner) changes(c *candidate) {
	now := t.candidates[0]
	recommended := &Recommendation{Name: c.name}
	if t.out.Verdict == Change {
		t.out.Recommended = recommended
	}
	if c.cluster == nil {
		a, b := &now.specs[0], &c.specs[0]
		recommended.Order, recommended.Backfill = or(b.Order, "fcfs"), backfillOf(b)
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
	for k, i := range t.tuned() {
		p := c.cluster.VClusters[i].Profile.Inline
		if k == 0 {
			recommended.Order, recommended.Backfill = p.Order, p.Backfill
		}
		if recommended.Order != p.Order || recommended.Backfill != p.Backfill { // no one word is true of all
			recommended.Order, recommended.Backfill = "", ""
		}
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
	if t.out.Verdict == Change {
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

// Counted says how many windows count.
func (r *Report) Counted() int {
	n := 0
	for i := range r.Windows {
		if r.Windows[i].Aside == "" {
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
