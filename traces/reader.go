package traces

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"orrery/internal/disk"
	"orrery/internal/pagecheck"
	"orrery/scheduler/model"
)

const readBuffer = 64 << 10 // bytes read ahead in each open column

// tableReader is one open Parquet file whose columns fit the table's fields.
type tableReader[R any] struct {
	name    string
	path    string
	fields  []field[R]
	lays    []lay // where each field lies in the file
	osfile  *os.File
	size    int64
	parquet *parquet.File
	ours    bool // carries our metadata
}

// openTable opens a file and checks its footer and its schema. It reads no
// row.
func openTable[R any](name, path string, fields []field[R]) (t *tableReader[R], err error) {
	f, err := disk.Open(path)
	var other *disk.NotFileError
	if errors.As(err, &other) {
		return nil, &DataError{File: path, Found: other.Kind(), Expected: "a Parquet file", Mend: "name a trace bundle or a Parquet file"}
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // the first error says more
		}
	}()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	t = &tableReader[R]{name: name, path: path, fields: fields, osfile: f, size: st.Size()}
	if err := t.openFile(); err != nil {
		return nil, err
	}
	if err := t.checkSeal(); err != nil {
		return nil, err
	}
	_, t.ours = t.parquet.Lookup(keySchema)
	if err := t.checkVersion(); err != nil {
		return nil, err
	}
	if err := t.checkSchema(); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *tableReader[R]) openFile() (err error) {
	defer guard(t.path, "in the footer", &err)
	var magic [4]byte
	if n, _ := t.osfile.ReadAt(magic[:], 0); n < 4 || string(magic[:]) != "PAR1" {
		return &DataError{File: t.path, Found: fmt.Sprintf("a file that begins with %q", magic[:n]),
			Expected: "a Parquet file (PAR1)", Mend: "import the log first, or name the Parquet file"}
	}
	if err := pagecheck.Footer(t.osfile, t.size); err != nil {
		return corrupt(t.path, "in the footer", err)
	}
	t.parquet, err = parquet.OpenFile(t.osfile, t.size,
		parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(readBuffer))
	if err == nil {
		err = pagecheck.Groups(t.parquet)
	}
	if err != nil {
		return corrupt(t.path, "in the footer", err)
	}
	return nil
}

func (t *tableReader[R]) checkVersion() error {
	if !t.ours {
		return nil
	}
	s, _ := t.parquet.Lookup(keySchema)
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return t.badMeta(keySchema, s, "a version number")
	}
	if n > SchemaVersion {
		return &DataError{File: t.path, Found: fmt.Sprintf("schema version %d", n),
			Expected: fmt.Sprintf("version %d or older", SchemaVersion), Mend: "read it with the newer orrery that wrote it"}
	}
	return nil
}

func (t *tableReader[R]) badMeta(key, found, expected string) error {
	return &DataError{File: t.path, Found: fmt.Sprintf("metadata %s = %q", key, found), Expected: expected,
		Mend: "the metadata was edited: import the log again"}
}

// checkSchema compares the columns of the file with the table's.
func (t *tableReader[R]) checkSchema() (err error) {
	defer guard(t.path, "in the schema", &err)
	t.lays = make([]lay, len(t.fields))
	for i := range t.fields {
		f := &t.fields[i]
		l, found := layOf(t.parquet, &f.Column)
		if found != "" {
			return &DataError{File: t.path, Column: f.Name, Found: found, Expected: wanted(f.Type),
				Mend: mendType(f.Type, f.Name)}
		}
		if l.index < 0 && !f.Optional && (t.ours || f.fallback == nil) {
			return &DataError{File: t.path, Column: f.Name, Found: "no such column", Expected: wanted(f.Type),
				Mend: fmt.Sprintf("the %s table needs %s: add the column or rename the one that holds it", t.name, f.Name)}
		}
		if err := t.checkCodec(f.Name, l.index); err != nil {
			return err
		}
		t.lays[i] = l
	}
	return nil
}

// checkCodec refuses codecs that we cannot unpack within bounds or that the
// library gets wrong: of lz4_raw, parquet-go 0.32.0 can drop the output and
// decode what was in the buffer before (its issue 608).
func (t *tableReader[R]) checkCodec(name string, index int) error {
	if index < 0 {
		return nil
	}
	for i := range t.parquet.Metadata().RowGroups {
		columns := t.parquet.Metadata().RowGroups[i].Columns
		if index >= len(columns) {
			return corrupt(t.path, "in the footer", fmt.Errorf("row group %d has no column %d", i, index))
		}
		if codec := columns[index].MetaData.Codec; !pagecheck.Unpacks(codec) {
			return &DataError{File: t.path, Column: name, Found: "pages compressed with " + codec.String(),
				Expected: "zstd, snappy, gzip, brotli or none", Mend: "write the file again with zstd"}
		}
	}
	return nil
}

