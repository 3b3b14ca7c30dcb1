package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/quota"
	"orrery/scheduler/site/internal/caps"
)

// usageOf is what a takes from its tenant's limits on n nodes.
func usageOf(a *model.Allocation, k *nodeChoice, n int32) quota.ResourceUsage {
	each := model.WholeGPU * int64(k.leastGPUs)
	if a.Divides() {
		each = model.WholeGPU*int64(a.GPUs) + int64(a.GPUMilli)
	}
	return quota.ResourceUsage{
		Tenant: a.Tenant, QOS: a.QOS, Partition: a.Partition, User: a.User, Session: a.Kind == model.Session, Nodes: n, GPUs: n * k.gpusOf(a), Milli: int64(n) * each, Each: each, Divides: a.Divides(),
	}
}

// gpusOf is how many GPUs a counts with on each of its nodes: of its share those that it
// touches.
func (k *nodeChoice) gpusOf(a *model.Allocation) int32 {
	if a.Divides() {
		return a.Cards()
	}
	return k.gpus
}

// unitsHeld is how many GPUs a counts with where it holds the n nodes of p.
func (k *nodeChoice) unitsHeld(a *model.Allocation, p *model.Placement, n int32, classes *model.NodeClasses) int32 {
	if k.gpusDiffer && !a.Divides() {
		return classes.Units(p, n)
	}
	return n * k.gpusOf(a)
}

// unitsOf is what each node of a counts for by size: its GPUs, a share without any as one.
func (k *nodeChoice) unitsOf(a *model.Allocation) int32 { return max(k.gpusOf(a), 1) }

// needsOf is what a asks for before its nodes are known: the power that it
// states, else what as many nodes of those that draw most among those it may use can draw. Where idle
// nodes count, whole nodes take off at least what the one of them draws that draws least.
func needsOf(a *model.Allocation, k *nodeChoice) caps.Usage {
	u := caps.Usage{Power: a.Power, Bandwidth: a.IODemand}
	if u.Power == 0 {
		u.Power = k.watts * int64(a.NodesMin)
	}
	if !a.Divides() {
		u.Idle = k.leastIdle * int64(a.NodesMin)
	}
	return u
}

// leastDraw is a lower bound on the power that a is reckoned with on n nodes: what it
// states, else that of the nodes it may use that draw least.
func leastDraw(a *model.Allocation, k *nodeChoice, n int32) int64 {
	switch {
	case a.Power > 0:
		return a.PowerOn(n)
	case a.Divides():
		return (k.part*int64(a.GPUs) + k.part*int64(a.GPUMilli)/model.WholeGPU) * int64(n)
	}
	return k.least * int64(n)
}

// leastGrowth is a lower bound on what a adds to the power that an idle site is reckoned with,
// whose nodes draw something without it.
func leastGrowth(a *model.Allocation, k *nodeChoice) int64 {
	if a.Power > 0 || a.Divides() {
		return leastDraw(a, k, a.NodesMin) - k.mostIdle*int64(a.NodesMin)
	}
	return k.leastGrowth * int64(a.NodesMin)
}
