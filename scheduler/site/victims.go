package site

import (
	"math/bits"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
)

// preemptible lists the running jobs of classes below that which might leave, and says whether some
// of them may make room. Lower classes leave first, so that those above are not listed once the job
// fits where all listed leave. alike is what searchOf says: the number of nodes alone decides. The list
// is valid until the next call.
func (p victims) preemptible(ref model.Ref, trigger preempt.Trigger, below int32, without preempt.Trial, alike bool) (list []preempt.Victim, may bool) {
	j := &p.core.jobs[ref]
	c := p.newCandidates(ref, trigger)
	classes := j.kind.heldByClass(p.core.active, p.core.jobs).byClass[:below]
	counted, ok := without.(*countedTrial)
	ok = ok && !p.core.preemptsByQOS && !p.core.caps.Idle.Counts() // which has jobs count as of other classes, and caps have less room with more victims
	switch {
	case alike:
		c.free = counted.usable
		lacks := j.sought() - counted.free
		if lacks > 0 && c.tooMany(classes, lacks) {
			return nil, false
		}
		list = c.untilSure(classes, lacks)
		may = p.qs.policy.Preemption.MayYield(trigger, j.Class, list, lacks)
	case ok:
		list, may = c.untilFits(classes, counted)
	default:
		list, may = p.core.buf.victims[:0], true
		for _, class := range classes {
			for _, h := range class {
				list = c.admit(list, h)
			}
		}
	}
	p.core.buf.victims = list
	return list, may && (alike || p.qs.policy.Preemption.MayYield(trigger, j.Class, list, j.sought()-p.qs.room(j)))
}

// tooMany says whether more than MaxVictims would surely have to leave for a job that lacks so many nodes.
// Those that come early in the order of preference are brought to the front of their class, where the next search
// meets them first.
func (c *candidates) tooMany(classes [][]holder, lacks int32) bool {
	t := c.p.qs.policy.Preemption.TooMany(c.p.now, lacks)
	for _, class := range classes { // which goes before all others in that order
		for _, h := range class {
			if !t.Fair(h.nodes) {
				continue
			}
			if v := c.admitted(h); v != nil && t.Fair(v.Usable) {
				t.Large(v)
			}
		}
		front := 0
		for i, h := range class {
			if t.Fair(h.nodes) { // those of which few are usable do not count
				continue
			}
			v := c.admitted(h)
			if v == nil || t.Found() && !t.Before(v) {
				continue
			}
			if t.Frees(v.Sure) {
				return true
			}
			c.job.kind.held.swap(class, i, front)
			front++
		}
		if t.Found() {
			return false
		}
	}
	return true
}

// untilSure lists candidates, class by class, until these free so many nodes for sure.
func (c *candidates) untilSure(classes [][]holder, lacks int32) []preempt.Victim {
	list, freed := c.p.core.buf.victims[:0], int32(0)
	for _, class := range classes {
		from := len(list)
		for _, h := range class {
			list = c.admit(list, h)
		}
		for i := range list[from:] {
			freed += list[from+i].Sure
		}
		if freed >= lacks && len(list) > 0 {
			break
		}
	}
	return list
}

// untilFits lists candidates, class by class, until the job fits without them; it says whether it does.
func (c *candidates) untilFits(classes [][]holder, without *countedTrial) (list []preempt.Victim, fits bool) {
	list = c.p.core.buf.victims[:0]
	for _, class := range classes {
		from := len(list)
		for _, h := range class {
			list = c.admit(list, h)
		}
		for i := range list[from:] {
			without.Give(&list[from+i])
		}
		if fits = len(list) > from && without.Fits(); fits {
			break
		}
	}
	for i := range list {
		without.Take(&list[i])
	}
	return list, fits
}

// holdersFor lists all running jobs that hold nodes of use to the job under ref, with those that are
// never made to leave. The list is valid until the next call.
func (p victims) holdersFor(ref model.Ref, trigger preempt.Trigger) []preempt.Victim {
	c := p.newCandidates(ref, trigger)
	list := p.core.buf.victims[:0]
	for _, running := range p.core.active {
		if !mayMeet(&p.core.nodeState, c.job.kind, &p.core.jobs[running]) {
			continue
		}
		if v := c.seen(running, p.core.jobs[running].placement.Within(c.usable)); v != nil {
			list = append(list, *v)
		}
	}
	p.core.buf.victims = list
	return list
}

