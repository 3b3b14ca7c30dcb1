package traces_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

func writeForeign[T any](t *testing.T, rows []T, options ...parquet.WriterOption) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jobs.parquet")
	f, err := os.Create(path)
	require.NoError(t, err)
	w := parquet.NewGenericWriter[T](f, options...)
	_, err = w.Write(rows)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	return path
}

func p[T any](v T) *T { return &v }

// other is how a data frame writes jobs: everything may be null, instants in
// ms and ns, counts in 64 bits, a column we do not know.
type other struct {
	Note   *string  `parquet:"note"`
	User   *string  `parquet:"user,dict"`
	ID     *int32   `parquet:"id"`
	Procs  *int64   `parquet:"procs_requested"`
	Nodes  *uint32  `parquet:"nodes_min"`
	Submit *int64   `parquet:"submit,timestamp(millisecond)"`
	Start  *int64   `parquet:"start,timestamp(nanosecond)"`
	Run    *int64   `parquet:"runtime"`
	Wall   *uint64  `parquet:"walltime,dict"`
	Comm   *float32 `parquet:"comm_fraction"`
	Tags   []string `parquet:"tags,list"`
}

func others() []other {
	return []other{
		{ID: p(int32(4)), Submit: p(int64(1500)), User: p("bob"), Procs: p(int64(8)), Start: p(int64(1_500_000_999)), Tags: []string{"a", "b"}},
		{ID: p(int32(5)), Submit: p(int64(1400)), User: nil, Nodes: p(uint32(2)), Run: p(int64(3)), Wall: p(uint64(60_000_000))},
		{ID: p(int32(-6)), Submit: p(int64(-1)), User: p("ann"), Comm: p(float32(0.5)), Start: p(int64(-1)), Note: p("x")},
		{ID: p(int32(7)), Submit: p(int64(1600)), User: p("")},
	}
}

func othersAsJobs() []traces.Job {
	return []traces.Job{
		{ID: 4, Kind: "bounded", Submit: 1_500_000, User: "bob", ProcsRequested: traces.Some(int32(8)), Start: traces.Some(model.Time(1_500_000))},
		{ID: 5, Kind: "bounded", Submit: 1_400_000, NodesMin: traces.Some(int32(2)), Runtime: traces.Some(model.Duration(3)), Walltime: traces.Some(model.Minute)},
		{ID: -6, Kind: "bounded", Submit: -1000, User: "ann", CommFraction: traces.Some(0.5), Start: traces.Some(model.Time(-1))},
		{ID: 7, Kind: "bounded", Submit: 1_600_000},
	}
}

// Every codec, both page versions, with and without dictionaries.
func TestForeignFiles(t *testing.T) {
	hashes := map[string]bool{}
	encodings := map[int64]encoding.Encoding{1: &parquet.Plain, 3: &parquet.DeltaBinaryPacked, 100: &parquet.RLEDictionary}
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Zstd} {
		for version := 1; version <= 2; version++ {
			for _, group := range []int64{1, 3, 100} {
				path := writeForeign(t, others(), parquet.Compression(codec), parquet.DataPageVersion(version), parquet.MaxRowsPerRowGroup(group),
					parquet.DefaultEncodingFor(parquet.Int64, encodings[group]))
				withoutChecksums(t, path)
				got := read(t, path)
				for i, j := range othersAsJobs() {
					require.Equal(t, j, got.jobs[i], "%s v%d groups of %d", codec, version, group)
				}
				compareSource(t, path)
				b, err := traces.Open(path)
				require.NoError(t, err)
				info := b.Info()
				require.NoError(t, b.Close())
				require.False(t, info.Sorted)
				require.False(t, info.EpochKnown)
				require.Zero(t, info.Epoch)
				require.Equal(t, "jobs", info.Name)
				require.EqualValues(t, 4, info.Rows)
				hashes[info.Hash] = true
			}
		}
	}
	require.Len(t, hashes, 1, "the hash depends on content alone")

	// The same rows through our writer have the same hash.
	jobs := othersAsJobs()
	require.True(t, hashes[write(t, filepath.Join(t.TempDir(), "x.trace"), &content{jobs: jobs})])
}

func TestForeignCodecsRefused(t *testing.T) {
	require.ErrorContains(t, openError(t, writeForeign(t, others(), parquet.Compression(&parquet.Lz4Raw))), "column id: found pages compressed with LZ4_RAW")
}

