package world

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
)

var prologueStream = draw.StreamOf("prologue")

// prologues is what runs on the nodes of an attempt before its work, and may fail there.
type prologues struct {
	*base
	nodes   *nodeStates
	endings *endings
	failed  []model.NodeID // space of nodes on which one fails
}

// begin draws whether the prologue of the attempt under ref fails, which it does when its start delay is over. One
// that ran before a warm start has had its own. Cost: its nodes, where prologues fail at all.
func (p *prologues) begin(ref model.Ref) {
	f := &p.cfg.Faults
	l := p.jobs.At(ref)
	if l.noPrologue = f.PrologueFails > 0 && !p.immediate && l.opens <= f.Until && len(p.draw(ref)) > 0; l.noPrologue {
		p.events.Push(des.NewEvent(l.opens, des.RankCheckpoint, l.rec.Job, ref))
	}
}

// draw are the nodes of the attempt under ref on which its prologue fails, valid until it is asked again.
func (p *prologues) draw(ref model.Ref) []model.NodeID {
	l := p.jobs.At(ref)
	src := draw.New(p.cfg.Seed, prologueStream, uint64(l.rec.Job), uint64(l.rec.Attempts))
	p.failed = appendNodes(p.failed[:0], p.quorum.Held(ref), nil)
	p.failed = slices.DeleteFunc(p.failed, func(model.NodeID) bool { return !src.Bool(p.cfg.Faults.PrologueFails) })
	return p.failed
}

// fail drains the nodes on which the prologue of the attempt under ref fails now, for as long as it takes to mend
// them. The job goes back to the queue by its requeue policy.
func (p *prologues) fail(ref model.Ref) {
	failed := p.draw(ref)
	if len(failed) == 0 { // it has other nodes by now
		return
	}
	for _, id := range failed {
		p.Meter.FailedPrologues++
		p.nodes.remedyAfter(id, p.cfg.Faults.Remedy)
	}
	p.endings.fail(ref, model.ReasonNodeFailure, true)
}
