package importer

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/traces"
)

// byLine says whether the rows of a fixture are lines of text.
func byLine(text []byte) bool {
	return !bytes.HasPrefix(text, []byte("{")) && !bytes.HasPrefix(text, []byte("[")) && !bytes.HasPrefix(text, []byte("<")) && !bytes.HasPrefix(text, []byte("PAR1")) &&
		bytes.Count(text, []byte("\n")) > 1
}

// A line that cannot be read, at the end of a log of any format, is left out and counted where one may be, and refuses the log where
// none may.
func TestOneBadLine(t *testing.T) {
	tried := 0
	for _, path := range fixtures(t) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if !byLine(text) {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			before, err := tryImport(t, filepath.Join(t.TempDir(), "x.trace"), path)
			require.NoError(t, err)
			odd := filepath.Join(t.TempDir(), "odd")
			require.NoError(t, os.WriteFile(odd, []byte(strings.TrimRight(string(text), "\n")+"\nx y|z,w;v\n"), 0o600))
			o := Options{BadRows: atMost(t, "1")}
			after, err := Import([]string{odd}, filepath.Join(t.TempDir(), "x.trace"), o)
			if err != nil {
				o.Zone = zoneOf(t, "Europe/Berlin")
				after, err = Import([]string{odd}, filepath.Join(t.TempDir(), "x.trace"), o)
			}
			require.NoError(t, err)
			require.Equal(t, []int64{before.Kept, before.Read + 1}, []int64{after.Kept, after.Read})
			require.Contains(t, counts(after.Dropped), "unreadable-row=1")
			require.True(t, after.Balanced())

			o.BadRows = traces.BadRows{}
			_, err = Import([]string{odd}, filepath.Join(t.TempDir(), "x.trace"), o)
			require.ErrorContains(t, err, "--bad-rows 0.1% allows none: --bad-rows 1 leaves them out")
			o.Strict = true
			_, err = Import([]string{odd}, filepath.Join(t.TempDir(), "x.trace"), o)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "--bad-rows")
			tried++
		})
	}
	require.Greater(t, tried, 30)
}

func atMost(t testing.TB, text string) traces.BadRows {
	t.Helper()
	b, err := traces.ParseBadRows(text)
	require.NoError(t, err)
	return b
}

// The limit holds for an import of the cache as well, whichever limit it was made with.
func TestBadRowsOfTheCache(t *testing.T) {
	path := save(t, "log.swf", strings.TrimRight(tiny, "\n")+"\n5 6\n")
	cache := t.TempDir()
	open := func(limit string) error {
		o := Options{CacheDir: cache}
		if limit != "" {
			o.BadRows = atMost(t, limit)
		}
		src, _, err := OpenAny([]string{path}, o)
		if err == nil {
			require.NoError(t, src.Close())
		}
		return err
	}
	require.ErrorContains(t, open(""), "--bad-rows 0.1% allows none")
	require.NoError(t, open("1"))
	require.ErrorContains(t, open(""), "--bad-rows 0.1% allows none")
	require.NoError(t, open("100%"))
	require.Error(t, open("0"))
}
