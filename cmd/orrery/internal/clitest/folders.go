package clitest

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/capture/sample"
	"orrery/capture/slurm"
	"orrery/scheduler/model"
	"orrery/traces"
)

// MeterAt writes what a meter at the node new-1 of a sampled capture would have written, whose clock is that much
// ahead: 5 % less than the sensor of the node says.
func MeterAt(t *testing.T, c *sample.Capture, path string, ahead model.Duration) {
	t.Helper()
	var watts strings.Builder
	watts.WriteString("time,watts\n")
	require.NoError(t, c.Telemetry(func(row *traces.Telemetry) error {
		if row.Node == "new-1" && !row.GPU.OK {
			_, _ = fmt.Fprintf(&watts, "%d,%.1f\n", int64(c.Meta.Epoch.Add(row.Time.Sub(0)+ahead))/1_000_000, row.Power.V/1.05)
		}
		return nil
	}))
	require.NoError(t, os.WriteFile(path, []byte(watts.String()), 0o600))
}

// TelemetryFolder makes a folder of two bundles, as an agent on a node of two GPUs leaves it: ten seconds each, with a
// gap of one GPU in the second.
func TelemetryFolder(t testing.TB, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o700))
	const day = model.Time(1_795_000_000_000_000) // µs since 1970
	for part := range 2 {
		begin := day.Add(model.Duration(part*10) * model.Second)
		w, err := traces.NewWriter(filepath.Join(dir, fmt.Sprintf("gpu7-%d.trace", part)), traces.Meta{Source: "test", Epoch: begin, EpochKnown: true})
		require.NoError(t, err)
		v := &capture.Inventory{GPUs: []capture.GPU{{Index: 0}, {Index: 1}}}
		v.Add(capture.FactDriver, "550.54.15")
		require.NoError(t, w.WriteNode(traces.Node{Name: "gpu7", GPUs: 2, GPUModel: "Small GPU", Fingerprint: capture.Fingerprint(v), Up: true}))
		records := []capture.Record{{Record: capture.RecordInventory, Fingerprint: capture.Fingerprint(v), Inventory: v}, {Record: capture.RecordMode, Mode: "debug", Interval: model.Second}}
		for i := range records {
			require.NoError(t, w.WriteEvent(records[i].Event(0, "gpu7")))
		}
		if part == 1 {
			gap := capture.Record{Record: capture.RecordGap, Samples: 4, Span: 4 * model.Second, Reason: capture.GapHung}
			require.NoError(t, w.WriteEvent(gap.Event(model.Time(3*model.Second), "gpu7/1")))
		}
		for s := range 10 {
			for gpu := range int32(2) {
				if part == 1 && gpu == 1 && s >= 3 && s < 7 {
					continue
				}
				n := int64(part*10 + s)
				require.NoError(t, w.WriteTelemetry(&traces.Telemetry{Node: "gpu7", GPU: traces.Some(gpu), Time: model.Time(model.Duration(s) * model.Second), SMUtil: traces.Some(0.5),
					SMActive: traces.Some(0.25), Power: traces.Some(360.0), Energy: traces.Some(n * 360_000), MemUsed: traces.Some(int64(8 << 30)), Temperature: traces.Some(60.0),
					Throttle: traces.Some(int64(s%2) * 4), Processes: `[{"pid":77,"name":"train","job":"1"}]`}))
			}
		}
		_, err = w.Close()
		require.NoError(t, err)
	}
}

// GPUsCSV is what nvidia-smi says of two GPUs.
const GPUsCSV = `timestamp, index, utilization.gpu [%], power.draw [W], memory.used [MiB]
2026/07/03 22:11:09.763, 0, 100 %, 627.40 W, 32362 MiB
2026/07/03 22:11:09.763, 1, [N/A], 80.00 W, 1 MiB
`

