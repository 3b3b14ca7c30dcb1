package doc

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Tone is a hint for coloured output. It never carries meaning alone: the
// words of the cell must say the same.
type Tone uint8

// The tones; Plain is the terminal's own colour.
const (
	Plain Tone = iota
	Good
	Bad
	Faint
)

// Cell is one value with its three spellings. The zero Cell is a missing
// value: "-" in text and Markdown, null in JSON.
type Cell struct {
	Text   string // what people read
	JSON   any    // what programs read: string, bool, int64, float64 or nil
	Number bool   // aligned right
	Tone   Tone
}

// MarshalText writes a cell into the JSON of a section, which has texts alone.
func (c Cell) MarshalText() ([]byte, error) { return []byte(c.Text), nil }

// UnmarshalText reads it.
func (c *Cell) UnmarshalText(text []byte) error {
	*c = Cell{Text: string(text), JSON: string(text)}
	return nil
}

// Float is a cell with prec digits after the point in text and the full value
// in JSON. NaN and infinities are missing values, since JSON has no word for
// them.
func Float(v float64, prec int) Cell {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Cell{}
	}
	return Cell{Text: strconv.FormatFloat(v, 'f', prec, 64), JSON: v, Number: true}
}

// Int is a cell holding an integer.
func Int(v int64) Cell {
	return Cell{Text: strconv.FormatInt(v, 10), JSON: v, Number: true}
}

// Quantity is a number whose reading form differs from its bare value, such as
// a span printed as 2d03:15:07 and kept as seconds.
func Quantity(text string, value any) Cell {
	return Cell{Text: text, JSON: value, Number: true}
}

// In returns the cell in the given tone.
func (c Cell) In(t Tone) Cell {
	c.Tone = t
	return c
}

// Table collects rows. Columns and rows keep the order in which they were
// given.
type Table struct {
	Columns []string `json:"head,omitempty"`
	Rows    [][]Cell `json:"cells,omitempty"`
	Keys    []string `json:"-"` // in the JSON and CSV of tables, by column
	// Spare are columns that narrow text goes without, step by step.
	Spare [][]string `json:"-"`
}

// New makes an empty table. The keys in JSON and CSV are the names of the columns with
// underscores for spaces, so they should be short, stable and distinct.
func New(cols ...string) *Table {
	t := &Table{Columns: cols, Keys: make([]string, len(cols))}
	for i, name := range cols {
		t.Keys[i] = strings.ReplaceAll(name, " ", "_")
	}
	return t
}

// Key gives a column another key, which has the unit of its numbers in it: submit_us.
// Key panics when there is no such column: that is a mistake of the programmer.
func (t *Table) Key(column, key string) {
	i := slices.Index(t.Columns, column)
	if i < 0 {
		panic("table: there is no column " + column)
	}
	t.Keys[i] = key
}

// Optional names columns that text leaves out where the terminal is too narrow for all:
// those of the first call first, those of one call together. Other formats have them
// always. Names that the table does not have are passed over.
func (t *Table) Optional(columns ...string) *Table {
	t.Spare = append(t.Spare, columns)
	return t
}

// Row appends one row. Values may be Cell, string, bool, any integer type,
// float64 (shortest form), a fmt.Stringer or nil for a missing value; missing
// trailing values are nil. Row panics when it is handed more values than there
// are columns or another type: both are mistakes of the programmer.
func (t *Table) Row(values ...any) {
	if len(values) > len(t.Columns) {
		panic(fmt.Sprintf("table: %d values for %d columns", len(values), len(t.Columns)))
	}
	row := make([]Cell, len(t.Columns))
	for i, v := range values {
		row[i] = cellOf(v)
	}
	t.Rows = append(t.Rows, row)
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.Rows) }

func cellOf(v any) Cell {
	switch v := v.(type) {
	case nil:
		return Cell{}
	case Cell:
		return v
	case string:
		return Cell{Text: clean(v), JSON: v}
	case bool:
		return Cell{Text: strconv.FormatBool(v), JSON: v}
	case int:
		return Int(int64(v))
	case int32:
		return Int(int64(v))
	case int64:
		return Int(v)
	case uint32:
		return Int(int64(v))
	case float64:
		return Float(v, -1)
	case fmt.Stringer:
		return Cell{Text: clean(v.String()), JSON: v.String()}
	}
	panic(fmt.Sprintf("table: no cell can hold a %T", v))
}

// clean keeps control characters of foreign names (escape sequences, line
// ends) from reaching a terminal.
func clean(s string) string { return Escaped(s, "") }

// Escaped shows the control characters of a text, and those that turn the direction of
// writing, as escapes such as \x1b, so that foreign names cannot drive a terminal. The
// characters in keep stay.
func Escaped(s, keep string) string {
	hidden := func(r rune) bool {
		turns := r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
		return (unicode.IsControl(r) || r == unicode.ReplacementChar || turns) && !strings.ContainsRune(keep, r)
	}
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch size := utf8.RuneLen(r); {
		case !hidden(r):
			b.WriteRune(r)
		case r == unicode.ReplacementChar && !strings.HasPrefix(s[i:], string(r)): // a byte that is no text
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case size == 1:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
