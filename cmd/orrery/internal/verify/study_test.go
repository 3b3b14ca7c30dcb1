package verify_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
)

// TestVerifyStudy changes one byte in each kind of file of a study: verify names the file.
func TestVerifyStudy(t *testing.T) {
	file, study := clitest.GridFile(t, 1), filepath.Join(t.TempDir(), "study")
	require.Zero(t, clitest.Run(t, "sweep", file, "--out", study, "--quiet").Code)
	require.Zero(t, clitest.Run(t, "study", "table", study, "--report").Code)
	require.Zero(t, clitest.Run(t, "study", "materialize", study, "0", "-q").Code)
	got := clitest.Run(t, "verify", study)
	require.Zero(t, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, study+" is what was written")
	got = clitest.Run(t, "verify", study, "-o", "json")
	require.Zero(t, got.Code, got.Stderr)
	require.NotContains(t, got.Stdout, "altered")
	for _, pattern := range []string{"specs/*.jsonl", "results/*/*.json", "experiment.json", "report.json", "traces/*.trace/jobs.parquet", "runs/*/jobs.parquet", "runs/*/run.json", "runs/*/metrics.json"} {
		found, err := filepath.Glob(filepath.Join(study, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		path := found[0]
		sound, err := os.ReadFile(path)
		require.NoError(t, err)
		other := bytes.Clone(sound)
		at := len(other) - len(other)/4 // not in the header of a pack
		for other[at] < '0' || other[at] > '8' {
			at--
		}
		other[at]++
		require.NoError(t, os.WriteFile(path, other, 0o600))
		got := clitest.Run(t, "verify", study)
		require.Equal(t, cli.ExitInput, got.Code, "%s: %s%s", path, got.Stdout, got.Stderr)
		require.Contains(t, got.Stderr, path)
		require.Contains(t, got.Stderr, "not what was written")
		require.NoError(t, os.WriteFile(path, sound, 0o600))
	}
	undo := clitest.Alter(t, filepath.Join(study, "study.json"), `"lease_ms": 6`, `"lease_ms": 7`)
	require.Equal(t, cli.ExitInput, clitest.Run(t, "verify", study).Code)
	undo()
	require.Zero(t, clitest.Run(t, "verify", study).Code)
	require.Equal(t, cli.ExitUsage, clitest.Run(t, "verify", study, "--order", "sjf").Code)
	require.NoError(t, os.WriteFile(filepath.Join(study, "faults", "0123-77.json"), []byte("{}"), 0o600))
	got = clitest.Run(t, "verify", study)
	require.Equal(t, cli.ExitMismatch, got.Code, got.Stderr)
}
