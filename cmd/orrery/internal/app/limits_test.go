package app_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
)

// TestExitCodesOfASmallComputer runs the program where something of the computer is missing:
// the run fails (1) and says what, and what was read is not blamed (3) for it. A command of
// the shell comes first, and $ORRERY is the program.
func TestExitCodesOfASmallComputer(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no device that is always full")
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "log.swf")
	require.NoError(t, os.WriteFile(log, []byte(clitest.SmallLog()), 0o600))
	require.Zero(t, clitest.Run(t, "replay", log, "--out", filepath.Join(dir, "run"), "--quiet").Code)
	before := clitest.Inventory(t, dir)
	for _, row := range []struct {
		shell string
		code  int
		says  string
	}{
		{"TMPDIR=log.swf/none $ORRERY replay - --out new <log.swf", cli.ExitFailed, "the folder for temporary files, log.swf/none (TMPDIR)"},
		{"TMPDIR=log.swf/none $ORRERY replay --out new", cli.ExitFailed, "the folder for temporary files, log.swf/none (TMPDIR)"},
		{"cat log.swf | TMPDIR=log.swf/none $ORRERY import /dev/stdin --out new.trace", cli.ExitFailed, "the folder for temporary files, log.swf/none (TMPDIR)"},
		{"TMPDIR=log.swf/none $ORRERY verify log.swf", cli.ExitFailed, "log.swf/none"},
		{"$ORRERY version >/dev/full", cli.ExitFailed, "no space left"},
		{"$ORRERY help metrics >/dev/full", cli.ExitFailed, "no space left"},
		{"$ORRERY replay --help >/dev/full", cli.ExitFailed, "no space left"},
		{"$ORRERY trace info log.swf >/dev/full", cli.ExitFailed, "no space left"},
		{"$ORRERY export run >/dev/full", cli.ExitFailed, "no space left"},
		{"$ORRERY explain run 3 >/dev/full", cli.ExitFailed, "no space left"},
		{"export XDG_CACHE_HOME=/dev/null; ulimit -f 1; $ORRERY replay log.swf --out new -q", cli.ExitFailed, "the folder for temporary files, $TMPDIR (TMPDIR)"},
		{"ulimit -f 1; cat log.swf log.swf | $ORRERY replay - --out new -q", cli.ExitFailed, "the folder for temporary files, $TMPDIR (TMPDIR)"},
	} {
		t.Setenv("TMPDIR", t.TempDir())
		code, stderr := inShell(t, dir, row.shell)
		require.Equal(t, row.code, code, "%s: %s", row.shell, stderr)
		require.Contains(t, stderr, os.ExpandEnv(row.says), row.shell)
		require.NotContains(t, stderr, "a fault in the program", row.shell)
		require.Equal(t, before, clitest.Inventory(t, dir), row.shell)
		require.Empty(t, clitest.Inventory(t, os.Getenv("TMPDIR"))[1:], row.shell)
	}
}

// TestFewOpenFiles allows the program one open file more at a time, until it succeeds: how many
// it needs hangs on what the Go runtime and the shell hold open on this computer. However few
// they are, what was begun and cannot be put in its place is removed. With fewer than some the
// runtime cannot start, which is its exit code 2.
func TestFewOpenFiles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "log.swf"), []byte(clitest.SmallLog()), 0o600))
	before := clitest.Inventory(t, dir)
	failed := false
	for n := 7; ; n++ {
		require.Less(t, n, 64, "it never succeeds")
		t.Setenv("TMPDIR", t.TempDir())
		code, stderr := inShell(t, dir, fmt.Sprintf("ulimit -n %d; $ORRERY replay log.swf --facts --out new -q", n))
		require.Empty(t, clitest.Inventory(t, os.Getenv("TMPDIR"))[1:], n)
		imports, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "orrery", "imports", ".*"))
		require.NoError(t, err)
		require.Empty(t, imports, n)
		if code == cli.ExitOK {
			break
		}
		require.Contains(t, []int{cli.ExitFailed, 2}, code, "%d: %s", n, stderr)
		if code == cli.ExitFailed {
			failed = true
			require.Contains(t, stderr, "too many open files", n)
		}
		require.NotContains(t, stderr, "a fault in the program", n)
		require.Equal(t, before, clitest.Inventory(t, dir), n)
	}
	require.True(t, failed)
	require.DirExists(t, filepath.Join(dir, "new"))
}

// inShell runs a line of the shell in dir, where $ORRERY is the program and nothing is
// cached, and returns how it ended and what it said.
func inShell(t *testing.T, dir, line string) (code int, stderr string) {
	t.Helper()
	program, err := exec.LookPath("orrery")
	require.NoError(t, err)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var said bytes.Buffer
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), "ORRERY="+program), &said
	_ = cmd.Run() // the code says how it ended
	return cmd.ProcessState.ExitCode(), said.String()
}

// TestTooLittleMemory: the Go runtime ends a replay that gets no memory, with its own code 2.
// The help of exit codes says so, and that the same command goes well with enough of it.
func TestTooLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("under the race detector a process has other limits")
	}
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "log.swf"), []byte(clitest.SmallLog()), 0o600))
	code, says := inShell(t, dir, "ulimit -v 400000; $ORRERY replay log.swf --out run -q")
	require.Equal(t, 2, code, says)
	require.Contains(t, says, "fatal error: ")
	require.NotContains(t, says, "orrery replay --help")
	code, says = inShell(t, dir, "$ORRERY replay log.swf --out run -q")
	require.Zero(t, code, says)
	require.Contains(t, clitest.Run(t, "help", "exit-codes").Stdout, `with code 2, a line that begins
with "fatal error:"`)
}

// TestLargeGateFile is refused for its size, and not read whole.
func TestLargeGateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gate.yaml")
	require.NoError(t, os.WriteFile(path, []byte("runs: []\n"+strings.Repeat("# much\n", 1<<21)), 0o600))
	got := clitest.Run(t, "gate", path)
	require.Contains(t, []int{cli.ExitUsage, cli.ExitInput}, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, "bytes")
}

// TestTuneOfTooLittleTwice says so both times, and leaves the same files.
func TestTuneOfTooLittleTwice(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	out := filepath.Join(t.TempDir(), "tune")
	var first map[string]string
	for range 2 {
		got := clitest.Run(t, "tune", clitest.Small(t), "--out", out, "--profile", "default", "--quiet")
		require.Equal(t, cli.ExitEvidence, got.Code, got.Stderr)
		require.Contains(t, got.Stderr, "not enough evidence")
		files := map[string]string{}
		for _, path := range clitest.Inventory(t, out) {
			require.NotContains(t, path, ".partial-")
			if filepath.Ext(path) == ".json" && filepath.Base(path) != "made.json" {
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				files[path] = string(text)
			}
		}
		if first == nil {
			first = files
		}
		require.Equal(t, first, files)
	}
}
