package site

import (
	"math"
	"slices"

	"orrery/scheduler/model"
)

// Most of what happens on a site makes no difference to a given vCluster: a job of another starts or ends on nodes
// that its own jobs may not use. A vCluster on a cycle makes no pass for that, unless what all share decides: a limit of a
// tenant or a QOS, a cap, a task group or a mutex, or the nodes that others lend. What its last pass found out tells which
// of these matter.

// isElsewhere says whether what happens to a job concerns other vClusters than qs: the job is of another, and holds none of
// its nodes. In event mode everything is a change, and explanations follow everything.
func isElsewhere(s *Core, qs *queueState, j *job) bool {
	return qs.policy.Cycle > 0 && s.cfg.Explain == nil && !concerns(&s.nodeState, qs, j)
}

// concerns says whether a job is of the vCluster, or may hold nodes that jobs of the vCluster may start on without borrowing.
func concerns(s *nodeState, qs *queueState, j *job) bool {
	return qs == j.queue || s.unhomed || j.borrowed && j.placement.Within(s.home[qs.id]) > 0
}

// factConcerns says whether a fact concerns a vCluster: one about a job of another does where that holds, or is to hold,
// nodes of it, or where nodes have no home. A refusal may be about two jobs, and concerns all.
func factConcerns(s *Core, qs *queueState, f *model.Fact) bool {
	switch f.Kind {
	case model.FactCancelled, model.FactEnded, model.FactAssigned, model.FactRestored, model.FactPreempted, model.FactSuspended, model.FactRequeued, model.FactResized, model.FactDemand, model.FactReleased:
		return concerns(&s.nodeState, qs, &s.jobs[f.Ref]) || f.Placement != nil && f.Placement.Within(s.home[qs.id]) > 0
	}
	return true
}

// countFact counts a fact that may let a preemption succeed that failed before, in the vClusters that it concerns.
// A try that failed is made again then, and time alone may let it succeed.
func countFact(s *Core, f *model.Fact) {
	s.factSeq++
	for i := range s.vclusters {
		qs := &s.vclusters[i]
		if !factConcerns(s, qs, f) {
			qs.elsewhere = qs.elsewhere || !qs.conclusive
			continue
		}
		if qs.factSeq++; qs.policy.Preempts {
			qs.quietUntil = min(qs.quietUntil, s.now)
		}
	}
}

// failed says whether no victims were found for j, and nothing has happened since that could change that: no fact
// that concerns its vCluster or, where a cap had no room for it, none at all. In that case a cap counts as met in this pass too.
func failed(p *pass, j *job) bool {
	if !j.capped {
		return j.failedAt == p.qs.factSeq+1
	}
	still := j.failedAt == p.core.factSeq+1
	p.core.caps.Met = p.core.caps.Met || still
	return still
}

// noteFailed notes that no victims were found for the job under ref.
func noteFailed(p *pass, ref model.Ref) {
	j := &p.core.jobs[ref]
	j.failedAt, j.capped = p.qs.factSeq+1, false
	if !capsAllow(p.core, j, p.core.caps.Used) {
		j.failedAt, j.capped = p.core.factSeq+1, true
	}
}

// markDirty makes every vCluster look at its queue again: j gives something back. A job that was on nodes has them still; nodes
// kept for one that waits are at home in its vCluster, or in none.
func markDirty(s *Core, j *job) {
	for i := range s.vclusters {
		if qs := &s.vclusters[i]; isElsewhere(s, qs, j) && !qs.met.concern(j) {
			qs.elsewhere = qs.elsewhere || !gainsNothing(qs)
		} else {
			qs.dirty = true
		}
	}
}

// invalidateBounds ends what every vCluster knows of how long nothing can change: j takes something.
func invalidateBounds(s *Core, j *job) {
	for i := range s.vclusters {
		if qs := &s.vclusters[i]; qs == j.queue && qs.full {
			continue // what it takes was counted when it was proposed
		} else if isElsewhere(s, qs, j) && !qs.delaying.confinedBy(s, j) {
			qs.elsewhere = qs.elsewhere || !gainsNothing(qs) || !losesNothing(s, qs, j)
		} else {
			qs.quietUntil, qs.heldBack.by = min(qs.quietUntil, s.now), -1
		}
	}
}

// lendsOtherwise calls f with the vClusters for which it is a change that qs lends what it did not, or the other way
// round. Those on a cycle find out when they look.
func lendsOtherwise(s *Core, qs *queueState, f func(*queueState)) {
	for i := range s.vclusters {
		switch other := &s.vclusters[i]; {
		case other == qs:
		case other.policy.Cycle > 0 && s.cfg.Explain == nil && len(s.promises.list) == 0:
			other.elsewhere = other.elsewhere || !gainsNothing(other)
		default:
			f(other)
		}
	}
}

// gainsNothing says whether nothing that others give back can change what the last pass of a vCluster found out, but for the
// limits that it met.
func gainsNothing(qs *queueState) bool {
	return qs.conclusive && qs.lacking == math.MaxInt32 && qs.waiting.Gated() == 0
}

