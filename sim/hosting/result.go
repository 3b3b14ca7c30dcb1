package hosting

import (
	"orrery/scheduler/model"
	"orrery/sim/metric/elastic"
	"orrery/sim/service"
)

// Result is what came of a service.
type Result struct {
	Name, Policy string
	ID           int64        // of its job
	From         model.Time   // where the clock of Outcome is 0
	Nodes        int32        // of each replica
	Price        float64      // of a replica hour
	Missable     float64      // share of the requests of a step that may be missed
	Rejected     model.Reason // at submission
	Outcome      service.Outcome
	Elastic      elastic.Values
	Measured     bool // there were steps, so that Elastic says something
	Needs        []int64

	NodeTime  model.Duration // nodes that it held, over time
	Demands   int64          // for more nodes
	Unmet     []int64        // of them, by the reason for which nodes were lacking
	AtMax     int64          // of them, for replicas beyond max while others drained
	Lacking   int64          // nodes that those unmet lacked
	Reclaimed int64          // replicas that went with nodes which their home wanted back
	Lost      int64          // replicas that went when the service lost its place
	Preempted int64          // times that it was asked to leave
}

// close takes in the outcome.
func (r *Result) close(o *service.Outcome, needs []int64) {
	r.Outcome, r.Needs = *o, needs
	n := min(len(o.Timeline), len(needs))
	x := elastic.Series{Step: o.Step, Demand: make([]float64, n), Supply: make([]float64, n)}
	for i := range n {
		x.Demand[i], x.Supply[i] = float64(needs[i]), float64(o.Timeline[i].Supply)
	}
	if v, err := elastic.Measure(x); err == nil {
		r.Elastic, r.Measured = v, true
	}
}
