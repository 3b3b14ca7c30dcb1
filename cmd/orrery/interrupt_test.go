package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestInterrupt stops work that takes a while: exit code 130, and nothing that
// it was about to write is left. It waits for the first sign of work, not for
// a time.
func TestInterrupt(t *testing.T) {
	if testing.Short() {
		t.Skip("generates a trace of a million jobs")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tmp"), 0o700))
	big := filepath.Join(dir, "big.trace")
	require.Zero(t, inProcess(t, "synth", "--out", big, "--jobs", "1000000", "--load", "0.7", "--quiet").code)

	t.Run("replay", func(t *testing.T) {
		interrupt(t, dir, filepath.Join(dir, "made", "run", ".partial-*"), "replay", big, "--out", filepath.Join(dir, "made", "run"))
	})
	t.Run("replay into an earlier run", func(t *testing.T) {
		run := filepath.Join(dir, "earlier")
		require.Zero(t, inProcess(t, "replay", small(t), "--quiet", "--out", run).code)
		before, err := os.ReadFile(filepath.Join(run, "run.json"))
		require.NoError(t, err)
		interrupt(t, dir, filepath.Join(run, ".partial-*"), "replay", big, "--force", "--out", run)
		after, err := os.ReadFile(filepath.Join(run, "run.json"))
		require.NoError(t, err)
		require.Equal(t, before, after)
		require.NoError(t, os.RemoveAll(run))
	})
	t.Run("verify", func(t *testing.T) {
		interrupt(t, dir, filepath.Join(dir, "kept", "second", ".partial-*"), "verify", big, "--out", filepath.Join(dir, "kept"))
	})
	t.Run("import", func(t *testing.T) {
		raw := filepath.Join(dir, "big.swf")
		require.Zero(t, inProcess(t, "trace", "export", big, "--quiet", "--out", raw).code)
		interrupt(t, dir, filepath.Join(dir, "*other.trace*"), "import", raw, "--out", filepath.Join(dir, "other.trace"))
		t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
		imports := filepath.Join(dir, "cache", "orrery", "imports")
		require.NoError(t, os.MkdirAll(imports, 0o700))
		interrupt(t, dir, filepath.Join(imports, "*"), "replay", raw)
	})
	t.Run("synth", func(t *testing.T) {
		interrupt(t, dir, filepath.Join(dir, "*other.trace*"), "synth", "--out", filepath.Join(dir, "other.trace"), "--jobs", "50000000")
	})
}

// TestInterruptWhileStandardInputWaits: nothing is typed, and the first interrupt
// is enough.
func TestInterruptWhileStandardInputWaits(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	idle, types := io.Pipe()
	defer types.Close()
	var stderr bytes.Buffer
	m := &Main{Stdin: idle, Stdout: io.Discard, Stderr: &stderr, Getenv: os.Getenv}
	code := make(chan int)
	go func() { code <- m.Run(ctx, []string{"replay", "-"}) }()
	_, err := types.Write([]byte("; MaxProcs: 4\n")) // returns once it was read
	require.NoError(t, err)
	cancel()
	require.Equal(t, exitInterrupted, <-code, stderr.String())
	require.Empty(t, inventory(t, os.Getenv("TMPDIR"))[1:])
}

// interrupt starts the program, sends SIGINT when a file of the pattern is
// there, and expects code 130 and a folder as it was before.
func interrupt(t *testing.T, dir, sign string, args ...string) {
	t.Helper()
	before := inventory(t, dir)
	cmd := exec.Command("orrery", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	await(t, sign, ended, &stderr)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	var exit *exec.ExitError
	require.True(t, errors.As(<-ended, &exit), "the program ended well before it was interrupted")
	require.Equal(t, exitInterrupted, exit.ExitCode(), stderr.String())
	require.Contains(t, stderr.String(), "interrupted")
	require.Equal(t, before, inventory(t, dir))
}

// await returns when the pattern matches a file.
func await(t *testing.T, pattern string, ended <-chan error, stderr *bytes.Buffer) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		if len(found) > 0 {
			return
		}
		select {
		case err := <-ended:
			t.Fatalf("ended before %s was there: %v\n%s", pattern, err, stderr)
		case <-tick.C:
		}
	}
}

func inventory(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	return names
}

// TestSecondInterruptAborts needs no work to be under way: the handler alone
// decides.
func TestSecondInterruptAborts(t *testing.T) {
	if os.Getenv("ORRERY_TEST_HANG") == "1" {
		_, stop := interruptible(os.Stderr)
		defer stop()
		os.Stderr.WriteString("ready\n")
		select {} // work that does not look at its context
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestSecondInterruptAborts$")
	cmd.Env = append(os.Environ(), "ORRERY_TEST_HANG=1")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	buf := make([]byte, 1<<10)
	for _, want := range []string{"ready", "again to abort"} {
		n, err := stderr.Read(buf)
		require.NoError(t, err)
		require.Contains(t, string(buf[:n]), want)
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	}
	var exit *exec.ExitError
	require.True(t, errors.As(cmd.Wait(), &exit))
	require.Equal(t, exitInterrupted, exit.ExitCode())
}
