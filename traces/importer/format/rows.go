package format

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"orrery/scheduler/model"
	"orrery/traces"
)

// maxRow is the longest row, in bytes: a file without line ends, or with a quotation
// that does not end, is refused in little memory.
const maxRow = 1 << 20

var utf8BOM = []byte("\xef\xbb\xbf")

// Row is a row of delimited text. It is valid until the next.
type Row struct {
	Line   int64 // in the file, from 1
	N      int64 // of the row, from 1; the header is none
	Fields []string
	Header []string
	At     []int // where the columns that were asked for are, in that order
	// Repaired are the rules by which the row was mended when it was read into values.
	Repaired []string

	file string
	of   string // what Line counts, "" for lines
	at   Place
	kept bool   // columns that are not wanted are kept in extra
	used []bool // columns that are read beside the wanted ones, by their places
}

// Uses notes that a column is read though it is not one of the wanted.
func (r *Row) Uses(column int) {
	if r.used == nil {
		r.used = make([]bool, len(r.Header))
	}
	if column < len(r.used) {
		r.used[column] = true
	}
}

// leftOut are the names of the columns that nothing was made of.
func (r *Row) leftOut() (names []string) {
	if r.kept || r.N == 0 {
		return nil
	}
	for i, name := range r.Header {
		if name != "" && !slices.Contains(r.At, i) && (r.used == nil || !r.used[i]) {
			names = append(names, name)
		}
	}
	return names
}

// NewRow is a row of a file that is no delimited text: its fields are set by the names in
// header. of is what Line counts, "" for lines.
func NewRow(f File, header, wanted []string, of string) (*Row, error) {
	r := &Row{file: f.Name, of: of}
	return r, r.head(slices.Clone(header), wanted)
}

// Next makes the row the next one, with these fields.
func (r *Row) Next(line int64, fields []string) {
	r.N++
	r.Line, r.Fields, r.Repaired = line, fields, r.Repaired[:0]
}

// Place is where the row stands.
func (r *Row) Place(name string) *Place {
	r.at = Place{Of: r.of, Line: r.Line, Name: name, Repaired: r.Repaired}
	return &r.at
}

// Repair notes a rule by which the row was mended.
func (r *Row) Repair(rule string) { r.Repaired = append(r.Repaired, rule) }

// Layout says how delimited text is written.
type Layout struct {
	Comma rune
	// Columns are those that are wanted, in any order in the file; one that ends in a
	// question mark may be missing, and Row.At of it is -1 then.
	Columns []string
	// Header is the names of the columns of a file whose first row has none.
	Header []string
	// Comment is the character that a line begins with which is none of the rows; 0 for none.
	Comment rune
	// Loose says that quotation marks inside fields mean nothing, and that rows may have fewer or
	// more fields than the header.
	Loose bool
}

// Rows goes through the rows of a file whose first one is a header, which must have the
// wanted columns, in any order. Each row has as many fields as the header.
func Rows(f File, comma rune, wanted []string, fn func(*Row) error) error {
	return Layout{Comma: comma, Columns: wanted}.Rows(f, fn)
}

// Rows goes through the rows of a file. Rows that cannot be read are left out.
func (l Layout) Rows(f File, fn func(*Row) error) error {
	raw, err := f.Open()
	if err != nil {
		return err
	}
	defer raw.Close() // only read
	f.Bad.Reading(f.Name)
	text := bufio.NewReader(raw)
	if mark, err := text.Peek(len(utf8BOM)); err == nil && bytes.Equal(mark, utf8BOM) {
		_, _ = text.Discard(len(utf8BOM)) // it is in the buffer
	}
	in := &bounded{r: text, left: maxRow}
	lines := csv.NewReader(in)
	lines.Comma, lines.ReuseRecord, lines.Comment, lines.LazyQuotes = l.Comma, true, l.Comment, l.Loose
	if l.Loose {
		lines.FieldsPerRecord = -1
	}
	row := Row{file: f.Name}
	if l.Header != nil {
		if err := row.head(l.Header, l.Columns); err != nil {
			return err
		}
		if !l.Loose {
			lines.FieldsPerRecord = len(l.Header)
		}
	}
	for {
		in.left = maxRow
		fields, err := lines.Read()
		switch {
		case errors.Is(err, io.EOF):
			if row.Header == nil {
				return &traces.DataError{File: f.Name, Found: "an empty file", Expected: "a row with the names of the columns", Mend: "fetch the file again"}
			}
			f.Bad.columnsLeftOut(row.leftOut())
			return nil
		case err != nil:
			bad := unreadable(f.Name, err, len(row.Header), len(fields))
			if row.Header != nil && oneLine(err) {
				bad = f.Pass(bad)
			}
			if bad != nil {
				return bad
			}
			row.N++ // a row is one, read or not
			continue
		}
		line, _ := lines.FieldPos(0)
		if row.Header == nil {
			if err := row.head(slices.Clone(fields), l.Columns); err != nil {
				return err
			}
			continue
		}
		row.N++
		row.Line, row.Fields, row.Repaired = int64(line), fields, row.Repaired[:0]
		if err := f.Pass(fn(&row)); err != nil {
			return err
		}
	}
}

