package site

import (
	"orrery/scheduler/model"
)

// proposals ask the quorum for nodes.
type proposals struct{ *view }

func (v *view) proposals() proposals { return proposals{v} }

// propose asks for the nodes chosen for the job under ref.
func (p proposals) propose(ref model.Ref, c *choice) {
	p.occupy(ref, c)
	j := &p.core.jobs[ref]
	p.core.seq++
	j.seq = p.core.seq
	p.core.plan.Again = p.core.plan.Again || j.Kind == model.Reactive && !p.qs.mode.fixedServiceSize && j.wants() > j.NodesMin
	p.core.plan.Proposals = append(p.core.plan.Proposals, model.Proposal{
		Kind: model.ProposeAssign, Borrowed: j.borrowed, VCluster: j.VCluster, Seq: p.core.seq, Job: j.Job, Ref: ref,
		Request: j.request, Placement: j.placement,
	})
}

// occupy takes the job under ref out of the queue and counts the nodes chosen as taken by
// it, until the quorum's answer is observed.
func (p proposals) occupy(ref model.Ref, c *choice) {
	j := &p.core.jobs[ref]
	p.core.leave(ref)
	beginStint(&p.core.jobTable, j)
	p.core.memory.Set(&j.placement, &c.nodes)
	j.borrowed = c.borrowed
	j.phase = proposed
	p.qs.free.Take(&j.placement)
	p.qs.inFlight = append(p.qs.inFlight, ref)
	j.predicted = p.now.Add(j.left)
	p.qs.ends.Insert(j.predicted, ref, j.usage.Nodes)
	p.core.setTaken(j)
	p.core.ledger.Reserve(&j.usage)
	p.core.graph.Started(ref)
	p.core.setNeeds(j)
	p.core.lend(j, 1)
	p.promiseProposed(ref)
	takes(p.core, j) // the caps of all have less room
}

// promiseProposed makes the promise of a job that is proposed one of the nodes proposed.
func (p proposals) promiseProposed(ref model.Ref) {
	x := p.core.promises.Find(ref)
	if x == nil {
		return
	}
	nodes := p.core.buf.promised
	clear(nodes)
	p.core.jobs[ref].placement.AddTo(nodes)
	nodes.AndNot(p.core.home[p.qs.id])
	if x.Set(p.now, nodes) {
		p.core.promiseChanged(p.qs)
	}
}
