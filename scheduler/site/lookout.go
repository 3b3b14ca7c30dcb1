package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/site/internal/wake"
)

// lookout is what tells a vCluster when to look again. A pass sets all of it anew.
type lookout struct {
	look       wake.Look   // what the last pass depended on
	newcomers  []model.Ref // jobs that joined the queue since
	judged     judgement   // what is asked of these
	standing   model.Ref   // the job by which the vCluster keeps its nodes, -1 where it is not known
	lacking    int32       // nodes that a job which may borrow them lacked at least
	confinable confinable  // jobs that would have delayed the first blocked one
	byNodes    bool        // a limit held a job by the nodes that it would get

	accountsAt model.Time  // the accounts may change, which matters
	minScoreAt model.Time  // a job held by min_score may reach it; screen brings it forward
	commonAt   model.Fixed // Common of the terms in the last pass
	tolerance  model.Fixed // nothing changes by that before it has moved by more

	refusals
	ticks
}

// refusals are the quorum's. A vCluster that was refused something makes one more pass at that instant.
type refusals struct {
	again   bool       // since the last pass
	againAt model.Time // when there was one more last
	stuckAt model.Time // when the quorum refused something even so
}

// ticks are those of a cycle.
type ticks struct {
	tick       model.Time // as tickFrom answered last
	tickBefore model.Time // the tick before that
	lastPass   model.Time // or the last tick that needed none
}

func newLookout() lookout {
	return lookout{
		look: wake.NewLook(), standing: -1, accountsAt: model.Never, minScoreAt: model.Never,
		refusals: refusals{againAt: model.AbsentTime, stuckAt: model.AbsentTime}, ticks: ticks{lastPass: model.AbsentTime},
	}
}

// judgement is how it is found out whether a job that joins the queue calls for a pass.
type judgement uint8

const (
	oneByOne judgement = iota // any does
	byLimits                  // unless a limit holds it, as all others
	byRoom                    // unless it has no room, as all others
	byTurn                    // unless it comes after the first blocked job and has no room, or would delay that
)

// finding is what a pass has found out that decides what may change it.
type finding uint8

const (
	unclear    finding = iota // anything may
	allHeld                   // each job is held by a limit, a task group or a mutex: no node was looked at
	noRoom                    // no job has room, whatever their order, and none may preempt others
	inTheirWay                // the first blocked job is known, and no job behind it may start
)
