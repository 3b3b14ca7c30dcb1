package clitest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// GridFile is an experiment of so many points on the small log, three scenarios each.
func GridFile(t testing.TB, points int) string {
	var values []string
	for i := range points {
		values = append(values, fmt.Sprint(i+1))
	}
	path := filepath.Join(t.TempDir(), "grid.yaml")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil,
		"traces: [%s]\njitter: {by: 30s, seeds: [1, 2]}\nsettings: [{path: weights.wait_time, values: [%s]}]\n", Small(t), strings.Join(values, ", ")), 0o600))
	return path
}

// ResultFiles are the results of a study by name.
func ResultFiles(t testing.TB, study string) map[string]string {
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(filepath.Join(study, "results"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") { // what a killed writer leaves behind, which is not read
			return err
		}
		b, err := os.ReadFile(path)
		out[d.Name()] = string(b)
		return err
	}))
	return out
}
