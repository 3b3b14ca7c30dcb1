package app_test

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

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/app"
	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
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
	require.Zero(t, clitest.Run(t, "synth", "--out", big, "--jobs", "1000000", "--load", "0.7", "--quiet").Code)

	t.Run("replay", func(t *testing.T) {
		clitest.Interrupt(t, dir, filepath.Join(dir, "made", "run", ".partial-*"), "replay", big, "--out", filepath.Join(dir, "made", "run"))
	})
	t.Run("replay into an earlier run", func(t *testing.T) {
		run := filepath.Join(dir, "earlier")
		require.Zero(t, clitest.Run(t, "replay", clitest.Small(t), "--quiet", "--out", run).Code)
		before, err := os.ReadFile(filepath.Join(run, "run.json"))
		require.NoError(t, err)
		clitest.Interrupt(t, dir, filepath.Join(run, ".partial-*"), "replay", big, "--force", "--out", run)
		after, err := os.ReadFile(filepath.Join(run, "run.json"))
		require.NoError(t, err)
		require.Equal(t, before, after)
		require.NoError(t, os.RemoveAll(run))
	})
	t.Run("verify", func(t *testing.T) {
		clitest.Interrupt(t, dir, filepath.Join(dir, "kept", "second", ".partial-*"), "verify", big, "--out", filepath.Join(dir, "kept"))
	})
	t.Run("import", func(t *testing.T) {
		raw := filepath.Join(dir, "big.swf")
		require.Zero(t, clitest.Run(t, "trace", "export", big, "--quiet", "--out", raw).Code)
		clitest.Interrupt(t, dir, filepath.Join(dir, "*other.trace*"), "import", raw, "--out", filepath.Join(dir, "other.trace"))
		t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
		imports := filepath.Join(dir, "cache", "orrery", "imports")
		require.NoError(t, os.MkdirAll(imports, 0o700))
		clitest.Interrupt(t, dir, filepath.Join(imports, "*"), "replay", raw)
	})
	t.Run("synth", func(t *testing.T) {
		clitest.Interrupt(t, dir, filepath.Join(dir, "*other.trace*"), "synth", "--out", filepath.Join(dir, "other.trace"), "--jobs", "50000000")
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
	m := &cli.App{Stdin: idle, Stdout: io.Discard, Stderr: &stderr, Getenv: os.Getenv}
	code := make(chan int)
	go func() { code <- app.Run(ctx, m, []string{"replay", "-"}) }()
	_, err := types.Write([]byte("; MaxProcs: 4\n")) // returns once it was read
	require.NoError(t, err)
	cancel()
	require.Equal(t, cli.ExitInterrupted, <-code, stderr.String())
	require.Empty(t, clitest.Inventory(t, os.Getenv("TMPDIR"))[1:])
}

// TestSecondInterruptAborts needs no work to be under way: the handler alone
// decides.
func TestSecondInterruptAborts(t *testing.T) {
	if os.Getenv("ORRERY_TEST_HANG") == "1" {
		_, stop := app.Interruptible(os.Stderr)
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
	require.Equal(t, cli.ExitInterrupted, exit.ExitCode())
}
