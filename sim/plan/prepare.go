package plan

import (
	"cmp"
	"reflect"
	"slices"

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

// plan is a Spec in the words of the packages that run it.
type Resolved struct {
	Spec   Spec
	Core   plain.Config
	World  world.Config
	Order  drive.EventOrder
	Strict bool  // infeasible jobs fail the run
	Site   *Site // instead of core and world, on a site
	Warm   translate.Warm
	// events and prices count the rows of these tables of the trace.
	events, prices int
	// history is for how long before the warm start it is known who consumed what.
	History model.Duration
}

// resolve checks every setting and derives the configurations for the trace.
func (prep *Prepared) Resolve(src Tables) (Resolved, error) {
	s, info, nodes := prep.spec, src.Info(), src.Nodes()
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
	if err := s.policies(&p); err != nil {
		return p, err
	}
	if prep.file != nil {
		return p, s.site(&p, prep.file, src)
	}
	p.World.Latency, p.World.Jitter, p.World.Seed = s.QuorumLatency, s.QuorumJitter, s.Seed
	if err := s.cluster(&p, info, nodes); err != nil {
		return p, err
	}
	p.Core.Cluster = p.World.Cluster
	if err := p.Core.Validate(); err != nil {
		return p, &UsageError{err.Error()}
	}
	return p, nil
}

func (s Spec) policies(p *Resolved) error {
	switch cmp.Or(s.Overrun, "kill") {
	case "kill":
	case "extend":
		p.World.Policy.Overrun, p.Core.Extend = translate.Extend, true
	default:
		return usagef("unknown overrun policy %q: want kill or extend", s.Overrun)
	}
	switch cmp.Or(s.MissingRequest, "infinite") {
	case "infinite":
	case "recorded":
		p.World.Policy.MissingWalltime = translate.TrueRuntime
	case "default":
		p.World.Policy.MissingWalltime, p.World.Policy.DefaultWalltime = translate.DefaultTime, s.DefaultRequest
		if s.DefaultRequest <= 0 {
			return usagef("a default for missing requests must be positive, for example default:12h")
		}
	default:
		return usagef("unknown policy for missing requests %q: want infinite, recorded or default:DURATION", s.MissingRequest)
	}
	if s.DefaultRequest != 0 && s.MissingRequest != "default" {
		return usagef("a default request applies to the policy default only")
	}
	switch cmp.Or(s.Infeasible, "reject") {
	case "reject":
	case "error":
		p.Strict = true
	default:
		return usagef("unknown policy for infeasible jobs %q: want reject or error", s.Infeasible)
	}
	return nil
}

// apart is p with a site of its own, to which the world of another run may add
// the constraints of jobs.
func (p Resolved) OwnSite() Resolved {
	if p.Site != nil {
		own, site := *p.Site, *p.Site.Core.Site
		site.Constraints = slices.Clone(site.Constraints)
		own.Core.Site, own.World.Site = &site, &site
		p.Site = &own
	}
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

// bind is Bind with what it takes to run the spec.
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
