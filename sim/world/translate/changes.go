package translate

import "orrery/scheduler/model"

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

// Outage is a span [From, Until) in which the quorum answers no proposal. What
// happens without one (submissions, ends, failures) is observed all the same.
type Outage struct{ From, Until model.Time }
