package profiles

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGlobs: * crosses slashes, blanks beside bars do not count, and all else is itself.
func TestGlobs(t *testing.T) {
	g := globs("*bert* | gpt-?|[x]")
	for text, want := range map[string]bool{"exp/bert-large": true, "bert": true, "gpt-2": true, "gpt-22": false, "[x]": true, "x": false, "": false} {
		require.Equal(t, want, g.MatchString(text), text)
	}
}

// TestWorkClasses: a row is in the first class all of which holds it; a column without a value
// matches nothing.
func TestWorkClasses(t *testing.T) {
	c := &Cluster{Workloads: []Workload{
		{Name: "big", Columns: []string{"name=*bert*", "user=ann|bob"}, MinGPUs: 8},
		{Name: "bert", Columns: []string{"name=*bert*"}, MaxGPUs: 64},
		{Name: "queue", Columns: []string{"partition=*"}},
	}}
	of := func(name, user, partition string, gpus int64) int {
		return c.WorkClasses().Of(func(column string) string {
			return map[string]string{"name": name, "user": user, "partition": partition}[column]
		}, gpus)
	}
	require.Equal(t, 0, of("a-bert", "bob", "", 8))
	require.Equal(t, 1, of("a-bert", "bob", "", 7))
	require.Equal(t, 1, of("a-bert", "eve", "p", 64))
	require.Equal(t, 2, of("a-bert", "eve", "p", 65))
	require.Equal(t, -1, of("gpt", "bob", "", 8))
}