func (t *tableReader[R]) checker() *pagecheck.Checker {
	return pagecheck.New(t.osfile, t.size, t.parquet)
}

// close closes the file of a table, nil when there is none.
func (t *tableReader[R]) close() error {
	if t == nil {
		return nil
	}
	return t.osfile.Close()
}

// These implement openedTable.
func (t *tableReader[R]) table() string                    { return t.name }
func (t *tableReader[R]) file() string                     { return t.path }
func (t *tableReader[R]) rowCount() int64                  { return t.parquet.NumRows() }
func (t *tableReader[R]) lookup(key string) (string, bool) { return t.parquet.Lookup(key) }

// meta decodes the metadata; for a file that is not ours it is the zero Meta.
func (t *tableReader[R]) meta() (m Meta, err error) {
	get := func(key string) string { s, _ := t.parquet.Lookup(key); return s }
	num := func(key string, bits int) int64 {
		s := get(key)
		if s == "" {
			return 0
		}
		n, e := strconv.ParseInt(s, 10, bits)
		if e != nil && err == nil {
			err = t.badMeta(key, s, "a whole number")
		}
		return n
	}
	m = Meta{
		Source: get(keySource), Epoch: model.Time(num(keyEpoch, 64)), EpochKnown: get(keyEpochKnown) == "true",
		TimeZone: get(keyTimeZone), MaxProcs: int32(num(keyMaxProcs, 32)), MaxNodes: int32(num(keyMaxNodes, 32)),
		Sorted: get(keySorted) == "true", Recipe: get(keyRecipe), Import: get(keyImport),
	}
	if get(keyWarmStart) != "" {
		m.WarmStart = Some(model.Time(num(keyWarmStart, 64)) - m.Epoch)
		if err == nil && !finite(int64(m.WarmStart.V+m.Epoch)) {
			err = t.badMeta(keyWarmStart, get(keyWarmStart), "an instant within 73,000 years of 1970")
		}
	}
	if get(keyHistory) != "" {
		if m.History = model.Duration(num(keyHistory, 64)); err == nil && m.History < 0 {
			err = t.badMeta(keyHistory, get(keyHistory), "whole µs, 0 or more")
		}
	}
	if err == nil && !finite(int64(m.Epoch)) {
		err = t.badMeta(keyEpoch, get(keyEpoch), "an instant within 73,000 years of 1970")
	}
	return m, err
}

// chunkPages opens the pages of one column of one row group after they have
// been checked.
func chunkPages(k *pagecheck.Checker, group int, l *lay, path, column string) (p parquet.Pages, err error) {
	defer guard(path, "in column "+column, &err)
	if p, err = k.Pages(group, l.index, pagecheck.Flat(l.optional)); err != nil {
		return nil, corrupt(path, "in column "+column, err)
	}
	return p, nil
}

// readPage reads the next page; io.EOF ends the chunk.
func readPage(pages parquet.Pages, path, column string) (p parquet.Page, err error) {
	defer guard(path, "in column "+column, &err)
	p, err = pages.ReadPage()
	if err != nil && !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = corrupt(path, "in column "+column, err)
	}
	return p, err
}

// nullError complains about a null in a column that may not hold one.
func nullError(path, column string, row int64) error {
	return &DataError{File: path, Row: row, Column: column, Found: "a null", Expected: "a value",
		Mend: "fill the column or drop the row"}
}

// rangeError complains about a number that does not fit its column.
func rangeError(path string, c *Column, row int64, raw string) error {
	return &DataError{File: path, Row: row, Column: c.Name, Found: raw, Expected: c.values(),
		Mend: "correct the value or drop the row"}
}

// filled counts the values of the optional columns by the statistics in the
// footer, which our writer always states. It reads no row.
func (t *tableReader[R]) filled() []Filled {
	type stat struct {
		rows     int64
		min, max []byte
		varies   bool
	}
	stats := map[string]*stat{}
	for _, g := range t.parquet.Metadata().RowGroups {
		for _, c := range g.Columns {
			m := &c.MetaData
			values := m.NumValues - m.Statistics.NullCount
			if len(m.PathInSchema) != 1 || values == 0 {
				continue
			}
			name, low, high := m.PathInSchema[0], m.Statistics.MinValue, m.Statistics.MaxValue
			if name == columnKind && string(low) == kindBounded && string(high) == kindBounded {
				continue
			}
			s := stats[name]
			if s == nil {
				s = &stat{min: low, max: high}
				stats[name] = s
			}
			s.rows += values
			s.varies = s.varies || !bytes.Equal(low, high) || !bytes.Equal(low, s.min) || !bytes.Equal(high, s.max)
		}
	}
	var out []Filled
	for i := range t.fields {
		f := &t.fields[i]
		if s := stats[f.Name]; s != nil && (f.Optional || f.Name == columnKind) {
			out = append(out, Filled{f.Name, s.rows, s.varies})
		}
	}
	return out
}
