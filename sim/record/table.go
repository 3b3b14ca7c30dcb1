package record

import (
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
)

// table writes one Parquet file in constant memory: rows gather in a batch,
// batches fill the columns, and full row groups go to the file. The bytes
// depend on the rows alone.
type table[T any] struct {
	rows []T // the batch; its capacity never changes
	f    *disk.File
	sum  hash.Hash // of all that was written
	w    *parquet.GenericWriter[T]
}

// newTable creates path. T must be the row of schemas[name].
func newTable[T any](path, name string, meta Meta) (*table[T], error) {
	f, err := disk.NewFile(path)
	if err != nil {
		return nil, fmt.Errorf("creating table %s: %w", name, err)
	}
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
	sum := sha256.New()
	return &table[T]{
		rows: make([]T, 0, batchRows),
		f:    f,
		sum:  sum,
		w:    parquet.NewGenericWriter[T](io.MultiWriter(f, sum), opts...),
	}, nil
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
	t.rows = t.rows[:0]
	if err != nil {
		return fmt.Errorf("writing %s: %w", t.f.Name(), err)
	}
	return nil
}

// close writes what is left and the footer, and enters the file with its digest.
func (t *table[T]) close(written map[string]string) error {
	err := t.spill()
	if err == nil {
		err = t.w.Close()
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
