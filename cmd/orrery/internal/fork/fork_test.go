package fork_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
	"orrery/cmd/orrery/internal/formats"
	"orrery/sim/record"
	"orrery/tools/refdata"
	"orrery/traces"
)

// requireSameFiles holds that two run directories have the same files, to the byte, but for host.json.
func requireSameFiles(t *testing.T, a, b string) {
	t.Helper()
	list := func(dir string) map[string]string {
		out := map[string]string{}
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			if e.Name() == record.FileHost {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			require.NoError(t, err)
			out[e.Name()] = string(text)
		}
		return out
	}
	want, got := list(a), list(b)
	require.Contains(t, want, record.FileRun)
	for name, text := range want {
		require.True(t, text == got[name], "%s of %s and %s", name, a, b)
	}
	require.Len(t, got, len(want))
}

// decisionsOf is the fingerprint of a run.
func decisionsOf(t *testing.T, dir string) string {
	t.Helper()
	r, ok := formats.Recorded(dir)
	require.True(t, ok, dir)
	return r.Fingerprint
}

// forkCase is a run to fork.
type forkCase struct {
	replay []string
	policy []string // of the run, beside replay
	at     string
	other  []string // another policy, as flags of replay and of fork
}

// forkCases are a small site, the beginning of a real log, a generated month, and a site with services and
// dependencies.
func forkCases(t *testing.T) map[string]forkCase {
	dir := t.TempDir()
	month, site := filepath.Join(dir, "month.trace"), filepath.Join(dir, "site.trace")
	for _, line := range []string{"synth lublin --out " + month + " --jobs 1000 --procs 128 --seed 7 --quiet", "synth site --days 2 --nodes 64 --load 0.9 --seed 1 --out " + site + " --quiet"} {
		require.Zero(t, clitest.Run(t, strings.Fields(line)...).Code, line)
	}
	kth := filepath.Join(dir, "kth.parquet")
	got := clitest.Run(t, "trace", "transform", refdata.Path(t, "oracle/swf-norm/kth-sp2.swf.gz"), "--out", kth, "--step", "window length=60d", "--quiet")
	require.Zero(t, got.Code, got.Stderr)
	return map[string]forkCase{
		"a small site": {[]string{clitest.Small(t), "--procs", "8"}, []string{"--profile", "default"}, "10m", []string{"--profile", "hpc-batch"}},
		"a month":      {[]string{month, "--procs", "128"}, nil, "2d", []string{"--order", "sjf"}},
		"a site":       {[]string{site, "--cluster", "month", "--decisions"}, nil, "1d", []string{"--profile", "hpc=fairness-boost"}},
		"a real log":   {[]string{kth, "--procs", "100"}, nil, "30d", []string{"--backfill", "conservative"}},
	}
}

// TestForkWithoutAChangeIsTheRun to the byte, with all that the run has; and a fork with another policy
// from the beginning decides as the run with that policy, and one from the middle as neither.
func TestForkWithoutAChangeIsTheRun(t *testing.T) {
	if clitest.UnderRace {
		t.Skip("replays start no goroutine")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for name, c := range forkCases(t) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			in := func(name string) string { return filepath.Join(dir, name) }
			must := func(args ...string) clitest.Outcome {
				t.Helper()
				got := clitest.Run(t, args...)
				require.Zero(t, got.Code, "%v: %s", args, got.Stderr)
				return got
			}
			must(append([]string{"replay", "--quiet", "--facts", "--out", in("run")}, slices.Concat(c.replay, c.policy)...)...)
			got := must("fork", in("run"), "--at", c.at, "--out", in("same"), "-o", "json")
			require.Contains(t, got.Stdout, `"changed": false`)
			require.Regexp(t, `"equal_before": [1-9]`, got.Stdout)
			requireSameFiles(t, in("run"), in("same"))

			must(append([]string{"replay", "--quiet", "--out", in("other")}, slices.Concat(c.replay, c.other)...)...)
			must(append([]string{"fork", in("run"), "--at", "0s", "--quiet", "--out", in("begins")}, c.other...)...)
			require.Equal(t, decisionsOf(t, in("other")), decisionsOf(t, in("begins")))

			got = must(append([]string{"fork", in("run"), "--at", c.at, "--out", in("middle"), "-o", "json"}, c.other...)...)
			require.Contains(t, got.Stdout, `"equal_by": "facts"`)
			require.NotContains(t, []string{decisionsOf(t, in("run")), decisionsOf(t, in("other"))}, decisionsOf(t, in("middle")))
			must("verify", "--facts", in("middle"), c.replay[0])
			must("verify", in("middle"), c.replay[0])
			must("compare", in("run"), in("middle"))

			// A fork of a fork goes on from it, and says the log that it is of.
			must("fork", in("middle"), "--at", c.at, "--out", in("again"), "--quiet")
			requireSameFiles(t, in("middle"), in("again"))
		})
	}
}

