package compare

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"orrery/internal/doc"
	"orrery/scheduler/model"
	"orrery/sim/record"
)

// ScheduleComparison says where a run differs from a schedule made elsewhere.
type ScheduleComparison struct {
	Jobs      int64          `json:"jobs"`      // in the schedule, or started in the run
	Differing int64          `json:"differing"` // whose start is another, or that only one of the two started
	Submits   int64          `json:"submits"`   // jobs whose submission differs: a sign of another log
	First     []ScheduleDiff `json:"first"`     // the first differing jobs by id, at most 20
}

// ScheduleDiff is one job that starts at different times.
type ScheduleDiff struct {
	ID       int64      `json:"id"`
	Schedule model.Time `json:"schedule_us"` // model.AbsentTime when it never started or is not there
	Run      model.Time `json:"run_us"`
}

// mostScheduleDiffs is the number of differing jobs that are named.
const mostScheduleDiffs = 20

// Schedule compares the starts of the run in dir with those of a CSV
// file, plain or gzipped, with a header row and the columns job_id and start;
// submit is looked at where it is there, other columns are ignored. Times are
// seconds since the trace's epoch and may have up to six decimals; they must
// agree to the microsecond. An empty start is a job that never started.
//
// Complaints about the content of either are *record.DataError; those about
// the CSV file name the line. Memory is 32 bytes per job of the schedule.
func Schedule(dir, csvPath string) (*ScheduleComparison, error) {
	run, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	rows, err := readSchedule(csvPath)
	if err != nil {
		return nil, err
	}
	c := &ScheduleComparison{Jobs: int64(len(rows))}
	err = run.Scan(func(j *record.Columns) error {
		for i, id := range j.ID {
			k, found := slices.BinarySearchFunc(rows, id, func(r scheduled, id int64) int { return cmp.Compare(r.id, id) })
			if !found {
				if j.Start[i] != record.Absent {
					c.Jobs++
					c.differ(id, record.Absent, j.Start[i])
				}
				continue
			}
			r := &rows[k]
			if r.seen {
				return &record.DataError{File: dir, Column: "id", Row: -1, Found: fmt.Sprintf("job %d twice", id), Expected: "distinct ids", Mend: "such a run cannot be compared with a schedule by id"}
			}
			r.seen = true
			if r.submit != record.Absent && r.submit != j.Submit[i] {
				c.Submits++
			}
			if r.start != j.Start[i] {
				c.differ(id, r.start, j.Start[i])
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if !rows[i].seen && rows[i].start != record.Absent {
			c.differ(rows[i].id, rows[i].start, record.Absent)
		}
	}
	return c, nil
}

// differ counts a job and keeps it while it is among the first by id.
func (c *ScheduleComparison) differ(id, schedule, run int64) {
	c.Differing++
	d := ScheduleDiff{ID: id, Schedule: model.Time(schedule), Run: model.Time(run)}
	k, _ := slices.BinarySearchFunc(c.First, d, func(a, b ScheduleDiff) int { return cmp.Compare(a.ID, b.ID) })
	if k >= mostScheduleDiffs {
		return
	}
	c.First = slices.Insert(c.First, k, d)
	c.First = c.First[:min(len(c.First), mostScheduleDiffs)]
}

// Table shows the first differing jobs.
func (c *ScheduleComparison) Table() *doc.Table {
	t := doc.New("job", "start in schedule", "start in run", "moved")
	for _, d := range c.First {
		t.Row(d.ID, instant(d.Schedule), instant(d.Run), moved(d))
	}
	return t
}

func instant(at model.Time) doc.Cell {
	if at == model.AbsentTime {
		return doc.Cell{}
	}
	return doc.Quantity(at.String(), model.Duration(at).Seconds())
}

func moved(d ScheduleDiff) doc.Cell {
	if d.Schedule == model.AbsentTime || d.Run == model.AbsentTime {
		return doc.Cell{}
	}
	by := d.Run.Sub(d.Schedule)
	if by > 0 {
		return span(by, "+")
	}
	return span(by, "")
}

// scheduled is one row of a schedule; record.Absent marks what is not stated.
type scheduled struct {
	id, submit, start int64
	seen              bool
}

// readSchedule reads the file and sorts it by id.
func readSchedule(path string) ([]scheduled, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading schedule: %w", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	var text io.Reader = in
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, scheduleError(path, 0, "", "damaged gzip data ("+err.Error()+")", "a CSV file, plain or gzipped")
		}
		text = z
	}
	r := csv.NewReader(&lines{r: text})
	r.ReuseRecord = true
	r.TrimLeadingSpace = true
	s := scheduleReader{path: path, csv: r}
	if err := s.header(); err != nil {
		return nil, err
	}
	rows, err := s.rows()
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(rows, func(a, b scheduled) int { return cmp.Compare(a.id, b.id) })
	for i := 1; i < len(rows); i++ {
		if rows[i].id == rows[i-1].id {
			return nil, scheduleError(path, 0, "job_id", fmt.Sprintf("job %d twice", rows[i].id), "each job once")
		}
	}
	return rows, nil
}

// mostLine is how long a line of a schedule may be.
const mostLine = 1 << 20

// lines refuses text whose lines have no end, which would be collected in memory.
type lines struct {
	r     io.Reader
	since int // bytes after the last newline
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for i, b := range p[:n] {
		if l.since++; b == '\n' {
			l.since = 0
		}
		if l.since > mostLine {
			return i, fmt.Errorf("a line of more than %d bytes", mostLine)
		}
	}
	return n, err
}

func scheduleError(path string, line int, column, found, expected string) *record.DataError {
	if line > 0 {
		path += ":" + strconv.Itoa(line)
	}
	return &record.DataError{
		File: path, Column: column, Row: -1, Found: found, Expected: expected,
		Mend: "write a header job_id,submit,start,end,procs and one row per job, times in seconds",
	}
}

type scheduleReader struct {
	path              string
	csv               *csv.Reader
	id, submit, start int // places of the columns, -1 when missing
}

// next reads one record; its errors name the line.
func (s *scheduleReader) next() ([]string, error) {
	rec, err := s.csv.Read()
	var parse *csv.ParseError
	switch {
	case err == nil, errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return rec, err
	case errors.As(err, &parse):
		return nil, scheduleError(s.path, parse.Line, "", parse.Err.Error(), "as many fields as the header has")
	}
	return nil, scheduleError(s.path, 0, "", "text that ends early or cannot be read ("+err.Error()+")", "a whole CSV file, plain or gzipped")
}

func (s *scheduleReader) header() error {
	rec, err := s.next()
	if errors.Is(err, io.EOF) {
		return scheduleError(s.path, 0, "", "an empty file", "a header row")
	}
	if err != nil {
		return err
	}
	find := func(name string) int {
		return slices.IndexFunc(rec, func(f string) bool {
			return strings.EqualFold(strings.TrimSpace(strings.TrimPrefix(f, "\ufeff")), name)
		})
	}
	s.id, s.submit, s.start = find("job_id"), find("submit"), find("start")
	if s.id < 0 || s.start < 0 {
		return scheduleError(s.path, 1, "", fmt.Sprintf("the header %q", strings.Join(rec, ",")), "a header with job_id and start")
	}
	return nil
}

func (s *scheduleReader) rows() ([]scheduled, error) {
	var out []scheduled
	for {
		rec, err := s.next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		row := scheduled{submit: record.Absent}
		line := func(field int) int { l, _ := s.csv.FieldPos(field); return l }
		if row.id, err = strconv.ParseInt(strings.TrimSpace(rec[s.id]), 10, 64); err != nil {
			return nil, scheduleError(s.path, line(s.id), "job_id", fmt.Sprintf("%q", rec[s.id]), "a whole number")
		}
		if s.submit >= 0 {
			if row.submit, err = parseSeconds(rec[s.submit]); err != nil {
				return nil, scheduleError(s.path, line(s.submit), "submit", fmt.Sprintf("%q", rec[s.submit]), err.Error())
			}
		}
		if row.start, err = parseSeconds(rec[s.start]); err != nil {
			return nil, scheduleError(s.path, line(s.start), "start", fmt.Sprintf("%q", rec[s.start]), err.Error())
		}
		out = append(out, row)
	}
}

var errSeconds = errors.New("seconds like 12 or 12.5, with at most six decimals, or nothing")

// parseSeconds reads a decimal number of seconds as exact microseconds;
// nothing is record.Absent.
func parseSeconds(s string) (int64, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return record.Absent, nil
	}
	whole, frac, _ := strings.Cut(s, ".")
	frac = strings.TrimRight(frac, "0")
	digits := strings.TrimPrefix(whole, "-")
	if digits == "" || len(frac) > 6 || strings.Trim(digits+frac, "0123456789") != "" {
		return 0, errSeconds
	}
	sec, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || sec > math.MaxInt64/1_000_000-1 {
		return 0, errSeconds
	}
	us, _ := strconv.ParseInt((frac + "000000")[:6], 10, 64)
	us += sec * 1_000_000
	if digits != whole {
		us = -us
	}
	return us, nil
}
