package app_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
)

// TestSignalsEndEveryVerb interrupts passes over a million waiting jobs, and the verbs that
// read a trace or a run of them, by each of the three signals.
func TestSignalsEndEveryVerb(t *testing.T) {
	if testing.Short() {
		t.Skip("replays a million jobs")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	log := filepath.Join(dir, "log.swf")
	require.NoError(t, os.WriteFile(log, clitest.ManyWaiting(1_000_000), 0o600))
	require.Zero(t, clitest.Run(t, "import", log, "--out", filepath.Join(dir, "x.trace"), "--quiet").Code)
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	for i, args := range [][]string{
		{"replay", "x.trace", "--out", "run"},
		{"replay", "x.trace", "--order", "wfp3", "--backfill", "conservative", "--out", "run"},
		{"replay", "x.trace", "--profile", "default", "--out", "run"},
		{"verify", "x.trace"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) { clitest.WithinTwoSeconds(t, dir, signals[i%3], 3*time.Second, args...) })
	}
	t.Run("validate", func(t *testing.T) {
		clitest.WithinTwoSeconds(t, dir, syscall.SIGHUP, 200*time.Millisecond, "trace", "validate", "x.trace")
	})
	require.Empty(t, clitest.Inventory(t, os.Getenv("TMPDIR"))[1:])
}

// bomb is a log of so many MB behind a first line, each as fill makes it, packed.
func bomb(t *testing.T, path string, mb int, fill func() []byte) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	w, err := xz.NewWriter(f)
	require.NoError(t, err)
	_, err = w.Write([]byte("; MaxProcs: 8\n1 0 0 5 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1\n"))
	require.NoError(t, err)
	for range mb {
		_, err := w.Write(fill())
		require.NoError(t, err)
	}
	require.NoError(t, errors.Join(w.Close(), f.Close()))
}

// TestBomb reads compressed logs that are out of all proportion: they are refused by what
// comes out of them, and an interrupt before that ends the import at once.
func TestBomb(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	comments := bytes.Repeat([]byte(";"+strings.Repeat("0", 1022)+"\n"), 1<<10)
	bomb(t, filepath.Join(dir, "line.swf.xz"), 4, func() []byte { return bytes.Repeat([]byte(" "), 1<<20) })
	got := clitest.Run(t, "import", filepath.Join(dir, "line.swf.xz"), "--out", filepath.Join(dir, "x.trace"))
	require.Equal(t, cli.ExitInput, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, "a line longer than 1048576 bytes")
	if testing.Short() {
		t.Skip("unpacks 256 MB")
	}
	draw := rand.New(rand.NewPCG(1, 2))
	mixed := func() []byte { // one part in a hundred does not compress, and never comes again
		fill := bytes.Clone(comments)
		for i := range 10_000 {
			if fill[i] == '0' {
				fill[i] = byte('a' + draw.IntN(26))
			}
		}
		return fill
	}
	bomb(t, filepath.Join(dir, "log.swf.xz"), 128, mixed)
	clitest.WithinTwoSeconds(t, dir, syscall.SIGINT, 300*time.Millisecond, "import", "log.swf.xz", "--out", "x.trace")
	bomb(t, filepath.Join(dir, "log.swf.xz"), 2048, func() []byte { return comments })
	got = clitest.Run(t, "import", filepath.Join(dir, "log.swf.xz"), "--out", filepath.Join(dir, "x.trace"))
	require.Equal(t, cli.ExitInput, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, "expected at most 250 times as many")
	require.NoDirExists(t, filepath.Join(dir, "x.trace"))
}

// TestChildrenEndWithTheirParent kills verify, which cannot tell its two processes.
func TestChildrenEndWithTheirParent(t *testing.T) {
	if testing.Short() {
		t.Skip("replays a long log")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	log := filepath.Join(dir, "log.swf")
	require.NoError(t, os.WriteFile(log, clitest.ManyWaiting(200_000), 0o600))
	cmd := exec.Command("orrery", "verify", log, "--order", "wfp3", "--backfill", "conservative")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+dir)
	require.NoError(t, cmd.Start())
	children := fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid)
	if _, err := os.Stat(children); err != nil {
		require.NoError(t, cmd.Process.Kill())
		t.Skip("this system does not list the children of processes")
	}
	var pids []string
	require.Eventually(t, func() bool {
		pids = nil
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", cmd.Process.Pid))
		for _, path := range tasks {
			text, _ := os.ReadFile(path)
			pids = append(pids, strings.Fields(string(text))...)
		}
		return len(pids) == 2
	}, time.Minute, 20*time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	require.Eventually(t, func() bool {
		for _, pid := range pids {
			state, err := os.ReadFile("/proc/" + pid + "/stat")
			if err == nil && !bytes.Contains(state, []byte(") Z ")) {
				return false
			}
		}
		return true
	}, 20*time.Second, 50*time.Millisecond)
}

// TestSignalsEndReaders interrupts the verbs that read runs of many jobs while they read: no
// page, no table and no file for the time being is left.
func TestSignalsEndReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("replays many jobs")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	log := filepath.Join(dir, "x.trace")
	require.Zero(t, clitest.Run(t, "synth", "lublin", "--out", log, "--jobs", "400000", "--procs", "128", "--load", "0.7", "--quiet").Code)
	for _, run := range []string{"a", "b"} {
		require.Zero(t, clitest.Run(t, "replay", log, "--procs", "128", "--out", filepath.Join(dir, run), "--quiet").Code)
	}
	for i, args := range [][]string{
		{"report", "a", "--most-jobs", "1000000"},
		{"compare", "a", "b", "--noise", "x.trace", "--out", "compared"},
	} {
		t.Run(args[0], func(t *testing.T) {
			clitest.WithinTwoSeconds(t, dir, []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[i], 700*time.Millisecond, args...)
		})
	}
	t.Run("explain", func(t *testing.T) {
		before := clitest.Inventory(t, dir)
		cmd := exec.Command("orrery", "explain", "a", "399999", "--trace", "x.trace")
		cmd.Dir = dir
		require.NoError(t, cmd.Start())
		time.Sleep(300 * time.Millisecond)
		from := time.Now()
		_ = cmd.Process.Signal(syscall.SIGINT) // fails when it has ended
		_ = cmd.Wait()                         // the code says how
		require.Contains(t, []int{cli.ExitOK, cli.ExitInterrupted}, cmd.ProcessState.ExitCode(), "a fast computer has the answer before")
		require.Less(t, time.Since(from), 4*time.Second)
		require.Equal(t, before, clitest.Inventory(t, dir))
	})
	require.Empty(t, clitest.Inventory(t, os.Getenv("TMPDIR"))[1:])
}
