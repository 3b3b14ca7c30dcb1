package traces_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// services is a bundle without jobs: what was asked of two services, what two GPUs
// did, and what energy cost.
func services() *content {
	return &content{
		meta: traces.Meta{Source: "test", Epoch: 1_000_000_000_000_000, EpochKnown: true},
		load: []traces.Load{
			{Service: "web", Time: 0, Width: model.Minute, Arrivals: traces.Some(120.0), Work: traces.Some(20 * model.Millisecond), WorkCV: traces.Some(1.5)},
			{Service: "chat", Time: model.Time(model.Second), Arrivals: traces.Some(1.0), TokensIn: traces.Some(512.0), TokensOut: traces.Some(64.0)},
			{Service: "chat", Time: model.Time(model.Second), Arrivals: traces.Some(1.0), TokensIn: traces.Some(80.0), TokensOut: traces.Some(7.0)},
			{Service: "web", Time: model.Time(model.Minute), Width: model.Minute, Arrivals: traces.Some(90.0), Concurrent: traces.Some(30.5)},
		},
		gauges: []traces.Telemetry{
			{Node: "n1", GPU: traces.Some[int32](0), Time: 0, SMUtil: traces.Some(0.5), Power: traces.Some(310.5), Energy: traces.Some[int64](7), Processes: `[{"pid":1}]`},
			{Node: "n1", GPU: traces.Some[int32](1), Time: 0, MemUsed: traces.Some[int64](1 << 30), SMClock: traces.Some[int32](1980), Throttle: traces.Some[int64](4)},
			{Node: "n1", Time: 0, Power: traces.Some(2600.0)},
			{Node: "n1", GPU: traces.Some[int32](0), Time: model.Time(model.Second), PCIeRx: traces.Some[int64](9), NVLinkTx: traces.Some[int64](3), Temperature: traces.Some(61.0)},
		},
		prices: []traces.Price{{Time: 0, Price: 0.2}, {Time: model.Time(model.Hour), Price: -0.01, Carbon: traces.Some(300.0)}},
	}
}

// servicesHash is the content hash of services: it never changes.
const servicesHash = "628e96c8023930fe2cfba85ed47a4f4c6560233a65be74c6d0303cecfbbf984a"

// A bundle without jobs is written without their table, and is as good as another.
func TestBundleWithoutJobs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.trace")
	c := services()
	require.Equal(t, servicesHash, naiveHash(c))
	require.Equal(t, servicesHash, write(t, path, c))
	require.NoFileExists(t, filepath.Join(path, "jobs.parquet"))
	got := read(t, path)
	c.meta.Sorted = true
	requireSame(t, c, got)
	compareSource(t, path)
	r, err := traces.Validate(path)
	require.NoError(t, err)
	require.EqualValues(t, 10, r.Kept)
	require.True(t, r.Balanced())
	b, err := traces.Open(filepath.Join(path, "load.parquet")) // the whole bundle is meant
	require.NoError(t, err)
	defer b.Close()
	info := b.Info()
	require.Equal(t, []traces.TableRows{{Table: "prices", Rows: 2}, {Table: "load", Rows: 4}, {Table: "telemetry", Rows: 4}}, info.Tables)
	require.EqualValues(t, 4, info.Of("load"))
	require.Zero(t, info.Rows)
	d, err := b.Dependencies(true)
	require.NoError(t, err)
	require.Empty(t, d.Edges)
	m, err := traces.NewMemory("x", c.meta, traces.Tables{Load: c.load, Telemetry: c.gauges, Prices: c.prices})
	require.NoError(t, err)
	require.Equal(t, servicesHash, m.Info().Hash)
	require.Equal(t, info.Tables, m.Info().Tables)
}

// The tables of a bundle without jobs belong together like those of one with jobs.
func TestTablesWithoutJobsBelongTogether(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "x.trace"), filepath.Join(dir, "other.trace")
	write(t, path, services())
	c := services()
	c.load[0].Arrivals.V++
	write(t, other, c)
	require.NoError(t, os.Rename(filepath.Join(other, "load.parquet"), filepath.Join(path, "load.parquet")))
	require.ErrorContains(t, openError(t, path), "the content hash of prices.parquet beside it")
	require.NoError(t, os.Remove(filepath.Join(path, "load.parquet")))
	require.ErrorContains(t, openError(t, path), "no load.parquet")
	require.NoError(t, os.Remove(filepath.Join(path, "prices.parquet")))
	require.NoError(t, os.Remove(filepath.Join(path, "telemetry.parquet")))
	require.ErrorContains(t, openError(t, path), "a directory without jobs.parquet or another table")
}

