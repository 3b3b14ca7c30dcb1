// Package plan says what a run is to be: a Spec, and what it and a trace make of it,
// the configurations of the scheduler core, of the simulated world and of what is
// measured. It replays nothing and knows of no run.
package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// Semantics is raised whenever any schedule may change, so that results of
// different meaning never share an id.
const Semantics = 7

// Spec says everything that a result depends on, and nothing else: no path, no
// number of workers. Its canonical JSON, fields at their default left out, is
// what ID hashes. Times are in microseconds.
type Spec struct {
	Semantics int         `json:"semantics"`
	Trace     string      `json:"trace"` // content hash of the bundle
	Cluster   ClusterSpec `json:"cluster"`
	// Site is a cluster file with the profiles of its vClusters, as canonical
	// JSON. It stands instead of Cluster and of the settings from Order to Phase
	// and of the quorum.
	Site json.RawMessage `json:"site,omitempty"`

	Order      string `json:"order,omitempty"`       // default fcfs
	Backfill   string `json:"backfill,omitempty"`    // default easy
	Depth      int    `json:"depth,omitempty"`       // of conservative; 0 is all
	EventOrder string `json:"event_order,omitempty"` // batch (default) or sequential

	Cycle model.Duration `json:"cycle_us,omitempty"` // 0: a pass whenever something changed
	Phase model.Duration `json:"phase_us,omitempty"` // of the first cycle

	Overrun        string         `json:"overrun,omitempty"`         // kill (default) or extend
	MissingRequest string         `json:"missing_request,omitempty"` // infinite (default), recorded or default
	DefaultRequest model.Duration `json:"default_request_us,omitempty"`
	Infeasible     string         `json:"infeasible,omitempty"` // reject (default) or error
	// AllowUnheeded goes on where more of the work than MostUnheeded asks for what the cluster
	// does not have. A run drops it from its spec where there was nothing of the kind.
	AllowUnheeded bool `json:"allow_unheeded,omitempty"`

	QuorumLatency model.Duration `json:"quorum_latency_us,omitempty"` // 0: proposals are answered at once
	QuorumJitter  model.Duration `json:"quorum_jitter_us,omitempty"`  // uniform, on top of the latency
	Seed          uint64         `json:"seed,omitempty"`              // of every random draw

	// Feedback lets a job that follows another, by after_job and think_time, come when
	// that one has left, and not when the log says.
	Feedback bool `json:"feedback,omitempty"`

	WarmupJobs int64          `json:"warmup_jobs,omitempty"` // of the steady window; 0 is 1 % of the jobs, -1 none
	Warmup     model.Duration `json:"warmup_us,omitempty"`
	Cooldown   model.Duration `json:"cooldown_us,omitempty"`

	// Scenario is what is asked besides, as canonical JSON: changes on the way, work that is left
	// out, a job that is preferred.
	Scenario json.RawMessage `json:"scenario,omitempty"`

	// Measure is the part of the trace that the run is about, instead of a warm-up
	// and a cool-down; nil is the whole trace.
	Measure *Measure `json:"measure,omitempty"`
}

// Measure says which jobs a run is about: those submitted in [From, To). What was
// submitted before is replayed to warm the machine up, and what is submitted after
// is replayed as well, so that the jobs of the part meet the load that came behind
// them. The run stops when all of them have left, or Follow after To: those that
// wait or run then count with their wait so far. Services and sessions, which may
// have no end, are not waited for.
type Measure struct {
	From   model.Time     `json:"from_us"`
	To     model.Time     `json:"to_us"`
	Follow model.Duration `json:"follow_us"`
}

// DefaultFollow is for how long a run goes on after the part that is measured, at
// most. It is longer than most sites let a job wait.
const DefaultFollow = 30 * model.Day

// ClusterSpec says how many nodes there are. All zero means the bundle's own
// nodes table, or the machine size that the log states.
type ClusterSpec struct {
	Procs        int32 `json:"procs,omitempty"` // one-core nodes
	Nodes        int32 `json:"nodes,omitempty"`
	CoresPerNode int32 `json:"cores_per_node,omitempty"` // with Nodes
	GPUsPerNode  int32 `json:"gpus_per_node,omitempty"`  // with Nodes: such a cluster is a site, see Spec.Site
	Exclusive    bool  `json:"exclusive,omitempty"`      // whole nodes only
	// Table is set when the bundle's nodes table is the cluster.
	Table bool `json:"table,omitempty"`
}

// DefaultSpec is fcfs, easy, batch order, event cycle; the steady window
// leaves out the first 1 % of the jobs.
func DefaultSpec() Spec {
	return Spec{Semantics: Semantics}
}

// NoWarmup as Spec.WarmupJobs leaves out nothing.
const NoWarmup = -1

