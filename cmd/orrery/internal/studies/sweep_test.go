package studies_test

import (
	"bytes"
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
	"orrery/internal/seal"
	"orrery/sim/sweep"
)

// TestSweepWorkers: a study has the same bytes by any number of workers.
func TestSweepWorkers(t *testing.T) {
	file, dir := clitest.GridFile(t, 5), t.TempDir()
	want := map[string]string{}
	tables := ""
	for _, n := range []string{"1", "3"} {
		study := filepath.Join(dir, n)
		got := clitest.Run(t, "sweep", file, "--out", study, "--workers", n, "-o", "json", "--quiet")
		require.Zero(t, got.Code, got.Stderr)
		if n == "1" {
			want, tables = clitest.ResultFiles(t, study), got.Stdout
			require.Len(t, want, 15)
			continue
		}
		require.Equal(t, want, clitest.ResultFiles(t, study))
		require.Equal(t, tables, got.Stdout)
	}
}

// TestSweepKilled: a sweep that is killed goes on where it was, and one that is
// interrupted ends with code 130. No task is lost, none has two results.
func TestSweepKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes and kills them")
	}
	const tasks = 3 * 60
	file, dir := clitest.GridFile(t, tasks/3), t.TempDir()
	study := filepath.Join(dir, "study")
	for _, signal := range []os.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGKILL} {
		before := 0
		if s, err := sweep.Open(study, ""); err == nil {
			before = finished(t, s)
		}
		cmd := exec.Command("orrery", "sweep", file, "--out", study, "--workers", "2", "--quiet", "--lease", "1s")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Start())
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
			if s, err := sweep.Open(study, ""); err == nil && s.Len() == tasks && finished(t, s) >= min(before+15, tasks) {
				break
			}
			require.True(t, time.Now().Before(deadline), stderr.String())
		}
		require.NoError(t, cmd.Process.Signal(signal))
		var exit *exec.ExitError
		err := cmd.Wait()
		if err == nil { // it was done before the signal came
			continue
		}
		require.ErrorAs(t, err, &exit)
		if signal == syscall.SIGINT {
			require.Equal(t, cli.ExitInterrupted, exit.ExitCode(), stderr.String())
			require.Contains(t, stderr.String(), "the same command goes on")
		}
	}
	got := clitest.Run(t, "sweep", file, "--out", study, "--workers", "2")
	require.Zero(t, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, fmt.Sprintf("%d tasks, of which 0 are new", tasks))
	s, err := sweep.Open(study, "")
	require.NoError(t, err)
	require.NoError(t, s.Verdict())
	st, err := s.Status()
	require.NoError(t, err)
	require.Equal(t, tasks, st.Results)
	require.Zero(t, st.Faults)
	require.LessOrEqual(t, st.Started, tasks+2*2*(1+4)+2, "only what was under way or on its way to the disk is done again")

	whole := filepath.Join(dir, "whole")
	got = clitest.Run(t, "sweep", file, "--out", whole, "--workers", "1", "--quiet")
	require.Zero(t, got.Code, got.Stderr)
	require.Equal(t, clitest.ResultFiles(t, whole), clitest.ResultFiles(t, study))
}

func finished(t testing.TB, s *sweep.Study) int {
	tally, err := s.Follow().Poll()
	require.NoError(t, err)
	return tally.Finished
}

// TestMaterializeMismatch: a result that the replay does not confirm is exit code
// 4, and tasks that failed make a sweep partial.
func TestMaterializeMismatch(t *testing.T) {
	file, dir := clitest.GridFile(t, 1), t.TempDir()
	study := filepath.Join(dir, "study")
	require.Zero(t, clitest.Run(t, "sweep", file, "--out", study, "--quiet").Code)
	for name, text := range clitest.ResultFiles(t, study) {
		i := strings.Index(text, `"fingerprint":"`) + len(`"fingerprint":"`)
		path := filepath.Join(study, "results", name[:2], name)
		require.NoError(t, os.Remove(path))
		result, err := seal.CutLine([]byte(text))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, seal.Line([]byte(string(result[:i])+"00"+string(result[i+2:]))), 0o600))
	}
	got := clitest.Run(t, "study", "materialize", study, "0", "--out", filepath.Join(dir, "run"))
	require.Equal(t, cli.ExitMismatch, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, "has the fingerprint")

	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "traces: [%s]\nwindows: [{name: late, begin: 300d, length: 1d}]\n", clitest.Small(t)), 0o600))
	got = clitest.Run(t, "sweep", file, "--out", filepath.Join(dir, "late"), "--quiet")
	require.Equal(t, cli.ExitUsage, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, "fewer than 20 jobs")
}
