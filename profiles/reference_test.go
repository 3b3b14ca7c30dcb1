package profiles

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/tools/refdata"
)

// TestLibraryIsThatOfTheReference holds each profile that the reference has a column for
// against its table of weights, and each of its columns against a profile.
func TestLibraryIsThatOfTheReference(t *testing.T) {
	text, err := os.ReadFile(refdata.Path(t, "reference/lattice.md"))
	require.NoError(t, err)
	names := map[string]string{
		"HPC batch": "hpc-batch", "ML training": "ml-training", "Service": "service", "Sensitive": "sensitive", "Interactive": "interactive", "CODE default": "default",
	}
	_, table, found := strings.Cut(string(text), "\n## 2.5 ")
	require.True(t, found)
	_, table, found = strings.Cut(table, "\n| weight |")
	require.True(t, found)
	cells := func(line string) (out []string) {
		for c := range strings.SplitSeq(strings.Trim(line, "| "), "|") {
			out = append(out, strings.TrimSpace(c))
		}
		return out
	}
	lines := strings.Split(table, "\n")
	columns := cells(lines[0])
	require.Len(t, columns, len(names))
	rows := 0
	for _, line := range lines[2:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		row := cells(line)
		for i, column := range columns {
			require.Contains(t, names, column)
			p, err := Load(names[column])
			require.NoError(t, err)
			want, err := strconv.ParseFloat(row[i+1], 64)
			require.NoError(t, err)
			require.InDelta(t, want, p.Weights.vector()[rows], 1e-12, "%s of %s", row[0], column)
		}
		rows++
	}
	require.Equal(t, 9, rows)
}
