package record

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

// Tables of earlier versions, which end before the columns that were added since, are read without them.
func TestTablesOfEarlierVersions(t *testing.T) {
	for table, firsts := range firstOfNewer { //detlint:ordered each is a check by itself
		for _, first := range firsts {
			columns := schemaOf(table).Fields()
			n := slices.IndexFunc(columns, func(c parquet.Field) bool { return c.Name() == first })
			require.Positive(t, n, "%s has %s", table, first)
			earlier := parquet.Group{}
			for _, c := range columns[:n] {
				earlier[c.Name()] = c
			}
			path := filepath.Join(t.TempDir(), table+".parquet")
			f, err := os.Create(path)
			require.NoError(t, err)
			w := parquet.NewWriter(f, parquet.NewSchema(table, earlier), parquet.KeyValueMetadata(keySchema, versionOf(table)), parquet.KeyValueMetadata(keyEpoch, "0"))
			require.NoError(t, w.Close())
			require.NoError(t, f.Close())
			f, err = os.Open(path)
			require.NoError(t, err)
			read, err := readTable(f, path, table, nil)
			require.NoError(t, err, "%s before %s", table, first)
			require.Len(t, read.fields, n)
			require.NoError(t, read.Close())
		}
	}
}
