package world

import (
	"slices"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/sim/des"
)

// node is what a site knows of one of its nodes beside the site file.
type node struct {
	state   model.NodeState
	then    model.NodeState // what it becomes when it is repaired or wiped
	sharers int32           // jobs that hold a part of it
	dirty   bool            // sensitive work was on it last
	broken  bool            // it went down by a failure that was drawn
	mended  model.Time      // when it is mended after a prologue failed on it, or its fingerprint has drifted; AbsentTime for never
	answers model.Time      // when its agent answers that has fallen silent
	missed  bool            // it is degraded since its agent is silent
	back    model.Time      // when it is repaired or wiped; AbsentTime when nothing is under way
}

// What an event of a node is about, in the place of its ref.
const (
	byChange    model.Ref = iota // job is the row of SiteConfig.Changes
	byFault                      // job is the part, see failing, which breaks or is repaired
	byRepair                     // job is the node, which is clean or has booted
	byRelease                    // job is the node, which a job left that goes on elsewhere
	byOverdue                    // job is the part, whose heartbeats are late
	bySilence                    // job is the part, whose heartbeats have stopped
	byPrologue                   // job is the node, on which a prologue fails
	byRemedy                     // job is the node, which is mended after that, or after a drift
	byDrift                      // job is the node, of which a check finds that its fingerprint has changed
	byMute                       // job is the node, whose agent falls silent
	byLateAgent                  // job is the node, whose agent is late
	byGoneAgent                  // job is the node, whose agent has been silent for long
	byAnswer                     // job is the node, whose agent answers again
)

func (s *Site) nodeEvent(e des.Event) {
	i := int(e.Job())
	switch e.Ref() {
	case byChange:
		s.change(int32(i))
	case byRelease:
		s.nodeFreed(model.NodeID(i), s.nodes[i].dirty)
	case byRepair:
		s.comeBack(model.NodeID(i))
	case byRemedy:
		s.remedy(model.NodeID(i))
	case byDrift:
		s.findDrift(model.NodeID(i))
	case byMute:
		s.fallSilent(model.NodeID(i))
	case byLateAgent:
		s.missAgent(model.NodeID(i))
	case byGoneAgent:
		s.loseAgent(model.NodeID(i))
	case byAnswer:
		s.hearAgent(model.NodeID(i))
	case byOverdue:
		s.degradeSilent(i)
	case bySilence:
		s.losePart(i)
	case byFault:
		if e.Rank() == des.RankNodeDown {
			s.breakPart(i)
			return
		}
		for _, id := range s.nodesOf(i) {
			s.comeBack(id)
		}
		s.failures[i]++
		s.planFailure(i)
	}
}

// comeBack lets a node take work again if its repair or wipe ends now.
func (s *Site) comeBack(id model.NodeID) {
	n := &s.nodes[id]
	if n.back != s.now {
		return
	}
	n.back = model.AbsentTime
	if !n.state.CanBecome(n.then) {
		s.setState(id, model.Ready) // clean again, and still degraded
	}
	s.setState(id, n.then)
}

// setState changes the state of a node and says so.
func (s *Site) setState(id model.NodeID, state model.NodeState) {
	n := &s.nodes[id]
	idle := s.band(s.site.Nodes[id].IdlePower, s.cfg.Power.IdleBand)
	if n.state == model.Down {
		s.drawMore(idle)
	}
	if state == model.Down {
		s.drawMore(hwmodel.Watts{}.Minus(idle))
	}
	if n.state == model.Draining {
		s.draining.Remove(id)
		s.drains--
	}
	if state == model.Draining {
		s.draining.Add(id)
		s.drains++
	}
	n.state = state
	s.emit(&model.Fact{Kind: model.FactNode, Node: id, State: state})
}

// down takes a node and all jobs on it down, unless it is down already.
func (s *Site) down(id model.NodeID) bool {
	if s.nodes[id].state == model.Down {
		return false
	}
	s.takeDown(id)
	s.evict()
	return true
}

