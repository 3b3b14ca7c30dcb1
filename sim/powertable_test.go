package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/traces"
)

// poweredSite is a site of nodes that state their power; the rest of the file comes behind.
const poweredSite = `agents: {wipe: 0s, boot_delay: 40s}
node_types: [{name: big, gpus: 4, gpu: h100, idle_power: 700W, busy_power: 2900W}, {name: small, idle_power: 150W, busy_power: 410W}]
groups: [{name: a, nodes: 6, type: big}, {name: b, nodes: 4, type: small}]
vclusters: [{name: all, home: all}]
`

// anySiteOf is siteOf in a property.
func anySiteOf(t *rapid.T, text string) plan.Spec {
	c, err := profiles.ParseCluster("test", []byte(text))
	require.NoError(t, err)
	spec := plan.DefaultSpec()
	spec.Site = c.JSON()
	return spec
}

// genericRows reads a table knowing nothing but Parquet: a missing value is nil.
func genericRows(t require.TestingT, path string) []map[string]*big.Int {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r := parquet.NewReader(f)
	var out []map[string]*big.Int
	names := r.Schema().Columns()
	rows := make([]parquet.Row, 1)
	for {
		n, err := r.ReadRows(rows)
		if n == 1 {
			row := map[string]*big.Int{}
			for _, v := range rows[0] {
				if !v.IsNull() && (v.Kind() == parquet.Int64 || v.Kind() == parquet.Int32) {
					row[names[v.Column()][0]] = big.NewInt(v.Int64())
				}
			}
			out = append(out, row)
		}
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
	}
}

// integral sums weight over the rows of power between two instants, each row holding until
// the next, or since the one before where late is set.
func integral(rows []map[string]*big.Int, from, to *big.Int, late bool, weight func(map[string]*big.Int) *big.Int) *big.Int {
	sum := new(big.Int)
	for i, row := range rows {
		begin, end := row["time"], to
		if i+1 < len(rows) {
			end = rows[i+1]["time"]
		}
		if begin.Cmp(from) < 0 {
			begin = from
		}
		if end.Cmp(to) > 0 {
			end = to
		}
		if begin.Cmp(end) >= 0 {
			continue
		}
		if late && i+1 < len(rows) {
			row = rows[i+1]
		}
		sum.Add(sum, new(big.Int).Mul(weight(row), new(big.Int).Sub(end, begin)))
	}
	return sum
}

// spanOfJobs is from the first submission to the last end of a job that ran.
func spanOfJobs(rows []map[string]*big.Int) (from, to *big.Int) {
	for _, row := range rows {
		if from == nil || row["submit"].Cmp(from) < 0 {
			from = row["submit"]
		}
		if row["first_start"] != nil && (to == nil || row["end"].Cmp(to) > 0) {
			to = row["end"]
		}
	}
	return from, to
}

func over(sum *big.Int, by int64) float64 {
	x, _ := new(big.Rat).SetFrac(sum, big.NewInt(by)).Float64()
	return x
}

const wattMicrosecondsPerKWh = 3_600_000_000_000

// plainFacility draws what its nodes do.
const plainFacility = "{price: 0.2, carbon: 350}"

// anyPoweredRun is a short run of a site with jobs, prices, caps and failures, and its
// directory.
func anyPoweredRun(t *rapid.T, facility string, dir func() string) (string, *Outcome) {
	m := &memory{size: 3, info: traces.Info{Name: "powered", Hash: "powered", Sorted: true, Epoch: 1_700_000_000_000_000}}
	m.all.Attr = &traces.Attributes{}
	now := int64(rapid.IntRange(0, 50).Draw(t, "first"))
	for range rapid.IntRange(1, 12).Draw(t, "jobs") {
		m.add(row{submit: now, runtime: int64(rapid.IntRange(1, 900).Draw(t, "runtime")), walltime: 1000, nodes: int32(rapid.IntRange(1, 5).Draw(t, "nodes"))})
		job := traces.Job{}
		m.all.Attr.AppendJob(&job)
		now += int64(rapid.IntRange(0, 300).Draw(t, "gap"))
	}
	at := int64(0)
	for range rapid.IntRange(0, 4).Draw(t, "prices") {
		m.prices = append(m.prices, traces.Price{Time: model.Time(at * 1e6), Price: float64(rapid.IntRange(-50, 400).Draw(t, "price")) / 1000, Carbon: traces.Some(float64(rapid.IntRange(0, 500).Draw(t, "carbon")))})
		at += int64(rapid.IntRange(1, 400).Draw(t, "until"))
	}
	file := poweredSite + "power_cap: 20kW\nfacility: " + facility + "\n"
	var events []string
	for range rapid.IntRange(0, 4).Draw(t, "failures") {
		node, down := rapid.SampledFrom([]string{"a-1", "a-4", "b-2"}).Draw(t, "node"), rapid.IntRange(0, 900).Draw(t, "down")
		events = append(events, fmt.Sprintf("{time: %ds, kind: down, subject: %s}, {time: %ds, kind: up, subject: %s}", down, node, down+rapid.IntRange(1, 200).Draw(t, "for"), node))
	}
	if rapid.Bool().Draw(t, "uncapped") {
		events = append(events, "{time: 333s, kind: power_cap, value: none}")
	}
	if len(events) > 0 {
		file += "events: [" + strings.Join(events, ", ") + "]\n"
	}
	run := dir()
	out, err := Replay(context.Background(), anySiteOf(t, file), Input{Open: m.open}, ReplayOptions{Dir: run})
	require.NoError(t, err)
	return run, out
}

