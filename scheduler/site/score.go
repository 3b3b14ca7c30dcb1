package site

import (
	"math"

	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/order"
	"orrery/scheduler/place"
	"orrery/scheduler/score"
	"orrery/scheduler/site/internal/waiting"
)

// gpuTime is the GPU time that j asks for, in GPU seconds rounded up.
func (j *job) gpuTime() int64 {
	d := j.left
	if d == model.Forever {
		d = unboundedWork
	}
	return (int64(max(d, 1)-1)/int64(model.Second) + 1) * int64(j.usage.GPUs)
}

// prepareOrder prepares what never changes in the order of j while it waits.
func (s *Core) prepareOrder(j *job) {
	policy := j.queue.policy
	j.needs = needsOf(j.Allocation, j.kind)
	switch policy.Ranking {
	case ByScore:
		needed, groups := s.space.GroupsNeeded(j.kind.class, j.NodesMin)
		v := s.cfg.values(j, needed, groups)
		j.static = score.Part(&policy.Weights, &v, score.PerJob) + score.Part(&policy.Weights, &v, score.PerSize)
	case ByOrder:
		j.request.Units = j.NodesMin * j.kind.unitsOf(j.Allocation)
		if j.key == nil {
			j.key = new(order.Key)
		}
		*j.key = order.Key{}
		a := j.asked()
		policy.Order.Prepare(&a, j.key)
	}
}

// values are the factors of j that never change while it waits.
func (c *Config) values(j *job, needed, groups int32) (v score.Values) {
	v[score.Priority] = score.PriorityOf(j.Class)
	v[score.Data] = score.DataOf(j.DataReady)
	v[score.Topology] = score.TopologyOf(needed, groups)
	v[score.Checkpoint] = score.CheckpointOf(j.Checkpoint, j.CkptBytes, c.CheckpointBandwidth)
	return v
}

// freeze fixes everything that the scores of one pass have in common.
func (s *Core) freeze(qs *queueState) {
	if qs.policy.Ranking == ByMultifactor {
		s.ledger.Settle()
	}
	if qs.policy.Ranking != ByScore {
		return
	}
	qs.fair.Refresh()
	qs.groups.forget()
	was := qs.common
	if qs.common = (common{s.backlog.value(), s.price, true}); qs.common == was {
		return
	}
	qs.terms.Common = commonOf(s, qs)
}

// commonOf is what all scores of a vCluster have in common now.
func commonOf(s *Core, qs *queueState) model.Fixed {
	w := &qs.policy.Weights
	sum := w[score.Backlog].Mul(s.backlog.value())
	if !qs.policy.Expected {
		sum += w[score.Energy].Mul(score.EnergyOf(s.price))
	}
	return sum
}

// updateBacklog wakes the vClusters for whose scores the backlog has changed too much.
func (s *Core) updateBacklog(now model.Time) {
	if !s.backlog.stale() || !s.backlog.update() {
		return
	}
	for i := range s.vclusters {
		qs := &s.vclusters[i]
		if qs.policy.Ranking != ByScore || qs.policy.Weights[score.Backlog] == 0 || qs.look.Until <= now || qs.tolerance == math.MaxInt64 {
			continue
		}
		if moved := commonOf(s, qs) - qs.commonAt; moved > qs.tolerance || -moved > qs.tolerance {
			qs.look.Bring(now)
		}
	}
}

// groupOf is the largest free conformance group of a class, frozen for the pass.
func (qs *queueState) groupOf(class place.ClassID) int32 {
	if c := int(class); c < len(qs.groups) && qs.groups[c] >= 0 {
		return qs.groups[c]
	}
	return qs.findGroup(class)
}

func (qs *queueState) findGroup(class place.ClassID) int32 {
	c := int(class)
	for c >= len(qs.groups) {
		qs.groups = append(qs.groups, -1)
	}
	qs.groups[c] = qs.free.Largest(class)
	return qs.groups[c]
}

// conformance is the factor f9 of a job of so many nodes, frozen for the pass.
func (qs *queueState) conformance(class place.ClassID, nodes int32) model.Fixed {
	largest := qs.groupOf(class)
	if largest >= nodes {
		return model.One
	}
	return score.ConformanceOf(largest, nodes)
}

