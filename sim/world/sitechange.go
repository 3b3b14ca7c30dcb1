package world

import (
	"orrery/scheduler/model"
	"orrery/sim/des"
)

// ChangeKind says what changes at a site from outside.
type ChangeKind uint8

const (
	NodeFails       ChangeKind = iota // Node: down with all its jobs
	NodeRepaired                      // Node: a node that is down or degraded is ready, or drained if it was
	NodeDrains                        // Node: running work ends, nothing starts, then it is drained
	NodeUndrained                     // Node: a draining or drained node is ready
	NodeDegrades                      // Node: running work goes on, nothing starts
	LimitsChange                      // Tenant, Limits
	PriceChange                       // Value: a Fixed from 0 to 1
	PowerChange                       // Value: the cap in W, 0 for none
	BandwidthChange                   // Value: the cap in B/s, 0 for none
	PoolChange                        // Value: most nodes of sensitive work, 0 for no bound
	DemandChange                      // ID, Value: the reactive service is to have so many nodes
)

// Change is a change of the site that no job causes: a row of the events table
// in the words of the site. A change that finds nothing to change, such as the
// repair of a node that works, is counted and does nothing.
type Change struct {
	At     model.Time
	Kind   ChangeKind
	Node   model.NodeID
	Tenant model.TenantID
	Value  int64
	ID     int64 // the log's own number of a job
	Limits model.Limits
}

// rank is the place of c within its instant.
func (c *Change) rank() des.Rank {
	switch c.Kind {
	case NodeRepaired, NodeUndrained:
		return des.RankNodeUp
	case NodeFails, NodeDrains, NodeDegrades:
		return des.RankNodeDown
	}
	return des.RankChange
}

var changeFacts = map[ChangeKind]model.FactKind{
	PriceChange: model.FactPrice, PowerChange: model.FactPower, BandwidthChange: model.FactBandwidth, PoolChange: model.FactSensitivePool,
}

// change lets the row i of the changes happen.
func (s *Site) change(i int32) {
	c := &s.cfg.Changes[i]
	happens := true
	switch c.Kind {
	case NodeFails:
		happens = s.down(c.Node)
	case NodeRepaired:
		happens = s.repair(c.Node)
	case NodeDrains:
		happens = s.drain(c.Node)
	case NodeUndrained:
		happens = s.undrain(c.Node)
	case NodeDegrades:
		if happens = s.nodes[c.Node].state == model.Ready; happens {
			s.set(c.Node, model.Degraded)
		}
	case LimitsChange:
		s.emit(&model.Fact{Kind: model.FactLimits, Tenant: c.Tenant, Limits: &c.Limits})
	case DemandChange:
		happens = s.demand(i)
	default:
		s.emit(&model.Fact{Kind: changeFacts[c.Kind], Value: c.Value})
	}
	if !happens {
		s.State.Moot++
	}
}

// demand says what the service named by row i of the changes is to have. One that has
// not been submitted yet is told when it is; until then there is nothing to change.
func (s *Site) demand(i int32) bool {
	c := &s.cfg.Changes[i]
	ref, known := s.services[c.ID]
	if !known {
		s.demands[c.ID] = i
		return false
	}
	s.emit(&model.Fact{Kind: model.FactDemand, Job: s.lives[ref].rec.Job, Ref: ref, Value: c.Value})
	return true
}

// serves notes that a reactive service has been submitted, and has it told what it
// is to have if that was said before.
func (s *Site) serves(ref model.Ref) {
	id := s.lives[ref].rec.ID
	s.services[id] = ref
	if i, said := s.demands[id]; said {
		delete(s.demands, id)
		s.State.Moot--
		s.push(des.NewEvent(s.now, des.RankChange, model.JobID(i), byChange))
	}
}

func (s *Site) repair(id model.NodeID) bool {
	n := &s.nodes[id]
	switch n.state {
	case model.Down:
		n.back = s.now.Add(s.cfg.BootDelay)
		s.push(des.NewEvent(n.back, des.RankNodeUp, model.JobID(id), byReturn))
	case model.Degraded:
		s.set(id, model.Ready)
	default:
		return false
	}
	return true
}

func (s *Site) undrain(id model.NodeID) bool {
	n := &s.nodes[id]
	switch {
	case n.state == model.Draining || n.state == model.Drained:
		s.set(id, model.Ready)
	case (n.state == model.Wiping || n.state == model.Down) && n.then == model.Drained:
		n.then = model.Ready
	default:
		return false
	}
	return true
}
