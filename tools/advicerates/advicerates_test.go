package main

import (
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model/draw"
)

var testStream = draw.StreamOf("advicerates.test")

// drawn are replicas of a log that was never replayed, with lognormal noise in each window.
func drawn(n, windows int, noise float64) replicas {
	out := make(replicas, n)
	for i := range out {
		source, jobs := draw.New(5, testStream, uint64(i), 0), 0.0
		for k := range windows {
			out[i].Values = append(out[i].Values, (2+float64(k%7))*math.Exp(noise*source.Normal()))
			out[i].Jobs = append(out[i].Jobs, 100+float64(k%3))
			out[i].Whole += out[i].Values[k] * out[i].Jobs[k]
			jobs += out[i].Jobs[k]
		}
		out[i].Whole /= jobs
	}
	return out
}

func TestMerged(t *testing.T) {
	p := replicas{{Whole: 3, Values: []float64{1, 3, 5, 7}, Jobs: []float64{1, 1, 1, 3}}}
	require.Equal(t, replicas{{Whole: 3, Values: []float64{2, 6.5}, Jobs: []float64{2, 4}}}, p.merged(2))
	require.Equal(t, p, p.merged(4))
}

// TestShuffled: each replica once, in another order for each key.
func TestShuffled(t *testing.T) {
	a, b := shuffled(100, 1), shuffled(100, 2)
	require.NotEqual(t, a, b)
	require.Equal(t, a, shuffled(100, 1))
	slices.Sort(a)
	for i, x := range a {
		require.Equal(t, i, x)
	}
}

// TestDecide: a large gain that is planted is found and recommended, one that is less than the
// margin is found and not recommended, and nothing is recommended where nothing differs.
func TestDecide(t *testing.T) {
	pool := drawn(mostDrawn, 40, 0.1)
	require.InDelta(t, 0.02, pool.sd(), 0.01)
	o := &options{workers: 2}
	for _, c := range []struct {
		gain               float64
		found, recommended string
	}{{0.3, "100.0", "100.0"}, {0.03, "100.0", "0.0"}, {0, "0.0", "0.0"}} {
		noise := pool
		if c.gain == 0.03 { // so little needs little noise
			noise = drawn(mostDrawn, 40, 0.01)
		}
		r, err := o.rates(context.Background(), noise, c.gain, 3)
		require.NoError(t, err)
		require.Equal(t, c.found, r.percent(outcome.found), "%g", c.gain)
		require.Equal(t, c.recommended, r.percent(outcome.recommended), "%g", c.gain)
		require.Equal(t, "0.0", r.percent(outcome.recommendsAnother), "%g", c.gain)
		for _, x := range r {
			require.Equal(t, x.recommends(), x.recommended())
			require.LessOrEqual(t, len(x.finalists), 3)
		}
	}
}

// TestReplay: the windows hold the jobs of the log, each once, but for those that are moved
// before the first submission or behind the last one. Replicas differ.
func TestReplay(t *testing.T) {
	data := os.Getenv("ORRERY_DATA")
	if data == "" {
		t.Skip("ORRERY_DATA names no folder with logs")
	}
	o := &options{data: data, keep: t.TempDir(), replicas: 2, workers: 2}
	pool, err := o.pool(context.Background(), logs[3])
	require.NoError(t, err)
	require.Len(t, pool, 2)
	require.NotEqual(t, pool[0].Whole, pool[1].Whole)
	for _, r := range pool {
		sum, jobs := 0.0, 0.0
		require.Len(t, r.Values, mostWindows)
		for k, n := range r.Jobs {
			sum, jobs = sum+n*r.Values[k], jobs+n
		}
		require.InDelta(t, 1, sum/jobs/r.Whole, 0.002)
	}
	o.data = "no such folder"
	kept, err := o.pool(context.Background(), logs[3])
	require.NoError(t, err, "they are read from the folder that they are kept in")
	require.Equal(t, pool, kept)
}

// TestRun prints both tables, from replicas that are there.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	require.ErrorContains(t, run(ctx, []string{"-windows", "80,30"}, io.Discard), "give parts of 80")
	require.ErrorContains(t, run(ctx, []string{"-replicas", "77"}, io.Discard), "a draw takes up to 78")
	require.ErrorContains(t, run(ctx, []string{"-data", dir, "-only", "KTH"}, io.Discard), "KTH-SP2")
	require.NoError(t, keep(filepath.Join(dir, "lublin_256.swf.gz-78.json"), drawn(78, mostWindows, 0.1)))
	var out strings.Builder
	require.NoError(t, run(ctx, []string{"-keep", dir, "-only", "lublin", "-replicas", "78", "-windows", "20", "-draws", "2", "-plants", "1"}, &out))
	require.Contains(t, out.String(), "| 20 | 2 | 0.0 | 0.0 | 0.0 |")
	require.Contains(t, out.String(), "| 10 % | 20 | 1 | 100.0 | 100.0 |")
}
