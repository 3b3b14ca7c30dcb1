package plot

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func fidelityFigures(jobs int) []*Figure {
	var pairs []WaitPair
	for i := range jobs {
		pairs = append(pairs, WaitPair{float64(i % 700), float64(i*37%900) / 2})
	}
	rows := []ErrorRow{{"1", 0.2, 0.1, 0.3}, {"2-4", -0.4, -0.6, 0.1}, {"5-16", math.NaN(), math.NaN(), math.NaN()}, {"17-64", 9, 7, 11}}
	return []*Figure{RecordedAgainstReplayed(pairs), ErrorBars("error-by-size", "By size", rows)}
}

func TestFiguresOfFidelity(t *testing.T) {
	checkFigures(t, fidelityFigures(300), fidelityFigures(300))
	for _, f := range append(fidelityFigures(20_000), RecordedAgainstReplayed(nil), ErrorBars("none", "None", nil)) {
		require.NoError(t, f.WriteSVG(&bytes.Buffer{}), f.Name)
		require.NoError(t, f.WriteNarrowSVG(&bytes.Buffer{}), f.Name)
		require.NoError(t, f.WritePNG(&bytes.Buffer{}), f.Name)
	}
}

// TestPointsAreThinned: many jobs are drawn as some, with the shortest and the longest wait among them.
func TestPointsAreThinned(t *testing.T) {
	var pairs []WaitPair
	for i := range 12_000 {
		pairs = append(pairs, WaitPair{float64(12_000 - i), 1})
	}
	shown := thinnedPairs(pairs)
	require.Len(t, shown, mostWaitPairs)
	require.Equal(t, WaitPair{1, 1}, shown[0])
	require.Equal(t, WaitPair{12_000, 1}, shown[len(shown)-1])
	require.Contains(t, RecordedAgainstReplayed([]WaitPair{{1, 2}, {5, 3}, {2, 9}}).Alt(), "2 jobs wait longer")
}