func TestForeignSortedFileIsFoundSorted(t *testing.T) {
	path := writeForeign(t, others()[:1])
	b, err := traces.Open(path)
	require.NoError(t, err)
	defer b.Close()
	require.True(t, b.Info().Sorted)
}

func TestForeignDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x.trace")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.Rename(writeForeign(t, others()), filepath.Join(dir, "jobs.parquet")))
	require.Len(t, read(t, dir).jobs, 4)
	c := sample()
	ours := filepath.Join(t.TempDir(), "ours.trace")
	write(t, ours, c)
	require.NoError(t, os.Rename(filepath.Join(ours, "deps.parquet"), filepath.Join(dir, "deps.parquet")))
	_, err := traces.Open(dir)
	require.ErrorContains(t, err, "deps.parquet: found a table of another bundle")
	_, err = traces.Open(t.TempDir())
	require.ErrorContains(t, err, "a directory without jobs.parquet")
}

func openError(t *testing.T, path string) error {
	t.Helper()
	b, err := traces.Open(path)
	if err == nil {
		require.NoError(t, b.Close())
	}
	var data *traces.DataError
	require.ErrorAs(t, err, &data)
	require.NotEmpty(t, data.Mend)
	return err
}

func TestSchemaMismatch(t *testing.T) {
	type submit = struct {
		Submit int64 `parquet:"submit"`
	}
	type rowOf[ID any] struct {
		ID     ID    `parquet:"id"`
		Submit int64 `parquet:"submit"`
	}
	type users[T any] struct {
		ID     int64 `parquet:"id"`
		Submit int64 `parquet:"submit"`
		User   T     `parquet:"user"`
	}
	type day struct {
		ID     int64 `parquet:"id"`
		Submit int32 `parquet:"submit,date"`
	}
	type flags struct {
		ID     int64 `parquet:"id"`
		Submit int64 `parquet:"submit"`
		Flag   int32 `parquet:"exclusive"`
	}
	for _, c := range []struct{ path, column, found, mend string }{
		{writeForeign(t, []submit{{1}}), "id", "no such column", "add the column or rename"},
		{writeForeign(t, []rowOf[string]{{"1", 1}}), "id", "BYTE_ARRAY annotated STRING", `CAST("id" AS BIGINT)`},
		{writeForeign(t, []rowOf[float64]{{1, 1}}), "id", "DOUBLE", `CAST("id" AS BIGINT)`},
		{writeForeign(t, []rowOf[[]int64]{{[]int64{1}, 1}}), "id", "a repeated column", "BIGINT"},
		{writeForeign(t, []rowOf[struct{ A int64 }]{{}}), "id", "a nested column", "BIGINT"},
		{writeForeign(t, []users[int64]{{1, 1, 1}}), "user", "INT64 annotated INT(64,true)", `CAST("user" AS VARCHAR)`},
		{writeForeign(t, []users[[4]byte]{{1, 1, [4]byte{}}}), "user", "FIXED_LEN_BYTE_ARRAY", "VARCHAR"},
		{writeForeign(t, []day{{1, 1}}), "submit", "INT32 annotated DATE", `CAST("submit" AS TIMESTAMPTZ)`},
		{writeForeign(t, []flags{{1, 1, 1}}), "exclusive", "INT32", "BOOLEAN"},
	} {
		err := openError(t, c.path)
		require.ErrorContains(t, err, "column "+c.column+": found "+c.found)
		require.ErrorContains(t, err, c.mend)
		require.True(t, strings.HasPrefix(err.Error(), c.path))
	}
}

func TestForeignValuesOutOfRange(t *testing.T) {
	row := func(change func(*other)) string {
		rows := others()
		change(&rows[1])
		return writeForeign(t, rows)
	}
	for want, path := range map[string]string{
		"row 2, column procs_requested: found 4294967296": row(func(o *other) { o.Procs = p(int64(1 << 32)) }),
		"row 2, column nodes_min: found -1":               row(func(o *other) { o.Nodes = p(^uint32(0)) }),
		"row 2, column walltime: found -1":                row(func(o *other) { o.Wall = p(^uint64(0)) }),
		"row 2, column submit: found 9223372036854775807": row(func(o *other) { o.Submit = p(int64(1<<63 - 1)) }),
		"row 2, column submit: found a null":              row(func(o *other) { o.Submit = nil }),
		"row 2, column id: found a null":                  row(func(o *other) { o.ID = nil }),
	} {
		require.ErrorContains(t, openError(t, path), want)
	}
}

