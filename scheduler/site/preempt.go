package site

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/scheduler/site/internal/caps"
)

// claim keeps nodes for a job that makes others leave them.
type hold struct {
	ref     model.Ref
	nodes   model.NodeSet
	victims []victim
}

// asked is a victim and the proposal to preempt it.
type victim struct {
	ref model.Ref
	seq uint64
}

// vain is a job for which nobody could be preempted when so much had happened.
// Nobody can be until more has: who runs and what is free are the same.
type failedPreemption struct {
	ref     model.Ref
	factSeq int64
}

// preempt looks for running jobs whose nodes would make room for the blocked
// one, and proposes that they leave.
func (s *Core) preempt(qs *queueState, now model.Time, ref model.Ref) {
	if s.isHolder(ref) || qs.failedPreemption == (failedPreemption{ref, s.factSeq}) {
		return // it waits for victims already, or there are none
	}
	j := &s.jobs[ref]
	trigger := preempt.Priority
	if j.IsSensitive() {
		trigger = preempt.Sensitive
	}
	if s.lent[qs.id] > 0 && s.proposePreemption(qs, now, ref, preempt.Reclaim) {
		return
	}
	if !s.proposePreemption(qs, now, ref, trigger) {
		qs.failedPreemption = failedPreemption{ref, s.factSeq}
	}
}

// take proposes the victims of one trigger; it says whether there are any.
func (s *Core) proposePreemption(qs *queueState, now model.Time, ref model.Ref, trigger preempt.Trigger) bool {
	j := &s.jobs[ref]
	s.preemptible(qs, ref, now, trigger)
	if len(s.victims_) == 0 {
		return false
	}
	t := trial{s: s, qs: qs, ref: ref, now: now, used: s.caps.Used}
	s.trial.CopyFrom(qs.free)
	cfg := &qs.policy.Preemption
	var ok bool
	if s.victims, ok = preempt.Select(cfg, trigger, j.Class, now, s.victims_, &t, s.victims); !ok || len(s.victims) == 0 {
		return false
	}
	c := hold{ref: ref, nodes: model.NewNodeSet(len(s.site.Nodes))}
	reason := model.ReasonPreempted
	if trigger == preempt.Reclaim {
		reason = model.ReasonReclaimed
	}
	for _, i := range s.victims {
		v := &s.victims_[i]
		t.Give(v)
		s.seq++
		c.victims = append(c.victims, victim{v.Ref, s.seq})
		s.jobs[v.Ref].leaving, s.jobs[v.Ref].preemptSeq = true, s.seq
		s.plan.Proposals = append(s.plan.Proposals, model.Proposal{
			Kind: model.ProposePreempt, Reason: reason, VCluster: j.VCluster, Seq: s.seq, Job: j.Job, Ref: ref, Victim: v.Ref,
		})
	}
	q := s.query(qs, j, j.NodesMin, s.avoids(ref, now, now.Add(j.left)))
	if s.trial.Select(&q, &s.chosen) {
		for _, w := range s.chosen.Words {
			c.nodes[w.Word] |= w.Mask
		}
		for _, h := range s.chosen.Shares {
			c.nodes.Add(h.Node)
		}
	}
	s.holds = append(s.holds, c)
	s.invalidateBounds() // the nodes kept may be those that others wait for
	return true
}

// gives is the class that r counts with when j wants its nodes: its own, or just
// below that of j where the quality of service of j preempts that of r.
func (s *Core) classAgainst(j, r *job) int32 {
	if j.QOS >= 0 && r.QOS >= 0 && slices.Contains(s.site.QOS[j.QOS].PreemptsQOS, r.QOS) {
		return min(r.Class, j.Class-1)
	}
	return r.Class
}

