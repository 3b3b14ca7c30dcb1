package site

import (
	"math/bits"

	"orrery/scheduler/model"
	"orrery/scheduler/place"
	"orrery/scheduler/preempt"
	"orrery/scheduler/site/internal/caps"
)

// trialFor is a trial for the blocked job under ref in which no job has left yet, valid
// until the next: one that counts nodes where their number decides.
func trialFor(p *pass, ref model.Ref) preempt.Trial {
	j := &p.core.jobs[ref]
	if !countsNodes(p, j) {
		t := &p.core.buf.detailed
		*t = newTrial(p, ref)
		return t
	}
	t := &p.core.buf.counted
	*t = countedTrial{s: p.core, job: j, usable: t.usable, given: t.given, used: p.core.caps.Used, flying: len(p.qs.inFlight) > 0}
	copy(t.usable, usableNodes(p, ref))
	for _, f := range p.qs.inFlight { // proposed before they knew of this job, and on these nodes in any case
		flying := &p.core.jobs[f].placement
		for _, w := range flying.Words {
			t.usable[w.Word] &^= w.Mask
		}
		for i := range flying.Shares {
			t.usable.Remove(flying.Shares[i].Node)
		}
	}
	for w, m := range p.qs.free.Idle() {
		t.free += int32(bits.OnesCount64(m & t.usable[w]))
	}
	return t
}

// countsNodes says whether the number of nodes decides whether j has room.
func countsNodes(p *pass, j *job) bool {
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
	flying bool          // some nodes are in flight
}

func (t *countedTrial) Give(v *preempt.Victim) {
	r := &t.s.jobs[v.Ref]
	t.used = t.used.Minus(r.needs)
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
	t.used = t.used.Plus(r.needs)
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
	return t.free >= t.job.NodesMin && t.s.caps.Cap.Allows(t.job.needs, t.used)
}

// newTrial is a trial in which no job has left yet, valid until the next.
func newTrial(p *pass, ref model.Ref) trial {
	t := trial{s: p.core, qs: p.qs, ref: ref, now: p.now, free: p.core.buf.trial, used: p.core.caps.Used}
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
}

func (t *trial) Give(v *preempt.Victim) {
	r := &t.s.jobs[v.Ref]
	t.free.Give(&r.placement)
	for _, ref := range t.qs.inFlight { // proposed before it knew of this job
		t.free.Retake(&t.s.jobs[ref].placement)
	}
	t.used = t.used.Minus(r.needs)
}

func (t *trial) Take(v *preempt.Victim) {
	r := &t.s.jobs[v.Ref]
	t.free.Take(&r.placement)
	t.used = t.used.Plus(r.needs)
}

func (t *trial) Fits() bool {
	j := &t.s.jobs[t.ref]
	if !t.s.caps.Cap.Allows(j.needs, t.used) {
		return false
	}
	q := t.qs.query(j, j.NodesMin, t.s.avoids(t.ref, t.now, t.now.Add(j.left)))
	return t.free.Fits(&q)
}
