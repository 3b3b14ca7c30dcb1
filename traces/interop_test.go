package traces_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/transform"
)

// nodeModules is where npm put @duckdb/node-api; without it the test is
// skipped.
func nodeModules(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("ORRERY_NODE_MODULES")
	if dir == "" {
		t.Skip("ORRERY_NODE_MODULES names no node_modules folder with @duckdb/node-api: npm install @duckdb/node-api")
	}
	return dir
}

// duckdb runs SQL in DuckDB, an implementation of Parquet that shares nothing
// with ours.
func duckdb(t *testing.T, sql ...string) (rows [][]any) {
	t.Helper()
	modules := nodeModules(t)
	cmd := exec.Command("node", append([]string{"testdata/duckdb.cjs"}, sql...)...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &rows))
	return rows
}

func TestDuckDBReadsOurs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.trace")
	hash := write(t, path, sample())
	jobs := func(sql string) [][]any { return duckdb(t, fmt.Sprintf(sql, filepath.Join(path, "jobs.parquet"))) }
	require.Equal(t, [][]any{
		{"1", "ann", "2001-09-09 01:46:40+00", "2001-09-09 01:46:40.000005+00", "1000000", nil, 4.0, 0.25, true, nil, nil},
		{"2", "bob", "2001-09-09 01:46:40.000007+00", nil, nil, "3600000000", nil, nil, nil, `{"k":1}`, nil},
		{"3", "ann", "2001-09-09 01:46:40.000007+00", nil, nil, nil, nil, nil, nil, nil, "-3"},
	}, jobs(`SELECT id, "user", submit, start, runtime, walltime, procs_requested, comm_fraction, exclusive, extra, priority FROM '%s'`))
	var types [][]any
	for _, c := range traces.JobColumns() {
		sql := map[traces.ColumnType]string{traces.Int64: "BIGINT", traces.Int32: "INTEGER", traces.Timestamp: "TIMESTAMP WITH TIME ZONE",
			traces.Double: "DOUBLE", traces.Bool: "BOOLEAN", traces.String: "VARCHAR"}[c.Type]
		types = append(types, []any{c.Name, sql})
	}
	require.Equal(t, types, jobs(`SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM '%s')`))
	require.Equal(t, [][]any{{hash}}, jobs(`SELECT decode(value) FROM parquet_kv_metadata('%s') WHERE decode(key) = 'orrery.content'`))
	require.Equal(t, [][]any{{"2", "1", "success"}}, duckdb(t, fmt.Sprintf("SELECT * FROM '%s'", filepath.Join(path, "deps.parquet"))))
	require.Equal(t, [][]any{{"n0", nil, 4.0, "1073741824", true}, {"n1", "rack1", 4.0, "0", false}},
		duckdb(t, fmt.Sprintf(`SELECT name, "group", cpus, memory, up FROM '%s'`, filepath.Join(path, "nodes.parquet"))))
}

// A long trace, by sums: many pages and row groups.
func TestDuckDBSumsOurs(t *testing.T) {
	nodeModules(t)
	path := filepath.Join(t.TempDir(), "long.parquet")
	writeMany(t, path, 150_000)
	var ids, procs, run, nulls int64
	users := map[string]bool{}
	for _, j := range read(t, path).jobs {
		ids += j.ID
		procs += int64(j.ProcsRequested.V)
		run += int64(j.Runtime.V)
		users[j.User] = true
		if !j.Start.OK {
			nulls++
		}
	}
	require.Equal(t, [][]any{{"150000", fmt.Sprint(ids), fmt.Sprint(procs), fmt.Sprint(run), fmt.Sprint(nulls), fmt.Sprint(len(users))}},
		duckdb(t, fmt.Sprintf(`SELECT count(*)::VARCHAR, sum(id)::VARCHAR, sum(procs_requested)::VARCHAR, sum(runtime)::VARCHAR,
			count_if(start IS NULL)::VARCHAR, count(DISTINCT "user")::VARCHAR FROM '%s'`, path)))
}

// What DuckDB makes of a trace (every column optional, its own encodings) is
// the same trace, but for the metadata.
func TestWeReadDuckDB(t *testing.T) {
	nodeModules(t)
	dir := t.TempDir()
	for i, options := range []string{"", "COMPRESSION zstd", "COMPRESSION uncompressed, ROW_GROUP_SIZE 5000", "COMPRESSION gzip",
		"PARQUET_VERSION v2", "PARQUET_VERSION v2, COMPRESSION zstd, ROW_GROUP_SIZE 1000000"} {
		ours := filepath.Join(dir, "ours.parquet")
		rows := 20_000
		if i == 0 {
			rows = 123_000 // one row group of theirs is 122,880
		}
		writeMany(t, ours, rows)
		want := read(t, ours)
		path := filepath.Join(dir, fmt.Sprintf("theirs%d.parquet", i))
		with := ""
		if options != "" {
			with = ", " + options
		}
		duckdb(t, fmt.Sprintf("COPY (SELECT * FROM '%s') TO '%s' (FORMAT parquet%s)", ours, path, with))
		b, err := traces.Open(path)
		require.NoError(t, err, options)
		require.True(t, b.Info().Sorted)
		n, epoch := 0, want.meta.Epoch
		for j, err := range b.Rows() {
			require.NoError(t, err)
			back := *j
			for _, at := range []*model.Time{&back.Submit, &back.Start.V, &back.CancelledAt.V} {
				if *at != 0 {
					*at -= epoch
				}
			}
			if want.jobs[n] != back {
				require.Equal(t, want.jobs[n], back, options)
			}
			n++
		}
		require.Equal(t, len(want.jobs), n)
		require.NoError(t, b.Close())
		compareSource(t, path)
	}
}

