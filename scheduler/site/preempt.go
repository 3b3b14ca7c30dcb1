package site

import (
	"cmp"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/preempt"
	"orrery/scheduler/site/internal/reserve"
	"orrery/scheduler/site/internal/waiting"
)

// preemption makes room by preempting running jobs.
type preemption struct{ *pass }

func (p *pass) preemption() preemption { return preemption{p} }

// preemptForBlocked looks for victims for the jobs that have no room when the first
// blocked job has its turn: those of higher classes first, then in the order of the queue,
// each on what those before it left. Jobs for which nodes are held already wait for their
// victims, and those that have room stay behind the blocked one. One for which none could be
// preempted after so many facts is passed over until there are more, for what runs and what
// is free are the same. Passed over as well are jobs that would lack nodes even if all left
// that they may preempt.
func (p preemption) preemptForBlocked() {
	line, tries := p.hunters(), int32(0)
	for len(line) > 0 {
		alike := 1
		for alike < len(line) && line[alike].Tier == line[0].Tier {
			alike++
		}
		if !p.preemptForClass(line[:alike], &tries) {
			p.triesLeft = true
			return
		}
		line = line[alike:]
	}
}

// hunters is the jobs that victims are to be sought for, those of higher classes first. The list is valid until the
// next call.
func (p preemption) hunters() []order.Candidate {
	least := p.victims().leastClass()
	if p.qs.waitingOf.most() <= least {
		return nil
	}
	jobs := p.qs.waiting.Jobs
	line, room := p.core.buf.line[:0], p.victims().newRoomFound()
	for i := range jobs {
		q := &jobs[i]
		if q.Gated || int32(q.Rank) <= least || q.Need > room.most(q) {
			continue
		}
		j := &p.core.jobs[q.Ref]
		if p.failed(j) {
			p.failing = true
			continue
		}
		if p.core.holds.Has(q.Ref) { // it waits for its victims
			continue
		}
		if !room.lacking(q) || p.core.limited(j, &j.usage) != model.ReasonNone {
			continue
		}
		if p.core.graph.Gate(q.Ref) != model.ReasonNone {
			p.scratch.gated = append(p.scratch.gated, q.Ref)
		} else {
			line = append(line, order.Candidate{Tier: int32(q.Rank), Ref: q.Ref, At: int32(i)})
		}
	}
	p.core.buf.line = line
	slices.SortFunc(line, func(a, b order.Candidate) int { //detlint:total no job is in the queue twice
		return cmp.Or(cmp.Compare(b.Tier, a.Tier), cmp.Compare(a.At, b.At))
	})
	return line
}

// mayPreempt says whether victims might be sought for a waiting job.
func (p preemption) mayPreempt(q *waiting.QueueEntry) bool {
	if !p.qs.policy.Preempts || int32(q.Rank) <= p.victims().leastClass() {
		return false
	}
	room := p.victims().newRoomFound()
	return q.Need <= room.most(q)
}

// preemptForClass is preemptForBlocked for jobs of one class; it says whether there was a
// try left for each. Few of them have their turn, so that a heap orders no more than these.
func (p preemption) preemptForClass(line []order.Candidate, tries *int32) bool {
	for i := range line {
		line[i].Tier, line[i].Key = p.ranking().rankTier(line[i].Ref), p.ranking().keyOf(&p.core.jobs[line[i].Ref])
	}
	h := p.ranking().heap(line)
	for h.Init(); len(h.List) > 0; h.Pop() {
		c := h.List[0]
		if p.gate().held(c) != model.ReasonNone {
			continue
		}
		if *tries == p.qs.policy.Preemption.MaxTries {
			return false
		}
		*tries++
		p.preempt(c.Ref)
	}
	return true
}

// startsWanted says whether a pass is to follow at once when one of the proposals is granted.
func (p preemption) startsWanted(proposals []model.Proposal) bool {
	return p.qs.policy.Preempts && p.qs.policy.Cycle == 0 && slices.ContainsFunc(proposals, func(x model.Proposal) bool {
		return x.Kind == model.ProposeAssign && wants(p.qs, &p.core.jobs[x.Ref], p.core.preemptsByQOS)
	})
}

