package plan

import (
	"cmp"
	"iter"
	"reflect"
	"slices"

	"orrery/profiles"
	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/plain"
	"orrery/sim/world"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// Tables is what a spec needs to know of a trace besides its jobs.
type Tables interface {
	Info() traces.Info
	Nodes() []traces.Node
	Tenants() []traces.Tenant
	Events() []traces.Event
	Prices() []traces.Price
	Load() iter.Seq2[*traces.Load, error]
}

// Prepared is a Spec whose cluster file has been read and checked, which takes as
// long as to replay some hundred jobs: to replay several traces under it.
type Prepared struct {
	spec     Spec
	file     *clusterFile       // nil without one
	scenario *profiles.Scenario // likewise
}

// Prepare reads the cluster file of a spec. All else is checked when it is run.
func Prepare(s Spec) (*Prepared, error) {
	if s.Semantics != Semantics {
		return nil, usagef("the spec is of semantics %d, this binary has %d: replay it with the version that made it", s.Semantics, Semantics)
	}
	p := &Prepared{spec: s}
	var err error
	if p.scenario, err = readScenario(s.Scenario); err != nil {
		return nil, err
	}
	if len(s.Site) == 0 {
		return p, nil
	}
	if err := s.onlySite(); err != nil {
		return nil, err
	}
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

// Resolved is a Spec on a trace, in the words of the packages that run it.
type Resolved struct {
	Spec   Spec
	Core   plain.Config
	World  world.Config
	Order  drive.EventOrder
	Strict bool  // infeasible jobs fail the run
	Site   *Site // instead of core and world, on a site
	Warm   translate.Warm
	// GPUsIgnored counts the rows that ask for GPUs on a cluster without any: see Judge.
	GPUsIgnored int64
	// events and prices count the rows of these tables of the trace.
	events, prices int
	// History is for how long before the warm start it is known what was consumed.
	History model.Duration
	// Takeovers are the instants from which other cores decide, ascending.
	Takeovers []Takeover
	// Left are the rows that the scenario leaves out, ascending: see Select.
	Left     []model.JobID
	scenario *profiles.Scenario // nil for none
}

// Resolve checks every setting and derives the configurations for the trace.
func (prep *Prepared) Resolve(src Tables) (Resolved, error) {
	s, info := prep.spec, src.Info()
	p := Resolved{Spec: s, Warm: translate.Warm(info.WarmStart), History: info.History, events: len(src.Events()), prices: len(src.Prices())}
	p.World.Warm, p.World.Expected = p.Warm, s.Measure != nil
	var err error
	if p.Core.Order, err = order.Parse(cmp.Or(s.Order, "fcfs")); err != nil {
		return p, &UsageError{err.Error()}
	}
	if p.Core.Backfill, err = order.ParseBackfill(cmp.Or(s.Backfill, "easy")); err != nil {
		return p, &UsageError{err.Error()}
	}
	p.Core.Depth = s.Depth
	switch cmp.Or(s.EventOrder, "batch") {
	case "batch":
	case "sequential":
		p.Order, p.Core.Sequential = drive.Sequential, true
	default:
		return p, usagef("unknown event order %q: want batch or sequential", s.EventOrder)
	}
	if err := s.timing(); err != nil {
		return p, err
	}
	p.Core.Ticks = model.Ticks{Every: s.Cycle, Phase: s.Phase}
	if p.World.Policy, err = s.policy(); err != nil {
		return p, err
	}
	p.Core.Extend = p.World.Policy.Overrun == translate.Extend
	if p.Strict, err = s.strict(); err != nil {
		return p, err
	}
	if prep.file != nil {
		return p, p.onSite(prep, prep.file, src)
	}
	p.World.Latency, p.World.Jitter, p.World.Seed = s.QuorumLatency, s.QuorumJitter, s.Seed
	if p.Spec.Cluster, err = s.Cluster.Resolve(info, src.Nodes()); err != nil {
		return p, err
	}
	if p.Spec.Cluster.divided(info, src.Nodes()) {
		if p.Spec, err = s.sited(p.Spec.Cluster); err != nil {
			return p, err
		}
		file, err := readSite(p.Spec.Site)
		if err != nil {
			return p, err
		}
		p.Core, p.World.Latency, p.World.Jitter = plain.Config{}, 0, 0
		return p, p.onSite(prep, file, src)
	}
	if p.World.Cluster, p.World.Units, err = p.Spec.Cluster.cluster(info, src.Nodes()); err != nil {
		return p, err
	}
	if p.World.Units.PerNode && p.Core.Backfill == order.Conservative && !p.World.Cluster.Whole {
		return p, usagef("conservative backfilling plans with counts and cannot reserve shares of single nodes: use easy, or --exclusive for whole nodes")
	}
	p.Core.Cluster = p.World.Cluster
	if err := p.Core.Validate(); err != nil {
		return p, &UsageError{err.Error()}
	}
	if p.scenario = prep.scenario; p.scenario != nil {
		return p, p.onPlain(p.scenario)
	}
	return p, nil
}

// onSite makes p a plan for the site of a file.
func (p *Resolved) onSite(prep *Prepared, file *clusterFile, src Tables) error {
	whole, err := file.on(src)
	if err != nil {
		return err
	}
	p.Spec.Site, p.World.Cluster = whole.canonical, unitsOfSite(whole.site)
	p.Site, err = p.siteOf(whole.site, file.cluster, src)
	if p.scenario = prep.scenario; p.scenario != nil && err == nil {
		return p.onSiteUnder(p.scenario, file.cluster, src)
	}
	return err
}

// policy is what the world does where a job overruns or asks for no time.
func (s Spec) policy() (w translate.Policy, err error) {
	switch cmp.Or(s.Overrun, "kill") {
	case "kill":
	case "extend":
		w.Overrun = translate.Extend
	default:
		return w, usagef("unknown overrun policy %q: want kill or extend", s.Overrun)
	}
	switch cmp.Or(s.MissingRequest, "infinite") {
	case "infinite":
	case "recorded":
		w.MissingWalltime = translate.TrueRuntime
	case "default":
		w.MissingWalltime, w.DefaultWalltime = translate.DefaultTime, s.DefaultRequest
		if s.DefaultRequest <= 0 {
			return w, usagef("a default for missing requests must be positive, for example default:12h")
		}
	default:
		return w, usagef("unknown policy for missing requests %q: want infinite, recorded or default:DURATION", s.MissingRequest)
	}
	if s.DefaultRequest != 0 && s.MissingRequest != "default" {
		return w, usagef("a default request applies to the policy default only")
	}
	return w, nil
}

// strict says whether jobs that can never run fail the run.
func (s Spec) strict() (bool, error) {
	switch cmp.Or(s.Infeasible, "reject") {
	case "reject":
		return false, nil
	case "error":
		return true, nil
	}
	return false, usagef("unknown policy for infeasible jobs %q: want reject or error", s.Infeasible)
}

// OwnSite is p with a site of its own, to which the world of another run may add
// the constraints of jobs, and without other cores later.
func (p Resolved) OwnSite() Resolved {
	if p.Site != nil {
		own, site := *p.Site, *p.Site.World.Site
		site.Constraints = slices.Clone(site.Constraints)
		if own.Core.Site == own.World.Site { // else nodes are added on the way
			own.Core.Site = &site
		}
		own.World.Site, p.Site = &site, &own
	}
	p.Takeovers = nil
	return p
}

// Bind ties a spec to a trace: it enters the content hash and the cluster that
// was left to the trace, and checks the rest.
func (s Spec) Bind(src Tables) (Spec, error) {
	_, p, err := s.PrepareOn(src)
	return p.Spec, err
}

// BindJSON is the canonical form of Bind, which reads the site once only.
func (s Spec) BindJSON(src Tables) ([]byte, error) {
	_, p, err := s.PrepareOn(src)
	if err != nil {
		return nil, err
	}
	return p.Spec.plainest().marshal(), nil
}

// PrepareOn is Bind with what it takes to run the spec.
func (s Spec) PrepareOn(src Tables) (*Prepared, Resolved, error) {
	info := src.Info()
	if s.Trace != "" && s.Trace != info.Hash {
		return nil, Resolved{Spec: s}, usagef("the spec is for the trace %s, but %s is %s", s.Trace, info.Name, info.Hash)
	}
	s.Trace = info.Hash
	prep, err := Prepare(s)
	if err != nil {
		return nil, Resolved{Spec: s}, err
	}
	p, err := prep.Resolve(src)
	return prep, p, err
}
