package record

import (
	"bufio"
	"encoding/binary"
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
	return []string{TableJobs, TableAttempts, TableSeries, TableFacts, TableTenants, TableVClusters, TableShares, TableDecisions}
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

// ExportArrow writes a table of the run directory dir as an uncompressed Arrow
// IPC file, which readers can map without copying: one record batch per row
// group, instants as timestamp[us, UTC], texts as utf8, nodes as ExportCSV names
// them, missing values as null, and the metadata of the table. Memory is that of a few row groups.
func ExportArrow(dir, table string, w io.Writer) error {
	t, err := exported(dir, table)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := t.exportArrow(w); err != nil {
		return fmt.Errorf("exporting table %s: %w", table, err)
	}
	return nil
}

func (t *tableFile) exportArrow(w io.Writer) error {
	a := &arrowWriter{w: w}
	for _, f := range t.fields {
		a.columns = append(a.columns, arrowColumn{f.name, f.kind, f.optional})
	}
	for _, k := range []string{keySchema, keyEpoch, keySpec} {
		if v, ok := t.file.Lookup(k); ok {
			a.keys = append(a.keys, [2]string{k, v})
		}
	}
	if err := a.begin(); err != nil {
		return err
	}
	err := t.scan(nil, func(v []vector, n int) error {
		for i := range t.fields {
			if err := t.fill(a, i, &v[i]); err != nil {
				return err
			}
		}
		return a.batch(n)
	})
	if err != nil {
		return err
	}
	return a.end()
}

// fill appends a decoded column to the batch.
func (t *tableFile) fill(a *arrowWriter, i int, v *vector) error {
	switch f := t.fields[i]; f.kind {
	case kindInt32:
		a.column(len(v.i32), present(v.i32, math.MinInt32, f.optional))
		a.buffer(numbers(v.i32, binary.LittleEndian.AppendUint32, func(x int32) uint32 { return uint32(x) }))
	case kindInt64, kindTime:
		a.column(len(v.i64), present(v.i64, math.MinInt64, f.optional))
		a.buffer(numbers(v.i64, binary.LittleEndian.AppendUint64, func(x int64) uint64 { return uint64(x) }))
	case kindFloat:
		valid := make([]bool, len(v.f64))
		for k, x := range v.f64 {
			valid[k] = !math.IsNaN(x)
		}
		a.column(len(v.f64), valid)
		a.buffer(numbers(v.f64, binary.LittleEndian.AppendUint64, math.Float64bits))
	case kindText:
		texts := v.text
		if t.names != nil && f.nodes {
			texts = make([]string, len(v.text))
			for k := range texts {
				texts[k] = t.nodesIn(i, v.text[k])
			}
		}
		a.column(len(texts), present(texts, "", f.optional))
		return a.texts(texts)
	default: // kindWord
		texts, valid := make([]string, len(v.i32)), make([]bool, len(v.i32))
		for k, c := range v.i32 {
			if c >= 0 {
				texts[k], valid[k] = t.words[i].list[c], true
			}
		}
		a.column(len(texts), valid)
		return a.texts(texts)
	}
	return nil
}

// numbers are the values of a column as bytes.
func numbers[T, B any](vals []T, add func([]byte, B) []byte, bits func(T) B) []byte {
	out := make([]byte, 0, 8*len(vals))
	for _, x := range vals {
		out = add(out, bits(x))
	}
	return out
}

// present says which values are there; nil means all.
func present[T comparable](vals []T, missing T, optional bool) []bool {
	if !optional {
		return nil
	}
	valid := make([]bool, len(vals))
	for i, x := range vals {
		valid[i] = x != missing
	}
	return valid
}
