package recorded

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
)

// metric is one that the table has a column for, with the factor to its unit.
type metric struct {
	to    target
	by    float64
	board bool // of the GPU as a whole, also where it stands with an instance of MIG
}

// Metric names of DCGM-exporter, and of node-exporter for the node as a whole. GPU_UTIL is the share of the time in which a kernel ran,
// SM_ACTIVE the share of the multiprocessors that had work.
var metrics = map[string]metric{
	"DCGM_FI_DEV_GPU_UTIL": {smUtil, 0.01, false}, "DCGM_FI_PROF_SM_ACTIVE": {smActive, 1, false}, "DCGM_FI_DEV_MEM_COPY_UTIL": {memUtil, 0.01, false}, "DCGM_FI_DEV_FB_USED": {memUsed, 1 << 20, false},
	"DCGM_FI_DEV_POWER_USAGE": {power, 1, true}, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": {energy, 1, true}, "DCGM_FI_DEV_SM_CLOCK": {smClock, 1, true}, "DCGM_FI_DEV_MEM_CLOCK": {memClock, 1, true},
	"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": {throttle, 1, true}, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": {throttle, 1, true}, "DCGM_FI_DEV_GPU_TEMP": {warmth, 1, true}, "DCGM_FI_DEV_MEMORY_TEMP": {memWarmth, 1, true},
	"DCGM_FI_DEV_ECC_SBE_AGG_TOTAL": {corrected, 1, true}, "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL": {fatal, 1, true},
	"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS": {retired, 1, true}, "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": {retired, 1, true},
	// DCGM's own header has violations in ns; lists of counters of DCGM-exporter called the same numbers µs.
	"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": {tensor, 1, false}, "DCGM_FI_PROF_DRAM_ACTIVE": {dram, 1, false},
	"DCGM_FI_DEV_POWER_VIOLATION": {heldPower, 0.001, true}, "DCGM_FI_DEV_THERMAL_VIOLATION": {heldHeat, 0.001, true},
	"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": {linkFault, 1, true}, "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL": {linkFault, 1, true},
	"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL": {linkFault, 1, true}, "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL": {linkFault, 1, true},
	nodePower: {power, 1, false},
}

const nodePower = "node_hwmon_power_average_watt"

// place is where a sample belongs.
type place struct {
	node string
	gpu  traces.Opt[int32]
	at   model.Time
}

// index finds the rows of samples that come in any order.
type index struct {
	o         Options
	rows      []traces.Telemetry
	at        map[place]int
	seen      map[cell]string // the instance that each value is of
	instances map[cell]int    // places in boards
	boards    []board
	passed    map[string]int // places of series in series
	series    []traces.Rule  // that were passed over, by name
	nameless  []sample       // that name no node
	timeless  []sample       // that have no time
	timed     bool           // some sample has one
}

// sample is the place of one, and its name.
type sample struct {
	number int64
	name   string
}

// cell is where a value belongs: of some metrics the column is the sum over several sensors.
type cell struct {
	row                  int
	metric, chip, sensor string
}

// board is a value of a whole GPU that instances of MIG have.
type board struct {
	of      cell
	v       float64
	times   int64
	differs bool
}

func newIndex(o Options) index {
	return index{o: o, at: map[place]int{}, seen: map[cell]string{}, instances: map[cell]int{}, passed: map[string]int{}}
}

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

// mostSeries is how many names of series are counted by themselves.
const mostSeries = 500

// pass counts a sample that is not taken.
func (x *index) pass(name, why string) {
	what := name + why
	i, known := x.passed[what]
	if !known && len(x.series) >= mostSeries {
		what = "other series" + why
		i, known = x.passed[what]
	}
	if !known {
		i = len(x.series)
		x.passed[what], x.series = i, append(x.series, traces.Rule{Rule: what})
	}
	x.series[i].Count++
}

// noColumn is why most series are passed over.
const noColumn = ": no column"

// known is the metric of a name: in OpenMetrics counters end in _total.
func known(name string) (metric, bool) {
	m, ok := metrics[name]
	if !ok {
		m, ok = metrics[strings.TrimSuffix(name, "_total")]
	}
	return m, ok
}

