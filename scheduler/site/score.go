package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/place"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
)

// unboundedWork is the time that services count with in the backlog; it is
// Lattice's.
const unboundedWork = 24 * model.Hour

// gpuTime is the GPU time that j asks for, in GPU seconds rounded up.
func (j *job) gpuTime() int64 {
	d := j.left
	if d == model.Forever {
		d = unboundedWork
	}
	return (int64(max(d, 1)-1)/int64(model.Second) + 1) * int64(j.claim.GPUs)
}

// rank prepares what never changes in the order of j while it waits.
func (s *Core) rank(j *job) {
	p := j.lane.policy
	j.ask = demand(&j.Allocation, j.kind)
	j.key.Walltime = j.left
	switch p.Ranking {
	case ByScore:
		needed, groups := s.space.GroupsNeeded(j.kind.class, j.NodesMin)
		v := s.values(j, needed, groups)
		j.static = score.Part(&p.Weights, &v, score.PerJob) + score.Part(&p.Weights, &v, score.PerSize)
	case ByOrder:
		j.key.Request.Units = j.claim.GPUs
		p.Order.Prepare(&j.key)
	}
}

// values are the factors of j that never change while it waits.
func (s *Core) values(j *job, needed, groups int32) (v score.Values) {
	p := j.lane.policy
	v[score.Priority] = score.PriorityOf(j.Class)
	v[score.Data] = score.DataOf(j.DataReady)
	if p.AsCoded {
		v[score.Topology] = score.CodedTopologyOf(j.NodesMin, groups, -1, false)
		v[score.Checkpoint] = score.CodedCheckpointOf(j.Checkpoint)
		return v
	}
	v[score.Topology] = score.TopologyOf(needed, groups)
	v[score.Checkpoint] = score.CheckpointOf(j.Checkpoint, j.CkptBytes, s.cfg.CheckpointBandwidth)
	return v
}

// freeze fixes everything that the scores of one pass have in common.
func (s *Core) freeze(l *lane) {
	if l.policy.Ranking == ByMultifactor {
		s.shares.settle()
	}
	if l.policy.Ranking != ByScore {
		return
	}
	s.figures(l)
	w := &l.policy.Weights
	l.global = w[score.Backlog].Mul(score.BacklogOf(model.Duration(s.queued), model.Duration(s.running)))
	if !l.policy.Expected {
		l.global += w[score.Energy].Mul(score.EnergyOf(s.price))
	}
	for i := range s.largest {
		s.largest[i] = -1
	}
}

// figured is what the fair share and the penalty of a tenant were last worked out from.
type figured struct {
	tick        int64 // the last at which it was looked at, -1 before the first
	standing    quota.Standing
	utilisation model.Fixed
}

// count adds a job of tenant t to those whose scores are of interest.
func (l *lane) count(t model.TenantID) {
	if l.members[t+1]++; l.members[t+1] == 1 {
		l.figuredAt = -1 // nobody has looked at how that stands
	}
}

// figures takes over what the last accounting tick has frozen of those who wait, and
// says whether it makes any difference to l.
func (s *Core) figures(l *lane) bool {
	if l.figuredAt == s.ticks {
		return false
	}
	l.figuredAt = s.ticks
	changed := false
	u := s.book.Utilisation()
	for t, n := range l.members {
		was := &l.figured[t]
		if n == 0 || was.tick == s.ticks {
			continue
		}
		id := model.TenantID(t) - 1 // 0 is the jobs of no tenant
		st := s.book.Standing(id)
		same := was.tick >= 0 && st.Equal(&was.standing) && (u == was.utilisation || st.Burst <= model.One)
		if was.tick = s.ticks; same {
			continue
		}
		was.standing, was.utilisation = *st, u
		f3 := l.policy.Weights[score.FairShare].Mul(s.fairShare(id, st, u))
		penalty := score.Penalty(st.Budget)
		changed = changed || f3 != l.tenant[t] || penalty != l.penalty[t]
		l.tenant[t], l.penalty[t], l.inverse[t] = f3, penalty, model.Ratio(int64(model.One), int64(penalty))
	}
	return changed
}

// weighBacklog wakes the vClusters for whose scores the backlog has changed.
func (s *Core) weighBacklog(now model.Time) {
	if s.weighed == [2]int64{s.queued, s.running} {
		return
	}
	s.weighed = [2]int64{s.queued, s.running}
	if f6 := score.BacklogOf(model.Duration(s.queued), model.Duration(s.running)); f6 != s.backlog {
		s.backlog = f6
		for i := range s.lanes {
			if l := &s.lanes[i]; l.policy.Ranking == ByScore && l.policy.Weights[score.Backlog] != 0 {
				l.quiet = min(l.quiet, now)
			}
		}
	}
}

// fairShare is the factor f3 of tenant t.
func (s *Core) fairShare(t model.TenantID, st *quota.Standing, utilisation model.Fixed) model.Fixed {
	if st.Share <= 0 {
		return s.book.Neutral(t)
	}
	return score.FairShareOf(st.Share, st.Burst, st.Used, utilisation)
}

