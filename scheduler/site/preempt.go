package site

import (
	"cmp"
	"math"
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/place"
	"orrery/scheduler/preempt"
	"orrery/scheduler/site/internal/caps"
)

// preemptForBlocked looks for victims for the jobs that have no room when the first
// blocked job has its turn: those of higher classes first, then in the order of the queue,
// each on what those before it left. Jobs for which nodes are held already wait for their
// victims, and those that have room stay behind the blocked one. One for which none could be
// preempted after so many facts is passed over until there are more, for what runs and what
// is free are the same. Passed over as well are jobs that would lack nodes even if all left
// that they may preempt.
func (p *pass) preemptForBlocked() {
	least := p.leastClass()
	explained := p.core.cfg.Explain != nil
	if p.qs.waitingOf.most() <= least && !explained {
		return
	}
	line := p.core.buf.line[:0]
	for i := range p.qs.waiting.Jobs {
		ref := p.qs.waiting.Jobs[i].Ref
		j := &p.core.jobs[ref]
		switch {
		case rankClass(j) <= least || !mayMakeRoom(p.core, j):
			if explained {
				p.notePassedOver(ref)
			}
		case p.core.holds.has(ref) || j.failedAt == p.core.factSeq+1: // it waits for victims, or there are none
		case p.core.limited(j, &j.usage) == model.ReasonNone && p.core.graph.Gate(ref) == model.ReasonNone &&
			p.choose(ref, &p.core.buf.choice) != model.ReasonNone:
			line = append(line, order.Candidate{Tier: rankClass(j), Ref: ref, At: int32(i)})
		}
	}
	p.core.buf.line = line
	slices.SortFunc(line, func(a, b order.Candidate) int { //detlint:total no job is in the queue twice
		return cmp.Or(cmp.Compare(b.Tier, a.Tier), cmp.Compare(a.At, b.At))
	})
	tries := int32(0)
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

// preemptForClass is preemptForBlocked for jobs of one class; it says whether there was a
// try left for each. Few of them have their turn, so that a heap orders no more than these.
func (p *pass) preemptForClass(line []order.Candidate, tries *int32) bool {
	for i := range line {
		line[i].Tier, line[i].Key = p.rankTier(line[i].Ref), p.keyOf(&p.core.jobs[line[i].Ref])
	}
	h := p.heap(line)
	for h.Init(); len(h.List) > 0; h.Pop() {
		c := h.List[0]
		if p.held(c) != model.ReasonNone {
			continue
		}
		if *tries == p.qs.policy.Preemption.MaxTries {
			p.noteNoVictims(c.Ref, scheduler.VictimsUntried)
			return false
		}
		*tries++
		p.preempt(c.Ref)
	}
	return true
}

// rankClass is the class that a job preempts by.
func rankClass(j *job) int32 {
	if j.IsSensitive() {
		return max(j.Class, model.SensitiveClass)
	}
	return j.Class
}

// triggerOf is what j preempts others by, where it does not reclaim nodes.
func triggerOf(j *job) preempt.Trigger {
	if j.IsSensitive() {
		return preempt.Sensitive
	}
	return preempt.Priority
}

// leastClass is a class that jobs must be above to preempt any job that runs now.
func (p *pass) leastClass() int32 {
	if p.core.lent[p.qs.id] > 0 || slices.ContainsFunc(p.core.site.QOS, func(q model.QOS) bool { return len(q.PreemptsQOS) > 0 }) {
		return -1 // they are reclaimed, or count as of other classes
	}
	return p.core.activeOf.least()
}

// byClass counts jobs by class.
type byClass [model.SensitiveClass + 1]int32

func (b *byClass) add(class, sign int32) { b[max(0, min(class, model.SensitiveClass))] += sign }

// least is the lowest class of which there are jobs, math.MaxInt32 without any.
func (b *byClass) least() int32 {
	for c, n := range b {
		if n > 0 {
			return int32(c)
		}
	}
	return math.MaxInt32
}

// most is the highest class of which there are jobs, -1 without any.
func (b *byClass) most() int32 {
	for c := int32(model.SensitiveClass); c >= 0; c-- {
		if b[c] > 0 {
			return c
		}
	}
	return -1
}

// preempt looks for running jobs whose nodes would make room for the blocked
// one, and proposes that they leave.
func (p *pass) preempt(ref model.Ref) {
	j := &p.core.jobs[ref]
	trigger := triggerOf(j)
	lent := p.core.lent[p.qs.id] > 0
	if lent && (reclaim(p, ref, false) || p.proposePreemption(ref, preempt.Reclaim)) || p.proposePreemption(ref, trigger) || lent && reclaim(p, ref, true) {
		j.note.UpdateVictims(scheduler.VictimsFound)
	} else {
		j.failedAt = p.core.factSeq + 1
		p.noteShortfall(ref, trigger)
	}
}

// mayMakeRoom says whether j would have as many nodes as it needs if all running jobs left
// that may be preempted and are of lower classes, or of any where j reclaims nodes or its
// quality of service preempts others. It errs on the side of yes: it heeds neither which
// nodes are kept for others, nor that a node counts for each job that shares it.
func mayMakeRoom(s *Core, j *job) bool {
	below := rankClass(j)
	if s.lent[j.queue.id] > 0 || len(preemptsQOS(s.site, j)) > 0 {
		below = model.SensitiveClass
	}
	lacks := j.NodesMin - j.kind.heldBelow(below, s.active, s.jobs)
	return lacks <= 0 || j.queue.room(j) >= lacks
}

// room counts the nodes that are free for j, or for what it takes of each.
func (qs *queueState) room(j *job) int32 {
	if j.Divides() {
		return qs.free.CountShares(j.kind.class, place.ShareOf(&j.Allocation))
	}
	return qs.free.Count(j.kind.class)
}

// proposePreemption proposes the victims of one trigger; it says whether there are any.
func (p *pass) proposePreemption(ref model.Ref, trigger preempt.Trigger) bool {
	j := &p.core.jobs[ref]
	running := p.preemptible(ref, trigger)
	cfg := &p.qs.policy.Preemption
	if !cfg.MayYield(trigger, j.Class, running, j.NodesMin-p.qs.room(j)) {
		return false
	}
	t := newTrial(p, ref)
	selected, ok := preempt.Select(cfg, trigger, j.Class, p.now, running, &t, p.core.buf.selected)
	if p.core.buf.selected = selected; !ok || len(selected) == 0 {
		return false
	}
	c := hold{ref: ref, nodes: model.NewNodeSet(len(p.core.site.Nodes))}
	reason := model.ReasonPreempted
	if trigger == preempt.Reclaim {
		reason = model.ReasonReclaimed
	}
	for _, i := range selected {
		v := &running[i]
		t.Give(v)
		p.core.seq++
		c.victims = append(c.victims, victim{v.Ref, p.core.seq})
		p.core.jobs[v.Ref].leaving, p.core.jobs[v.Ref].preemptSeq = true, p.core.seq
		p.core.plan.Proposals = append(p.core.plan.Proposals, model.Proposal{
			Kind: model.ProposePreempt, Reason: reason, VCluster: j.VCluster, Seq: p.core.seq, Job: j.Job, Ref: ref, Victim: v.Ref,
		})
	}
	q := p.qs.query(j, j.NodesMin, p.core.avoids(ref, p.now, p.now.Add(j.left)))
	if nodes := &p.core.buf.choice.nodes; t.free.Select(&q, nodes) {
		for _, w := range nodes.Words {
			c.nodes[w.Word] |= w.Mask
		}
		for _, h := range nodes.Shares {
			c.nodes.Add(h.Node)
		}
	}
	p.core.holds = append(p.core.holds, c)
	p.core.vclusters.invalidateBounds(p.now) // the nodes kept may be those that others wait for
	return true
}

// classAgainst is the class that r counts with when j wants its nodes: its own, or just
// below that of j where the quality of service of j preempts that of r.
func (s *nodeState) classAgainst(j, r *job) int32 {
	if r.QOS >= 0 && slices.Contains(preemptsQOS(s.site, j), r.QOS) {
		return min(r.Class, j.Class-1)
	}
	return r.Class
}

// countHeld adds the nodes of a running job to those of the kinds that were asked for
// them (sign 1), or takes them away (-1).
func countHeld(kinds []*nodeChoice, j *job, sign int32) {
	if !j.Preemptible() {
		return
	}
	for _, k := range kinds {
		if k.held != nil {
			k.held[j.Class] += sign * j.placement.Within(k.mask)
		}
	}
}

// heldBelow counts the nodes of a kind that running jobs of lower classes hold which may be
// preempted. Cost: the running jobs at first, then the classes.
func (k *nodeChoice) heldBelow(class int32, running []model.Ref, jobs []job) (n int32) {
	if k.held == nil {
		k.held = &held{}
		for _, ref := range running {
			if j := &jobs[ref]; j.Preemptible() {
				k.held[j.Class] += j.placement.Within(k.mask)
			}
		}
	}
	for _, h := range k.held[:min(class, model.SensitiveClass)] {
		n += h
	}
	return n
}

// preemptsQOS is the qualities of service that that of j preempts.
func preemptsQOS(site *model.Site, j *job) []model.QOSID {
	if j.QOS < 0 {
		return nil
	}
	return site.QOS[j.QOS].PreemptsQOS
}

// preemptible lists the running jobs that might leave. The list is valid until the next
// call.
func (p *pass) preemptible(ref model.Ref, trigger preempt.Trigger) []preempt.Victim {
	j := &p.core.jobs[ref]
	list, usableNodes := p.core.buf.victims[:0], p.core.buf.extra
	avoid := p.core.avoids(ref, p.now, p.now.Add(j.left))
	copy(usableNodes, j.kind.mask)
	usableNodes.And(p.core.ready)
	if avoid != nil {
		usableNodes.AndNot(avoid)
	}
	jobs, home, id := p.core.jobs, p.core.home[p.qs.id], p.qs.id
	for _, running := range p.core.active {
		r := &jobs[running]
		if r.leaving || (trigger == preempt.Priority && p.core.classAgainst(j, r) >= j.Class) {
			continue
		}
		lent := r.borrowed && r.VCluster != id && r.placement.Within(home) > 0
		if trigger == preempt.Reclaim && (!lent || r.Scaled) { // a scaled service gives nodes back and runs on
			continue
		}
		usable := r.placement.Within(usableNodes)
		if usable == 0 {
			continue
		}
		st := p.core.ledger.Standing(r.Tenant)
		list = append(list, preempt.Victim{
			Ref: running, Job: r.Job, Class: p.core.classAgainst(j, r), Start: r.started, Walltime: r.Walltime, Elapsed: p.now.Sub(r.started) + max(0, r.Walltime-r.left),
			Nodes: r.placement.Nodes(), Usable: usable, GPUs: r.kind.gpusOf(&r.Allocation),
			Checkpoint: r.Checkpoint, CkptBytes: r.CkptBytes, LastCheckpoint: r.saved,
			Sensitive: r.IsSensitive(), Preemptible: r.Preemptible(), Borrowed: lent,
			Burst: st.Burst > model.One && st.Share > 0 && st.Used > st.Share,
		})
	}
	p.core.buf.victims = list
	return list
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
	t.used.Power -= r.needs.Power
	t.used.Bandwidth -= r.needs.Bandwidth
}

func (t *trial) Take(v *preempt.Victim) {
	r := &t.s.jobs[v.Ref]
	t.free.Take(&r.placement)
	t.used.Power += r.needs.Power
	t.used.Bandwidth += r.needs.Bandwidth
}

func (t *trial) Fits() bool {
	j := &t.s.jobs[t.ref]
	if !t.s.caps.Cap.Allows(j.needs, t.used) {
		return false
	}
	q := t.qs.query(j, j.NodesMin, t.s.avoids(t.ref, t.now, t.now.Add(j.left)))
	return t.free.Fits(&q)
}

// dropHold stops keeping nodes for ref: it has started or left.
func (s *Core) dropHold(ref model.Ref) {
	if s.holds.drop(ref) {
		s.vclusters.markAllDirty()
	}
}

// dropIdleHolds gives up the holds of jobs of the vCluster that could not start although all
// their victims have left: a limit holds them now.
func (p *pass) dropIdleHolds() {
	for i := 0; i < len(p.core.holds); {
		c := &p.core.holds[i]
		if j := &p.core.jobs[c.ref]; len(c.victims) == 0 && j.queue == p.qs && j.phase == queued {
			p.core.dropHold(c.ref)
			continue
		}
		i++
	}
}

// preemptionRefused takes in the refusal of a proposal to preempt: the victim is taken
// off its hold, which is given up when no other is on its way out. It says whether there was
// such a victim.
func (s *Core) preemptionRefused(seq uint64) (found bool) {
	for _, ref := range s.active {
		if s.jobs[ref].preemptSeq == seq {
			s.jobs[ref].leaving = false
		}
	}
	ref, idle := s.holds.refused(seq)
	if idle {
		s.dropHold(ref)
	}
	return ref >= 0
}
