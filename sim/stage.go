package sim

import (
	"orrery/scheduler"
	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/sim/fork"
	"orrery/sim/plan"
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
	// submission turns row i of b into a fact, which it puts into f; ok is false
	// when the row is dropped or rejected: f is then FactGone where others wait for it.
	submission(b *traces.Batch, i int, f *model.Fact) (ok bool, err error)
	// serve submits the job of a service until end, in f, or says why it can never run.
	serve(now model.Time, of *model.Allocation, end model.Time, f *model.Fact) model.Reason
	// inspect says whether row i of b could never run.
	inspect(b *traces.Batch, i int) (tooLarge bool, err error)
	// lacking is what the rows so far name and the cluster does not have.
	lacking() []translate.Lack
	// leavers are the jobs that have left at this instant so far.
	leavers() []model.JobRecord
	state() *world.State
	awkward() *translate.SpecialRows
	// Resumes and Warming are of a warm start, see package world. restores are for
	// the jobs that ran then on nodes that are known, and usage tells what others used.
	Resumes(model.Ref) bool
	Warming(bool)
	restores() []model.Proposal
	usage(observe func([]model.Fact))
}

// newStage sets up a core and its world. The fact that a core is asked about is the same memory each time: through
// an interface it would be new each time.
func newStage(p *plan.Resolved, opt Options, users func() []string) (engine, stage) {
	if p.Site == nil {
		core := fork.New(p, nil)
		f := &model.Fact{}
		possible := func(r model.Request) bool {
			f.Request = r
			return core.Unsatisfiable(f) == model.ReasonNone
		}
		return core, plainStage{world.New(p.World, opt.Sink), possible}
	}
	core := fork.New(p, opt.Core)
	cfg := p.Site.World
	cfg.Rows.Users = users
	if h := cfg.Rows.Hardware; h != nil {
		own := *h
		own.Users = users
		cfg.Rows.Hardware = &own
	}
	cfg.History = p.History > 0
	w := world.NewSite(cfg, opt.Sink)
	f := &model.Fact{}
	never := func(a *model.Allocation) model.Reason {
		f.Alloc, f.Constraint = a, &cfg.Site.Constraints[a.Constraint]
		return core.Unsatisfiable(f)
	}
	return core, siteStage{w, never}
}

// explain says of which jobs decisions are asked for.
func (o *Options) explain() func(model.JobID) bool {
	if o.Explain != nil {
		return o.Explain
	}
	return func(model.JobID) bool { return true }
}

// batch is one that asks the source for the columns that the run reads.
func newBatch(p *plan.Resolved) (b traces.Batch) {
	if p.Site != nil {
		b.Attr = &traces.Attributes{}
		if p.Site.World.Rows.Hardware != nil {
			b.Past = &traces.Past{}
		}
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

func (s plainStage) inspect(b *traces.Batch, i int) (bool, error) {
	return s.World.Inspect(b, i, s.possible), nil
}

// serve is never asked: a plain cluster has no services.
func (s plainStage) serve(model.Time, *model.Allocation, model.Time, *model.Fact) model.Reason {
	return model.ReasonTooLarge
}

// restores lists nothing: nodes of a plain cluster are alike, and chosen anew.
func (s plainStage) restores() []model.Proposal { return nil }

// usage tells nothing: a plain cluster has no accounts.
func (s plainStage) usage(func([]model.Fact)) {}

func (s plainStage) lacking() []translate.Lack       { return nil }
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

func (s siteStage) serve(now model.Time, of *model.Allocation, end model.Time, f *model.Fact) model.Reason {
	return s.Site.SubmitService(now, of, end, s.never, f)
}

func (s siteStage) inspect(b *traces.Batch, i int) (bool, error) {
	return s.Site.Inspect(b, i, s.never)
}

func (s siteStage) restores() []model.Proposal       { return s.Site.Restores() }
func (s siteStage) usage(observe func([]model.Fact)) { s.Site.Usage(observe) }

func (s siteStage) lacking() []translate.Lack       { return s.Site.Lacking() }
func (s siteStage) leavers() []model.JobRecord      { return s.Site.Leavers() }
func (s siteStage) state() *world.State             { return &s.Site.State }
func (s siteStage) awkward() *translate.SpecialRows { return &s.Site.Special }
