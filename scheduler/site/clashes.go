package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/place"
)

// forecasts are what comes free when jobs leave.
type forecasts struct{ *view }

func (v *view) forecasts() forecasts { return forecasts{v} }

// A proposal in flight may name nodes that another vCluster was granted meanwhile.
// Such a node comes free when all jobs that hold it have left, so a walk of the
// predicted ends of a vCluster marks the jobs that are past.

// clashes says whether a proposal of the vCluster in flight names nodes that others hold. Its
// cost is that of the nodes in flight.
func (p forecasts) clashes() bool {
	for _, ref := range p.qs.inFlight {
		if p.core.free.Holds(&p.core.jobs[ref].placement) {
			return true
		}
	}
	for x := range p.core.resizes.Of(p.qs.id) {
		if p.core.free.Holds(&x.Gained) {
			return true
		}
	}
	return false
}

// eachStaying calls f with the placement of each job, seen by the vCluster, that is not
// past, and with what its services gain by proposals in flight.
func (p forecasts) eachStaying(f func(*model.Placement)) {
	for _, refs := range [...][]model.Ref{p.core.active, p.qs.inFlight} {
		for _, ref := range refs {
			if j := &p.core.jobs[ref]; j.pastWalk != p.core.walk {
				f(&j.placement)
			}
		}
	}
	for x := range p.core.resizes.Of(p.qs.id) {
		f(&x.Gained)
	}
}

// giveInForecast gives the nodes of ref back in the forecast, but for those that jobs
// that clash with it still hold.
func (p forecasts) giveInForecast(forecast *place.Free, ref model.Ref, clashes bool) {
	forecast.Give(&p.core.jobs[ref].placement)
	if clashes {
		p.core.markPast(ref)
		p.eachStaying(forecast.Retake)
	}
}

// comesFree is the nodes of ref that will take work again when it leaves. The set is
// valid until the next call.
func (p forecasts) comesFree(ref model.Ref, clashes bool) model.NodeSet {
	free := p.core.buf.extra
	clear(free)
	for _, w := range p.core.jobs[ref].placement.Words {
		free[w.Word] |= w.Mask & p.core.ready[w.Word]
	}
	if clashes {
		p.core.markPast(ref)
		p.eachStaying(func(placement *model.Placement) {
			for _, w := range placement.Words {
				free[w.Word] &^= w.Mask
			}
		})
	}
	return free
}
