package rundir

import (
	"orrery/scheduler/model"
	"orrery/sim/hosting"
	"orrery/sim/service"
)

// Service is what came of a service of the cluster file.
type Service struct {
	Name     string  `json:"name"`
	Policy   string  `json:"policy"`
	ID       int64   `json:"id"` // of its row in jobs.parquet
	Rejected string  `json:"rejected,omitempty"`
	Requests float64 `json:"requests"`
	Missed   float64 `json:"missed"` // share of them that were late or lost
	Lost     float64 `json:"lost"`   // requests that got no service
	Open     float64 `json:"open"`   // requests that had not come to what the goal limits at the end
	BadSteps int64   `json:"bad_steps"`
	Steps    int64   `json:"steps"`
	P50US    *int64  `json:"latency_p50_us"` // null where so many have none
	P95US    *int64  `json:"latency_p95_us"`
	P99US    *int64  `json:"latency_p99_us"`

	NodeUS   int64   `json:"node_us"`
	Held     float64 `json:"replica_hours_held"`
	Served   float64 `json:"replica_hours_served"`
	Cost     float64 `json:"cost"`
	Ups      int64   `json:"ups"`
	Downs    int64   `json:"downs"`
	Reversal int64   `json:"reversals"`

	Demands   int64            `json:"demands"`
	Unmet     map[string]int64 `json:"unmet,omitempty"` // demands that were not met in full, by reason
	AtMax     int64            `json:"at_max,omitempty"`
	Lacking   int64            `json:"lacking_nodes"`
	Rejection int64            `json:"rejections"`
	Reclaimed int64            `json:"reclaimed_replicas"`
	Displaced int64            `json:"displaced_replicas"`
	Preempted int64            `json:"preempted"`

	Elasticity *Elasticity `json:"elasticity,omitempty"`
	Rules      []RuleCount `json:"rules"`
}

// Elasticity is how well the size followed the need.
type Elasticity struct {
	ThetaUnder  float64 `json:"theta_under_pct"`
	ThetaOver   float64 `json:"theta_over_pct"`
	TauUnder    float64 `json:"tau_under_pct"`
	TauOver     float64 `json:"tau_over_pct"`
	Instability float64 `json:"instability_pct"`
	Deviation   float64 `json:"deviation_pct"`
	Jitter      float64 `json:"jitter_per_hour"`
}

// RuleCount is how often a rule of the policy fired with a guard.
type RuleCount struct {
	Rule      string `json:"rule"`
	Guard     string `json:"guard,omitempty"`
	Proposed  bool   `json:"proposed,omitempty"`
	Decisions int64  `json:"decisions"`
}

// percentile of the latencies, nil where it is of requests that have none.
func percentile(o *service.Outcome, share float64) *int64 {
	d, known := o.Latency.Percentile(share)
	if !known {
		return nil
	}
	us := int64(d)
	return &us
}

// ServicesOf are the services of a run.
func ServicesOf(list []hosting.Result) []Service {
	var out []Service
	for i := range list {
		r := &list[i]
		o := &r.Outcome
		s := Service{
			Name: r.Name, Policy: r.Policy, ID: r.ID, Rejected: r.Rejected.String(), Requests: o.Requests, Missed: o.Missed(), Lost: o.Lost(), Open: o.Open,
			BadSteps: o.Bad, Steps: o.Intervals,
			P50US: percentile(o, 0.5), P95US: percentile(o, 0.95), P99US: percentile(o, 0.99),
			NodeUS: int64(r.NodeTime), Held: o.Held, Served: o.Used, Cost: o.Cost, Ups: o.Ups, Downs: o.Downs,
			Demands: r.Demands, AtMax: r.AtMax, Lacking: r.Lacking, Rejection: o.Rejected, Reclaimed: r.Reclaimed, Displaced: r.Lost, Preempted: r.Preempted,
			Rules: []RuleCount{},
		}
		for reason, n := range r.Unmet {
			if n > 0 {
				if s.Unmet == nil {
					s.Unmet = map[string]int64{}
				}
				s.Unmet[model.Reason(reason).String()] = n
			}
		}
		if v := &r.Elastic; r.Measured {
			s.Reversal = v.Reversals
			s.Elasticity = &Elasticity{v.UnderPct, v.OverPct, v.UnderTimePct, v.OverTimePct, v.InstabilityPct, v.DeviationPct, v.JitterPerHour}
		}
		for _, x := range o.Rules {
			s.Rules = append(s.Rules, RuleCount{string(x.Rule), string(x.Guard), x.Proposed, x.N})
		}
		out = append(out, s)
	}
	return out
}
