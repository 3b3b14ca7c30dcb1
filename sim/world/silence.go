package world

import (
	"errors"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
)

// Silence is how agents fall silent on nodes that work. Jobs there go on. The scheduler learns no
// more of the node than of one that is broken: nothing starts there, then the node counts as down
// and its jobs as failed. When the agent answers again the node takes work, without a boot.
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

// planSilences draws when each agent falls silent first.
func (s *Site) planSilences() {
	if s.cfg.Faults.Silence.Life == nil {
		return
	}
	s.silenced = make([]int32, len(s.nodes))
	for i := range s.nodes {
		s.planSilence(model.NodeID(i))
	}
}

// silence is the draws of the next silence of a node: when it begins, from now on, and its length.
func (s *Site) silence(id model.NodeID) (begins, length model.Duration) {
	m := &s.cfg.Faults.Silence
	src := draw.New(s.cfg.Seed, silenceStream, uint64(id), uint64(s.silenced[id]))
	begins = lasts(m.Life, &src)
	return begins, lasts(m.Length, &src)
}

func (s *Site) planSilence(id model.NodeID) {
	begins, _ := s.silence(id)
	if at := s.now.Add(begins); at <= s.cfg.Faults.Until {
		s.push(des.NewEvent(at, des.RankNodeDown, model.JobID(id), byMute))
	}
}

// fallSilent begins the silence of a node.
func (s *Site) fallSilent(id model.NodeID) {
	s.Meter.SilentAgents++
	_, length := s.silence(id)
	n, h := &s.nodes[id], s.cfg.Faults.Heartbeat
	n.answers = s.now.Add(length)
	if length > h.Degraded {
		s.push(des.NewEvent(s.now.Add(h.Degraded), des.RankNodeDown, model.JobID(id), byLateAgent))
	}
	if length > h.Down {
		s.push(des.NewEvent(s.now.Add(h.Down), des.RankNodeDown, model.JobID(id), byGoneAgent))
	}
	s.push(des.NewEvent(n.answers, des.RankNodeUp, model.JobID(id), byAnswer))
}

// missAgent lets nothing start on a node whose agent is not heard of.
func (s *Site) missAgent(id model.NodeID) {
	if n := &s.nodes[id]; n.state == model.Ready {
		s.setState(id, model.Degraded)
		n.missed = true
	}
}

// loseAgent takes a node down of which nothing is heard, unless something else has.
func (s *Site) loseAgent(id model.NodeID) {
	n := &s.nodes[id]
	if n.state == model.Down || s.silences > 0 && s.silent.Has(id) {
		return
	}
	s.takeDown(id)
	n.back = n.answers
	s.evict()
}

// hearAgent ends the silence of a node.
func (s *Site) hearAgent(id model.NodeID) {
	n := &s.nodes[id]
	switch {
	case n.state == model.Down:
		s.comeBack(id)
	case n.state == model.Degraded && n.missed:
		s.setState(id, model.Ready)
	}
	n.missed = false
	s.silenced[id]++
	s.planSilence(id)
}
