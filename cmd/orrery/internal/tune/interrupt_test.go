package tune_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
)

// TestInterruptedTuneGoesOn interrupts a tune of a site early and in the middle of
// it: what is finished is kept, no half of a report is there, and the same command
// ends with the bytes of one that was not interrupted.
func TestInterruptedTuneGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("tunes the sample twice")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	command := func(out string) []string {
		return []string{"tune", "--out", out, "--profile", "default", "--windows", "20", "--replicas", "2", "--points", "4", "--vary", "weights=wait_time,conformance", "--trajectories", "2", "--sobol", "40", "--workers", "2"}
	}
	whole := filepath.Join(dir, "whole")
	want := clitest.Run(t, command(whole)...)
	require.Contains(t, []int{0, cli.ExitEvidence}, want.Code, want.Stderr)
	all := clitest.ResultFiles(t, filepath.Join(whole, "study"))
	require.Greater(t, len(all), 60)

	out := filepath.Join(dir, "cut")
	before := map[string]string{}
	for _, n := range []int{10, len(all) / 2} {
		interruptTune(t, command(out), filepath.Join(out, "study"), n)
		_, err := os.Stat(filepath.Join(out, "tune.json"))
		require.ErrorIs(t, err, os.ErrNotExist, "a report of half of it")
		kept := clitest.ResultFiles(t, filepath.Join(out, "study"))
		require.GreaterOrEqual(t, len(kept), n)
		require.Less(t, len(kept), len(all), "it was interrupted")
		for name, b := range before {
			require.Equal(t, b, kept[name], "what is finished is kept")
		}
		before = kept
	}
	got := clitest.Run(t, command(out)...)
	require.Equal(t, want.Code, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, "not to be computed again")
	require.Equal(t, all, clitest.ResultFiles(t, filepath.Join(out, "study")))
	for _, name := range []string{"tune.json", "page.md", "report.json", "report.html"} {
		a, err := os.ReadFile(filepath.Join(whole, name))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(out, name))
		require.NoError(t, err)
		require.True(t, bytes.Equal(madeLine.ReplaceAll(a, nil), madeLine.ReplaceAll(b, nil)), name)
	}
}

// madeLine is what a page says of the command and the date that made it.
var madeLine = regexp.MustCompile(`<p id="made">.*</p>`)

// interruptTune starts a tune, sends SIGINT when its study has n results and
// expects code 130.
func interruptTune(t *testing.T, args []string, study string, n int) {
	t.Helper()
	cmd := exec.Command("orrery", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		found, err := filepath.Glob(filepath.Join(study, "results", "*", "*"))
		require.NoError(t, err)
		if len(found) >= n {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("ended with %d results: %v\n%s", len(found), err, &stderr)
		case <-tick.C:
		}
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	var exit *exec.ExitError
	require.True(t, errors.As(<-ended, &exit), "it ended well before it was interrupted")
	require.Equal(t, cli.ExitInterrupted, exit.ExitCode(), stderr.String())
	require.Contains(t, stderr.String(), "the same command goes on with it")
}
