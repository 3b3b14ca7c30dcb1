package swf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

// Opener opens the log, decompressed, from its start. It is called twice: the
// epoch and the order of rows are known only when all of the log was seen.
type Opener func() (io.ReadCloser, error)

// absoluteFrom tells instants since 1970 from those since the start of a log:
// a log whose first submission is past this second would be 31 years long.
const absoluteFrom = 1_000_000_000

// Log is an SWF file that has been read through once and judged row by row.
type Log struct {
	name    string
	open    Opener
	header  header
	dialect dialect
	report  traces.Report

	bad       traces.Unreadable
	unread    traces.Rule // those
	dropped   [len(dropNames)]traces.Rule
	repaired  [len(repairNames)]traces.Rule
	minSubmit int64 // of the kept rows, µs as written
	kept      int64
}

// Scan reads the log called name through. It answers a DataError, with the
// line, when the file is no SWF log, when more lines than the limit allows are not
// numbers of the types of their fields, and when no row can be kept. It keeps no rows: memory is
// bounded whatever the file holds.
func Scan(name string, open Opener, limit traces.BadRows) (*Log, error) {
	l := &Log{name: name, open: open, bad: traces.Unreadable{Limit: limit}}
	last := int64(model.AbsentTime)
	err := l.each(true, func(n int64, line []byte, r *record) error {
		l.report.Read++
		why, repairs := r.judge()
		if why != keep {
			tally(&l.dropped[why], dropNames[why], n, r, dropField[why])
			return nil
		}
		if repairs != 0 {
			l.countRepairs(n, repairs, r)
		}
		submit := r.v[fSubmit]
		if submit < last {
			tally(&l.repaired[repairSorted], repairNames[repairSorted], n, r, fSubmit)
		}
		last = submit
		if l.kept == 0 || submit < l.minSubmit {
			l.minSubmit = submit
		}
		l.kept++
		return nil
	})
	if err == nil {
		l.report.Read += l.bad.Count()
		err = l.bad.Check(l.report.Read)
	}
	if err != nil {
		return nil, err
	}
	l.finish()
	if l.kept == 0 {
		return nil, l.noRows()
	}
	return l, nil
}

// each calls fn with every data line, in file order. headers says whether
// comment lines are read or skipped.
func (l *Log) each(headers bool, fn func(n int64, line []byte, r *record) error) error {
	f, err := l.open()
	if err != nil {
		return err
	}
	defer f.Close()
	var r record
	lines := newLineReader(l.name, f)
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		n, bad := r.parse(line)
		if n == 0 {
			continue
		}
		if comment := bytes.TrimLeft(line, " \t\r"); comment[0] == ';' {
			if !headers {
				continue
			}
			unread, err := l.header.add(l.name, lines.n, comment)
			if err != nil {
				return err
			}
			if unread != "" {
				h := &l.repaired[repairHeader]
				if h.Count++; h.Count == 1 {
					h.Rule, h.Example = repairNames[repairHeader], unread
				}
			}
			continue
		}
		if wrong := l.irregular(lines.n, line, n, bad, &r); wrong != nil {
			if err := l.leaveOut(wrong, headers); err != nil {
				return err
			}
			continue
		}
		if err := fn(lines.n, line, &r); err != nil {
			return err
		}
	}
}

// irregular judges a line that is not like those before it, nil when it is. The first data
// line of a log sets the dialect.
func (l *Log) irregular(n int64, line []byte, count int, bad *badField, r *record) error {
	var err error
	switch {
	case l.dialect == 0:
		err = checkLine(line, n)
		if err == nil {
			l.dialect = dialect(count)
			return l.irregular(n, line, count, bad, r)
		}
	case count != int(l.dialect):
		e := wrongCount(n, count, line)
		e.Expected = fmt.Sprintf("%d fields as on the lines before", l.dialect)
		err = e
	case bad != nil:
		err = wrongToken(n, bad)
	case l.dialect == theta:
		if _, ok := splitNumber(r.more[0]); !ok {
			err = &traces.DataError{Line: n, Column: "19 (carbon weight)", Found: excerpt(r.more[0]), Expected: "a number", Mend: "write 0 where a value is missing"}
		}
	}
	var data *traces.DataError
	if errors.As(err, &data) {
		data.File = l.name
	}
	return err
}

// leaveOut counts a line that cannot be read, or refuses the file for it: before the first line that can be read nothing says
// that it is such a log.
func (l *Log) leaveOut(wrong error, first bool) error {
	var data *traces.DataError
	if l.dialect == 0 || !errors.As(wrong, &data) {
		return wrong
	}
	if !first { // counted in the first reading
		return nil
	}
	if l.unread.Count++; l.unread.Count == 1 {
		place := format.Place{Line: data.Line, Name: data.Found}
		l.unread.Rule, l.unread.Example = traces.RuleUnreadable, place.String()
	}
	return l.bad.Add(data)
}

