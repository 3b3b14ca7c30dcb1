package spelling

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWord(t *testing.T) {
	words := []string{"none", "first-fit", "easy", "conservative"}
	for given, want := range map[string]string{
		"esay": "easy", "eazy": "easy", "easy": "easy", "firstfit": "first-fit", "conserv": "conservative",
		"conservatvie": "conservative", "non": "none", "": "", "x": "", "utterly": "",
	} {
		require.Equal(t, want, Word(given, words), given)
	}
	require.Empty(t, Word(strings.Repeat("x", 1<<20), words))
}

func TestHint(t *testing.T) {
	require.Equal(t, " (did you mean easy?)", Hint("esay", []string{"none", "easy"}))
	require.Empty(t, Hint("easy", []string{"easy", "none"}), "it is one, in the wrong place")
	require.Empty(t, Hint("utterly", []string{"easy"}))
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "axc", 1}, {"ab", "ba", 1}, {"fcsf", "fcfs", 1}, {"kitten", "sitting", 3}} {
		require.Equal(t, c.want, edits(c.a, c.b), "%s %s", c.a, c.b)
		require.Equal(t, c.want, edits(c.b, c.a), "%s %s", c.b, c.a)
	}
}
