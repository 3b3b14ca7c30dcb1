package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/internal/disk"
)

// fault is one thing that goes wrong with the disk.
type fault struct {
	at   int    // the step, from 0
	kind string // error, full, short, crash, torn
	err  error

	mu    sync.Mutex
	steps int
	gone  bool // all that follows a crash
}

// newFault draws one of the first so many steps.
func newFault(draw *rand.Rand, steps int) *fault {
	kinds := map[string]error{"error": syscall.EIO, "full": syscall.ENOSPC, "short": syscall.ENOSPC, "crash": syscall.EIO, "torn": syscall.EIO}
	names := []string{"error", "full", "short", "crash", "torn"}
	kind := names[draw.IntN(len(names))]
	return &fault{at: draw.IntN(steps), kind: kind, err: kinds[kind]}
}

func (f *fault) String() string { return fmt.Sprintf("%s at step %d", f.kind, f.at) }

// take implements disk.Port.
func (f *fault) take(s *disk.Step, do func() error) error {
	f.mu.Lock()
	n := f.steps
	f.steps++
	if n == f.at {
		f.gone = f.kind == "crash" || f.kind == "torn"
	}
	gone := f.gone
	f.mu.Unlock()
	switch {
	case n == f.at && (f.kind == "short" || f.kind == "torn") && s.Kind == disk.Write:
		s.Data = s.Data[:len(s.Data)/2]
		_ = do() // half of it
		return f.err
	case n == f.at && f.kind == "crash":
		_ = do() // done, and never said
		return f.err
	case n == f.at, gone:
		return f.err
	}
	return do()
}

// TestFaults lets one step on the disk go wrong, in ways and at places that are drawn: what is
// left is whole or absent, success means that it is whole, and the same command then goes on.
// ORRERY_LONG draws 10,000 times, otherwise it is 200.
func TestFaults(t *testing.T) {
	rounds := 200
	if os.Getenv("ORRERY_LONG") != "" {
		rounds = 10_000
	}
	log := small(t)
	experiment := filepath.Join(t.TempDir(), "exp.yaml")
	require.NoError(t, os.WriteFile(experiment, []byte("traces: ["+log+"]\nsettings: [{path: weights.wait_time, values: [1, 2]}]\n"), 0o600))
	verbs := []struct {
		verb, check []string
		mark        string
		share       int // of a hundred
	}{
		{[]string{"replay", log, "--out", "run", "--facts", "--quiet", "--force"}, []string{"verify", "run", "--quiet"}, "run/run.json", 45},
		{[]string{"import", log, "--out", "x.trace", "--quiet", "--force"}, []string{"trace", "validate", "x.trace"}, "x.trace", 80},
		{[]string{"trace", "transform", log, "--out", "y.parquet", "--step", "stretch by=2", "--quiet", "--force"}, []string{"trace", "validate", "y.parquet"}, "y.parquet", 95},
		{[]string{"sweep", experiment, "--out", "study", "--workers", "1", "--lease", "200ms", "--quiet"}, nil, "", 100},
	}
	draw := rand.New(rand.NewPCG(17, 4))
	for round := range rounds {
		share, v := draw.IntN(100), verbs[0]
		for i := range verbs {
			if v = verbs[i]; share < v.share {
				break
			}
		}
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		t.Chdir(t.TempDir())
		f := newFault(draw, 60)
		restore := disk.Through(f.take)
		got := inProcess(t, v.verb...)
		restore()
		said := fmt.Sprintf("round %d, %v: %s", round, v.verb, f)
		require.NotContains(t, got.stderr, "a fault in the program", said)
		if v.mark != "" {
			if there(v.mark) != nil {
				require.Zero(t, inProcess(t, v.check...).code, said)
			} else {
				require.NotZero(t, got.code, said)
			}
		}
		got = inProcess(t, v.verb...)
		require.Zero(t, got.code, "%s: the second time: %s", said, got.stderr)
		if v.check != nil {
			require.Zero(t, inProcess(t, v.check...).code, said)
		}
	}
}
