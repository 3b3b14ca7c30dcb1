package site

import (
	"math/bits"

	"orrery/scheduler/model"
	"orrery/scheduler/place"
	"orrery/scheduler/preempt"
	"orrery/scheduler/site/internal/caps"
)

// victims are the running jobs that may make room.
type victims struct{ *view }

func (v *view) victims() victims { return victims{v} }

// trialFor is a trial for the blocked job under ref in which no job has left yet, valid
// until the next: one that counts nodes where their number decides.
func (p victims) trialFor(ref model.Ref) preempt.Trial {
	j := &p.core.jobs[ref]
	if !p.countsNodes(j) {
		t := &p.core.buf.detailed
		*t = p.newTrial(ref)
		return t
	}
	t := &p.core.buf.counted
	*t = countedTrial{s: p.core, job: j, usable: t.usable, given: t.given, used: p.core.caps.Used, idle: p.core.buf.idleTrial(&p.core.caps.Idle)}
	copy(t.usable, p.core.usableNodes(ref, p.now))
	for _, f := range p.qs.inFlight { // proposed before they knew of this job, and on these nodes in any case
		t.leaveOut(&p.core.jobs[f].placement)
	}
	for x := range p.core.resizes.Of(p.qs.id) {
		if x.Nodes > 0 {
			t.leaveOut(&x.Gained)
		}
	}
	for w, m := range p.qs.free.Idle() {
		t.free += int32(bits.OnesCount64(m & t.usable[w]))
	}
	return t
}

// countsNodes says whether the number of nodes decides whether j has room.
func (p victims) countsNodes(j *job) bool {
	return !j.Divides() && !j.IsSensitive() && !p.qs.mode.conformanceFirst
}

// countedTrial implements preempt.Trial for a blocked job of whole nodes, any of which
// will do.
type countedTrial struct {
	s      *Core
	job    *job
	usable model.NodeSet // nodes that it might start on
	given  []int32       // by node, the jobs with a share of it that were made to leave
	free   int32         // usable nodes that no job holds then
	used   caps.Usage    // without those that were made to leave
	idle   *caps.Idle    // likewise
	flying bool          // some nodes are in flight
}

// leaveOut takes nodes in flight off those that are usable.
func (t *countedTrial) leaveOut(flying *model.Placement) {
	t.flying = true
	for _, w := range flying.Words {
		t.usable[w.Word] &^= w.Mask
	}
	for i := range flying.Shares {
		t.usable.Remove(flying.Shares[i].Node)
	}
}

func (t *countedTrial) Give(v *preempt.Victim) {
	r := &t.s.jobs[v.Ref]
	t.used = t.used.Minus(t.idle.Leave(r.needs, &r.placement))
	if len(r.placement.Shares) == 0 && !t.flying {
		t.free += v.Usable
		return
	}
	for _, w := range r.placement.Words {
		t.free += int32(bits.OnesCount64(w.Mask & t.usable[w.Word]))
	}
	for i := range r.placement.Shares {
		n := r.placement.Shares[i].Node
		if t.given[n]++; t.given[n] == t.s.sharers[n] && t.usable.Has(n) {
			t.free++
		}
	}
}

func (t *countedTrial) Take(v *preempt.Victim) {
	r := &t.s.jobs[v.Ref]
	t.used = t.used.Plus(t.idle.Return(r.needs, &r.placement))
	if len(r.placement.Shares) == 0 && !t.flying {
		t.free -= v.Usable
		return
	}
	for _, w := range r.placement.Words {
		t.free -= int32(bits.OnesCount64(w.Mask & t.usable[w.Word]))
	}
	for i := range r.placement.Shares {
		n := r.placement.Shares[i].Node
		if t.given[n] == t.s.sharers[n] && t.usable.Has(n) {
			t.free--
		}
		t.given[n]--
	}
}

func (t *countedTrial) Fits() bool {
	return t.free >= t.job.sought() && capsAllow(t.s, t.job, t.used)
}

// newTrial is a trial in which no job has left yet, valid until the next.
func (p victims) newTrial(ref model.Ref) trial {
	t := trial{s: p.core, qs: p.qs, ref: ref, now: p.now, free: p.core.buf.trial, used: p.core.caps.Used, idle: p.core.buf.idleTrial(&p.core.caps.Idle)}
	t.free.CopyFrom(p.qs.free)
	return t
}

// trial implements preempt.Trial for the blocked job ref.
type trial struct {
	s    *Core
	qs   *queueState
	ref  model.Ref
	now  model.Time
	free *place.Free // without those that were made to leave so far
	used caps.Usage  // likewise
	idle *caps.Idle  // likewise
}

func (t *trial) Give(v *preempt.Victim) {
	r := &t.s.jobs[v.Ref]
	t.free.Give(&r.placement)
	for _, ref := range t.qs.inFlight { // proposed before it knew of this job
		t.free.Retake(&t.s.jobs[ref].placement)
	}
	for x := range t.s.resizes.Of(t.qs.id) {
		t.free.Retake(&x.Gained)
	}
	t.used = t.used.Minus(t.idle.Leave(r.needs, &r.placement))
}

func (t *trial) Take(v *preempt.Victim) {
	r := &t.s.jobs[v.Ref]
	t.free.Take(&r.placement)
	t.used = t.used.Plus(t.idle.Return(r.needs, &r.placement))
}

func (t *trial) Fits() bool {
	j := &t.s.jobs[t.ref]
	if !capsAllow(t.s, j, t.used) {
		return false
	}
	q := t.qs.query(j, j.sought(), avoidsSought(t.s, t.ref, t.now))
	return t.free.Fits(&q)
}
