package scaling

import (
	"fmt"
	"regexp"
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

// switched is one key of a policy, with the sizes that come of it; after … they do not matter.
type switched struct{ key, want string }

// holds runs a policy with each key on the same service, from its least size where the service
// says no other; "" is the policy without any.
func holds(t *testing.T, service, policy string, rows []switched) {
	t.Helper()
	if least := regexp.MustCompile(`\bmin: (\d+)`).FindStringSubmatch(policy); !strings.Contains(service, "start:") {
		service = strings.Replace(service, "service: {", "service: {start: "+append(least, "", "0")[1]+", ", 1)
	}
	for _, x := range rows {
		key := x.key
		if key != "" {
			key = ", " + key
		}
		got := sizes(t, service, "{"+policy+key+"}")
		want, open := strings.CutSuffix(x.want, "…")
		if open {
			got = got[:min(len(got), len(want))]
		}
		require.Equal(t, want, got, x.key)
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

// TestSwitchesOfKPA: the rates bound one evaluation, and the activation is the least size
// while there is demand.
func TestSwitchesOfKPA(t *testing.T) {
	holds(t, pulse, "kind: kpa, min: 1, max: 30, target: 0.7, interval: 20s", []switched{
		{"", "1 at 0, 2 at 21, 30 at 621, 29 at 740, 22 at 1220, 16 at 1240, 8 at 1260, 4 at 1280, 2 at 1300"},
		{"max_scale_up_rate: 2", "1 at 0, 2 at 21, 4 at 621, 8 at 641, 16 at 661, 30 at 681, …"},
		{"max_scale_down_rate: 1.2", "1 at 0, 2 at 21, 30 at 621, 29 at 740, 24 at 1220, 20 at 1240, 16 at 1260, 13 at 1280, …"},
	})
	holds(t, pulse, "kind: kpa, min: 0, max: 30, target: 0.7", []switched{
		{"", "2 at 3, 4 at 5, 2 at 66, 11 at 603, …"},
		{"activation_scale: 5", "5 at 3, 11 at 603, …"},
	})
}

// TestWindowsOfKPA: a longer window forgets a demand later, and so does a longer grace.
func TestWindowsOfKPA(t *testing.T) {
	ends := strings.Replace(pulse, "base: 1,", "base: 0,", 1)
	holds(t, ends, "kind: kpa, min: 0, max: 30, target: 0.7, interval: 20s", []switched{
		{"", "30 at 621, 29 at 740, 22 at 1220, 15 at 1240, 7 at 1260, 3 at 1280, 1 at 1300, 0 at 1360"},
		{"stable_window: 3m", "30 at 621, 29 at 880, 27 at 1220, 24 at 1240, 20 at 1260, 17 at 1280, 15 at 1300, …"},
		{"scale_to_zero_grace: 0s", "30 at 621, 29 at 740, 22 at 1220, 15 at 1240, 7 at 1260, 3 at 1280, 1 at 1300, 0 at 1320"},
		{"scale_to_zero_grace: 5m", "30 at 621, 29 at 740, 22 at 1220, 15 at 1240, 7 at 1260, 3 at 1280, 1 at 1300, 0 at 1620"},
	})
}

// TestSwitchesOfLattice: the readings of what its document leaves open.
func TestSwitchesOfLattice(t *testing.T) {
	holds(t, pulse, "kind: lattice, min: 2, max: 8, target: 0.7, up_window: 4m", []switched{
		{"", "2 at 0, 3 at 901, 4 at 1081, 5 at 1261, 6 at 1441, 7 at 1621"}, // the cooldown of 3 min apart
		{"change_restarts_windows: true", "2 at 0, 3 at 901, 4 at 1201, 5 at 1501"},
	})
	holds(t, pulse, "kind: lattice, metric: rate, min: 2, max: 3, target: 5, cooldown: 18m", []switched{
		{"", "2 at 0, 3 at 781"}, // no shrinking within 18 min of the growth
		{"cooldown_per_direction: true", "2 at 0, 3 at 781, 2 at 1560"},
	})
	gap := pulse + "faults: {gap_from: 655s, gap_length: 10s}\n"
	holds(t, gap, "kind: lattice, min: 2, max: 4, target: 0.7, window: 15s, interval: 15s", []switched{
		{"", "2 at 0, 3 at 796, 4 at 976"}, // the sample at 660 s is missing
		{"missing_keeps_windows: true", "2 at 0, 3 at 736, 4 at 916"},
	})
	holds(t, pulse+"faults: {error: 0.6}\n", "kind: lattice-coded, min: 2, max: 8", []switched{
		{"", "2 at 0, 3 at 1216"}, // each failure costs a cooldown of 5 min
		{"cooldown_on_success: true", "2 at 0, 3 at 646, 4 at 976, 5 at 1321, 6 at 1651"},
	})
}

// busy is a demand for 12 rooms from 10 to 30 min, and for 1.2 before and after.
const busy = `demand: {shape: step, base: 0.02, peak: 0.2, at: 10m, over: 20m, length: 50m, grain: 1s}
service: {kind: rooms, work: 1m, work_cv: 0, arrival_cv: 0, slots: 1, boot: 5s, line: 0, start: 10}
`

// TestSwitchesOfMaestro: what the triggers go by, for how long points are kept, and how much
// one evaluation adds.
func TestSwitchesOfMaestro(t *testing.T) {
	const up = "6 at 625, 9 at 635, 13 at 655, 17 at 725"
	holds(t, busy, "kind: maestro, min: 4, max: 60, target: 0.7", []switched{
		{"", "10 at 0, 4 at 60, " + up + ", 4 at 1890"},
		{"trigger: legacy", "10 at 0, 9 at 60, 10 at 655, 11 at 665, 12 at 675, …"},
		{"trigger: legacy, delta: 5", "10 at 0, 5 at 60, 10 at 635, 15 at 665, 20 at 735, 15 at 1880, 10 at 2490"},
		{"trigger: cpu", "10 at 0, 4 at 80, 6 at 635, 9 at 645, …"}, // a mean since the last scrape, which comes later
		{"trigger: memory", "10 at 0, 4 at 60, 6 at 625, 9 at 635, 13 at 645, …"},
		{"panic_rooms: 10", "10 at 0, 4 at 60, 14 at 620, 17 at 715, 4 at 1890"}, // with the session that takes it beyond the limit
		{"max_scale_up: 2", "10 at 0, 4 at 60, 6 at 625, 8 at 635, 10 at 655, 12 at 665, 14 at 715, 16 at 785, 17 at 855, 4 at 1890"},
		{"down_time: 8m", "10 at 0, 4 at 240, " + up + ", 4 at 2070"},
	})
	// With few points an up trigger of 5 min never has enough of them: the limit alone adds.
	holds(t, busy, "kind: maestro, min: 4, max: 60, target: 0.7, limit: 1, time: 5m, down_time: 30s", []switched{
		{"", "10 at 0, 4 at 10, 6 at 625, 9 at 635, 13 at 655, 12 at 1840, 4 at 2450"},
		{"larger_window: true", "10 at 0, 4 at 10, 6 at 625, 9 at 635, 13 at 655, 17 at 785, 12 at 1840, 4 at 2450"},
	})
	// Of rooms of four slots one session occupies a room, and takes a quarter of it.
	four := strings.NewReplacer("slots: 1", "slots: 4, balancing: least-loaded, mode: exact", "start: 10", "start: 6", "peak: 0.2", "peak: 0.4").Replace(busy)
	holds(t, four, "kind: maestro, min: 4, max: 60, target: 0.7", []switched{
		{"", "6 at 0, 4 at 60, 6 at 625, 9 at 635, 13 at 655, 17 at 665, 24 at 685, 31 at 715, 34 at 785, 4 at 1890"},
		{"trigger: cpu", "6 at 0, 4 at 80, 6 at 655, 9 at 725, 13 at 735, 11 at 1820, 4 at 2430"},
		{"trigger: memory", "6 at 0, 4 at 60, 6 at 655, 9 at 725, 13 at 735, 11 at 1820, 4 at 2430"},
	})
	holds(t, busy, "kind: maestro-10, min: 4, max: 60", []switched{
		{"", "4 at 0, 5 at 625, 7 at 635, 9 at 655, …"},
		{"buffer: 8", "8 at 0, 9 at 65, 10 at 115, 9 at 120, …"},
	})
}

// oneSession is a session at 10 min for a worker that boots within 150 s.
const oneSession = `demand: {shape: constant, base: 0.0016666666667, length: 19m}
service: {kind: rooms, slots: 4, line: -1, work: 1h, work_cv: 0, arrival_cv: 0, boot: 150s, goal: {limit: 1m}}
`

// TestSwitchesOfLCM: without polling a session calls once, and a control plane that pauses by
// itself asks for neither the least number of workers nor the cooldown.
func TestSwitchesOfLCM(t *testing.T) {
	holds(t, oneSession, "kind: lcm, max: 10", []switched{
		{"", "1 at 750, 2 at 780, 3 at 810, 4 at 840, 5 at 870"},
		{"polling: false", "1 at 750"},
	})
	many := strings.NewReplacer("constant, base: 0.0016666666667, length: 19m", "step, base: 0.0001, peak: 0.1, at: 10m, over: 90s, length: 40m, grain: 1s", "boot: 150s", "start: 0, boot: 60s", "work: 1h", "work: 5m").Replace(oneSession)
	holds(t, many, "kind: lcm, max: 10, idle_after: 2m, min: 2, cooldown: 5m", []switched{
		{"", "1 at 669, 3 at 679, 6 at 689, 9 at 690, 10 at 699, 9 at 810, 8 at 1110, 7 at 1410, 6 at 1710, 5 at 2010, 4 at 2310"},
		{"auto_pause: true", "1 at 669, 3 at 679, 6 at 689, 9 at 690, 10 at 699, 5 at 810, 1 at 840, 0 at 1110"},
	})
}

// TestRetriesOfLCM: four of five commands fail, among them the first two assignments of a
// session. With a single attempt it is given up, or as coded comes again after 5 min.
func TestRetriesOfLCM(t *testing.T) {
	for policy, waits := range map[string]int{"kind: lcm": 4, "kind: lcm, max_retries: 1": 10, "kind: lcm-coded": 4, "kind: lcm-coded, max_retries: 1": 8} {
		c := compare(t, strings.Replace(oneSession, "boot:", "start: 0, boot:", 1)+"faults: {error: 0.8}\npolicies: [{max: 10, "+policy+"}]\nseeds: 1\n", nil)
		sum := 0.0 // minutes at whose end it waits, of the ten until the last
		for _, x := range c.Policies[0].First.Timeline {
			sum += x.Waiting
		}
		require.InDelta(t, waits, sum, 0, policy)
	}
}

// TestSwitchesOfNeon: after a change of size that failed an agent waits.
func TestSwitchesOfNeon(t *testing.T) {
	holds(t, pulse+"faults: {error: 0.6}\n", "kind: neon, min: 1, max: 30, target: 0.9", []switched{
		{"", "1 at 0, 18 at 616, 30 at 631, 28 at 855, …"},
		{"resize_retry: 2m", "1 at 0, 30 at 846, 2 at 1710"},
	})
}

// TestSwitchesAtTheirDefaults: a key that says what holds without it changes nothing.
func TestSwitchesAtTheirDefaults(t *testing.T) {
	behavior := "behavior: {enabled: true, up_factor: 2, scale_up: {stabilization_window: 0s, select_policy: max, tolerance: 0.1, policies: [{type: pods, value: 4, period: 15s}, {type: percent, value: 100, period: 15s}]}, " +
		"scale_down: {stabilization_window: 5m, select_policy: max, tolerance: 0.1, policies: [{type: percent, value: 100, period: 15s}]}}"
	for _, x := range []struct{ service, policy, keys string }{
		{pulse, "kind: hpa, min: 2, max: 30, metric: rate, target: 1", behavior},
		{pulse, "kind: keda, min: 2, max: 30, metric: rate, target: 1", behavior},
		{pulse, "kind: kpa, max: 30, target: 0.7", "max_scale_up_rate: 1000, max_scale_down_rate: 2, activation_scale: 1, stable_window: 60s, scale_to_zero_grace: 30s"},
		{pulse, "kind: lattice, max: 30", "missing_keeps_windows: false, change_restarts_windows: false, cooldown_per_direction: false"},
		{pulse, "kind: lattice-coded, max: 30", "cooldown_on_success: false"},
		{busy, "kind: maestro, max: 60", "trigger: room, down_time: 2m, larger_window: false, panic_rooms: 0, max_scale_up: 300"},
		{busy, "kind: maestro-10, max: 60", "buffer: none"},
		{oneSession, "kind: lcm, max: 10, idle_after: 2m", "polling: true, auto_pause: false, max_retries: 35"},
		{pulse, "kind: neon, max: 30", "resize_retry: 5s"},
	} {
		tail := "]\nseeds: 2\n"
		without, with := compare(t, x.service+"policies: [{"+x.policy+"}"+tail, nil), compare(t, x.service+"policies: [{"+x.policy+", "+x.keys+"}"+tail, nil)
		require.Equal(t, without, with, x.policy)
	}
}
