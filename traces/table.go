package traces

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"orrery/internal/disk"
	_ "orrery/internal/pagebytes" // the same bytes on every CPU
	"orrery/scheduler/model"
)

const (
	// groupRows are the rows in a row group. Of these a writer holds what is compressed, which is little, and
	// both sides hold a kilobyte for each of the many columns of each group that there is.
	groupRows    = 256 << 10
	pageRows     = 64 << 10 // rows that a page has at most: a reader holds a page of each column
	batchRows    = 256      // rows handed to the library at a time
	maxDictBytes = 1 << 20  // a column with more distinct text than this is stored plain
)

// tableWriter writes one table. Memory is bounded by one row group.
type tableWriter[R any] struct {
	name   string
	dest   string // destination and table, for messages
	epoch  model.Time
	fields []field[R]
	file   *disk.File
	buf    *bufio.Writer
	sealed *sealing
	out    *parquet.GenericWriter[any]
	hash   tableHash
	values [][]parquet.Value // by column: rows not yet handed to the library
}

func newTableWriter[R any](root *disk.Root, name, dest, path string, fields []field[R]) (*tableWriter[R], error) {
	f, err := root.NewFile(path)
	if err != nil {
		return nil, err
	}
	t := &tableWriter[R]{
		name: name, dest: dest + " (" + name + ")", fields: fields, file: f, buf: bufio.NewWriterSize(f, 1<<18),
		hash:   tableHash{columns: make([]columnHash, len(fields))},
		values: make([][]parquet.Value, len(fields)),
	}
	for i := range t.values {
		t.values[i] = make([]parquet.Value, 0, batchRows)
	}
	t.sealed = &sealing{w: t.buf, sum: sha256.New()}
	t.out = parquet.NewGenericWriter[any](t.sealed,
		schemaOf(name, fields),
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault, Concurrency: 1}),
		parquet.DictionaryMaxBytes(maxDictBytes),
		parquet.CreatedBy("orrery", fmt.Sprint(SchemaVersion), ""),
	)
	return t, nil
}

// write appends a row. An error names the column whose value has no place on
// disk; the row is then half written and the table useless.
func (t *tableWriter[R]) write(r *R) error {
	for i := range t.fields {
		f := &t.fields[i]
		v, err := f.value(f.load(r), t.epoch, &t.hash.columns[i])
		if err != nil {
			return &DataError{File: t.dest, Row: t.hash.rows + 1, Column: f.Name,
				Found: err.Error(), Expected: f.values()}
		}
		if f.Optional && !v.IsNull() {
			v = v.Level(0, 1, i)
		}
		t.values[i] = append(t.values[i], v)
	}
	t.hash.rows++
	if len(t.values[0]) == batchRows {
		return t.flush()
	}
	return nil
}

// value converts a cell to what the file holds and feeds the content hash.
func (f *field[R]) value(c cell, epoch model.Time, h *columnHash) (parquet.Value, error) {
	if c.null {
		h.null()
		return parquet.NullValue(), nil
	}
	n := c.n
	switch f.Type {
	case String:
		h.text(c.s)
		return parquet.ByteArrayValue([]byte(c.s)), nil
	case Timestamp:
		if !finite(n) || !finite(n+int64(epoch)) {
			return parquet.Value{}, fmt.Errorf("the instant %d µs", n)
		}
		n += int64(epoch)
	case Int32:
		if n == int64(Absent) {
			return parquet.Value{}, fmt.Errorf("the reserved number %d", n)
		}
		h.number(n)
		return parquet.Int32Value(int32(n)), nil
	case Double:
		h.number(n)
		return parquet.DoubleValue(math.Float64frombits(uint64(n))), nil
	case Bool:
		h.number(n)
		return parquet.BooleanValue(n != 0), nil
	case Int64:
		if n == math.MinInt64 {
			return parquet.Value{}, fmt.Errorf("the reserved number %d", n)
		}
		if f.spans && !finite(n) {
			return parquet.Value{}, fmt.Errorf("the span %d µs", n)
		}
	}
	h.number(n)
	return parquet.Int64Value(n), nil
}

// finite bounds instants to about 73,000 years around 1970, and spans likewise, so that
// sums and differences of two of them cannot overflow.
func finite(n int64) bool { return n > -maxInstant && n < maxInstant }

// Finite says whether a trace can hold n as an instant or a span, in µs.
func Finite(n int64) bool { return finite(n) }

const maxInstant = 1 << 61

// flush passes the rows to the library and ends the row group when it is full.
func (t *tableWriter[R]) flush() error {
	for i, c := range t.out.ColumnWriters() {
		if len(t.values[i]) == 0 {
			return nil
		}
		if _, err := c.WriteRowValues(t.values[i]); err != nil {
			return err
		}
		t.values[i] = t.values[i][:0]
		if t.hash.rows%pageRows == 0 {
			if err := c.Flush(); err != nil {
				return err
			}
		}
	}
	if t.hash.rows%groupRows == 0 {
		return t.out.Flush()
	}
	return nil
}

// close finishes the file with the metadata of m, the content hash and the
// names of the bundle's tables. A table without rows is nil and has no file.
func (t *tableWriter[R]) close(m *Meta, content, tables string) error {
	if t == nil {
		return nil
	}
	if err := t.flush(); err != nil {
		return err
	}
	for _, p := range m.pairs() {
		t.out.SetKeyValueMetadata(p[0], p[1])
	}
	t.out.SetKeyValueMetadata(keyContent, content)
	t.out.SetKeyValueMetadata(keyTables, tables)
	t.out.SetKeyValueMetadata(keySeal, unsealed)
	if err := t.out.Flush(); err != nil {
		return err
	}
	t.sealed.hold()
	if err := t.out.Close(); err != nil {
		return err
	}
	if err := t.sealed.seal(); err != nil {
		return err
	}
	if err := t.buf.Flush(); err != nil {
		return err
	}
	if err := t.file.Sync(); err != nil {
		return err
	}
	return t.file.Close()
}
