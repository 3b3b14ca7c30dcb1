package app_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	parquet "github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
)

// TestSwappedTrace puts another trace in the place of that of a study: nothing is computed on
// it, whether a window or a jitter is made of it or not.
func TestSwappedTrace(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(dir)
	require.NoError(t, os.WriteFile("log.swf", []byte(clitest.SmallLog()), 0o600))
	require.NoError(t, os.WriteFile("other.swf", []byte(strings.Replace(clitest.SmallLog(), "\n5 ", "\n500 ", 1)), 0o600))
	require.Zero(t, clitest.Run(t, "import", "other.swf", "--out", "other.trace", "-q").Code)
	for name, more := range map[string]string{"whole": "", "jittered": "jitter: {by: 30s, seeds: [1]}\n"} {
		require.NoError(t, os.WriteFile("exp.yaml", []byte("traces: [log.swf]\n"+more+"settings: [{path: weights.wait_time, values: [1, 2]}]\n"), 0o600))
		got := clitest.Run(t, "sweep", "exp.yaml", "--out", name, "--quiet")
		require.Zero(t, got.Code, got.Stderr)
		trace := clitest.Only(t, name+"/traces/*.trace")
		results, err := filepath.Glob(name + "/results/*/*.json")
		require.NoError(t, err)
		for _, path := range results {
			require.NoError(t, os.Remove(path))
		}
		require.NoError(t, os.RemoveAll(trace))
		require.NoError(t, os.CopyFS(trace, os.DirFS("other.trace")))
		for _, args := range [][]string{{"sweep", "exp.yaml", "--out", name, "--quiet"}, {"study", "materialize", name, "0", "--out", "run"}} {
			got := clitest.Run(t, args...)
			require.Equal(t, cli.ExitInput, got.Code, "%v: %s", args, got.Stderr)
			require.Contains(t, got.Stderr, "the file was changed; remove "+trace+" and run the sweep again")
		}
		for _, folder := range []string{"results/*/*.json", "failures/*"} {
			left, err := filepath.Glob(filepath.Join(name, folder))
			require.NoError(t, err)
			require.Empty(t, left)
		}
		require.NoDirExists(t, "run")
		require.NoError(t, os.RemoveAll(trace))
		got = clitest.Run(t, "sweep", "exp.yaml", "--out", name, "--quiet")
		require.Zero(t, got.Code, got.Stderr)
	}
}

// TestAlteredStudy changes one digit in each kind of file of a study.
func TestAlteredStudy(t *testing.T) {
	file, study := clitest.GridFile(t, 1), filepath.Join(t.TempDir(), "study")
	require.Zero(t, clitest.Run(t, "sweep", file, "--out", study, "--quiet").Code)
	results, err := filepath.Glob(study + "/results/*/*.json")
	require.NoError(t, err)
	undo := clitest.Alter(t, results[0], `"count_all":60`, `"count_all":61`)
	got := clitest.Run(t, "study", "table", study)
	require.Equal(t, cli.ExitInput, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, results[0]+": found content with the SHA-256")
	require.Contains(t, got.Stderr, "it was altered; remove it to have the task computed again")
	undo()
	for path, from := range map[string]string{"experiment.json": `"schema":4`, "study.json": `"lease_ms": 6`} {
		undo := clitest.Alter(t, filepath.Join(study, path), from, from[:len(from)-1]+" "+from[len(from)-1:])
		got := clitest.Run(t, "study", "table", study)
		require.Equal(t, cli.ExitInput, got.Code, got.Stderr)
		require.Contains(t, got.Stderr, "it was altered")
		undo()
	}
	undo = clitest.Alter(t, filepath.Join(study, "experiment.json"), `"schema":4`, `"schema":77`)
	got = clitest.Run(t, "study", "table", study)
	require.Equal(t, cli.ExitInput, got.Code)
	require.Contains(t, got.Stderr, "found study plan 77")
	undo()
	clitest.Alter(t, clitest.Only(t, study+"/journal/*.jsonl"), `"kind":"commit"`, `"kind":"fail"`)
	got = clitest.Run(t, "study", "status", study)
	require.Zero(t, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, "1 lines in "+filepath.Join(study, "journal")+" are not what was written")
	require.Regexp(t, `failed +0`, got.Stdout)
}

