package record

import (
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

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

// arrowTypes are those of the columns.
var arrowTypes = map[kind]arrow.DataType{
	kindInt32: arrow.PrimitiveTypes.Int32, kindInt64: arrow.PrimitiveTypes.Int64, kindTime: arrow.FixedWidthTypes.Timestamp_us,
	kindFloat: arrow.PrimitiveTypes.Float64, kindText: arrow.BinaryTypes.String, kindWord: arrow.BinaryTypes.String,
}

// arrowSchema are the columns and the metadata of a table.
func (t *tableFile) arrowSchema() *arrow.Schema {
	var fields []arrow.Field
	for _, f := range t.fields {
		fields = append(fields, arrow.Field{Name: f.name, Type: arrowTypes[f.kind], Nullable: f.optional})
	}
	var keys, values []string
	for _, k := range []string{keySchema, keyEpoch, keySpec} {
		if v, ok := t.file.Lookup(k); ok {
			keys, values = append(keys, k), append(values, v)
		}
	}
	with := arrow.NewMetadata(keys, values)
	return arrow.NewSchema(fields, &with)
}

func (t *tableFile) exportArrow(w io.Writer) error {
	schema := t.arrowSchema()
	out, err := ipc.NewFileWriter(&positioned{w: w}, ipc.WithSchema(schema), ipc.WithAllocator(memory.NewGoAllocator()))
	if err != nil {
		return err
	}
	batch := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	defer batch.Release()
	err = t.scan(nil, func(v []vector, _ int) error {
		for i := range t.fields {
			if err := t.fill(batch.Field(i), i, &v[i]); err != nil {
				return err
			}
		}
		rows := batch.NewRecord()
		defer rows.Release()
		return out.Write(rows)
	})
	if err != nil {
		return err
	}
	return out.Close()
}

// fill appends a decoded column to the batch.
func (t *tableFile) fill(b array.Builder, i int, v *vector) error {
	f := t.fields[i]
	switch b := b.(type) {
	case *array.Int32Builder:
		b.AppendValues(v.i32, present(v.i32, math.MinInt32, f.optional))
	case *array.Int64Builder:
		b.AppendValues(v.i64, present(v.i64, math.MinInt64, f.optional))
	case *array.TimestampBuilder:
		instants := make([]arrow.Timestamp, len(v.i64))
		for k, at := range v.i64 {
			instants[k] = arrow.Timestamp(at)
		}
		b.AppendValues(instants, present(v.i64, math.MinInt64, f.optional))
	case *array.Float64Builder:
		valid := make([]bool, len(v.f64))
		for k, x := range v.f64 {
			valid[k] = !math.IsNaN(x)
		}
		b.AppendValues(v.f64, valid)
	case *array.StringBuilder:
		texts, valid := t.texts(i, v)
		bytes := 0
		for _, s := range texts {
			bytes += len(s)
		}
		if bytes > math.MaxInt32 {
			return fmt.Errorf("record: more than 2 GiB of text in %d rows", len(texts))
		}
		b.AppendValues(texts, valid)
	}
	return nil
}

// texts are those of a column of words or texts, with nodes by their names; valid says which are there, nil that all are.
func (t *tableFile) texts(i int, v *vector) (texts []string, valid []bool) {
	f := t.fields[i]
	if f.kind == kindWord {
		texts, valid = make([]string, len(v.i32)), make([]bool, len(v.i32))
		for k, c := range v.i32 {
			if c >= 0 {
				texts[k], valid[k] = t.words[i].list[c], true
			}
		}
		return texts, valid
	}
	texts = v.text
	if t.names != nil && f.nodes {
		texts = make([]string, len(v.text))
		for k := range texts {
			texts[k] = t.nodesIn(i, v.text[k])
		}
	}
	return texts, present(texts, "", f.optional)
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

// positioned is a writer that knows its position, which is all that the library asks of one that can seek: the
// output may be a pipe.
type positioned struct {
	w   io.Writer
	pos int64
}

// Write implements io.Writer.
func (p *positioned) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.pos += int64(n)
	return n, err
}

// Seek implements io.Seeker as far as it moves nothing.
func (p *positioned) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, fmt.Errorf("record: seeking in the output of an export")
	}
	return p.pos, nil
}
