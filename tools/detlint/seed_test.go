package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDrawsAreFixed: every package whose tests draw their inputs draws the same ones in every
// run, so that no change is refused for what another draw would have found.
func TestDrawsAreFixed(t *testing.T) {
	draws, fixed := map[string]string{}, map[string]bool{}
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testdata/") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			switch i.Path.Value {
			case `"pgregory.net/rapid"`:
				draws[filepath.Dir(path)] = path
			case `"orrery/internal/fixedseed"`:
				fixed[filepath.Dir(path)] = true
			}
		}
		return nil
	}))
	require.Greater(t, len(draws), 30, "tests of many packages draw")
	for dir, path := range draws {
		require.True(t, fixed[dir], "%s draws by the clock: import _ \"orrery/internal/fixedseed\"", path)
	}
}
