package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClosest(t *testing.T) {
	words := []string{"none", "first-fit", "easy", "conservative"}
	for given, want := range map[string]string{
		"esay": "easy", "eazy": "easy", "easy": "easy", "firstfit": "first-fit", "conserv": "conservative",
		"conservatvie": "conservative", "non": "none", "": "", "x": "", "utterly": "",
	} {
		require.Equal(t, want, closest(given, words), given)
	}
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

func TestOneOf(t *testing.T) {
	require.Equal(t, "", oneOf(nil))
	require.Equal(t, "a", oneOf([]string{"a"}))
	require.Equal(t, "a, b or c", oneOf([]string{"a", "b", "c"}))
}

func TestQuoted(t *testing.T) {
	for path, want := range map[string]string{
		"run": "run", "a/b-c_1.trace": "a/b-c_1.trace", "two words": "'two words'", "it's": `'it'\''s'`, "": "''", "$x": "'$x'",
	} {
		require.Equal(t, want, quoted(path))
	}
}