// SetWarmup says what the steady window leaves out at the beginning: nil as much as is usual,
// 0 nothing.
func (s *Spec) SetWarmup(given *model.Duration) {
	switch {
	case given == nil:
		s.Warmup, s.WarmupJobs = 0, 0
	case *given == 0:
		s.Warmup, s.WarmupJobs = 0, NoWarmup
	default:
		s.Warmup, s.WarmupJobs = *given, 0
	}
}

// canonical writes every field at its default as the empty value.
func (s Spec) canonical() Spec {
	if site, err := canonicalSite(s.Site); err == nil {
		s.Site = site
	}
	if scenario, err := canonicalScenario(s.Scenario); err == nil {
		s.Scenario = scenario
	}
	return s.plainest()
}

// plainest is canonical where the site is so already.
func (s Spec) plainest() Spec {
	drop := func(field *string, def string) {
		if *field = strings.ToLower(*field); *field == def {
			*field = ""
		}
	}
	if o, err := order.Parse(s.Order); err == nil {
		s.Order = o.String()
	}
	drop(&s.Order, "fcfs")
	drop(&s.Backfill, "easy")
	drop(&s.EventOrder, "batch")
	drop(&s.Overrun, "kill")
	drop(&s.MissingRequest, "infinite")
	drop(&s.Infeasible, "reject")
	return s
}

// JSON is the canonical form.
func (s Spec) JSON() []byte { return s.canonical().marshal() }

func (s Spec) marshal() []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a struct of strings and integers
	}
	return b
}

// ID is the SHA-256 of the canonical JSON, in hexadecimal. AllowUnheeded is left out: it says
// whether there is a result, and not what is in it.
func (s Spec) ID() string {
	s.AllowUnheeded = false
	sum := sha256.Sum256(s.JSON())
	return hex.EncodeToString(sum[:])
}

// UsageError says that a setting is wrong or does not apply: exit code 2.
type UsageError struct{ Text string }

// Error is the text.
func (e *UsageError) Error() string { return e.Text }

// siteError is a *UsageError about a cluster file, and the *profiles.Error with
// the places in it: those of its canonical form, which profiles.Cluster.Locate
// turns into those of the file.
type siteError struct{ error }

// Unwrap is both.
func (e siteError) Unwrap() []error { return []error{&UsageError{e.Error()}, e.error} }

func usagef(format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...)}
}

// longestQuorum is as long as a cluster file allows.
const longestQuorum = model.Hour

// timing checks what must not be negative and what excludes what.
func (s Spec) timing() error {
	switch {
	case s.Cycle < 0 || s.Phase < 0 || s.QuorumLatency < 0 || s.QuorumJitter < 0 || s.Warmup < 0 || s.Cooldown < 0:
		return usagef("a negative duration: cycle %s, phase %s, quorum latency %s and jitter %s, warm-up %s, cool-down %s", s.Cycle, s.Phase, s.QuorumLatency, s.QuorumJitter, s.Warmup, s.Cooldown)
	case s.QuorumLatency > longestQuorum || s.QuorumJitter > longestQuorum:
		return usagef("a quorum latency of %s and jitter of %s: want %s at most", s.QuorumLatency, s.QuorumJitter, longestQuorum)
	case s.Phase > 0 && s.Cycle == 0:
		return usagef("a phase needs a cycle")
	case s.Phase >= s.Cycle && s.Cycle > 0:
		return usagef("the phase %s is not below the cycle %s", s.Phase, s.Cycle)
	case s.EventOrder == "sequential" && s.Cycle > 0:
		return usagef("the sequential event order makes a pass at every event and has no cycle")
	case s.EventOrder == "sequential" && s.QuorumLatency+s.QuorumJitter > 0:
		return usagef("the sequential event order needs a quorum that answers at once")
	case s.Seed != 0 && s.QuorumJitter == 0 && len(s.Site) == 0:
		return usagef("the seed %d is drawn from by nothing: only a quorum jitter is random", s.Seed)
	case s.WarmupJobs < NoWarmup:
		return usagef("the warm-up is %d jobs, want 0 or more", s.WarmupJobs)
	case s.WarmupJobs > 0 && s.Warmup > 0:
		return usagef("the warm-up is given both as jobs and as a duration")
	}
	return s.measured()
}

// measured checks the part that is measured.
func (s Spec) measured() error {
	switch m := s.Measure; {
	case m == nil:
	case m.To <= m.From || m.Follow < 0:
		return usagef("the measured part from %s to %s, followed for %s: want one that ends after it begins, and 0 or more to follow", m.From, m.To, m.Follow)
	case s.WarmupJobs != 0 || s.Warmup > 0 || s.Cooldown > 0:
		return usagef("a warm-up or a cool-down beside a measured part: the part is the steady window, leave them out")
	}
	return nil
}