// SensorFiles are readings of a sensor that is renewed each 100 ms, sees all of the time and reads 5 % too low, polled each 10 ms and stamped in
// local time, a meter's beside it, and the load, which is on and off for times that grow.
func SensorFiles(t *testing.T, zone time.Duration) {
	t.Helper()
	begin := time.Date(2026, 7, 3, 20, 0, 0, 0, time.UTC)
	toggles := []int{3000, 6000}
	for at, half := 7000.0, 20.0; at < 13_000; at, half = at+2*half, half*1.04 {
		toggles = append(toggles, int(at), int(at+half))
	}
	on := func(ms int) bool {
		n := 0
		for _, at := range toggles {
			if at <= ms {
				n++
			}
		}
		return n%2 == 1
	}
	const long = 16_000
	var watts [long]float64
	var smi, meter, load strings.Builder
	smi.WriteString("timestamp, power.draw [W], power.draw.instant [W]\n")
	meter.WriteString("time_us,watts\n")
	load.WriteString("timestamp\n")
	for ms := range watts {
		if watts[ms] = 100 + float64(ms%7)/10; on(ms) {
			watts[ms] += 300
		}
		if ms%2 == 0 {
			fmt.Fprintf(&meter, "%d,%.1f\n", begin.UnixMicro()+int64(ms)*1000, watts[ms])
		}
	}
	for ms := 200; ms < long; ms += 10 {
		renewed := ms / 100 * 100
		sum := 0.0
		for i := renewed - 100; i < renewed; i++ {
			sum += watts[i]
		}
		fmt.Fprintf(&smi, "%s, [N/A], %.2f W\n", begin.Add(zone+time.Duration(ms)*time.Millisecond).Format("2006/01/02 15:04:05.000"), 0.95*sum/100+float64(renewed%3)/100)
	}
	for _, at := range toggles {
		fmt.Fprintf(&load, "%d\n", begin.UnixMicro()+int64(at)*1000)
	}
	require.NoError(t, os.WriteFile("smi.csv", []byte(smi.String()), 0o600))
	require.NoError(t, os.WriteFile("watts.csv", []byte(meter.String()), 0o600))
	require.NoError(t, os.WriteFile("toggles.csv", []byte(load.String()), 0o600))
}

// ExampleFolder changes into a directory with the files that examples name.
func ExampleFolder(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	f, err := os.Create("log.swf.gz")
	require.NoError(t, err)
	z := gzip.NewWriter(f)
	_, err = io.WriteString(z, SmallLog())
	require.NoError(t, errors.Join(err, z.Close(), f.Close()))
	for _, line := range []string{
		"import log.swf.gz --quiet --out month.trace",
		"replay log.swf.gz --procs 1000 --quiet --facts --out run",
		"replay log.swf.gz --procs 8 --quiet --out before",
		"replay log.swf.gz --procs 8 --order sjf --quiet --out after",
		"capture sample --out cap",
	} {
		require.Zero(t, Run(t, strings.Fields(line)...).Code, line)
	}
	MeterAt(t, sample.Make(&sample.Small, 1), "node.csv", 0)
	require.NoError(t, os.WriteFile("slurm.conf", []byte("NodeName=n[1-8] CPUs=16 Gres=gpu:4\nPartitionName=all Nodes=ALL\n"), 0o600))
	require.NoError(t, os.WriteFile("mine.yaml", []byte("node_types: [{name: n, cpus: 16, gpu: l4, gpus: 4}]\ngroups: [{name: g, nodes: 8, type: n}]\n"), 0o600))
	require.NoError(t, os.WriteFile("multifactor.yaml", []byte("order: multifactor\nmultifactor: {age: 1000}\n"), 0o600))
	require.NoError(t, os.WriteFile("schedule.csv", []byte(promptly()), 0o600))
	require.NoError(t, os.WriteFile("experiment.yaml", []byte("traces: [log.swf.gz]\nsettings: [{path: weights.wait_time, values: [1, 2, 3]}]\n"), 0o600))
	require.NoError(t, os.WriteFile("pods.csv", []byte(Pods), 0o600))
	require.NoError(t, os.WriteFile("nodes.csv", []byte(Nodes), 0o600))
	require.NoError(t, os.WriteFile("requests.csv", []byte("when,n\n2024-03-30 01:30:00,12\n2024-03-30 01:31:00,7\n"), 0o600))
	require.NoError(t, os.WriteFile("key", []byte("0123456789abcdef"), 0o600))
	TelemetryFolder(t, "telemetry")
	capturedFolder(t, "captured")
	require.NoError(t, os.WriteFile("gpus.csv", []byte(GPUsCSV), 0o600))
	SensorFiles(t, 0)
	require.NoError(t, os.WriteFile("scaling.yaml", []byte("demand: {shape: flash, base: 5, peak: 40, at: 20m, over: 10m, length: 1h}\npolicies: [{kind: fixed, size: 3}, {kind: hpa}]\nseeds: 2\n"), 0o600))
	require.NoError(t, os.WriteFile("scenario.yaml", []byte("events: [{time: 1h, kind: outage, value: 10m}]\n"), 0o600))
	require.NoError(t, os.Mkdir("cases", 0o700))
	require.NoError(t, os.WriteFile("cases/borrowing.json", []byte(borrowing), 0o600))
	require.Zero(t, Run(t, "sweep", "experiment.yaml", "--out", "study", "--report", "--quiet").Code)
}

