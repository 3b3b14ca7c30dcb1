package record

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// Tables lists the tables that a run directory may hold.
func Tables() []string {
	return []string{TableJobs, TableAttempts, TableSeries, TableFacts, TableTenants, TableVClusters, TableShares, TableDecisions}
}

// exported opens a table for export, with nodes by their names.
func exported(dir, table string) (*tableFile, error) {
	names, err := namesOf(dir)
	if err != nil {
		return nil, err
	}
	t, err := opened(dir, table)
	if err == nil {
		t.names = names
	}
	return t, err
}

// opened opens a table of a directory.
func opened(dir, table string) (*tableFile, error) {
	if !slices.Contains(Tables(), table) {
		return nil, fmt.Errorf("no table %q in a run directory: choose one of %s", table, strings.Join(Tables(), ", "))
	}
	path := filepath.Join(dir, table+".parquet")
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("exporting table %s: %w", table, err)
	}
	return openTable(path, table)
}

// ExportCSV writes a table of the run directory dir as CSV: a header row, then
// one line per row in the order of the file. Instants are RFC 3339 in UTC with
// six digits after the second, spans and sums stay integers of the unit that
// RESULT-FORMAT.md names, nodes are named as hostlists where the run has names, and
// a missing value is an empty cell. Memory is that of one row group.
func ExportCSV(dir, table string, w io.Writer) error {
	t, err := exported(dir, table)
	if err != nil {
		return err
	}
	defer t.Close()
	return t.exportCSV(w)
}

// ExportNumbersCSV is ExportCSV with the numbers of nodes, as the table has them.
func ExportNumbersCSV(dir, table string, w io.Writer) error {
	t, err := opened(dir, table)
	if err != nil {
		return err
	}
	defer t.Close()
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
			return appendQuoted(dst, t.words[i].list[c])
		}
	case kindText:
		return appendQuoted(dst, t.nodesIn(i, v.text[row]))
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
	schema := t.arrowSchema()
	out, err := ipc.NewFileWriter(&seeker{w: w}, ipc.WithSchema(schema), ipc.WithAllocator(memory.DefaultAllocator))
	if err != nil {
		return fmt.Errorf("exporting table %s: %w", table, err)
	}
	rows := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer rows.Release()
	err = t.scan(nil, func(v []vector, n int) error {
		for i := range t.fields {
			t.fill(rows.Field(i), i, &v[i])
		}
		rec := rows.NewRecord()
		defer rec.Release()
		return out.Write(rec)
	})
	if err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("exporting table %s: %w", table, err)
	}
	return nil
}

func (t *tableFile) arrowSchema() *arrow.Schema {
	types := map[kind]arrow.DataType{
		kindInt32: arrow.PrimitiveTypes.Int32,
		kindInt64: arrow.PrimitiveTypes.Int64,
		kindTime:  &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
		kindWord:  arrow.BinaryTypes.String,
		kindText:  arrow.BinaryTypes.String,
		kindFloat: arrow.PrimitiveTypes.Float64,
	}
	var fields []arrow.Field
	for _, f := range t.fields {
		fields = append(fields, arrow.Field{Name: f.name, Type: types[f.kind], Nullable: f.optional})
	}
	var keys, values []string
	for _, k := range []string{keySchema, keyEpoch, keySpec} {
		if v, ok := t.file.Lookup(k); ok {
			keys, values = append(keys, k), append(values, v)
		}
	}
	md := arrow.NewMetadata(keys, values)
	return arrow.NewSchema(fields, &md)
}

// fill appends a decoded column to its builder.
func (t *tableFile) fill(b array.Builder, i int, v *vector) {
	optional := t.fields[i].optional
	switch b := b.(type) {
	case *array.Int32Builder:
		b.AppendValues(v.i32, present(v.i32, math.MinInt32, optional))
	case *array.Int64Builder:
		b.AppendValues(v.i64, present(v.i64, math.MinInt64, optional))
	case *array.TimestampBuilder:
		ts := make([]arrow.Timestamp, len(v.i64))
		for k, x := range v.i64 {
			ts[k] = arrow.Timestamp(x)
		}
		b.AppendValues(ts, present(v.i64, math.MinInt64, optional))
	case *array.Float64Builder:
		for _, x := range v.f64 {
			if b.Append(x); math.IsNaN(x) {
				b.SetNull(b.Len() - 1)
			}
		}
	case *array.StringBuilder:
		if t.fields[i].kind == kindText {
			texts := v.text
			if t.names != nil && t.fields[i].nodes {
				texts = make([]string, len(v.text))
				for k := range texts {
					texts[k] = t.nodesIn(i, v.text[k])
				}
			}
			b.AppendValues(texts, present(texts, "", optional))
			return
		}
		for _, c := range v.i32 {
			if c < 0 {
				b.AppendNull()
				continue
			}
			b.Append(t.words[i].list[c])
		}
	}
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

// seeker lets the IPC writer, which only asks where it is, write to a pipe.
type seeker struct {
	w   io.Writer
	pos int64
}

// Write implements io.Writer.
func (s *seeker) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.pos += int64(n)
	return n, err
}

// Seek implements io.Seeker for the question where the writer is.
func (s *seeker) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, fmt.Errorf("record: a stream cannot seek to %d", offset)
	}
	return s.pos, nil
}
