package scaling

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/sim/service/demand"
)

func compare(t *testing.T, text string, recorded *demand.Demand) *Comparison {
	t.Helper()
	s, err := profiles.ParseScaling("s.yaml", []byte(text))
	require.NoError(t, err)
	calls := 0
	c, err := Run(context.Background(), s, recorded, func(done, all int) {
		calls++
		require.Equal(t, calls, done)
	})
	require.NoError(t, err)
	require.Equal(t, calls, int(s.Seeds)*len(s.Policies))
	return c
}

// value is the mean of a measure of a policy.
func value(c *Comparison, policy, measure string) float64 {
	for i := range c.Policies {
		for k, m := range Measures() {
			if c.Policies[i].Name == policy && m.Name == measure {
				return c.Policies[i].Mean[k].Estimate
			}
		}
	}
	return -1
}

const everyPolicy = `demand: {shape: step, base: 8, peak: 40, at: 30m, over: 30m, noise: 0.05, length: 90m}
service: {work: 500ms, slots: 5, boot: 30s, goal: {limit: 500ms}}
policies:
  - {kind: fixed, size: 8}
  - {kind: clairvoyant}
  - {kind: lattice, max: 20}
  - {kind: lattice-coded, max: 20}
  - {kind: hpa, max: 20, target: 0.6}
  - {name: hpa-wait, kind: hpa, max: 20, metric: wait, target: 0.1}
  - {kind: kpa, max: 20, target: 3.5}
  - {kind: keda, min: 0, max: 20, metric: rate, target: 7}
seeds: 2
`

// Every kind of policy runs, stays within its bounds and does what it is for: the bound
// misses next to nothing and costs least of those that miss as little.
func TestEveryPolicy(t *testing.T) {
	c := compare(t, everyPolicy, nil)
	require.False(t, c.Fluid)
	for i := range c.Policies {
		p := &c.Policies[i]
		require.Len(t, p.Mean, len(Measures()))
		for _, x := range p.First.Timeline {
			require.LessOrEqual(t, x.Held, 40.0, p.Name)
		}
		require.LessOrEqual(t, value(c, p.Name, "used"), value(c, p.Name, "charged"), p.Name)
	}
	require.Less(t, value(c, "clairvoyant", "missed"), 1.0)
	require.Zero(t, value(c, "fixed", "missed"))
	require.Less(t, value(c, "clairvoyant", "cost"), value(c, "fixed", "cost"))
	require.Less(t, value(c, "clairvoyant", "deviation"), value(c, "lattice", "deviation"))
	require.Greater(t, value(c, "lattice", "missed"), value(c, "kpa", "missed"), "one node each three minutes, against a panic")
	require.Equal(t, c, compare(t, everyPolicy, nil))
}

// Policies of rooms on rooms.
func TestRooms(t *testing.T) {
	c := compare(t, `demand: {shape: sine, base: 0.05, peak: 0.5, period: 2h, length: 4h}
service: {kind: rooms, work: 5m, boot: 30s, start: 30, goal: {share: 0.98}}
policies: [{kind: fixed, size: 200}, {kind: maestro, min: 10, max: 300}, {kind: maestro-10, min: 10, max: 300}, {kind: clairvoyant}]
seeds: 2
`, nil)
	require.Zero(t, value(c, "fixed", "lost"))
	for _, name := range []string{"maestro", "maestro-10", "clairvoyant"} {
		require.Less(t, value(c, name, "lost"), 5.0, name)
		require.Less(t, value(c, name, "cost"), value(c, "fixed", "cost"), name)
		require.Positive(t, value(c, name, "changes"), name)
	}
}

