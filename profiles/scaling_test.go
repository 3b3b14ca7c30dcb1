package profiles

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

func scalingKeys() []documentKey { return keysOf(reflect.TypeFor[Scaling](), "") }

const smallScaling = `demand: {shape: step, base: 1, peak: 4, at: 10m, length: 1h}
service: {work: 1s}
policies:
  - {kind: fixed, size: 3}
  - {name: a, kind: hpa, target: 0.6, max: 9}
`

func TestScaling(t *testing.T) {
	s, err := ParseScaling("dir/step.yaml", []byte(smallScaling))
	require.NoError(t, err)
	require.Equal(t, []any{"step", "fixed", "a", int32(8), model.Minute}, []any{s.Name, s.Policies[0].Name, s.Policies[1].Name, s.Seeds, s.Step})
	require.Equal(t, KindScaling, KindOf([]byte(smallScaling)))
}

// TestBrokenScaling reads scaling files with one thing wrong each: every problem has its
// line and column.
func TestBrokenScaling(t *testing.T) {
	for text, want := range map[string]string{
		smallScaling + "  - {kind: fixed}\n":                                         "a second policy is called fixed",
		smallScaling + "  - {name: b, kind: fixed, target: 1}\n":                     "does not apply to kind: fixed, but to lattice, hpa, keda, kpa, maestro or neon",
		smallScaling + "  - {kind: lattice, metric: recorded_utilization}\n":         "a recorded utilisation was made by the size at the recording",
		smallScaling + "  - {kind: lattice, metric: quue}\n":                         "found quue (did you mean queue?)",
		smallScaling + "  - {kind: maestro}\n":                                       "which scales rooms",
		smallScaling + "  - {kind: hpa, min: 5, max: 2}\n":                           "less than the min of 5",
		smallScaling + "seed: 3\n":                                                   "there is no such key",
		"policies: [{kind: fixed}]\n":                                                "has neither trace nor shape",
		"demand: {shape: sine, peak: 3}\npolicies: [{kind: fixed}]\n":                "has a shape without a length",
		"demand: {trace: a, shape: constant, length: 1h}\npolicies: [{}]\n":          "stands beside shape",
		"demand: {trace: a, base: 3}\npolicies: [{}]\n":                              "does not apply with demand.shape: recorded",
		"demand: {shape: ramp, length: 1h, peak: 3}\npolicies: [{}]\n":               "is missing: a ramp takes some time",
		"demand: {trace: a}\nservice: {mode: fluid, patience: 1s}\npolicies: [{}]\n": "a fluid has one line and no patience",
		"demand: {trace: a}\n":                                                       "there are none: list one or more",
	} {
		_, err := ParseScaling("s.yaml", []byte(text))
		var wrong *Error
		require.ErrorAs(t, err, &wrong, text)
		require.ErrorContains(t, err, want, text)
		require.Positive(t, wrong.Problems[0].Line, text)
		require.Positive(t, wrong.Problems[0].Column, text)
	}
}

