package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/scheduler/site/internal/caps"
)

// Where a site sheds (model.Site.Sheds), jobs are made to leave while more is reckoned than the cap on
// power: it was lowered, or nodes came up that draw without a job. Starts wait by the same sum, so that a
// job which left does not come back before there is room.

// shed proposes that jobs leave until what the others are reckoned with is within the cap: in the order
// in which jobs are preempted, without those that make no difference. Where all that may leave are not
// enough, all do whose leaving makes the sum less. Cost: nothing while the sum is within the cap, or where
// no fact since the last call can have changed it; else the running jobs, and the nodes of those that may leave.
func shed(s *Core) {
	if !s.site.Sheds || s.caps.Cap.Power == 0 || s.restoring || s.shedAt == s.factSeq {
		return
	}
	s.shedAt = s.factSeq
	t := sheddingOf(s)
	if t.fits() {
		return
	}
	list := s.buf.victims[:0]
	for _, ref := range s.active {
		r := &s.jobs[ref]
		v := &s.victims[r.pos]
		v.Class, v.LastCheckpoint, v.Elapsed = r.Class, r.saved, r.elapsed(s.now)
		v.Usable, v.Burst = r.usage.Nodes, s.ledger.Bursts(r.Tenant)
		if !r.leaving && r.queue.policy.Preemption.Stops(v) {
			list = append(list, *v)
		}
	}
	s.buf.victims = list
	s.buf.selected = preempt.Line(list, s.now, func(v *preempt.Victim) *preempt.Config { return &s.jobs[v.Ref].queue.policy.Preemption }, s.buf.selected)
	for _, i := range t.choose(list, s.buf.selected) {
		t.propose(list[i].Ref)
	}
}

// propose asks the quorum that the job under ref leaves: for its own sake, as it were, since there
// is no other.
func (t *shedding) propose(ref model.Ref) {
	s := t.s
	s.seq++
	j := &s.jobs[ref]
	j.leaving, j.preemptSeq = true, s.seq
	s.plan.Proposals = append(s.plan.Proposals, model.Proposal{
		Kind: model.ProposePreempt, Reason: model.ReasonPower, VCluster: j.VCluster, Seq: s.seq, Job: j.Job, Ref: ref, Victim: ref,
	})
}

// shedding is what is reckoned for jobs that run and are not about to leave.
type shedding struct {
	s    *Core
	used caps.Usage
	idle *caps.Idle
}

// sheddingOf leaves out what is in flight, which the quorum refuses as long as the sum is above the cap.
func sheddingOf(s *Core) shedding {
	t := shedding{s, s.caps.Used, s.buf.idleTrial(&s.caps.Idle)}
	for v := range s.vclusters {
		for _, ref := range s.vclusters[v].inFlight {
			t.leave(ref)
		}
	}
	for i := range s.resizes {
		x := &s.resizes[i]
		more := x.More
		more.Idle = 0
		t.used = t.used.Minus(t.idle.Leave(more, &x.Gained))
	}
	for _, ref := range s.active {
		if s.jobs[ref].leaving {
			t.leave(ref)
		}
	}
	return t
}

func (t *shedding) fits() bool { return t.used.Net() <= t.s.caps.Cap.Power }

func (t *shedding) leave(ref model.Ref) {
	j := &t.s.jobs[ref]
	t.used = t.used.Minus(t.idle.Leave(j.needs, &j.placement))
}

func (t *shedding) stay(ref model.Ref) {
	j := &t.s.jobs[ref]
	t.used = t.used.Plus(t.idle.Return(j.needs, &j.placement))
}

// choose takes from line, of candidates in order, those that are to leave. It overwrites line.
func (t *shedding) choose(candidates []preempt.Victim, line []int) []int {
	taken := 0
	for ; taken < len(line) && !t.fits(); taken++ {
		t.leave(candidates[line[taken]].Ref)
	}
	enough, kept := t.fits(), taken
	for i := taken - 1; i >= 0; i-- {
		ref, before := candidates[line[i]].Ref, t.used.Net()
		t.stay(ref)
		if enough && t.fits() || !enough && t.used.Net() <= before {
			continue
		}
		t.leave(ref)
		kept--
		line[kept] = line[i]
	}
	return line[kept:taken]
}
