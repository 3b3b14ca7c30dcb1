package traces

import (
	"math"
	"reflect"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"

	"orrery/scheduler/model"
)

// ColumnType is the type of a column on disk.
type ColumnType uint8

// The types that a bundle uses. Spans are Int64 in microseconds.
const (
	Int64     ColumnType = iota
	Int32                // stored as a Parquet INT32
	Timestamp            // INT64 annotated TIMESTAMP(MICROS, UTC)
	Double               // IEEE 754
	Bool
	String // UTF-8
)

var columnTypes = [...]string{"int64", "int32", "timestamp", "double", "bool", "string"}

// String is the spelling in docs/TRACE-FORMAT.md and in error messages.
func (t ColumnType) String() string { return columnTypes[t] }

// Column describes one column of a table.
type Column struct {
	Name     string
	Type     ColumnType
	Optional bool   // may hold nulls; a file may also lack the column
	Unit     string // "" when the value has none
	Doc      string
}

// span says that the column holds spans of time.
func (c *Column) span() bool { return c.Type == Int64 && c.Unit == microseconds }

// values says which a column may hold.
func (c *Column) values() string {
	switch {
	case c.span():
		return "a span below 73,000 years"
	case c.Type == Timestamp:
		return "an instant within 73,000 years of 1970"
	}
	return "a value in the range of " + c.Type.String()
}

// layout says how a column is encoded in the files we write.
type layout uint8

const (
	delta layout = iota // DELTA_BINARY_PACKED: instants and ids
	dict                // RLE_DICTIONARY: names and small counts
	plain               // PLAIN
)

// cell is one value on its way between a row and a file: whole numbers and
// booleans in n, doubles in n as their IEEE bits, text in s.
type cell struct {
	null bool
	n    int64
	s    string
}

// field binds a column to a member of the row type R. Instants in cells are
// relative to the epoch, like those in rows.
type field[R any] struct {
	Column
	layout layout
	spans  bool // holds spans of time; asked for each value
	load   func(*R) cell
	store  func(*R, cell)
	// fallback stands for a value of a required column in a file that is not
	// ours and has none; nil when the column must be there.
	fallback *cell
}

func textField[R any](name string, optional bool, doc string, at func(*R) *string) field[R] {
	return field[R]{
		Column: Column{Name: name, Type: String, Optional: optional, Doc: doc},
		layout: dict,
		load:   func(r *R) cell { s := *at(r); return cell{null: optional && s == "", s: s} },
		store:  func(r *R, c cell) { *at(r) = c.s },
	}
}

func numberField[R any, T ~int32 | ~int64](name, unit, doc string, lay layout, at func(*R) *T) field[R] {
	return field[R]{
		Column: Column{Name: name, Type: typeOf[T](), Unit: unit, Doc: doc},
		layout: lay, spans: unit == microseconds && typeOf[T]() == Int64,
		load:  func(r *R) cell { return cell{n: int64(*at(r))} },
		store: func(r *R, c cell) { *at(r) = T(c.n) },
	}
}

func optField[R any, T ~int32 | ~int64](name, unit, doc string, lay layout, at func(*R) *Opt[T]) field[R] {
	return field[R]{
		Column: Column{Name: name, Type: typeOf[T](), Optional: true, Unit: unit, Doc: doc},
		layout: lay, spans: unit == microseconds && typeOf[T]() == Int64,
		load:  func(r *R) cell { o := at(r); return cell{null: !o.OK, n: int64(o.V)} },
		store: func(r *R, c cell) { *at(r) = Opt[T]{V: T(c.n), OK: !c.null} },
	}
}

func boolField[R any](name, doc string, at func(*R) *Opt[bool]) field[R] {
	return field[R]{
		Column: Column{Name: name, Type: Bool, Optional: true, Doc: doc},
		layout: plain,
		load: func(r *R) cell {
			o := at(r)
			return cell{null: !o.OK, n: boolBit(o.V)}
		},
		store: func(r *R, c cell) { *at(r) = Opt[bool]{V: c.n != 0, OK: !c.null} },
	}
}

// realField is a double that every row has.
func realField[R any](name, unit, doc string, at func(*R) *float64) field[R] {
	return field[R]{
		Column: Column{Name: name, Type: Double, Unit: unit, Doc: doc},
		layout: plain,
		load:   func(r *R) cell { return cell{n: int64(math.Float64bits(*at(r)))} },
		store:  func(r *R, c cell) { *at(r) = math.Float64frombits(uint64(c.n)) },
	}
}

func doubleField[R any](name, unit, doc string, at func(*R) *Opt[float64]) field[R] {
	return field[R]{
		Column: Column{Name: name, Type: Double, Optional: true, Unit: unit, Doc: doc},
		layout: plain,
		load: func(r *R) cell {
			o := at(r)
			return cell{null: !o.OK, n: int64(math.Float64bits(o.V))}
		},
		store: func(r *R, c cell) {
			*at(r) = Opt[float64]{V: math.Float64frombits(uint64(c.n)), OK: !c.null}
		},
	}
}

func boolBit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func typeOf[T ~int32 | ~int64]() ColumnType {
	switch t := reflect.TypeFor[T](); {
	case t == reflect.TypeFor[model.Time]():
		return Timestamp
	case t.Kind() == reflect.Int32:
		return Int32
	}
	return Int64
}

// node is the Parquet type of a column as we write it.
func (f *field[R]) node() parquet.Node {
	var n parquet.Node
	switch f.Type {
	case Int64:
		n = parquet.Leaf(parquet.Int64Type)
	case Int32:
		n = parquet.Leaf(parquet.Int32Type)
	case Timestamp:
		n = parquet.Timestamp(parquet.Microsecond)
	case Double:
		n = parquet.Leaf(parquet.DoubleType)
	case Bool:
		n = parquet.Leaf(parquet.BooleanType)
	case String:
		n = parquet.String()
	}
	n = parquet.Encoded(n, map[layout]encoding.Encoding{
		delta: &parquet.DeltaBinaryPacked, dict: &parquet.RLEDictionary, plain: &parquet.Plain,
	}[f.layout])
	if f.Optional {
		n = parquet.Optional(n)
	}
	return n
}

// group is a Parquet group that keeps its columns in the order of the table;
// the library's own sorts them by name.
type group struct {
	parquet.Group
	fields []parquet.Field
}

func (g *group) Fields() []parquet.Field { return g.fields }

func schemaOf[R any](table string, fields []field[R]) *parquet.Schema {
	g := &group{Group: parquet.Group{}}
	for i := range fields {
		g.Group[fields[i].Name] = fields[i].node()
	}
	byName := map[string]parquet.Field{}
	for _, f := range g.Group.Fields() {
		byName[f.Name()] = f
	}
	for i := range fields {
		g.fields = append(g.fields, byName[fields[i].Name])
	}
	return parquet.NewSchema(table, g)
}

func columnsOf[R any](fields []field[R]) []Column {
	out := make([]Column, len(fields))
	for i := range fields {
		out[i] = fields[i].Column
	}
	return out
}

// JobColumns lists the columns of the jobs table in file order.
func JobColumns() []Column { return columnsOf(jobFields) }
