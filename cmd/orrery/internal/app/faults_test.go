package app_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
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

// faulty is a verb that is run on a disk on which something goes wrong.
type faulty struct {
	verb, check []string // check is run on what is left
	code        int      // of the verb when nothing goes wrong
	mark        string   // is there once the result is
	same        bool     // and has always the same bytes
	share       int      // of a hundred, those before it included
}

// TestDiskFaults lets one step on the disk go wrong, in ways and at places that are drawn: what is
// left is whole or absent, success means that it is whole, and the same command then goes on.
// ORRERY_LONG draws 10,000 times, in 50 pieces, otherwise it is 200 in one, and 30 under the
// race detector.
func TestDiskFaults(t *testing.T) {
	pieces, rounds := 1, 200
	if clitest.UnderRace {
		rounds = 30 // what is concurrent is the same in each
	}
	if os.Getenv("ORRERY_LONG") != "" {
		pieces = 50
	}
	given := t.TempDir() // what a round finds
	t.Chdir(given)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	require.NoError(t, os.WriteFile("log.swf", []byte(clitest.SmallLog()), 0o600))
	require.NoError(t, os.WriteFile("exp.yaml", []byte("traces: [log.swf]\nsettings: [{path: weights.wait_time, values: [1, 2]}]\n"), 0o600))
	require.NoError(t, os.WriteFile("gate.yaml", []byte("runs: [{name: a, trace: log.swf}]\nexact: [{run: a}]\n"), 0o600))
	require.Zero(t, clitest.Run(t, "replay", "log.swf", "--out", "drawn", "--quiet").Code)
	verbs := []faulty{
		{[]string{"replay", "log.swf", "--out", "run", "--facts", "--quiet", "--force"}, []string{"verify", "run", "--quiet"}, 0, "run/run.json", true, 30},
		{[]string{"import", "log.swf", "--out", "x.trace", "--quiet", "--force"}, []string{"trace", "validate", "x.trace"}, 0, "x.trace", false, 55},
		{[]string{"trace", "transform", "log.swf", "--out", "y.parquet", "--step", "stretch by=2", "--quiet", "--force"}, []string{"trace", "validate", "y.parquet"}, 0, "y.parquet", true, 70},
		{[]string{"gate", "gate.yaml", "--update-baseline", "--reason", "x", "--by", "a", "--force", "--markdown", "gate.md", "--quiet"}, []string{"gate", "gate.yaml"}, 0, "gate.baseline.json", false, 80},
		{[]string{"report", "drawn", "--quiet", "--force"}, nil, 0, "drawn/summary.md", true, 85},
		{[]string{"tune", "log.swf", "--out", "tune", "--workers", "1", "--quiet"}, nil, cli.ExitEvidence, "tune/tune.json", true, 95},
		{[]string{"sweep", "exp.yaml", "--out", "study", "--workers", "1", "--lease", "200ms", "--quiet"}, nil, 0, "", false, 100},
	}
	for piece := range pieces {
		t.Run(fmt.Sprintf("%02d", piece), func(t *testing.T) {
			draw := rand.New(rand.NewPCG(17, uint64(piece)))
			for round := range rounds {
				share := draw.IntN(100)
				v := verbs[slices.IndexFunc(verbs, func(v faulty) bool { return share < v.share })]
				v.failing(t, given, newFault(draw, 60), round)
			}
		})
	}
}

// failing runs a verb with a fault, and then without.
func (v *faulty) failing(t *testing.T, given string, f *fault, round int) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(given)))
	t.Chdir(dir)
	said := fmt.Sprintf("round %d, %v: %s", round, v.verb, f)
	whole := func() {
		if v.check != nil {
			got := clitest.Run(t, v.check...)
			require.Zero(t, got.Code, "%s: %s", said, got.Stderr)
		}
	}
	restore := disk.Through(f.take)
	got := clitest.Run(t, v.verb...)
	restore()
	require.NotContains(t, got.Stderr, "a fault in the program", said)
	left := map[string][]byte{}
	if v.mark != "" {
		if cli.There(v.mark) != nil {
			whole()
			left[v.mark], _ = os.ReadFile(v.mark) // or it is a folder
		} else {
			require.NotEqual(t, v.code, got.Code, said)
		}
	}
	got = clitest.Run(t, v.verb...)
	require.Equal(t, v.code, got.Code, "%s: the second time: %s", said, got.Stderr)
	whole()
	if v.same && left[v.mark] != nil {
		again, err := os.ReadFile(v.mark)
		require.NoError(t, err)
		require.Equal(t, string(again), string(left[v.mark]), said)
	}
}
