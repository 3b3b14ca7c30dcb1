package scaling

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// sizes are the numbers of replicas that serve under a policy, each with the second since
// which: "2 at 0, 5 at 615".
func sizes(t *testing.T, service, policy string) string {
	t.Helper()
	c := compare(t, service+"policies: ["+policy+"]\nseeds: 1\n", nil)
	var told []string
	for _, x := range c.Policies[0].First.Sizes {
		told = append(told, fmt.Sprintf("%d at %d", x.N, x.At/model.Time(model.Second)))
	}
	return strings.Join(told, ", ")
}

// switched is one key of a policy, with the sizes that come of it.
type switched struct{ key, want string }

// holds runs a policy with each key on the same service; "" is the policy without any.
func holds(t *testing.T, service, policy string, rows []switched) {
	t.Helper()
	for _, x := range rows {
		key := x.key
		if key != "" {
			key = ", " + key
		}
		require.Equal(t, x.want, sizes(t, service, "{"+policy+key+"}"), x.key)
	}
}

// pulse is a demand for 20 replicas from 10 to 20 min, and for one before and after.
const pulse = `demand: {shape: step, base: 1, peak: 20, at: 10m, over: 10m, length: 30m, grain: 1s}
service: {work: 1s, work_cv: 0, arrival_cv: 0, slots: 1, boot: 1s, mode: fluid}
`

// TestSwitchesOfHPA: every key of the rules of an HPA changes when and how far it goes.
func TestSwitchesOfHPA(t *testing.T) {
	const up = "6 at 616, 12 at 631, 20 at 646" // 4 replicas or 100 % in 15 s, what is more
	holds(t, pulse, "kind: hpa, min: 2, max: 30, metric: rate, target: 1", []switched{
		{"", "2 at 0, " + up + ", 2 at 1500"},
		{"behavior: {enabled: true, up_factor: 9}", "2 at 0, " + up + ", 2 at 1500"}, // a factor goes without behaviours
		{"behavior: {enabled: false}", "2 at 0, 4 at 616, 8 at 631, 16 at 646, 20 at 661, 2 at 1515"},
		{"behavior: {enabled: false, up_factor: 4}", "2 at 0, 8 at 616, 20 at 631, 2 at 1515"},
		{"behavior: {enabled: false}, down_window: 1m", "2 at 0, 4 at 616, 8 at 631, 16 at 646, 20 at 661, 2 at 1275"},
		{"behavior: {scale_up: {policies: [{type: pods, value: 6, period: 60s}]}}", "2 at 0, 8 at 616, 14 at 676, 20 at 736, 2 at 1500"},
		{"behavior: {scale_up: {policies: [{type: percent, value: 50, period: 30s}]}}", "2 at 0, 3 at 616, 5 at 646, 8 at 676, 12 at 706, 18 at 736, 20 at 766, 2 at 1500"},
		{"behavior: {scale_up: {select_policy: min}}", "2 at 0, 4 at 616, 8 at 631, 12 at 646, 16 at 661, 20 at 676, 2 at 1500"},
		{"behavior: {scale_up: {select_policy: disabled}}", "2 at 0"},
		{"behavior: {scale_up: {stabilization_window: 2m}}", "2 at 0, 6 at 721, 12 at 736, 20 at 751, 2 at 1500"},
		{"up_window: 2m", "2 at 0, 6 at 721, 12 at 736, 20 at 751, 2 at 1500"},
		{"behavior: {scale_up: {tolerance: 8}}", "2 at 0, 6 at 616, 2 at 1500"}, // 20 of 6 is 3.3 times the target
		{"behavior: {scale_down: {stabilization_window: 0s}}", "2 at 0, " + up + ", 2 at 1215"},
		{"behavior: {scale_down: {policies: [{type: pods, value: 3, period: 60s}]}}", "2 at 0, " + up + ", 17 at 1500, 14 at 1560, 11 at 1620, 8 at 1680, 5 at 1740"},
		{"behavior: {scale_down: {policies: [{type: percent, value: 10, period: 60s}]}}", "2 at 0, " + up + ", 18 at 1500, 16 at 1560, 14 at 1620, 12 at 1680, 10 at 1740"},
		{"behavior: {scale_down: {select_policy: min, policies: [{value: 3, period: 60s}, {value: 9, period: 60s}]}}", "2 at 0, " + up + ", 17 at 1500, 14 at 1560, 11 at 1620, 8 at 1680, 5 at 1740"},
		{"behavior: {scale_down: {select_policy: disabled}}", "2 at 0, " + up},
		{"behavior: {scale_down: {tolerance: 0.96}}", "2 at 0, " + up}, // one of 20 is 95 % below the target
	})
	holds(t, pulse, "kind: keda, min: 2, max: 30, metric: rate, target: 1", []switched{
		{"", "2 at 0, " + up + ", 2 at 1500"},
		{"behavior: {scale_down: {stabilization_window: 0s}}", "2 at 0, " + up + ", 2 at 1215"},
	})
}
