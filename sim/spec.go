// Package sim replays a trace: it turns a Spec into a run, by driving the
// production scheduler core with simulated time against the simulated world.
// It draws nothing and parses no flags.
package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/plain"
	"orrery/sim/world"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// Semantics is raised whenever any schedule may change, so that results of
// different meaning never share an id.
const Semantics = 4

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

	QuorumLatency model.Duration `json:"quorum_latency_us,omitempty"` // 0: proposals are answered at once
	QuorumJitter  model.Duration `json:"quorum_jitter_us,omitempty"`  // uniform, on top of the latency
	Seed          uint64         `json:"seed,omitempty"`              // of every random draw

	// Feedback lets a job that follows another, by after_job and think_time, come when
	// that one has left, and not when the log says.
	Feedback bool `json:"feedback,omitempty"`

	WarmupJobs int64          `json:"warmup_jobs,omitempty"` // of the steady window; 0 is 1 % of the jobs, -1 none
	Warmup     model.Duration `json:"warmup_us,omitempty"`
	Cooldown   model.Duration `json:"cooldown_us,omitempty"`

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

// canonical writes every field at its default as the empty value.
func (s Spec) canonical() Spec {
	if site, err := canonicalSite(s.Site); err == nil {
		s.Site = site
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

// ID is the SHA-256 of the canonical JSON, in hexadecimal.
func (s Spec) ID() string {
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

// plan is a Spec in the words of the packages that run it.
type plan struct {
	spec   Spec
	core   plain.Config
	world  world.Config
	order  drive.EventOrder
	strict bool      // infeasible jobs fail the run
	site   *sitePlan // instead of core and world, on a site
	warm   translate.Warm
	// history is for how long before the warm start it is known who consumed what.
	history model.Duration
}

// Tables is what a spec needs to know of a trace besides its jobs.
type Tables interface {
	Info() traces.Info
	Nodes() []traces.Node
	Tenants() []traces.Tenant
	Events() []traces.Event
	Prices() []traces.Price
}

// Prepared is a Spec whose cluster file has been read and checked, which takes as
// long as to replay some hundred jobs: for who replays several traces under it.
type Prepared struct {
	spec Spec
	file *clusterFile // nil without one
}

// Prepare reads the cluster file of a spec. All else is checked when it is run.
func Prepare(s Spec) (*Prepared, error) {
	if s.Semantics != Semantics {
		return nil, usagef("the spec is of semantics %d, this binary has %d: replay it with the version that made it", s.Semantics, Semantics)
	}
	p := &Prepared{spec: s}
	if len(s.Site) == 0 {
		return p, nil
	}
	if err := s.onlySite(); err != nil {
		return nil, err
	}
	var err error
	if p.file, err = readSite(s.Site); err != nil {
		return nil, err
	}
	return p, nil
}

// Of says whether it is s that was prepared.
func (prep *Prepared) Of(s Spec) bool { return reflect.DeepEqual(prep.spec, s) }

// Measuring is p for a run about another part of the trace.
func (prep *Prepared) Measuring(m *Measure) *Prepared {
	out := *prep
	out.spec.Measure = m
	return &out
}

// resolve checks every setting and derives the configurations for the trace.
func (prep *Prepared) resolve(src Tables) (plan, error) {
	s, info, nodes := prep.spec, src.Info(), src.Nodes()
	p := plan{spec: s, warm: translate.Warm(info.WarmStart), history: info.History}
	p.world.Warm, p.world.Expected = p.warm, s.Measure != nil
	var err error
	if p.core.Order, err = order.Parse(or(s.Order, "fcfs")); err != nil {
		return p, &UsageError{err.Error()}
	}
	if p.core.Backfill, err = order.ParseBackfill(or(s.Backfill, "easy")); err != nil {
		return p, &UsageError{err.Error()}
	}
	p.core.Depth = s.Depth
	switch or(s.EventOrder, "batch") {
	case "batch":
	case "sequential":
		p.order, p.core.Sequential = drive.Sequential, true
	default:
		return p, usagef("unknown event order %q: want batch or sequential", s.EventOrder)
	}
	if err := s.timing(); err != nil {
		return p, err
	}
	if err := s.policies(&p); err != nil {
		return p, err
	}
	if prep.file != nil {
		return p, s.site(&p, prep.file, src)
	}
	p.world.Latency, p.world.Jitter, p.world.Seed = s.QuorumLatency, s.QuorumJitter, s.Seed
	if err := s.cluster(&p, info, nodes); err != nil {
		return p, err
	}
	p.core.Cluster = p.world.Cluster
	if err := p.core.Validate(); err != nil {
		return p, &UsageError{err.Error()}
	}
	return p, nil
}

func or(s, def string) string {
	if s == "" {
		return def
	}
	return s
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

func (s Spec) policies(p *plan) error {
	switch or(s.Overrun, "kill") {
	case "kill":
	case "extend":
		p.world.Policy.Overrun, p.core.Extend = translate.Extend, true
	default:
		return usagef("unknown overrun policy %q: want kill or extend", s.Overrun)
	}
	switch or(s.MissingRequest, "infinite") {
	case "infinite":
	case "recorded":
		p.world.Policy.MissingWalltime = translate.TrueRuntime
	case "default":
		p.world.Policy.MissingWalltime, p.world.Policy.DefaultWalltime = translate.DefaultTime, s.DefaultRequest
		if s.DefaultRequest <= 0 {
			return usagef("a default for missing requests must be positive, for example default:12h")
		}
	default:
		return usagef("unknown policy for missing requests %q: want infinite, recorded or default:DURATION", s.MissingRequest)
	}
	if s.DefaultRequest != 0 && s.MissingRequest != "default" {
		return usagef("a default request applies to the policy default only")
	}
	switch or(s.Infeasible, "reject") {
	case "reject":
	case "error":
		p.strict = true
	default:
		return usagef("unknown policy for infeasible jobs %q: want reject or error", s.Infeasible)
	}
	return nil
}

// Limits of a cluster, far above any machine there is and below what a mistyped
// number would ask of the memory of the one that replays: nodes, processors on
// one of them, and nodes times processors on each (the view keeps a bit for
// each node and number of free processors).
const (
	maxNodes        = 1 << 22
	maxCoresPerNode = 1 << 14
	maxNodeCores    = 1 << 31
)

// tooLarge says what exceeds the limits, "" when nothing does.
func tooLarge(nodes, cores int64) string {
	switch {
	case nodes > maxNodes:
		return fmt.Sprintf("%d nodes, at most %d", nodes, maxNodes)
	case cores > maxCoresPerNode:
		return fmt.Sprintf("%d processors on a node, at most %d", cores, maxCoresPerNode)
	case nodes*cores > maxNodeCores-1:
		return fmt.Sprintf("%d nodes of %d processors, at most %d processors in all", nodes, cores, int64(maxNodeCores-1))
	}
	return ""
}

// Resolve fills in a cluster that was left to the trace.
func (c ClusterSpec) Resolve(info traces.Info, nodes []traces.Node) (ClusterSpec, error) {
	switch {
	case c.Procs < 0 || c.Nodes < 0 || c.CoresPerNode < 0:
		return c, usagef("a cluster of negative size: %d processors, %d nodes, %d cores per node", c.Procs, c.Nodes, c.CoresPerNode)
	case c.Procs > 0 && (c.Nodes > 0 || c.CoresPerNode > 0 || c.Exclusive || c.Table):
		return c, usagef("--procs is a cluster of one-core nodes: leave out --nodes, --cores-per-node and --exclusive")
	case (c.Nodes > 0) != (c.CoresPerNode > 0):
		return c, usagef("--nodes and --cores-per-node go together")
	case c.Table && len(nodes) == 0:
		return c, usagef("the spec takes its cluster from the nodes table of the trace, which has none")
	case c.Table:
		return c, nil
	case c.Procs > 0:
		if why := tooLarge(int64(c.Procs), 1); why != "" {
			return c, usagef("a cluster of %s", why)
		}
		return c, nil
	case c.Nodes > 0:
		if why := tooLarge(int64(c.Nodes), int64(c.CoresPerNode)); why != "" {
			return c, usagef("a cluster of %s", why)
		}
		return c, nil
	case len(nodes) > 0:
		c.Table = true
	case c.Exclusive:
		return c, usagef("--exclusive needs nodes: give --nodes and --cores-per-node")
	case info.MaxProcs > 0:
		if why := tooLarge(int64(info.MaxProcs), 1); why != "" {
			return c, &traces.DataError{File: info.Name, Found: "a cluster of " + why, Expected: "the size of the cluster that the log is from", Mend: "give --procs"}
		}
		c.Procs = info.MaxProcs
	default:
		return c, usagef("the trace %s does not say how large the cluster was: give --procs, or --nodes and --cores-per-node", info.Name)
	}
	return c, nil
}

func (s Spec) cluster(p *plan, info traces.Info, nodes []traces.Node) error {
	c, err := s.Cluster.Resolve(info, nodes)
	if err != nil {
		return err
	}
	p.spec.Cluster = c
	switch {
	case c.Procs > 0:
		p.world.Cluster = model.UniformCluster(c.Procs, 1, false)
		return nil
	case c.Nodes > 0:
		p.world.Cluster = model.UniformCluster(c.Nodes, c.CoresPerNode, c.Exclusive)
		return nil
	}
	units, u, err := translate.ClusterOf(nodes)
	if err != nil {
		return &traces.DataError{File: info.Name, Found: err.Error(), Expected: "processors or GPUs on every node", Mend: "correct the nodes table"}
	}
	most := int64(0)
	for _, n := range units {
		most = max(most, int64(n))
	}
	if why := tooLarge(int64(len(units)), most); why != "" {
		return &traces.DataError{File: info.Name, Found: "a nodes table of " + why, Expected: "the nodes of one cluster", Mend: "correct the nodes table"}
	}
	p.world.Cluster, p.world.Units = model.Cluster{Units: units, Whole: c.Exclusive}, u
	if p.core.Backfill == order.Conservative && !c.Exclusive {
		return usagef("conservative backfilling plans with counts and cannot reserve shares of single nodes: use easy, or --exclusive for whole nodes")
	}
	return nil
}
