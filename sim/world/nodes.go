package world

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
)

// node is what a site knows of one of its nodes beside the site file.
type node struct {
	state    model.NodeState
	then     model.NodeState // what it becomes when it is repaired or wiped
	sharers  int32           // jobs that hold a part of it
	failures int32           // drawn so far
	dirty    bool            // sensitive work was on it last
	back     model.Time      // when it is repaired or wiped; AbsentTime when nothing is under way
}

// What an event of a node is about, in the place of its ref.
const (
	byChange  model.Ref = iota // job is the row of SiteConfig.Changes
	byFault                    // job is the node, which breaks or is repaired
	byRepair                   // job is the node, which is clean or has booted
	byRelease                  // job is the node, which a job left that goes on elsewhere
)

func (s *Site) nodeEvent(e des.Event) {
	if e.Ref() == byChange {
		s.change(int32(e.Job()))
		return
	}
	id := model.NodeID(e.Job())
	n := &s.nodes[id]
	switch {
	case e.Ref() == byRelease:
		s.nodeFreed(id, n.dirty)
	case e.Rank() == des.RankNodeDown:
		s.failNode(id)
	case n.back == e.At:
		n.back = model.AbsentTime
		if !n.state.CanBecome(n.then) {
			s.setState(id, model.Ready) // clean again, and still degraded
		}
		s.setState(id, n.then)
	}
	if e.Ref() == byFault && e.Rank() == des.RankNodeUp {
		n.failures++
		s.planFailure(id)
	}
}

// planFailure draws when a node that works breaks next.
func (s *Site) planFailure(id model.NodeID) {
	faults := &s.cfg.Faults
	if faults.MTBF == 0 {
		return
	}
	src := draw.New(s.cfg.Seed, breakStream, uint64(id), uint64(s.nodes[id].failures))
	if at := s.now.Add(exponential(&src, faults.MTBF)); at <= faults.Until {
		s.push(des.NewEvent(at, des.RankNodeDown, model.JobID(id), byFault))
	}
}

// failNode breaks a node and draws when it is repaired. Both happen when they were
// drawn, whatever else befell the node, so that one profile's drains move no
// other failure.
func (s *Site) failNode(id model.NodeID) {
	src := draw.New(s.cfg.Seed, breakStream, uint64(id), uint64(s.nodes[id].failures))
	_ = src.Uint64() // when it broke
	at := s.now.Add(exponential(&src, s.cfg.Faults.MTTR)).Add(s.cfg.BootDelay)
	s.push(des.NewEvent(at, des.RankNodeUp, model.JobID(id), byFault))
	if s.down(id) {
		s.nodes[id].back = at
	}
}

// exponential draws from the exponential distribution of a mean, at least 1 µs.
func exponential(src *draw.Source, mean model.Duration) model.Duration {
	x := float64(src.Exponential() * float64(mean))
	return model.Duration(max(1, min(x, float64(100*365*model.Day))))
}

// setState changes the state of a node and says so.
func (s *Site) setState(id model.NodeID, state model.NodeState) {
	n := &s.nodes[id]
	idle := s.band(s.site.Nodes[id].IdlePower, s.cfg.Power.IdleBand)
	if n.state == model.Down {
		s.Meter.Draw = s.Meter.Draw.Plus(idle)
		s.uneven = s.cfg.Power.Slow
	}
	if state == model.Down {
		s.Meter.Draw = s.Meter.Draw.Minus(idle)
		s.uneven = s.cfg.Power.Slow
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
	n := &s.nodes[id]
	if n.state == model.Down {
		return false
	}
	n.back = model.AbsentTime
	if n.state == model.Draining || n.state == model.Drained || n.state == model.Wiping && n.then == model.Drained {
		n.then = model.Drained
	} else {
		n.then = model.Ready
	}
	s.Meter.NodesLost++
	s.setState(id, model.Down)
	if s.occupied(id) {
		s.evict(id)
	}
	return true
}

// evict fails the jobs that hold a node or a part of it, by job. Cost: the jobs
// in the system.
func (s *Site) evict(id model.NodeID) {
	hit := s.refsBuf[:0]
	for ref := range model.Ref(s.jobs.Len()) {
		l := s.jobs.At(ref)
		if l.present && (l.rec.State == model.Running || l.rec.State == model.Checkpointing) && holds(s.quorum.Held(ref), id) {
			hit = append(hit, ref)
		}
	}
	//detlint:total a job has one ref
	slices.SortFunc(hit, func(a, b model.Ref) int { return int(s.jobs.At(a).rec.Job) - int(s.jobs.At(b).rec.Job) })
	s.refsBuf = hit
	for _, ref := range hit {
		s.fail(ref, model.ReasonNodeFailure, true)
	}
}

func holds(p *model.Placement, id model.NodeID) bool {
	for _, w := range p.Words {
		if w.Word == int32(id>>6) {
			return w.Mask>>(id&63)&1 != 0
		}
	}
	for _, h := range p.Shares {
		if h.Node == id {
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