// head takes the names of the columns.
func (r *Row) head(names, wanted []string) error {
	r.Header = names
	for i := range r.Header {
		r.Header[i] = strings.TrimSpace(r.Header[i])
	}
	if i := slices.IndexFunc(r.Header, func(s string) bool { return !utf8.ValidString(s) }); i >= 0 {
		return &traces.DataError{File: r.file, Line: 1, Found: "the column " + Excerpt(r.Header[i]), Expected: "names in UTF-8", Mend: "convert the file, for example with iconv"}
	}
	return r.place(wanted)
}

// place finds the wanted columns in the header.
func (r *Row) place(wanted []string) error {
	for _, name := range wanted {
		name, optional := strings.CutSuffix(name, "?")
		i := slices.Index(r.Header, name)
		switch {
		case i < 0 && optional:
		case i < 0:
			return &traces.DataError{File: r.file, Line: 1, Found: "the columns " + Excerpt(strings.Join(r.Header, ",")), Expected: "a column " + name, Mend: "fetch the file again"}
		case slices.Contains(r.Header[i+1:], name):
			return &traces.DataError{File: r.file, Line: 1, Found: "two columns " + name, Expected: "one", Mend: "rename one of them"}
		}
		r.At = append(r.At, i)
	}
	return nil
}

// oneLine says whether what is wrong is one row alone: a quotation that goes on over lines may hold other rows.
func oneLine(err error) bool {
	var parse *csv.ParseError
	return errors.As(err, &parse) && (errors.Is(err, csv.ErrFieldCount) || parse.StartLine == parse.Line)
}

// unreadable says what is wrong with a row.
func unreadable(file string, err error, want, got int) error {
	var parse *csv.ParseError
	switch {
	case errors.Is(err, errLong):
		return &traces.DataError{File: file, Found: fmt.Sprintf("a row longer than %d bytes", maxRow), Expected: "rows that end",
			Mend: "look for a quotation mark that is not closed, or fetch the file again"}
	case !errors.As(err, &parse):
		return err // of the file or its compression
	}
	e := &traces.DataError{File: file, Line: int64(parse.Line), Found: parse.Err.Error(), Expected: "delimited text with closed quotations",
		Mend: "correct the row, or fetch the file again if it was cut short"}
	if errors.Is(err, csv.ErrFieldCount) {
		e.Found, e.Expected = fmt.Sprintf("%d fields", got), fmt.Sprintf("%d, as the header has", want)
	}
	return e
}

// bounded ends the reading of a row that is too long.
type bounded struct {
	r    io.Reader
	left int
}

var errLong = errors.New("the row is too long")

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLong
	}
	n, err := b.r.Read(p)
	b.left -= n
	return n, err
}