// losesNothing says whether the first blocked job of a vCluster surely remains that, and its services lack nodes as before,
// although j has taken something elsewhere. It errs on the side of no, see unaffected.
func losesNothing(s *Core, qs *queueState, j *job) bool {
	if qs.underProvisioned {
		return false
	}
	if !qs.blocked {
		return true
	}
	b := &s.jobs[qs.reservation.Ref]
	return b.Tenant != j.Tenant && (b.QOS != j.QOS || !s.ledger.LimitsQOS(b.QOS)) && b.Kind != model.Session && !b.IsSensitive() && isOpen(s, qs.reservation.Ref)
}

// isOpen says whether neither a cap nor a task group nor a mutex would keep a job from starting now.
func isOpen(s *Core, ref model.Ref) bool {
	return s.caps.Cap.Allows(s.jobs[ref].needs, s.caps.Used) && s.graph.Gate(ref) == model.ReasonNone
}

// concludes says whether the pass, which is over, has found out all that matters until something happens that
// concerns the vCluster, see unaffected: which job is blocked first, and that no job starts, whatever their order. Not so
// where a cap had no room, or where it matters what others are promised or keep.
func concludes(p *pass) bool {
	qs, s := p.qs, p.core
	switch {
	case len(s.vclusters) == 1:
		return false // no others are to be told apart
	case qs.policy.Cycle == 0 || !p.fast || p.triesLeft || qs.quietUntil <= p.now || s.caps.Met:
		return false
	case qs.blocked && qs.reservation.Ref >= 0 && !s.caps.Cap.Allows(s.jobs[qs.reservation.Ref].needs, s.caps.Used):
		return false // when it has room depends on what others draw
	case p.heeding || len(s.promises.list) > 0 || qs.needLent > 0 || len(s.site.Reservations) > 0 || s.holds.concern(s, qs):
		return false
	case slices.ContainsFunc(qs.services, func(ref model.Ref) bool {
		return s.jobs[ref].Scaled && s.jobs[ref].usage.Nodes < s.jobs[ref].wants()
	}):
		return false // it may borrow
	}
	if qs.lacking = qs.waiting.LeastLacking(); s.site.Amounts || qs.mode.conformanceFirst {
		qs.lacking = 1 // it matters which nodes are free, and not their number alone
	}
	return qs.lacking > p.borrowable
}

// unaffected says whether the last pass would find out the same now, although something happened that concerns
// other vClusters. What limits it met has been looked at by then, see markDirty.
func unaffected(p *pass) bool {
	qs, s := p.qs, p.core
	switch {
	case !qs.conclusive || qs.lacking < math.MaxInt32 && qs.lacking <= p.lendable() || qs.reopened != s.graph.Reopened() && qs.waiting.Gated() > 0:
		return false
	case len(qs.services) > 0 && qs.underProvisioned != p.lacksNodes():
		return false
	case !qs.blocked:
		return true
	}
	// Where a limit holds the first blocked job now, another is.
	ref := qs.reservation.Ref
	j := &s.jobs[ref]
	return s.limited(j, &j.usage) == model.ReasonNone && isOpen(s, ref)
}

// limits names some, by whom they are for.
type limits struct {
	tenants []model.TenantID
	qos     []model.QOSID
	others  bool // or too many to tell
}

func (l *limits) reset() { l.tenants, l.qos, l.others = l.tenants[:0], l.qos[:0], false }

// add takes in a limit that keeps j from starting.
func (l *limits) add(j *job, r model.Reason) {
	switch r {
	case model.ReasonQuotaNodes, model.ReasonQuotaGPUs, model.ReasonQuotaConcurrent:
		l.others = !addOnce(&l.tenants, j.Tenant) || l.others
	case model.ReasonQOSLimit:
		l.others = !addOnce(&l.qos, j.QOS) || l.others
	default:
		l.others = true
	}
}

// addOnce adds x to a list where it is not there yet; it says whether it is there then, for a list stays short.
func addOnce[T comparable](list *[]T, x T) bool {
	const most = 16
	if slices.Contains(*list, x) {
		return true
	}
	if len(*list) == most {
		return false
	}
	*list = append(*list, x)
	return true
}

// concern says whether j may count against one of these limits.
func (l *limits) concern(j *job) bool {
	return l.others || slices.Contains(l.tenants, j.Tenant) || slices.Contains(l.qos, j.QOS)
}

// delaying is the jobs that take shares of nodes and would have delayed the blocked one in the last pass of a vCluster.
type delaying struct {
	of    limits
	nodes int32 // none asks for more
}

func (d *delaying) reset() {
	d.of.reset()
	d.nodes = 0
}

func (d *delaying) add(j *job) {
	if j.usage.Divides {
		d.of.others = !addOnce(&d.of.tenants, j.Tenant) || !addOnce(&d.of.qos, j.QOS) || d.of.others
		d.nodes = max(d.nodes, j.usage.Nodes)
	}
}

// confinedBy says whether one of them may be confined to nodes with shares that its limits count already since j has
// taken something. It may not delay the blocked job there.
func (d *delaying) confinedBy(s *Core, j *job) bool {
	return d.of.concern(j) && s.ledger.MayConfine(j.Tenant, j.QOS, d.nodes)
}