// suspect lists in s.suspects who runs and might leave.
func (s *Core) preemptible(qs *queueState, ref model.Ref, now model.Time, trigger preempt.Trigger) {
	j := &s.jobs[ref]
	s.victims_ = s.victims_[:0]
	avoid := s.avoids(ref, now, now.Add(j.left))
	copy(s.extra, j.kind.mask)
	s.extra.And(s.ready)
	if avoid != nil {
		s.extra.AndNot(avoid)
	}
	for _, running := range s.active {
		r := &s.jobs[running]
		lent := r.borrowed && r.VCluster != qs.id && within(&r.placement, s.home[qs.id]) > 0
		if r.leaving || (trigger == preempt.Reclaim) != lent && trigger == preempt.Reclaim || (trigger == preempt.Priority && s.classAgainst(j, r) >= j.Class) {
			continue
		}
		usable := within(&r.placement, s.extra)
		if usable == 0 {
			continue
		}
		st := s.book.Standing(r.Tenant)
		s.victims_ = append(s.victims_, preempt.Victim{
			Ref: running, Job: r.Job, Class: s.classAgainst(j, r), Start: r.started, Walltime: r.Walltime, Elapsed: now.Sub(r.started) + max(0, r.Walltime-r.left),
			Nodes: sizeOf(&r.placement), Usable: usable, GPUs: r.kind.gpusOf(&r.Allocation),
			Checkpoint: r.Checkpoint, CkptBytes: r.CkptBytes, LastCheckpoint: r.saved,
			Sensitive: r.IsSensitive(), Preemptible: r.Preemptible(), Borrowed: lent,
			Burst: st.Burst > model.One && st.Share > 0 && st.Used > st.Share,
		})
	}
}

// trial implements preempt.Trial for the blocked job ref.
type trial struct {
	s    *Core
	qs   *queueState
	ref  model.Ref
	now  model.Time
	used caps.Usage
}

func (t *trial) Give(v *preempt.Victim) {
	r := &t.s.jobs[v.Ref]
	t.s.trial.Give(&r.placement)
	for _, ref := range t.qs.inFlight { // proposed before it knew of this job
		t.s.trial.Take(&t.s.jobs[ref].placement)
	}
	t.used.Power -= r.needs.Power
	t.used.Bandwidth -= r.needs.Bandwidth
}

func (t *trial) Take(v *preempt.Victim) {
	r := &t.s.jobs[v.Ref]
	t.s.trial.Take(&r.placement)
	t.used.Power += r.needs.Power
	t.used.Bandwidth += r.needs.Bandwidth
}

func (t *trial) Fits() bool {
	j := &t.s.jobs[t.ref]
	if !t.s.caps.Cap.Allows(j.needs, t.used) {
		return false
	}
	q := t.s.query(t.qs, j, j.NodesMin, t.s.avoids(t.ref, t.now, t.now.Add(j.left)))
	return t.s.trial.Fits(&q)
}

// claimed says whether nodes are kept for ref.
func (s *Core) isHolder(ref model.Ref) bool {
	for i := range s.holds {
		if s.holds[i].ref == ref {
			return true
		}
	}
	return false
}

// unclaim stops keeping nodes for ref: it has started or left.
func (s *Core) dropHold(ref model.Ref) {
	for i := range s.holds {
		if s.holds[i].ref == ref {
			s.holds = append(s.holds[:i], s.holds[i+1:]...)
			s.markAllDirty()
			return
		}
	}
}

// lapse gives up the claims of jobs of l that could not start although all
// their victims have left: a limit holds them now.
func (s *Core) dropIdleHolds(qs *queueState) {
	for i := 0; i < len(s.holds); {
		c := &s.holds[i]
		if j := &s.jobs[c.ref]; len(c.victims) == 0 && j.queue == qs && j.phase == queued {
			s.dropHold(c.ref)
			continue
		}
		i++
	}
}

// left takes a victim off the claims: it has given its nodes back. A claim
// whose victims are all gone holds until its job starts.
func (s *Core) victimLeft(ref model.Ref) {
	for i := range s.holds {
		c := &s.holds[i]
		for k := range c.victims {
			if c.victims[k].ref == ref {
				c.victims = append(c.victims[:k], c.victims[k+1:]...)
				break
			}
		}
	}
}

// unasked takes in the refusal of a proposal to preempt: the victim is taken off
// its claim, which is given up when no other is on its way out.
func (s *Core) preemptionRefused(seq uint64) {
	for _, ref := range s.active {
		if s.jobs[ref].preemptSeq == seq {
			s.jobs[ref].leaving = false
		}
	}
	for i := range s.holds {
		c := &s.holds[i]
		for k := range c.victims {
			if c.victims[k].seq != seq {
				continue
			}
			if c.victims = append(c.victims[:k], c.victims[k+1:]...); len(c.victims) == 0 {
				s.dropHold(c.ref)
			}
			return
		}
	}
}
