package recorded

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"orrery/traces"
)

// queryValues are the entries of -q that the table has, by their path.
var queryValues = []struct {
	path string
	to   target
}{
	{"Utilization/GPU", smUtil}, {"Utilization/Gpu", smUtil}, {"Utilization/Memory", memUtil}, {"FB Memory Usage/Used", memUsed},
	{"GPU Power Readings/Average Power Draw", power}, {"GPU Power Readings/Power Draw", power}, {"Power Readings/Power Draw", power}, {"GPU Power Readings/Instantaneous Power Draw", power},
	{"Clocks/SM", smClock}, {"Clocks/Memory", memClock}, {"Temperature/GPU Current Temp", warmth}, {"Temperature/Memory Current Temp", memWarmth},
	{"Remapped Rows/Correctable Error", retired}, {"Remapped Rows/Uncorrectable Error", retired}, {"Retired Pages/Single Bit ECC", retired}, {"Retired Pages/Double Bit ECC", retired},
}

// queryReasons are the bits of NVML by the words of -q.
var queryReasons = map[string]int64{"Idle": 0x1, "Applications Clocks Setting": 0x2, "SW Power Cap": 0x4, "HW Slowdown": 0x8, "Sync Boost": 0x10, "SW Thermal Slowdown": 0x20,
	"HW Slowdown/HW Thermal Slowdown": 0x40, "HW Slowdown/HW Power Brake Slowdown": 0x80, "Display Clock Setting": 0x100}

// SMIQuery reads -q, also several times as with -l: entries by depth, one block for each GPU. GPUs are numbered by the order in which their
// addresses on the bus come.
func SMIQuery(text []byte, o Options) ([]traces.Telemetry, error) {
	r := queryReader{o: o, named: map[string]int32{}}
	row := int64(0)
	for line := range bytes.Lines(text) { // a copy of a line at a time
		row++
		if err := r.line(row, strings.TrimRight(string(line), "\r\n ")); err != nil {
			if data, ok := err.(*traces.DataError); ok && data.Mend != "" { //nolint:errorlint // of the whole text
				return nil, err
			}
			if err := o.unread(err); err != nil {
				return nil, err
			}
		}
	}
	if len(r.rows) == 0 {
		return nil, bad(1, "", "no line that begins with GPU", "the output of nvidia-smi -q")
	}
	o.read(row)
	return r.times.resolve(o, r.rows), nil
}

type queryReader struct {
	o     Options
	wall  time.Time
	dated bool
	path  []string         // by depth
	named map[string]int32 // GPUs by their addresses
	rows  []traces.Telemetry
	times localTimes
}

func (r *queryReader) line(row int64, line string) error {
	name, value, valued := strings.Cut(line, " : ")
	bare := strings.TrimLeft(name, " ")
	depth := (len(name) - len(bare)) / 4
	name = strings.TrimSpace(bare)
	switch {
	case name == "Timestamp" && depth == 0 && valued:
		at, err := time.Parse(time.ANSIC, strings.TrimSpace(value))
		if err != nil {
			return bad(row, "Timestamp", value, "a time like Fri Jul  3 22:11:09 2026")
		}
		r.wall, r.dated = at, true
	case depth == 0 && !valued && strings.HasPrefix(name, "GPU "):
		if !r.dated && !r.o.At.OK {
			return timeless(row, "Timestamp")
		}
		if _, known := r.named[name]; !known {
			r.named[name] = int32(len(r.named))
		}
		r.rows = append(r.rows, traces.Telemetry{Node: r.o.Node, Time: r.o.At.V, GPU: traces.Some(r.named[name])})
		r.times.add(r.wall, r.dated)
		r.path = r.path[:0]
	case depth > 0 && len(r.rows) > 0:
		r.path = append(r.path[:min(depth-1, len(r.path))], name)
		if valued {
			return r.value(row, strings.Join(r.path, "/"), value)
		}
	case depth == 0 && isMessage(line) && !strings.HasPrefix(line, "NVIDIA-SMI version") && !valued:
		r.o.left("line of nvidia-smi's own", line[:min(len(line), 80)], 1)
	}
	return nil
}

func (r *queryReader) value(row int64, path, text string) error {
	t := &r.rows[len(r.rows)-1]
	none, byError := isUnknown(text)
	for _, group := range []string{"Clocks Event Reasons/", "Clocks Throttle Reasons/"} {
		if bit := queryReasons[strings.TrimPrefix(path, group)]; bit != 0 && strings.HasPrefix(path, group) && !none {
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
		if err := r.o.put(t, q.to, path, text, ""); err != nil {
			return bad(row, path, text, "a number with its unit")
		}
	}
	if rest, ok := strings.CutPrefix(path, "ECC Errors/Aggregate/"); ok {
		if none && byError {
			r.o.left(path+": "+strings.ToLower(text), "", 1)
		}
		if n, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && !none { // SRAM Threshold Exceeded is a word
			switch {
			case strings.Contains(rest, "Uncorrectable") && r.o.taken("ecc_uncorrected", n, n, false):
				t.ECCUncorrected = traces.Some(t.ECCUncorrected.V + int64(n))
			case !strings.Contains(rest, "Uncorrectable") && strings.Contains(rest, "Correctable") && r.o.taken("ecc_corrected", n, n, false):
				t.ECCCorrected = traces.Some(t.ECCCorrected.V + int64(n))
			}
		}
	}
	return nil
}
