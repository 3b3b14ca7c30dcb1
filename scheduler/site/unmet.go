package site

import (
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/site/internal/caps"
	"orrery/scheduler/site/internal/elastic"
)

// tellUnmet answers the demands of services that are smaller than they are to be, and for
// which nothing is under way.
func (p services) tellUnmet() {
	for _, ref := range p.qs.services {
		j := &p.core.jobs[ref]
		if lacks := j.wants() - j.usage.Nodes; j.unanswered != 0 && !j.leaving && !j.resizing && lacks > 0 && !p.makesRoom(ref) {
			p.core.plan.Unmet = append(p.core.plan.Unmet, scheduler.Unmet{Job: j.Job, Ref: ref, Seq: j.unanswered, Nodes: lacks, Reason: p.lack(ref)})
		}
	}
}

// lack says why the service under ref gets no node more: the first limit that holds it, else
// what is wrong with the node that it would get next, else why there is none.
func (p services) lack(ref model.Ref) model.Reason {
	s, j := p.core, &p.core.jobs[ref]
	size := j.usage.Nodes
	if r := p.atLimit(j, size); r != model.ReasonNone {
		return r
	}
	q := p.qs.query(j, 1, s.avoidsMore(ref, p.now, j.predictedEnd(p.now)))
	if nodes := &s.buf.choice.nodes; p.qs.free.Select(&q, nodes) {
		return p.whyNotThese(ref, nodes)
	}
	q.Avoid = s.buf.avoid
	clear(q.Avoid)
	avoidsOwn(s, j, q.Avoid)
	if p.qs.free.Fits(&q) {
		return model.ReasonReserved
	}
	return model.ReasonResources
}

// whyNotThese says why the service under ref does not get the nodes, which are free.
func (p services) whyNotThese(ref model.Ref, nodes *model.Placement) model.Reason {
	s, j := p.core, &p.core.jobs[ref]
	x := p.newResize(ref)
	defer s.resizes.Drop(len(s.resizes) - 1)
	elastic.Union(&j.placement, nodes, &x.Whole)
	left := s.caps.Used.Minus(j.needs)
	switch r := s.overLimits(j, nodes, j.usage.Milli); {
	case r != model.ReasonNone:
		return r
	case !s.caps.Cap.Allows(caps.Usage{Power: s.nodeClasses.Draw(j.Allocation, &x.Whole), Idle: s.caps.Idle.On(nodes)}, left):
		return model.ReasonPower
	case !s.caps.Cap.Allows(caps.Usage{Bandwidth: j.Demand(x.Whole.Nodes())}, left):
		return model.ReasonBandwidth
	}
	return model.ReasonPriority // a job before it may need them
}

// makesRoom says whether others are making room for the service under ref: they leave, or
// give nodes of its vCluster back.
func (p services) makesRoom(ref model.Ref) bool {
	home := p.core.home[p.qs.id]
	return p.core.holds.Has(ref) || slices.ContainsFunc(p.core.resizes, func(x elastic.Resize) bool {
		return x.VCluster != p.qs.id && p.core.jobs[x.Ref].placement.Within(home) > x.Whole.Within(home)
	})
}
