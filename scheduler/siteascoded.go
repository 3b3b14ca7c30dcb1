package scheduler

import (
	"orrery/scheduler/model"
	"orrery/scheduler/score"
)

// lookAhead is how far the as-coded mode looks for releases.
const lookAhead = 24 * model.Hour

// codedPrice is the constant price of the as-coded mode.
const codedPrice = model.One / 2

// codedNeutral is the value of a factor that is not known.
const codedNeutral = model.One / 2

// passAsCoded is the pass of Lattice's sources: score, sort, place first fit
// with conformance groups first, and then a second look that tries to backfill
// before the first job that found no nodes. The sort is stable on the id.
func (s *Site) passAsCoded(l *lane, now model.Time) {
	s.work.Passes++
	s.work.Examined += uint64(len(l.queue))
	coded := s.codedInputs(l, now)
	s.room = s.room[:0]
	for _, ref := range l.queue {
		s.room = append(s.room, candidate{int64(s.codedScore(l, &s.jobs[ref], &coded, now)), 0, ref})
	}
	order := candidates{s, l, now, s.room}
	order.init()
	s.tight = s.tight[:0]
	for len(order.h) > 0 {
		c := order.h[0]
		order.pop()
		if r := s.held(l, c, now); r != model.ReasonNone {
			s.note(c.ref, r)
			continue
		}
		if s.codedChoose(l, c.ref) {
			s.propose(l, c.ref, now)
			continue
		}
		s.note(c.ref, model.ReasonResources)
		s.tight = append(s.tight, c)
	}
	l.blocked = len(s.tight) > 0
	if len(s.tight) > 1 {
		s.codedBackfill(l, now)
	}
	l.quiet = now
}

// codedChoose takes as many nodes of a range as there are, up to its maximum.
func (s *Site) codedChoose(l *lane, ref model.Ref) bool {
	j := &s.jobs[ref]
	n := min(max(l.free.Count(j.kind.class), j.NodesMin), j.NodesMax)
	q := s.query(l, j, n, nil)
	s.chosenBorrows = false
	return l.free.Select(&q, &s.chosen)
}

// codedBackfill is the second look: whoever ends before the first deferred job
// could start, by the number of nodes alone, is tried again.
func (s *Site) codedBackfill(l *lane, now model.Time) {
	holder := &s.jobs[s.tight[0].ref]
	free := l.free.Idle().Len()
	if free >= holder.NodesMin {
		return
	}
	at := model.Never
	l.ends.Ascend(now, func(t model.Time, ref model.Ref, n int32) bool {
		if r := &s.jobs[ref]; r.phase != running || r.predicted <= now || t > now.Add(lookAhead) {
			return t <= now.Add(lookAhead)
		}
		if free += n; free >= holder.NodesMin {
			at = t
			return false
		}
		return true
	})
	if at == model.Never {
		return
	}
	for _, c := range s.tight[1:] {
		j := &s.jobs[c.ref]
		if j.left != model.Forever && now.Add(j.left) <= at && s.codedChoose(l, c.ref) {
			s.propose(l, c.ref, now)
		}
	}
}

// codedInputs are what the scores of one pass have in common.
type codedInputs struct {
	backlog     model.Fixed
	utilisation model.Fixed
	largest     int32
}

func (s *Site) codedInputs(l *lane, now model.Time) codedInputs {
	in := codedInputs{largest: l.free.LargestAsCoded(s.space.Class(nil))}
	busy, running, queued := int64(0), int64(0), int64(0)
	for _, ref := range s.active {
		r := &s.jobs[ref]
		busy += int64(sizeOf(&r.placement))
		running += score.CodedBacklogHours(r.Kind, r.NodesMin, r.Walltime)
	}
	for _, ref := range l.queue {
		j := &s.jobs[ref]
		queued += score.CodedBacklogHours(j.Kind, j.NodesMin, j.Walltime)
	}
	in.backlog = score.CodedBacklogOf(queued, max(1, running))
	if n := int64(s.ready.Len()); n > 0 {
		in.utilisation = model.Ratio(busy, n)
	}
	return in
}

// codedScore is the score with raw weights, no caps and no history.
func (s *Site) codedScore(l *lane, j *siteJob, in *codedInputs, now model.Time) model.Fixed {
	v := s.values(j, 0, int32(max(1, len(s.site.Groups))))
	v[score.Wait] = score.CodedWaitOf(now.Sub(j.submit), l.policy.Reference)
	v[score.Data] = codedNeutral
	v[score.Backlog] = in.backlog
	v[score.Energy] = score.EnergyOf(codedPrice)
	v[score.Conformance] = score.CodedConformanceOf(in.largest, j.NodesMin)
	v[score.FairShare] = codedNeutral
	penalty := model.One
	if j.Tenant >= 0 {
		limits := s.book.Limits(j.Tenant)
		nodes, used := s.codedUsage(j.Tenant, now)
		v[score.FairShare] = score.CodedFairShareOf(limits.FairShare, score.Allowance(limits.Burst), model.Ratio(nodes, max(1, int64(s.ready.Len()))), in.utilisation)
		if limits.NodeBudget > 0 {
			penalty = score.Penalty(model.Ratio(used, int64(limits.NodeBudget)))
		}
	}
	return score.Score(&l.policy.Weights, &v, penalty)
}

// codedUsage is what the running jobs of a tenant hold, and the node time that
// these have used: what has ended is forgotten.
func (s *Site) codedUsage(t model.TenantID, now model.Time) (nodes, used int64) {
	for _, ref := range s.active {
		if r := &s.jobs[ref]; r.Tenant == t {
			n := int64(sizeOf(&r.placement))
			nodes += n
			used += n * int64(now.Sub(r.started))
		}
	}
	return nodes, used
}
