package site

import (
	"sort"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/place"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
	"orrery/scheduler/site/internal/caps"
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
func (s *Core) passAsCoded(qs *queueState, now model.Time) {
	s.work.Passes++
	s.work.Examined += uint64(len(qs.waiting.Jobs))
	s.buf.coded = s.codedInputs(qs, now)
	s.buf.room = s.buf.room[:0]
	for i := range qs.waiting.Jobs {
		ref := qs.waiting.Jobs[i].Ref
		s.buf.room = append(s.buf.room, order.Candidate{Key: int64(s.codedScore(qs, &s.jobs[ref], now)), Ref: ref, At: int32(i)})
	}
	ranked := s.passOf(qs, now).heap(s.buf.room)
	ranked.Init()
	s.buf.tight = s.buf.tight[:0]
	for len(ranked.List) > 0 {
		c := ranked.List[0]
		ranked.Pop()
		if r := s.codedPlace(qs, c, now); r == model.ReasonResources || r == model.ReasonConformance || r == model.ReasonReserved {
			s.buf.tight = append(s.buf.tight, c)
		}
	}
	qs.blocked = len(s.buf.tight) > 0
	if len(s.buf.tight) > 1 {
		s.codedBackfill(qs, now)
	}
	qs.quietUntil = now
}

// codedPlace proposes a job where it has room, or says why not.
func (s *Core) codedPlace(qs *queueState, c order.Candidate, now model.Time) model.Reason {
	j := &s.jobs[c.Ref]
	j.claim = claimOf(&j.Allocation, j.kind, j.NodesMin)
	r := s.passOf(qs, now).held(c)
	if r == model.ReasonNone {
		r = s.codedChoose(qs, c.Ref, now)
	}
	if r == model.ReasonNone {
		s.passOf(qs, now).propose(c.Ref, &s.buf.choice)
	} else {
		s.note(c.Ref, r)
	}
	return r
}

// codedChoose selects into s.buf.choice.nodes as many nodes of a range as there are, up to
// its maximum, or says why there are none. The limits, caps and reservations of
// the site hold here as well: the sources know none of them but the first, and
// what the quorum is going to refuse must not be proposed for ever. Where the nodes
// found break one, the largest size is taken that breaks none, or a range would wait
// for ever on an idle site. Cost: a selection for each size that is tried.
func (s *Core) codedChoose(qs *queueState, ref model.Ref, now model.Time) model.Reason {
	j := &s.jobs[ref]
	s.buf.choice.borrowed = false
	avoid := s.avoids(ref, now, now.Add(j.left))
	count := s.passOf(qs, now).own(j, avoid)
	if j.GPUs > 0 {
		count = qs.free.CountGPUs(j.kind.class, j.GPUs)
	}
	q := qs.query(j, min(max(count, j.NodesMin), j.NodesMax), avoid)
	if !s.codedSelect(qs, j, &q) {
		return s.passOf(qs, now).why(j, &q)
	}
	r := s.codedKeeps(j, q.Nodes)
	if r == model.ReasonNone {
		return r
	}
	for q.Nodes = s.codedMost(j, q.Nodes-1); q.Nodes >= j.NodesMin; q.Nodes-- {
		if !s.codedSelect(qs, j, &q) {
			continue
		}
		if r = s.codedKeeps(j, q.Nodes); r == model.ReasonNone {
			break
		}
	}
	return r
}

// codedSelect selects nodes into s.buf.choice.nodes. Sensitive work is not given those of
// unknown fingerprints.
func (s *Core) codedSelect(qs *queueState, j *job, q *place.Query) bool {
	return qs.free.Select(q, &s.buf.choice.nodes) && (!j.IsSensitive() || !s.anyUnknown(&s.buf.choice.nodes))
}

// codedKeeps says which cap or limit j would break on the n nodes in s.buf.choice.nodes, and
// claims as many.
func (s *Core) codedKeeps(j *job, n int32) model.Reason {
	j.claim = claimOf(&j.Allocation, j.kind, n)
	if r := s.overCap(j, &s.buf.choice.nodes); r != model.ReasonNone {
		return r
	}
	return s.limited(j)
}

// codedMost is the largest size up to most that the limits and, by the least that
// so many nodes draw, the caps let j have; no less than NodesMin, and most where
// that is less. Both only get tighter with its size.
func (s *Core) codedMost(j *job, most int32) int32 {
	grown := j.Allocation
	over := func(i int) bool {
		grown.NodesMin = j.NodesMin + 1 + int32(i)
		j.claim = claimOf(&grown, j.kind, grown.NodesMin)
		ask := caps.Usage{Power: leastDraw(&grown, j.kind), Bandwidth: j.Demand(grown.NodesMin)}
		if j.Power > 0 {
			ask.Power = j.Power * int64(grown.NodesMin) / int64(j.NodesMin)
		}
		return s.limited(j) != model.ReasonNone || !s.caps.Fits(ask)
	}
	return min(most, j.NodesMin+int32(sort.Search(int(max(0, most-j.NodesMin)), over)))
}

// anyUnknown says whether the fingerprint of a node of p is not known.
func (s *Core) anyUnknown(placement *model.Placement) bool {
	unknown := false
	for _, w := range placement.Words {
		w.Nodes(func(n model.NodeID) bool {
			unknown = unknown || s.site.Nodes[n].Fingerprint < 0
			return !unknown
		})
	}
	for _, h := range placement.Shares {
		unknown = unknown || s.site.Nodes[h.Node].Fingerprint < 0
	}
	return unknown
}

// codedBackfill is the second look: whoever ends before the first deferred job
// could start, by the number of nodes alone, is tried again.
func (s *Core) codedBackfill(qs *queueState, now model.Time) {
	holder := &s.jobs[s.buf.tight[0].Ref]
	free, at := qs.free.Idle().Len(), model.Never
	if free >= holder.NodesMin {
		return
	}
	qs.ends.Ascend(now, func(t model.Time, ref model.Ref, n int32) bool {
		r := &s.jobs[ref]
		switch {
		case t > now.Add(lookAhead):
			return false
		case r.phase != running || r.Kind != model.Bounded || r.predicted <= now:
			return true
		}
		if free += n; free >= holder.NodesMin {
			at = t
		}
		return at == model.Never
	})
	if at == model.Never {
		return
	}
	for _, c := range s.buf.tight[1:] {
		if j := &s.jobs[c.Ref]; j.left != model.Forever && now.Add(j.left) <= at {
			s.codedPlace(qs, c, now)
		}
	}
}

// codedInputs are what the scores of one pass have in common.
type codedInputs struct {
	backlog model.Fixed
	largest int32
}

// codedInputs works them out, and with them what the scores of each tenant have
// in common: its f3 in l.tenant, and its penalty. Cost: the running jobs, for
// each tenant.
func (s *Core) codedInputs(qs *queueState, now model.Time) codedInputs {
	in := codedInputs{largest: qs.free.LargestAsCoded(s.space.Class(nil))}
	busy, running, queued := int64(0), int64(0), int64(0)
	for _, ref := range s.active {
		r := &s.jobs[ref]
		busy += int64(r.placement.Nodes())
		running += score.CodedBacklogHours(r.Kind, r.NodesMin, r.Walltime)
	}
	for i := range qs.waiting.Jobs {
		j := &s.jobs[qs.waiting.Jobs[i].Ref]
		queued += score.CodedBacklogHours(j.Kind, j.NodesMin, j.Walltime)
	}
	in.backlog = score.CodedBacklogOf(queued, max(1, running))
	all := max(1, int64(s.ready.Len()))
	qs.terms.FairShare[0], qs.terms.Penalty[0] = codedNeutral, model.One
	for i := range qs.terms.FairShare[1:] {
		t := model.TenantID(i)
		limits, u := s.ledger.Limits(t), s.codedUsage(t, now)
		qs.terms.FairShare[i+1] = score.CodedFairShareOf(limits.FairShare, score.Allowance(limits.Burst), model.Ratio(u.nodes, all), model.Ratio(busy, all))
		spent := model.Fixed(0)
		if limits.NodeBudget > 0 {
			spent = model.Ratio(u.nodeTime, int64(limits.NodeBudget))
		}
		if limits.GPUBudget > 0 {
			spent = max(spent, model.Ratio(u.gpuTime, int64(limits.GPUBudget)))
		}
		qs.terms.Penalty[i+1] = score.Penalty(spent)
	}
	return in
}

// codedScore is the score with raw weights, no caps and no history.
func (s *Core) codedScore(qs *queueState, j *job, now model.Time) model.Fixed {
	v := s.codedValues(qs, j, now)
	return score.Score(&qs.policy.Weights, &v, qs.terms.Penalty[j.Tenant+1])
}

// codedValues are the factors of j in this pass.
func (s *Core) codedValues(qs *queueState, j *job, now model.Time) score.Values {
	v := s.cfg.values(j, 0, int32(max(1, len(s.site.Groups))))
	v[score.Wait] = score.CodedWaitOf(now.Sub(j.Submit), qs.policy.Reference)
	v[score.FairShare] = qs.terms.FairShare[j.Tenant+1]
	v[score.Data] = codedNeutral
	v[score.Backlog] = s.buf.coded.backlog
	v[score.Energy] = score.EnergyOf(codedPrice)
	v[score.Conformance] = score.CodedConformanceOf(s.buf.coded.largest, j.NodesMin)
	return v
}

// codedSpent is what a tenant holds and has used, in the as-coded mode.
type codedSpent struct{ nodes, nodeTime, gpuTime int64 }

// codedUsage adds up what the running jobs of a tenant hold and have used: what
// has ended is forgotten, and so is work that began before the window. A node
// that is not in service counts as one GPU.
func (s *Core) codedUsage(t model.TenantID, now model.Time) (u codedSpent) {
	window := s.cfg.Quota.Window
	if window <= 0 {
		window = quota.DefaultWindow
	}
	for _, ref := range s.active {
		r := &s.jobs[ref]
		if r.Tenant != t {
			continue
		}
		n, ran := int64(r.placement.Nodes()), int64(now.Sub(r.started))
		u.nodes += n
		if ran <= int64(window) {
			u.nodeTime += n * ran
			u.gpuTime += s.codedGPUs(&r.placement) * ran
		}
	}
	return u
}

// codedGPUs is the GPUs of the nodes of p as the ledger of the sources has them.
func (s *Core) codedGPUs(placement *model.Placement) int64 {
	sum := int64(0)
	add := func(n model.NodeID) bool {
		if s.ready.Has(n) {
			sum += int64(s.site.Nodes[n].GPUs)
		} else {
			sum++
		}
		return true
	}
	for _, w := range placement.Words {
		w.Nodes(add)
	}
	for _, h := range placement.Shares {
		add(h.Node)
	}
	return sum
}
