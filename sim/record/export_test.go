package record

import (
	"bytes"
	"encoding/csv"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/stretchr/testify/require"
)

func TestExportCSV(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	writeRun(t, dir, 100)
	jobs, attempts := testRows(100)

	var buf bytes.Buffer
	require.NoError(t, ExportCSV(dir, TableJobs, nil, &buf))
	rows, err := csv.NewReader(&buf).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"job", "id", "user", "submit", "eligible", "first_start", "end", "runtime", "walltime", "procs", "nodes", "wait", "state", "attempts", "reason"}, rows[0])
	require.Len(t, rows, 101)
	for i, j := range jobs {
		row := rows[i+1]
		require.Equal(t, strconv.Itoa(i), row[0])
		end, err := time.Parse(time.RFC3339Nano, row[6])
		require.NoError(t, err)
		require.Equal(t, int64(j.End+testEpoch), end.UnixMicro())
		require.Equal(t, j.State.String(), row[12])
		require.Equal(t, j.Reason.String(), row[14])
		if j.Attempts == 0 {
			require.Empty(t, row[5])
			require.Empty(t, row[11])
		}
	}
	for table, n := range map[string]int{TableAttempts: len(attempts), TableSeries: len(testBins), TableFacts: 2} {
		buf.Reset()
		require.NoError(t, ExportCSV(dir, table, nil, &buf))
		rows, err := csv.NewReader(&buf).ReadAll()
		require.NoError(t, err, table)
		require.Len(t, rows, n+1)
	}
	require.ErrorContains(t, ExportCSV(dir, "nodes", nil, &buf), "jobs, attempts, series, facts")
	require.Equal(t, `"a ""b"", c"`, string(appendQuoted(nil, `a "b", c`)))
}

func TestExportArrow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	n := rowGroupRows + 5
	writeRun(t, dir, n)
	jobs, attempts := testRows(n)
	var buf bytes.Buffer
	require.NoError(t, ExportArrow(dir, TableJobs, &buf))
	r, err := ipc.NewFileReader(bytes.NewReader(buf.Bytes()))
	require.NoError(t, err)
	defer r.Close()
	require.Equal(t, 2, r.NumRecords())
	at := 0
	for k := range r.NumRecords() {
		rec, err := r.Record(k)
		require.NoError(t, err)
		for i := range int(rec.NumRows()) {
			j := jobs[at]
			require.Equal(t, int32(at), rec.Column(0).(*array.Int32).Value(i))
			require.Equal(t, int64(j.End+testEpoch), int64(rec.Column(6).(*array.Timestamp).Value(i)))
			require.Equal(t, j.Attempts == 0, rec.Column(5).IsNull(i))
			require.Equal(t, j.User < 0, rec.Column(2).IsNull(i))
			if j.User >= 0 {
				require.Equal(t, testUsers[j.User], rec.Column(2).(*array.String).Value(i))
			}
			at++
		}
	}
	require.Equal(t, n, at)

	buf.Reset()
	require.NoError(t, ExportArrow(dir, TableAttempts, &buf))
	again, err := ipc.NewFileReader(bytes.NewReader(buf.Bytes()))
	require.NoError(t, err)
	defer again.Close()
	rec, err := again.Record(0)
	require.NoError(t, err)
	require.Equal(t, string(AppendNodes(nil, &attempts[0].Placement)), rec.Column(7).(*array.String).Value(0))

	var twice bytes.Buffer
	require.NoError(t, ExportArrow(dir, TableAttempts, &twice))
	require.True(t, bytes.Equal(buf.Bytes(), twice.Bytes()))
}
