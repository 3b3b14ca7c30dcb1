package traces_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/traces"
)

// placeholder stands where the digest of a file goes.
var placeholder = "orrery.seal" + strings.Repeat("0", 53)

// reseal puts the digest of a file that was forged in its place.
func reseal(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	sum := sha256.Sum256(data)
	at := bytes.LastIndex(data, []byte(placeholder))
	require.Positive(t, at)
	hex.Encode(data[at:], sum[:])
	require.NoError(t, os.WriteFile(path, data, 0o644))
}

// TestSeal alters a trace in each of its parts: it is refused when it is opened.
func TestSeal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.trace")
	w, err := traces.NewWriter(path, traces.Meta{MaxProcs: 4200, MaxNodes: 4300})
	require.NoError(t, err)
	for i := range 500 {
		require.NoError(t, w.WriteJob(&traces.Job{ID: int64(i), Kind: "bounded"}))
	}
	hash, err := w.Close()
	require.NoError(t, err)
	table := filepath.Join(path, "jobs.parquet")
	sound, err := os.ReadFile(table)
	require.NoError(t, err)
	open := func(data []byte) error {
		require.NoError(t, os.WriteFile(table, data, 0o644))
		b, err := traces.Open(path)
		if err == nil {
			require.NoError(t, b.Close())
		}
		return err
	}
	require.NoError(t, open(sound))
	for name, change := range map[string][2]string{
		"the content hash": {hash, strings.Repeat("0", 64)}, "its processors": {"4200", "9999"}, "its nodes": {"4300", "9999"},
		"a name": {"orrery.max_procs", "orrery.max_prock"},
	} {
		altered := bytes.Replace(sound, []byte(change[0]), []byte(change[1]), 1)
		require.NotEqual(t, sound, altered, name)
		require.ErrorContains(t, open(altered), "expected the digest that its metadata state", name)
	}
	for at := 4; at < len(sound); at += 7 {
		altered := bytes.Clone(sound)
		if altered[at] ^= 4; bytes.Count(altered, []byte("orrery.seal")) == 0 {
			continue // a file of before there was a digest, whose rows are those of the content hash
		}
		require.Error(t, open(altered), "byte %d", at)
	}
	require.NoError(t, os.Remove(table))
	require.NoError(t, syscall.Mkfifo(table, 0o600))
	_, err = traces.Open(path)
	require.ErrorContains(t, err, "found a named pipe, expected a Parquet file")
}
