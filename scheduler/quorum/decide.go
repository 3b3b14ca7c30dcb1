package quorum

import (
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// Decide checks a proposal, commits it if it holds and returns the fact that
// answers it. Cost: the words and shares named, or held by the job that is to change.
func (s *Site) Decide(p *model.Proposal) model.Fact {
	f := model.Fact{Kind: model.FactRefused, Job: p.Job, Ref: p.Ref, Seq: p.Seq}
	switch p.Kind {
	case model.ProposeAssign:
		s.assign(p, &f, model.FactAssigned)
	case model.ProposeRestore:
		s.assign(p, &f, model.FactRestored)
	case model.ProposePreempt:
		s.preempt(p, &f)
	case model.ProposeRequeue:
		if f.Reason = s.mayChange(p, model.Running); f.Reason == model.ReasonNone {
			f.Kind, f.Reason = model.FactRequeued, p.Reason
			s.vacate(p.Ref, p.Job, model.Failed)
			s.jobs.At(p.Ref).become(model.Pending)
		}
	case model.ProposeCancel:
		if f.Reason = s.mayChange(p, model.Pending); f.Reason == model.ReasonNone {
			f.Kind, f.Reason = model.FactCancelled, p.Reason
			s.withdraw(p.Ref, p.Job)
		}
	case model.ProposeResize:
		s.resize(p, &f)
	}
	return f
}

// mayChange says why the job of p is not in the state that p takes for granted,
// or is not the proposer's to change.
func (s *Site) mayChange(p *model.Proposal, want model.JobState) model.Reason {
	switch {
	case !s.present(p.Ref) || s.jobs.At(p.Ref).Job != p.Job || s.jobs.At(p.Ref).state != want:
		if want == model.Pending {
			return model.ReasonNotPending
		}
		return model.ReasonNotRunning
	case s.jobs.At(p.Ref).VCluster != p.VCluster:
		return model.ReasonNotOwned
	}
	return model.ReasonNone
}

func (s *Site) assign(p *model.Proposal, f *model.Fact, granted model.FactKind) {
	f.Reason = s.mayChange(p, model.Pending)
	if f.Reason == model.ReasonNone && s.jobs.At(p.Ref).onHold {
		f.Reason = model.ReasonHeld
	}
	if f.Reason != model.ReasonNone {
		return
	}
	var a demand
	if f.Reason = s.check(p, &a); f.Reason == model.ReasonNone {
		s.jobs.At(p.Ref).become(model.Running)
		s.grant(p, f, granted, a)
	}
}

// grant adds the placement of p and completes the answer.
func (s *Site) grant(p *model.Proposal, f *model.Fact, kind model.FactKind, a demand) {
	j := s.jobs.At(p.Ref)
	if j.holding == s.none {
		j.holding = s.spare.Take()
	}
	s.memory.Set(&j.held, &p.Placement)
	j.demand = a
	s.hold(p.Ref)
	f.Kind, f.Placement = kind, &j.held
}

// resize checks a placement as if the job held nothing, except that nodes which
// it holds need not be Ready, and that limits do not bind it where it asks for
// no more than it has.
func (s *Site) resize(p *model.Proposal, f *model.Fact) {
	if f.Reason = s.mayChange(p, model.Running); f.Reason != model.ReasonNone {
		return
	}
	j := s.jobs.At(p.Ref)
	s.release(p.Ref)
	s.keep(&j.held, true)
	var a demand
	f.Reason = s.check(p, &a)
	s.keep(&j.held, false)
	if f.Reason != model.ReasonNone {
		s.hold(p.Ref)
		return
	}
	s.grant(p, f, model.FactResized, a)
	f.Reason = p.Reason
}

// keep marks the nodes of p in s.kept, or unmarks them.
func (s *Site) keep(p *model.Placement, mark bool) {
	for _, w := range p.Words {
		s.kept[w.Word] |= w.Mask
		if !mark {
			s.kept[w.Word] = 0
		}
	}
	for _, h := range p.Shares {
		if s.kept.Add(h.Node); !mark {
			s.kept.Remove(h.Node)
		}
	}
}

func (s *Site) preempt(p *model.Proposal, f *model.Fact) {
	if p.Reason == model.ReasonPower {
		s.shed(p, f)
		return
	}
	want := model.Pending
	if s.present(p.Ref) && s.jobs.At(p.Ref).Scaled && s.jobs.At(p.Ref).state == model.Running {
		want = model.Running // it is to grow
	}
	if f.Reason = s.mayChange(p, want); f.Reason != model.ReasonNone {
		return
	}
	if !s.present(p.Victim) || s.jobs.At(p.Victim).state != model.Running {
		f.Reason = model.ReasonVictimGone
		return
	}
	cause, victim := s.jobs.At(p.Ref), s.jobs.At(p.Victim)
	home, common := s.within(victim, p.VCluster)
	reclaims := home > 0 && victim.VCluster != p.VCluster
	switch {
	case victim.VCluster != p.VCluster && home+common == 0:
		f.Reason = model.ReasonNotOwned
	case !victim.Preemptible() || !(reclaims || victim.Class < cause.Class || s.outranks(cause, victim)):
		f.Reason = model.ReasonNotPreemptible
	default:
		victim.become(model.Checkpointing)
		*f = model.Fact{Kind: model.FactPreempted, Reason: p.Reason, Job: victim.Job, Ref: p.Victim, Seq: p.Seq}
		if f.Reason == model.ReasonNone {
			f.Reason = model.ReasonPreempted
			if reclaims {
				f.Reason = model.ReasonReclaimed
			}
		}
	}
}

// shed makes a running job leave since more power is reckoned than the cap allows.
func (s *Site) shed(p *model.Proposal, f *model.Fact) {
	if f.Reason = s.mayChange(p, model.Running); f.Reason != model.ReasonNone {
		return
	}
	j := s.jobs.At(p.Ref)
	if p.Victim != p.Ref || !s.site.Sheds || !j.Preemptible() || !s.power.over(s.idle.watts) {
		f.Reason = model.ReasonNotPreemptible
		return
	}
	j.become(model.Checkpointing)
	f.Kind, f.Reason = model.FactPreempted, model.ReasonPower
}

// over says whether more is used, with what is used beside jobs, than there is.
func (h share) over(beside int64) bool { return h.limit > 0 && h.used+beside > h.limit }

// within counts the nodes of j that are at home in v, and those that are at
// home nowhere.
func (s *Site) within(j *jobState, v model.VClusterID) (home, common int32) {
	count := func(at model.VClusterID, n int) {
		switch at {
		case -1:
			common += int32(n)
		case v:
			home += int32(n)
		}
	}
	for _, w := range j.held.Words {
		for _, c := range s.classes.Word(w.Word) {
			count(s.classes.Of[c.Part].Home, bits.OnesCount64(c.Mask&w.Mask))
		}
	}
	for _, h := range j.held.Shares {
		count(s.site.Nodes[h.Node].Home, 1)
	}
	return home, common
}

// outranks says whether the quality of service of a preempts that of b.
func (s *Site) outranks(a, b *jobState) bool {
	return a.IsSensitive() || (a.QOS >= 0 && b.QOS >= 0 && slices.Contains(s.site.QOS[a.QOS].PreemptsQOS, b.QOS))
}

// check says why the placement of p is refused to its job, which holds nothing,
// and works out what it takes.
func (s *Site) check(p *model.Proposal, a *demand) model.Reason {
	j := s.jobs.At(p.Ref)
	clear(s.need)
	own, borrowed, why := s.checkWords(j, p)
	if why != model.ReasonNone {
		return why
	}
	parts, why := s.checkShares(j, p)
	if why != model.ReasonNone {
		return why
	}
	a.nodes, a.borrowed = own+borrowed+int32(len(p.Placement.Shares)), borrowed
	own += parts
	switch {
	case a.nodes < 1 || a.nodes < j.NodesMin || a.nodes > j.NodesMax || !j.Holds(&p.Placement):
		return model.ReasonBadPlacement
	case j.Kind == model.Reactive && own < j.NodesMin:
		return model.ReasonNotOwned // its least size must not depend on lenders
	case j.IsSensitive() && !s.conform(&p.Placement):
		return model.ReasonConformance
	}
	a.milli = s.classes.Thousandths(&p.Placement, a.nodes)
	a.power, a.bandwidth = s.classes.DrawOn(j.Allocation, &p.Placement, a.nodes), j.Demand(a.nodes)
	return s.checkLimits(j, &p.Placement, a)
}

// checkLimits says which limit a exceeds. What the job has already, when it is
// resized, it may keep under limits that were lowered since.
func (s *Site) checkLimits(j *jobState, p *model.Placement, a *demand) model.Reason {
	for v := range s.need {
		if s.need[v] > 0 && s.lent[v]+s.need[v] > s.site.VClusters[v].Lendable(s.homes[v]) {
			return model.ReasonLendLimit
		}
	}
	if j.Tenant >= 0 {
		t := &s.tenants[j.Tenant]
		if l := t.limits.MaxNodes; l > 0 && t.beyond(j, p, a.nodes, l) {
			return model.ReasonQuotaNodes
		}
		if l := t.limits.MaxGPUs; l > 0 && a.milli > j.demand.milli && t.milli+a.milli > model.WholeGPU*int64(l) {
			return model.ReasonQuotaGPUs
		}
		if l := t.limits.MaxConcurrent; l > 0 && j.demand.nodes == 0 && t.jobs >= l {
			return model.ReasonQuotaConcurrent
		}
	}
	switch {
	case s.power.exceeded(a.power, j.demand.power, s.idle.without(p)):
		return model.ReasonPower
	case s.bandwidth.exceeded(a.bandwidth, j.demand.bandwidth, 0):
		return model.ReasonBandwidth
	case j.IsSensitive() && s.pool > 0 && a.nodes > j.demand.nodes && s.sensitive+a.nodes > s.pool:
		return model.ReasonSensitivePool
	}
	return model.ReasonNone
}

// exceeded says whether request, where before was held, is too much beside what is used and beside
// that jobs do not use.
func (h share) exceeded(request, before, beside int64) bool {
	return h.limit > 0 && request > before && h.used+beside+request > h.limit
}

// checkWords says what is wrong with the whole nodes of p, and how many of them
// are not borrowed and how many are.
func (s *Site) checkWords(j *jobState, p *model.Proposal) (own, borrowed int32, why model.Reason) {
	words, last := p.Placement.Words, int32(-1)
	if len(words) == 0 {
		return 0, 0, model.ReasonNone
	}
	// Nodes are counted in a loop of their own: in this one there are words to be kept at hand.
	// All sets are as long as busy, and said to be so that the compiler knows.
	busy, foreign, divides := s.busy, s.foreignNodes(j.VCluster), j.Divides()
	ready, foreign := s.ready[:len(busy)], foreign[:len(busy)]
	for _, w := range words {
		i := int(w.Word)
		if uint(i) >= uint(len(busy)) {
			return 0, 0, s.objection(j, w, last, 0)
		}
		bad, guest := w.Mask&(busy[i]|^ready[i]), w.Mask&foreign[i]
		if bad != 0 {
			bad &= busy[i] | ^s.kept[i] // no node beyond the last is Ready or kept
		}
		if guest != 0 {
			borrowed += int32(bits.OnesCount64(guest))
			bad |= s.borrow(j, p, w.Word, guest)
		}
		if bad != 0 || w.Word <= last || w.Mask == 0 || divides {
			return 0, 0, s.objection(j, w, last, bad)
		}
		last = w.Word
	}
	whole := model.Placement{Words: words}
	return whole.Nodes() - borrowed, borrowed, model.ReasonNone
}

// borrow asks the lenders of word w for nodes of theirs, and returns the ones that the
// job of p may not have.
func (s *Site) borrow(j *jobState, p *model.Proposal, w int32, guest uint64) (bad uint64) {
	for _, c := range s.classes.Word(w) {
		home, m := s.classes.Of[c.Part].Home, c.Mask&guest
		switch {
		case m == 0:
		case !s.mayBorrow(j, p, home):
			bad |= m
		default:
			s.need[home] += int32(bits.OnesCount64(m &^ s.guests[w]))
		}
	}
	return bad
}

// objection says why j may not have the nodes of w in a placement of which last is the
// word before, given that it may not; bad are those of them that others keep it from.
func (s *Site) objection(j *jobState, w model.NodeWord, last int32, bad uint64) model.Reason {
	bit := bad & -bad
	switch {
	case w.Word < 0 || int(w.Word)<<6+bits.Len64(w.Mask) > len(s.nodes):
		return model.ReasonUnknownNode
	case w.Word <= last || w.Mask == 0 || j.Divides():
		return model.ReasonBadPlacement
	case s.busy[w.Word]&bit != 0:
		return model.ReasonNodesTaken
	case (s.ready[w.Word]|s.kept[w.Word])&bit == 0:
		return model.ReasonNodeNotReady
	}
	return model.ReasonNotOwned
}

// checkShares says what is wrong with the parts of nodes of p, and on how many
// nodes they are not borrowed.
func (s *Site) checkShares(j *jobState, p *model.Proposal) (own int32, why model.Reason) {
	last := model.NodeID(-1)
	for i := range p.Placement.Shares {
		h := &p.Placement.Shares[i]
		if h.Node < 0 || int(h.Node) >= len(s.nodes) {
			return 0, model.ReasonUnknownNode
		}
		switch {
		case h.Node <= last || s.shapeless(j, h):
			return 0, model.ReasonBadPlacement
		case s.heldWhole(h.Node) || !s.roomFor(h):
			return 0, model.ReasonNodesTaken
		}
		last = h.Node
		if why = s.checkNode(j, p, h.Node, &own); why != model.ReasonNone {
			return 0, why
		}
	}
	return own, model.ReasonNone
}

// checkNode says why j may not share node n although there is room, counts it
// in own when it is not borrowed, and in s.need when it is and no other job borrows
// it.
func (s *Site) checkNode(j *jobState, p *model.Proposal, n model.NodeID, own *int32) model.Reason {
	home := s.site.Nodes[n].Home
	switch {
	case !s.ready.Has(n) && !s.kept.Has(n):
		return model.ReasonNodeNotReady
	case !foreign(j, home):
		*own++
	case !s.mayBorrow(j, p, home):
		return model.ReasonNotOwned
	case !s.guests.Has(n):
		s.need[home]++
	}
	return model.ReasonNone
}

// mayBorrow says whether j may have nodes of home, another vCluster, by p.
func (s *Site) mayBorrow(j *jobState, p *model.Proposal, home model.VClusterID) bool {
	return p.Borrowed && j.VCluster >= 0 && s.site.VClusters[j.VCluster].Borrow && s.site.VClusters[home].Lend && j.Preemptible()
}

// conform says whether all nodes of p are of one conformance group.
func (s *Site) conform(p *model.Placement) bool {
	print := int32(-1)
	same := func(f int32) bool {
		if print < 0 {
			print = f
		}
		return f >= 0 && f == print
	}
	for _, w := range p.Words {
		for _, c := range s.prints.Word(w.Word) {
			if c.Mask&w.Mask != 0 && !same(c.Part) {
				return false
			}
		}
	}
	for _, h := range p.Shares {
		if !same(s.site.Nodes[h.Node].Fingerprint) {
			return false
		}
	}
	return true
}
