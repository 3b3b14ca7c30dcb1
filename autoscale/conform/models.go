package conform

import (
	"encoding/json"
	"math"

	"orrery/sim/metric/elastic"
	"orrery/sim/service/queueing"
)

func modelSchemas() []schema {
	return []schema{cases("metrics-elasticity", checkElasticity), cases("model-queueing", checkQueue)}
}

// tolerance of computed figures, relative.
const tolerance = 1e-9

// expectNear compares a figure that both sides have computed in floating point.
func expectNear(t *tally, field string, got, want float64) {
	if t.null(field) {
		t.fault(field, got, nil)
		return
	}
	if math.IsNaN(got) || math.Abs(got-want) > float64(tolerance*max(math.Abs(got), math.Abs(want))) {
		t.fault(field, got, want)
	}
}

type elasticCase struct {
	ID       string    `json:"id"`
	Step     float64   `json:"dt_s"`
	Demand   []float64 `json:"demand"`
	Supply   []float64 `json:"supply"`
	Expected struct {
		Under         float64 `json:"theta_under_pct"`
		Over          float64 `json:"theta_over_pct"`
		UnderTime     float64 `json:"tau_under_pct"`
		OverTime      float64 `json:"tau_over_pct"`
		Instability   float64 `json:"instability_pct"`
		Ahead         float64 `json:"k"`
		Behind        float64 `json:"k_prime"`
		Shortfall     float64 `json:"mean_shortfall"`
		Surplus       float64 `json:"mean_surplus"`
		SupplyChanges int64   `json:"supply_changes"`
		DemandChanges int64   `json:"demand_changes"`
		Jitter        float64 `json:"jitter_per_hour"`
		Reversals     int64   `json:"direction_reversals"`
		Hours         float64 `json:"node_hours"`
		Deviation     float64 `json:"deviation_minkowski5"`
	} `json:"expected"`
}

func checkElasticity(c *elasticCase, t *tally) {
	t.whole()
	v, err := elastic.Measure(elastic.Series{Step: span(c.Step), Demand: c.Demand, Supply: c.Supply})
	if err != nil {
		t.fault("demand", err.Error(), "measurable")
		return
	}
	x := &c.Expected
	expectNear(t, "expected.theta_under_pct", v.UnderPct, x.Under)
	expectNear(t, "expected.theta_over_pct", v.OverPct, x.Over)
	expectNear(t, "expected.tau_under_pct", v.UnderTimePct, x.UnderTime)
	expectNear(t, "expected.tau_over_pct", v.OverTimePct, x.OverTime)
	expectNear(t, "expected.instability_pct", v.InstabilityPct, x.Instability)
	expectNear(t, "expected.k", v.SupplyAhead, x.Ahead)
	expectNear(t, "expected.k_prime", v.DemandAhead, x.Behind)
	expectNear(t, "expected.mean_shortfall", v.Shortfall, x.Shortfall)
	expectNear(t, "expected.mean_surplus", v.Surplus, x.Surplus)
	expect(t, "expected.supply_changes", v.SupplyChanges, x.SupplyChanges)
	expect(t, "expected.demand_changes", v.DemandChanges, x.DemandChanges)
	expectNear(t, "expected.jitter_per_hour", v.JitterPerHour, x.Jitter)
	expect(t, "expected.direction_reversals", v.Reversals, x.Reversals)
	expectNear(t, "expected.node_hours", v.UnitHours, x.Hours)
	expectNear(t, "expected.deviation_minkowski5", v.DeviationPct, x.Deviation)
}

// station is what all cases of queues have.
type station struct {
	ID          string  `json:"id"`
	Lambda      float64 `json:"lambda"`
	Mu          float64 `json:"mu"`
	Servers     int64   `json:"servers"`
	Utilization float64 `json:"utilization"`
}

type exactQueue struct {
	station
	ErlangB  float64 `json:"erlang_b"`
	ErlangC  float64 `json:"erlang_c"`
	Wait     float64 `json:"mean_wait"`
	Response float64 `json:"mean_response"`
	InQueue  float64 `json:"mean_in_queue"`
	InSystem float64 `json:"mean_in_system"`
	Later    float64 `json:"p_wait_gt_1s"`
}

type generalQueue struct {
	station
	ArrivalSCV   float64 `json:"scv_arrival"`
	ServiceSCV   float64 `json:"scv_service"`
	AllenCunneen float64 `json:"mean_wait_allen_cunneen"`
	Sakasegawa   float64 `json:"mean_wait_sakasegawa"`
}

// queueCase is a case of a queue: one of a G/G/c queue has variations.
type queueCase struct {
	exact   *exactQueue
	general *generalQueue
}

// UnmarshalJSON reads a case by what it has.
func (c *queueCase) UnmarshalJSON(raw []byte) error {
	var kind struct {
		ArrivalSCV *float64 `json:"scv_arrival"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return err
	}
	if kind.ArrivalSCV != nil {
		c.general = new(generalQueue)
		return decode(raw, c.general)
	}
	c.exact = new(exactQueue)
	return decode(raw, c.exact)
}

func checkQueue(c *queueCase, t *tally) {
	if c.general != nil {
		c.general.check(t)
		return
	}
	c.exact.check(t)
}

func (c *exactQueue) check(t *tally) {
	t.whole()
	q := queueing.Queue{Arrivals: c.Lambda, Service: c.Mu, Servers: c.Servers}
	s, err := q.Steady()
	if err != nil {
		t.fault("lambda", err.Error(), "a steady queue")
		return
	}
	expectNear(t, "utilization", s.Utilization, c.Utilization)
	expectNear(t, "erlang_b", s.ErlangB, c.ErlangB)
	expectNear(t, "erlang_c", s.ErlangC, c.ErlangC)
	expectNear(t, "mean_wait", s.MeanWait, c.Wait)
	expectNear(t, "mean_response", s.MeanResponse, c.Response)
	expectNear(t, "mean_in_queue", s.MeanInQueue, c.InQueue)
	expectNear(t, "mean_in_system", s.MeanInSystem, c.InSystem)
	expectNear(t, "p_wait_gt_1s", q.Later(s, 1), c.Later)
}

func (c *generalQueue) check(t *tally) {
	t.whole()
	q := queueing.Queue{Arrivals: c.Lambda, Service: c.Mu, Servers: c.Servers, ArrivalSCV: c.ArrivalSCV, ServiceSCV: c.ServiceSCV}
	allen, err := q.AllenCunneen()
	if err != nil {
		t.fault("lambda", err.Error(), "a steady queue")
		return
	}
	saka, _ := q.Sakasegawa()
	expectNear(t, "utilization", q.Utilization(), c.Utilization)
	expectNear(t, "mean_wait_allen_cunneen", allen, c.AllenCunneen)
	expectNear(t, "mean_wait_sakasegawa", saka, c.Sakasegawa)
}
