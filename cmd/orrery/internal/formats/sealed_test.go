package formats_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
)

// TestVerifySealedFiles changes the baseline of a gate and the report of a study.
func TestVerifySealedFiles(t *testing.T) {
	formatsHere(t)
	require.Zero(t, clitest.Run(t, "gate", "gate.yaml", "--update-baseline", "--reason", "anew", "--force").Code)
	got := clitest.Run(t, "verify", "gate.baseline.json")
	require.Zero(t, got.Code, got.Stderr)
	clitest.Alter(t, "gate.baseline.json", `"queue": "STABLE"`, `"queue": "GROWN"`)
	for _, args := range [][]string{{"verify", "gate.baseline.json"}, {"gate", "gate.yaml"}} {
		got = clitest.Run(t, args...)
		require.Equal(t, cli.ExitInput, got.Code, "%v: %s", args, got.Stderr)
		require.Contains(t, got.Stderr, "gate.baseline.json")
		require.Contains(t, got.Stderr, "it was altered")
	}
	for _, file := range []string{"baseline-3.json", "report-1.json"} {
		got = clitest.Run(t, "verify", file)
		require.Zero(t, got.Code, got.Stderr)
		require.Contains(t, got.Stdout, "nothing: it has schema")
	}
	require.Zero(t, clitest.Run(t, "report", "report-1.json", "--quiet").Code)
	clitest.Alter(t, "report.json", `"name": "`, `"name": "x`)
	for _, args := range [][]string{{"verify", "report.json"}, {"report", "report.json", "--force"}} {
		got = clitest.Run(t, args...)
		require.Equal(t, cli.ExitInput, got.Code, "%v: %s", args, got.Stderr)
		require.Contains(t, got.Stderr, "it was altered")
	}
}
