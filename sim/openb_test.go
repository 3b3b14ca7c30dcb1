package sim

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/tools/refdata"
	"orrery/traces"
)

// openbSite divides the nodes of the trace by all that they have.
const openbSite = `
name: openb
sharing: resources
vclusters: [{name: all, home: all, profile: {order: fcfs, backfill: easy}}]
`

// openb is the pods and nodes of Alibaba's openb trace (v2023): CPU pods, pods of whole
// GPUs and of thousandths of one, on nodes with and without GPUs. CPUs are rounded up to
// cores. The days of the trace are made shorter, so that there is a queue.
func openb(t *testing.T, faster int64) *traces.Memory {
	t.Helper()
	dir := []string{"traces", "gpu", "alibaba-openb-v2023"}
	var tables traces.Tables
	for _, r := range csvOf(t, refdata.Path(t, append(dir, "openb_node_list_all_node.csv")...)) {
		tables.Nodes = append(tables.Nodes, traces.Node{
			Name: r["sn"], GPUModel: r["model"], GPUs: int32(intOf(t, r["gpu"])), CPUs: int32(intOf(t, r["cpu_milli"]) / 1000),
			Memory: intOf(t, r["memory_mib"]) << 20, Up: true,
		})
	}
	for i, r := range csvOf(t, refdata.Path(t, append(dir, "openb_pod_list_gpuspec33.csv.gz")...)) {
		if r["scheduled_time"] == "" {
			continue // it never ran
		}
		second := int64(model.Second)
		submit, start, end := intOf(t, r["creation_time"]), intOf(t, r["scheduled_time"]), intOf(t, r["deletion_time"])
		j := traces.Job{
			ID: int64(i), Name: r["name"], Submit: model.Time(submit * second / faster), Runtime: traces.Some(model.Duration((end - start) * second)),
			NodesMin: traces.Some[int32](1), CPUsPerNode: traces.Some(int32((intOf(t, r["cpu_milli"]) + 999) / 1000)),
			GPUsPerNode: traces.Some(int32(intOf(t, r["num_gpu"]))), MemPerNode: traces.Some(intOf(t, r["memory_mib"]) << 20), GPUTypes: r["gpu_spec"],
		}
		j.Walltime = j.Runtime
		if j.GPUsPerNode.V > 0 {
			j.GPUMilli = traces.Some(int32(intOf(t, r["gpu_milli"])))
		}
		tables.Jobs = append(tables.Jobs, j)
	}
	slices.SortStableFunc(tables.Jobs, func(a, b traces.Job) int { return int(a.Submit - b.Submit) })
	m, err := traces.NewMemory("openb", traces.Meta{Source: "openb", Sorted: true}, tables)
	require.NoError(t, err)
	return m
}

// csvOf reads a file of comma-separated values with a header.
func csvOf(t *testing.T, path string) (rows []map[string]string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var from io.Reader = bufio.NewReader(f)
	if strings.HasSuffix(path, ".gz") {
		from, err = gzip.NewReader(from)
		require.NoError(t, err)
	}
	all, err := csv.NewReader(from).ReadAll()
	require.NoError(t, err)
	for _, line := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func intOf(t *testing.T, text string) int64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return int64(x)
}

// TestOpenbNeverBeyondItsNodes: at no instant of a replay with shares has a node jobs beyond
// its CPUs, its memory or the thousandths of one of its GPUs, by what attempts.parquet says.
func TestOpenbNeverBeyondItsNodes(t *testing.T) {
	t.Parallel()
	for _, faster := range []int64{1, 20} {
		t.Run(fmt.Sprint(faster), func(t *testing.T) {
			t.Parallel()
			m, spec := openb(t, faster), siteOf(t, openbSite)
			res, err := Run(t.Context(), spec, m.Open, Options{Watch: true})
			require.NoError(t, err)
			require.Empty(t, res.Watch.Breaches, "%v", res.Watch)

			dir := filepath.Join(t.TempDir(), "run")
			out, err := Replay(t.Context(), spec, Input{Open: m.Open}, ReplayOptions{Dir: dir})
			require.NoError(t, err)
			require.Equal(t, res.Fingerprint, out.Result.Fingerprint)
			src, err := m.Open()
			require.NoError(t, err)
			defer src.Close()
			sweep(t, filepath.Join(dir, "attempts.parquet"), src.Nodes())
			duckSweep(t, filepath.Join(dir, "attempts.parquet"), refdata.Path(t, "traces", "gpu", "alibaba-openb-v2023", "openb_node_list_all_node.csv"))
		})
	}
}

// shareRow is what the sweep reads of a row of attempts.parquet.
type shareRow struct {
	Start  int64  `parquet:"start,timestamp(microsecond)"`
	End    int64  `parquet:"end,timestamp(microsecond)"`
	Nodes  string `parquet:"nodes"`
	GPUs   string `parquet:"share_gpus,optional"`
	CPUs   string `parquet:"share_cpus,optional"`
	Memory string `parquet:"share_memory,optional"`
	Milli  string `parquet:"share_gpu_milli,optional"`
}