// conformance is the factor f9 of a job of so many nodes, frozen for the pass.
func (s *Core) conformance(l *lane, class place.ClassID, nodes int32) model.Fixed {
	largest := s.groupOf(l, class)
	if largest >= nodes {
		return model.One
	}
	return score.ConformanceOf(largest, nodes)
}

// groupOf is the largest free conformance group of a class, frozen for the pass.
func (s *Core) groupOf(l *lane, class place.ClassID) int32 {
	if c := int(class); c < len(s.largest) && s.largest[c] >= 0 {
		return s.largest[c]
	}
	return s.findGroup(l, class)
}

func (s *Core) findGroup(l *lane, class place.ClassID) int32 {
	c := int(class)
	for c >= len(s.largest) {
		s.largest = append(s.largest, -1)
	}
	s.largest[c] = l.free.Largest(class)
	return s.largest[c]
}

// energy is the factor f7 of j: of the price now, or of its mean over the time
// that j asks for.
func (s *Core) energy(l *lane, j *job, now model.Time) model.Fixed {
	if l.policy.Expected {
		return score.EnergyOf(s.cfg.Prices.Mean(now, now.Add(j.left), s.price))
	}
	return score.EnergyOf(s.price)
}

// scoreOf is the score of a waiting job in this pass.
func (s *Core) scoreOf(l *lane, j *job, now model.Time) model.Fixed {
	q := queued{static: j.static, seen: model.AbsentTime, submit: j.Submit, tenant: int32(j.Tenant) + 1, class: j.kind.class, need: j.NodesMin}
	if l.policy.Expected { // else it is among what all have in common
		q.static += l.policy.Weights[score.Energy].Mul(s.energy(l, j, now))
	}
	s.weigh(l, &q, now)
	return s.scoreOfQueued(l, &q)
}

// scoreOfQueued is scoreOf for what the queue holds of a job whose wait was weighed
// now, where the price of energy is the same for all.
func (s *Core) scoreOfQueued(l *lane, q *queued) model.Fixed {
	sum := q.static + l.tenant[q.tenant] + l.global + q.wait + l.policy.Weights[score.Conformance].Mul(s.conformance(l, q.class, q.need))
	if p := l.penalty[q.tenant]; p != model.One {
		return p.Mul(sum)
	}
	return sum
}

// explained is the score of j with its factors, for those who ask.
func (s *Core) explained(l *lane, j *job, now model.Time) score.Explanation {
	w := &l.policy.Weights
	if l.policy.AsCoded {
		v := s.codedValues(l, j, now)
		return score.Explain(w, &v, l.penalty[j.Tenant+1])
	}
	needed, groups := s.space.GroupsNeeded(j.kind.class, j.NodesMin)
	v := s.values(j, needed, groups)
	v[score.Wait] = score.WaitOf(now.Sub(j.Submit), l.policy.Reference)
	st := s.book.Standing(j.Tenant)
	v[score.FairShare] = s.fairShare(j.Tenant, st, s.book.Utilisation())
	v[score.Backlog] = score.BacklogOf(model.Duration(s.queued), model.Duration(s.running))
	v[score.Energy] = s.energy(l, j, now)
	v[score.Conformance] = s.conformance(l, j.kind.class, j.NodesMin)
	return score.Explain(w, &v, l.penalty[j.Tenant+1])
}

// keyOf is what l orders by, largest first; orders of ByOrder have none.
func (s *Core) keyOf(l *lane, j *job, now model.Time) int64 {
	switch l.policy.Ranking {
	case ByScore:
		return int64(s.scoreOf(l, j, now))
	case ByMultifactor:
		return s.priority(l, j, now)
	}
	l.policy.Order.Refresh(&j.key, now)
	return 0
}

// priority is Slurm's multifactor priority of j.
func (s *Core) priority(l *lane, j *job, now model.Time) int64 {
	in := s.factors(l, j, now)
	return multifactor.Priority(&l.policy.Multifactor, &in)
}

// factors are the inputs of Slurm's priority of j: its age counts from its
// eligible time, its units stand for CPUs. They hold until the next call.
func (s *Core) factors(l *lane, j *job, now model.Time) multifactor.Inputs {
	in := multifactor.Inputs{
		Age: now.Sub(j.Eligible), Site: j.Priority, Nice: j.Nice, FairShare: s.shares.tree.Factor(j.assoc), Assoc: s.assocOf(j),
		Size: multifactor.Size{
			Nodes: multifactor.Part{Amount: int64(j.NodesMin), Whole: int64(len(s.site.Nodes))},
			CPUs:  multifactor.Part{Amount: int64(j.NodesMin * j.kind.gpusOf(&j.Allocation)), Whole: s.cfg.Quota.GPUs},
			Limit: j.Walltime,
		},
	}
	if j.Partition >= 0 {
		in.Partition = multifactor.Part{Amount: s.site.Partitions[j.Partition].Factor, Whole: s.mostFactor}
	}
	if j.QOS >= 0 {
		in.QOS = multifactor.Part{Amount: s.site.QOS[j.QOS].Priority, Whole: s.mostQOS}
	}
	if len(l.policy.Multifactor.TRES) > 0 {
		s.shares.asked = s.tresOf(j)
		in.TRES = s.shares.asked[:]
	}
	return in
}
