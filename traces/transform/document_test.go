package transform

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/traces"
)

// TestRecipesNest: the recipe of a trace that was jittered again and again grows by one
// step each time, also where the first were written as text inside text, and all
// steps can be read.
func TestRecipesNest(t *testing.T) {
	s := log(t, line{1, 10, 20, 80, "a", 1}, line{2, 60, 90, 80, "b", 2})
	dir := t.TempDir()
	size, grown := 0, 0
	for i := range 12 {
		out, _, _ := done(t, s, fmt.Sprintf("jitter by=1s seed=%d", i))
		path := filepath.Join(dir, fmt.Sprintf("%d.trace", i))
		_, err := out.Write(path, nil)
		require.NoError(t, err)
		b, err := traces.Open(path)
		require.NoError(t, err)
		meta := b.Meta()
		grown, size = len(meta.Recipe)-size, len(meta.Recipe)
		doc, ok := Made(meta)
		require.True(t, ok)
		require.Len(t, doc.History(), i+1)
		require.Equal(t, "jitter by=1s seed=0", doc.History()[0])
		if i < 3 { // as traces were written before
			for k := range doc.Inputs {
				doc.Inputs[k].Recipe = quote(doc.Inputs[k].recipe())
			}
			meta.Recipe, err = doc.text()
			require.NoError(t, err)
			old, ok := Made(meta)
			require.True(t, ok)
			require.Equal(t, doc.History(), old.History())
		}
		rows, err := func() ([]traces.Job, error) { set, err := Open(b); require.NoError(t, err); return set.jobs() }()
		require.NoError(t, err)
		require.NoError(t, b.Close())
		s = setOf(t, meta, traces.Tables{Jobs: rows})
	}
	require.Less(t, grown, 600)
	require.Less(t, size, 7000)
	require.JSONEq(t, `"a \"note\""`, string(nested(`a "note"`)))
	require.JSONEq(t, `{"other":"program"}`, string(nested(`{"other":"program"}`)))
	require.Nil(t, nested(""))
}

// TestEmptied: a step that keeps no job is named, and nothing is written.
func TestEmptied(t *testing.T) {
	s := log(t, line{1, 10, 20, 80, "a", 1}, line{2, 60, 90, 80, "b", 2})
	out, _, _ := done(t, s, "jitter by=1s\nfilter user=c\nstretch by=2")
	path := filepath.Join(t.TempDir(), "x.trace")
	_, err := out.Write(path, nil)
	var data *traces.DataError
	require.ErrorAs(t, err, &data)
	require.ErrorContains(t, err, `no job that the step "filter user=c" keeps (not user=c: 2), of the 2 it read`)
	require.NoFileExists(t, path)
	require.NoDirExists(t, path)
}