func (l *Log) countRepairs(n int64, repairs uint32, r *record) {
	for i := range numRepairs {
		if repairs&(1<<i) != 0 {
			tally(&l.repaired[i], repairNames[i], n, r, -1)
		}
	}
}

// tally adds a row to a rule; the first becomes its example, with the value of
// the field, which counts from 0, when there is one to show.
func tally(rule *traces.Rule, name string, n int64, r *record, field int) {
	if rule.Count++; rule.Count > 1 {
		return
	}
	rule.Rule = name
	rule.Example = fmt.Sprintf("line %d: job %d", n, r.v[fJob])
	if field >= 0 {
		rule.Example += fmt.Sprintf(", %s %s", fields[field].name, appendScaled(nil, r.v[field], scale[field]))
	}
}

// appendScaled writes v, which counts 1/unit, as a decimal number.
func appendScaled(b []byte, v, unit int64) []byte {
	if v < 0 {
		b, v = append(b, '-'), -v
	}
	b = strconv.AppendInt(b, v/unit, 10)
	if v%unit != 0 {
		fraction := strconv.AppendInt(nil, unit+v%unit, 10)
		fraction[0] = '.'
		b = append(b, bytes.TrimRight(fraction, "0")...)
	}
	return b
}

// finish makes the report of what was counted.
func (l *Log) finish() {
	l.report.File = l.name
	l.report.Format = l.dialect.format()
	l.report.Importer = fmt.Sprintf("%s %d", Name, Version)
	l.report.Kept = l.kept
	none := func(r traces.Rule) bool { return r.Count == 0 }
	l.report.Dropped = slices.DeleteFunc(append(slices.Clone(l.dropped[:]), l.unread), none)
	l.report.Repaired = slices.DeleteFunc(slices.Clone(l.repaired[:]), none)
	l.report.Tables = []traces.TableReport{{Table: "jobs", Read: l.report.Read, Kept: l.kept, Dropped: l.report.Dropped, Repaired: l.report.Repaired}}
}

// noRows says why nothing is left to replay.
func (l *Log) noRows() error {
	e := &traces.DataError{File: l.name, Expected: "a workload log with at least one row that can be kept",
		Mend: "fetch the file again, or name another log"}
	switch {
	case l.report.Read > 0:
		e.Found = fmt.Sprintf("%d rows, all dropped", l.report.Read)
		for _, d := range l.report.Dropped {
			e.Found += fmt.Sprintf("; %s: %d (first on %s)", d.Rule, d.Count, d.Example)
		}
	case l.header.bytes > 0:
		e.Found = "a header without rows"
	default:
		e.Found = "an empty file"
	}
	return e
}

// Report says what became of the rows.
func (l *Log) Report() traces.Report { return l.report }

// Sorted says whether the rows ascend by submission as they stand in the file.
func (l *Log) Sorted() bool { return l.repaired[repairSorted].Count == 0 }

// Absolute says whether field 2 counts from 1970 instead of from the start of
// the log.
func (l *Log) Absolute() bool { return l.minSubmit > absoluteFrom*scale[fSubmit] }

// epoch is the zero of the trace's clock, in seconds since 1970. A log with
// absolute instants starts at its UnixStartTime if that is not after the first
// submission, else at the first submission.
func (l *Log) epoch() int64 {
	start := l.header.unixStart
	if first := l.minSubmit / scale[fSubmit]; l.Absolute() && (start == 0 || start > first) {
		return first
	}
	return start
}

// imported is what a bundle keeps of its import, as JSON: the report, and the
// header lines as they stood.
type imported struct {
	traces.Report
	Absolute bool     `json:"absolute_times,omitempty"`
	Header   []string `json:"header,omitempty"`
}

// Meta is the metadata of the bundle to be written, with the report that it keeps. It names the file without
// its folder, so that the bundle does not depend on where the log lay.
func (l *Log) Meta(r traces.Report) (traces.Meta, error) {
	info := imported{Report: r, Absolute: l.Absolute(), Header: l.header.lines}
	info.File = filepath.Base(l.name)
	text, err := json.Marshal(info)
	if err != nil {
		return traces.Meta{}, fmt.Errorf("describing the import of %s: %w", l.name, err)
	}
	return traces.Meta{
		Source:     info.File,
		Epoch:      model.Time(l.epoch() * scale[fSubmit]),
		EpochKnown: l.epoch() != 0,
		TimeZone:   l.header.zone,
		MaxProcs:   l.header.maxProcs,
		MaxNodes:   l.header.maxNodes,
		Sorted:     true,
		Import:     string(text),
	}, nil
}