// preempt looks for running jobs whose nodes would make room for the blocked
// one, and proposes that they leave.
func (p preemption) preempt(ref model.Ref) {
	trigger := triggerOf(&p.core.jobs[ref])
	lent := p.core.lent[p.qs.id] > 0
	if lent && (p.services().reclaim(ref, false) || p.proposePreemption(ref, preempt.Reclaim)) || p.proposePreemption(ref, trigger) || lent && p.services().reclaim(ref, true) {
		return
	}
	p.noteFailed(ref)
}

// proposePreemption proposes the victims of one trigger; it says whether there are any.
func (p preemption) proposePreemption(ref model.Ref, trigger preempt.Trigger) bool {
	j := &p.core.jobs[ref]
	cfg, lacks := &p.qs.policy.Preemption, j.sought()-p.qs.room(j)
	below := belowOf(p.core.site, j)
	if trigger == preempt.Reclaim {
		below = model.SensitiveClass
	}
	search, alike := p.memo().searchOf(j, trigger, below)
	if alike && p.memo().searchFailed(search) {
		return false
	}
	if most := j.kind.largestBelow(below, cfg.MaxVictims, max(lacks, 1), p.core.active, p.core.jobs); most == 0 || most < lacks {
		return false
	}
	without := p.victims().trialFor(ref)
	running, may := p.victims().preemptible(ref, trigger, below, without, alike)
	if !may {
		if alike {
			addFew(&p.scratch.refused.searches, search)
		}
		return false
	}
	selected, ok := preempt.Select(cfg, trigger, j.Class, p.now, running, without, p.core.buf.selected)
	if p.core.buf.selected = selected; !ok || len(selected) == 0 {
		if alike && !ok {
			addFew(&p.scratch.refused.searches, search)
		}
		return false
	}
	t := p.victims().newTrial(ref)
	c := p.core.holds.Add(ref, len(p.core.site.Nodes))
	reason := model.ReasonPreempted
	if trigger == preempt.Reclaim {
		reason = model.ReasonReclaimed
	}
	for _, i := range selected {
		v := &running[i]
		t.Give(v)
		p.core.seq++
		c.Victims = append(c.Victims, reserve.Victim{Ref: v.Ref, Seq: p.core.seq})
		p.core.jobs[v.Ref].leaving, p.core.jobs[v.Ref].preemptSeq = true, p.core.seq
		p.core.plan.Proposals = append(p.core.plan.Proposals, model.Proposal{
			Kind: model.ProposePreempt, Reason: reason, VCluster: j.VCluster, Seq: p.core.seq, Job: j.Job, Ref: ref, Victim: v.Ref,
		})
	}
	q := p.qs.query(j, j.sought(), avoidsSought(p.core, ref, p.now))
	if nodes := &p.core.buf.choice.nodes; t.free.Select(&q, nodes) {
		nodes.AddTo(c.Nodes)
	}
	takes(p.core, j) // the nodes kept may be those that others wait for
	return true
}

// failed says whether no victims were found for j, and nothing has happened since that could change that: no fact
// that concerns its vCluster or, where a cap had no room for it, none at all. In that case a cap counts as met in this pass too.
func (p preemption) failed(j *job) bool {
	if !j.capped {
		return j.failedAt == p.core.factsOf(p.qs)+1
	}
	still := j.failedAt == p.core.factSeq+1
	p.core.caps.Met = p.core.caps.Met || still
	return still
}

// noteFailed notes that no victims were found for the job under ref.
func (p preemption) noteFailed(ref model.Ref) {
	j := &p.core.jobs[ref]
	p.failing = true
	j.failedAt, j.capped = p.core.factsOf(p.qs)+1, false
	if !capsAllow(p.core, j, p.core.caps.Used) {
		j.failedAt, j.capped = p.core.factSeq+1, true
	}
}

// dropIdleHolds gives up the holds of jobs of the vCluster that could not start although all
// their victims have left: a limit holds them now.
func (p preemption) dropIdleHolds() {
	for i := 0; i < len(p.core.holds); {
		c := &p.core.holds[i]
		if j := &p.core.jobs[c.Ref]; len(c.Victims) == 0 && j.queue == p.qs && (j.phase == queued || j.phase == running && !j.resizing) {
			p.core.dropHold(c.Ref)
			continue
		}
		i++
	}
}
