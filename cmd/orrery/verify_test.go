package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/verify"
	"orrery/sim/watch"
)

// TestVerifyCatchesABrokenScheduler builds a copy of the program in which ties
// of the queue fall the wrong way, and asks verify to name the first event at
// which the two part.
func TestVerifyCatchesABrokenScheduler(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	broken := brokenBuild(t, "scheduler/order/order.go", "return c < 0\n\t\t}\n\t\treturn a.ID < b.ID", "return c < 0\n\t\t}\n\t\treturn a.ID > b.ID")
	log := small(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // not before: the compiler keeps its cache there too

	got := inProcess(t, "verify", log, "--order", "sjf", "--against", broken)
	require.Equal(t, exitMismatch, got.code, got.stderr)
	require.Contains(t, got.stderr, "first diverging event")
	require.Contains(t, got.stderr, "first process:  at 00:")
	require.Contains(t, got.stderr, "second process: at 00:")
	require.Contains(t, got.stdout, "DIFFERS")

	got = inProcess(t, "verify", log, "--order", "sjf", "--against", broken, "-o", "json")
	require.Equal(t, exitMismatch, got.code)
	var v verify.Verification
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &v))
	require.NotEqual(t, v.Fingerprints[0], v.Fingerprints[1])
	requireFirstWrongTie(t, v.Divergence)
}

// TestVerifyAgainstAnotherVersion: a build of another version that decides the same is no mismatch.
func TestVerifyAgainstAnotherVersion(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	other := built(t, "-ldflags", "-X orrery/cmd/orrery/internal/cli.buildVersion=v9.9.9")
	out, err := exec.Command(other, "version").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "v9.9.9")
	got := inProcess(t, "verify", small(t), "--against", other)
	require.Zero(t, got.code, got.stderr)
	require.Regexp(t, `run\.json .* identical`, got.stdout)
}

// TestVerifyTellsOfBrokenInvariants: a table of what was found, and exit code 4.
func TestVerifyTellsOfBrokenInvariants(t *testing.T) {
	w := watched{"aa", &watch.Report{Count: 102, Breaches: []watch.Breach{
		{Invariant: 5, At: 7_000_000, Job: 3, ID: 41, Found: "node n0, which job 40 hold", Expected: "nodes and GPUs that no job holds"},
		{Invariant: 1, At: 8_000_000, Job: -1, Found: "an entry at 00:00:06", Expected: "none before 00:00:08"},
	}}}
	for form, want := range map[string]string{
		"table": "nodes and GPUs that no job holds\n", "markdown": "| an entry at 00:00:06", "json": `"invariant": 5`,
	} {
		var out bytes.Buffer
		m := &Main{Stdout: &out, Stderr: io.Discard, Getenv: func(string) string { return "" }}
		v := verifyVerb{m: m, print: &printer{m: m, format: form}}
		err := v.tell(w)
		var coded *codedError
		require.ErrorAs(t, err, &coded)
		require.Equal(t, exitMismatch, coded.code)
		require.ErrorContains(t, err, "broken 102 times, first invariant 5 at 00:00:07: job 41 (row 3): found node n0")
		require.Contains(t, out.String(), want)
		if form == "table" {
			require.Contains(t, out.String(), "and 100 more")
		}
	}
}

// requireFirstWrongTie says what goes wrong first: of two jobs that ask for as
// much time, the copy starts the younger one.
func requireFirstWrongTie(t *testing.T, d *verify.Divergence) {
	t.Helper()
	require.NotNil(t, d)
	right, wrong := d.Sides[0], d.Sides[1]
	require.Equal(t, right.Time, wrong.Time)
	require.Equal(t, "proposal to assign", right.Kind)
	require.Less(t, right.ID, wrong.ID)
	require.Equal(t, int64(right.Job)+1, right.ID)
}

// brokenBuild builds the program with one piece of a file of the repository replaced.
func brokenBuild(t *testing.T, file, right, wrong string) string {
	t.Helper()
	source, err := filepath.Abs(filepath.Join("..", "..", "..", "..", filepath.FromSlash(file)))
	require.NoError(t, err)
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), right), "what is replaced in %s has moved: patch it where it is now", file)
	dir := t.TempDir()
	patched := filepath.Join(dir, filepath.Base(source))
	require.NoError(t, os.WriteFile(patched, []byte(strings.Replace(string(text), right, wrong, 1)), 0o600))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: patched}})
	require.NoError(t, err)
	list := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o600))
	return built(t, "-overlay", list)
}
