package recorded

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"orrery/scheduler/model"
	"orrery/traces"
)

// smiColumns are the properties of --query-gpu that the table has, in order of preference: of two names for
// one thing, the first that has a value counts. utilization.gpu is the share of the time in which a kernel ran.
var smiColumns = []struct {
	name  string
	store store
}{
	{"utilization.gpu", smUtil}, {"utilization.memory", memUtil}, {"memory.used", memUsed},
	{"power.draw.average", power}, {"power.draw", power}, {"power.draw.instant", power},
	{"clocks.current.sm", smClock}, {"clocks.sm", smClock}, {"clocks.current.memory", memClock}, {"clocks.mem", memClock},
	{"temperature.gpu", warmth}, {"temperature.memory", memWarmth},
	{"ecc.errors.corrected.aggregate.total", corrected}, {"ecc.errors.uncorrected.aggregate.total", fatal},
	{"retired_pages.single_bit_ecc.count", retired}, {"retired_pages.double_bit.count", retired},
	{"remapped_rows.correctable", retired}, {"remapped_rows.uncorrectable", retired},
}

var smiReasons = []string{"clocks_event_reasons.active", "clocks_throttle_reasons.active"}

// SMICSV reads --format=csv, with units or nounits. Without a column timestamp all rows are of Options.At;
// without a column index, GPUs are numbered by the order in which their UUIDs come, or within an instant.
func SMICSV(text []byte, o Options) ([]traces.Telemetry, error) {
	in := csv.NewReader(bytes.NewReader(text))
	in.TrimLeadingSpace, in.LazyQuotes = true, true
	in.FieldsPerRecord = -1 // a first line may come again in a log of several runs
	head, err := in.Read()
	if err != nil {
		return nil, bad(1, "", "no line", "the names of columns")
	}
	names := columnNames(head)
	if !slices.Contains(names, "utilization.gpu") && !slices.Contains(names, "power.draw") && !slices.Contains(names, "memory.used") {
		return nil, bad(1, "", strings.Join(head, ","), "the first line of nvidia-smi --query-gpu --format=csv, with utilization.gpu, power.draw or memory.used")
	}
	reader := smiReader{o: o, names: names, units: columnUnits(head), uuids: map[string]int32{}}
	for row := int64(2); ; row++ {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return reader.rows, nil
		}
		if err != nil {
			return nil, bad(row, "", err.Error(), "separated values")
		}
		if slices.Equal(columnNames(cells), names) {
			continue
		}
		if len(cells) != len(names) {
			return nil, bad(row, "", strconv.Itoa(len(cells))+" cells", strconv.Itoa(len(names)))
		}
		if err := reader.row(row, cells); err != nil {
			return nil, err
		}
	}
}

func columnNames(head []string) []string {
	names := make([]string, len(head))
	for i, h := range head {
		name, _, _ := strings.Cut(h, " [")
		names[i] = strings.TrimSpace(name)
	}
	return names
}

func columnUnits(head []string) []string {
	out := make([]string, len(head))
	for i, h := range head {
		if _, unit, ok := strings.Cut(h, " ["); ok {
			out[i] = strings.TrimSuffix(strings.TrimSpace(unit), "]")
		}
	}
	return out
}

type smiReader struct {
	o            Options
	names, units []string
	uuids        map[string]int32
	rows         []traces.Telemetry
}

func (r *smiReader) cell(cells []string, name string) (text, unit string, there bool) {
	i := slices.Index(r.names, name)
	if i < 0 {
		return "", "", false
	}
	return cells[i], r.units[i], true
}

func (r *smiReader) row(row int64, cells []string) error {
	t := traces.Telemetry{Node: r.o.Node, Time: r.o.At}
	if text, _, ok := r.cell(cells, "timestamp"); ok {
		at, err := smiTime(text, "2006/01/02 15:04:05.000", r.o.Zone)
		if err != nil {
			return bad(row, "timestamp", text, "a time like 2026/07/03 22:11:09.763")
		}
		t.Time = at
	}
	index, err := r.index(row, cells, t.Time)
	if err != nil {
		return err
	}
	t.GPU = traces.Some(index)
	for _, c := range smiColumns {
		text, unit, ok := r.cell(cells, c.name)
		if !ok {
			continue
		}
		v, err := measure(text, unit)
		if err != nil {
			return bad(row, c.name, text, "a number with its unit")
		}
		if v.OK && !(strings.HasPrefix(c.name, "power.") && t.Power.OK) {
			c.store(&t, v.V)
		}
	}
	for _, name := range smiReasons {
		if text, _, ok := r.cell(cells, name); ok && !isUnknown(text) {
			bits, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimSpace(text), "0x"), 16, 64)
			if err != nil {
				return bad(row, name, text, "bits like 0x0000000000000004")
			}
			t.Throttle = traces.Some(bits)
		}
	}
	r.rows = append(r.rows, t)
	return nil
}

