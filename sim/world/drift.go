package world

import (
	"errors"
	"fmt"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
)

// Drift is how nodes come to differ from the fingerprint of their group, by an update that
// reached some of them or a setting that was changed by hand. The next check finds it. The node then
// drains, jobs on it go on, and it takes work again when it is as it was.
type Drift struct {
	Life   hwmodel.Lifetime // until a node differs; nil for never
	Remedy hwmodel.Lifetime // from the check on
	Check  model.Duration   // between two checks of a node
}

var (
	driftStream = draw.StreamOf("fingerprint drift")
	checkStream = draw.StreamOf("fingerprint check")
)

func (d *Drift) validate() error {
	switch {
	case d.Life == nil:
		return nil
	case d.Check <= 0:
		return fmt.Errorf("fingerprints are checked each %s: give more than 0", d.Check)
	}
	return errors.Join(d.Life.Validate(), validateRepair(d.Remedy))
}

// planDrifts draws when the fingerprint of each node changes first.
func (s *Site) planDrifts() {
	if s.cfg.Faults.Drift.Life == nil {
		return
	}
	s.drifted = make([]int32, len(s.nodes))
	for i := range s.nodes {
		s.planDrift(model.NodeID(i))
	}
}

// planDrift draws when that of a node changes next, and finds the check that sees it. Nodes are
// checked at instants of their own, as agents start at different times.
func (s *Site) planDrift(id model.NodeID) {
	d := &s.cfg.Faults.Drift
	src := draw.New(s.cfg.Seed, driftStream, uint64(id), uint64(s.drifted[id]))
	at := s.now.Add(lasts(d.Life, &src))
	checks := draw.New(s.cfg.Seed, checkStream, uint64(id), 0)
	phase := model.Duration(checks.IntN(int64(d.Check)))
	since := (at.Sub(0) - phase) % d.Check
	if since < 0 {
		since += d.Check
	}
	if since > 0 {
		at = at.Add(d.Check - since)
	}
	if at <= s.cfg.Faults.Until {
		s.push(des.NewEvent(at, des.RankNodeDown, model.JobID(id), byDrift))
	}
}

// findDrift drains a node whose fingerprint has changed, until that is put right. Both happen
// when they were drawn, whatever else befell the node.
func (s *Site) findDrift(id model.NodeID) {
	s.Meter.Drifts++
	s.remedyAfter(id, s.cfg.Faults.Drift.Remedy)
	s.drifted[id]++
	s.planDrift(id)
}
