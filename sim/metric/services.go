package metric

import (
	"orrery/scheduler/model"
	"orrery/sim/metric/elastic"
)

// Service is what is known of a scaled service, in steps of equal length.
type Service struct {
	Step     model.Duration
	Nodes    int64   // of each replica
	Price    float64 // of a replica hour
	Missable float64 // share of the requests of a step that may be late or lost
	Steps    []ServiceStep
}

// ServiceStep is a step of a service: requests in it, and replicas.
type ServiceStep struct {
	At                  model.Time
	Need, Supply        float64 // replicas that would be enough, and that serve, at its beginning
	Arrived, Late, Lost float64
	Held, Served        float64 // mean number of replicas that cost, and that serve
}

// SetServices says what came of the services of the whole run. It keeps the list.
func (s *Series) SetServices(list []Service) { s.services = list }

const (
	srcElastic  = "Herbst, Kounev, Reussner: Elasticity in cloud computing, ICAC 2013; Bauer and others: Chameleon, TPDS 2019"
	edgeService = "over the steps of services that begin in the window; null without one"
	edgeElastic = edgeService + "; by service, the mean over them with their steps as weights; symbols as under Elasticity, where percentages are parts of 1 here"
	edgeRequest = edgeService + ", or without a request; a request counts in the step in which it arrived, and is late as well where it still waits beyond the limit when the service ends"
)

var serviceDefinitions = []definition{
	{Definition{"service_missed", "1", Lower, "(late + lost requests) / requests", srcOurs, edgeRequest, nil}, false, requestShare(func(x *ServiceStep) float64 { return x.Late + x.Lost })},
	{Definition{"service_lost", "1", Lower, "lost requests / requests", srcOurs, edgeRequest, nil}, false, requestShare(func(x *ServiceStep) float64 { return x.Lost })},
	{Definition{"service_bad_steps", "1", Lower, "steps with requests in which more than 1 - goal.share of them are missed / steps with requests", srcOurs, edgeRequest, nil}, false, (*reduction).badSteps},
	{Definition{"service_theta_under", "1", Lower, "θ under", srcElastic, edgeElastic, nil}, false, elasticOf(func(v *elastic.Values) float64 { return v.UnderPct / 100 })},
	{Definition{"service_theta_over", "1", Lower, "θ over", srcElastic, edgeElastic, nil}, false, elasticOf(func(v *elastic.Values) float64 { return v.OverPct / 100 })},
	{Definition{"service_tau_under", "1", Lower, "τ under", srcElastic, edgeElastic, nil}, false, elasticOf(func(v *elastic.Values) float64 { return v.UnderTimePct / 100 })},
	{Definition{"service_tau_over", "1", Lower, "τ over", srcElastic, edgeElastic, nil}, false, elasticOf(func(v *elastic.Values) float64 { return v.OverTimePct / 100 })},
	{Definition{"service_instability", "1", Lower, "υ", srcElastic, edgeElastic, nil}, false, elasticOf(func(v *elastic.Values) float64 { return v.InstabilityPct / 100 })},
	{Definition{"service_deviation", "1", Lower, "σ", srcElastic, edgeElastic, nil}, false, elasticOf(func(v *elastic.Values) float64 { return v.DeviationPct / 100 })},
	{Definition{"service_jitter", "1/h", Neither, "jitter", srcElastic, edgeElastic, nil}, false, elasticOf(func(v *elastic.Values) float64 { return v.JitterPerHour })},
	{Definition{"service_reversals", "1", Lower, "changes of direction of the number of replicas that serve", srcOurs, edgeService, nil}, false, (*reduction).reversals},
	{Definition{"service_replica_hours", "h", Lower, "sum of the replicas that cost, from their order to their stop, over time", srcOurs, edgeService, nil}, false, replicaHours(func(_ *Service, x *ServiceStep) float64 { return x.Held })},
	{Definition{"service_served_hours", "h", Neither, "of these, that served", srcOurs, edgeService, nil}, false, replicaHours(func(_ *Service, x *ServiceStep) float64 { return x.Served })},
	{Definition{"service_node_hours", "h", Lower, "replica hours times the nodes of a replica", srcOurs, edgeService, nil}, false, replicaHours(func(s *Service, x *ServiceStep) float64 { return float64(x.Held * float64(s.Nodes)) })},
	{Definition{"service_cost", "1", Lower, "replica hours times their price", srcOurs, edgeService + "; granularity of charging does not count", nil}, false, replicaHours(func(s *Service, x *ServiceStep) float64 { return float64(x.Held * s.Price) })},
}