// TestForkOfAnotherRunIsTold: before the instant it is compared with the run, by facts or by starts.
func TestForkOfAnotherRunIsTold(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	log := clitest.Small(t)
	for _, facts := range []bool{true, false} {
		dir := filepath.Join(t.TempDir(), "run")
		args := []string{"replay", log, "--order", "sjf", "--quiet", "--out", dir}
		if facts {
			args = append(args, "--facts")
		}
		require.Zero(t, clitest.Run(t, args...).Code)
		text, err := os.ReadFile(filepath.Join(dir, record.FileRun))
		require.NoError(t, err)
		lies := strings.Replace(string(text), `"order": "sjf"`, `"order": "ljf"`, 1)
		require.NotEqual(t, string(text), lies)
		require.NoError(t, os.WriteFile(filepath.Join(dir, record.FileRun), clitest.Unsealed(t, []byte(lies)), 0o600))
		got := clitest.Run(t, "fork", dir, log, "--at", "20m", "--out", dir+"-fork")
		require.Equal(t, cli.ExitMismatch, got.Code, got.Stderr)
		require.Regexp(t, map[bool]string{true: `entry [0-9]+ of the log of facts`, false: `job [0-9]+ starts at another instant before`}[facts], got.Stderr)
	}
}

// TestForkReportsPairs: the figures are those of the tables of both runs.
func TestForkReportsPairs(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("log.swf", []byte(clitest.SmallLog()), 0o600))
	require.Zero(t, clitest.Run(t, strings.Fields("replay log.swf --quiet --out run")...).Code)
	got := clitest.Run(t, strings.Fields("fork run --at 10m --order sjf --out fork -o json")...)
	require.Zero(t, got.Code, got.Stderr)
	counted := func(key string) int {
		n := 0
		m := regexp.MustCompile(`"` + key + `": ([0-9]+)`).FindStringSubmatch(got.Stdout)
		require.NotNil(t, m, got.Stdout)
		_, err := fmt.Sscan(m[1], &n)
		require.NoError(t, err)
		return n
	}
	compared := clitest.Run(t, strings.Fields("compare run fork -o json")...).Stdout
	require.Contains(t, compared, fmt.Sprintf(`"earlier": %d`, counted("earlier")))
	require.Contains(t, compared, fmt.Sprintf(`"later": %d`, counted("later")))
	require.Positive(t, counted("earlier"))
	require.Positive(t, counted("later"))
	require.Contains(t, got.Stdout, `"gained": [`)
}

// TestInterruptedForkLeavesNothing: a fork of a run of many waiting jobs.
func TestInterruptedForkLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("replays a long log")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	log, trace, run := filepath.Join(dir, "log.swf"), filepath.Join(dir, "x.trace"), filepath.Join(dir, "run")
	require.NoError(t, os.WriteFile(log, clitest.ManyWaiting(300_000), 0o600))
	require.Zero(t, clitest.Run(t, "import", log, "--out", trace, "--quiet").Code)
	require.Zero(t, clitest.Run(t, "replay", clitest.Small(t), "--procs", "64", "--quiet", "--out", run).Code)
	// A run of the long log would take as long as the fork: its settings are enough to fork it.
	b, err := traces.Open(trace)
	require.NoError(t, err)
	was, ok := formats.Recorded(run)
	require.True(t, ok)
	path := filepath.Join(run, record.FileRun)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	other := strings.ReplaceAll(string(text), was.Trace.Hash, b.Info().Hash)
	require.NoError(t, b.Close())
	require.NoError(t, os.WriteFile(path, clitest.Unsealed(t, []byte(other)), 0o600))
	clitest.WithinTwoSeconds(t, dir, syscall.SIGINT, 2*time.Second, "fork", "run", "x.trace", "--at", "1m", "--order", "wfp3", "--backfill", "conservative", "--out", "forked")
}
