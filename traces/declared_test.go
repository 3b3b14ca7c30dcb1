package traces

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDeclaredFooter: a footer of a few megabytes with millions of empty elements of the schema,
// row groups or notes is refused before the library makes room for them.
func TestDeclaredFooter(t *testing.T) {
	for name, c := range map[string]struct {
		field byte // of FileMetaData
		n     int
		body  int // bytes
		found string
	}{
		"schema":     {2, 1 << 20, 1 << 20, "ends early"},
		"row groups": {4, 1 << 20, 1 << 20, "ends early"},
		"notes":      {5, 1 << 20, 1 << 20, "ends early"},
		"many":       {4, 2 << 20, 7 << 20, "more than 1048576 structures"},
	} {
		t.Run(name, func(t *testing.T) {
			// A version, then the list: 9 is its wire type, and 12 that of its structures.
			footer := binary.AppendUvarint([]byte{0x15, 2, (c.field-1)<<4 | 9, 0xf0 | 12}, uint64(c.n))
			footer = append(footer, make([]byte, c.body+1)...)
			text := append([]byte("PAR1"), footer...)
			text = append(binary.LittleEndian.AppendUint32(text, uint32(len(footer))), "PAR1"...)
			path := filepath.Join(t.TempDir(), "jobs.parquet")
			require.NoError(t, os.WriteFile(path, text, 0o600))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Open(path)
			runtime.ReadMemStats(&after)
			require.ErrorContains(t, err, c.found)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(3*len(text)+4<<20))
		})
	}
}