// The energy of a run is the integral of its series of power, and its cost that of the price
// times the power, both read from the files by a program that knows Parquet alone. Each step
// taken at the power behind it, and a price that does not change, miss.
func TestEnergyIsTheIntegralOfPower(t *testing.T) {
	parent, missedByLate, missedByPrice := t.TempDir(), 0, 0
	rapid.Check(t, func(t *rapid.T) {
		dir, out := anyPoweredRun(t, plainFacility, func() string {
			dir, err := os.MkdirTemp(parent, "")
			require.NoError(t, err)
			return filepath.Join(dir, "run")
		})
		rows := genericRows(t, filepath.Join(dir, "power.parquet"))
		from, to := spanOfJobs(genericRows(t, filepath.Join(dir, "jobs.parquet")))
		for name, column := range map[string]string{"energy": "power_w", "energy_low": "power_low_w", "energy_high": "power_high_w"} { //detlint:ordered each is a check by itself
			watts := func(row map[string]*big.Int) *big.Int { return row[column] }
			energy, known := out.Table.Value(name, "all")
			require.True(t, known)
			require.Equal(t, over(integral(rows, from, to, false, watts), wattMicrosecondsPerKWh), energy, name)
			if over(integral(rows, from, to, true, watts), wattMicrosecondsPerKWh) != energy {
				missedByLate++
			}
		}
		cost := func(row map[string]*big.Int) *big.Int { return new(big.Int).Mul(row["power_w"], row["price"]) }
		flat := func(row map[string]*big.Int) *big.Int { return new(big.Int).Mul(row["power_w"], rows[0]["price"]) }
		have, known := out.Table.Value("energy_cost", "all")
		require.True(t, known)
		require.Equal(t, over(integral(rows, from, to, false, cost), wattMicrosecondsPerKWh*1_000_000), have)
		if over(integral(rows, from, to, false, flat), wattMicrosecondsPerKWh*1_000_000) != have {
			missedByPrice++
		}
		for i := 1; i < len(rows); i++ {
			require.Negative(t, rows[i-1]["time"].Cmp(rows[i]["time"]), "instants ascend")
		}
	})
	require.Positive(t, missedByLate, "energy by the power behind each step")
	require.Positive(t, missedByPrice, "cost by the first price")
}

// A node that is down draws nothing, a cap that ends is null, and a tariff makes a row of its
// own.
func TestRowsOfPower(t *testing.T) {
	m := &memory{size: 3, info: traces.Info{Name: "powered", Hash: "powered", Sorted: true}}
	m.all.Attr = &traces.Attributes{}
	m.add(row{submit: 10, runtime: 600, walltime: 1000, nodes: 1})
	m.all.Attr.AppendJob(&traces.Job{})
	m.prices = []traces.Price{{Time: 300e6, Price: 0.5, Supply: traces.Some[int64](4321)}}
	dir := filepath.Join(t.TempDir(), "run")
	file := poweredSite + `power_cap: 20kW
facility: {carbon: 350}
events: [{time: 100s, kind: down, subject: b-1}, {time: 200s, kind: up, subject: b-1}, {time: 400s, kind: power_cap, value: none}]
`
	_, err := Replay(context.Background(), siteOf(t, file), Input{Open: m.open}, ReplayOptions{Dir: dir})
	require.NoError(t, err)
	idle, most := int64(6*700+4*150), int64(6*700+4*150+2200)
	want := []record.PowerRow{
		{Time: 10e6, Value: most, Cap: 20_000, Price: record.Absent, Carbon: 350_000, Supply: record.Absent},
		{Time: 100e6, Value: most - 150, Cap: 20_000, Price: record.Absent, Carbon: 350_000, Supply: record.Absent},
		{Time: 240e6, Value: most, Cap: 20_000, Price: record.Absent, Carbon: 350_000, Supply: record.Absent},
		{Time: 300e6, Value: most, Cap: 20_000, Price: 500_000, Carbon: 350_000, Supply: 4321},
		{Time: 400e6, Value: most, Cap: record.Absent, Price: 500_000, Carbon: 350_000, Supply: 4321},
		{Time: 610e6, Value: idle, Cap: record.Absent, Price: 500_000, Carbon: 350_000, Supply: 4321},
	}
	r, err := record.Open(dir)
	require.NoError(t, err)
	defer r.Close()
	require.True(t, r.HasPower())
	var have []record.PowerRow
	require.NoError(t, r.Power(func(p record.PowerRow) error {
		require.LessOrEqual(t, p.Low, p.Value)
		require.LessOrEqual(t, p.Value, p.High)
		p.Low, p.High = 0, 0
		have = append(have, p)
		return nil
	}))
	require.Equal(t, want, have)
}