// ServiceDefinitions lists the metrics that only a run with scaled services has; they follow
// those of its site.
func ServiceDefinitions() []Definition { return published(serviceDefinitions) }

const noStep = "no step of a service begins in the window"

// within are the services with the steps that begin in [from, to).
func within(list []Service, from, to model.Time) []Service {
	out := make([]Service, len(list))
	for i := range list {
		out[i] = list[i]
		first := 0
		for first < len(list[i].Steps) && list[i].Steps[first].At < from {
			first++
		}
		last := first
		for last < len(list[i].Steps) && list[i].Steps[last].At < to {
			last++
		}
		out[i].Steps = list[i].Steps[first:last]
	}
	return out
}

// eachStep calls see for the steps of the window, service by service, and returns how many
// there are.
func (r *reduction) eachStep(see func(*Service, *ServiceStep)) (n int64) {
	for i := range r.services {
		s := &r.services[i]
		for k := range s.Steps {
			see(s, &s.Steps[k])
			n++
		}
	}
	return n
}

// over is num/den of n steps.
func over(num, den float64, n int64, without string) value {
	if den == 0 {
		return undefined(without)
	}
	return value{x: num / den, ok: true, count: n}
}

func requestShare(of func(*ServiceStep) float64) func(*reduction) value {
	return func(r *reduction) value {
		part, all := 0.0, 0.0
		n := r.eachStep(func(_ *Service, x *ServiceStep) {
			part += of(x)
			all += x.Arrived
		})
		return over(min(part, all), all, n, "no request of a service in the window")
	}
}

func (r *reduction) badSteps() value {
	bad, all := 0.0, 0.0
	n := r.eachStep(func(s *Service, x *ServiceStep) {
		if x.Arrived == 0 {
			return
		}
		all++
		if (x.Late+x.Lost)/x.Arrived > s.Missable {
			bad++
		}
	})
	return over(bad, all, n, "no request of a service in the window")
}

// elasticity is the elasticity metrics of a service over so many steps.
type elasticity struct {
	elastic.Values
	steps int64
}

// serve gives a window its services, which have the steps of it alone.
func (r *reduction) serve(list []Service) {
	r.services = list
	for i := range list {
		s := &list[i]
		x := elastic.Series{Step: s.Step, Demand: make([]float64, len(s.Steps)), Supply: make([]float64, len(s.Steps))}
		for k := range s.Steps {
			x.Demand[k], x.Supply[k] = s.Steps[k].Need, s.Steps[k].Supply
		}
		if v, err := elastic.Measure(x); err == nil { // there is a step
			r.elastic = append(r.elastic, elasticity{v, int64(len(s.Steps))})
		}
	}
}

func elasticOf(of func(*elastic.Values) float64) func(*reduction) value {
	return func(r *reduction) value {
		sum, n := 0.0, int64(0)
		for i := range r.elastic {
			e := &r.elastic[i]
			sum += float64(of(&e.Values) * float64(e.steps))
			n += e.steps
		}
		return over(sum, float64(n), n, noStep)
	}
}

func (r *reduction) reversals() value {
	sum, n := int64(0), int64(0)
	for i := range r.elastic {
		sum += r.elastic[i].Reversals
		n += r.elastic[i].steps
	}
	if n == 0 {
		return undefined(noStep)
	}
	return value{x: float64(sum), ok: true, count: n}
}

func replicaHours(of func(*Service, *ServiceStep) float64) func(*reduction) value {
	return func(r *reduction) value {
		sum := 0.0
		n := r.eachStep(func(s *Service, x *ServiceStep) { sum += float64(of(s, x) * s.Step.Seconds()) })
		if n == 0 {
			return undefined(noStep)
		}
		return value{x: sum / 3600, ok: true, count: n}
	}
}