// Switches of policies that cannot be are told with their place and what to write.
func TestBrokenSwitches(t *testing.T) {
	for keys, want := range map[string]string{
		"kind: lattice, behavior: {enabled: false}":                                     "s.yaml:4:40: policies[0].behavior: does not apply to kind: lattice, but to hpa or keda: leave it out",
		"kind: hpa, behavior: {scale_up: {stabilization_window: 2h}}":                   "s.yaml:4:70: policies[0].behavior.scale_up.stabilization_window: found 2h, want 0s to 1h",
		"kind: hpa, up_window: 1m, behavior: {scale_up: {stabilization_window: 2m}}":    "stands beside up_window, which says the same: leave one of them out",
		"kind: hpa, down_window: 1m, behavior: {scale_down: {stabilization_window: 0}}": "stands beside down_window",
		"kind: hpa, behavior: {scale_down: {policies: []}}":                             "is an empty list, want one policy or more: leave the key out for those of Kubernetes, or forbid the change by select_policy: disabled",
		"kind: hpa, behavior: {scale_up: {policies: [{value: 3}, {value: 0}]}}":         "policies[0].behavior.scale_up.policies[1].value: found 0, want 1 to 1000000",
		"kind: hpa, behavior: {scale_up: {policies: [{type: pod}]}}":                    `found "pod" (did you mean pods?), want pods or percent`,
		"kind: hpa, behavior: {scale_up: {policies: [{period: 1h}]}}":                   "found 1h, want 1s to 30m",
		"kind: hpa, behavior: {scale_up: {select_policy: Max}}":                         `want max, min or disabled`,
		"kind: hpa, behavior: {up_factor: 0.5}":                                         "found 0.5, want 1 to 1000000",
		"kind: hpa, behavior: {scale_down: {tolerance: -1}}":                            "found -1, want 0 to 100",
		"kind: kpa, max_scale_up_rate: 1":                                               "policies[0].max_scale_up_rate: found 1, want 1.01 or more",
		"kind: kpa, activation_scale: 0":                                                "found 0, want 1 or more",
		"kind: hpa, max_scale_down_rate: 3":                                             "does not apply to kind: hpa, but to kpa: leave it out",
		"kind: lattice-coded, cooldown_per_direction: true":                             "does not apply to kind: lattice-coded, but to lattice: leave it out",
		"kind: lattice, cooldown_on_success: true":                                      "does not apply to kind: lattice, but to lattice-coded: leave it out",
		"kind: lattice, missing_keeps_windows: 1":                                       `policies[0].missing_keeps_windows: found "1", want true or false`,
		"kind: lattice, panic_rooms: 1":                                                 "does not apply to kind: lattice, but to maestro: leave it out",
		"kind: neon, resize_retry: -1s":                                                 "found -1s, want 0s or more",
		"kind: hpa, behaviour: {}":                                                      "there is no such key (did you mean behavior?)",
	} {
		_, err := ParseScaling("s.yaml", []byte("demand: {shape: step, base: 1, peak: 4, at: 10m, length: 1h}\nservice: {work: 1s}\npolicies:\n  - {name: a, "+keys+"}\n"))
		require.ErrorContains(t, err, want, keys)
	}
}

// Switches of policies of rooms.
func TestBrokenSwitchesOfRooms(t *testing.T) {
	for keys, want := range map[string]string{
		"kind: maestro, delta: 3":                        "policies[0].delta: does not apply with trigger: room, whose usage says the step: use trigger: legacy, or leave it out",
		"kind: maestro, trigger: gpu":                    `found "gpu" (did you mean cpu?), want room, legacy, cpu or memory`,
		"kind: maestro, down_time: 5s":                   "found 5s, want 10s or more",
		"kind: maestro, max_scale_up: 0":                 "found 0, want 1 to 1000000",
		"kind: maestro, panic_rooms: -1":                 "found -1, want 0 to 1000000",
		"kind: maestro-10, buffer: 3, ready_target: 0.1": "policies[0].ready_target: stands beside buffer, which takes its place: leave one of them out",
		"kind: maestro-10, trigger: cpu":                 "does not apply to kind: maestro-10, but to maestro: leave it out",
		"kind: lcm, polling: false, watch: false":        "policies[0].polling: is off, and so is watch: no session would be placed; leave one of them on",
		"kind: lcm, auto_pause: true":                    "policies[0].auto_pause: pauses idle workers, and idle_after is never: say after how long a worker is idle",
	} {
		_, err := ParseScaling("s.yaml", []byte("demand: {shape: step, base: 1, peak: 4, at: 10m, length: 1h}\nservice: {kind: rooms, line: -1}\npolicies:\n  - {name: a, "+keys+"}\n"))
		require.ErrorContains(t, err, "s.yaml:4:", keys)
		require.ErrorContains(t, err, want, keys)
	}
}

func FuzzScaling(f *testing.F) {
	f.Add([]byte(smallScaling))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseScaling("s.yaml", text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.NotEmpty(t, s.Policies)
	})
}
