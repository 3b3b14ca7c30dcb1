package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/traces"
)

// put writes files below a root.
func put(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for path, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, path), []byte(text), 0o600))
	}
}

// used is a node with a disk, two partitions and a device made of them, an adapter and a bridge, two packages of RAPL with a part, the
// platform, and a meter of two supplies.
var used = map[string]string{
	"proc/stat":    "cpu  100 0 100 700 100 0 0 0 50 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n",
	"proc/meminfo": "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable: 600 kB\n",
	"proc/diskstats": " 259 0 nvme0n1 10 0 2000 5 20 0 4000 5 0 5 10 0 0 0 0 0 0\n 259 1 nvme0n1p1 10 0 2000 5 20 0 4000 5 0 5 10\n" +
		"   8 0 cciss/c0d0 1 0 1 1 1 0 2 1 0 1 1\n 253 0 dm-0 10 0 2000 5 20 0 4000 5 0 5 10\n",
	"sys/block/nvme0n1/device/model":    "D",
	"sys/block/cciss!c0d0/device/model": "D",
	"sys/block/dm-0/size":               "1",
	"proc/1/net/dev": "Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n" +
		"    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0\n  eth0: 5000 1 0 0 0 0 0 0 7000 1 0 0 0 0 0 0\n   br0:5000 1 0 0 0 0 0 0 7000 1 0 0 0 0 0 0\n",
	"proc/net/dev":                                        " eth0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n",
	"sys/class/net/eth0/device/vendor":                    "1",
	"sys/class/net/br0/speed":                             "1",
	"sys/class/powercap/intel-rapl:0/name":                "package-0\n",
	"sys/class/powercap/intel-rapl:0/energy_uj":           "9000000\n",
	"sys/class/powercap/intel-rapl:0/max_energy_range_uj": "10000000\n",
	"sys/class/powercap/intel-rapl:1/name":                "package-1\n",
	"sys/class/powercap/intel-rapl:1/energy_uj":           "1000000\n",
	"sys/class/powercap/intel-rapl:1/max_energy_range_uj": "10000000\n",
	"sys/class/powercap/intel-rapl:0:0/name":              "dram\n",
	"sys/class/powercap/intel-rapl:0:0/energy_uj":         "5000000\n",
	"sys/class/powercap/intel-rapl:2/name":                "psys\n",
	"sys/class/powercap/intel-rapl:2/energy_uj":           "7000000\n",
	"sys/class/hwmon/hwmon0/name":                         "coretemp\n",
	"sys/class/hwmon/hwmon0/power1_average":               "1\n",
	"sys/class/hwmon/hwmon1/name":                         "power_meter\n",
	"sys/class/hwmon/hwmon1/power1_average":               "800000000\n",
	"sys/class/hwmon/hwmon1/power1_average_interval":      "1000\n",
	"sys/class/hwmon/hwmon2/name":                         "power_meter\n",
	"sys/class/hwmon/hwmon2/power1_average":               "700500000\n",
}

func TestUsage(t *testing.T) {
	root := t.TempDir()
	put(t, root, used)
	u, at := newUsage(root), time.Unix(1, 0)
	first, err := u.sample(at)
	require.NoError(t, err)
	want := traces.Telemetry{MemUsed: traces.Some[int64](400 << 10), DiskRead: traces.Some[int64](2001 * 512), DiskWritten: traces.Some[int64](4002 * 512),
		NetRx: traces.Some[int64](5000), NetTx: traces.Some[int64](7000), CPUEnergy: traces.Some[int64](10_000), Power: traces.Some(1500.5)}
	require.Equal(t, want, first.Telemetry, "the use of processors is one between two readings")
	put(t, root, map[string]string{
		"proc/stat": "cpu  130 0 120 1120 120 5 5 0 60 0\n",
		"sys/class/powercap/intel-rapl:0/energy_uj": "500000\n", // 1.5 J further, past the bound of the counter
		"sys/class/powercap/intel-rapl:1/energy_uj": "3000000\n",
	})
	soon, err := u.sample(at.Add(100 * time.Millisecond))
	require.NoError(t, err)
	require.Equal(t, first, soon, "it is read once a second")
	second, err := u.sample(at.Add(time.Second))
	require.NoError(t, err)
	want.CPUUtil, want.CPUEnergy = traces.Some(60.0/500), traces.Some[int64](13_500)
	require.Equal(t, want, second.Telemetry)
	require.False(t, second.Energy.OK, "energy is that of the whole node, and RAPL is not")
}