// candidates makes victims of running jobs for one that wants their nodes.
type candidates struct {
	p       *view
	job     *job
	trigger preempt.Trigger
	usable  model.NodeSet
	all     bool          // these are all nodes of its kind
	lent    bool          // others hold nodes of the vCluster
	flying  bool          // something is in flight, so that not all nodes of a job come free with it
	free    model.NodeSet // of these, the nodes that are not in flight
}

func (p victims) newCandidates(ref model.Ref, trigger preempt.Trigger) candidates {
	c := candidates{p: p.view, job: &p.core.jobs[ref], trigger: trigger}
	c.usable, c.all = p.core.usableOf(ref, p.now)
	c.free = c.usable
	c.lent, c.flying = p.core.lent[p.qs.id] > 0, len(p.qs.inFlight)+len(p.core.resizes) > 0
	return c
}

// class is the class that a running job counts with: its own, or just below that of the
// job which wants its nodes where the quality of service of that preempts its own. Where it is
// the other way round, that job does not take by its class what would be taken back from it at
// once. Two that preempt each other go by their classes.
func (c *candidates) class(r *job) int32 {
	if !c.p.core.preemptsByQOS || r.QOS < 0 || c.job.QOS < 0 {
		return r.Class
	}
	takes := slices.Contains(preemptsQOS(c.p.core.site, c.job), r.QOS)
	gives := slices.Contains(preemptsQOS(c.p.core.site, r), c.job.QOS)
	switch {
	case takes && !gives:
		return min(r.Class, c.job.Class-1)
	case gives && !takes && c.trigger == preempt.Priority:
		return max(r.Class, c.job.Class)
	}
	return r.Class
}

// admit appends a running job that holds nodes of the kind to list, if it may be preempted.
func (c *candidates) admit(list []preempt.Victim, h holder) []preempt.Victim {
	if v := c.admitted(h); v != nil {
		return append(list, *v)
	}
	return list
}

// admitted is a running job that holds nodes of the kind, nil if it may not be preempted. It is valid
// until that is asked again of the job.
func (c *candidates) admitted(h holder) *preempt.Victim {
	usable := h.nodes
	if !c.all {
		usable = c.p.core.jobs[h.ref].placement.Within(c.usable)
	}
	v := c.seen(h.ref, usable)
	if v == nil || !c.p.qs.policy.Preemption.Admits(v, c.trigger, c.job.Class) {
		return nil
	}
	return v
}

// seen is a running job as a candidate, nil if it holds nothing of use or is on its way out. It is valid until that
// is asked again of the job.
func (c *candidates) seen(ref model.Ref, usable int32) *preempt.Victim {
	p, r := c.p, &c.p.core.jobs[ref]
	if r.leaving || usable == 0 {
		return nil
	}
	class := c.class(r)
	if c.trigger == preempt.Priority && class >= c.job.Class {
		return nil
	}
	lent := c.lent && r.borrowed && r.VCluster != p.qs.id && r.placement.Within(p.core.home[p.qs.id]) > 0
	if c.trigger == preempt.Reclaim && (!lent || r.Scaled) { // a scaled service gives nodes back and runs on
		return nil
	}
	v := &p.core.victims[r.pos]
	v.Class, v.LastCheckpoint, v.Elapsed = class, r.saved, r.elapsed(p.now)
	v.Usable, v.Sure, v.Borrowed = usable, usable, lent
	if c.flying || len(r.placement.Shares) > 0 {
		v.Sure = c.sure(r)
	}
	v.Burst = p.core.ledger.Bursts(r.Tenant)
	return v
}

// sure counts the nodes of use that come free when r leaves, whichever others do.
func (c *candidates) sure(r *job) (n int32) {
	for _, w := range r.placement.Words {
		n += int32(bits.OnesCount64(w.Mask & c.free[w.Word]))
	}
	for i := range r.placement.Shares {
		if node := r.placement.Shares[i].Node; c.p.core.sharers[node] == 1 && c.free.Has(node) {
			n++
		}
	}
	return n
}

// leastClass is a class that jobs must be above to preempt any job that runs now.
func (p victims) leastClass() int32 {
	if p.core.lent[p.qs.id] > 0 || p.core.preemptsByQOS {
		return -1 // they are reclaimed, or count as of other classes
	}
	return p.core.activeOf.least()
}
