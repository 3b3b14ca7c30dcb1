package site

import (
	"math/bits"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/score"
)

// noted is what was last noted of a job.
type noted struct {
	reason model.Reason
	behind model.JobID
	made   bool
}

// note notes a job's reason when somebody asked about it and it has changed. Cost
// of a change: the nodes of the site.
func (s *Core) note(ref model.Ref, r model.Reason) {
	if s.cfg.Explain == nil {
		return
	}
	j := &s.jobs[ref]
	if !s.cfg.Explain(j.Job) {
		return
	}
	behind, until := s.inTheWay(ref, r)
	n := noted{reason: r, behind: behind, made: true}
	if n == j.note {
		return
	}
	j.note = n
	qs := j.queue
	out := scheduler.Note{Job: j.Job, Ref: ref, Reason: r, Behind: behind, Until: until, Room: scheduler.Room{Need: j.NodesMin, Usable: s.space.Most(j.kind.class, j.GPUs)}}
	if r == model.ReasonNone {
		out.Nodes = j.placement.Nodes()
	} else {
		out.Nodes = qs.free.Count(j.kind.class)
		if j.GPUs > 0 {
			out.Nodes = qs.free.CountGPUs(j.kind.class, j.GPUs)
		}
		s.measure(ref, &out.Room)
		if ofNodes(r) {
			out.Rejected = s.rejected(ref)
		}
	}
	switch ranked := j.phase == queued || j.phase == proposed; {
	case ranked && qs.policy.Ranking == ByScore:
		out.Scored, out.Score = true, s.explained(qs, j, s.now)
	case ranked && qs.policy.Ranking == ByMultifactor && len(s.shares.fresh) == 0: // all users are in the tree
		out.Scored, out.Score = true, s.pointsOf(qs, j)
	}
	s.plan.Notes = append(s.plan.Notes, out)
}

// pointsOf is Slurm's priority of j, taken apart.
func (s *Core) pointsOf(qs *queueState, j *job) score.Explanation {
	const most = 1<<31 - 1
	fixed := func(n int64) model.Fixed { return model.Fixed(max(min(n, most), -most) << model.FractionBits) }
	in := s.factors(qs, j, s.now)
	e := score.Explanation{Penalty: model.One, Score: fixed(multifactor.Priority(&qs.policy.Multifactor, &in))}
	for i, t := range multifactor.Explain(&qs.policy.Multifactor, &in) {
		e.Factors[i] = score.Contribution{Factor: score.Factor(i), Value: t.Value, Weight: fixed(t.Weight), Term: t.Adds}
		e.Sum += t.Adds
	}
	return e
}

// forgetNotes drops the notes of the last plan, and keeps those that what was
// observed since has called for.
func (s *Core) forgetNotes() {
	s.plan.Notes = append(s.plan.Notes[:0], s.plan.Notes[s.told:]...)
	s.told = 0
}

// inTheWay says which job keeps ref from starting for the reason r, -1 for none,
// and until when, as far as that is known.
func (s *Core) inTheWay(ref model.Ref, r model.Reason) (model.JobID, model.Time) {
	qs := s.jobs[ref].queue
	switch r {
	case model.ReasonPriority:
		if h := &qs.reservation; h.Ref >= 0 && h.Ref != ref {
			return s.jobs[h.Ref].Job, s.reservedAt(qs)
		}
	case model.ReasonReserved:
		return s.keeper(ref)
	case model.ReasonDependency:
		if on, _, ok := s.graph.Blocker(ref); ok {
			return on, model.AbsentTime
		}
	}
	return -1, model.AbsentTime
}

// reservedAt is the instant of the reservation of the first blocked job of l.
func (s *Core) reservedAt(qs *queueState) model.Time {
	at := model.AbsentTime
	if qs.policy.plans() {
		at = qs.plan.At(qs.reservation.Ref)
	} else if qs.reservation.Known() {
		at = qs.reservation.At
	}
	if at == model.Never {
		return model.AbsentTime
	}
	return at
}

// keeper says for whom nodes that ref could use are set aside: for a job that
// preempted others, or until the end of an advance reservation.
func (s *Core) keeper(ref model.Ref) (behind model.JobID, until model.Time) {
	behind, until = -1, model.AbsentTime
	j := &s.jobs[ref]
	idle := j.queue.free.Idle()
	usable := func(nodes model.NodeSet) bool {
		for w, m := range idle {
			if m&j.kind.mask[w]&nodes[w] != 0 {
				return true
			}
		}
		return false
	}
	for i := range s.holds {
		if c := &s.holds[i]; behind < 0 && c.ref != ref && usable(c.nodes) {
			behind = s.jobs[c.ref].Job
		}
	}
	for i := range s.site.Reservations {
		r := &s.site.Reservations[i]
		if until == model.AbsentTime && setsAside(r, model.ReservationID(i), j, s.now, s.now.Add(j.left)) && usable(r.Nodes) {
			until = r.End
		}
	}
	return behind, until
}

// measure counts what is idle of the nodes that ref may use.
func (s *Core) measure(ref model.Ref, out *scheduler.Room) {
	j := &s.jobs[ref]
	free := j.queue.free
	avoid := s.avoids(ref, s.now, s.now.Add(j.left))
	s.buf.perGroup = append(s.buf.perGroup[:0], make([]int32, len(s.site.Groups))...)
	out.Conform = free.Largest(j.kind.class)
	for w, m := range free.Idle() {
		m &= j.kind.mask[w]
		if avoid != nil {
			out.Aside += int32(bits.OnesCount64(m & avoid[w]))
		}
		model.NodeWord{Word: int32(w), Mask: m}.Nodes(func(n model.NodeID) bool {
			if g := s.site.Nodes[n].Group; g >= 0 && int(g) < len(s.buf.perGroup) {
				s.buf.perGroup[g]++
				out.Grouped = max(out.Grouped, s.buf.perGroup[g])
			}
			return true
		})
	}
}
