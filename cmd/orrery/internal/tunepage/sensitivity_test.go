package tunepage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/metric"
	"orrery/sim/sensitivity"
	"orrery/sim/tune"
)

// TestInfluenceText: a large part of a variance that is noise is not read as much.
func TestInfluenceText(t *testing.T) {
	part := tune.PartMove{Influence: sensitivity.Inert, Total: tune.Range{Estimate: 1}}
	require.Equal(t, "inert (of changes within the noise)", influenceText(&part))
	part.Total.Estimate = 0
	require.Equal(t, "inert", influenceText(&part))
	part.Total.Estimate = metric.Undefined
	require.Equal(t, "inert", influenceText(&part))
	part = tune.PartMove{Influence: sensitivity.Active, Total: tune.Range{Estimate: 1}}
	require.Equal(t, "active", influenceText(&part))
}