// What cannot be read is null, and named; a node of which nothing can be read is an error.
func TestUsageWithout(t *testing.T) {
	root := t.TempDir()
	put(t, root, used)
	put(t, root, map[string]string{"proc/stat": "cpu 1 2 x 4 5 6 7 8\n", "proc/meminfo": "MemTotal: 1 kB\n", "sys/class/powercap/intel-rapl:0/energy_uj": "much\n"})
	require.NoError(t, os.RemoveAll(filepath.Join(root, "sys/class/hwmon")))
	require.NoError(t, os.RemoveAll(filepath.Join(root, "proc/1")))
	u := newUsage(root)
	r, err := u.sample(time.Unix(1, 0))
	require.NoError(t, err)
	require.Equal(t, traces.Telemetry{DiskRead: traces.Some[int64](2001 * 512), DiskWritten: traces.Some[int64](4002 * 512),
		NetRx: traces.Some[int64](1), NetTx: traces.Some[int64](1)}, r.Telemetry)
	v := &capture.Inventory{}
	newUsage(root).lacks(v)
	form := errForm.Error()
	require.Equal(t, []capture.Missing{{Name: "node.telemetry.cpu_util", Why: form}, {Name: "node.telemetry.mem_used", Why: form},
		{Name: "node.telemetry.cpu_energy", Why: form}, {Name: "node.telemetry.power", Why: "no such file"}}, v.Missing)
	_, err = newUsage(t.TempDir()).sample(time.Unix(1, 0))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// gpus is a source that has two GPUs, and the node where told.
type gpus struct{ units [][]int32 }

func (g gpus) Units() [][]int32                       { return g.units }
func (g gpus) Inventory() (*capture.Inventory, error) { return &capture.Inventory{}, nil }
func (g gpus) Close() error                           { return nil }
func (g gpus) Sample(unit int, out []capture.Reading) ([]capture.Reading, error) {
	return append(out, capture.Reading{Telemetry: traces.Telemetry{GPU: traces.Some(g.units[unit][0])}}), nil
}

func (g gpus) Errors(unit int) []capture.Reading {
	return []capture.Reading{{XIDs: []uint64{uint64(unit)}}}
}

func TestWithNode(t *testing.T) {
	root := t.TempDir()
	put(t, root, used)
	both := gpus{[][]int32{{0}, {1}}}
	src := WithNode(both, root)
	require.Equal(t, [][]int32{{0}, {1}, {capture.NodeSeries}}, src.Units())
	one, err := src.Sample(1, nil)
	require.NoError(t, err)
	require.Equal(t, traces.Some[int32](1), one[0].GPU)
	node, err := src.Sample(2, nil)
	require.NoError(t, err)
	require.False(t, node[0].GPU.OK)
	require.Equal(t, 1500.5, node[0].Power.V)
	require.Equal(t, []uint64{1}, src.(capture.Teller).Errors(1)[0].XIDs)
	require.Empty(t, src.(capture.Teller).Errors(2))
	bare := WithNode(both, t.TempDir())
	require.Equal(t, both.units, bare.Units(), "nothing can be read")
	v, err := bare.Inventory()
	require.NoError(t, err)
	require.Contains(t, v.Missing, capture.Missing{Name: "node.telemetry.cpu_util", Why: "no such file"})
	require.Equal(t, []uint64{0}, bare.(capture.Teller).Errors(0)[0].XIDs)
	exporter := gpus{[][]int32{{0, capture.NodeSeries}}}
	require.Equal(t, capture.Source(exporter), WithNode(exporter, root), "it tells of the node itself")
}
