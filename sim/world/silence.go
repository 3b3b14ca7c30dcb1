package world

import (
	"errors"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
)

// Silence is how agents fall silent on nodes that work. Jobs there go on. The scheduler learns no more of the node
// than of one that is broken: nothing starts there, then the node counts as down and its jobs as failed. When the
// agent answers again the node takes work, without a boot.
type Silence struct {
	Life   hwmodel.Lifetime // until an agent falls silent; nil for never
	Length hwmodel.Lifetime // until it answers
}

var silenceStream = draw.StreamOf("agent silence")

func (m *Silence) validate(h Heartbeat) error {
	switch {
	case m.Life == nil:
		return nil
	case h.Down == 0:
		return errors.New("agents fall silent and there are no heartbeats: say after how long a node counts as down")
	}
	return errors.Join(m.Life.Validate(), validateRepair(m.Length))
}

// silences is how often the agent of each node was silent.
type silences struct {
	*base
	nodes      *nodeStates
	breakdowns *breakdowns
	times      []int32
}

// plan draws when each agent falls silent first.
func (s *silences) plan() {
	if s.cfg.Faults.Silence.Life == nil {
		return
	}
	s.times = make([]int32, len(s.nodes.list))
	for i := range s.nodes.list {
		s.planNext(model.NodeID(i))
	}
}

// next is the draws of the next silence of a node: when it begins, from now on, and its length.
func (s *silences) next(id model.NodeID) (begins, length model.Duration) {
	m := &s.cfg.Faults.Silence
	src := draw.New(s.cfg.Seed, silenceStream, uint64(id), uint64(s.times[id]))
	begins = lasts(m.Life, &src)
	return begins, lasts(m.Length, &src)
}

func (s *silences) planNext(id model.NodeID) {
	begins, _ := s.next(id)
	if at := s.now.Add(begins); at <= s.cfg.Faults.Until {
		s.push(des.NewEvent(at, des.RankNodeDown, model.JobID(id), byMute))
	}
}

// begin begins the silence of a node.
func (s *silences) begin(id model.NodeID) {
	s.Meter.SilentAgents++
	_, length := s.next(id)
	n, h := &s.nodes.list[id], s.cfg.Faults.Heartbeat
	n.answers = s.now.Add(length)
	if length > h.Degraded {
		s.push(des.NewEvent(s.now.Add(h.Degraded), des.RankNodeDown, model.JobID(id), byLateAgent))
	}
	if length > h.Down {
		s.push(des.NewEvent(s.now.Add(h.Down), des.RankNodeDown, model.JobID(id), byGoneAgent))
	}
	s.push(des.NewEvent(n.answers, des.RankNodeUp, model.JobID(id), byAnswer))
}

// miss lets nothing start on a node whose agent is not heard of.
func (s *silences) miss(id model.NodeID) {
	if n := &s.nodes.list[id]; n.state == model.Ready {
		s.nodes.setState(id, model.Degraded)
		n.missed = true
	}
}

// lose takes a node down of which nothing is heard, unless something else has.
func (s *silences) lose(id model.NodeID) {
	n := &s.nodes.list[id]
	if n.state == model.Down || s.nodes.silences > 0 && s.nodes.silent.Has(id) {
		return
	}
	s.nodes.takeDown(id)
	n.back = n.answers
	s.breakdowns.evict()
}

// end ends the silence of a node.
func (s *silences) end(id model.NodeID) {
	n := &s.nodes.list[id]
	switch {
	case n.state == model.Down:
		s.nodes.comeBack(id)
	case n.state == model.Degraded && n.missed:
		s.nodes.setState(id, model.Ready)
	}
	n.missed = false
	s.times[id]++
	s.planNext(id)
}
