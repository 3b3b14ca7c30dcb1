// Package table is the one small table that everything printed goes through:
// named columns, rows of typed cells, written as aligned text, Markdown, JSON or
// CSV. It knows how to lay cells out and nothing of what they mean; whether
// the reader is a terminal, how wide it is and whether colour is welcome are
// its caller's findings.
package table

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Format names an output form by the word users type after -o.
type Format string

// The forms a table can take.
const (
	Text     Format = "table"
	Markdown Format = "markdown"
	JSON     Format = "json"
	CSV      Format = "csv"
)

// ParseFormat checks a word given by a user.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case Text, Markdown, JSON, CSV:
		return f, nil
	}
	return "", fmt.Errorf("output format %q is not known: write table, json, markdown or csv", s)
}

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
	cols []string
	keys []string // of JSON and CSV, by column
	rows [][]Cell

	optional [][]string // columns that narrow text goes without, step by step
}

// New makes an empty table. The keys in JSON and CSV are the names of the columns with
// underscores for spaces, so they should be short, stable and distinct.
func New(cols ...string) *Table {
	t := &Table{cols: cols, keys: make([]string, len(cols))}
	for i, name := range cols {
		t.keys[i] = strings.ReplaceAll(name, " ", "_")
	}
	return t
}

// Key gives a column another key, which has the unit of its numbers in it: submit_us.
// Key panics when there is no such column: that is a mistake of the programmer.
func (t *Table) Key(column, key string) {
	i := slices.Index(t.cols, column)
	if i < 0 {
		panic("table: there is no column " + column)
	}
	t.keys[i] = key
}

// Optional names columns that text leaves out where the terminal is too narrow for all:
// those of the first call first, those of one call together. Other formats have them
// always. Names that the table does not have are passed over.
func (t *Table) Optional(columns ...string) *Table {
	t.optional = append(t.optional, columns)
	return t
}

// LeftOut are the columns that text of a width goes without.
func (t *Table) LeftOut(width int) []string {
	_, out := t.fitting(width)
	return out
}

// fitting is the table without the optional columns that do not fit: as it is, where
// leaving them out does not make it fit.
func (t *Table) fitting(width int) (shown *Table, out []string) {
	shown = t
	for i := 0; ; i++ {
		if _, fits := shown.widths(shown.rightAligned(), width); fits {
			return shown, out
		}
		if i == len(t.optional) {
			return t, nil
		}
		for _, name := range t.optional[i] {
			if k := slices.Index(shown.cols, name); k >= 0 {
				shown, out = shown.without(k), append(out, name)
			}
		}
	}
}

// without is the table less one column.
func (t *Table) without(column int) *Table {
	less := &Table{cols: slices.Delete(slices.Clone(t.cols), column, column+1), rows: make([][]Cell, len(t.rows))}
	for i, row := range t.rows {
		less.rows[i] = slices.Delete(slices.Clone(row), column, column+1)
	}
	return less
}

// Row appends one row. Values may be Cell, string, bool, any integer type,
// float64 (shortest form), a fmt.Stringer or nil for a missing value; missing
// trailing values are nil. Row panics when it is handed more values than there
// are columns or another type: both are mistakes of the programmer.
func (t *Table) Row(values ...any) {
	if len(values) > len(t.cols) {
		panic(fmt.Sprintf("table: %d values for %d columns", len(values), len(t.cols)))
	}
	row := make([]Cell, len(t.cols))
	for i, v := range values {
		row[i] = cellOf(v)
	}
	t.rows = append(t.rows, row)
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Columns returns the column names; the caller must not change them.
func (t *Table) Columns() []string { return t.cols }

// Rows returns the cells; the caller must not change them.
func (t *Table) Rows() [][]Cell { return t.rows }

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

// Options say what the reader of a text table is like. The zero value suits a
// pipe: no limit on width, no colour.
type Options struct {
	Width int  // columns of the terminal, to which text is made to fit; 0 is no limit
	Color bool // ANSI colours; the caller honours NO_COLOR by leaving it false
	Safe  bool // CSV for a spreadsheet: no text in it is a formula, see SafeCell
}

// Write renders the table to w in the given format.
func (t *Table) Write(w io.Writer, f Format, o Options) error {
	switch f {
	case Text:
		return t.writeText(w, o)
	case Markdown:
		return t.writeMarkdown(w)
	case JSON:
		return t.writeJSON(w)
	case CSV:
		return t.writeCSV(w, o.Safe)
	}
	_, err := ParseFormat(string(f))
	return err
}
