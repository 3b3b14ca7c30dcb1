// Package doctest holds a part of a document equal to what the code says of itself, for the
// tests of packages that print one. It knows no document.
package doctest

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Part is the text of a document between two markers, each of which it has once.
type Part struct{ File, Begin, End string }

// Holds compares the part with what it must say, or writes that into the document.
func (p Part) Holds(t testing.TB, want string, update bool) {
	t.Helper()
	doc, err := os.ReadFile(p.File)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(doc), p.Begin)
	require.True(t, ok, "%s has lost the line %q", p.File, p.Begin)
	have, after, ok := strings.Cut(rest, p.End)
	require.True(t, ok, "%s has lost the line %q", p.File, p.End)
	if update {
		require.NoError(t, os.WriteFile(p.File, []byte(before+p.Begin+want+p.End+after), 0o600))
		return
	}
	require.Equal(t, want, have, "%s lags behind the code: run the test with -update", p.File)
}
