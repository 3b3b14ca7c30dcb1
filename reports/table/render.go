package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"strings"

	"orrery/internal/doc"
)

// markdownEscape has a space without width behind @, which would call a person of that name.
var markdownEscape = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "\n", " ", "`", "\\`", "*", `\*`, "](", `]\(`, "@", "@\u200b")

// EscapedMarkdown is text that Markdown shows as it is, without HTML in it.
func EscapedMarkdown(s string) string { return markdownEscape.Replace(doc.Escaped(s, "")) }

// SafeCell puts an apostrophe before a text that a spreadsheet would take for a formula.
func SafeCell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

func (t sheet) writeMarkdown(w io.Writer) error {
	right := t.rightAligned()
	b := bufio.NewWriter(w)
	for _, name := range t.Columns {
		b.WriteString("| " + markdownEscape.Replace(name) + " ")
	}
	b.WriteString("|\n")
	for i := range t.Columns {
		if right[i] {
			b.WriteString("|---:")
		} else {
			b.WriteString("|---")
		}
	}
	b.WriteString("|\n")
	for _, row := range t.Rows {
		for _, c := range row {
			b.WriteString("| " + markdownEscape.Replace(text(c)) + " ")
		}
		b.WriteString("|\n")
	}
	return b.Flush()
}

// writeJSON writes an array with one object per row, keys in column order.
func (t sheet) writeJSON(w io.Writer) error {
	var b bytes.Buffer
	b.WriteByte('[')
	for r, row := range t.Rows {
		if r > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n  {")
		for i, c := range row {
			if i > 0 {
				b.WriteString(", ")
			}
			if err := encode(&b, t.Keys[i]); err != nil {
				return err
			}
			b.WriteString(": ")
			if err := encode(&b, c.JSON); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	}
	if len(t.Rows) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("]\n")
	_, err := w.Write(b.Bytes())
	return err
}

// writeCSV writes what JSON has: numbers with all their digits, in the units of their
// keys. A missing value is an empty field.
func (t sheet) writeCSV(w io.Writer, safe bool) error {
	c := csv.NewWriter(w)
	if err := c.Write(t.Keys); err != nil {
		return err
	}
	for _, row := range t.Rows {
		fields := make([]string, len(row))
		for i := range row {
			switch v := row[i].JSON.(type) {
			case nil:
			case string:
				if fields[i] = v; safe {
					fields[i] = SafeCell(v)
				}
			default:
				var b bytes.Buffer
				if err := encode(&b, v); err != nil {
					return err
				}
				fields[i] = b.String()
			}
		}
		if err := c.Write(fields); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// encode appends v without the HTML escapes and the line end of the standard
// encoder.
func encode(b *bytes.Buffer, v any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1)
	return nil
}
