package record

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"orrery/internal/disk"
	_ "orrery/internal/pagebytes" // the same bytes on every CPU
)

const (
	batchRows    = 1024    // rows gathered before the columns are filled
	rowGroupRows = 1 << 14 // rows whose pages are held in memory
	partGroups   = 16      // row groups whose descriptions the Parquet library holds in memory
	writeBuffer  = 1 << 15 // bytes
)

// table writes one Parquet file in constant memory, but for a few bytes of each column of a row group:
// rows gather in a batch, batches fill the columns, and full row groups go to the file. The bytes
// depend on the rows alone.
type table[T any] struct {
	rows   []T // the batch; its capacity never changes
	f      *disk.File
	sum    hash.Hash // of all that was written
	out    *bufio.Writer
	part   *partWriter
	w      *parquet.GenericWriter[T] // of a part
	inPart int                       // rows
	shift  int64                     // of the part
	footer *footer
}

// newTable creates path. T must be the row of schemas[name].
func newTable[T any](root *disk.Root, path, name string, meta Meta) (*table[T], error) {
	f, err := root.NewFile(path)
	if err != nil {
		return nil, fmt.Errorf("creating table %s: %w", name, err)
	}
	opts := append(tableOptions(name, meta), parquet.WriteBufferSize(0)) // pages are told from what is behind them
	sum := sha256.New()
	t := &table[T]{rows: make([]T, 0, batchRows), f: f, sum: sum, out: bufio.NewWriterSize(io.MultiWriter(f, sum), writeBuffer), footer: &footer{}}
	_, _ = t.out.WriteString(magic) // it fits
	t.part = &partWriter{file: t.out, size: int64(len(magic))}
	t.shift = t.part.begin()
	t.w = parquet.NewGenericWriter[T](t.part, opts...)
	return t, nil
}

// tableOptions say how the rows of a table are written.
func tableOptions(name string, meta Meta) []parquet.WriterOption {
	schema := schemas[name]
	switch {
	case name == TableAttempts && meta.site() && !meta.Shared:
		schema = wholeAttempts
	case meta.site():
		schema = schemaOf(name)
	}
	opts := []parquet.WriterOption{
		schema,
		parquet.Compression(codec),
		parquet.CreatedBy("orrery", versionOf(name), ""),
		parquet.MaxRowsPerRowGroup(rowGroupRows),
		parquet.DataPageStatistics(false), // the column index holds them already
		parquet.KeyValueMetadata(keySchema, versionOf(name)),
		parquet.KeyValueMetadata(keyEpoch, strconv.FormatInt(int64(meta.Epoch), 10)),
		parquet.KeyValueMetadata(keySpec, meta.SpecID),
	}
	for _, col := range schema.Fields() {
		if col.Type().Kind() == parquet.ByteArray {
			// The smallest and largest text of a page help no query and cost
			// a tenth of the time.
			opts = append(opts, parquet.SkipPageBounds(col.Name()))
		}
	}
	return opts
}

// next returns the next row of the batch, to be filled in; the batch must not
// be full. The row holds what an earlier row left in it.
func (t *table[T]) next() *T {
	t.rows = t.rows[:len(t.rows)+1]
	return &t.rows[len(t.rows)-1]
}

func (t *table[T]) full() bool { return len(t.rows) == cap(t.rows) }

// spill moves the batch into the columns.
func (t *table[T]) spill() error {
	_, err := t.w.Write(t.rows)
	t.inPart += len(t.rows)
	t.rows = t.rows[:0]
	if err == nil && t.inPart >= partGroups*rowGroupRows {
		if err = t.endPart(); err == nil {
			t.w.Reset(t.part)
			t.inPart, t.shift = 0, t.part.begin()
		}
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", t.f.Name(), err)
	}
	return nil
}

// endPart writes the pages of the part and takes the description of its row groups from the library.
func (t *table[T]) endPart() error {
	if err := t.w.Flush(); err != nil {
		return err
	}
	t.part.ended = true
	if err := t.w.Close(); err != nil {
		return err
	}
	return t.footer.add(t.w.File().Metadata(), t.part.behind, t.shift)
}

// end writes the last part and what is behind all of them.
func (t *table[T]) end() error {
	if err := t.endPart(); err != nil {
		return err
	}
	if err := t.footer.write(t.out, t.part.size, t.w.File().Metadata()); err != nil {
		return err
	}
	return t.out.Flush()
}

// parts are what the table is read as once it is closed.
func (t *table[T]) parts() *parts {
	p := &parts{footer: t.footer, pages: t.part.size, last: *t.w.File().Metadata()}
	p.last.RowGroups = nil
	return p
}

// close writes what is left and the footer, and enters the file with its digest.
func (t *table[T]) close(written map[string]string) error {
	err := t.spill()
	if err == nil {
		err = t.end()
	}
	if cerr := t.f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("closing %s: %w", t.f.Name(), err)
	}
	written[filepath.Base(t.f.Name())] = hex.EncodeToString(t.sum.Sum(nil))
	return nil
}

// drop closes the file without finishing it; a nil table has none.
func (t *table[T]) drop() {
	if t != nil {
		_ = t.f.Close()
	}
}