// TestAlteredRun changes files of a run: every verb that reads them names the file and what
// writes it anew.
func TestAlteredRun(t *testing.T) {
	log, run := clitest.Small(t), filepath.Join(t.TempDir(), "run")
	require.Zero(t, clitest.Run(t, "replay", log, "--out", run, "--facts", "--quiet").Code)
	got := clitest.Run(t, "verify", run)
	require.Zero(t, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, "every file has the digest of run.json; fingerprint ")
	got = clitest.Run(t, "verify", run, log, "-o", "json")
	require.Zero(t, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, `"replayed": true`)

	other := filepath.Join(t.TempDir(), "other")
	require.Zero(t, clitest.Run(t, "replay", log, "--order", "sjf", "--out", other, "--facts", "--quiet").Code)
	verbs := [][]string{{"report", run}, {"export", run}, {"compare", run, other}, {"explain", run, "3"}, {"verify", run}}
	refused := func(want string, verbs ...[]string) {
		t.Helper()
		for _, args := range verbs {
			got := clitest.Run(t, args...)
			require.Equal(t, cli.ExitInput, got.Code, "%v: %s", args, got.Stderr)
			require.Contains(t, got.Stderr, want, "%v", args)
			require.Contains(t, got.Stderr, "replay the trace again to write it anew: orrery replay", "%v", args)
		}
	}
	path := filepath.Join(run, "jobs.parquet")
	sound, err := os.ReadFile(path)
	require.NoError(t, err)
	foreign, err := os.ReadFile(filepath.Join(other, "jobs.parquet"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, foreign, 0o600))
	refused("jobs.parquet: found content with the SHA-256", verbs...)
	require.NoError(t, os.WriteFile(path, sound, 0o600))

	undo := clitest.Alter(t, filepath.Join(run, "metrics.json"), `"value": `, `"value": 1`)
	refused("metrics.json: found content with the SHA-256", []string{"report", run}, []string{"compare", run, other}, []string{"verify", run})
	undo()
	undo = clitest.Alter(t, filepath.Join(run, "run.json"), `"left": 60`, `"left": 61`)
	refused("run.json: found content with the SHA-256", verbs...)
	undo()
	undo = clitest.Alter(t, filepath.Join(run, "run.json"), `"schema": 2`, `"schema": 77`)
	for _, args := range verbs {
		got := clitest.Run(t, args...)
		require.Equal(t, cli.ExitInput, got.Code, "%v: %s", args, got.Stderr)
		require.Contains(t, got.Stderr, "run schema 77", "%v", args)
	}
	undo()
	require.NoError(t, os.Remove(path))
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	refused("jobs.parquet: found a named pipe, expected a file", verbs...)
}

// TestZeroedContentHash refuses a trace whose metadata was changed, before it is recorded.
func TestZeroedContentHash(t *testing.T) {
	log, trace := clitest.Small(t), filepath.Join(t.TempDir(), "x.trace")
	require.Zero(t, clitest.Run(t, "import", log, "--out", trace, "--quiet").Code)
	hash := strings.Fields(clitest.Run(t, "trace", "info", trace, "-o", "json").Stdout)
	require.NotEmpty(t, hash)
	for from, to := range map[string]string{"orrery.content\x18\x40": "orrery.content\x18\x40" + strings.Repeat("0", 64), "orrery.max_procs\x18\x018": "orrery.max_procs\x18\x019"} {
		path := filepath.Join(trace, "jobs.parquet")
		sound, err := os.ReadFile(path)
		require.NoError(t, err)
		at := bytes.Index(sound, []byte(from))
		require.Positive(t, at)
		altered := bytes.Clone(sound)
		copy(altered[at:], to)
		require.NotEqual(t, sound, altered)
		require.NoError(t, os.WriteFile(path, altered, 0o600))
		got := clitest.Run(t, "replay", trace, "--out", filepath.Join(t.TempDir(), "run"))
		require.Equal(t, cli.ExitInput, got.Code, got.Stderr)
		require.Contains(t, got.Stderr, "the file was altered after it was written: restore it or import the log again")
		require.NoError(t, os.WriteFile(path, sound, 0o600))
	}
}

