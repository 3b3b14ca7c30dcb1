package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRefTable: rows come zero and stay where they are and as they are, whatever joins.
func TestRefTable(t *testing.T) {
	var table RefTable[int]
	require.Zero(t, table.Len())
	table.Reach(3)
	require.Equal(t, 4, table.Len())
	third := table.At(3)
	*third = 7
	for _, ref := range []Ref{refBlock - 1, refBlock, 5 * refBlock, 2} {
		table.Reach(ref)
		require.Same(t, third, table.At(3))
		require.Zero(t, *table.At(ref))
	}
	require.Equal(t, 5*refBlock+1, table.Len())
	require.Equal(t, 7, *third)
	require.Zero(t, testing.AllocsPerRun(10, func() { table.Reach(5 * refBlock) }))
}
