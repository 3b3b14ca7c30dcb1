package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"orrery/internal/doc"
	"orrery/scheduler/model"
	"orrery/traces"
)

// tableOf is the table that a verb shows: the one asked for, jobs where there are any,
// else the first that there is.
func tableOf(t *trace, asked string) (string, error) {
	var there []string
	for _, r := range t.info.Tables {
		there = append(there, r.Table)
	}
	switch {
	case asked == "" && len(there) > 0:
		return there[0], nil
	case asked == "":
		return "jobs", nil
	case !slices.Contains(traces.TableNames(), asked):
		return "", usagef("--table %s: no table of a trace, want one of %s", asked, strings.Join(traces.TableNames(), ", "))
	case !slices.Contains(there, asked):
		return "", input(&traces.DataError{File: t.label, Found: "no table " + asked, Expected: "one of " + strings.Join(there, ", "), Mend: "name another with --table"})
	}
	return asked, nil
}

// header are the columns of any table, with the unit where there is one.
func header(columns []traces.Column) *doc.Table {
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	t := doc.New(names...)
	for _, c := range columns {
		if c.Type == traces.Timestamp || spanColumn(&c) {
			t.Key(c.Name, c.Name+"_us")
		}
	}
	return t
}

// spanColumn says whether a column holds spans, in µs.
func spanColumn(c *traces.Column) bool { return c.Type == traces.Int64 && c.Unit == "µs" }

// cells are the values of a row for a screen.
func cells(columns []traces.Column, row []traces.Value) []any {
	out := make([]any, len(row))
	for i, v := range row {
		c := &columns[i]
		switch {
		case v.Null:
		case c.Type == traces.String:
			out[i] = v.Text
		case c.Type == traces.Double:
			out[i] = v.Real()
		case c.Type == traces.Bool:
			out[i] = v.Number != 0
		case c.Type == traces.Timestamp:
			out[i] = doc.Quantity(model.Time(v.Number).String(), v.Number)
		case spanColumn(c):
			out[i] = doc.Quantity(model.Duration(v.Number).String(), v.Number)
		default:
			out[i] = v.Number
		}
	}
	return out
}

// exportTable writes a table as CSV: instants in UTC, spans in µs, nothing for a null.
func exportTable(w io.Writer, b *traces.Bundle, name string, watch func() error) (rows int64, err error) {
	columns := traces.Columns(name)
	out := csv.NewWriter(w)
	record := make([]string, len(columns))
	for i, c := range columns {
		record[i] = c.Name
		if spanColumn(&c) {
			record[i] += "_us"
		}
	}
	if err := out.Write(record); err != nil {
		return 0, err
	}
	epoch := b.Meta().Epoch
	for row, err := range b.Values(name) {
		if err == nil && rows%4096 == 0 {
			err = watch()
		}
		if err != nil {
			return rows, err
		}
		for i, v := range row {
			record[i] = cellText(&columns[i], v, epoch)
		}
		if err := out.Write(record); err != nil {
			return rows, err
		}
		rows++
	}
	out.Flush()
	return rows, out.Error()
}

// cellText is one value as text.
func cellText(c *traces.Column, v traces.Value, epoch model.Time) string {
	switch {
	case v.Null:
		return ""
	case c.Type == traces.String:
		return v.Text
	case c.Type == traces.Double:
		return strconv.FormatFloat(v.Real(), 'g', -1, 64)
	case c.Type == traces.Bool:
		return strconv.FormatBool(v.Number != 0)
	case c.Type == traces.Timestamp:
		return time.UnixMicro(v.Number + int64(epoch)).UTC().Format("2006-01-02T15:04:05.999999Z")
	}
	return strconv.FormatInt(v.Number, 10)
}

// needsJobs refuses a trace without jobs, for verbs that replay.
func (t *trace) needsJobs() error {
	if t.info.Rows > 0 || len(t.info.Tables) == 0 {
		return nil
	}
	var there []string
	for _, r := range t.info.Tables {
		there = append(there, fmt.Sprintf("%s (%d rows)", r.Table, r.Rows))
	}
	return input(&traces.DataError{File: t.label, Found: "no jobs, but " + strings.Join(there, ", "), Expected: "a trace with jobs, which a replay needs",
		Mend: "look at it with orrery trace head, or unite it with a trace of jobs: orrery trace transform JOBS --step \"merge with=" + t.path + "\" --out BOTH.trace"})
}