// A gap of the metrics: no policy that goes by them changes anything in it, and a boot that
// always fails leaves the size as it was.
func TestFaults(t *testing.T) {
	text := `demand: {shape: step, base: 8, peak: 40, at: 20m, length: 1h}
service: {work: 500ms, slots: 5, boot: 30s, start: 1}
faults: {gap_from: 15m, gap_length: 30m}
policies: [{kind: lattice, max: 20}, {kind: lattice-coded, max: 20}, {kind: hpa, max: 20}, {kind: kpa, max: 20, target: 3}]
seeds: 1
`
	s, err := profiles.ParseScaling("s.yaml", []byte(text))
	require.NoError(t, err)
	c, err := Run(context.Background(), s, nil, func(int, int) {})
	require.NoError(t, err)
	from, to := int64(s.Faults.GapFrom), int64(s.Faults.GapFrom+s.Faults.GapLength)
	for i := range c.Policies {
		p := &c.Policies[i]
		changed := false
		for _, d := range p.Decisions {
			// A sample from before the gap is good for two minutes.
			inside := int64(d.At) > from+int64(2*s.Step) && int64(d.At) < to
			require.False(t, d.Proposed && inside, "%s at %v", p.Name, d.At)
			changed = changed || d.Proposed
		}
		require.True(t, changed, p.Name)
		require.Positive(t, p.First.Gaps)
	}
	s.Faults = profiles.ScalingFaults{Fail: 1}
	c, err = Run(context.Background(), s, nil, func(int, int) {})
	require.NoError(t, err)
	for i := range c.Policies {
		require.Positive(t, c.Policies[i].First.FailedBoots)
		for _, x := range c.Policies[i].First.Timeline {
			require.LessOrEqual(t, x.Supply, int64(1))
		}
	}
}

// Means of two seeds have an interval and one seed none; the verdict follows the sign.
func TestVerdicts(t *testing.T) {
	c := compare(t, everyPolicy, nil)
	missed, cost := -1, -1
	for k, m := range Measures() {
		switch m.Name {
		case "missed":
			missed = k
		case "cost":
			cost = k
		}
	}
	require.Empty(t, c.Policies[0].Verdict(cost))
	require.Equal(t, "better", c.Policies[1].Verdict(cost))
	require.Contains(t, []string{"worse", "no evidence"}, c.Policies[2].Verdict(missed))
	d := c.Document()
	require.Len(t, d.Policies, len(c.Policies))
	require.NotNil(t, d.Policies[1].Measures[cost].Against)
	require.Nil(t, d.Policies[0].Measures[cost].Against)
}

// What a policy refuses is told with its place.
func TestCheck(t *testing.T) {
	s, err := profiles.ParseScaling("s.yaml", []byte("demand: {shape: constant, base: 1, length: 1h}\npolicies:\n  - {kind: fixed}\n  - {kind: hpa, max: 5, interval: 1s}\n"))
	require.NoError(t, err)
	require.NoError(t, Check(s))
	s.Policies[1].Target = -1
	require.ErrorContains(t, Check(s), "policies[1]")
}

// The examples of the documents can be run, but for their traces.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../docs/examples/scaling/*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 7)
	for _, f := range files {
		s, err := profiles.LoadScaling(f)
		require.NoError(t, err, f)
		require.NoError(t, Check(s), f)
		require.GreaterOrEqual(t, len(s.Policies), 6, f)
	}
}

// A demand that no computer simulates in a life is refused with what to change.
func TestDemandBeyondTheBounds(t *testing.T) {
	for text, says := range map[string]string{
		"demand: {shape: constant, base: 10000, length: 24h}\nservice: {work: 1ms, mode: exact}\npolicies: [{kind: fixed}]\n":  "demand: found 864000000 requests, want at most 20000000 where each is simulated: set service.mode to fluid",
		"demand: {shape: constant, base: 10000, length: 24h}\nservice: {work: 1ms, patience: 1s}\npolicies: [{kind: fixed}]\n": "with one line and no patience",
		"demand: {shape: constant, base: 1e9, length: 1h}\nservice: {work: 1s, slots: 10}\npolicies: [{kind: clairvoyant}]\n":  "want at most 65536: let replicas be larger (service.slots)",
		"demand: {shape: constant, base: 1e12, length: 1h}\nservice: {kind: inference}\npolicies: [{kind: fixed}]\n":           "want at most 65536",
	} {
		s, err := profiles.ParseScaling("s.yaml", []byte(text))
		require.NoError(t, err)
		_, err = Run(context.Background(), s, nil, func(int, int) {})
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, "s.yaml:1:")
	}
}
