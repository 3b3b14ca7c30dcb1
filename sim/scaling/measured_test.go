package scaling

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// No policy knows what it cannot have measured: while no metric is scraped its decisions are the
// same whether the demand stays as it is or is ten times as much. The clairvoyant reference knows
// the future by its name, a fixed size looks at nothing, and LCM has sessions of its own and no
// scrapes.
func TestPoliciesAreBlindInAGap(t *testing.T) {
	const queue, rooms = "kind: queue, work: 500ms, slots: 5, boot: 30s, mode: %s", "kind: rooms, work: 1m, slots: 2, boot: 30s, mode: %s"
	gap := 30 * model.Minute
	from := model.Time(15 * model.Minute)
	for _, x := range []struct{ service, policy string }{
		{queue, "kind: lattice, min: 2, max: 40"},
		{queue, "kind: lattice, min: 2, max: 40, metric: queue, target: 1"},
		{queue, "kind: lattice-coded, min: 2, max: 40"},
		{queue, "kind: hpa, min: 2, max: 40"},
		{queue, "kind: hpa, min: 2, max: 40, metric: wait, target: 0.2"},
		{queue, "kind: kpa, min: 2, max: 40, target: 3"},
		{queue, "kind: keda, min: 0, max: 40, metric: rate, target: 8"},
		{queue, "kind: neon, min: 1, max: 60"},
		{rooms, "kind: maestro, min: 4, max: 60, target: 0.7"},
		{rooms, "kind: maestro, min: 4, max: 60, target: 0.7, panic_rooms: 10"},
		{rooms, "kind: maestro, min: 4, max: 60, target: 0.7, trigger: cpu"},
		{rooms, "kind: maestro-10, min: 4, max: 60"},
		{rooms, "kind: hpa, min: 4, max: 60, target: 0.7"},
	} {
		for _, mode := range []string{"exact", "fluid"} {
			seen := func(peak string) (out []Decision, gaps int64) {
				base := "8"
				if x.service == rooms {
					base, peak = "0.1", strings.Replace(peak, "8", "0.", 1)
				}
				text := fmt.Sprintf("demand: {shape: step, base: %s, peak: %s, at: 20m, over: 20m, length: 45m}\nservice: {%s}\nfaults: {gap_from: 15m, gap_length: 30m}\npolicies: [{%s}]\nseeds: 1\n",
					base, peak, fmt.Sprintf(x.service, mode), x.policy)
				c := compare(t, text, nil)
				for _, d := range c.Policies[0].Decisions {
					if d.At >= from && d.At < from.Add(gap) {
						out = append(out, d)
					}
				}
				return out, c.Policies[0].First.Gaps
			}
			same, other := "8", "80"
			if x.service == rooms {
				same, other = "81", "89"
			}
			stays, gaps := seen(same)
			rises, _ := seen(other)
			require.Positive(t, gaps)
			require.Equal(t, stays, rises, "%s, %s", x.policy, mode)
		}
	}
}

// Every policy begins with what the demand needs before its first replica could serve, within its
// bounds; a size that the file gives is the one, 0 as well. The table and the document say it.
func TestPoliciesBeginAlike(t *testing.T) {
	const text = "demand: {shape: constant, base: 40, length: 20m}\nservice: {kind: %s, work: 500ms, slots: 5, boot: 30s%s}\npolicies: [%s]\nseeds: 2\n"
	starts := func(kind, given string, policies ...string) (out []Range) {
		c := compare(t, fmt.Sprintf(text, kind, given, "{"+strings.Join(policies, "}, {")+"}"), nil)
		for i := range c.Policies {
			out = append(out, c.Policies[i].Start)
			require.Equal(t, c.Policies[i].Start, c.Document().Policies[i].Start)
			if x := c.Policies[i].First.Sizes; len(x) > 0 && x[0].At == 0 && given == "" && c.Policies[i].Kind != "kpa" {
				require.Equal(t, out[i].Least, x[0].N, policies[i])
			}
		}
		return out
	}
	five := Range{5, 5}
	require.Equal(t, []Range{five, five, five, five, {3, 3}, {9, 9}, {8, 8}, five}, starts("queue", "", "kind: lattice", "kind: kpa, target: 4", "kind: lattice-coded", "kind: hpa, min: 2", "name: low, kind: hpa, max: 3",
		"name: high, kind: hpa, min: 9", "kind: fixed, size: 8", "kind: clairvoyant"), "20 servers' worth of work, on replicas of 5 slots")
	require.Equal(t, []Range{{7, 7}, {7, 7}, {7, 7}}, starts("queue", ", start: 7", "kind: lattice", "name: low, kind: hpa, max: 3", "kind: fixed, size: 2"))
	require.Equal(t, []Range{{0, 0}, {0, 0}}, starts("queue", ", start: 0", "kind: keda, min: 0, metric: rate, target: 5", "kind: lattice, min: 0"))
	lcm := starts("rooms", ", line: -1", "kind: lcm", "kind: hpa, metric: concurrency, target: 4")
	require.Equal(t, lcm[0], lcm[1], "workers are replicas")
	require.Positive(t, lcm[0].Least)
}
