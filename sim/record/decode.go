package record

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"

	"orrery/internal/pagecheck"
	"orrery/scheduler/model"
)

// kind is how a column is decoded.
type kind uint8

const (
	kindInt32 kind = iota
	kindInt64
	kindTime // int64, µs UTC
	kindWord // text of few distinct values: codes into a list of words
	kindText // text
	kindFloat
)

// field is a column of a table as this version expects it.
type field struct {
	name     string
	kind     kind
	optional bool
	nodes    bool   // a text that is a set of nodes
	spelling string // of type and repetition, as describe gives it
}

// nodesPrefix begins the names of columns that are sets of nodes, beside nodes.
const nodesPrefix = "nodes_"

// fieldsOf lists the columns of a table, in the order of its schema.
func fieldsOf(table string) []field {
	var out []field
	for _, c := range schemaOf(table).Fields() {
		f := field{name: c.Name(), optional: c.Optional(), spelling: describe(c)}
		switch {
		case c.Type().Kind() == parquet.Int32:
			f.kind = kindInt32
		case c.Type().Kind() == parquet.Double:
			f.kind = kindFloat
		case c.Type().Kind() == parquet.Int64 && c.Type().String() == timestamp:
			f.kind = kindTime
		case c.Type().Kind() == parquet.Int64:
			f.kind = kindInt64
		case c.Encoding() != nil && c.Encoding().Encoding() == parquet.RLEDictionary.Encoding():
			f.kind = kindWord
		default:
			f.kind = kindText
		}
		f.nodes = f.kind == kindText && (f.name == "nodes" || strings.HasPrefix(f.name, nodesPrefix))
		out = append(out, f)
	}
	return out
}

// vector is a decoded column of one row group. Which slice is filled depends
// on the kind; a missing number is the smallest of its type, a missing word
// has code -1, a missing text is empty.
type vector struct {
	i32  []int32 // kindInt32, and the codes of kindWord
	i64  []int64
	f64  []float64
	text []string
}

// tableFile is an open table.
type tableFile struct {
	name   string
	path   string
	f      *os.File
	file   *parquet.File      // as a whole, or the first of the parts
	parts  *parts             // nil where it is open as a whole
	check  *pagecheck.Checker // of a file that is open as a whole; parts were written just now
	fields []field
	leaf   []int // column index in the file of each field
	epoch  model.Time
	spec   string
	names  *NodeNames          // to name nodes by; nil for numbers
	safe   func(string) string // of texts in an export; may be nil
	words  []words             // of each field
	vecs   []vector
	cols   Columns

	strings []string // scratch
	codesOf []int32  // scratch
}

// words interns the texts of a column over all row groups.
type words struct {
	list  []string
	index map[string]int32
}

func (w *words) code(s string) int32 {
	if c, ok := w.index[s]; ok {
		return c
	}
	if w.index == nil {
		w.index = map[string]int32{}
	}
	c := int32(len(w.list))
	w.list = append(w.list, s)
	w.index[s] = c
	return c
}

