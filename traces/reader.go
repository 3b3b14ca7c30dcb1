package traces

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"orrery/scheduler/model"
)

// tableReader is one open Parquet file whose columns fit the table's fields.
type tableReader[R any] struct {
	path   string
	fields []field[R]
	at     []int // column index in the file of each field, -1 when it lacks it
	osfile *os.File
	file   *parquet.File
}

func openTable[R any](name, path string, fields []field[R]) (t *tableReader[R], err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	defer guard(path, "in the footer", &err)
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(f, st.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(1<<17))
	if err != nil {
		return nil, corrupt(path, "in the footer", err)
	}
	t = &tableReader[R]{path: path, fields: fields, osfile: f, file: file}
	t.at = make([]int, len(fields))
	for i := range fields {
		t.at[i] = -1
		if leaf, ok := file.Schema().Lookup(fields[i].Name); ok {
			t.at[i] = leaf.ColumnIndex
		}
	}
	return t, nil
}

func (t *tableReader[R]) close() error { return t.osfile.Close() }

func (t *tableReader[R]) content() string {
	s, _ := t.file.Lookup(keyContent)
	return s
}

func (t *tableReader[R]) meta() (Meta, error) {
	get := func(key string) string { s, _ := t.file.Lookup(key); return s }
	num := func(key string) int64 {
		n, _ := strconv.ParseInt(get(key), 10, 64)
		return n
	}
	return Meta{
		Source: get(keySource), Epoch: model.Time(num(keyEpoch)), EpochKnown: get(keyEpochKnown) == "true",
		TimeZone: get(keyTimeZone), MaxProcs: int32(num(keyMaxProcs)), MaxNodes: int32(num(keyMaxNodes)),
		Sorted: get(keySorted) == "true", Recipe: get(keyRecipe), Import: get(keyImport),
	}, nil
}

// rows iterates over whole rows.
func (t *tableReader[R]) rows(epoch model.Time) iter.Seq2[*R, error] {
	return func(yield func(*R, error) bool) {
		buf := make([]parquet.Row, 64)
		for _, g := range t.file.RowGroups() {
			rows := g.Rows()
			for {
				n, err := readRows(t.path, rows, buf)
				for _, row := range buf[:n] {
					r := new(R)
					t.fill(r, row, epoch)
					if !yield(r, nil) {
						_ = rows.Close()
						return
					}
				}
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					_ = rows.Close()
					yield(nil, err)
					return
				}
			}
			_ = rows.Close()
		}
	}
}

func readRows(path string, rows parquet.Rows, buf []parquet.Row) (n int, err error) {
	defer guard(path, "in a page", &err)
	n, err = rows.ReadRows(buf)
	if err != nil && !errors.Is(err, io.EOF) {
		err = corrupt(path, "in a page", err)
	}
	return n, err
}

func (t *tableReader[R]) fill(r *R, row parquet.Row, epoch model.Time) {
	for i := range t.fields {
		f := &t.fields[i]
		c := cell{null: true}
		if k := t.at[i]; k >= 0 {
			c = toCell(f.Type, row[k], epoch)
		}
		f.store(r, c)
	}
}

func toCell(typ ColumnType, v parquet.Value, epoch model.Time) cell {
	if v.IsNull() {
		return cell{null: true}
	}
	switch typ {
	case String:
		return cell{s: string(v.ByteArray())}
	case Double:
		return cell{n: int64(math.Float64bits(v.Double()))}
	case Bool:
		return cell{n: boolBit(v.Boolean())}
	case Int32:
		return cell{n: int64(v.Int32())}
	case Timestamp:
		return cell{n: relative(v.Int64(), epoch)}
	}
	return cell{n: v.Int64()}
}

var errClosed = fmt.Errorf("the trace source is closed")