// sweep adds up what the attempts hold, from one change to the next. All jobs are of one node.
func sweep(t *testing.T, path string, nodes []traces.Node) {
	t.Helper()
	rows, err := parquet.ReadFile[shareRow](path)
	require.NoError(t, err)
	number := func(text string, base int) uint64 {
		if text == "" {
			return 0
		}
		x, err := strconv.ParseUint(text, base, 64)
		require.NoError(t, err)
		return x
	}
	type change struct {
		at   int64
		sign int64
		row  *shareRow
	}
	var changes []change
	fractions, alone := 0, 0
	for i := range rows {
		if r := &rows[i]; r.End > r.Start {
			changes = append(changes, change{r.Start, 1, r}, change{r.End, -1, r})
			if r.Milli != "" {
				fractions++
			}
			if r.GPUs == "" {
				alone++
			}
		}
	}
	require.Greater(t, fractions, 1000)
	require.Greater(t, alone, 500)
	slices.SortFunc(changes, func(a, b change) int { // what ends at an instant makes room for what starts then
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return int(a.sign - b.sign)
	})
	cpus, memory, milli := make([]int64, len(nodes)), make([]int64, len(nodes)), make([][8]int64, len(nodes))
	most := int64(0)
	for _, c := range changes {
		n := number(c.row.Nodes, 10)
		cpus[n] += c.sign * int64(number(c.row.CPUs, 10))
		memory[n] += c.sign * int64(number(c.row.Memory, 10))
		held := int64(number(c.row.Milli, 10))
		if held == 0 {
			held = 1000
		}
		for mask := number(c.row.GPUs, 16); mask != 0; mask &= mask - 1 {
			g := bits.TrailingZeros64(mask)
			require.Less(t, int32(g), nodes[n].GPUs)
			milli[n][g] += c.sign * held
			require.LessOrEqual(t, milli[n][g], int64(1000), "GPU %d of node %d at %d", g, n, c.at)
			most = max(most, milli[n][g])
		}
		require.LessOrEqual(t, cpus[n], int64(nodes[n].CPUs), "CPUs of node %d at %d", n, c.at)
		require.LessOrEqual(t, memory[n], nodes[n].Memory, "memory of node %d at %d", n, c.at)
	}
	require.Equal(t, int64(1000), most)
	for n := range nodes {
		require.Zero(t, cpus[n]+memory[n], n)
	}
}

// duckSweep is sweep by DuckDB, which reads Parquet and the list of nodes by itself. It is
// left out where ORRERY_NODE_MODULES names no folder with @duckdb/node-api.
func duckSweep(t *testing.T, path, nodes string) {
	t.Helper()
	modules := os.Getenv("ORRERY_NODE_MODULES")
	if modules == "" {
		return
	}
	sql := []string{
		fmt.Sprintf(`CREATE TABLE node AS SELECT row_number() OVER () - 1 AS n, cpu_milli, memory_mib, gpu FROM read_csv('%s')`, nodes),
		fmt.Sprintf(`CREATE TABLE held AS SELECT nodes::BIGINT AS n, start AS s, "end" AS e, coalesce(nullif(share_cpus, ''), '0')::BIGINT AS c,
			coalesce(nullif(share_memory, ''), '0')::BIGINT AS m, ('0x' || coalesce(nullif(share_gpus, ''), '0'))::BIGINT AS g,
			coalesce(nullif(share_gpu_milli, ''), '0')::BIGINT AS k FROM '%s' WHERE "end" > start`, path),
		`CREATE TABLE change AS SELECT n, s AS t, c, m, 0 AS card, 0 AS k FROM held UNION ALL SELECT n, e, -c, -m, 0, 0 FROM held
			UNION ALL SELECT n, s, 0, 0, i, CASE WHEN k = 0 THEN 1000 ELSE k END FROM held, range(8) r(i) WHERE (g >> i) & 1 = 1
			UNION ALL SELECT n, e, 0, 0, i, CASE WHEN k = 0 THEN -1000 ELSE -k END FROM held, range(8) r(i) WHERE (g >> i) & 1 = 1`,
		`CREATE TABLE whole AS SELECT n, t, sum(sum(c)) OVER w AS c, sum(sum(m)) OVER w AS m FROM change GROUP BY n, t WINDOW w AS (PARTITION BY n ORDER BY t)`,
		`CREATE TABLE card AS SELECT n, card, t, sum(sum(k)) OVER (PARTITION BY n, card ORDER BY t) AS k FROM change GROUP BY n, card, t`,
		`SELECT (SELECT count(*) FROM whole JOIN node USING (n) WHERE c * 1000 > cpu_milli OR m > memory_mib * 1048576)::INTEGER,
			(SELECT count(*) FROM card JOIN node USING (n) WHERE k > 1000 OR k > 0 AND card >= gpu)::INTEGER,
			(SELECT count(*) > 10000 FROM whole), (SELECT max(k) FROM card)::INTEGER`,
	}
	cmd := exec.Command("node", append([]string{"../traces/testdata/duckdb.cjs"}, sql...)...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	require.NoError(t, err)
	var rows [][]any
	require.NoError(t, json.Unmarshal(text, &rows))
	require.Equal(t, [][]any{{0.0, 0.0, true, 1000.0}}, rows)
}
