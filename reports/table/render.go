package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	missing  = "-"
	gap      = 2 // spaces between text columns
	minWidth = 8 // a text column does not shrink below this
)

func (c Cell) text() string {
	if c.Text == "" && c.JSON == nil {
		return missing
	}
	return c.Text
}

// rightAligned says for each column whether all its present cells are
// numbers, of which there must be one.
func (t *Table) rightAligned() []bool {
	right := make([]bool, len(t.cols))
	for i := range t.cols {
		seen, all := false, true
		for _, row := range t.rows {
			if row[i].text() == missing {
				continue
			}
			seen = true
			all = all && row[i].Number
		}
		right[i] = seen && all
	}
	return right
}

// widths returns the natural width of each column, narrowed to limit.
func (t *Table) widths(right []bool, limit int) []int {
	width := make([]int, len(t.cols))
	total := gap * (len(t.cols) - 1)
	for i, name := range t.cols {
		width[i] = utf8.RuneCountInString(name)
		for _, row := range t.rows {
			width[i] = max(width[i], utf8.RuneCountInString(row[i].text()))
		}
		total += width[i]
	}
	for limit > 0 && total > limit {
		widest := -1
		for i, w := range width {
			if !right[i] && w > minWidth && (widest < 0 || w > width[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break // numbers are never cut: better wide than wrong
		}
		width[widest]--
		total--
	}
	return width
}

func (t *Table) writeText(w io.Writer, o Options) error {
	right := t.rightAligned()
	width := t.widths(right, o.Width)
	b := bufio.NewWriter(w)
	line := func(cell func(i int) (string, Tone), head bool) {
		for i := range t.cols {
			s, tone := cell(i)
			s = cut(s, width[i], o.ASCII)
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(s))
			if o.Color {
				s = paint(s, tone, head)
			}
			switch {
			case right[i]:
				s = pad + s
			case i < len(t.cols)-1:
				s += pad
			}
			if i > 0 {
				b.WriteString(strings.Repeat(" ", gap))
			}
			b.WriteString(s)
		}
		b.WriteByte('\n')
	}
	line(func(i int) (string, Tone) { return t.cols[i], Plain }, true)
	for _, row := range t.rows {
		line(func(i int) (string, Tone) { return row[i].text(), row[i].Tone }, false)
	}
	return b.Flush()
}

func cut(s string, width int, ascii bool) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	end := "…"
	if ascii {
		end = "..."
	}
	keep := max(width-utf8.RuneCountInString(end), 0)
	return string([]rune(s)[:keep]) + end
}

func paint(s string, tone Tone, head bool) string {
	code := ""
	switch {
	case head:
		code = "1"
	case tone == Good:
		code = "32"
	case tone == Bad:
		code = "31"
	case tone == Faint:
		code = "2"
	default:
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

var markdownEscape = strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ")

func (t *Table) writeMarkdown(w io.Writer) error {
	right := t.rightAligned()
	b := bufio.NewWriter(w)
	for _, name := range t.cols {
		b.WriteString("| " + markdownEscape.Replace(name) + " ")
	}
	b.WriteString("|\n")
	for i := range t.cols {
		if right[i] {
			b.WriteString("|---:")
		} else {
			b.WriteString("|---")
		}
	}
	b.WriteString("|\n")
	for _, row := range t.rows {
		for _, c := range row {
			b.WriteString("| " + markdownEscape.Replace(c.text()) + " ")
		}
		b.WriteString("|\n")
	}
	return b.Flush()
}

// writeJSON writes an array with one object per row, keys in column order.
func (t *Table) writeJSON(w io.Writer) error {
	var b bytes.Buffer
	b.WriteByte('[')
	for r, row := range t.rows {
		if r > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n  {")
		for i, c := range row {
			if i > 0 {
				b.WriteString(", ")
			}
			if err := encode(&b, t.keys[i]); err != nil {
				return err
			}
			b.WriteString(": ")
			if err := encode(&b, c.JSON); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	}
	if len(t.rows) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("]\n")
	_, err := w.Write(b.Bytes())
	return err
}

// writeCSV writes what JSON has: numbers with all their digits, in the units of their
// keys. A missing value is an empty field.
func (t *Table) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.Write(t.keys); err != nil {
		return err
	}
	for _, row := range t.rows {
		fields := make([]string, len(row))
		for i := range row {
			switch v := row[i].JSON.(type) {
			case nil:
			case string:
				fields[i] = v
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