// weighted is that factor with its weight.
func (qs *queueState) weighted(class place.ClassID, nodes int32) model.Fixed {
	w := qs.policy.Weights[score.Conformance]
	if f := qs.conformance(class, nodes); f != model.One {
		return w.Mul(f)
	}
	return w
}

// energy is the factor f7 of j: of the price now, or of its mean over the time
// that j asks for.
func (s *Core) energy(qs *queueState, j *job, now model.Time) model.Fixed {
	if qs.policy.Expected {
		return score.EnergyOf(s.cfg.Prices.Mean(now, now.Add(j.left), s.price))
	}
	return score.EnergyOf(s.price)
}

// score is the score of a waiting job in this pass, whose weighted wait is given, where
// the price of energy is the same for all.
func (qs *queueState) score(q *waiting.QueueEntry, wait model.Fixed) model.Fixed {
	sum := q.Static + qs.terms.FairShare[q.Tenant] + qs.terms.Common + wait + qs.weighted(q.Class, q.Need)
	if p := qs.terms.Penalty[q.Tenant]; p != model.One {
		return p.Mul(sum)
	}
	return sum
}

// explained is the score of j with its factors, for explanations.
func explained(s *Core, qs *queueState, j *job, now model.Time) score.Explanation {
	w := &qs.policy.Weights
	needed, groups := s.space.GroupsNeeded(j.kind.class, j.NodesMin)
	v := s.cfg.values(j, needed, groups)
	v[score.Wait] = score.WaitOf(now.Sub(j.Submit), qs.policy.Reference)
	v[score.FairShare] = s.ledger.FairShare(j.Tenant)
	v[score.Backlog] = s.backlog.value()
	v[score.Energy] = s.energy(qs, j, now)
	v[score.Conformance] = qs.conformance(j.kind.class, j.NodesMin)
	return score.Explain(w, &v, qs.terms.Penalty[j.Tenant+1])
}

// priority is Slurm's multifactor priority of j.
func (s *Core) priority(qs *queueState, j *job, now model.Time) int64 {
	var tres [NumTRES]multifactor.Part
	in := s.factors(qs, j, now, &tres)
	return multifactor.Priority(&qs.policy.Multifactor, &in)
}

// factors are the inputs of Slurm's priority of j: its age counts from its
// eligible time, its units stand for CPUs. Those of its resources are in tres.
func (s *Core) factors(qs *queueState, j *job, now model.Time, tres *[NumTRES]multifactor.Part) multifactor.Inputs {
	in := multifactor.Inputs{
		Age: now.Sub(j.Eligible), Site: j.Priority, Nice: j.Nice, FairShare: s.ledger.Factor(j.assoc), Assoc: s.ledger.AssocPriority(j.Tenant),
		Size: multifactor.Size{
			Nodes: multifactor.Part{Amount: int64(j.NodesMin), Whole: int64(len(s.site.Nodes))},
			CPUs:  multifactor.Part{Amount: int64(j.NodesMin * j.kind.unitsOf(j.Allocation)), Whole: s.cfg.Quota.GPUs},
			Limit: j.Walltime,
		},
	}
	if j.Partition >= 0 {
		in.Partition = multifactor.Part{Amount: s.site.Partitions[j.Partition].Factor, Whole: s.mostFactor}
	}
	if j.QOS >= 0 {
		in.QOS = multifactor.Part{Amount: s.site.QOS[j.QOS].Priority, Whole: s.mostQOS}
	}
	if len(qs.policy.Multifactor.TRES) > 0 {
		*tres = s.tresOf(j)
		in.TRES = tres[:]
	}
	return in
}

// ties orders candidates of one vCluster whose tiers and keys are equal.
type ties struct {
	s   *Core
	qs  *queueState
	now model.Time
}

// Before implements order.Ties.
func (t *ties) Before(a, b model.Ref) bool {
	x, y := &t.s.jobs[a], &t.s.jobs[b]
	if t.qs.policy.Ranking == ByOrder {
		a, b := x.asked(), y.asked()
		return t.qs.policy.Order.Before(&a, x.key, &b, y.key, t.now)
	}
	return x.Job < y.Job
}
