package recorded

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"orrery/scheduler/model"
	"orrery/traces"
)

// PowerSeries is what one column of power of nvidia-smi says of one GPU.
type PowerSeries struct {
	GPU    int32
	Column string       // power.draw, power.draw.average, power.draw.instant
	Model  string       // of the GPU, "" where the text does not say
	Driver string       // its version, likewise
	Times  []model.Time // as they stand in the text, read in Options.Zone; ascending, of equal ones the first
	Watts  []float64
}

// SMIPower reads every column of power of --format=csv by itself, where SMICSV takes the one that is preferred. Without a column that tells
// GPUs apart, all rows are of GPU 0. Series are in the order of GPUs, and of columns in the text; one without a value is there, and empty.
func SMIPower(text []byte, o Options) ([]PowerSeries, error) {
	r := powerReader{smiReader: smiReader{o: o, named: map[string]int32{}}, at: map[powerKey]int{}}
	number := int64(0)
	for raw := range bytes.Lines(text) {
		number++
		whole := bytes.HasSuffix(raw, []byte("\n"))
		line := strings.TrimSpace(string(raw))
		if line == "" {
			continue
		}
		cells := cellsOf(line)
		if names := columnNames(cells); isHead(names) || slices.ContainsFunc(names, isPower) {
			r.names, r.units = names, columnUnits(cells)
			if !slices.ContainsFunc(names, isPower) || !slices.Contains(names, "timestamp") {
				return nil, bad(number, "", line[:min(len(line), 80)], "the columns timestamp and power.draw, power.draw.instant or power.draw.average")
			}
			continue
		}
		var err error
		switch {
		case isMessage(line):
			o.left("line of nvidia-smi's own", line[:min(len(line), 80)], 1)
			continue
		case r.names == nil:
			return nil, bad(number, "", line[:min(len(line), 80)], "the first line of nvidia-smi --query-gpu=timestamp,power.draw,… --format=csv")
		case len(cells) != len(r.names):
			err = bad(number, "", strconv.Itoa(len(cells))+" cells", strconv.Itoa(len(r.names)))
		default:
			err = r.row(number, cells)
		}
		switch {
		case err == nil:
		case r.taken == MostReadings:
			return nil, err
		case !whole && number > 2:
			o.left("last line, cut off", line[:min(len(line), 80)], 1)
		default:
			if err := o.unread(err); err != nil {
				return nil, err
			}
		}
	}
	if r.names == nil {
		return nil, bad(1, "", "no line", "the names of columns")
	}
	if !r.tagged && r.equal > r.count/3 && r.equal > 8 {
		return nil, bad(1, "", strconv.FormatInt(r.equal, 10)+" rows of the instant of the row before", "a column that tells GPUs apart, as several share this text; ask nvidia-smi for index too")
	}
	o.read(number)
	slices.SortStableFunc(r.out, func(a, b PowerSeries) int { return int(a.GPU) - int(b.GPU) })
	return r.out, nil
}

// MostReadings is how many are held of a text: 15 h of one column at 150 a second.
const MostReadings = 1 << 23

func isPower(name string) bool { return strings.Contains(name, "power.draw") }

type powerKey struct {
	gpu    int32
	column string
}

type powerReader struct {
	smiReader
	at     map[powerKey]int // in out
	out    []PowerSeries
	tagged bool  // a column tells GPUs apart
	count  int64 // read
	taken  int64
	equal  int64 // of the instant of the row before
	before model.Time
}

func (r *powerReader) row(number int64, cells []string) error {
	stamp, _, _ := r.cell(cells, "timestamp")
	zone := r.o.Zone
	if zone == nil {
		zone = time.UTC
	}
	wall, err := time.ParseInLocation("2006/01/02 15:04:05.000", stamp, zone)
	if err != nil {
		return bad(number, "timestamp", stamp, "a time like 2026/07/03 22:11:09.763")
	}
	now := model.Time(wall.UnixMicro())
	gpu := int32(0)
	if slices.ContainsFunc(smiNames[1:], func(name string) bool { return slices.Contains(r.names, name) }) {
		r.tagged = true
		if gpu, err = r.index(number, cells, wall); err != nil {
			return err
		}
	}
	if r.count++; now == r.before {
		r.equal++
	}
	r.before = now
	for i, name := range r.names {
		if !isPower(name) {
			continue
		}
		s := r.series(powerKey{gpu, name}, cells)
		text := cells[i]
		if none, byError := isUnknown(text); none {
			if byError {
				r.o.left(name+": "+strings.ToLower(text), "", 1)
			}
			continue
		}
		m, err := measure(text, r.units[i])
		if err != nil {
			return bad(number, name, text, "a number with its unit")
		}
		switch n := len(s.Times); {
		case !r.o.taken("power", m.raw, m.v, false):
		case n > 0 && now <= s.Times[n-1]:
			if now < s.Times[n-1] {
				r.o.left("rows whose time is before the one above", stamp, 1)
			}
		case r.taken == MostReadings:
			return &traces.DataError{Row: number, Found: fmt.Sprintf("more than %d readings", MostReadings), Expected: "at most so many", Mend: "cut the text to the time of interest"}
		default:
			s.Times, s.Watts = append(s.Times, now), append(s.Watts, m.v)
			r.taken++
		}
	}
	return nil
}

// series is that of a GPU and column, valid until the next call.
func (r *powerReader) series(of powerKey, cells []string) *PowerSeries {
	at, known := r.at[of]
	if !known {
		at = len(r.out)
		r.at[of] = at
		s := PowerSeries{GPU: of.gpu, Column: of.column}
		for _, name := range []string{"name", "gpu_name"} {
			if text, _, ok := r.cell(cells, name); ok {
				s.Model = text
			}
		}
		s.Driver, _, _ = r.cell(cells, "driver_version")
		r.out = append(r.out, s)
	}
	return &r.out[at]
}