// takeDown takes a node down that is not, and leaves its jobs to evict.
func (s *Site) takeDown(id model.NodeID) {
	n := &s.nodes[id]
	n.back, n.broken = model.AbsentTime, false
	if n.state == model.Draining || n.state == model.Drained || n.state == model.Wiping && n.then == model.Drained {
		n.then = model.Drained
	} else {
		n.then = model.Ready
	}
	if s.silences > 0 && s.silent.Has(id) {
		s.silent.Remove(id)
		s.silences--
	}
	s.Meter.NodesLost++
	s.setState(id, model.Down)
	if s.occupied(id) {
		s.lost.Add(id)
		s.lostNodes = append(s.lostNodes, id)
	}
}

// evict fails the jobs on nodes that have been taken down, by job. Cost: the jobs in the
// system, once for all nodes that a failure takes down together.
func (s *Site) evict() {
	if len(s.lostNodes) == 0 {
		return
	}
	hit := s.jobsOn(s.lost)
	for _, id := range s.lostNodes {
		s.lost.Remove(id)
	}
	s.lostNodes = s.lostNodes[:0]
	for _, ref := range hit {
		s.fail(ref, model.ReasonNodeFailure, true)
	}
}

// jobsOn are the running jobs that hold a node of a set or a part of one, by job; valid
// until it is asked again. Cost: the jobs in the system.
func (s *Site) jobsOn(nodes model.NodeSet) []model.Ref {
	on := s.refsBuf[:0]
	for ref := range model.Ref(s.jobs.Len()) {
		l := s.jobs.At(ref)
		if l.present && (l.rec.State == model.Running || l.rec.State == model.Checkpointing) && holdsAny(s.quorum.Held(ref), nodes) {
			on = append(on, ref)
		}
	}
	//detlint:total a job has one ref
	slices.SortFunc(on, func(a, b model.Ref) int { return int(s.jobs.At(a).rec.Job) - int(s.jobs.At(b).rec.Job) })
	s.refsBuf = on
	return on
}

// holdsAny says whether a node of a set, or a part of one, is in p.
func holdsAny(p *model.Placement, nodes model.NodeSet) bool {
	for _, w := range p.Words {
		if nodes[w.Word]&w.Mask != 0 {
			return true
		}
	}
	for _, h := range p.Shares {
		if nodes.Has(h.Node) {
			return true
		}
	}
	return false
}

// appendNodes appends the nodes of p that are in among, nil for all of them.
// Without it the cost is the nodes of p, else its words and the nodes appended.
func appendNodes(dst []model.NodeID, p *model.Placement, among model.NodeSet) []model.NodeID {
	for _, w := range p.Words {
		if among != nil {
			w.Mask &= among[w.Word]
		}
		for n := range w.Nodes {
			dst = append(dst, n)
		}
	}
	for _, h := range p.Shares {
		if among == nil || among.Has(h.Node) {
			dst = append(dst, h.Node)
		}
	}
	return dst
}

// drain lets no new work on a node, and calls it drained when there is none on
// it: neither running nor writing a checkpoint.
func (s *Site) drain(id model.NodeID) bool {
	n := &s.nodes[id]
	n.mended = model.AbsentTime
	switch n.state {
	case model.Ready, model.Degraded:
		s.setState(id, model.Draining)
		s.nodeFreed(id, false)
	case model.Wiping, model.Down:
		n.then = model.Drained
	default:
		return false
	}
	return true
}

// nodeFreed looks at a node that a job has left, sensitive or not.
func (s *Site) nodeFreed(id model.NodeID, sensitive bool) {
	n := &s.nodes[id]
	switch {
	case s.occupied(id):
	case n.state == model.Draining:
		s.setState(id, model.Drained)
	case sensitive && s.cfg.Wipe > 0 && (n.state == model.Ready || n.state == model.Degraded):
		n.then, n.back = n.state, s.now.Add(s.cfg.Wipe)
		s.setState(id, model.Wiping)
		s.push(des.NewEvent(n.back, des.RankNodeUp, model.JobID(id), byRepair))
	}
}
