// Package meter reads what a meter of power has written beside a GPU or a node: tables of time and watts, the log of ptdaemon,
// power readings in a log of MLPerf, and the samples of an ElmorLabs PMD. It must not know what the meter measures, nor files.
package meter

import (
	"bytes"
	"fmt"
	"time"
	"unicode/utf8"

	"orrery/scheduler/model"
	"orrery/traces"
)

// Series is power over time.
type Series struct {
	Times []model.Time // µs since 1970, ascending, each once
	Watts []float64    // finite
}

// Options say what a file does not.
type Options struct {
	Start traces.Opt[model.Time] // of a clock that begins at 0
	Zone  *time.Location         // of local times; nil is UTC
}

// Record is what was read.
type Record struct {
	Series
	Format string        // which of the formats it was
	Left   traces.Counts // rows that were left out, by reason
}

// MostSamples is how many samples are held: those of a PMD, which come at 4.8 kHz, of half an hour.
const MostSamples = 1 << 23

// Parse reads a file whole. Its errors are *traces.DataError without the name of the file.
func Parse(text []byte, o Options) (*Record, error) {
	if len(text) == 0 {
		return nil, &traces.DataError{Found: "an empty file", Expected: "the readings of a meter: time and watts"}
	}
	r := &reader{o: o}
	var err error
	switch {
	case isPMD(text):
		r.Format = "pmd"
		err = r.pmd(text)
	case bytes.HasPrefix(text, []byte(mllogMark)) || bytes.Contains(text[:min(len(text), 4096)], []byte(" "+mllogMark)):
		r.Format = "mlperf"
		err = r.lines(text, r.mllog)
	case bytes.HasPrefix(text, []byte("Time,")) && bytes.Contains(text[:min(len(text), 512)], []byte(",Watts,")):
		r.Format = "ptdaemon"
		err = r.lines(text, r.ptdaemon)
	default:
		r.Format = "csv"
		err = r.lines(text, r.csv)
	}
	if err != nil {
		return nil, err
	}
	if len(r.Times) < 2 {
		return nil, &traces.DataError{Found: fmt.Sprintf("%d readings of power%s", len(r.Times), r.leftText()), Expected: "two at least, each with a time"}
	}
	return &r.Record, nil
}

// isPMD says whether the bytes are no text, and come in records.
func isPMD(b []byte) bool {
	return len(b) >= pmdRecord && (bytes.IndexByte(b[:min(len(b), 4096)], 0) >= 0 || !utf8.Valid(b[:min(len(b), 256)]))
}

type reader struct {
	Record
	o      Options
	layout layout
}

func (r *reader) leftText() string {
	if len(r.Left) == 0 {
		return ""
	}
	return fmt.Sprintf(" (left out: %s, %d)", r.Left[0].Rule, r.Left[0].Count)
}

// Words of what is left out.
const (
	leftEmpty    = "readings without a value"
	leftRange    = "readings that no meter can have"
	leftBackward = "readings whose time is not after the one before"
)

// add takes a reading, or counts it among those left out.
func (r *reader) add(line int64, at model.Time, watts float64) error {
	power, _ := traces.RangeOf("power")
	example := fmt.Sprintf("line %d", line)
	switch {
	case !(watts > -power.MostOfNode && watts < power.MostOfNode): // also no number
		r.Left.Add(leftRange, example, 1)
	case len(r.Times) > 0 && at <= r.Times[len(r.Times)-1]:
		r.Left.Add(leftBackward, example, 1)
	case len(r.Times) == MostSamples:
		return &traces.DataError{Line: line, Found: fmt.Sprintf("more than %d readings", MostSamples), Expected: "at most so many", Mend: "cut the file to the time of interest"}
	default:
		r.Times, r.Watts = append(r.Times, at), append(r.Watts, watts)
	}
	return nil
}

// lines hands over each line that is not empty. A last line that was cut off is left out and counted.
func (r *reader) lines(text []byte, take func(line int64, text string) error) error {
	number := int64(0)
	for raw := range bytes.Lines(text) {
		number++
		whole := bytes.HasSuffix(raw, []byte("\n"))
		if len(raw) > mostLine {
			return &traces.DataError{Line: number, Found: fmt.Sprintf("a line of %d bytes", len(raw)), Expected: "lines of time and watts"}
		}
		one := string(bytes.TrimSpace(raw))
		if one == "" || one == "," {
			continue
		}
		if err := take(number, one); err != nil {
			if !whole && number > 2 {
				r.Left.Add("last line, cut off", fmt.Sprintf("line %d", number), 1)
				continue
			}
			return err
		}
	}
	return nil
}

const mostLine = 1 << 16
