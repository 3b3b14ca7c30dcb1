package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/traces"
)

// The statistics of a bundle tell whether its rows have to be read beforehand.
func TestUntimedKinds(t *testing.T) {
	p := &Site{}
	require.True(t, p.Untimed(traces.Info{}))
	require.True(t, p.Untimed(traces.Info{Filled: []traces.Filled{{Column: "kind", Rows: 3}}}))
	require.False(t, p.Untimed(traces.Info{Filled: []traces.Filled{{Column: "tenant", Rows: 3}}}))
}
