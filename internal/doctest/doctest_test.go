package doctest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUpdateWritesThePartAndNoMore(t *testing.T) {
	p := Part{filepath.Join(t.TempDir(), "x.md"), "<!-- begin -->\n", "<!-- end -->"}
	require.NoError(t, os.WriteFile(p.File, []byte("a\n<!-- begin -->\nold\n<!-- end -->\nb\n"), 0o600))
	p.Holds(t, "old\n", false)
	p.Holds(t, "new\n", true)
	p.Holds(t, "new\n", false)
	text, err := os.ReadFile(p.File)
	require.NoError(t, err)
	require.Equal(t, "a\n<!-- begin -->\nnew\n<!-- end -->\nb\n", string(text))
}

// failing notes that a test has failed, and goes on no further.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Errorf(string, ...any) { f.failed = true }
func (f *failing) FailNow()              { panic(f) }

func TestWhatLagsBehindFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.md")
	require.NoError(t, os.WriteFile(file, []byte("[old]"), 0o600))
	for _, p := range []Part{{file, "[", "]"}, {file, "{", "]"}, {file, "[", "}"}, {file + "x", "[", "]"}} {
		f := &failing{TB: t}
		require.Panics(t, func() { p.Holds(f, "new", false) })
		require.True(t, f.failed, "%+v", p)
	}
}
