package recorded

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
)

// Metric names of DCGM-exporter, and of node-exporter for the node as a whole, with the factor to the unit of the table. GPU_UTIL is the
// share of the time in which a kernel ran, SM_ACTIVE the share of the multiprocessors that had work.
var metrics = map[string]struct {
	store store
	by    float64
}{
	"DCGM_FI_DEV_GPU_UTIL": {smUtil, 0.01}, "DCGM_FI_PROF_SM_ACTIVE": {smActive, 1}, "DCGM_FI_DEV_MEM_COPY_UTIL": {memUtil, 0.01}, "DCGM_FI_DEV_FB_USED": {memUsed, 1 << 20},
	"DCGM_FI_DEV_POWER_USAGE": {power, 1}, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": {energy, 1}, "DCGM_FI_DEV_SM_CLOCK": {smClock, 1}, "DCGM_FI_DEV_MEM_CLOCK": {memClock, 1},
	"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": {throttle, 1}, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": {throttle, 1}, "DCGM_FI_DEV_GPU_TEMP": {warmth, 1}, "DCGM_FI_DEV_MEMORY_TEMP": {memWarmth, 1},
	"DCGM_FI_DEV_ECC_SBE_AGG_TOTAL": {corrected, 1}, "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL": {fatal, 1},
	"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS": {retired, 1}, "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": {retired, 1},
	"node_hwmon_power_average_watt": {power, 1},
}

var (
	sample = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+(-?\d+))?$`)
	label  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
)

// Exposition reads the text format of Prometheus. Samples without a time are of Options.At; those without a label Hostname are of
// Options.Node. Instances of MIG are passed over: the row of a GPU is that of the whole. Metrics that the table has no column for are
// passed over too.
func Exposition(text []byte, o Options) ([]traces.Telemetry, error) {
	table := newIndex(o)
	number := int64(0)
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil {
			return nil, bad(number, "", line[:min(len(line), 60)], "a sample of the text format of Prometheus")
		}
		at := o.At
		if m[4] != "" {
			ms, err := strconv.ParseInt(m[4], 10, 64)
			if err != nil {
				return nil, bad(number, m[1], m[4], "ms since 1970")
			}
			at = model.Time(ms * 1000)
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return nil, bad(number, m[1], m[3], "a number")
		}
		if err := table.put(m[1], labels(m[2]), at, v); err != nil {
			return nil, err
		}
	}
	return ordered(table.rows), nil
}

func labels(text string) map[string]string {
	out := map[string]string{}
	for _, m := range label.FindAllStringSubmatch(text, -1) {
		out[m[1]] = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(m[2])
	}
	return out
}

// place is where a sample belongs.
type place struct {
	node string
	gpu  traces.Opt[int32]
	at   model.Time
}

// index finds the rows of samples that come in any order.
type index struct {
	o    Options
	rows []traces.Telemetry
	at   map[place]int
	seen map[cell]string // the instance that each value is of
}

// cell is where a value belongs: of some metrics the column is the sum over several sensors.
type cell struct {
	row                  int
	metric, chip, sensor string
}

func newIndex(o Options) index { return index{o: o, at: map[place]int{}, seen: map[cell]string{}} }

// node is the name of the one that labels are of, and whether they say it themselves.
func (x *index) node(labels map[string]string) (name string, said bool) {
	switch {
	case x.o.Label != "":
		return withoutPort(labels[x.o.Label]), true
	case labels["Hostname"] != "":
		return labels["Hostname"], true
	case x.o.Node != "":
		return x.o.Node, false
	}
	return withoutPort(labels["instance"]), false
}

// withoutPort is a host of host:port and [address]:port.
func withoutPort(instance string) string {
	if host, _, found := strings.Cut(strings.TrimPrefix(instance, "["), "]"); found {
		return host
	}
	if strings.Count(instance, ":") > 1 {
		return instance // an IPv6 address
	}
	host, _, _ := strings.Cut(instance, ":")
	return host
}

// put adds a sample to the row that it belongs to. Of two of one place the first stays, as when a series changes its labels; that of
// two exporters for one node that they do not name is an error.
func (x *index) put(name string, labels map[string]string, at model.Time, v float64) error {
	metric, known := metrics[name]
	if !known || labels["GPU_I_ID"] != "" || math.IsNaN(v) || math.IsInf(v, 0) || v > 1<<60 { // DCGM has huge numbers for what it does not know
		return nil
	}
	node, said := x.node(labels)
	of := place{node: node, at: at}
	if n, err := strconv.ParseInt(labels["gpu"], 10, 32); err == nil && n >= 0 {
		of.gpu = traces.Some(int32(n))
	} else if strings.HasPrefix(name, "DCGM_") {
		return nil
	}
	i, known := x.at[of]
	if !known {
		i = len(x.rows)
		x.at[of], x.rows = i, append(x.rows, traces.Telemetry{Node: of.node, GPU: of.gpu, Time: at})
	}
	if x.o.Model != nil && labels["modelName"] != "" {
		x.o.Model(node, labels["modelName"])
	}
	one := cell{i, name, labels["chip"], labels["sensor"]}
	if instance, twice := x.seen[one]; twice {
		if !said && instance != labels["instance"] {
			return bad(0, name, instance+" and "+labels["instance"]+" for the node "+strconv.Quote(node), "one exporter for each node: name the label that tells nodes apart")
		}
		return nil
	}
	x.seen[one] = labels["instance"]
	if name == "node_hwmon_power_average_watt" { // one for each supply
		v += x.rows[i].Power.V
	}
	metric.store(&x.rows[i], float64(v*metric.by))
	return nil
}

// ordered sorts rows by time, those of one instant by node and GPU.
func ordered(rows []traces.Telemetry) []traces.Telemetry {
	slices.SortStableFunc(rows, func(a, b traces.Telemetry) int {
		switch {
		case a.Time != b.Time:
			return int(min(max(a.Time-b.Time, -1), 1))
		case a.Node != b.Node:
			return strings.Compare(a.Node, b.Node)
		}
		return int(indexed(&a) - indexed(&b))
	})
	return rows
}

// amdValue is a number with its unit, or a word for none.
type amdValue struct {
	Value json.RawMessage `json:"value"`
	Unit  string          `json:"unit"`
}

func (v *amdValue) read() traces.Opt[float64] {
	if v == nil {
		return traces.Opt[float64]{}
	}
	out, err := measure(strings.Trim(string(v.Value), `"`), v.Unit)
	if err != nil {
		return traces.Opt[float64]{}
	}
	return out
}