// TestLitter removes what a killed import left in the cache with the next one, and keeps what
// may be at work.
func TestLitter(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	imports := filepath.Join(cache, "orrery", "imports")
	for name, age := range map[string]time.Duration{".partial-old": 2 * time.Hour, ".partial-new": time.Minute} {
		require.NoError(t, os.MkdirAll(filepath.Join(imports, name), 0o700))
		file := filepath.Join(imports, name, "jobs.parquet")
		require.NoError(t, os.WriteFile(file, []byte("half"), 0o600))
		for _, path := range []string{file, filepath.Dir(file)} {
			require.NoError(t, os.Chtimes(path, time.Now().Add(-age), time.Now().Add(-age)))
		}
	}
	got := clitest.Run(t, "cache", "info")
	require.Zero(t, got.Code, got.Stderr)
	require.Regexp(t, `left by killed processes +1`, got.Stdout)
	require.Zero(t, clitest.Run(t, "replay", clitest.Small(t), "--out", filepath.Join(t.TempDir(), "run"), "--quiet").Code)
	require.NoDirExists(t, filepath.Join(imports, ".partial-old"))
	require.DirExists(t, filepath.Join(imports, ".partial-new"))
	got = clitest.Run(t, "cache", "clean", "--all")
	require.Zero(t, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, "removed 1 import of "+imports)
	require.DirExists(t, filepath.Join(imports, ".partial-new"))
}

// TestMetricsBeyondAllNumbers puts 1e308 into a run whose digests are those of what stands
// there: it is refused, and nothing runs out of stack or time.
func TestMetricsBeyondAllNumbers(t *testing.T) {
	log, run := clitest.Small(t), filepath.Join(t.TempDir(), "run")
	require.Zero(t, clitest.Run(t, "replay", log, "--out", run, "--quiet").Code)
	path := filepath.Join(run, "metrics.json")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	was := fmt.Sprintf("%x", sha256.Sum256(text))
	altered := regexp.MustCompile(`("name": "wait_mean",[^}]*"value": )[0-9.]+`).ReplaceAll(text, []byte("${1}1e+308"))
	require.NotEqual(t, text, altered)
	require.NoError(t, os.WriteFile(path, altered, 0o600))
	document, err := os.ReadFile(filepath.Join(run, "run.json"))
	require.NoError(t, err)
	document = bytes.Replace(document, []byte(was), fmt.Appendf(nil, "%x", sha256.Sum256(altered)), 1)
	digest := regexp.MustCompile(`(?m)^  "digest": "[0-9a-f]{64}",\n`)
	own := fmt.Sprintf("%x", sha256.Sum256(digest.ReplaceAll(document, nil)))
	document = digest.ReplaceAll(document, []byte("  \"digest\": \""+own+"\",\n"))
	require.NoError(t, os.WriteFile(filepath.Join(run, "run.json"), document, 0o600))
	require.Zero(t, clitest.Run(t, "verify", run).Code, "the digests are right")
	for _, args := range [][]string{{"report", run}, {"compare", run, run}} {
		got := clitest.Run(t, args...)
		require.Equal(t, cli.ExitInput, got.Code, "%v: %s", args, got.Stderr)
		require.Contains(t, got.Stderr, "wait_mean = 1e+308", "%v", args)
	}
}

// TestBeyondTheSpan refuses rows whose times lie further away than a trace can hold, with
// their number, in every verb that reads them.
func TestBeyondTheSpan(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(dir)
	type row struct {
		ID     int64 `parquet:"id"`
		Submit int64 `parquet:"submit,timestamp"`
		Run    int64 `parquet:"runtime"`
		Procs  int32 `parquet:"procs_requested"`
	}
	for want, bad := range map[string]row{
		"row 2, column runtime: found 2305843009213693952, expected a span below 73,000 years":              {2, 0, 1 << 61, 1},
		"row 2, column runtime: found 9223372036854775807, expected a span below 73,000 years":              {2, 0, 1<<63 - 1, 1},
		"row 2, column submit: found 2305843009213693952, expected an instant within 73,000 years of 1970":  {2, 1 << 61, 1, 1},
		"row 2, column submit: found -9223372036854775807, expected an instant within 73,000 years of 1970": {2, -1<<63 + 1, 1, 1},
	} {
		var file bytes.Buffer
		require.NoError(t, parquet.Write(&file, []row{{1, 0, 5, 1}, bad}))
		require.NoError(t, os.WriteFile("x.parquet", file.Bytes(), 0o600))
		for _, args := range [][]string{{"trace", "validate", "x.parquet"}, {"replay", "x.parquet", "--procs", "4", "--out", "run"}, {"trace", "transform", "x.parquet", "--out", "y.trace", "--step", "shake by=1s"}} {
			got := clitest.Run(t, args...)
			require.Equal(t, cli.ExitInput, got.Code, "%v: %s", args, got.Stderr)
			require.Contains(t, got.Stderr, want, "%v", args)
		}
		require.NoDirExists(t, "y.trace")
		require.NoDirExists(t, "run")
	}
}
