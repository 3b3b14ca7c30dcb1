package naive_test

import (
	"slices"

	"orrery/scheduler/model"
)

// naiveNeeds is what more is to be reckoned with.
type naiveNeeds struct {
	power, band int64
	on          []int // nodes that are not idle then
	less        int64 // that others are not which are not known, at least
}

// needsOn is what j is reckoned with on definite nodes.
func (s *naiveSite) needsOn(j *naiveJob, c *naiveChoice) naiveNeeds {
	return naiveNeeds{power: s.drawOf(j, c), band: j.Demand(int32(len(c.nodes))), on: c.nodes}
}

// withinCaps says whether so much more keeps the caps. Who asks for nothing
// breaks none.
func (s *naiveSite) withinCaps(needs naiveNeeds, gone func(*naiveJob) bool) bool {
	if s.power == 0 && s.band == 0 {
		return true // there are none
	}
	power, band := s.reckoned(gone, needs.on)
	power, band = power+needs.power-needs.less, band+needs.band
	return (s.power == 0 || needs.power == 0 || power <= s.power) && (s.band == 0 || needs.band == 0 || band <= s.band)
}

// reckoned is what counts against the caps when some are gone, and others are on some nodes.
func (s *naiveSite) reckoned(gone func(*naiveJob) bool, on []int) (power, band int64) {
	held := slices.Clone(on)
	for _, o := range s.holders {
		if !gone(o) {
			power += s.draws(o)
			band += o.Demand(int32(len(o.nodes)))
			held = append(held, o.nodes...)
		}
		if most := o.most(); o.grows() && !(gone(o) && o.behind) { // the growth that is in flight stays
			power += s.drawOf(o, most) - s.draws(o)
			band += o.Demand(int32(len(most.nodes))) - o.Demand(int32(len(o.nodes)))
			held = append(held, o.gains().nodes...)
		}
	}
	if s.st.CountIdle {
		for n := range s.st.Nodes {
			if s.up[n] != model.Down && !slices.Contains(held, n) {
				power += s.st.Nodes[n].IdlePower
			}
		}
	}
	return power, band
}

// stated is the power and bandwidth that j is reckoned with as long as its nodes are
// not known: as many of those that draw most of the nodes that it may use. Whole ones are
// not idle any more, of which each draws the least of them at least.
func (s *naiveSite) stated(j *naiveJob) naiveNeeds {
	most, idle := s.mostAndIdle(j)
	needs := naiveNeeds{power: most * int64(j.NodesMin), band: j.IODemand}
	if j.Power > 0 {
		needs.power = j.Power
	}
	if !j.Divides() {
		needs.less = idle * int64(j.NodesMin)
	}
	return needs
}

// statedMore is the power and bandwidth that j, which runs, is reckoned with beside more nodes
// that are not known: each may be the one that draws most of those that it may use.
func (s *naiveSite) statedMore(j *naiveJob) naiveNeeds {
	size := int64(len(j.nodes) + j.more)
	most, idle := s.mostAndIdle(j)
	needs := naiveNeeds{power: s.drawOf(j, j.has()) + most*int64(j.more), band: j.Demand(int32(size)), on: j.nodes}
	if j.Power > 0 {
		needs.power = j.Power * size / int64(j.NodesMin)
	}
	if !j.Divides() {
		needs.less = idle * int64(j.more)
	}
	return needs
}

// mostAndIdle are what the node at work draws that draws most of those that j may use, and what
// the one without a job does that draws least, where that counts.
func (s *naiveSite) mostAndIdle(j *naiveJob) (most, idle int64) {
	for i, n := range s.may(j) {
		most = max(most, s.st.Nodes[n].BusyPower)
		if i == 0 || s.st.Nodes[n].IdlePower < idle {
			idle = s.st.Nodes[n].IdlePower
		}
	}
	if !s.st.CountIdle {
		idle = 0
	}
	return most, idle
}
