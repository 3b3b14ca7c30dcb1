package transform

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/traces"
)

// TestEventStep: the event stands behind those of its instant, and a replay of the trace would meet it.
func TestEventStep(t *testing.T) {
	in := sampled(t)
	out := apply(t, in, "event time=3m kind=power_cap value=500")
	b, res := written(t, out)
	require.Equal(t, []traces.Event{
		{Time: 3 * minute, Kind: "power_cap", Value: "900"}, {Time: 3 * minute, Kind: "power_cap", Value: "500"},
	}, b.Events())
	require.Contains(t, res.Accounts[0].Notes[0], "events of kind power_cap at 00:03:00: 1 added")
	require.Len(t, in.Events, 1, "the trace that was read stays as it was")

	b, _ = written(t, apply(t, in, "event time=1m kind=down subject=n1"))
	require.Equal(t, traces.Event{Time: minute, Kind: "down", Subject: "n1"}, b.Events()[0])
	require.Len(t, b.Events(), 2)
}

// TestEventStepRefuses what a trace may not hold, before anything is read where that shows.
func TestEventStepRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"event time=3m":                            "kind is missing",
		"event kind=explode":                       "unknown kind of an event",
		"event kind=down":                          "event without a subject",
		"event kind=down subject=n1 value=3":       "value that does not fit the kind of the event",
		"event kind=power_cap value=much":          "value that does not fit the kind of the event",
		"event kind=down subject=n1 time=tomorrow": "time=tomorrow",
		"event kind=down subject=n1 colour=red":    `unknown argument "colour"`,
	} {
		_, err := ParseStep(text)
		require.ErrorContains(t, err, want, text)
	}
	s, err := ParseStep("event kind=down subject=n1,n2")
	require.NoError(t, err)
	_, err = sampled(t).Apply(Recipe{s}, nil)
	require.ErrorContains(t, err, "table nodes")
	require.ErrorContains(t, err, "no row of the name n2")
}
