package world

import (
	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/scheduler/quorum"
	"orrery/sim/des"
	"orrery/sim/world/internal/bill"
	"orrery/sim/world/internal/network"
	"orrery/sim/world/internal/power"
	"orrery/sim/world/internal/storage"
	"orrery/sim/world/work"
)

// base is what the parts of a Site share: the clock and the events ahead, the jobs, the quorum that owns the nodes,
// and what is counted. It knows none of the parts.
type base struct {
	lifecycle
	cfg    SiteConfig
	quorum *quorum.Site
	now    model.Time
	begun  bool // now is an instant of the replay
	ahead  int  // events that are not of jobs
	jobs   model.RefTable[siteJob]
	Meter  Meter
}

// siteJob is a job in the system.
type siteJob struct {
	job
	*attempt // nil while it is on no nodes
	alloc    *model.Allocation
	hw       hwmodel.Job
	release  model.Time // from its hold, AbsentTime when that is not lifted

	kept    model.Duration // work saved by checkpoints, at speed 1
	used    model.Duration // how long that was worked on
	saved   int64          // bytes of the last one
	limit   model.Duration // requested time from the next start on
	outcome model.JobState // with which it ends by itself
	input   int64          // bytes that it has still to stage
	resumes bool           // ran before the replay began, and has not started in it
	endless bool           // its row ended at its walltime and it has not run at the rate of then, see SetSpeed
	unrated bool           // is counted in SiteCounts.Unrated
	bill    *bill.Bill     // of its energy, nil before its first attempt and where nothing has a price
}

// attempt is a run of a job, from when the quorum grants its nodes until it has left them.
type attempt struct {
	holds   holding
	began   model.Time
	opens   model.Time // when its requested time begins
	work    work.Work
	ends    model.Time     // the end that counts, others are overtaken; AbsentTime when it is called off
	endRank des.Rank       // of that end
	ending  model.JobState // with which it ends by itself
	why     model.Reason   // for which it does
	exit    exit           // how it gives its nodes up
	ckpt    checkpointing  // how it saves its work meanwhile
	moves   storage.Transfer
	since   model.Time // when what it holds last changed
	// noPrologue says that it ends when it opens, for its prologue fails on a node.
	noPrologue bool
	network    network.Slower
	draws      power.Load
	pace
}

// onNodes says whether l holds nodes.
func (l *siteJob) onNodes() bool {
	return l.present && (l.rec.State == model.Running || l.rec.State == model.Checkpointing)
}

// push sets an event that is not of a job and is never out of date.
func (b *base) push(e des.Event) {
	b.ahead++
	b.events.Push(e)
}

// dropStale drops the events that are left when no job is in the system and nothing else is ahead: they are out of
// date, and must not prolong the replay.
func (b *base) dropStale() {
	if b.State.Waiting == 0 && b.State.Running == 0 && b.ahead == 0 && b.events.Len() > 0 {
		b.events.Clear()
	}
}

// emit commits a fact that did not come from a proposal.
func (b *base) emit(f *model.Fact) {
	b.quorum.Apply(f)
	b.facts = append(b.facts, *f)
}
