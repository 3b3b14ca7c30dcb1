package format

import (
	"errors"

	"orrery/traces"
)

// Bad are the rows of an import that cannot be read, over all its files. Where there are none too many they are left out, and
// counted as dropped by traces.RuleUnreadable.
type Bad struct {
	traces.Unreadable

	active bool              // rows are read; before that, as while a table of speeds is, none is left out
	drop   func(*Place)      // counts one in the second reading
	file   string            // that is read
	tables map[string]string // that the rows of a file are of
	left   func(...string)   // takes the names of columns of which nothing was made, nil for none
}

// columnsLeftOut takes the names of columns of a file of which nothing was made.
func (b *Bad) columnsLeftOut(names []string) {
	if b != nil && b.left != nil {
		b.left(names...)
	}
}

// Begin begins a reading. drop counts the rows that are left out, nil in the first reading, which is judged.
func (b *Bad) Begin(drop func(*Place)) {
	if b != nil {
		b.Reset()
		b.active, b.drop = true, drop
	}
}

// End ends a reading of so many rows that could be read.
func (b *Bad) End(rows int64) error {
	if b == nil {
		return nil
	}
	b.active = false
	if b.drop != nil { // judged before
		return nil
	}
	return b.Check(rows + b.Count())
}

// Reading says which file is read.
func (b *Bad) Reading(file string) {
	if b != nil {
		b.file = file
	}
}

// row notes of which table the rows of the file are.
func (b *Bad) row(table string) {
	if b == nil || b.tables[b.file] != "" {
		return
	}
	if b.tables == nil {
		b.tables = map[string]string{}
	}
	b.tables[b.file] = table
}

// wholeError is a complaint that is not about one row alone.
type wholeError struct{ error }

// Unwrap gives the complaint.
func (w *wholeError) Unwrap() error { return w.error }

// Whole marks a complaint about a row that is one about the file: with it no row can be read, however many may be left out.
func Whole(err error) error {
	if err == nil {
		return nil
	}
	return &wholeError{err}
}

// Beforehand is the file for a look before it is read: rows that cannot be read are passed over there, and counted when they are read.
func (f File) Beforehand() File {
	if f.Bad != nil && !f.Bad.Limit.None() {
		f.Bad = &Bad{active: true}
	}
	return f
}

// ExpectedZone is what complaints about a time without a zone expect: they are about all rows.
const ExpectedZone = "an instant with its zone"

// Pass answers nil for a complaint about one row, which is left out; any other error it gives back.
func (f File) Pass(err error) error {
	var whole *wholeError
	var data *traces.DataError
	if err == nil || f.Bad == nil || !f.Bad.active || errors.As(err, &whole) || !errors.As(err, &data) || data.Line == 0 && data.Row == 0 || data.Expected == ExpectedZone {
		return err
	}
	if err := f.Bad.Add(data); err != nil {
		return err
	}
	if f.Bad.drop != nil {
		place := Place{Line: data.Line, Name: data.Found}
		if data.Line == 0 {
			place.Of, place.Line = "row", data.Row
		}
		if data.Column != "" {
			place.Name = data.Column + " " + data.Found
		}
		f.Bad.drop(&place)
	}
	return nil
}