// put adds sample number to the row that it belongs to. Of two of one place the first stays, as when a series changes its labels; that of
// two exporters for one node that they do not name is an error.
func (x *index) put(number int64, name string, labels map[string]string, at model.Time, v float64) error {
	m, ok := known(name)
	ofInstance := labels["GPU_I_ID"] != ""
	switch {
	case !ok:
		x.pass(name, noColumn)
		return nil
	case ofInstance && !m.board:
		x.pass(name, " of instances of MIG: the row is that of the GPU")
		return nil
	}
	node, said := x.node(labels)
	of := place{node: node, at: at}
	if n, err := strconv.ParseInt(labels["gpu"], 10, 32); err == nil && n >= 0 {
		of.gpu = traces.Some(int32(n))
	} else if strings.HasPrefix(name, "DCGM_") {
		x.pass(name, " without the number of a GPU")
		return nil
	}
	if node == "" {
		x.nameless = append(x.nameless, sample{number, name})
	}
	i := x.row(of)
	if x.o.Model != nil && labels["modelName"] != "" {
		x.o.Model(node, labels["modelName"])
	}
	one := cell{i, name, labels["chip"], labels["sensor"]}
	if ofInstance {
		x.instance(one, v)
		return nil
	}
	if instance, twice := x.seen[one]; twice {
		if !said && instance != labels["instance"] {
			return bad(0, name, instance+" and "+labels["instance"]+" for the node "+strconv.Quote(node), "one exporter for each node: name the label that tells nodes apart")
		}
		x.pass(name, ": a second time for one instant")
		return nil
	}
	x.seen[one] = labels["instance"]
	x.store(one, m, v)
	return nil
}

// row is the place of the row of a GPU or node at an instant.
func (x *index) row(of place) int {
	i, known := x.at[of]
	if !known {
		i = len(x.rows)
		x.at[of], x.rows = i, append(x.rows, traces.Telemetry{Node: of.node, GPU: of.gpu, Time: of.at})
	}
	return i
}

// store puts a value that may be a measurement into its row.
func (x *index) store(of cell, m metric, v float64) {
	t := &x.rows[of.row]
	if !x.o.taken(m.to.column, v, float64(v*m.by), !t.GPU.OK) {
		return
	}
	if of.metric == nodePower { // one for each supply
		v += t.Power.V
	}
	m.to.store(t, float64(v*m.by))
}

// instance takes a value of the whole GPU that an instance of MIG has: each has the same, up to when it was read.
func (x *index) instance(of cell, v float64) {
	i, known := x.instances[of]
	if !known {
		x.instances[of] = len(x.boards)
		x.boards = append(x.boards, board{of: of, v: v, times: 1})
		return
	}
	b := &x.boards[i]
	b.times++
	b.differs = b.differs || math.Abs(b.v-v) > sameBoard*max(math.Abs(b.v), math.Abs(v))
}

// sameBoard is how far apart the values of one GPU may be that its instances have: they are read one after the other.
const sameBoard = 0.02

// end takes what instances say of whole GPUs, where nothing else does, and is the rows in their order.
func (x *index) end() ([]traces.Telemetry, error) {
	if err := x.odd(); err != nil {
		return nil, err
	}
	for i := range x.boards {
		b := &x.boards[i]
		_, twice := x.seen[b.of]
		m, _ := known(b.of.metric)
		switch {
		case twice:
			x.o.left(b.of.metric+" of instances of MIG: the GPU has it", "", b.times)
		case b.differs:
			x.o.left(b.of.metric+" of instances of MIG: they differ", "", b.times)
		default:
			x.store(b.of, m, b.v)
			if b.times > 1 {
				x.o.left(b.of.metric+" of instances of MIG: taken once for their GPU", "", b.times-1)
			}
		}
	}
	for _, s := range x.series {
		x.o.left(s.Rule, "", s.Count)
	}
	return ordered(x.named()), nil
}

// odd judges samples that lack what others have: where some have a time or name a node, those without are lines that cannot be read.
// Where none has a time the text cannot be read; where none names a node its rows have none.
func (x *index) odd() error {
	for _, s := range x.timeless {
		if !x.timed {
			return timeless(s.number, s.name)
		}
		if err := x.o.unread(timeless(s.number, s.name)); err != nil {
			return err
		}
	}
	if !x.mixed() {
		return nil
	}
	for _, s := range x.nameless {
		e := &traces.DataError{Row: s.number, Column: s.name, Found: "no name of a node", Expected: "a label Hostname or instance, as other samples have", Mend: "give --node NAME for those without"}
		if err := x.o.unread(e); err != nil {
			return err
		}
	}
	return nil
}

// mixed says whether some rows name a node and others do not, and someone counts the latter.
func (x *index) mixed() bool {
	return len(x.nameless) > 0 && x.o.Unread != nil && slices.ContainsFunc(x.rows, func(t traces.Telemetry) bool { return t.Node != "" })
}

// named are the rows of nodes that are named, or all where none is.
func (x *index) named() []traces.Telemetry {
	if !x.mixed() {
		return x.rows
	}
	return slices.DeleteFunc(x.rows, func(t traces.Telemetry) bool { return t.Node == "" })
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
