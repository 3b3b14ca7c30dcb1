package world

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
)

var (
	prologueStream = draw.StreamOf("prologue")
	remedyStream   = draw.StreamOf("remedy after a prologue")
)

// drawPrologues draws on which nodes the prologue of the attempt under ref fails, when its
// start delay is over. Cost: its nodes, where prologues fail at all.
func (s *Site) drawPrologues(ref model.Ref) {
	f := &s.cfg.Faults
	l := s.jobs.At(ref)
	if l.noPrologue = false; f.PrologueFails == 0 || l.opens > f.Until {
		return
	}
	src := draw.New(s.cfg.Seed, prologueStream, uint64(l.rec.Job), uint64(l.rec.Attempts))
	s.nodesBuf = appendNodes(s.nodesBuf[:0], s.quorum.Held(ref), nil)
	for _, id := range s.nodesBuf {
		if src.Bool(f.PrologueFails) {
			l.noPrologue = true
			s.push(des.NewEvent(l.opens, des.RankNodeDown, model.JobID(id), byPrologue))
		}
	}
}

// failPrologue drains a node on which a prologue fails now, for as long as it takes to mend
// it. The job goes back to the queue by its requeue policy, unless it has left before.
func (s *Site) failPrologue(id model.NodeID) {
	s.lost.Add(id)
	hit := s.jobsOn(s.lost)
	s.lost.Remove(id)
	hit = slices.DeleteFunc(hit, func(ref model.Ref) bool { l := s.jobs.At(ref); return !l.noPrologue || l.opens != s.now })
	s.Meter.FailedPrologues++
	if s.drain(id) {
		s.nodes[id].mended = true
		src := draw.New(s.cfg.Seed, remedyStream, uint64(id), uint64(s.now))
		s.push(des.NewEvent(s.now.Add(lasts(s.cfg.Faults.Remedy, &src)), des.RankNodeUp, model.JobID(id), byRemedy))
	}
	for _, ref := range hit {
		s.fail(ref, model.ReasonNodeFailure, true)
	}
}

// remedy lets a node take work again that a prologue drained, unless the log has drained it
// or let it go in the meantime.
func (s *Site) remedy(id model.NodeID) {
	if n := &s.nodes[id]; n.mended {
		n.mended = false
		s.undrain(id)
	}
}
