package sim

import (
	"orrery/scheduler"
	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/sim/world"
	"orrery/traces"
)

// engine is the scheduler core as a run sees it.
type engine interface {
	drive.Scheduler
	Work() scheduler.Work
	// Least is the smallest number of units that a waiting job could start on, 0
	// when nobody waits.
	Least() int32
}

// stage is the simulated world as a run sees it.
type stage interface {
	drive.Quorum
	drive.NodeAgents
	Next() model.Time
	Take(model.Time) []model.Fact
	Close()
	Abandon(model.Time) int64
	Held(model.Ref) *model.Placement
	// submission turns row i of b into a fact; ok is false when the row is
	// dropped or rejected.
	submission(b *traces.Batch, i int) (f model.Fact, ok bool, err error)
	state() *world.State
	awkward() *world.Awkward
}

// plainStage is the world of a machine of equal processors.
type plainStage struct {
	*world.World
	possible func(model.Request) bool
}

func (s plainStage) submission(b *traces.Batch, i int) (model.Fact, bool, error) {
	f, ok := s.World.Submission(b, i, s.possible)
	return f, ok, nil
}

func (s plainStage) state() *world.State     { return &s.World.State }
func (s plainStage) awkward() *world.Awkward { return &s.World.Awkward }

// siteStage is the world of a site.
type siteStage struct {
	*world.Site
	never func(*model.Allocation) model.Reason
}

func (s siteStage) submission(b *traces.Batch, i int) (model.Fact, bool, error) {
	return s.Site.Submission(b, i, s.never)
}

func (s siteStage) state() *world.State     { return &s.Site.State.State }
func (s siteStage) awkward() *world.Awkward { return &s.Site.Awkward }
