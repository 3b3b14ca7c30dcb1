package service_test

import (
	"maps"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/autoscale/lcm"
	"orrery/autoscale/neon"
	"orrery/scheduler/model"
	"orrery/sim/service"
	"orrery/sim/service/demand"
	"orrery/sim/service/session"
	"orrery/sim/service/vm"
)

// days are a day of per-second decisions by each policy, of 4 to 64 replicas, rooms, compute
// units or workers, under the same demand.
func days(b *testing.B) map[string]func(seed uint64) {
	out := map[string]func(uint64){"neon": func(seed uint64) { neonDay(b, seed, model.Day) }, "lcm": func(seed uint64) { lcmDay(b, seed, model.Day) }}
	for name, policy := range service.EverySecond(b) {
		out[name] = func(seed uint64) {
			c, d := service.Daily(seed)
			s, err := service.New(c, d, policy(&c), nil)
			require.NoError(b, err)
			_, err = s.Run()
			require.NoError(b, err)
		}
	}
	return out
}

// neonDay is that of a machine of 4 to 64 compute units of one CPU, with its agent and the
// scheduler plugin.
func neonDay(b testing.TB, seed uint64, length model.Duration) {
	d := service.Diurnal(model.Second, length, seed)
	units := func(n int64) autoscale.Resources { return autoscale.Resources{CPU: 1000 * n, Memory: n << 30} }
	c := vm.Config{
		Agent: neon.Defaults(), Plugin: neon.PluginDefaults(), Nodes: []autoscale.Resources{units(128)}, Initial: units(4), Memory: vm.Memory{Base: 300 << 20},
		Sample: model.Second, Permit: 10 * model.Millisecond, Timeout: 2 * model.Second, Resize: 500 * model.Millisecond, Approve: 20 * model.Millisecond, Bandwidth: 1 << 30,
		Draws: demand.Draws{Seed: seed, Default: demand.Request{Work: 100 * model.Millisecond}},
	}
	c.Agent.Unit, c.Agent.Min, c.Agent.Max = units(1), units(4), units(64)
	out, err := vm.Run(c, []*demand.Demand{d})
	require.NoError(b, err)
	require.Positive(b, out.Resizes)
}

// lcmDay is that of a fleet of 4 to 64 workers, each with eight sessions of an hour, whose
// halves both have cycles of a second.
func lcmDay(b testing.TB, seed uint64, length model.Duration) {
	d := service.Diurnal(model.Hour, length, seed)
	c := session.Config{Scheduler: lcm.SchedulerDefaults(), Limit: 64, Boot: 150 * model.Second, Activity: 30 * model.Second}
	c.Scheduler.Interval, c.Scheduler.PendingAware = model.Second, true
	c.Scheduler.Sessions = []lcm.Session{{Need: lcm.Capacity{CPU: 1, Memory: 1, Storage: 1}}}
	c.Scheduler.Templates = []lcm.Template{{Name: "worker", Enabled: true, Capacity: lcm.Capacity{CPU: 8, Memory: 8, Storage: 8}}}
	c.Draws = demand.Draws{Seed: seed, GapCV: 1, Default: demand.Request{Work: model.Hour}}
	r := lcm.ReconcilerDefaults()
	r.Enabled, r.MinWorkers, r.Interval, r.IdleAfter, r.Cooldown = true, 4, model.Second, 10*model.Minute, 2*model.Minute
	c.Reconciler = &r
	out, err := session.Run(c, d)
	require.NoError(b, err)
	require.Positive(b, out.Drains)
}

// TestDaysAllocateForTheirTables: what the policies with fleets and machines of their own
// allocate is for tables, which grow by doubling: three days with their quarter of a million
// decisions more take hardly more than one.
func TestDaysAllocateForTheirTables(t *testing.T) {
	for name, days := range map[string]func(model.Duration){
		"neon": func(length model.Duration) { neonDay(t, 1, length) }, "lcm": func(length model.Duration) { lcmDay(t, 1, length) },
	} {
		one := testing.AllocsPerRun(1, func() { days(model.Day) })
		four := testing.AllocsPerRun(1, func() { days(4 * model.Day) })
		require.Less(t, four-one, 250., name)
	}
}

// BenchmarkDay is one service for a day of per-second decisions: cpu-ms/day is the figure of
// docs/SERVICES.md for a thousand of them, in seconds. It is CPU time of the process, system
// time and that of the garbage collector included, to which what else the computer does adds
// nothing.
func BenchmarkDay(b *testing.B) {
	all := days(b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			begun := cpuTime()
			for i := range b.N {
				all[name](uint64(i))
			}
			used := cpuTime() - begun
			b.ReportMetric(float64(used.Microseconds())/float64(b.N)/1000, "cpu-ms/day")
			b.ReportMetric(float64(used.Nanoseconds())/float64(b.N)/86400, "cpu-ns/decision")
		})
	}
}

// cpuTime is what the process has used.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // only a wrong argument makes it fail
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
