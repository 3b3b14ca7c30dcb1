package tunedir

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBoundsAreSaidWithTheirUnits(t *testing.T) {
	found := Settings{Settings: []Setting{{"--subject-to", "wait_max <= 1.2096e+06, utilisation >= 0.5"}}}
	given := Settings{Settings: []Setting{{"--subject-to", "default"}}}
	require.Equal(t, "--subject-to wait_max <= 14d00:00:00, utilisation >= 50 %, not default", found.Others(&given))
	given.Settings[0].Value = "wait_max <= 1.2096000001e+06, utilisation >= 0.5"
	require.Contains(t, found.Others(&given), "1.2096e+06", "where people would see no difference")
}