// capturedFolder is the capture of a Slurm whose database has one job and whose queue has none.
func capturedFolder(t *testing.T, dir string) {
	t.Helper()
	const begin = model.Time(1_795_000_000_000_000)
	r, err := slurm.Open(dir, func(_ context.Context, name string, args ...string) ([]byte, error) {
		if name != "sacct" {
			return []byte(map[string]string{"sdiag": "DBD Agent queue size: 0\n"}[name]), nil
		}
		row := map[string]string{
			"JobID": "7", "JobIDRaw": "7", "Submit": "1795000000", "Start": "1795000010", "End": "1795000040", "State": "COMPLETED", "ElapsedRaw": "30",
			"TimelimitRaw": "5", "NNodes": "1", "NCPUS": "4", "NodeList": "n1",
		}
		format, found := strings.CutPrefix(args[len(args)-1], "--format=")
		if !found { // which columns there are
			return []byte(strings.Join(slices.Sorted(maps.Keys(row)), " ")), nil
		}
		var values []string
		for field := range strings.SplitSeq(format, ",") {
			values = append(values, row[field])
		}
		return []byte(strings.ReplaceAll(format, ",", "|") + "\n" + strings.Join(values, "|") + "\n"), nil
	}, begin)
	require.NoError(t, err)
	_, err = r.Poll(t.Context(), begin.Add(model.Minute))
	require.NoError(t, errors.Join(err, r.Close()))
}

// pods and nodes are a trace of openb.
const (
	Pods = `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
p0,1500,64,1,500,T4,LS,Succeeded,5,90,6
p1,1000,64,0,0,,BE,Succeeded,7,60,8
p2,1000,64,0,0,,BE,Pending,8,,
`
	Nodes = `sn,cpu_milli,memory_mib,gpu,model
n0,8000,1024,2,T4
n1,4000,1024,0,
`
)

// borrowing is a file of one recorded case.
const borrowing = `{"schema": "autoscale-conformance/1", "name": "lattice-borrowing", "system": "lattice", "count": 1, "cases": [{"id": "a",
	"lender_total": 20, "lender_idle": 8, "requested": 4, "max_borrow_pct": 0.2, "lending_enabled": true, "borrowing_enabled": true, "expected_granted": 4}]}`

// promptly is the schedule of SmallLog on a machine that is large enough for
// all jobs to start at once.
func promptly() string {
	var b strings.Builder
	b.WriteString("job_id,start\n")
	for line := range strings.Lines(SmallLog()) {
		if f := strings.Fields(line); f[0] != ";" {
			b.WriteString(f[0] + "," + f[1] + "\n")
		}
	}
	return b.String()
}