// A site that states no power has no such table.
func TestNoPowerNoTable(t *testing.T) {
	m := &memory{size: 3, info: traces.Info{Name: "plain", Hash: "plain", Sorted: true}}
	m.all.Attr = &traces.Attributes{}
	m.add(row{runtime: 600, walltime: 1000, nodes: 1})
	m.all.Attr.AppendJob(&traces.Job{})
	dir := filepath.Join(t.TempDir(), "run")
	_, err := Replay(context.Background(), siteOf(t, "groups: [{name: a, nodes: 2}]\nvclusters: [{name: all, home: all}]\n"), Input{Open: m.open}, ReplayOptions{Dir: dir})
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(dir, "power.parquet"))
}

// TestDuckDBFindsTheEnergy: a program that shares nothing with ours finds it in the files, where ORRERY_NODE_MODULES names a
// folder with @duckdb/node-api.
func TestDuckDBFindsTheEnergy(t *testing.T) {
	modules := os.Getenv("ORRERY_NODE_MODULES")
	if modules == "" {
		t.Skip("ORRERY_NODE_MODULES names no node_modules folder with @duckdb/node-api: npm install @duckdb/node-api")
	}
	parent := t.TempDir()
	type run struct {
		dir string
		out *Outcome
	}
	for seed := range 4 {
		made := rapid.Custom(func(t *rapid.T) run {
			dir, out := anyPoweredRun(t, plainFacility, func() string { return filepath.Join(parent, strconv.Itoa(seed)) })
			return run{dir, out}
		}).Example(seed)
		dir, out := made.dir, made.out
		query := `WITH job AS (SELECT min(epoch_us(submit)) AS a, max(CASE WHEN first_start IS NOT NULL THEN epoch_us("end") END) AS b FROM '%[1]s/jobs.parquet'),
			power AS (SELECT epoch_us(time) AS t, lead(epoch_us(time), 1, 9000000000000000000) OVER (ORDER BY time) AS u, power_w AS w FROM '%[1]s/power.parquet')
			SELECT sum(w::HUGEINT * greatest(0, least(u, b) - greatest(t, a)))::VARCHAR FROM power, job`
		rows := duck(t, modules, fmt.Sprintf(query, dir))
		sum, ok := new(big.Int).SetString(fmt.Sprint(rows[0][0]), 10)
		require.True(t, ok, rows)
		energy, _ := out.Table.Value("energy", "all")
		documented := duck(t, modules, strings.ReplaceAll(queryOfTheDocument(t), "RUN/", dir+"/"))
		kWh, ok := documented[0][0].(float64)
		require.True(t, ok, documented)
		require.InEpsilon(t, float64(energy)+1, kWh+1, 1e-12)
		require.Equal(t, over(sum, wattMicrosecondsPerKWh), energy)
	}
}

// duck runs a query in DuckDB.
func duck(t *testing.T, modules, query string) (rows [][]any) {
	t.Helper()
	cmd := exec.Command("node", "../traces/testdata/duckdb.cjs", query)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &rows))
	return rows
}

// queryOfTheDocument is the one by which RESULT-FORMAT finds the energy.
func queryOfTheDocument(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/RESULT-FORMAT.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## power.parquet\n")
	require.True(t, found)
	_, query, found := strings.Cut(section, "```sql\n")
	require.True(t, found)
	query, _, _ = strings.Cut(query, "```")
	return strings.TrimSuffix(strings.TrimSpace(query), ";")
}
