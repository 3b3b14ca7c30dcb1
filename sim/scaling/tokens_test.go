package scaling

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/traces"
)

// TestTokensThatNoSampleSays: a number of tokens that is not known is that of the file, and the
// result says of how many samples; a request that is known to generate something is never
// one that reads nothing.
func TestTokensThatNoSampleSays(t *testing.T) {
	some := traces.Some[float64]
	file := func(kind string) *profiles.Scaling {
		s := &profiles.Scaling{}
		s.Service.Kind, s.Service.Batch.In, s.Service.Batch.Out = kind, 700, 80
		return s
	}
	rows := []traces.Load{{Service: "a", Time: 1, Arrivals: some(1)}, {Service: "a", Time: 2, Arrivals: some(1), TokensIn: some(40)},
		{Service: "a", Time: 3, Arrivals: some(1), TokensOut: some(5)}, {Service: "a", Time: 4, Arrivals: some(1), TokensIn: some(40), TokensOut: some(0)}}
	table := func(yield func(*traces.Load, error) bool) {
		for _, r := range slices.Clone(rows) {
			if !yield(&r, nil) {
				return
			}
		}
	}
	d, _, err := Recorded(file("inference"), table)
	require.NoError(t, err)
	require.Equal(t, []string{
		"1 of 4 samples do not say how many tokens requests read and generate: assumed are 700 read and 80 generated in the mean (service.batch.tokens_in, tokens_out)",
		"1 of 4 samples do not say how many tokens requests read: assumed are 700 (service.batch.tokens_in)",
		"1 of 4 samples do not say how many tokens requests generate: assumed are 80 (service.batch.tokens_out)",
	}, d.Notes)
	var got [][2]float64
	for _, s := range d.Singles {
		got = append(got, [2]float64{s.In, s.Out})
	}
	require.Equal(t, [][2]float64{{0, 0}, {40, 80}, {700, 5}, {40, 0}}, got)

	d, _, err = Recorded(file("queue"), table)
	require.NoError(t, err)
	require.Empty(t, d.Notes, "of other services tokens do not matter")
}
