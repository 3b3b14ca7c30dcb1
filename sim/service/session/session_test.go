package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/autoscale/lcm"
	"orrery/scheduler/model"
	"orrery/sim/service"
	"orrery/sim/service/demand"
)

// small is a fleet whose workers take four sessions and boot within 150 s.
func small() Config {
	c := Config{Scheduler: lcm.SchedulerDefaults(), Limit: 10, Boot: 150 * model.Second, Activity: 30 * model.Second}
	c.Scheduler.Sessions = []lcm.Session{{Need: lcm.Capacity{CPU: 1, Memory: 1, Storage: 1}}}
	c.Scheduler.Templates = []lcm.Template{{Name: "worker", Enabled: true, Capacity: lcm.Capacity{CPU: 4, Memory: 4, Storage: 4}, Cost: 2}}
	c.Scheduler.Watch = false
	c.Draws = demand.Draws{Seed: 1, GapCV: 1, Default: demand.Request{Work: model.Hour, WorkCV: 0}}
	return c
}

// One session and workers that boot for 150 s: five workers as documented, one when the
// scheduler looks at those that are coming.
func TestStorm(t *testing.T) {
	one := &demand.Demand{Singles: []demand.Single{{N: 1}}, End: model.Time(2 * model.Hour)}
	out, err := Run(small(), one)
	require.NoError(t, err)
	require.Equal(t, int64(5), out.Accepted)
	require.Equal(t, int64(1), out.Assigned)
	require.Equal(t, 150*model.Second, out.Wait.Most)
	c := small()
	c.Scheduler.PendingAware = true
	out, err = Run(c, one)
	require.NoError(t, err)
	require.Equal(t, int64(1), out.Accepted)
	require.Equal(t, 150*model.Second, out.Wait.Most, "and it waits no longer")
	require.InDelta(t, 2, out.WorkerHours, 1e-9)
	require.InDelta(t, 4, out.Cost, 1e-9)
}

// A session that never gets a worker is late once it has waited beyond the limit, in the
// step of its arrival; one that still may get one in time is open and no more.
func TestSessionsThatStillWait(t *testing.T) {
	c := small()
	c.Boot = model.Hour
	c.Judged = Judged{Step: 10 * model.Minute, Goal: service.Goal{Limit: 5 * model.Minute, Share: 0.95}}
	d := &demand.Demand{Singles: []demand.Single{{At: 0, N: 6}, {At: model.Time(20 * model.Minute), N: 3}, {At: model.Time(28 * model.Minute), N: 1}}, End: model.Time(30 * model.Minute)}
	out, err := Run(c, d)
	require.NoError(t, err)
	require.Zero(t, out.Assigned)
	o := &out.Service
	require.Equal(t, 10.0, o.Requests)
	require.Equal(t, 10.0, o.Open)
	require.Equal(t, 9.0, o.Late)
	require.Equal(t, 9.0, o.Latency.Unknown)
	require.Equal(t, []float64{6, 3, 0}, []float64{o.Timeline[0].Late, o.Timeline[1].Late, o.Timeline[2].Late})
	require.Equal(t, []int64{3, 2}, []int64{o.Intervals, o.Bad})
}

// Sessions that come and go over a day: all are placed and end, the reconciler gives idle
// workers back, and the limit of the region holds.
func TestDay(t *testing.T) {
	d, err := demand.Generate(demand.Shape{Kind: demand.Diurnal, Base: 0.0005, Peak: 0.006, Grain: 10 * model.Minute, Length: model.Day})
	require.NoError(t, err)
	c := small()
	c.Scheduler.PendingAware, c.Scheduler.Watch, c.BootCV = true, true, 0.3
	r := lcm.ReconcilerDefaults()
	r.Enabled, r.IdleAfter, r.Cooldown = true, 10*model.Minute, 2*model.Minute
	c.Reconciler = &r
	out, err := Run(c, d)
	require.NoError(t, err)
	require.LessOrEqual(t, out.MostWorkers, int64(10))
	require.Equal(t, out.Assigned, int64(out.Wait.N))
	require.Positive(t, out.Drains)
	require.Zero(t, out.Killed, "sessions end first")
	require.GreaterOrEqual(t, out.Sessions, out.Assigned)
	require.GreaterOrEqual(t, out.Assigned, out.Ended)
	again, err := Run(c, d)
	require.NoError(t, err)
	require.Equal(t, out, again)

	c.Reconciler = nil
	kept, err := Run(c, d)
	require.NoError(t, err)
	require.Less(t, out.WorkerHours, kept.WorkerHours)
}

// The capacity cache of 30 s books a worker twice, unless what was placed is counted.
func TestStaleCapacity(t *testing.T) {
	d := &demand.Demand{Singles: []demand.Single{{N: 1}, {At: model.Time(10 * model.Minute), N: 4}}, End: model.Time(model.Hour)}
	c := small()
	c.Scheduler.Watch = true
	out, err := Run(c, d)
	require.NoError(t, err)
	require.Positive(t, out.Overbooked)
	c.Scheduler.CountOwn = true
	out, err = Run(c, d)
	require.NoError(t, err)
	require.Zero(t, out.Overbooked)
}

// Configurations that cannot be are refused.
func TestRefused(t *testing.T) {
	d := &demand.Demand{End: 1}
	for _, change := range []func(c *Config){
		func(c *Config) { c.Limit = 0 }, func(c *Config) { c.Activity = 0 }, func(c *Config) { c.Error = 2 },
		func(c *Config) { c.Weights = []float64{1, 2} }, func(c *Config) { c.Scheduler.Sessions = nil },
	} {
		c := small()
		change(&c)
		_, err := Run(c, d)
		require.Error(t, err)
	}
}
