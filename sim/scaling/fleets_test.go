package scaling

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
)

// oneLab is a single session at 10m00s, which a worker takes that boots for 150 s.
const oneLab = `demand: {shape: constant, base: 0.0016666666667, length: 19m}
service: {kind: rooms, slots: 4, line: -1, start: 0, work: 1h, work_cv: 0, arrival_cv: 0, boot: 150s, goal: {limit: 1m}}
policies:
  - {name: storm, kind: lcm, watch: false, max: 10}
  - {name: aware, kind: lcm, watch: false, pending_aware: true, max: 10}
  - {name: three, kind: lcm, watch: false, max: 3}
  - {name: coded, kind: lcm-coded, watch: false, max: 10}
  - {name: two, kind: fixed, size: 2}
seeds: 2
`

// Workers that LCM calls for one session while the first boots, beside a fixed fleet on the
// same session: 5 as documented, 1 where those on their way count, and no more than the limit.
func TestLabsSideBySide(t *testing.T) {
	c := compare(t, oneLab, nil)
	for name, workers := range map[string]float64{"storm": 5, "aware": 1, "three": 3, "coded": 5} {
		require.InDelta(t, workers, value(c, name, "changes"), 0, name)
		require.InDelta(t, 100, value(c, name, "missed"), 0, "150 s are more than the goal")
		require.InDelta(t, 150, value(c, name, "latency_p50"), 10, "a bin of the histogram wide")
	}
	require.Zero(t, value(c, "two", "missed"))
	// Called at 10m00s, 10m30s … 12m00s, until the end at 19m; a third of an hour for the fixed ones.
	require.InDelta(t, (540+510+480+450+420)/3600.0, value(c, "storm", "charged"), 1e-9)
	require.InDelta(t, 540/3600.0, value(c, "aware", "cost"), 1e-9)
	require.InDelta(t, 390/3600.0, value(c, "aware", "used"), 1e-9)
	require.InDelta(t, 25, value(c, "aware", "utilisation"), 1e-9, "one of four slots")
	storm := &c.Policies[0]
	require.Equal(t, 1.0, storm.First.Requests)
	require.Len(t, storm.First.Timeline, 19)
	require.EqualValues(t, 0, storm.First.Timeline[12].Supply)
	require.EqualValues(t, 2, storm.First.Timeline[13].Supply, "at 12m30s and at 13m00s")
	require.EqualValues(t, 5, storm.First.Timeline[15].Supply)
	calls := 0
	for _, d := range storm.Decisions {
		if d.Proposed && d.Would == "add a replica" {
			require.Equal(t, model.Time(10*model.Minute).Add(model.Duration(calls)*30*model.Second), d.At)
			calls++
		}
	}
	require.Equal(t, 5, calls)
}

// A day of sessions: LCM drains idle workers, so that it costs less than one that keeps them,
// and other policies run on the same sessions.
func TestLabsOfADay(t *testing.T) {
	c := compare(t, `demand: {shape: diurnal, base: 0.0005, peak: 0.006, grain: 10m, length: 24h}
service: {kind: rooms, slots: 4, line: -1, work: 1h, boot: 150s, goal: {limit: 3m}}
faults: {error: 0.05}
policies:
  - {name: keeps, kind: lcm, pending_aware: true, max: 20}
  - {name: drains, kind: lcm, pending_aware: true, idle_after: 10m, cooldown: 2m, max: 20}
  - {kind: hpa, metric: concurrency, target: 3, max: 20}
  - {kind: clairvoyant}
seeds: 2
`, nil)
	require.Less(t, value(c, "drains", "cost"), value(c, "keeps", "cost"))
	require.Positive(t, value(c, "drains", "reversals"))
	for i := range c.Policies {
		p := &c.Policies[i]
		require.Equal(t, c.Policies[0].First.Requests, p.First.Requests, "the same sessions")
		require.Greater(t, p.First.Served, 0.9*p.First.Requests-40, p.Name)
		require.LessOrEqual(t, p.First.Busy, p.First.Used, p.Name)
		require.LessOrEqual(t, p.First.Used, p.First.Held, p.Name)
		require.Less(t, value(c, p.Name, "missed"), 30.0, p.Name)
	}
}

