package conform

import (
	"orrery/autoscale"
	"orrery/autoscale/keda"
	"orrery/scheduler/model"
)

func kedaSchemas() []schema {
	return []schema{cases("keda-activation", checkKEDA)}
}

type kedaCase struct {
	ID         string   `json:"id"`
	Active     bool     `json:"active"`
	Error      bool     `json:"error"`
	Current    int64    `json:"current"`
	Min        *int64   `json:"min"`
	Idle       *int64   `json:"idle"`
	Fallback   *int64   `json:"fallback_replicas"` // the metric's, not activation's: it changes nothing here
	LastActive *float64 `json:"last_active_age_s"`
	Cooldown   float64  `json:"cooldown_s"`
	Created    float64  `json:"created_age_s"`
	Initial    float64  `json:"initial_cooldown_s"`
	Paused     bool     `json:"paused"`
	Set        *int64   `json:"expected_set_replicas"`
	Refreshed  bool     `json:"expected_last_active_refreshed"`
}

// checkKEDA makes one evaluation. An error is that of a second trigger, for one that
// fails cannot be active itself.
func checkKEDA(c *kedaCase, t *tally) {
	t.whole()
	const now = model.Time(30 * model.Day)
	cfg := keda.Config{Idle: -1, Triggers: 2, Cooldown: span(c.Cooldown), Initial: span(c.Initial), Created: now.Add(-span(c.Created))}
	if c.Min != nil {
		cfg.Min = *c.Min
	}
	if c.Idle != nil {
		cfg.Idle = *c.Idle
	}
	p, err := keda.New(cfg, nil)
	if err != nil {
		t.fault("config", err.Error(), "valid")
		return
	}
	before := model.Never
	if c.LastActive != nil {
		before = now.Add(-span(*c.LastActive))
	}
	p.Restore(before)
	p.Observe(now, []autoscale.Fact{
		{Kind: autoscale.FactSize, N: c.Current},
		{Kind: autoscale.FactPaused, N: flag(c.Paused)},
		{Kind: autoscale.FactActive, Metric: 0, N: flag(c.Active)},
		{Kind: autoscale.FactActive, Metric: 1, Missing: c.Error},
	})
	var set *int64
	if plan := p.Plan(now); len(plan.Proposals) > 0 {
		set = &plan.Proposals[0].N
	}
	expectMaybe(t, "expected_set_replicas", set, c.Set)
	// One that was active at this very instant has been refreshed only if it is so now.
	refreshed := p.LastActive() == now && (before != now || c.Active && !c.Paused)
	expect(t, "expected_last_active_refreshed", refreshed, c.Refreshed)
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
