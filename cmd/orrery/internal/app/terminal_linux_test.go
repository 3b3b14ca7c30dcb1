package app_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/clitest"
)

// terminal opens a pseudo-terminal of 80 columns: what is written to the one
// end is read from the other.
func terminal(t *testing.T) (screen, keyboard *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	control := func(request uintptr, arg unsafe.Pointer) {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, keyboard.Fd(), request, uintptr(arg))
		require.Zero(t, errno)
	}
	var number, unlock int32
	control(syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	control(syscall.TIOCGPTN, unsafe.Pointer(&number))
	size := [4]uint16{24, 80}
	control(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	return screen, keyboard
}

// onTerminal runs the program with both outputs on a terminal and returns what
// appears there.
func onTerminal(t *testing.T, env []string, args ...string) string {
	t.Helper()
	screen, keyboard := terminal(t)
	defer keyboard.Close()
	cmd := exec.Command("orrery", args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = screen, screen
	require.NoError(t, cmd.Start())
	require.NoError(t, screen.Close())
	var seen bytes.Buffer
	_, _ = io.Copy(&seen, keyboard) // ends with EIO when the last writer is gone
	require.NoError(t, cmd.Wait(), seen.String())
	return seen.String()
}

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestOnATerminal(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	log := clitest.Small(t)
	xterm, dumb := "TERM=xterm", "TERM=dumb"

	seen := onTerminal(t, []string{xterm, "NO_COLOR="}, "replay", log)
	require.Contains(t, seen, "\x1b[1mresult", "the heading is bold")
	for line := range bytes.Lines([]byte(colours.ReplaceAllString(seen, ""))) {
		if bytes.Contains(line, []byte(log)) {
			continue // a path is what it is
		}
		require.LessOrEqual(t, utf8.RuneCount(bytes.TrimRight(line, "\r\n")), 80, "remarks are wrapped: %q", line)
	}
	piped := strings.Fields(clitest.Run(t, "replay", log).Stdout)
	require.Subset(t, strings.Fields(colours.ReplaceAllString(seen, "")), piped, "and nothing is cut")
	require.NotContains(t, onTerminal(t, []string{xterm, "NO_COLOR=1"}, "replay", log), "\x1b")
	require.NotContains(t, onTerminal(t, []string{dumb, "NO_COLOR="}, "replay", log), "\x1b")
}

func TestComparedOnATerminal(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"--out", "easy"}, {"--out", "wfp", "--order", "wfp3"}} {
		require.Zero(t, clitest.Run(t, append([]string{"replay", "--quiet"}, args...)...).Code)
	}
	seen := onTerminal(t, []string{"TERM=xterm", "NO_COLOR=1"}, "compare", "easy", "wfp")
	require.Less(t, strings.Count(seen, "\n"), 110)
	for line := range strings.Lines(seen) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\r\n")), 80, "%q", line)
	}
	require.Regexp(t, `(?m)^wait_mean +s +[0-9,]+ +[0-9,]+ +-[0-9.]+ %\r$`, seen, "a row is a line")
	require.NotContains(t, seen, "jobs_submitted", "which did not move")
	require.Regexp(t, `[0-9]+ of 45 metrics of the whole run moved\.`, seen)
	require.Contains(t, seen, "--wide shows all)")
	wide := onTerminal(t, []string{"TERM=xterm", "NO_COLOR=1"}, "compare", "easy", "wfp", "--wide", "--all")
	require.Regexp(t, `(?m)^jobs_submitted +jobs +steady +`, wide)
	require.NotContains(t, wide, "shows")
}

func TestProgressOnATerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("replays for half a second")
	}
	big := filepath.Join(t.TempDir(), "big.trace")
	require.Zero(t, clitest.Run(t, "synth", "--out", big, "--jobs", "300000", "--load", "0.7", "--quiet").Code)
	seen := onTerminal(t, []string{"TERM=xterm"}, "replay", big, "-o", "json")
	require.Regexp(t, `\rreplaying +\d+ %  [0-9,]+ of 300,000 jobs  [0-9,]+/s  \d+:\d\d left  at `, seen)
	require.Contains(t, seen, "\r\x1b[K{", "the line is gone before results are printed")
	require.NotContains(t, onTerminal(t, []string{"TERM=xterm"}, "replay", big, "-o", "json", "--quiet"), "replaying")
	require.NotContains(t, onTerminal(t, []string{"TERM=dumb"}, "replay", big, "-o", "json"), "replaying")
}
