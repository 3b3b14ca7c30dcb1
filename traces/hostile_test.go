package traces_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/traces"
)

// Footers that claim more than is there, written by hand in the Thrift compact
// protocol: a field is a byte (id delta, wire type) and its value. None may
// make the reader allocate what it claims.
func TestHostileFooters(t *testing.T) {
	huge := string(binary.AppendUvarint(nil, 1<<30))
	for name, footer := range map[string]string{
		"a list of 2^30 structures": "\x29\xfc" + huge,
		"a list of 2^30 booleans":   "\x29\xf1" + huge,
		"a list beyond 31 bits":     "\x29\xfc" + string(binary.AppendUvarint(nil, 1<<40)),
		"a text of 2^30 bytes":      "\x48" + huge,
		"a map of 2^30 texts":       "\x5b" + huge + "\x88",
		"structures without end":    strings.Repeat("\x1c", 100_000),
		"lists without end":         strings.Repeat("\x19", 100_000),
		"a varint without end":      "\x16" + strings.Repeat("\xff", 20),
		"an unknown wire type":      "\x1e",
		"nothing":                   "",
	} {
		path := filepath.Join(t.TempDir(), "x.parquet")
		file := binary.LittleEndian.AppendUint32([]byte("PAR1"+footer), uint32(len(footer)))
		require.NoError(t, os.WriteFile(path, append(file, "PAR1"...), 0o644))
		_, err := guarded(t, path, 0)
		var damaged *traces.CorruptError
		require.ErrorAs(t, err, &damaged, name)
	}
}

// Truncated anywhere, a file of ours is refused by name and without a panic.
func TestTruncatedAnywhere(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole.parquet")
	writeMany(t, whole, 20)
	b, err := os.ReadFile(whole)
	require.NoError(t, err)
	cut := filepath.Join(t.TempDir(), "cut.parquet")
	for n := 0; n < len(b); n += 97 {
		require.NoError(t, os.WriteFile(cut, b[:n], 0o644))
		require.Error(t, openError(t, cut))
	}
}
