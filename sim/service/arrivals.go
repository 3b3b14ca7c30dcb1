package service

import (
	"orrery/scheduler/model"
	"orrery/sim/des"
	"orrery/sim/service/demand"
)

// arrivals schedules the requests of a worker that takes them one by one, each when the
// one before it has come.
type arrivals struct {
	s      *Sim
	source *demand.Arrivals
	coming demand.Arrival // the one that is scheduled
}

func (a *arrivals) begin(model.Time) (err error) {
	if a.source, err = demand.NewArrivals(a.s.demand, a.s.cfg.Draws); err != nil {
		return err
	}
	a.fetch()
	return nil
}

// fetch schedules the next request.
func (a *arrivals) fetch() {
	var ok bool
	if a.coming, ok = a.source.Next(); ok && a.coming.At < a.s.demand.End {
		a.s.push(a.coming.At, des.RankSubmission, 0, 0)
	}
}

// take is the request that has come; the next one is scheduled.
func (a *arrivals) take() demand.Arrival {
	x := a.coming
	a.fetch()
	return x
}

// settle has nothing to do: there are no flows.
func (a *arrivals) settle(model.Time) {}