// A file of ours is not decoded on opening, so there the column path itself must
// notice; the metadata is forged to say so.
func TestSourceNoticesValuesOutOfRange(t *testing.T) {
	type job struct {
		ID     *int64 `parquet:"id"`
		Submit *int64 `parquet:"submit"`
		Start  *int64 `parquet:"start,dict"`
		Wall   *int64 `parquet:"walltime"`
		Procs  *int32 `parquet:"procs_requested,dict"`
		Nodes  *int32 `parquet:"nodes_min"`
		Kind   string `parquet:"kind"`
	}
	for want, bad := range map[string]job{
		"row 3, column id: found a null":                                       {Submit: p(int64(9))},
		"row 3, column submit: found a null":                                   {ID: p(int64(3))},
		"row 3, column submit: found 00:00:00.000001 after the epoch":          {ID: p(int64(3)), Submit: p(int64(1))},
		"row 3, column start: found 9223372036854775807":                       {ID: p(int64(3)), Submit: p(int64(9)), Start: p(int64(1<<63 - 1))},
		"row 3, column walltime: found -9223372036854775808":                   {ID: p(int64(3)), Submit: p(int64(9)), Wall: p(int64(-1 << 63))},
		"row 3, column procs_requested: found -2147483648":                     {ID: p(int64(3)), Submit: p(int64(9)), Procs: p(traces.Absent)},
		"row 3, column nodes_min: found -2147483648":                           {ID: p(int64(3)), Submit: p(int64(9)), Nodes: p(traces.Absent)},
		"row 3, column id: found -9223372036854775808, expected a value in th": {ID: p(int64(-1 << 63)), Submit: p(int64(9))},
	} {
		good := job{ID: p(int64(1)), Submit: p(int64(5)), Start: p(int64(6)), Kind: "bounded"}
		path := writeForeign(t, []job{good, {ID: p(int64(2)), Submit: p(int64(5)), Kind: "bounded"}, bad, good}, forged(map[string]string{"orrery.seal": placeholder})...)
		reseal(t, path)
		b, err := traces.Open(path)
		require.NoError(t, err)
		src, err := b.Jobs()
		require.NoError(t, err)
		var batch traces.Batch
		require.ErrorContains(t, src.Next(&batch), want)
		require.ErrorContains(t, src.Next(&batch), want, "an error is final")
		require.NoError(t, src.Close())
		require.NoError(t, b.Close())
		_, err = traces.Validate(path)
		require.ErrorContains(t, err, want)
	}
}

// forged makes a file look like one of ours.
func forged(change map[string]string) (options []parquet.WriterOption) {
	meta := map[string]string{"orrery.schema": "1", "orrery.epoch_us": "0", "orrery.sorted": "true", "orrery.content": strings.Repeat("0", 64)}
	for k, v := range change {
		meta[k] = v
	}
	for k, v := range meta {
		options = append(options, parquet.KeyValueMetadata(k, v))
	}
	return options
}

func TestMetadataIsChecked(t *testing.T) {
	type job struct {
		ID     int64  `parquet:"id"`
		Submit int64  `parquet:"submit"`
		Kind   string `parquet:"kind"`
	}
	for key, c := range map[string][2]string{
		"orrery.schema":    {"2", "found schema version 2, expected version 1 or older"},
		"orrery.epoch_us":  {"soon", `found metadata orrery.epoch_us = "soon"`},
		"orrery.max_procs": {"4294967296", "found metadata orrery.max_procs"},
		"orrery.content":   {"abc", "expected 64 hex digits"},
	} {
		path := writeForeign(t, []job{{1, 1, "bounded"}}, forged(map[string]string{key: c[0]})...)
		require.ErrorContains(t, openError(t, path), c[1])
	}
	err := openError(t, writeForeign(t, []job{{1, 1, "bounded"}}, forged(map[string]string{"orrery.epoch_us": fmt.Sprint(1 << 62)})...))
	require.ErrorContains(t, err, "73,000 years")
	// Ours must have every required column, others may lack kind.
	type bare struct {
		ID     int64 `parquet:"id"`
		Submit int64 `parquet:"submit"`
	}
	require.ErrorContains(t, openError(t, writeForeign(t, []bare{{1, 1}}, forged(nil)...)), "column kind: found no such column")
}
