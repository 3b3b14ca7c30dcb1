package site

import "orrery/scheduler/order"

// mode is what follows from the mode of a policy, worked out once: nothing else asks
// for it.
type mode struct {
	coded            bool // its rule is that of package ascoded
	scoreOnly        bool // no other ranking will do
	fixedServiceSize bool // services keep the size that they start with
	conformanceFirst bool // as place.Query has it
	promises         bool // others are told what the first blocked job is to get, where they could take it
	bounded          bool // scores have bounds, and only which job starts matters
}

// mode of the policy.
func (p *Policy) mode() mode {
	if p.AsCoded {
		return mode{coded: true, scoreOnly: true, fixedServiceSize: true, conformanceFirst: true}
	}
	return mode{
		conformanceFirst: p.ConformanceFirst,
		promises:         !p.Private && (p.Backfill == order.Easy || p.Backfill == order.Conservative),
		bounded:          p.Ranking == ByScore && !p.Expected && p.MinScore == 0 && (p.Backfill == order.None || p.Backfill == order.Easy),
	}
}
