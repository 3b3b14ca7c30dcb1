package world

import (
	"orrery/scheduler/model"
	"orrery/sim/des"
	"orrery/sim/world/translate"
)

// rankOf is the place of a change within its instant.
func rankOf(c *translate.Change) des.Rank {
	switch c.Kind {
	case translate.NodeRepaired, translate.NodeUndrained:
		return des.RankNodeUp
	case translate.NodeFails, translate.NodeDrains, translate.NodeDegrades:
		return des.RankNodeDown
	}
	return des.RankChange
}

var changeFacts = map[translate.ChangeKind]model.FactKind{
	translate.PriceChange: model.FactPrice, translate.PowerChange: model.FactPower, translate.BandwidthChange: model.FactBandwidth, translate.PoolChange: model.FactSensitivePool,
}

// change lets the row i of the changes happen.
func (s *Site) change(i int32) {
	c := &s.cfg.Changes[i]
	happens := true
	switch c.Kind {
	case translate.NodeFails:
		happens = s.down(c.Node)
	case translate.NodeRepaired:
		happens = s.repair(c.Node)
	case translate.NodeDrains:
		happens = s.drain(c.Node)
	case translate.NodeUndrained:
		happens = s.undrain(c.Node)
	case translate.NodeDegrades:
		if happens = s.nodes[c.Node].state == model.Ready; happens {
			s.setState(c.Node, model.Degraded)
		}
	case translate.LimitsChange:
		s.emit(&model.Fact{Kind: model.FactLimits, Tenant: c.Tenant, Limits: &c.Limits})
	case translate.DemandChange:
		happens = s.demand(i)
	default:
		if c.Kind == translate.PowerChange {
			s.cap, s.uneven = c.Value, s.cfg.Power.Slow
			if s.cfg.Power.Slow { // the core knows of no cap
				return
			}
		}
		s.emit(&model.Fact{Kind: changeFacts[c.Kind], Value: c.Value})
	}
	if !happens {
		s.Meter.Moot++
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
	s.emit(&model.Fact{Kind: model.FactDemand, Job: s.jobs.At(ref).rec.Job, Ref: ref, Value: c.Value})
	return true
}

// addService notes that a reactive service has been submitted, and has it told what it
// is to have if that was said before.
func (s *Site) addService(ref model.Ref) {
	id := s.jobs.At(ref).rec.ID
	s.services[id] = ref
	if i, said := s.demands[id]; said {
		delete(s.demands, id)
		s.Meter.Moot--
		s.push(des.NewEvent(s.now, des.RankChange, model.JobID(i), byChange))
	}
}

func (s *Site) repair(id model.NodeID) bool {
	n := &s.nodes[id]
	switch n.state {
	case model.Down:
		n.back = s.now.Add(s.cfg.BootDelay).Add(s.failedBoots(id))
		s.push(des.NewEvent(n.back, des.RankNodeUp, model.JobID(id), byRepair))
	case model.Degraded:
		s.setState(id, model.Ready)
	default:
		return false
	}
	return true
}

func (s *Site) undrain(id model.NodeID) bool {
	n := &s.nodes[id]
	n.mended = model.AbsentTime
	switch {
	case n.state == model.Draining || n.state == model.Drained:
		s.setState(id, model.Ready)
	case (n.state == model.Wiping || n.state == model.Down) && n.then == model.Drained:
		n.then = model.Ready
	default:
		return false
	}
	return true
}
