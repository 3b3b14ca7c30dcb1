package traces_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"
)

// withoutChecksums clears the checksum of every page in place, as most other
// writers leave it; parquet-go offers no option for it. The header keeps its
// length: the field is replaced by an unknown one of the same bytes.
func withoutChecksums(t testing.TB, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	for _, g := range f.Metadata().RowGroups {
		for _, c := range g.Columns {
			at := c.MetaData.DataPageOffset
			if d := c.MetaData.DictionaryPageOffset; d != 0 {
				at = d
			}
			for end := at + c.MetaData.TotalCompressedSize; at < end; {
				at = clearChecksum(t, data, at)
			}
		}
	}
	require.NoError(t, os.WriteFile(path, data, 0o644))
}

func clearChecksum(t testing.TB, data []byte, at int64) (next int64) {
	var h format.PageHeader
	r := (&thrift.CompactProtocol{}).NewReaderFromBytes(data[at:])
	require.NoError(t, thrift.NewDecoder(r).Decode(&h))
	size := int64(r.BytesRead())
	// Fields 1 to 3 are short; the checksum is field 4, a zigzag varint whose
	// bytes become those of the number 0.
	i := at
	for range 3 {
		i++
		for data[i]&0x80 != 0 {
			i++
		}
		i++
	}
	if data[i] == 0x15 { // next field, 32-bit
		for i++; data[i]&0x80 != 0; i++ {
			data[i] = 0x80
		}
		data[i] = 0
	}
	var cleared format.PageHeader
	require.NoError(t, thrift.NewDecoder((&thrift.CompactProtocol{}).NewReaderFromBytes(data[at:])).Decode(&cleared))
	require.Zero(t, cleared.CRC)
	h.CRC = 0
	require.Equal(t, h, cleared)
	return at + size + int64(h.CompressedPageSize)
}
