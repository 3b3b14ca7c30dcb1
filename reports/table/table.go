// Package table writes the tables of documents as aligned text, Markdown, JSON or CSV. It knows
// how to lay cells out and nothing of what they mean; whether the reader is a terminal, how
// wide it is and whether colour is welcome are its caller's findings.
package table

import (
	"fmt"
	"io"
	"slices"

	"orrery/internal/doc"
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

// Options say what the reader of a text table is like. The zero value suits a
// pipe: no limit on width, no colour.
type Options struct {
	Width int  // columns of the terminal, to which text is made to fit; 0 is no limit
	Color bool // ANSI colours; the caller honours NO_COLOR by leaving it false
	Safe  bool // CSV for a spreadsheet: no text in it is a formula, see SafeCell
}

// sheet is a table that is being laid out.
type sheet struct{ *doc.Table }

// Write renders a table to w in the given format.
func Write(w io.Writer, of *doc.Table, f Format, o Options) error {
	t := sheet{of}
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

// LeftOut are the columns that text of a width goes without.
func LeftOut(of *doc.Table, width int) []string {
	_, out := sheet{of}.fitting(width)
	return out
}

// fitting is the table without the optional columns that do not fit: as it is, where
// leaving them out does not make it fit.
func (t sheet) fitting(width int) (shown sheet, out []string) {
	shown = t
	for i := 0; ; i++ {
		if _, fits := shown.widths(shown.rightAligned(), width); fits {
			return shown, out
		}
		if i == len(t.Spare) {
			return t, nil
		}
		for _, name := range t.Spare[i] {
			if k := slices.Index(shown.Columns, name); k >= 0 {
				shown, out = shown.without(k), append(out, name)
			}
		}
	}
}

// without is the table less one column.
func (t sheet) without(column int) sheet {
	less := &doc.Table{Columns: slices.Delete(slices.Clone(t.Columns), column, column+1), Rows: make([][]doc.Cell, len(t.Rows))}
	for i, row := range t.Rows {
		less.Rows[i] = slices.Delete(slices.Clone(row), column, column+1)
	}
	return sheet{less}
}
