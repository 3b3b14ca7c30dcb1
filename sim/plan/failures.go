package plan

import (
	"orrery/hwmodel"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/world"
)

// faultsOf is what goes wrong. Until when nodes break is said with the trace.
func faultsOf(res *profiles.Site) world.Faults {
	f, a := &res.Failures, &res.Agents
	out := world.Faults{
		Slow: f.Slow, SlowBy: f.SlowBy, Unresponsive: f.Unresponsive, Partial: f.Partial, Defers: f.Defers,
		BootFails: a.BootFailure, BootTimeout: a.BootTimeout,
	}
	if a.PrologueFailure > 0 {
		out.PrologueFails, out.Remedy = a.PrologueFailure, exponential(a.PrologueRepair)
	}
	if f.AgentMTBF > 0 {
		out.Silence = world.Silence{Life: exponential(f.AgentMTBF), Length: exponential(f.AgentMTTR)}
	}
	if f.DriftMTBF > 0 {
		out.Drift = world.Drift{Life: exponential(f.DriftMTBF), Remedy: exponential(f.DriftRepair), Check: f.DriftCheck}
	}
	if h := a.Heartbeat; h.DownAfter > 0 {
		out.Heartbeat = world.Heartbeat{Degraded: h.DegradedAfter, Down: h.DownAfter}
	}
	if f.MTBF > 0 {
		out.Repair = repairOf(f.MTTR, f.RepairMedian, f.RepairSigma)
		out.Lives = []hwmodel.Lifetime{lifeOf(f, f.MTBF)}
		out.LifeOf = livesOf(f, res.NodeMTBF, &out.Lives)
	}
	for i := range res.SharedParts {
		p := &res.SharedParts[i]
		out.Shared = append(out.Shared, world.SharedFault{
			Key: p.Key, Nodes: p.Nodes, Life: exponential(p.MTBF), Repair: repairOf(p.MTTR, 0, p.RepairSigma),
		})
	}
	return out
}

// livesOf is the law of each node, as its place in laws, which grows by those of the node
// types; nil where all nodes have the first.
func livesOf(f *profiles.Failures, means []model.Duration, laws *[]hwmodel.Lifetime) []int32 {
	if means == nil {
		return nil
	}
	known := map[model.Duration]int32{f.MTBF: 0}
	out := make([]int32, len(means))
	for n, mean := range means {
		i, ok := known[mean]
		if !ok {
			i = int32(len(*laws))
			known[mean] = i
			*laws = append(*laws, lifeOf(f, mean))
		}
		out[n] = i
	}
	return out
}

// lifeOf is the law of the time until a failure, of a mean.
func lifeOf(f *profiles.Failures, mean model.Duration) hwmodel.Lifetime {
	if f.Law != "weibull" {
		return exponential(mean)
	}
	return hwmodel.WeibullOf(mean, f.Shape)
}

func exponential(mean model.Duration) hwmodel.Lifetime {
	return world.Exponential{Exponential: hwmodel.Exponential{Expected: mean}}
}

// repairOf is the law of repairs: exponential with a mean, or log-normal with a median or a
// mean.
func repairOf(mean, median model.Duration, sigma float64) hwmodel.Lifetime {
	switch {
	case sigma == 0:
		return exponential(mean)
	case median == 0:
		return hwmodel.LogNormalOf(mean, sigma)
	}
	return hwmodel.LogNormal{Median: median, Sigma: sigma}
}
