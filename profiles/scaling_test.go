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
