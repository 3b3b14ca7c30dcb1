package world

import (
	"math"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
	"orrery/sim/world/internal/power"
)

// node is what a site knows of one of its nodes beside the site file.
type node struct {
	state   model.NodeState
	then    model.NodeState // what it becomes when it is repaired or wiped
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

var (
	bootStream   = draw.StreamOf("node boot")
	remedyStream = draw.StreamOf("remedy after a prologue")
)

// nodeStates is the states of the nodes of a site: which take work, are drained, wiped, down or booting.
type nodeStates struct {
	*base
	ledger    *ledger
	feed      *power.Feed
	list      []node
	draining  model.NodeSet
	drains    int           // of them
	silent    model.NodeSet // that are broken and not known to be
	silences  int           // of them
	lost      model.NodeSet // that are down and whose jobs have not been evicted yet
	lostNodes []model.NodeID
}

// enter takes over node id as the site file has it.
func (ns *nodeStates) enter(id model.NodeID) {
	site, n := &ns.cfg.Site.Nodes[id], &ns.list[id]
	if n.state = site.State; n.state == model.Draining {
		ns.draining.Add(id)
		ns.drains++
	}
	if n.state != model.Down {
		ns.Meter.Draw = ns.Meter.Draw.Plus(power.Band(site.IdlePower, ns.cfg.Power.IdleBand))
	}
	n.back, n.mended = model.AbsentTime, model.AbsentTime
}

// setState changes the state of a node and says so.
func (ns *nodeStates) setState(id model.NodeID, state model.NodeState) {
	n := &ns.list[id]
	idle := power.Band(ns.cfg.Site.Nodes[id].IdlePower, ns.cfg.Power.IdleBand)
	if n.state == model.Down {
		ns.feed.Add(idle)
	}
	if state == model.Down {
		ns.feed.Add(hwmodel.Watts{}.Minus(idle))
	}
	if n.state == model.Draining {
		ns.draining.Remove(id)
		ns.drains--
	}
	if state == model.Draining {
		ns.draining.Add(id)
		ns.drains++
	}
	n.state = state
	ns.emit(&model.Fact{Kind: model.FactNode, Node: id, State: state})
}

// comeBack lets a node take work again if its repair or wipe ends now.
func (ns *nodeStates) comeBack(id model.NodeID) {
	n := &ns.list[id]
	if n.back != ns.now {
		return
	}
	n.back = model.AbsentTime
	if !n.state.CanBecome(n.then) {
		ns.setState(id, model.Ready) // clean again, and still degraded
	}
	ns.setState(id, n.then)
}

// takeDown takes a node down that is not, and leaves its jobs to evict.
func (ns *nodeStates) takeDown(id model.NodeID) {
	n := &ns.list[id]
	n.back, n.broken = model.AbsentTime, false
	if n.state == model.Draining || n.state == model.Drained || n.state == model.Wiping && n.then == model.Drained {
		n.then = model.Drained
	} else {
		n.then = model.Ready
	}
	if ns.silences > 0 && ns.silent.Has(id) {
		ns.silent.Remove(id)
		ns.silences--
	}
	ns.Meter.NodesLost++
	ns.setState(id, model.Down)
	if ns.ledger.occupied(id) {
		ns.lost.Add(id)
		ns.lostNodes = append(ns.lostNodes, id)
	}
}

// drain lets no new work on a node, and calls it drained when there is none on it: neither running nor writing a
// checkpoint.
func (ns *nodeStates) drain(id model.NodeID) bool {
	n := &ns.list[id]
	n.mended = model.AbsentTime
	switch n.state {
	case model.Ready, model.Degraded:
		ns.setState(id, model.Draining)
		ns.left(id, false)
	case model.Wiping, model.Down:
		n.then = model.Drained
	default:
		return false
	}
	return true
}

// undrain lets a node take work again that is drained, or is to be when it is repaired or wiped.
func (ns *nodeStates) undrain(id model.NodeID) bool {
	n := &ns.list[id]
	n.mended = model.AbsentTime
	switch {
	case n.state == model.Draining || n.state == model.Drained:
		ns.setState(id, model.Ready)
	case (n.state == model.Wiping || n.state == model.Down) && n.then == model.Drained:
		n.then = model.Ready
	default:
		return false
	}
	return true
}

// repair mends a node that is down, which then boots, or degraded.
func (ns *nodeStates) repair(id model.NodeID) bool {
	n := &ns.list[id]
	switch n.state {
	case model.Down:
		n.back = ns.now.Add(ns.cfg.BootDelay).Add(ns.failedBoots(id))
		ns.push(des.NewEvent(n.back, des.RankNodeUp, model.JobID(id), byRepair))
	case model.Degraded:
		ns.setState(id, model.Ready)
	default:
		return false
	}
	return true
}

// mostBoots bounds how often a boot is tried.
const mostBoots = 1000

// failedBoots is how long a node that boots now, or is repaired after a failure of now, takes beyond BootDelay. It
// counts the boots that fail.
func (ns *nodeStates) failedBoots(id model.NodeID) model.Duration {
	f := &ns.cfg.Faults
	if f.BootFails == 0 {
		return 0
	}
	src := draw.New(ns.cfg.Seed, bootStream, uint64(id), uint64(ns.now))
	n := int64(0)
	for n < mostBoots && src.Bool(f.BootFails) {
		n++
	}
	ns.Meter.FailedBoots += n
	return model.Duration(n) * min(f.BootTimeout, math.MaxInt64/mostBoots)
}

// left looks at a node that a job has left, sensitive or not.
func (ns *nodeStates) left(id model.NodeID, sensitive bool) {
	n := &ns.list[id]
	switch {
	case ns.ledger.occupied(id):
	case n.state == model.Draining:
		ns.setState(id, model.Drained)
	case sensitive && ns.cfg.Wipe > 0 && (n.state == model.Ready || n.state == model.Degraded):
		n.then, n.back = n.state, ns.now.Add(ns.cfg.Wipe)
		ns.setState(id, model.Wiping)
		ns.push(des.NewEvent(n.back, des.RankNodeUp, model.JobID(id), byRepair))
	}
}

// recheck has those of the freed nodes that no job holds any more looked at in the next round: they may have to be
// wiped, or count as drained.
func (ns *nodeStates) recheck(freed []model.NodeID, sensitive bool) {
	for _, id := range freed {
		if n := &ns.list[id]; !ns.ledger.occupied(id) && (sensitive || n.state == model.Draining) {
			n.dirty = sensitive
			ns.push(des.NewEvent(ns.now, des.RankNodeDown, model.JobID(id), byRelease))
		}
	}
}

// remedyAfter drains a node that takes work, for as long as it takes to mend it.
func (ns *nodeStates) remedyAfter(id model.NodeID, law hwmodel.Lifetime) {
	if n := &ns.list[id]; n.mended == model.AbsentTime && ns.drain(id) {
		src := draw.New(ns.cfg.Seed, remedyStream, uint64(id), uint64(ns.now))
		n.mended = ns.now.Add(lasts(law, &src))
		ns.push(des.NewEvent(n.mended, des.RankNodeUp, model.JobID(id), byRemedy))
	}
}

// remedy lets a node take work again that remedyAfter drained, unless the log or another fault has drained it in the
// meantime.
func (ns *nodeStates) remedy(id model.NodeID) {
	if ns.list[id].mended == ns.now {
		ns.undrain(id)
	}
}

// standsStill says whether the job under ref holds a node that is broken and not known to be.
func (ns *nodeStates) standsStill(ref model.Ref) bool {
	return ns.silences > 0 && holdsAny(ns.quorum.Held(ref), ns.silent)
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

// appendNodes appends the nodes of p that are in among, nil for all of them. Without it the cost is the nodes of p,
// else its words and the nodes appended.
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
