package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneOf(t *testing.T) {
	require.Equal(t, "", OneOf(nil))
	require.Equal(t, "a", OneOf([]string{"a"}))
	require.Equal(t, "a, b or c", OneOf([]string{"a", "b", "c"}))
}

func TestQuoted(t *testing.T) {
	for path, want := range map[string]string{
		"run": "run", "a/b-c_1.trace": "a/b-c_1.trace", "two words": "'two words'", "it's": `'it'\''s'`, "": "''", "$x": "'$x'",
	} {
		require.Equal(t, want, Quoted(path))
	}
}
