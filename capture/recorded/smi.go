package recorded

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"time"

	"orrery/traces"
)

// smiColumns are the properties of --query-gpu that the table has, in order of preference: of two names for
// one thing, the first that has a value counts. utilization.gpu is the share of the time in which a kernel ran.
var smiColumns = []struct {
	name string
	to   target
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

// smiNames are properties that tell rows apart.
var smiNames = []string{"timestamp", "index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id"}

// smiMessages begin lines of nvidia-smi that are no rows.
var smiMessages = []string{"unable to ", "nvidia-smi", "failed to ", "no devices were found", "gpu is lost", "gpu requires reset", "unknown error", "reboot the system", "make sure that the latest nvidia driver",
	"this can also be happening", "field \"", "warning", "error", "insufficient permissions", "terminated", "killed", "timeout", "no running processes found", "nvml", "driver/library version mismatch", "please also try"}

// isMessage says whether a line is a message of nvidia-smi.
func isMessage(line string) bool {
	line = strings.ToLower(strings.TrimSpace(line))
	return slices.ContainsFunc(smiMessages, func(begin string) bool { return strings.HasPrefix(line, begin) })
}

// SMICSV reads --format=csv, with units or nounits, also several such logs one behind the other. Without a column timestamp all rows are of
// Options.At; without a column index, GPUs are numbered by the order in which their UUIDs come, or within an instant. Lines that nvidia-smi
// writes among the rows, as about a GPU that is lost, and a last line that was cut off are left out and counted.
func SMICSV(text []byte, o Options) ([]traces.Telemetry, error) {
	r := smiReader{o: o, named: map[string]int32{}}
	number := int64(0)
	for raw := range bytes.Lines(text) { // a copy of a line at a time
		line := string(raw)
		number++
		whole := strings.HasSuffix(line, "\n")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		cells := cellsOf(line)
		if names := columnNames(cells); isHead(names) {
			r.head(names, columnUnits(cells))
			continue
		}
		var err error
		switch {
		case isMessage(line):
			o.left("line of nvidia-smi's own", line[:min(len(line), 80)], 1)
		case r.names == nil:
			return nil, bad(number, "", line[:min(len(line), 80)], "the first line of nvidia-smi --query-gpu --format=csv, with utilization.gpu, power.draw or memory.used")
		case len(cells) != len(r.names) && !whole && number > 2:
			o.left("last line, cut off", line[:min(len(line), 80)], 1)
		case len(cells) != len(r.names):
			err = bad(number, "", strconv.Itoa(len(cells))+" cells", strconv.Itoa(len(r.names)))
		default:
			err = r.row(number, cells)
			if _, ofLine := err.(*traces.DataError); ofLine && !whole && number > 2 { //nolint:errorlint // as bad made it
				o.left("last line, cut off", line[:min(len(line), 80)], 1)
				err = nil
			}
		}
		if err == nil {
			continue
		}
		if data, ok := err.(*traces.DataError); ok && data.Mend != "" { //nolint:errorlint // of the whole text
			return nil, err
		}
		if err := o.unread(err); err != nil {
			return nil, err
		}
	}
	if r.names == nil {
		return nil, bad(1, "", "no line", "the names of columns")
	}
	o.read(number)
	return r.times.resolve(o, r.rows), nil
}

// cellsOf are those of a line. Only what another program has written again has quotes.
func cellsOf(line string) []string {
	if strings.Contains(line, `"`) {
		in := csv.NewReader(strings.NewReader(line))
		in.TrimLeadingSpace, in.LazyQuotes = true, true
		if cells, err := in.Read(); err == nil {
			return cells
		}
	}
	cells := strings.Split(line, ",")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// isHead says whether a line has the names of columns.
func isHead(names []string) bool {
	return slices.Contains(names, "utilization.gpu") || slices.Contains(names, "memory.used") ||
		slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "power.draw") })
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
	named        map[string]int32 // GPUs by their names, where they have no numbers
	rows         []traces.Telemetry
	times        localTimes
}

// head takes the names of columns. Those that the table has no column for are counted once for each head.
func (r *smiReader) head(names, units []string) {
	if !slices.Equal(r.names, names) {
		for _, name := range names {
			taken := slices.Contains(smiReasons, name) || slices.Contains(smiNames, name)
			for _, c := range smiColumns {
				taken = taken || c.name == name
			}
			if !taken {
				r.o.left("column "+name+noColumn, "", 1)
			}
		}
	}
	r.names, r.units = names, units
}

func (r *smiReader) cell(cells []string, name string) (text, unit string, there bool) {
	i := slices.Index(r.names, name)
	if i < 0 {
		return "", "", false
	}
	return cells[i], r.units[i], true
}

func (r *smiReader) row(row int64, cells []string) error {
	t := traces.Telemetry{Node: r.o.Node, Time: r.o.At.V}
	var wall time.Time
	text, _, dated := r.cell(cells, "timestamp")
	switch {
	case dated:
		var err error
		if wall, err = time.Parse("2006/01/02 15:04:05.000", text); err != nil {
			return bad(row, "timestamp", text, "a time like 2026/07/03 22:11:09.763")
		}
	case !r.o.At.OK:
		return timeless(row, "timestamp")
	}
	index, err := r.index(row, cells, wall)
	if err != nil {
		return err
	}
	t.GPU = traces.Some(index)
	for _, c := range smiColumns {
		text, unit, ok := r.cell(cells, c.name)
		if !ok || strings.HasPrefix(c.name, "power.") && t.Power.OK {
			continue
		}
		if err := r.o.put(&t, c.to, c.name, text, unit); err != nil {
			return bad(row, c.name, text, "a number with its unit")
		}
	}
	for _, name := range smiReasons {
		text, _, ok := r.cell(cells, name)
		if none, byError := isUnknown(text); !ok || none {
			if byError {
				r.o.left(name+": "+strings.ToLower(text), "", 1)
			}
			continue
		}
		bits, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
		if err != nil {
			return bad(row, name, text, "bits like 0x0000000000000004")
		}
		if r.o.taken("throttle", float64(bits), float64(bits), false) {
			t.Throttle = traces.Some(int64(bits))
		}
	}
	r.rows = append(r.rows, t)
	r.times.add(wall, dated)
	return nil
}

func (r *smiReader) index(row int64, cells []string, wall time.Time) (int32, error) {
	if text, _, ok := r.cell(cells, "index"); ok {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 0 {
			return 0, bad(row, "index", text, "a whole number")
		}
		return int32(n), nil
	}
	for _, by := range smiNames[2:] {
		name, _, ok := r.cell(cells, by)
		if !ok {
			continue
		}
		if none, _ := isUnknown(name); none {
			return 0, bad(row, by, name, "the name of a GPU")
		}
		if _, known := r.named[name]; !known {
			r.named[name] = int32(len(r.named))
		}
		return r.named[name], nil
	}
	if n := len(r.rows); n > 0 && r.times.walls[n-1].Equal(wall) {
		return r.rows[n-1].GPU.V + 1, nil
	}
	return 0, nil
}
