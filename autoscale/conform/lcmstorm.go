package conform

import (
	"orrery/autoscale"
	"orrery/autoscale/lcm"
	"orrery/scheduler/model"
)

type lcmStorm struct {
	ID        string  `json:"id"`
	Pending   int     `json:"pending_sessions"`
	PerWorker int64   `json:"sessions_per_worker"`
	Delay     float64 `json:"provisioning_delay_s"`
	Cycle     float64 `json:"cycle_s"`
	Limit     int64   `json:"max_workers_per_region"`
	Code      struct {
		Requests int64   `json:"requests"`
		Accepted int64   `json:"accepted"`
		Rejected int64   `json:"rejected"`
		Done     float64 `json:"all_assigned_at_s"`
	} `json:"expected_code"`
	Aware struct {
		Accepted int64 `json:"accepted"`
	} `json:"expected_pending_aware"`
}

// lcmFleet is a control plane that creates workers, which boot.
type lcmFleet struct {
	delay    model.Duration
	limit    int64
	ready    []model.Time // of workers, by number
	requests int64
	rejected int64
	assigned int
}

// answer gives the proposals of a plan their results.
func (f *lcmFleet) answer(now model.Time, plan *autoscale.Plan) (facts []autoscale.Fact) {
	for _, p := range plan.Proposals {
		result := autoscale.Fact{Kind: autoscale.FactResult, Seq: p.Seq, Outcome: autoscale.Accepted}
		if p.Verb == autoscale.Migrate {
			f.assigned++
			facts = append(facts, result)
			continue
		}
		f.requests++
		status, _ := lcm.Grow(lcm.Growth{Known: true, Enabled: true, Active: int64(len(f.ready)), Limit: f.limit})
		if status != lcm.Created {
			f.rejected++
			result.Outcome = autoscale.Rejected
			facts = append(facts, result)
			continue
		}
		facts = append(facts, result, autoscale.Fact{Kind: autoscale.FactEntity, Entity: autoscale.Entity(len(f.ready)), State: autoscale.Requested})
		f.ready = append(f.ready, now.Add(f.delay))
	}
	return facts
}

// booted are the workers that have become ready since a cycle before.
func (f *lcmFleet) booted(before, now model.Time) (facts []autoscale.Fact) {
	for i, at := range f.ready {
		if at > before && at <= now {
			facts = append(facts, autoscale.Fact{Kind: autoscale.FactEntity, Entity: autoscale.Entity(i), State: autoscale.Ready, At: now})
		}
	}
	return facts
}

// run makes cycles until all sessions are assigned, and returns when that was.
func (c *lcmStorm) run(aware bool, t *tally) (f lcmFleet, done model.Time) {
	cfg := lcm.SchedulerDefaults()
	cfg.Sessions = []lcm.Session{{Need: lcm.Capacity{CPU: 1, Memory: 1, Storage: 1}}}
	cfg.Templates = []lcm.Template{{Name: "worker", Enabled: true, Capacity: lcm.Capacity{CPU: c.PerWorker, Memory: c.PerWorker, Storage: c.PerWorker}}}
	cfg.Interval, cfg.Watch, cfg.Concurrent, cfg.PendingAware, cfg.CountOwn = span(c.Cycle), false, max(1, c.Pending), aware, true
	s, err := lcm.NewScheduler(cfg)
	if err != nil {
		t.fault("cycle_s", err.Error(), "valid")
		return f, 0
	}
	f = lcmFleet{delay: span(c.Delay), limit: c.Limit}
	var facts []autoscale.Fact
	for i := range c.Pending {
		facts = append(facts, autoscale.Fact{Kind: autoscale.FactActive, Entity: autoscale.Entity(i), N: 1})
	}
	before := model.Time(-1)
	for now := model.Time(0); now <= model.Time(model.Day); now = now.Add(cfg.Interval) {
		s.Observe(now, append(facts, f.booted(before, now)...))
		facts = f.answer(now, s.Plan(now))
		if before = now; f.assigned == c.Pending {
			return f, now
		}
	}
	return f, model.Never
}

// checkLCMStorm counts the calls of sessions for workers while those boot: as coded each
// session calls in every cycle, and with the fix only for what is not coming already.
func checkLCMStorm(c *lcmStorm, t *tally) {
	t.whole()
	f, done := c.run(false, t)
	expect(t, "expected_code.requests", f.requests, c.Code.Requests)
	expect(t, "expected_code.accepted", int64(len(f.ready)), c.Code.Accepted)
	expect(t, "expected_code.rejected", f.rejected, c.Code.Rejected)
	expect(t, "expected_code.all_assigned_at_s", done, seconds(c.Code.Done))
	f, _ = c.run(true, t)
	expect(t, "expected_pending_aware.accepted", int64(len(f.ready)), c.Aware.Accepted)
}
