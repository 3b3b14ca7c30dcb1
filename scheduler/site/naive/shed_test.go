package naive_test

import (
	"cmp"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
)

// shed asks running jobs to leave while the power that is reckoned for those which stay is above
// the cap.
func (s *naiveSite) shed() {
	if !s.st.Sheds || s.power == 0 {
		return
	}
	sum := func(leave []*naiveJob) int64 {
		watts, held := int64(0), []int{}
		for _, j := range s.holders {
			if j.phase == naiveRunning && !j.leaving && !slices.Contains(leave, j) {
				watts += s.draws(j)
				held = append(held, j.nodes...)
			}
		}
		for n := range s.st.Nodes {
			if s.st.CountIdle && s.up[n] != model.Down && !slices.Contains(held, n) {
				watts += s.st.Nodes[n].IdlePower
			}
		}
		return watts
	}
	cost := map[*naiveJob]int64{}
	var line, taken []*naiveJob
	for _, v := range s.holders {
		cfg := &s.vclusterOf(v).policy.Preemption
		if v.phase != naiveRunning || v.leaving || !v.Preemptible() || v.left != model.Forever && v.left-s.now.Sub(v.start) <= cfg.NearCompletion {
			continue
		}
		cost[v] = cfg.Cost(s.victimOf(v, int32(len(v.nodes))), s.now, cfg.Bandwidth)
		line = append(line, v)
	}
	slices.SortFunc(line, func(a, b *naiveJob) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(cost[a], cost[b]), cmp.Compare(b.start, a.start), cmp.Compare(a.Job, b.Job))
	})
	for _, v := range line {
		if sum(taken) > s.power {
			taken = append(taken, v)
		}
	}
	enough := sum(taken) <= s.power
	for i := len(taken) - 1; i >= 0; i-- {
		rest := slices.Delete(slices.Clone(taken), i, i+1)
		if enough && sum(rest) <= s.power || !enough && sum(rest) <= sum(taken) {
			taken = rest
		}
	}
	for _, v := range taken {
		s.propose(model.Proposal{Kind: model.ProposePreempt, Reason: model.ReasonPower, VCluster: v.VCluster, Job: v.Job, Ref: v.ref, Victim: v.ref})
		v.leaving, v.asked = true, s.seq
	}
}

// victimOf is v as one that loses its nodes, of which so many are of use.
func (s *naiveSite) victimOf(v *naiveJob, usable int32) *preempt.Victim {
	return &preempt.Victim{
		Ref: v.ref, Job: v.Job, Class: v.Class, Start: v.start, Walltime: v.Walltime, Elapsed: s.now.Sub(v.start) + max(0, v.Walltime-v.left),
		Nodes: int32(len(v.nodes)), Usable: usable, GPUs: s.gpusAsked(v) / v.NodesMin, Checkpoint: v.Checkpoint, CkptBytes: v.CkptBytes,
		LastCheckpoint: v.saved, Burst: s.tick.burst[s.row(v.Tenant)] > model.One && s.tick.share[s.row(v.Tenant)] > 0 &&
			s.tick.usage[s.row(v.Tenant)] > s.tick.share[s.row(v.Tenant)],
	}
}