// InOrder goes through the rows by at, and those of one instant in their order in the
// file. A file that is sorted streams; the rows of another are sorted in runs on the disk.
func InOrder(f File, comma rune, wanted []string, sorted bool, at func(*Row) (model.Time, error), fn func(*Row, model.Time) error) error {
	type held struct {
		N      int64
		Fields []string
	}
	var unsorted Sorter[held]
	defer unsorted.Close()
	var row Row // with what all rows have in common
	err := Rows(f, comma, wanted, func(r *Row) error {
		t, err := at(r)
		if err != nil {
			return err
		}
		if sorted {
			return fn(r, t)
		}
		row = *r
		return unsorted.Add(*r.Place(""), t, &held{r.N, slices.Clone(r.Fields)})
	})
	if err != nil {
		return err
	}
	return unsorted.Each(func(p *Place, t model.Time, h *held) error {
		row.N, row.Line, row.Fields, row.Repaired = h.N, p.Line, h.Fields, p.Repaired
		return f.Pass(fn(&row, t))
	})
}

// Wrong is the error about a field.
func (r *Row) Wrong(column int, expected, mend string) *traces.DataError {
	e := &traces.DataError{File: r.file, Line: r.Line, Column: r.Header[column], Found: Excerpt(r.Fields[column]), Expected: expected, Mend: mend}
	if r.of != "" {
		e.Line, e.Row = 0, r.Line
	}
	return e
}

// Excerpt quotes the start of a text.
func Excerpt(s string) string {
	const most = 60
	if len(s) > most {
		return fmt.Sprintf("%q and %d bytes more", s[:most], len(s)-most)
	}
	return strconv.Quote(s)
}

// Text is a field of text, which must be UTF-8.
func (r *Row) Text(column int) (string, error) {
	s := strings.TrimSpace(r.Fields[column])
	if !utf8.ValidString(s) {
		return "", r.Wrong(column, "text in UTF-8", "convert the file, for example with iconv")
	}
	return strings.Clone(s), nil
}

// Empty says whether a field holds nothing.
func (r *Row) Empty(column int) bool { return strings.TrimSpace(r.Fields[column]) == "" }

// Int is a whole number.
func (r *Row) Int(column int) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(r.Fields[column]), 10, 64)
	if err != nil || n == math.MinInt64 {
		return 0, r.Wrong(column, "a whole number", "correct the value, or leave the row out")
	}
	return n, nil
}

// Real is a finite number.
func (r *Row) Real(column int) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(r.Fields[column]), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, r.Wrong(column, "a number", "correct the value, or leave the row out")
	}
	return x, nil
}

// HeaderMatch compares the first line of a file with the columns that a format has; those
// that end in a question mark may be missing.
func HeaderMatch(h Head, comma rune, wanted ...string) Match {
	names, err := Header(h, comma)
	if err != nil {
		return Match{Err: err}
	}
	wanted = slices.DeleteFunc(slices.Clone(wanted), func(w string) bool { return strings.HasSuffix(w, "?") })
	var missing []string
	for _, w := range wanted {
		if !slices.Contains(names, w) {
			missing = append(missing, w)
		}
	}
	if len(missing) == 0 {
		return Match{Percent: 100}
	}
	return Match{Percent: 100 * (len(wanted) - len(missing)) / len(wanted), Err: &traces.DataError{
		Line: 1, Found: "the columns " + Excerpt(strings.Join(names, ",")), Expected: "columns " + strings.Join(wanted, ","),
		Mend: "the file lacks " + strings.Join(missing, ", "),
	}}
}

// Header is the names in the first line of a file.
func Header(h Head, comma rune) ([]string, *traces.DataError) {
	lines := Lines(h)
	if lines == nil {
		return nil, &traces.DataError{Line: 1, Found: "a line longer than " + strconv.Itoa(len(h.Bytes)) + " bytes", Expected: "the names of columns", Mend: "name another file"}
	}
	names, err := Split(lines[0], comma)
	if err != nil {
		return nil, &traces.DataError{Line: 1, Found: Excerpt(lines[0]), Expected: "the names of columns", Mend: "name another file"}
	}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names, nil
}

// Lines are the whole lines that a file begins with, nil when there is not one.
func Lines(h Head) []string {
	text := bytes.TrimPrefix(h.Bytes, utf8BOM)
	if !h.Whole {
		text = text[:bytes.LastIndexByte(text, '\n')+1]
	}
	text = bytes.TrimRight(text, "\r\n")
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
}

// Split takes a line of delimited text apart.
func Split(line string, comma rune) ([]string, error) {
	in := csv.NewReader(strings.NewReader(line))
	in.Comma = comma
	return in.Read()
}
