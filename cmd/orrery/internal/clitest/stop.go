package clitest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
)

// Interrupt starts the program, sends SIGINT when a file of the pattern is
// there, and expects code 130 and a folder as it was before.
func Interrupt(t *testing.T, dir, sign string, args ...string) {
	t.Helper()
	before := Inventory(t, dir)
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
	require.Equal(t, cli.ExitInterrupted, exit.ExitCode(), stderr.String())
	require.Contains(t, stderr.String(), "interrupted")
	require.Equal(t, before, Inventory(t, dir))
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

// Inventory lists what a directory holds.
func Inventory(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	return names
}

// WithinTwoSeconds starts the program, waits for a sign that it is at work, sends a signal,
// and asks that it ends soon with code 130 and leaves nothing. Slow computers get more.
func WithinTwoSeconds(t *testing.T, dir string, sig syscall.Signal, after time.Duration, args ...string) {
	t.Helper()
	before := Inventory(t, dir)
	cmd := exec.Command("orrery", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	time.Sleep(after) // what is looked for is work that gives no sign
	require.NoError(t, cmd.Process.Signal(sig), "%v ended before", args)
	from := time.Now()
	err := cmd.Wait()
	took := time.Since(from)
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit), "%v ended well before it was interrupted", args)
	require.Equal(t, cli.ExitInterrupted, exit.ExitCode(), "%v: %s", args, stderr.String())
	require.Less(t, took, 4*time.Second, "%v: %s", args, stderr.String())
	require.Equal(t, before, Inventory(t, dir), "%v", args)
	t.Logf("%v: %s", args, took.Round(time.Millisecond))
}

// ManyWaiting is a log of n jobs that are all submitted at once.
func ManyWaiting(n int) []byte {
	var b bytes.Buffer
	b.WriteString("; MaxProcs: 64\n; UnixStartTime: 843480031\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "%d 0 0 %d %d -1 -1 %d %d -1 1 %d 1 1 1 1 -1 -1\n", i, 300+i*7919%600, 1+i*31%60, 1+i*31%60, 1000+600*(i%2), 1+i%5)
	}
	return b.Bytes()
}
