package capture_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
)

// Files whose lines do not end, and files that are too large to hold, are refused by name.
func TestConvertRefusesWhatItCannotHold(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.WriteFile("line", append([]byte("# of metrics\n"), make([]byte, 4<<20)...), 0o600))
	for _, from := range []string{"exposition", "smi-csv", "smi-q"} {
		got := clitest.Run(t, "capture", "convert", "line", "--from", from, "--node", "n", "--out", "x.trace", "--bad-rows", "50%")
		require.Equal(t, cli.ExitInput, got.Code)
		require.Contains(t, got.Stderr, "row 2: found a line longer than 1048576 bytes")
	}
	f, err := os.Create(filepath.Join(dir, "large"))
	require.NoError(t, err)
	require.NoError(t, f.Truncate(64<<20+1))
	require.NoError(t, f.Close())
	for _, from := range []string{"prometheus", "amd-smi"} {
		got := clitest.Run(t, "capture", "convert", "large", "--from", from, "--node", "n", "--out", "x.trace")
		require.Equal(t, cli.ExitInput, got.Code)
		require.Contains(t, got.Stderr, "ask for a shorter time at once")
	}
}