// stepOfUnits is a step of the demand to 2 CPUs, which eight units of a quarter can do.
const stepOfUnits = `demand: {shape: step, base: 0.5, peak: 8, at: 10m, over: 15m, length: 40m, grain: 1s}
service: {kind: queue, work: 1s, boot: 1s, scrape: 5s, mode: MODE, goal: {limit: 1s}}
policies:
  - {kind: neon, min: 1, max: 16, target: 0.9}
  - {kind: hpa, max: 16, target: 0.6}
  - {kind: clairvoyant}
seeds: 2
`

// Neon's agent resizes a machine whose units are the replicas of the others: memory and the
// scheduler apart it goes by the load average of a minute, so that it grows step by step with
// the backlog and falls when that is over.
func TestMachinesSideBySide(t *testing.T) {
	for _, mode := range []string{"fluid", "exact"} {
		c := compare(t, strings.Replace(stepOfUnits, "MODE", mode, 1), nil)
		p := &c.Policies[0]
		most, before := int64(0), p.First.Timeline[9].Supply
		for _, x := range p.First.Timeline {
			require.LessOrEqual(t, x.Supply, int64(16))
			most = max(most, x.Supply)
		}
		require.LessOrEqual(t, before, int64(3))
		require.GreaterOrEqual(t, most, int64(8), "as many as the demand needs")
		last := p.First.Timeline[len(p.First.Timeline)-1]
		require.Less(t, last.Supply, most/2, "and given back unit by unit")
		require.Greater(t, value(c, "neon", "missed"), value(c, "clairvoyant", "missed"))
		require.Less(t, value(c, "neon", "missed"), 50.0)
		require.Positive(t, p.First.Rules[0].N)
		require.EqualValues(t, "load", p.First.Rules[len(p.First.Rules)-1].Rule)
	}
}

// Platform limits are what the permits of a machine end at, and without metrics nothing is
// given back.
func TestMachinesUnderLimits(t *testing.T) {
	text := strings.Replace(stepOfUnits, "MODE", "fluid, limit: 5", 1)
	c := compare(t, text+"faults: {gap_from: 20m, gap_length: 20m}\n", nil)
	p := &c.Policies[0]
	for k, x := range p.First.Timeline {
		require.LessOrEqual(t, x.Supply, int64(5))
		if k > 21 {
			require.GreaterOrEqual(t, x.Supply, p.First.Timeline[k-1].Supply)
		}
	}
}

// What LCM and Neon cannot do is refused by the key that asks for it.
func TestRefusedFleets(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{`service: {kind: queue}` + "\npolicies: [{kind: lcm}]", "s.yaml:3:19: policies[0].kind: found lcm, which places sessions on workers: want service.kind: rooms"},
		{`service: {kind: rooms}` + "\npolicies: [{kind: lcm-coded}]", "want service.line: -1"},
		{`service: {kind: rooms, line: -1, patience: 3s}` + "\npolicies: [{kind: lcm}]", "leave mode: fluid, patience, limit and warm"},
		{`service: {kind: rooms, line: -1}` + "\nfaults: {mtbf: 3h}\npolicies: [{kind: lcm}]", "leave them out"},
		{`service: {kind: rooms}` + "\npolicies: [{kind: neon}]", "want service.kind: machines, or queue, where each replica stands for one"},
		{`service: {kind: queue}` + "\npolicies: [{kind: neon, min: 0}]", "a compute unit at least"},
		{`service: {kind: queue, start: 200}` + "\npolicies: [{kind: neon}]", "found 200, want 1 to 100"},
		{`service: {kind: queue}` + "\npolicies: [{kind: neon, cooldown: 3s}]", "does not apply to kind: neon"},
		{`service: {kind: queue}` + "\npolicies: [{kind: hpa, pending_aware: true}]", "does not apply to kind: hpa, but to lcm"},
	} {
		_, err := profiles.ParseScaling("s.yaml", []byte("demand: {shape: constant, base: 1, length: 1h}\n"+x.text+"\n"))
		require.ErrorContains(t, err, x.want)
	}
}
