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
		happens = s.breakdowns.down(c.Node)
	case translate.NodeRepaired:
		happens = s.nodes.repair(c.Node)
	case translate.NodeDrains:
		happens = s.nodes.drain(c.Node)
	case translate.NodeUndrained:
		happens = s.nodes.undrain(c.Node)
	case translate.NodeDegrades:
		if happens = s.nodes.list[c.Node].state == model.Ready; happens {
			s.nodes.setState(c.Node, model.Degraded)
		}
	case translate.LimitsChange:
		s.emit(&model.Fact{Kind: model.FactLimits, Tenant: c.Tenant, Limits: &c.Limits})
	case translate.DemandChange:
		happens = s.services.demand(i)
	default:
		if c.Kind == translate.PowerChange {
			s.feed.SetCap(c.Value)
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