// Each rule of load and telemetry, broken once.
func TestValidateSamples(t *testing.T) {
	for rule, change := range map[string]func(*content){
		"load without a service":                                      func(c *content) { c.load[0].Service = "" },
		"load earlier than the sample before it":                      func(c *content) { c.load[1].Time = -1 },
		"negative width of a sample":                                  func(c *content) { c.load[3].Width = -1 },
		"load that overlaps the sample before it of the same service": func(c *content) { c.load[0].Width++ },
		"load without arrivals and without sessions":                  func(c *content) { c.load[1].Arrivals.OK = false },
		"negative number of arrivals or sessions":                     func(c *content) { c.load[3].Concurrent.V = math.Inf(1) },
		"negative work of a request":                                  func(c *content) { c.load[0].WorkCV.V = -1 },
		"negative number of tokens":                                   func(c *content) { c.load[1].TokensOut.V = math.NaN() },
		"telemetry without a node":                                    func(c *content) { c.gauges[0].Node = "" },
		"telemetry earlier than the sample before it":                 func(c *content) { c.gauges[3].Time = -1 },
		"two samples of one GPU at one instant":                       func(c *content) { c.gauges[1].GPU.V = 0 },
		"sm_util or mem_util outside 0 to 1":                          func(c *content) { c.gauges[0].SMUtil.V = 50 },
		"sm_active outside 0 to 1":                                    func(c *content) { c.gauges[0].SMActive = traces.Some(1.5) },
		"stat that is no word of the format, or without a width":      func(c *content) { c.gauges[0].Stat = "p95" },
		"power or temperature that cannot be":                         func(c *content) { c.gauges[2].Power.V = -1 },
		"negative index, clock, size or counter":                      func(c *content) { c.gauges[3].NVLinkTx.V = -1 },
		"processes is no JSON array":                                  func(c *content) { c.gauges[0].Processes = "{}" },
		"telemetry of a node that is not in the nodes table":          func(c *content) { c.nodes = []traces.Node{{Name: "n2"}} },
		"gpu_milli outside 1 to 1000":                                 func(c *content) { c.jobs = []traces.Job{{GPUMilli: traces.Some[int32](1001)}} },
		"gpus_total below 0":                                          func(c *content) { c.jobs = []traces.Job{{GPUsTotal: traces.Some[int32](-1)}} },
		"deadline before submission":                                  func(c *content) { c.jobs = []traces.Job{{Submit: 5, Deadline: traces.Some[model.Time](4)}} },
		"scale_target that is no number":                              func(c *content) { c.jobs = []traces.Job{{ScaleTarget: traces.Some(math.NaN())}} },
	} {
		c := services()
		change(c)
		path := filepath.Join(t.TempDir(), "x.trace")
		write(t, path, c)
		r, err := traces.Validate(path)
		require.ErrorContains(t, err, rule)
		require.Equal(t, rule, r.Dropped[0].Rule)
		require.True(t, r.Balanced())
	}
}

// A GPU instance of MIG has a table of its own: what is read of telemetry is of whole GPUs, with it and without.
func TestInstancesAreNoTelemetry(t *testing.T) {
	c := services()
	c.parts = []traces.Instance{
		{Node: "n1", GPU: 0, GPUUUID: "GPU-1", GPUInstance: 1, UUID: "MIG-1", Profile: "3g.40gb", MemUsed: traces.Some[int64](1 << 30), SMActive: traces.Some(0.5)},
		{Node: "n1", GPU: 0, GPUUUID: "GPU-1", GPUInstance: 2, UUID: "MIG-2", Profile: "3g.40gb", MemUsed: traces.Some[int64](2 << 30)},
	}
	path := filepath.Join(t.TempDir(), "x.trace")
	require.NotEqual(t, servicesHash, write(t, path, c))
	got := read(t, path)
	c.meta.Sorted = true
	requireSame(t, c, got)
	require.Equal(t, services().gauges, got.gauges)
	_, err := traces.Validate(path)
	require.NoError(t, err)
	twice := c.parts[1]
	for rule, wrong := range map[string]traces.Instance{
		"two samples of one GPU instance at one instant":         twice,
		"mig without a node":                                     {},
		"stat that is no word of the format, or without a width": {Node: "n1", Stat: "p50"},
		"negative index, number or size":                         {Node: "n1", GPU: -1},
		"sm_active that cannot be: outside 0 to 1":               {Node: "n1", GPUInstance: 5, SMActive: traces.Some(1.2)},
		"processes is no JSON array":                             {Node: "n1", GPUInstance: 5, Processes: "{}"},
	} {
		c.parts = append(c.parts[:2:2], wrong)
		write(t, path, c)
		_, err := traces.Validate(path)
		require.ErrorContains(t, err, rule)
	}
	late := traces.Instance{Node: "n1", Time: -1}
	c.parts = append(c.parts[:2:2], late)
	write(t, path, c)
	_, err = traces.Validate(path)
	require.ErrorContains(t, err, "mig earlier than the sample before it")
}

// Values and Record are the same rows by their columns, in every table.
func TestRecordsOfEveryTable(t *testing.T) {
	c := siteSample()
	c.load, c.gauges = services().load, services().gauges
	c.parts = []traces.Instance{{Node: "n1", GPU: 1, GPUInstance: 2, UUID: "MIG-2", Profile: "1g.10gb", Time: 5, MemTotal: traces.Some[int64](10 << 30), Stat: "mean", Width: traces.Some(model.Second)}}
	c.nodes = append(c.nodes, traces.Node{Name: "spare", Up: true})
	path, again := filepath.Join(t.TempDir(), "x.trace"), filepath.Join(t.TempDir(), "again.trace")
	hash := write(t, path, c)
	b, err := traces.Open(path)
	require.NoError(t, err)
	defer b.Close()
	w, err := traces.NewWriter(again, b.Meta())
	require.NoError(t, err)
	defer w.Abort()
	for _, table := range traces.TableNames() {
		rec, ok := traces.NewRecord(table)
		if table == "deps" {
			require.False(t, ok)
			for d, err := range b.Deps() {
				require.NoError(t, err)
				require.NoError(t, w.WriteDep(*d))
			}
			continue
		}
		require.True(t, ok)
		rules := traces.NewRules()
		for row, err := range b.Values(table) {
			require.NoError(t, err)
			rec.Clear()
			for i, v := range row {
				require.Equal(t, i, rec.Column(traces.Columns(table)[i].Name))
				rec.Set(i, v)
			}
			require.Empty(t, rec.Broken(rules))
			require.NoError(t, rec.Write(w))
		}
		info := b.Info()
		require.Equal(t, info.Of(table), w.Rows()[table])
	}
	got, err := w.Close()
	require.NoError(t, err)
	require.Equal(t, hash, got)
}
