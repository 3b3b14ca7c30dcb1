package seal

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSeal holds that what was sealed comes back, and that each changed byte is found.
func TestSeal(t *testing.T) {
	for _, text := range []string{"", "a", "a\n", `{"a":1}`, "{\n  \"a\": 1\n}\n"} {
		sealed := Line([]byte(text))
		got, err := CutLine(sealed)
		require.NoError(t, err)
		require.Equal(t, text, string(got))
		changed(t, sealed, CutLine)
	}
	for _, text := range []string{`{"a":1}`, "{\n  \"a\": 1\n}\n"} {
		sealed := Object([]byte(text))
		var v struct{ A int }
		require.NoError(t, json.Unmarshal(sealed, &v))
		got, err := CutObject(sealed)
		require.NoError(t, err)
		require.JSONEq(t, text, string(got))
		changed(t, sealed, CutObject)
	}
	_, err := CutObject([]byte("{}"))
	require.ErrorIs(t, err, ErrNone)
}

func changed(t *testing.T, sealed []byte, cut func([]byte) ([]byte, error)) {
	t.Helper()
	for i := range sealed {
		other := bytes.Clone(sealed)
		other[i] ^= 1
		_, err := cut(other)
		require.Error(t, err, "byte %d of %q", i, sealed)
		_, err = cut(sealed[:i])
		require.Error(t, err)
	}
}
