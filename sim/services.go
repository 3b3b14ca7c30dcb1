package sim

import (
	"orrery/scheduler/model"
	"orrery/sim/hosting"
	"orrery/sim/metric"
	"orrery/sim/record"
)

// host makes the services of the cluster file, if there are any.
func (r *run) host(begin model.Time) (err error) {
	if r.plan.Site == nil {
		return nil
	}
	list := r.plan.Site.Services
	for i := range list { // their jobs come behind the rows of the trace
		list[i].Job.Job = model.JobID(r.src.Info().Rows) + model.JobID(i)
	}
	if r.services, err = hosting.New(list, begin, r.plan.Spec.Seed); err != nil || r.services == nil {
		return err
	}
	r.takings = hosting.NewTakings(r.services, r.plan.Site.World.Site, r.plan.Site.Names.VClusters, r.plan.Site.Names.Tenants)
	r.opt.Sink = takingsSink{r.opt.Sink, r.takings}
	return nil
}

// limit lets the services know the limits that the core goes by.
func (r *run) limit() {
	if core, ok := r.core.(interface {
		Headroom(ref model.Ref, most int32) int32
	}); ok {
		r.services.Limit(core.Headroom)
	}
}

// takingsSink hands the attempts to the takings as well.
type takingsSink struct {
	record.Sink
	t *hosting.Takings
}

func (s takingsSink) Attempt(r *model.AttemptRecord) {
	s.t.Attempt(r)
	s.Sink.Attempt(r)
}

// untilServices is the first instant, at or before now, at which a service has something to
// tell, where nothing else happens before.
func (r *run) untilServices(now model.Time) model.Time {
	if r.begun {
		now = min(now, r.loop.Due())
	}
	return r.services.Until(now)
}

// serve gathers what the services ask for at now: their submissions, and then demands.
func (r *run) serve(now model.Time) {
	for {
		job, end := r.services.Submit(now)
		if job == nil {
			break
		}
		r.facts = append(r.facts, model.Fact{})
		f := &r.facts[len(r.facts)-1]
		if why := r.world.serve(now, job, end, f); why != model.ReasonNone {
			r.facts = r.facts[:len(r.facts)-1]
			r.services.Submitted(now, job.Job, 0, why)
			continue
		}
		r.services.Submitted(now, job.Job, f.Ref, model.ReasonNone)
	}
	r.facts = r.services.Collect(now, r.facts)
}

// measuredServices are the services as metrics see them, nil for none.
func measuredServices(list []hosting.Result) []metric.Service {
	var out []metric.Service
	for i := range list {
		r := &list[i]
		s := metric.Service{Step: r.Outcome.Step, Nodes: int64(r.Nodes), Price: r.Price, Missable: r.Missable}
		for k := range min(len(r.Outcome.Timeline), len(r.Needs)) {
			p := &r.Outcome.Timeline[k]
			s.Steps = append(s.Steps, metric.ServiceStep{
				At: r.From + p.At, Need: float64(r.Needs[k]), Supply: float64(p.Supply), Arrived: p.Arrived, Late: p.Late, Lost: p.Lost, Held: p.Held, Served: p.Ready,
			})
		}
		out = append(out, s)
	}
	return out
}
