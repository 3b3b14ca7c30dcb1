package clitest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Alter replaces a text in a file, and returns what undoes it.
func Alter(t *testing.T, path, from, to string) (undo func()) {
	t.Helper()
	sound, err := os.ReadFile(path)
	require.NoError(t, err)
	altered := bytes.Replace(sound, []byte(from), []byte(to), 1)
	require.NotEqual(t, sound, altered, "%s: no %q", path, from)
	require.NoError(t, os.WriteFile(path, altered, 0o600))
	return func() { require.NoError(t, os.WriteFile(path, sound, 0o600)) }
}

// Only is the one file that a pattern matches.
func Only(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

// Unsealed is run.json as it was before it had digests: what is altered behind it is not
// found at once.
func Unsealed(t *testing.T, document []byte) []byte {
	t.Helper()
	var tree map[string]any
	require.NoError(t, json.Unmarshal(document, &tree))
	delete(tree, "files")
	delete(tree, "digest")
	tree["schema"] = 1
	text, err := json.Marshal(tree)
	require.NoError(t, err)
	return text
}
