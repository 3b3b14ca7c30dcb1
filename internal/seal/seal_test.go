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

// TestCutVersioned holds that objects of before there were seals are read, and that a later
// one cannot lose its own.
func TestCutVersioned(t *testing.T) {
	for text, ok := range map[string]bool{`{"schema":2,"a":1}`: true, `{"schema":3,"a":1}`: false, `{"a":1}`: true, `no object`: true} {
		got, err := CutVersioned([]byte(text), 3)
		require.Equal(t, ok, err == nil, text)
		if ok {
			require.Equal(t, text, string(got))
		}
	}
	sealed := Object([]byte(`{"schema":3,"a":1}`))
	got, err := CutVersioned(sealed, 3)
	require.NoError(t, err)
	require.JSONEq(t, `{"schema":3,"a":1}`, string(got))
	for i := range sealed {
		other := bytes.Clone(sealed)
		other[i] ^= 1
		if got, err := CutVersioned(other, 3); err == nil { // it is none of a version that is sealed any more
			require.Equal(t, other, got)
			var head struct{ Schema int }
			require.True(t, json.Unmarshal(other, &head) != nil || head.Schema < 3, "byte %d", i)
		}
	}
}

// FuzzCut: what comes out of a seal is what went in, and nothing else is taken for sealed.
func FuzzCut(f *testing.F) {
	f.Add(Object([]byte(`{"schema":3,"a":1}`)))
	f.Add(Line([]byte("{}")))
	f.Add([]byte(`{"schema":3}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if body, err := CutLine(text); err == nil {
			require.Equal(t, text, Line(body))
		}
		if body, err := CutObject(text); err == nil {
			require.Equal(t, text, Object(body))
		}
		if body, err := CutVersioned(text, 3); err == nil && !bytes.Equal(body, text) {
			require.Equal(t, text, Object(body))
		}
	})
}
