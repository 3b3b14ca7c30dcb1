package scaling

import (
	"orrery/autoscale/lcm"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/service"
	"orrery/sim/service/demand"
	"orrery/sim/service/session"
)

// ownFleet says whether a policy brings its own workers: it places each session itself.
func ownFleet(p *profiles.ScalingPolicy) bool { return p.Kind == "lcm" || p.Kind == "lcm-coded" }

// fleet runs LCM on the sessions of a service of rooms, whose replicas are its workers.
func fleet(p *profiles.ScalingPolicy, c *service.Config, d *demand.Demand, watch service.Observer) (*service.Outcome, error) {
	out, err := session.Run(fleetOf(p, c, watch), d)
	if err != nil {
		return nil, err
	}
	return &out.Service, nil
}

// fleetOf is the fleet of a policy.
func fleetOf(p *profiles.ScalingPolicy, c *service.Config, watch service.Observer) session.Config {
	const activity = 30 * model.Second // of the sources, between reports of a worker
	x := session.Config{
		Scheduler: lcm.SchedulerDefaults(), Start: c.Supply.Start, Limit: p.Max, Boot: c.Supply.Boot, BootCV: c.Supply.BootCV, Immediate: p.Kind == "lcm-coded",
		Error: c.Faults.Error, Activity: activity, Draws: c.Draws,
		Judged: session.Judged{Step: c.Step, Goal: c.Goal, Price: c.Supply.Price, Granularity: c.Supply.Granularity, Watch: watch},
	}
	if p.Kind == "lcm-coded" {
		x.Scheduler = lcm.SchedulerCoded()
	}
	one, all := lcm.Capacity{CPU: 1, Memory: 1, Storage: 1}, lcm.Capacity{CPU: c.Slots, Memory: c.Slots, Storage: c.Slots}
	x.Scheduler.Sessions = []lcm.Session{{Need: one}}
	x.Scheduler.Templates = []lcm.Template{{Name: "multi-sessions", Enabled: true, Capacity: all, Cost: c.Supply.Price}}
	x.Scheduler.Interval = usual(p.Interval, x.Scheduler.Interval)
	x.Scheduler.Watch, x.Scheduler.Polling, x.Scheduler.PendingAware, x.Scheduler.CountOwn = p.Watch, p.Polling, p.PendingAware, p.CountOwn
	x.Scheduler.MaxRetries = usual(p.MaxRetries, x.Scheduler.MaxRetries)
	if p.IdleAfter != nil {
		r := lcm.ReconcilerDefaults()
		r.AutoPause = p.AutoPause
		r.Enabled, r.IdleAfter, r.MinWorkers = true, *p.IdleAfter, p.Min
		r.Cooldown = usual(p.Cooldown, r.Cooldown)
		x.Reconciler = &r
	}
	return x
}
