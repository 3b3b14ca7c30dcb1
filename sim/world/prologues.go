package world

import (
	"slices"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
)

var (
	prologueStream = draw.StreamOf("prologue")
	remedyStream   = draw.StreamOf("remedy after a prologue")
)

// startPrologues draws whether the prologue of the attempt under ref fails, which it does when
// its start delay is over. One that ran before a warm start has had its own. Cost: its nodes,
// where prologues fail at all.
func (s *Site) startPrologues(ref model.Ref) {
	f := &s.cfg.Faults
	l := s.jobs.At(ref)
	if l.noPrologue = f.PrologueFails > 0 && !s.immediate && l.opens <= f.Until && len(s.drawPrologues(ref)) > 0; l.noPrologue {
		s.events.Push(des.NewEvent(l.opens, des.RankCheckpoint, l.rec.Job, ref))
	}
}

// drawPrologues are the nodes of the attempt under ref on which its prologue fails, valid
// until it is asked again.
func (s *Site) drawPrologues(ref model.Ref) []model.NodeID {
	l := s.jobs.At(ref)
	src := draw.New(s.cfg.Seed, prologueStream, uint64(l.rec.Job), uint64(l.rec.Attempts))
	s.prologues = appendNodes(s.prologues[:0], s.quorum.Held(ref), nil)
	s.prologues = slices.DeleteFunc(s.prologues, func(model.NodeID) bool { return !src.Bool(s.cfg.Faults.PrologueFails) })
	return s.prologues
}

// failPrologues drains the nodes on which the prologue of the attempt under ref fails now, for
// as long as it takes to mend them. The job goes back to the queue by its requeue policy.
func (s *Site) failPrologues(ref model.Ref) {
	failed := s.drawPrologues(ref)
	if len(failed) == 0 { // it has other nodes by now
		return
	}
	for _, id := range failed {
		s.Meter.FailedPrologues++
		s.remedyAfter(id, s.cfg.Faults.Remedy)
	}
	s.fail(ref, model.ReasonNodeFailure, true)
}

// remedyAfter drains a node that takes work, for as long as it takes to mend it.
func (s *Site) remedyAfter(id model.NodeID, law hwmodel.Lifetime) {
	if n := &s.nodes[id]; n.mended == model.AbsentTime && s.drain(id) {
		src := draw.New(s.cfg.Seed, remedyStream, uint64(id), uint64(s.now))
		n.mended = s.now.Add(lasts(law, &src))
		s.push(des.NewEvent(n.mended, des.RankNodeUp, model.JobID(id), byRemedy))
	}
}

// remedy lets a node take work again that remedyAfter drained, unless the log or another
// fault has drained it in the meantime.
func (s *Site) remedy(id model.NodeID) {
	if s.nodes[id].mended == s.now {
		s.undrain(id)
	}
}
