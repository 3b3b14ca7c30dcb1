package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/search"
)

// logFile is 400 jobs over eight days that queue on 8 processors.
func logFile(t *testing.T) string {
	var b strings.Builder
	b.WriteString("; Version: 2.2\n; UnixStartTime: 843480031\n; TimeZoneString: UTC\n; MaxProcs: 8\n")
	for i := 1; i <= 400; i++ {
		run := 600 + i*7919%14000
		fmt.Fprintf(&b, "%d %d 0 %d %d -1 -1 %d %d -1 1 %d 1 1 1 1 -1 -1\n", i, 1700*i, run, 1+i*31%4, 1+i*31%4, 2*run, 1+i%5)
	}
	path := filepath.Join(t.TempDir(), "log.swf")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

// TestContest: table and figure are the same with any number of workers, and what
// the methods find is no worse than what they began with.
func TestContest(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	path := logFile(t)
	seeds := 6
	if testing.Short() {
		seeds = 2 // the workers have as much to share
	}
	var first, figure string
	for _, workers := range []int{1, 3} {
		o := options{out: t.TempDir(), trials: 8, fronts: 12, seeds: seeds, windows: 1, length: 2 * model.Day, workers: workers}
		b, err := newBench(path, 8, o)
		require.NoError(t, err)
		c := contest{bench: b, options: o}
		require.NoError(t, c.run(context.Background()))
		var out bytes.Buffer
		require.NoError(t, c.show(&out, "small"))
		svg, err := os.ReadFile(filepath.Join(o.out, "search-small.svg"))
		require.NoError(t, err)
		if workers == 1 {
			first, figure = out.String(), string(svg)
			for _, m := range methods {
				require.Regexp(t, `\| `+m+` +\|`, first)
			}
			require.LessOrEqual(t, c.best, c.start.slowdown)
			for _, m := range ofTwo {
				require.Regexp(t, `\| `+m+` +\| \d+\.\d\d %`, first)
			}
			require.FileExists(t, filepath.Join(o.out, "search-small-two.svg"))
			continue
		}
		require.Equal(t, first, out.String())
		require.Equal(t, figure, string(svg))
	}
}

func TestAgainst(t *testing.T) {
	r, err := against([]float64{1, 2, 3, 4, 5, 6}, []float64{2, 2, 2, 8, 10, 12})
	require.NoError(t, err)
	require.Equal(t, 4, r.wins)
	require.Equal(t, 1, r.lost)
	require.InDelta(t, (-0.5*4+0.5)/6, r.difference.Estimate, 1e-12)
	require.InDelta(t, 3.5, r.value, 1e-12)
}

func TestBestSoFar(t *testing.T) {
	at := func(x float64) search.Result { return told(0, reading{x, 1}) }
	best := bestSoFar([]search.Result{at(math.NaN()), at(3), at(4), at(2)})
	require.True(t, math.IsNaN(best[0]))
	require.Equal(t, []float64{3, 3, 2}, best[1:])
}

// TestReplaysAreKept: a second bench knows what a first one has replayed, on the
// windows that both have; a damaged file is refused.
func TestReplaysAreKept(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	path, file := logFile(t), filepath.Join(t.TempDir(), "replays")
	o := options{windows: 2, length: 2 * model.Day, replays: file}
	first, err := newBench(path, 8, o)
	require.NoError(t, err)
	points, err := search.Sample(space, "random", 3, 1)
	require.NoError(t, err)
	for _, p := range points {
		_, err := first.over(context.Background(), first.runner.Worker(), p)
		require.NoError(t, err)
	}
	none := outing{"nothing came of it", 0}
	require.NoError(t, first.keep(none, reading{math.NaN(), 1}))
	require.Len(t, first.known, 7)
	second, err := newBench(path, 8, o)
	require.NoError(t, err)
	require.True(t, math.IsNaN(second.known[none].slowdown))
	delete(first.known, none)
	delete(second.known, none)
	require.Equal(t, first.known, second.known)
	o.length = model.Day
	other, err := newBench(path, 8, o)
	require.NoError(t, err)
	require.Empty(t, other.known)
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	_, err = newBench(path, 8, o)
	require.ErrorContains(t, err, "remove the file")
}
