package record

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tables lists the tables that a run directory may hold.
func Tables() []string {
	return []string{TableJobs, TableAttempts, TableSeries, TableFacts, TableTenants, TableVClusters, TableShares, TableDecisions, TablePower}
}

// exported opens a table for export, with nodes by their names.
func exported(dir, table string) (*tableFile, error) {
	if !slices.Contains(Tables(), table) {
		return nil, fmt.Errorf("no table %q in a run directory: choose one of %s", table, strings.Join(Tables(), ", "))
	}
	m, err := manifestOf(dir)
	if err != nil {
		return nil, err
	}
	names, err := m.names()
	if err != nil {
		return nil, err
	}
	t, err := openTable(m, table)
	if err != nil {
		return nil, fmt.Errorf("exporting: %w", err)
	}
	t.names = names
	return t, nil
}

// ExportCSV writes a table of the run directory dir as CSV: a header row, then
// one line per row in the order of the file. Instants are RFC 3339 in UTC with
// six digits after the second, spans and sums stay integers of the unit that
// RESULT-FORMAT.md names, nodes are named as hostlists where the run has names, and
// a missing value is an empty cell. Texts pass through safe, if it is not nil. Memory is that of one row group.
func ExportCSV(dir, table string, safe func(string) string, w io.Writer) error {
	t, err := exported(dir, table)
	if err != nil {
		return err
	}
	defer t.Close()
	t.safe = safe
	return t.exportCSV(w)
}

func (t *tableFile) exportCSV(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	for i, f := range t.fields {
		line = append(line, ',')
		line = append(line, f.name...)
		if i == 0 {
			line = line[1:]
		}
	}
	if _, err := out.Write(append(line, '\n')); err != nil {
		return err
	}
	err := t.scan(nil, func(v []vector, n int) error {
		for row := range n {
			line = line[:0]
			for i := range t.fields {
				if i > 0 {
					line = append(line, ',')
				}
				line = t.appendCell(line, i, &v[i], row)
			}
			if _, err := out.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// text is a text as it is exported.
func (t *tableFile) text(s string) string {
	if t.safe == nil {
		return s
	}
	return t.safe(s)
}

// appendCell appends a value as CSV.
func (t *tableFile) appendCell(dst []byte, i int, v *vector, row int) []byte {
	switch t.fields[i].kind {
	case kindInt32:
		if x := v.i32[row]; x != math.MinInt32 || !t.fields[i].optional {
			return strconv.AppendInt(dst, int64(x), 10)
		}
	case kindInt64:
		if x := v.i64[row]; x != math.MinInt64 || !t.fields[i].optional {
			return strconv.AppendInt(dst, x, 10)
		}
	case kindTime:
		if x := v.i64[row]; x != math.MinInt64 || !t.fields[i].optional {
			return time.UnixMicro(x).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000000Z07:00")
		}
	case kindFloat:
		if x := v.f64[row]; !math.IsNaN(x) {
			return strconv.AppendFloat(dst, x, 'g', -1, 64)
		}
	case kindWord:
		if c := v.i32[row]; c >= 0 {
			return appendQuoted(dst, t.text(t.words[i].list[c]))
		}
	case kindText:
		return appendQuoted(dst, t.text(t.nodesIn(i, v.text[row])))
	}
	return dst
}

// nodesIn is a text of column i, by the names of nodes where it is a set of them.
func (t *tableFile) nodesIn(i int, text string) string {
	if t.names == nil || !t.fields[i].nodes {
		return text
	}
	return t.names.Of(text)
}

// appendQuoted appends text as a cell, in quotes only where RFC 4180 asks for
// them.
func appendQuoted(dst []byte, s string) []byte {
	if !strings.ContainsAny(s, ",\"\r\n") {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(s, `"`, `""`)...)
	return append(dst, '"')
}
