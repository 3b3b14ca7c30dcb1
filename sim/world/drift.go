package world

import (
	"errors"
	"fmt"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
)

// Drift is how nodes come to differ from the fingerprint of their group, by an update that reached some of them or a
// setting that was changed by hand. The next check finds it. The node then drains, jobs on it go on, and it takes
// work again when it is as it was.
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

// drifts is how often the fingerprint of each node was found to have changed.
type drifts struct {
	*base
	nodes *nodeStates
	found []int32
}

// plan draws when the fingerprint of each node changes first.
func (d *drifts) plan() {
	if d.cfg.Faults.Drift.Life == nil {
		return
	}
	d.found = make([]int32, len(d.nodes.list))
	for i := range d.nodes.list {
		d.planNext(model.NodeID(i))
	}
}

// planNext draws when that of a node changes next, and finds the check that sees it. Nodes are checked at instants of
// their own, as agents start at different times.
func (d *drifts) planNext(id model.NodeID) {
	law := &d.cfg.Faults.Drift
	src := draw.New(d.cfg.Seed, driftStream, uint64(id), uint64(d.found[id]))
	at := d.now.Add(lasts(law.Life, &src))
	checks := draw.New(d.cfg.Seed, checkStream, uint64(id), 0)
	phase := model.Duration(checks.IntN(int64(law.Check)))
	since := (at.Sub(0) - phase) % law.Check
	if since < 0 {
		since += law.Check
	}
	if since > 0 {
		at = at.Add(law.Check - since)
	}
	if at <= d.cfg.Faults.Until {
		d.push(des.NewEvent(at, des.RankNodeDown, model.JobID(id), byDrift))
	}
}

// find drains a node whose fingerprint has changed, until that is put right. Both happen when they were drawn,
// whatever else befell the node.
func (d *drifts) find(id model.NodeID) {
	d.Meter.Drifts++
	d.nodes.remedyAfter(id, d.cfg.Faults.Drift.Remedy)
	d.found[id]++
	d.planNext(id)
}
