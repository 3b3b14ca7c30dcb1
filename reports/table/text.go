package table

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"orrery/internal/doc"
)

const (
	missing = "-"
	gap     = 2 // spaces between columns
	// widestWord is the longest word that a column is kept wide enough for; longer
	// ones, such as hashes and paths, are continued on the next line.
	widestWord = 40
)

func text(c doc.Cell) string {
	if c.Text == "" && c.JSON == nil {
		return missing
	}
	return c.Text
}

// rightAligned says for each column whether all its present cells are
// numbers, of which there must be one.
func (t sheet) rightAligned() []bool {
	right := make([]bool, len(t.Columns))
	for i := range t.Columns {
		seen, all := false, true
		for _, row := range t.Rows {
			if text(row[i]) == missing {
				continue
			}
			seen = true
			all = all && row[i].Number
		}
		right[i] = seen && all
	}
	return right
}

// writeText aligns the columns. Where the terminal is too narrow for them, texts are
// wrapped at spaces; where that does not do, optional columns are left out, and where
// that does not do either, each row is written as a block of lines, one for each
// column. Nothing is cut.
func (t sheet) writeText(w io.Writer, o Options) error {
	b := bufio.NewWriter(w)
	t, _ = t.fitting(o.Width)
	right := t.rightAligned()
	if width, fits := t.widths(right, o.Width); fits {
		t.writeRow(b, width, right, o, true, func(i int) (string, doc.Tone) { return t.Columns[i], doc.Plain })
		for _, row := range t.Rows {
			t.writeRow(b, width, right, o, false, func(i int) (string, doc.Tone) { return text(row[i]), row[i].Tone })
		}
	} else {
		t.writeBlocks(b, o)
	}
	return b.Flush()
}

// widths are those of the columns: the natural ones, or with a limit, texts made
// narrower, the widest first. fits is false when no widths keep to the limit.
func (t sheet) widths(right []bool, limit int) (width []int, fits bool) {
	width, least := make([]int, len(t.Columns)), make([]int, len(t.Columns))
	total := gap * (len(t.Columns) - 1)
	for i, name := range t.Columns {
		width[i], least[i] = length(name), widestOf(name)
		for _, row := range t.Rows {
			text := text(row[i])
			width[i] = max(width[i], length(text))
			if right[i] {
				least[i] = max(least[i], length(text)) // numbers stay on one line
			} else {
				least[i] = max(least[i], widestOf(text))
			}
		}
		total += width[i]
	}
	for limit > 0 && total > limit {
		widest := -1
		for i, w := range width {
			if w > least[i] && (widest < 0 || w > width[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return width, false
		}
		width[widest]--
		total--
	}
	return width, true
}

func length(s string) int { return utf8.RuneCountInString(s) }

// widestOf is the width that the words of a text need.
func widestOf(s string) int {
	n := 0
	for word := range strings.FieldsSeq(s) {
		n = max(n, min(length(word), widestWord))
	}
	return n
}

// writeRow writes one row, on as many lines as its longest text takes.
func (t sheet) writeRow(b *bufio.Writer, width []int, right []bool, o Options, head bool, cell func(i int) (string, doc.Tone)) {
	parts, tones, lines := make([][]string, len(t.Columns)), make([]doc.Tone, len(t.Columns)), 1
	for i := range t.Columns {
		var text string
		text, tones[i] = cell(i)
		parts[i] = wrap(text, width[i])
		lines = max(lines, len(parts[i]))
	}
	for n := range lines {
		var line strings.Builder
		for i := range t.Columns {
			s := ""
			if n < len(parts[i]) {
				s = parts[i][n]
			}
			pad := strings.Repeat(" ", width[i]-length(s))
			if o.Color && s != "" {
				s = paint(s, tones[i], head)
			}
			if i > 0 {
				line.WriteString(strings.Repeat(" ", gap))
			}
			if right[i] {
				line.WriteString(pad + s)
			} else {
				line.WriteString(s + pad)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
}

// writeBlocks writes each row as lines of a name and a value, with an empty line
// between rows.
func (t sheet) writeBlocks(b *bufio.Writer, o Options) {
	names := 0
	for _, name := range t.Columns {
		names = max(names, length(name))
	}
	for r, row := range t.Rows {
		if r > 0 {
			b.WriteByte('\n')
		}
		for i, c := range row {
			for n, s := range wrap(text(c), max(o.Width-names-gap, 1)) {
				name := t.Columns[i]
				if n > 0 {
					name = ""
				}
				pad := strings.Repeat(" ", names-length(name)+gap)
				if o.Color {
					name, s = paint(name, doc.Plain, name != ""), paint(s, c.Tone, false)
				}
				b.WriteString(strings.TrimRight(name+pad+s, " "))
				b.WriteByte('\n')
			}
		}
	}
}

// Wrap divides a paragraph into lines of at most width, 0 for no limit. A word that is
// longer, such as a path, stays whole.
func Wrap(text string, width int) []string {
	if width <= 0 || length(text) <= width {
		return []string{text}
	}
	var out []string
	for rest := []rune(text); len(rest) > 0; {
		end := len(rest)
		if end > width {
			if end = lastSpace(rest, width); end <= 0 {
				if end = slices.Index(rest, ' '); end <= 0 {
					end = len(rest)
				}
			}
		}
		out = append(out, strings.TrimRight(string(rest[:end]), " "))
		for rest = rest[end:]; len(rest) > 0 && rest[0] == ' '; {
			rest = rest[1:]
		}
	}
	return out
}

// wrap divides a text into lines of at most width, at spaces where it can; spaces
// within a line stay as they are.
func wrap(s string, width int) []string {
	if length(s) <= width {
		return []string{s}
	}
	var out []string
	for rest := []rune(s); len(rest) > 0; {
		if len(rest) <= width {
			out = append(out, string(rest))
			break
		}
		end := width
		if i := lastSpace(rest, width); i > 0 {
			end = i
		}
		out = append(out, strings.TrimRight(string(rest[:end]), " "))
		for rest = rest[end:]; len(rest) > 0 && rest[0] == ' '; {
			rest = rest[1:]
		}
	}
	return out
}

// lastSpace is the last place to break a line of at most width: not between a number
// and its percent sign. -1 is none.
func lastSpace(text []rune, width int) int {
	for i := width; i >= 0; i-- {
		if text[i] == ' ' && (i+1 == len(text) || text[i+1] != '%') {
			return i
		}
	}
	return -1
}

func paint(s string, tone doc.Tone, head bool) string {
	code := ""
	switch {
	case head:
		code = "1"
	case tone == doc.Good:
		code = "32"
	case tone == doc.Bad:
		code = "31"
	case tone == doc.Faint:
		code = "2"
	default:
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