func (r *smiReader) index(row int64, cells []string, at model.Time) (int32, error) {
	if text, _, ok := r.cell(cells, "index"); ok {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
		if err != nil || n < 0 {
			return 0, bad(row, "index", text, "a whole number")
		}
		return int32(n), nil
	}
	if uuid, _, ok := r.cell(cells, "uuid"); ok {
		if _, known := r.uuids[uuid]; !known {
			r.uuids[uuid] = int32(len(r.uuids))
		}
		return r.uuids[uuid], nil
	}
	if n := len(r.rows); n > 0 && r.rows[n-1].Time == at {
		return r.rows[n-1].GPU.V + 1, nil
	}
	return 0, nil
}

func smiTime(text, layout string, zone *time.Location) (model.Time, error) {
	if zone == nil {
		zone = time.UTC
	}
	at, err := time.ParseInLocation(layout, strings.TrimSpace(text), zone)
	return model.Time(at.UnixMicro()), err
}

// queryValues are the entries of -q that the table has, by their path.
var queryValues = []struct {
	path  string
	store store
}{
	{"Utilization/GPU", smUtil}, {"Utilization/Gpu", smUtil}, {"Utilization/Memory", memUtil}, {"FB Memory Usage/Used", memUsed},
	{"GPU Power Readings/Average Power Draw", power}, {"GPU Power Readings/Power Draw", power}, {"Power Readings/Power Draw", power}, {"GPU Power Readings/Instantaneous Power Draw", power},
	{"Clocks/SM", smClock}, {"Clocks/Memory", memClock}, {"Temperature/GPU Current Temp", warmth}, {"Temperature/Memory Current Temp", memWarmth},
	{"Remapped Rows/Correctable Error", retired}, {"Remapped Rows/Uncorrectable Error", retired}, {"Retired Pages/Single Bit ECC", retired}, {"Retired Pages/Double Bit ECC", retired},
}

// queryReasons are the bits of NVML by the words of -q.
var queryReasons = map[string]int64{"Idle": 0x1, "Applications Clocks Setting": 0x2, "SW Power Cap": 0x4, "HW Slowdown": 0x8, "Sync Boost": 0x10, "SW Thermal Slowdown": 0x20,
	"HW Slowdown/HW Thermal Slowdown": 0x40, "HW Slowdown/HW Power Brake Slowdown": 0x80, "Display Clock Setting": 0x100}

// SMIQuery reads -q: entries by depth, one block for each GPU, numbered by their order.
func SMIQuery(text []byte, o Options) ([]traces.Telemetry, error) {
	r := queryReader{o: o, at: o.At}
	row := int64(0)
	for line := range strings.Lines(string(text)) {
		row++
		if err := r.line(row, strings.TrimRight(line, "\r\n ")); err != nil {
			return nil, err
		}
	}
	if len(r.rows) == 0 {
		return nil, bad(1, "", "no line that begins with GPU", "the output of nvidia-smi -q")
	}
	return r.rows, nil
}

type queryReader struct {
	o    Options
	at   model.Time
	path []string // by depth
	rows []traces.Telemetry
}

func (r *queryReader) line(row int64, line string) error {
	name, value, valued := strings.Cut(line, " : ")
	bare := strings.TrimLeft(name, " ")
	depth := (len(name) - len(bare)) / 4
	name = strings.TrimSpace(bare)
	switch {
	case name == "Timestamp" && depth == 0 && valued:
		at, err := smiTime(value, time.ANSIC, r.o.Zone)
		if err != nil {
			return bad(row, "Timestamp", value, "a time like Fri Jul  3 22:11:09 2026")
		}
		r.at = at
	case depth == 0 && !valued && strings.HasPrefix(name, "GPU "):
		r.rows = append(r.rows, traces.Telemetry{Node: r.o.Node, Time: r.at, GPU: traces.Some(int32(len(r.rows)))})
		r.path = r.path[:0]
	case depth > 0 && len(r.rows) > 0:
		r.path = append(r.path[:min(depth-1, len(r.path))], name)
		if valued {
			return r.value(row, strings.Join(r.path, "/"), value)
		}
	}
	return nil
}

func (r *queryReader) value(row int64, path, text string) error {
	t := &r.rows[len(r.rows)-1]
	for _, group := range []string{"Clocks Event Reasons/", "Clocks Throttle Reasons/"} {
		if bit := queryReasons[strings.TrimPrefix(path, group)]; bit != 0 && strings.HasPrefix(path, group) && !isUnknown(text) {
			t.Throttle.OK = true
			if text == "Active" {
				t.Throttle.V |= bit
			}
		}
	}
	for _, q := range queryValues {
		if q.path != path || strings.Contains(path, "Power") && t.Power.OK {
			continue
		}
		v, err := measure(text, "")
		if err != nil {
			return bad(row, path, text, "a number with its unit")
		}
		if v.OK {
			q.store(t, v.V)
		}
	}
	if rest, ok := strings.CutPrefix(path, "ECC Errors/Aggregate/"); ok && !isUnknown(text) {
		n, number := count64(text) // SRAM Threshold Exceeded is a word
		switch {
		case !number:
		case strings.Contains(rest, "Uncorrectable"):
			t.ECCUncorrected = traces.Some(t.ECCUncorrected.V + n)
		case strings.Contains(rest, "Correctable"):
			t.ECCCorrected = traces.Some(t.ECCCorrected.V + n)
		}
	}
	return nil
}

func count64(text string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, err == nil
}
