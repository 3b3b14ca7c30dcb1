package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVerifyStudy changes one byte in each kind of file of a study: verify names the file.
func TestVerifyStudy(t *testing.T) {
	file, study := gridFile(t, 1), filepath.Join(t.TempDir(), "study")
	require.Zero(t, inProcess(t, "sweep", file, "--out", study, "--quiet").code)
	require.Zero(t, inProcess(t, "study", "table", study, "--report").code)
	require.Zero(t, inProcess(t, "study", "materialize", study, "0", "-q").code)
	got := inProcess(t, "verify", study)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, study+" is what was written")
	got = inProcess(t, "verify", study, "-o", "json")
	require.Zero(t, got.code, got.stderr)
	require.NotContains(t, got.stdout, "altered")
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
		got := inProcess(t, "verify", study)
		require.Equal(t, exitInput, got.code, "%s: %s%s", path, got.stdout, got.stderr)
		require.Contains(t, got.stderr, path)
		require.Contains(t, got.stderr, "not what was written")
		require.NoError(t, os.WriteFile(path, sound, 0o600))
	}
	undo := alter(t, filepath.Join(study, "study.json"), `"lease_ms": 6`, `"lease_ms": 7`)
	require.Equal(t, exitInput, inProcess(t, "verify", study).code)
	undo()
	require.Zero(t, inProcess(t, "verify", study).code)
	require.Equal(t, exitUsage, inProcess(t, "verify", study, "--order", "sjf").code)
	require.NoError(t, os.WriteFile(filepath.Join(study, "faults", "0123-77.json"), []byte("{}"), 0o600))
	got = inProcess(t, "verify", study)
	require.Equal(t, exitMismatch, got.code, got.stderr)
}

// TestVerifySealedFiles changes the baseline of a gate and the report of a study.
func TestVerifySealedFiles(t *testing.T) {
	formatsHere(t)
	require.Zero(t, inProcess(t, "gate", "gate.yaml", "--update-baseline", "--reason", "anew", "--force").code)
	got := inProcess(t, "verify", "gate.baseline.json")
	require.Zero(t, got.code, got.stderr)
	alter(t, "gate.baseline.json", `"queue": "STABLE"`, `"queue": "GROWN"`)
	for _, args := range [][]string{{"verify", "gate.baseline.json"}, {"gate", "gate.yaml"}} {
		got = inProcess(t, args...)
		require.Equal(t, exitInput, got.code, "%v: %s", args, got.stderr)
		require.Contains(t, got.stderr, "gate.baseline.json")
		require.Contains(t, got.stderr, "it was altered")
	}
	for _, file := range []string{"baseline-3.json", "report-1.json"} {
		got = inProcess(t, "verify", file)
		require.Zero(t, got.code, got.stderr)
		require.Contains(t, got.stdout, "nothing: it has schema")
	}
	require.Zero(t, inProcess(t, "report", "report-1.json", "--quiet").code)
	alter(t, "report.json", `"name": "`, `"name": "x`)
	for _, args := range [][]string{{"verify", "report.json"}, {"report", "report.json", "--force"}} {
		got = inProcess(t, args...)
		require.Equal(t, exitInput, got.code, "%v: %s", args, got.stderr)
		require.Contains(t, got.stderr, "it was altered")
	}
}
