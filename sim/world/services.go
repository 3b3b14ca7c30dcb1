package world

import (
	"orrery/scheduler/model"
	"orrery/sim/des"
)

// services is the reactive services in the system, and what they are to have.
type services struct {
	*base
	refs    map[int64]model.Ref // by the log's number
	demands map[int64]int32     // last change about a service that is not in the system, by the log's number
}

// demand says what the service named by row i of the changes is to have. One that has not been submitted yet is told
// when it is; until then there is nothing to change.
func (s *services) demand(i int32) bool {
	c := &s.cfg.Changes[i]
	ref, known := s.refs[c.ID]
	if !known {
		s.demands[c.ID] = i
		return false
	}
	s.emit(&model.Fact{Kind: model.FactDemand, Job: s.jobs.At(ref).rec.Job, Ref: ref, Value: c.Value})
	return true
}

// add notes that a reactive service has been submitted, and has it told what it is to have if that was said before.
func (s *services) add(ref model.Ref) {
	id := s.jobs.At(ref).rec.ID
	s.refs[id] = ref
	if i, said := s.demands[id]; said {
		delete(s.demands, id)
		s.Meter.Moot--
		s.push(des.NewEvent(s.now, des.RankChange, model.JobID(i), byChange))
	}
}
