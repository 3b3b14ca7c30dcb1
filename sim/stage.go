package sim

import (
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/scheduler/plain"
	"orrery/scheduler/site"
	"orrery/sim/world"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// engine is the scheduler core as a run sees it.
type engine interface {
	scheduler.Core
	scheduler.Questions
}

// stage is the simulated world as a run sees it.
type stage interface {
	drive.Quorum
	drive.NodeAgents
	Next() model.Time
	// Take appends the facts of an instant to dst.
	Take(t model.Time, dst []model.Fact) []model.Fact
	Close()
	Abandon(model.Time) int64
	Held(model.Ref) *model.Placement
	// submission turns row i of b into a fact, which it puts into f; ok is false
	// when the row is dropped or rejected.
	submission(b *traces.Batch, i int, f *model.Fact) (ok bool, err error)
	// inspect counts row i of b as too large if it could never run.
	inspect(b *traces.Batch, i int) error
	// leavers are the jobs that have left at this instant so far.
	leavers() []model.JobRecord
	state() *world.State
	awkward() *translate.SpecialRows
	// Resumes and Warming are of a warm start, see package world. recorded lists
	// the jobs that ran then on nodes that are known.
	Resumes(model.Ref) bool
	Warming(bool)
	recorded() []world.Resumption
}

// stage sets up a core and its world.
func (p plan) stage(opt Options, users func() []string) (engine, stage) {
	if p.site == nil {
		core := plain.New(p.core)
		possible := func(r model.Request) bool {
			return core.Unsatisfiable(&model.Fact{Request: r}) == model.ReasonNone
		}
		return core, plainStage{world.New(p.world, opt.Sink), possible}
	}
	c := p.site.core
	c.EveryCycle = opt.EveryCycle
	if opt.Decisions != nil {
		c.Explain = opt.explain()
	}
	core := site.New(c)
	cfg := p.site.world
	cfg.Rows.Users = users
	w := world.NewSite(cfg, opt.Sink)
	if p.history > 0 {
		w.Recall = core.Recall
	}
	never := func(a *model.Allocation) model.Reason { return core.Unsatisfiable(&model.Fact{Alloc: a}) }
	return core, siteStage{w, never}
}

// explain says of which jobs decisions are asked for.
func (o *Options) explain() func(model.JobID) bool {
	if o.Explain != nil {
		return o.Explain
	}
	return func(model.JobID) bool { return true }
}

// apart is p with a site of its own, to which the world of another run may add
// the constraints of jobs.
func (p plan) apart() plan {
	if p.site != nil {
		own, site := *p.site, *p.site.core.Site
		site.Constraints = slices.Clone(site.Constraints)
		own.core.Site, own.world.Site = &site, &site
		p.site = &own
	}
	return p
}

// batch is one that asks the source for the columns that the run reads.
func (p plan) batch() (b traces.Batch) {
	if p.site != nil {
		b.Attr = &traces.Attributes{}
	}
	return b
}

// plainStage is the world of a machine of equal processors.
type plainStage struct {
	*world.World
	possible func(model.Request) bool
}

func (s plainStage) submission(b *traces.Batch, i int, f *model.Fact) (bool, error) {
	return s.World.Submission(b, i, s.possible, f), nil
}

func (s plainStage) inspect(b *traces.Batch, i int) error {
	s.World.Inspect(b, i, s.possible)
	return nil
}

// recorded lists nothing: nodes of a plain cluster are alike, and chosen anew.
func (s plainStage) recorded() []world.Resumption { return nil }

func (s plainStage) leavers() []model.JobRecord      { return s.World.Leavers() }
func (s plainStage) state() *world.State             { return &s.World.State }
func (s plainStage) awkward() *translate.SpecialRows { return &s.World.Special }

// siteStage is the world of a site.
type siteStage struct {
	*world.Site
	never func(*model.Allocation) model.Reason
}

func (s siteStage) submission(b *traces.Batch, i int, f *model.Fact) (bool, error) {
	return s.Site.Submission(b, i, s.never, f)
}

func (s siteStage) inspect(b *traces.Batch, i int) error { return s.Site.Inspect(b, i, s.never) }

func (s siteStage) recorded() []world.Resumption { return s.Site.Resumptions() }

func (s siteStage) leavers() []model.JobRecord      { return s.Site.Leavers() }
func (s siteStage) state() *world.State             { return &s.Site.State }
func (s siteStage) awkward() *translate.SpecialRows { return &s.Site.Special }
