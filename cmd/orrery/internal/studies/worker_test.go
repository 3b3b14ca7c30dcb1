package studies_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
	"orrery/cmd/orrery/internal/formats"
	"orrery/cmd/orrery/internal/studies"
	"orrery/sim/sweep"
)

// init gives the program of the tests tasks that it can compute beside its own: in a
// study that says nothing of itself, a spec is a number of milliseconds, its result
// the spec.
func init() {
	real := *studies.ComputedBy
	*studies.ComputedBy = func(s *sweep.Study) (func() sweep.Run, error) {
		if s.About() != nil {
			return real(s)
		}
		return func() sweep.Run { return echoTask }, nil
	}
}

func echoTask(ctx context.Context, spec []byte) ([]byte, error) {
	var ms int
	if _, err := fmt.Sscan(string(spec), &ms); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Duration(ms) * time.Millisecond):
	}
	return spec, nil
}

// echoStudy makes a study for this program in dir, with tasks from ms to ms+n-1.
func echoStudy(t testing.TB, dir string, ms, n int) *sweep.Study {
	t.Helper()
	binary, err := sweep.BinaryDigest()
	require.NoError(t, err)
	s, err := sweep.Create(dir, sweep.Options{Binary: binary})
	require.NoError(t, err)
	specs := make([][]byte, n)
	for i := range specs {
		specs[i] = fmt.Append(nil, ms+i)
	}
	_, _, err = s.Add(specs)
	require.NoError(t, err)
	return s
}

func TestWorkerCompletes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	s := echoStudy(t, dir, 0, 20)
	got := clitest.Run(t, "worker", dir, "--workers", "3")
	require.Zero(t, got.Code, got.Stderr)
	require.Empty(t, got.Stdout)
	require.Contains(t, got.Stderr, "all 20 tasks of")
	require.NoError(t, s.Verdict())

	time.AfterFunc(100*time.Millisecond, func() { _, _, _ = s.Add([][]byte{[]byte("50")}) })
	got = clitest.Run(t, "worker", dir, "--linger", "3s", "--quiet")
	require.Zero(t, got.Code, got.Stderr)
	require.Empty(t, got.Stderr)
	require.NoError(t, s.Reload())
	require.Equal(t, 21, s.Len(), "it waited for another task")
	require.NoError(t, s.Verdict())
}

func TestWorkerRefuses(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	_, err := sweep.Create(other, sweep.Options{Binary: "another build"})
	require.NoError(t, err)
	failing := echoStudy(t, filepath.Join(dir, "failing"), 0, 1)
	_, _, err = failing.Add([][]byte{[]byte("no number")})
	require.NoError(t, err)
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{other, cli.ExitUsage, "does not mix builds"},
		{dir, cli.ExitInput, "no study is there"},
		{other + " --workers -1", cli.ExitUsage, "want none below 0"},
		{failing.Dir(), cli.ExitOK, "all 2 tasks"}, // what they came to is not the worker's business
	} {
		got := clitest.Run(t, append([]string{"worker"}, strings.Fields(c.args)...)...)
		require.Equal(t, c.code, got.Code, got.Stderr)
		require.Contains(t, got.Stderr, c.says)
	}
	require.Equal(t, cli.ExitPartial, cli.ExitCode(formats.StudyError(failing.Verdict())))
	require.Equal(t, cli.ExitMismatch, cli.ExitCode(formats.StudyError(&sweep.FaultError{Tasks: []string{"x"}})))
}

// TestWorkerInterrupted: exit code 130, and no claim is left behind.
func TestWorkerInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	s := echoStudy(t, dir, 30, 200)
	cmd := exec.Command("orrery", "worker", dir, "--workers", "2")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		st, err := s.Status()
		require.NoError(t, err)
		if st.Results > 3 {
			break
		}
		require.True(t, time.Now().Before(deadline))
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, cli.ExitInterrupted, exit.ExitCode(), stderr.String())
	st, err := s.Status()
	require.NoError(t, err)
	require.Zero(t, st.Claimed)
	require.Positive(t, st.Remaining)
}

func TestDoctor(t *testing.T) {
	dir := t.TempDir()
	got := clitest.Run(t, "doctor", "--study", dir)
	require.Zero(t, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, "race by link")
	require.NotContains(t, got.Stdout, "BAD")

	got = clitest.Run(t, "doctor", "--study", dir, "--via", "env ORRERY_TEST=1")
	require.Zero(t, got.Code, got.Stderr)

	got = clitest.Run(t, "doctor", "--study", dir, "--via", "false")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stdout, "BAD")
	require.Contains(t, got.Stderr, "would not be safe")

	require.Equal(t, cli.ExitUsage, clitest.Run(t, "doctor").Code)
	require.Equal(t, cli.ExitInput, clitest.Run(t, "doctor", "--study", filepath.Join(dir, "no")).Code)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	require.Equal(t, cli.ExitInput, clitest.Run(t, "doctor", "--study", filepath.Join(dir, "file")).Code)
}