// openTable opens a table of a run and checks its digest, version and columns, and that it
// is of the spec of the run.
func openTable(m *manifest, table string) (*tableFile, error) {
	f, err := m.open(table + ".parquet")
	if err != nil {
		return nil, fmt.Errorf("opening table %s: %w", table, err)
	}
	t, err := readTable(f, filepath.Join(m.dir, table+".parquet"), table, nil)
	if err == nil && m.spec != "" && t.spec != m.spec {
		err = errors.Join(&DataError{File: t.path, Row: -1, Found: fmt.Sprintf("a table of another run, with the spec %.16s…", t.spec),
			Expected: fmt.Sprintf("the spec %.16s… of %s", m.spec, FileRun), Mend: mendReplay}, t.Close())
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// readTable makes an open file a table, and closes it where it is none. One that was written just now may
// be read as its parts.
func readTable(f *os.File, path, table string, p *parts) (*tableFile, error) {
	t := &tableFile{name: table, path: path, f: f, parts: p, fields: fieldsOf(table)}
	t.words = make([]words, len(t.fields))
	t.vecs = make([]vector, len(t.fields))
	if err := guard(path, t.readFooter); err != nil {
		_ = f.Close()
		return nil, err
	}
	return t, nil
}

// Close releases the file.
func (t *tableFile) Close() error { return t.f.Close() }

func (t *tableFile) readFooter() error {
	if err := t.openFile(); err != nil {
		return damaged(t.path, err)
	}
	version, _ := t.file.Lookup(keySchema)
	if version != versionOf(t.name) && !earlierLog(t.name, version) {
		return &DataError{
			File: t.path, Row: -1, Found: fmt.Sprintf("schema version %q in the metadata", version),
			Expected: versionOf(t.name), Mend: "use the version of orrery that wrote it, or " + mendReplay, Schema: version,
		}
	}
	epoch, _ := t.file.Lookup(keyEpoch)
	us, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return &DataError{File: t.path, Row: -1, Found: fmt.Sprintf("%s %q in the metadata", keyEpoch, epoch), Expected: "an integer of µs", Mend: mendReplay}
	}
	t.epoch = model.Time(us)
	t.spec, _ = t.file.Lookup(keySpec)
	t.dropSite()
	return t.checkColumns()
}

func (t *tableFile) openFile() (err error) {
	if t.parts != nil {
		t.file, err = t.parts.open(t.f, 0)
		return err
	}
	st, err := t.f.Stat()
	if err != nil {
		return err
	}
	if err := pagecheck.Footer(t.f, st.Size()); err != nil {
		return err
	}
	if t.file, err = parquet.OpenFile(t.f, st.Size(), readOptions...); err != nil {
		return err
	}
	t.check = pagecheck.New(t.f, st.Size(), t.file)
	return pagecheck.Groups(t.file)
}

var readOptions = []parquet.FileOption{parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(1 << 16)}

// dropSite forgets the columns that only runs of a site have, or of a later version,
// where this is none.
func (t *tableFile) dropSite() {
	n := len(schemas[t.name].Fields())
	if n < len(t.fields) && !slices.ContainsFunc(t.file.Schema().Fields(), func(c parquet.Field) bool { return c.Name() == t.fields[n].name }) {
		t.fields = t.fields[:n]
		return
	}
	for _, first := range firstOfNewer[t.name] {
		if n := slices.IndexFunc(t.fields, func(f field) bool { return f.name == first }); n >= 0 &&
			!slices.ContainsFunc(t.file.Schema().Fields(), func(c parquet.Field) bool { return c.Name() == first }) {
			t.fields = t.fields[:n]
		}
	}
}

// firstOfNewer are the columns from which on a table has what earlier versions did not:
// what shares of nodes are made of beside units, and in facts.parquet whether a pass is
// followed by another; what the nodes of jobs drew, and then what that cost; and the supply.
var firstOfNewer = map[string][]string{
	TableAttempts: {"share_gpus"}, TableFacts: {"share_cpus"}, TablePower: {"supply_w"},
	TableJobs: {"energy_low_mj", "energy_source"}, TableTenants: {"energy_low_mj", "energy_cost_low_micro"}, TableVClusters: {"energy_low_mj", "energy_cost_low_micro"},
}

func (t *tableFile) checkColumns() error {
	var have []string
	for _, c := range t.file.Schema().Fields() {
		have = append(have, c.Name())
	}
	for _, want := range t.fields {
		i := slices.Index(have, want.name)
		if i < 0 {
			return &DataError{File: t.path, Column: want.name, Row: -1, Found: "no such column among " + strings.Join(have, ", "), Expected: want.spelling, Mend: mendReplay}
		}
		c := t.file.Schema().Fields()[i]
		if found := describe(c); found != want.spelling {
			return &DataError{File: t.path, Column: want.name, Row: -1, Found: found, Expected: want.spelling, Mend: mendReplay}
		}
		leaf, _ := t.file.Schema().Lookup(want.name)
		t.leaf = append(t.leaf, leaf.ColumnIndex)
	}
	return nil
}

var timestamp = parquet.Timestamp(parquet.Microsecond).Type().String()

// describe spells repetition and type of a column.
func describe(c parquet.Field) string {
	switch {
	case !c.Leaf():
		return "a nested group"
	case c.Repeated():
		return "repeated " + c.Type().String()
	case c.Optional():
		return "optional " + c.Type().String()
	}
	return "required " + c.Type().String()
}

// scan decodes the wanted fields (nil: all) row group by row group into one
// vector per field and calls fn with them and the number of rows.
func (t *tableFile) scan(want func(i int) bool, fn func(v []vector, n int) error) error {
	if t.parts == nil {
		return t.scanFile(t.file, want, fn)
	}
	for i := range t.parts.number() {
		file, err := t.parts.open(t.f, i)
		if err != nil {
			return damaged(t.path, err)
		}
		if err := t.scanFile(file, want, fn); err != nil {
			return err
		}
	}
	return nil
}

func (t *tableFile) scanFile(file *parquet.File, want func(i int) bool, fn func(v []vector, n int) error) error {
	for g, rg := range file.RowGroups() {
		n := 0
		err := guard(t.path, func() error {
			chunks := rg.ColumnChunks()
			n = int(rg.NumRows())
			for i, f := range t.fields {
				if want != nil && !want(i) {
					continue
				}
				if t.check != nil {
					if err := t.check.Chunk(g, t.leaf[i], pagecheck.Flat(f.optional)); err != nil {
						return t.in(f.name, err)
					}
				}
				if err := t.readColumn(i, chunks[t.leaf[i]]); err != nil {
					return t.in(f.name, err)
				}
				if got := t.vecs[i].len(f.kind); got != n {
					return t.in(f.name, fmt.Errorf("%d values for %d rows", got, n))
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if err := fn(t.vecs, n); err != nil {
			return err
		}
	}
	return nil
}

// in says in which column decoding failed.
func (t *tableFile) in(column string, cause error) error {
	var d *DataError
	if errors.As(cause, &d) {
		return cause
	}
	d = damaged(t.path, cause)
	d.Column = column
	return d
}

func (v *vector) len(k kind) int {
	switch k {
	case kindInt32, kindWord:
		return len(v.i32)
	case kindText:
		return len(v.text)
	case kindFloat:
		return len(v.f64)
	}
	return len(v.i64)
}

// readColumn decodes column i of a row group into its vector.
func (t *tableFile) readColumn(i int, chunk parquet.ColumnChunk) error {
	v := &t.vecs[i]
	v.i32, v.i64, v.f64, v.text = v.i32[:0], v.i64[:0], v.f64[:0], v.text[:0]
	pages := chunk.Pages()
	defer pages.Close()
	for {
		p, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := t.readPage(i, p); err != nil {
			return err
		}
		parquet.Release(p)
	}
}

// readPage appends the values of a page. The typed data of an optional page
// holds the values that are there; its definition levels say where.
func (t *tableFile) readPage(i int, p parquet.Page) error {
	v, data, dict := &t.vecs[i], p.Data(), p.Dictionary()
	var levels []byte
	if t.fields[i].optional {
		levels = p.DefinitionLevels()
	}
	var words encoding.Values // of the dictionary
	if dict != nil {
		words = dict.Page().Data()
	}
	switch k := t.fields[i].kind; {
	case k == kindInt32 && dict != nil:
		v.i32 = lookup(v.i32, data.Int32(), words.Int32(), levels, math.MinInt32)
	case k == kindInt32:
		v.i32 = place(v.i32, data.Int32(), levels, math.MinInt32)
	case (k == kindInt64 || k == kindTime) && dict != nil:
		v.i64 = lookup(v.i64, data.Int32(), words.Int64(), levels, math.MinInt64)
	case k == kindInt64 || k == kindTime:
		v.i64 = place(v.i64, data.Int64(), levels, math.MinInt64)
	case k == kindFloat && dict == nil:
		v.f64 = place(v.f64, data.Double(), levels, math.NaN())
	case k == kindWord && dict != nil:
		v.i32 = lookup(v.i32, data.Int32(), t.intern(i, &words), levels, -1)
	case k == kindWord:
		v.i32 = place(v.i32, t.intern(i, &data), levels, -1)
	case dict != nil:
		return errors.New("a dictionary where plain text was written")
	default:
		t.strings = split(t.strings[:0], &data)
		v.text = place(v.text, t.strings, levels, "")
	}
	return nil
}

// intern returns the codes of texts of column i.
func (t *tableFile) intern(i int, texts *encoding.Values) []int32 {
	t.strings, t.codesOf = split(t.strings[:0], texts), t.codesOf[:0]
	for _, s := range t.strings {
		t.codesOf = append(t.codesOf, t.words[i].code(s))
	}
	return t.codesOf
}

// split appends the texts; they share one copy of the page.
func split(dst []string, texts *encoding.Values) []string {
	bytes, ends := texts.ByteArray()
	all := string(bytes)
	for k := 1; k < len(ends); k++ {
		dst = append(dst, all[ends[k-1]:ends[k]])
	}
	return dst
}

// place appends vals at the rows where levels is not zero (all rows when
// levels is nil) and missing elsewhere.
func place[T any](dst, vals []T, levels []byte, missing T) []T {
	if levels == nil || len(vals) == len(levels) {
		return append(dst, vals...)
	}
	for _, l := range levels {
		if l == 0 {
			dst = append(dst, missing)
			continue
		}
		dst, vals = append(dst, vals[0]), vals[1:]
	}
	return dst
}

// lookup is place with the values table[codes[...]].
func lookup[T any](dst []T, codes []int32, table []T, levels []byte, missing T) []T {
	if levels == nil || len(codes) == len(levels) {
		for _, c := range codes {
			dst = append(dst, table[c])
		}
		return dst
	}
	for _, l := range levels {
		if l == 0 {
			dst = append(dst, missing)
			continue
		}
		dst, codes = append(dst, table[codes[0]]), codes[1:]
	}
	return dst
}

// earlierLog says whether a table is a log of an earlier version that is read.
func earlierLog(table, version string) bool {
	v, err := strconv.Atoi(version)
	return table == TableFacts && err == nil && v >= OldestLogVersion && v < LogVersion
}
