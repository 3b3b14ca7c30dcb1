// Package study draws what came out of a sweep, a search or a tuning: the page of a study,
// its figures and its JSON. It knows nothing of how results were found, and reads no run.
package study

import (
	"orrery/internal/doc"
	"orrery/sim/metric"
)

// Schema is the version of Study's JSON; it is raised when older readers
// would misread a newer file.
const Schema = 2

// SealedSchema is the first version whose file has its SHA-256.
const SealedSchema = 2

// Study is what came out of a sweep, a search or a tuning, ready for drawing:
// plain data that says nothing of how it was found. The caller, which has the results,
// fills it, Write draws it, and its JSON keeps it. Parts that are empty
// are not drawn. All texts are plain: what users wrote may stand in them as
// they wrote it.
type Study struct {
	Schema  int      `json:"schema"` // Schema; 0 counts as it
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`              // sweep, search or tune
	Summary []string `json:"summary,omitempty"` // sentences at the head: what was asked, what came out, how sure
	Verdict string   `json:"verdict,omitempty"` // in a word or two, such as "keep what you have"
	Good    bool     `json:"good,omitempty"`    // the verdict is good news
	// Unheeded says what jobs requested and the replays left unmet: it stands before all figures.
	Unheeded []string   `json:"unheeded,omitempty"`
	Warn     []string   `json:"warnings,omitempty"`
	Facts    []doc.Fact `json:"facts,omitempty"` // provenance: trace, windows, seeds, method, budget
	// Headlines are the figures at the head; without them it shows the objectives.
	Headlines []doc.Tile `json:"headlines,omitempty"`
	// Sections stand before the candidates.
	Sections []doc.Section `json:"sections,omitempty"`

	Parameters []Parameter `json:"parameters"`
	Metrics    []Metric    `json:"metrics"`
	Rows       []Row       `json:"rows"`

	Histories    []History     `json:"histories,omitempty"`
	Sensitivity  []Sensitivity `json:"sensitivity,omitempty"`
	Interactions []Interaction `json:"interactions,omitempty"`
	Groups       []GroupChange `json:"groups,omitempty"`
	Shares       []ShareSeries `json:"shares,omitempty"`
}

// Kinds of a Parameter.
const (
	KindWeight  = "weight"  // from 0 to 1, one of several that sum to 1
	KindReal    = "real"    // any number from Low to High
	KindInteger = "integer" // a whole number from Low to High
	KindChoice  = "choice"  // the index of one of Choices
)

// Parameter is a setting that the rows differ in. A simplex of weights is
// one parameter for each weight.
type Parameter struct {
	Name    string   `json:"name"` // path of the setting, such as weights.wait_time
	Kind    string   `json:"kind"` // one of the kinds above
	Unit    string   `json:"unit,omitempty"`
	Low     float64  `json:"low,omitempty"`     // of reals and integers; both 0: as the rows have them
	High    float64  `json:"high,omitempty"`    // of reals and integers
	Log     bool     `json:"log,omitempty"`     // spread evenly over orders of magnitude; Low is positive
	Choices []string `json:"choices,omitempty"` // of a choice: profile names, on and off, traces
}

// Directions of a Metric; empty means that neither way is better.
const (
	Minimise = "minimise"
	Maximise = "maximise"
)

// Metric is a column of results. Figures draw the objectives; the table
// has them all.
type Metric struct {
	Name      string `json:"name"` // as METRICS.md has it; words may follow, such as "wait_max (bound)"
	Unit      string `json:"unit,omitempty"`
	Direction string `json:"direction,omitempty"`
	Objective bool   `json:"objective,omitempty"`
	Share     bool   `json:"share,omitempty"` // 0 to 1, said in percent
	Bound     *Bound `json:"bound,omitempty"` // a constraint that the study was under
}

// Bound is a constraint: the metric is Relation ("<=" or ">=") Value.
type Bound struct {
	Relation string  `json:"relation"`
	Value    float64 `json:"value"`
}

// Roles of a Row; empty is a row like any other.
const (
	RoleBaseline = "baseline" // a named profile or plain order that others are held against
	RoleCurrent  = "current"  // what is deployed now: the main baseline
	RoleChosen   = "chosen"   // what is recommended
)

// Row is one profile that was tried, with what came of it.
type Row struct {
	ID       string          `json:"id"`             // unique in the study: trial number or digest
	Name     string          `json:"name,omitempty"` // of a baseline or a listed profile
	Role     string          `json:"role,omitempty"`
	Values   []metric.Number `json:"values"`             // by parameter; null where the row does not set it
	Metrics  []metric.Number `json:"metrics"`            // by metric; null where undefined
	Feasible bool            `json:"feasible"`           // keeps all bounds and did not fail
	Front    bool            `json:"front"`              // no other row is better in every objective
	Verdict  string          `json:"verdict,omitempty"`  // against the current profile: better, worse, not enough evidence…
	State    string          `json:"state,omitempty"`    // of its runs, when not stable: overloaded, failed…
	Link     string          `json:"link,omitempty"`     // to the run's page: a path from the study's folder, or http(s)
	Rung     int             `json:"rung,omitempty"`     // of a race: how far it came
	Evidence int             `json:"evidence,omitempty"` // windows and seeds behind the metrics, 0 when not said
	// Low and High are the intervals of the metrics, null where not known; both or none.
	Low  []metric.Number `json:"low,omitempty"`
	High []metric.Number `json:"high,omitempty"`
	// Commands make its run and its profile, to be run in the folder of the page.
	Commands []string `json:"commands,omitempty"`
}

// History is how good the best known row was after each trial. Several curves
// are several methods, or seeds of one.
type History struct {
	Metric string         `json:"metric"` // the name of one of the metrics, or hypervolume
	Unit   string         `json:"unit,omitempty"`
	Curves []HistoryCurve `json:"curves"`
	Lines  []HistoryLine  `json:"lines,omitempty"` // baselines
}

// HistoryCurve is best[i] after trial i+1; Low and High may hold an interval.
type HistoryCurve struct {
	Name string          `json:"name"`
	Best []metric.Number `json:"best"`           // null before the first feasible trial
	Each []metric.Number `json:"each,omitempty"` // what each trial itself reached, drawn as points
	Low  []metric.Number `json:"low,omitempty"`
	High []metric.Number `json:"high,omitempty"`
}

// HistoryLine is what a baseline reaches without any search.
type HistoryLine struct {
	Name  string        `json:"name"`
	Value metric.Number `json:"value"`
}

// Influences of a parameter.
const (
	Inert   = "inert"
	Active  = "active"
	Unclear = "unclear"
)

// Sensitivity is how much each parameter moves one metric.
type Sensitivity struct {
	Metric string            `json:"metric"`
	Unit   string            `json:"unit,omitempty"` // of the effects; "" for shares of the variance
	What   string            `json:"what"`           // what an effect is, such as "mean change when it moves by two thirds of its range"
	Share  bool              `json:"share,omitempty"`
	Floor  metric.Number     `json:"floor"` // noise floor, in the unit of the effects; null when not measured
	Parts  []SensitivityPart `json:"parts"`
}

// SensitivityPart is the effect of one parameter with its interval.
type SensitivityPart struct {
	Parameter string        `json:"parameter"`
	Effect    metric.Number `json:"effect"`
	Low       metric.Number `json:"low"`
	High      metric.Number `json:"high"`
	Influence string        `json:"influence"` // inert, active or unclear
}

// Interaction is a metric over a grid of two parameters, all others as they
// are at one point.
type Interaction struct {
	Metric     string            `json:"metric"`
	First      string            `json:"first"` // names of the parameters
	Second     string            `json:"second"`
	FirstAt    []float64         `json:"first_at"`    // ascending, by row
	SecondAt   []float64         `json:"second_at"`   // ascending, by column
	Values     [][]metric.Number `json:"values"`      // by row, then column
	JointShare metric.Number     `json:"joint_share"` // of the variance, by both acting together; null when not known
	Floor      metric.Number     `json:"floor"`       // noise floor of the metric; null when not measured
}

// GroupChange is the effect on one group: one figure of one tenant,
// vCluster, class or size of jobs, before and after.
type GroupChange struct {
	By      string        `json:"by"` // tenant, vcluster, class or size
	Name    string        `json:"name"`
	Jobs    int64         `json:"jobs"` // that the figures are of
	Metric  string        `json:"metric"`
	Unit    string        `json:"unit,omitempty"`
	Before  metric.Number `json:"before"`
	After   metric.Number `json:"after"`
	Low     metric.Number `json:"low"` // interval of after - before; null when not known
	High    metric.Number `json:"high"`
	Verdict string        `json:"verdict,omitempty"` // better, worse, same, or why nothing may be said
}

// ShareSeries is which share of what was held each tenant held, over time, in
// one run.
type ShareSeries struct {
	Title   string `json:"title"` // of the run, such as before or after
	Unit    string `json:"unit"`  // what is held: node or GPU
	EpochUS int64  `json:"epoch_us"`
	Known   bool   `json:"epoch_known"`
	StartUS int64  `json:"start_us"` // of the first stretch, µs since the epoch
	WidthUS int64  `json:"width_us"` // of each
	// Held is how much was held in each stretch, in any unit: mean shares are weighed by
	// it. Without it all stretches count alike.
	Held    []metric.Number `json:"held,omitempty"`
	Tenants []ShareLine     `json:"tenants"`
}

// ShareLine is one tenant; Shares are 0 to 1, one for each stretch.
type ShareLine struct {
	Name   string          `json:"name"`
	Shares []metric.Number `json:"shares"`
	Target metric.Number   `json:"target"` // its fair share; null when it has none
}