// amdGPU is what amd-smi metric says of one, as far as the table has it.
type amdGPU struct {
	GPU   *int32 `json:"gpu"`
	Usage struct {
		GFX *amdValue `json:"gfx_activity"`
		UMC *amdValue `json:"umc_activity"`
	} `json:"usage"`
	Power struct {
		Socket *amdValue `json:"socket_power"`
	} `json:"power"`
	Clock map[string]struct {
		Clk *amdValue `json:"clk"`
	} `json:"clock"`
	Temperature struct {
		Hotspot *amdValue `json:"hotspot"`
		Mem     *amdValue `json:"mem"`
	} `json:"temperature"`
	MemUsage struct {
		Used *amdValue `json:"used_vram"`
	} `json:"mem_usage"`
	Energy struct {
		Total *amdValue `json:"total_energy_consumption"`
	} `json:"energy"`
	ECC struct {
		Correctable   json.RawMessage `json:"total_correctable_count"`
		Uncorrectable json.RawMessage `json:"total_uncorrectable_count"`
	} `json:"ecc"`
}

// AMD reads amd-smi metric --json: an array of GPUs, or an object with gpu_data. It was written from the documentation of
// amd-smi and never tried on hardware.
func AMD(text []byte, o Options) ([]traces.Telemetry, error) {
	var list []amdGPU
	if err := json.Unmarshal(text, &list); err != nil {
		var outer struct {
			Data []amdGPU `json:"gpu_data"`
		}
		if err2 := json.Unmarshal(text, &outer); err2 != nil || outer.Data == nil {
			return nil, bad(1, "", err.Error(), "the JSON of amd-smi metric --json")
		}
		list = outer.Data
	}
	var rows []traces.Telemetry
	for i := range list {
		g := &list[i]
		if g.GPU == nil || *g.GPU < 0 {
			return nil, bad(int64(i+1), "gpu", "no number", "the index of the GPU")
		}
		t := traces.Telemetry{Node: o.Node, Time: o.At, GPU: traces.Some(*g.GPU)}
		for _, f := range []struct {
			v     traces.Opt[float64]
			store store
		}{
			{g.Usage.GFX.read(), smUtil}, {g.Usage.UMC.read(), memUtil}, {g.Power.Socket.read(), power}, {g.Clock["gfx_0"].Clk.read(), smClock}, {g.Clock["mem_0"].Clk.read(), memClock},
			{g.Temperature.Hotspot.read(), warmth}, {g.Temperature.Mem.read(), memWarmth}, {g.MemUsage.Used.read(), memUsed}, {g.Energy.Total.read(), energy},
			{bare(g.ECC.Correctable), corrected}, {bare(g.ECC.Uncorrectable), fatal},
		} {
			if f.v.OK {
				f.store(&t, f.v.V)
			}
		}
		rows = append(rows, t)
	}
	return rows, nil
}

// bare is a number without a unit.
func bare(text json.RawMessage) traces.Opt[float64] { return (&amdValue{Value: text}).read() }
