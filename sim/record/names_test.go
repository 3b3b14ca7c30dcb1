package record

import (
	"bytes"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesOfNodes(t *testing.T) {
	for _, row := range []struct{ info, nodes, want string }{
		{`{"cluster":{"nodes":8,"node_names":"n[1-8]"}}`, "6-7", "n[7-8]"},
		{`{"cluster":{"nodes":8,"node_names":"n[1-8]"}}`, "0,2,6-7", "n[1,3,7-8]"},
		{`{"cluster":{"nodes":3,"node_names":"a1,b[1-2]"}}`, "0-2", "a1,b[1-2]"},
		{`{"cluster":{"nodes":8,"node_names":"n[1-8]"}}`, "0,2,+3", "n[1,3],+3"},
		{`{"cluster":{"nodes":8}}`, "6-7", "6-7"},
		{`{"cluster":{"nodes":8,"node_names":"n[1-8]"}}`, "", ""},
	} {
		names, err := ReadNodeNames([]byte(row.info), "run.json")
		require.NoError(t, err)
		require.Equal(t, row.want, names.Of(row.nodes))
	}
	for _, bad := range []string{`{"cluster":{"nodes":8,"node_names":"n[1-7]"}}`, `{"cluster":{"nodes":8,"node_names":"n[1-"}}`, `{"cluster":{"nodes":2,"node_names":"n[1-7]"}}`} {
		_, err := ReadNodeNames([]byte(bad), "run.json")
		var data *DataError
		require.True(t, errors.As(err, &data), bad)
		require.Equal(t, "cluster.node_names", data.Column)
	}
}

// Tables are exported with the names that run.json has; the table itself keeps
// numbers.
func TestExportNamesNodes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	writeRun(t, dir, 100)
	cells := func(export func() ([]byte, error), column string) (out []string) {
		text, err := export()
		require.NoError(t, err)
		rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		require.NoError(t, err)
		for i, name := range rows[0] {
			if name == column {
				for _, row := range rows[1:] {
					out = append(out, row[i])
				}
			}
		}
		return out
	}
	named := func(table string) func() ([]byte, error) {
		return func() ([]byte, error) {
			var b bytes.Buffer
			err := ExportCSV(dir, table, nil, &b)
			return b.Bytes(), err
		}
	}
	numbers := cells(named(TableAttempts), "nodes")
	require.NotEmpty(t, numbers)
	require.NoError(t, os.WriteFile(filepath.Join(dir, FileRun), []byte(`{"cluster":{"nodes":9999,"node_names":"n[1-9999]"}}`), 0o644))
	m, err := manifestOf(dir)
	require.NoError(t, err)
	names, err := m.names()
	require.NoError(t, err)
	var want []string
	for _, text := range numbers {
		require.Regexp(t, "^[0-9,-]+$", text)
		want = append(want, names.Of(text))
	}
	require.Equal(t, want, cells(named(TableAttempts), "nodes"))
	require.NotContains(t, cells(named(TableJobs), "nodes"), "n1", "a number of nodes is no set of them")
}

func TestShorten(t *testing.T) {
	for _, row := range []struct {
		text string
		most int
		want string
		n    int
	}{
		{"", 2, "", 0}, {"7", 1, "7", 1}, {"0-3,7", 2, "0-3,7", 5}, {"0-3,7", 1, "0-3,+1", 5}, {"0-3,7,9-10,12", 2, "0-3,7,+3", 8},
	} {
		got := Shorten(row.text, row.most)
		require.Equal(t, row.want, got)
		require.Equal(t, row.n, CountNodes(row.text))
		require.Equal(t, row.n, CountNodes(got))
	}
}
