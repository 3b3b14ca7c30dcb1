package slurm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestContinuedLines joins a line of half a million pieces, which takes as long as reading it.
func TestContinuedLines(t *testing.T) {
	lines, err := scan(Source{Name: "slurm.conf", Reader: strings.NewReader(strings.Repeat("\\\n", 500_000) + "ClusterName=a\n")})
	require.NoError(t, err)
	require.Len(t, lines, 1)
	require.Equal(t, "a", lines[0].pairs[0].value)
	require.Less(t, testing.AllocsPerRun(1, func() {
		_, _ = scan(Source{Name: "slurm.conf", Reader: strings.NewReader(strings.Repeat("\\\n", 50_000) + "ClusterName=a\n")})
	}), 10_000.0, "each piece is copied once, and not all of those before it")
}