// Other types of SQL: what we accept is read, the rest is refused by name.
func TestDuckDBTypes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.parquet")
	copyTo := func(columns string) {
		duckdb(t, fmt.Sprintf("COPY (SELECT %s) TO '%s' (FORMAT parquet)", columns, path))
	}
	copyTo(`7::UTINYINT AS id, TIMESTAMP_MS '1970-01-01 00:00:02' AS submit, TIMESTAMP_NS '1970-01-01 00:00:03.000000999' AS start,
		5::HUGEINT::BIGINT AS runtime, 4::USMALLINT AS procs_requested, 0.5::FLOAT AS comm_fraction, '{"a":1}'::JSON AS extra, [1,2] AS more`)
	require.Equal(t, []traces.Job{{ID: 7, Kind: "bounded", Submit: 2_000_000, Start: traces.Some(model.Time(3_000_000)),
		Runtime: traces.Some(model.Duration(5)), ProcsRequested: traces.Some(int32(4)), CommFraction: traces.Some(0.5), Extra: `{"a":1}`}}, read(t, path).jobs)
	compareSource(t, path)
	for columns, want := range map[string]string{
		"1 AS id, DATE '2020-01-01' AS submit":                     "column submit: found INT32 annotated DATE",
		"1.5 AS id, 1 AS submit":                                   "column id: found",
		"'a' AS id, 1 AS submit":                                   "column id: found BYTE_ARRAY",
		"1 AS id, 1::BIGINT AS submit, 1.0::DOUBLE AS runtime":     "column runtime: found DOUBLE",
		"1 AS id, 1::BIGINT AS submit, [1] AS procs_requested":     "column procs_requested: found a nested column",
		"1 AS id, 1::BIGINT AS submit, INTERVAL 1 DAY AS walltime": "column walltime: found",
	} {
		copyTo(columns)
		require.ErrorContains(t, openError(t, path), want)
	}
}

// A bundle of services alone (load, telemetry and prices, no jobs) is written,
// validated, hashed and cut to a window, and DuckDB reads what was written both times.
func TestDuckDBReadsBundlesWithoutJobs(t *testing.T) {
	dir := t.TempDir()
	path, cut := filepath.Join(dir, "x.trace"), filepath.Join(dir, "cut.trace")
	require.Equal(t, servicesHash, write(t, path, services()))
	b, err := traces.Open(path)
	require.NoError(t, err)
	defer b.Close()
	set, err := transform.Open(b)
	require.NoError(t, err)
	recipe, err := transform.ParseRecipe("window begin=30s length=60s")
	require.NoError(t, err)
	if set, err = set.Apply(recipe, nil); err != nil {
		require.NoError(t, err)
	}
	res, err := set.Write(cut, nil)
	require.NoError(t, err)
	for _, of := range []string{path, cut} {
		r, err := traces.Validate(of)
		require.NoError(t, err)
		require.True(t, r.Balanced())
	}
	from := func(bundle, table, columns string) [][]any {
		return duckdb(t, fmt.Sprintf("SELECT %s FROM '%s'", columns, filepath.Join(bundle, table+".parquet")))
	}
	require.Equal(t, [][]any{
		{"web", "2001-09-09 01:46:40+00", "60000000", 120.0, nil, "20000", 1.5, nil, nil},
		{"chat", "2001-09-09 01:46:41+00", "0", 1.0, nil, nil, nil, 512.0, 64.0},
		{"chat", "2001-09-09 01:46:41+00", "0", 1.0, nil, nil, nil, 80.0, 7.0},
		{"web", "2001-09-09 01:47:40+00", "60000000", 90.0, 30.5, nil, nil, nil, nil},
	}, from(path, "load", "*"))
	require.Equal(t, [][]any{
		{"web", "2001-09-09 01:47:10+00", "30000000", 60.0},
		{"web", "2001-09-09 01:47:40+00", "30000000", 45.0},
	}, from(cut, "load", "service, time, width, arrivals"))
	require.Equal(t, [][]any{{"4", "3", 0.5, 310.5, 2600.0, "7", 1980.0, "4", "9", "3", `[{"pid":1}]`}}, from(path, "telemetry",
		"count(*)::VARCHAR, count(gpu)::VARCHAR, sum(sm_util), min(power), max(power), sum(energy)::VARCHAR, max(sm_clock), max(throttle)::VARCHAR, max(pcie_rx)::VARCHAR, max(nvlink_tx)::VARCHAR, max(processes)"))
	require.Equal(t, [][]any{{0.2, nil}, {-0.01, 300.0}}, from(path, "prices", "price, carbon"))
	require.Equal(t, [][]any{{"2001-09-09 01:47:10+00", 0.2}}, from(cut, "prices", "time, price"))
	for bundle, hash := range map[string]string{path: servicesHash, cut: res.Hash} {
		require.Equal(t, [][]any{{hash}}, duckdb(t, fmt.Sprintf("SELECT decode(value) FROM parquet_kv_metadata('%s') WHERE decode(key) = 'orrery.content'", filepath.Join(bundle, "load.parquet"))))
	}
}
