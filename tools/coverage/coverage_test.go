package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var document = filepath.Join("..", "..", "docs", "STATISTICS.md")

// blockOf is a table as the document has it.
func blockOf(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), beginMarker(name))
	require.True(t, found, name)
	block, _, ended := strings.Cut(rest, endMarker)
	require.True(t, ended, name)
	return strings.Split(strings.TrimSpace(block), "\n")
}

func cellsOf(line string) []string {
	cells := strings.Split(strings.Trim(line, "| "), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

var numbers = regexp.MustCompile(`[0-9.]+`)

// TestTheDocumentHoldsWhatIsMeasured runs each table with few series: the rows and
// columns of the document are those of the command, and no measured number is further
// from it than chance explains (4.5 standard deviations of both).
func TestTheDocumentHoldsWhatIsMeasured(t *testing.T) {
	o := &options{series: 150, workers: 2}
	const inDocument = 20000.0
	for _, p := range parts {
		text, err := o.markdown(p)
		require.NoError(t, err)
		want, got := blockOf(t, p.name), strings.Split(strings.TrimSpace(text), "\n")
		require.Len(t, want, len(got), "%s: run go run ./tools/coverage -doc docs/STATISTICS.md", p.name)
		require.Equal(t, want[0], got[0], p.name)
		measured := 0
		for i := 2; i < len(got); i++ {
			a, b := cellsOf(want[i]), cellsOf(got[i])
			require.Len(t, b, len(a))
			for c := range a {
				x, y := numbers.FindAllString(a[c], -1), numbers.FindAllString(b[c], -1)
				require.Len(t, y, len(x), "%s, %s", p.name, got[i])
				if c < labels(got[0]) {
					require.Equal(t, a[c], b[c], p.name)
					continue
				}
				for k := range x {
					u, err := strconv.ParseFloat(x[k], 64)
					require.NoError(t, err)
					v, err := strconv.ParseFloat(y[k], 64)
					require.NoError(t, err)
					share := (u + 1) / 102 // never quite 0 or 1
					reach := 4.5*100*math.Sqrt(share*(1-share)*(1/float64(o.series)+1/inDocument)) + 1
					require.InDelta(t, u, v, reach, "%s, column %s: %s", p.name, cellsOf(got[0])[c], got[i])
					measured++
				}
			}
		}
		require.Greater(t, measured, 20, p.name)
	}
}

// labels is how many columns of a table say what a row is.
func labels(head string) int {
	for i, cell := range cellsOf(head) {
		if regexp.MustCompile(`^[0-9.]+ (windows|σ|% worse)$`).MatchString(cell) {
			return i
		}
	}
	return 0
}

// TestPromises holds the document against the bounds that were asked of it.
func TestPromises(t *testing.T) {
	between := func(cell string, low, high float64) {
		x, err := strconv.ParseFloat(numbers.FindString(cell), 64)
		require.NoError(t, err)
		require.True(t, low <= x && x <= high, "%v, want %v to %v", x, low, high)
	}
	for _, line := range blockOf(t, "coverage of the mean")[2:] {
		cells := cellsOf(line)
		for c, cell := range cells[3:] {
			if windows[c] < 20 && cells[1] == "0.8" {
				continue // beyond what is promised
			}
			switch cells[0] {
			case "normal":
				between(cell, 92, 96.2)
			case "lognormal, σ 0.5":
				between(cell, 91, 96)
			case "lognormal, σ 0.8":
				least := 90.0
				if cells[1] == "0.8" && cells[2] == "values" {
					least = 88 // what the document admits
				}
				between(cell, least, 96)
			case "difference of two Pareto(1.5)":
				between(cell, 93, 99)
			}
		}
	}
	for _, line := range blockOf(t, "coverage of the ratio")[2:] {
		cells := cellsOf(line)
		for c, cell := range cells[5:] {
			if windows[c] < 20 {
				continue
			}
			between(cell, 90, 96)
			parts := numbers.FindAllString(cell, -1)
			require.Len(t, parts, 3, cell)
			switch cells[0] {
			case "0.3":
				between(parts[1], 99, 100)
			case "0.8":
				between(parts[1], 0, 30)
				between(parts[2], 0, 5)
			case "1.2":
				between(parts[1], 0, 1)
			}
		}
	}
	for _, line := range blockOf(t, "false claims")[2:] {
		cells := cellsOf(line)
		most := map[string]float64{"0": 5, "0.3": 5.5, "0.5": 7}[cells[2]]
		if cells[0] != "normal differences" {
			most += 3 // what the document admits
		}
		for _, cell := range cells[3:] {
			between(cell, 0, most)
		}
	}
	rows := blockOf(t, "a policy with itself")
	for k, line := range rows[len(rows)-2:] {
		cells := cellsOf(line)
		require.Equal(t, []string{"all", "", "500", []string{"1", "5"}[k]}, cells[:4])
		most := 5.0
		if k == 0 { // of single runs it is said that they differ, and nothing more
			most = 8
		}
		for _, cell := range cells[4:] {
			between(cell, 0, most)
		}
	}
}

// TestRun prints a table and writes it between its markers.
func TestRun(t *testing.T) {
	doc := filepath.Join(t.TempDir(), "doc.md")
	require.NoError(t, os.WriteFile(doc, []byte("before\n"+beginMarker("false claims")+"\nold\n"+endMarker+"\nafter\n"), 0o600))
	var out bytes.Buffer
	require.NoError(t, run([]string{"-series", "20", "-only", "false", "-doc", doc}, &out))
	text, err := os.ReadFile(doc)
	require.NoError(t, err)
	require.Contains(t, out.String(), "| normal differences | independent | 0 |")
	require.Contains(t, string(text), "| normal differences | independent | 0 |")
	require.True(t, strings.HasPrefix(string(text), "before\n") && strings.HasSuffix(string(text), "\nafter\n"), string(text))
	require.NotContains(t, string(text), "old")

	var again bytes.Buffer
	require.NoError(t, run([]string{"-series", "20", "-only", "false", "-workers", "1"}, &again))
	require.Equal(t, out.String(), again.String(), "the same numbers on any number of workers")
	require.ErrorContains(t, run([]string{"-series", "2", "-only", "power", "-doc", doc}, &again), "has no <!-- measured: power")
	require.Error(t, run([]string{"-logs", "-data", t.TempDir()}, &again))
}
