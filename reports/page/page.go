// Package page is what the pages of a run, a comparison and a study have in common: the
// style, the figures and tables in HTML, the words for numbers, what made the results,
// and the files that a page is written to. It knows nothing of what a page is about.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // the style and the parts
	"encoding/base64"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"regexp"
	"strings"

	"orrery/reports/plot"
	"orrery/reports/table"
)

// Names of the page and of the folder of its figures.
const (
	FileHTML   = "report.html"
	DirFigures = "figures"
)

// CSS is the style that all pages share.
//
//go:embed assets/page.css
var CSS string

//go:embed assets/parts.html
var parts string

// Template is a page that has the parts of all pages: "head" up to its style, in which it
// puts the "title" that the page defines, "figure" of a Figure, "table" of a Table, and "made"
// of a Made. It panics where the text is no template, as it is part of the program.
func Template(name, text string) *template.Template {
	t := template.New(name).Funcs(template.FuncMap{"soft": soft})
	return template.Must(template.Must(t.Parse(parts)).Parse(text))
}

// soft lets a text of a table break behind its underscores, for narrow screens.
func soft(text string) template.HTML {
	return template.HTML(strings.ReplaceAll(template.HTMLEscapeString(text), "_", "_<wbr>")) // escaped
}

// Section is a table with its heading, and the id by which a link finds it.
type Section struct {
	ID, Title string
	Table     Table
}

// Figure is a figure as a page has it.
type Figure struct {
	Name, Title, Note, Alt string
	SVG                    template.HTML
}

// Table is a table.Table with the alignment of each cell decided.
type Table struct {
	Heads []Cell
	Rows  [][]Cell
}

// Cell is a text and the class that aligns or colours it.
type Cell struct{ Text, Class string }

// TableOf aligns numbers right, with their heads.
func TableOf(t *table.Table) Table {
	var out Table
	rows := t.Rows()
	for i, name := range t.Columns() {
		class := ""
		if len(rows) > 0 && rows[0][i].Number {
			class = "n"
		}
		out.Heads = append(out.Heads, Cell{name, class})
	}
	for _, row := range rows {
		cells := make([]Cell, len(row))
		for i, c := range row {
			cells[i].Text = c.Text
			if c.Number || out.Heads[i].Class == "n" {
				cells[i].Class = "n"
			}
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

// Coloured is TableOf with the verdicts in colour.
func Coloured(t *table.Table) Table {
	out := TableOf(t)
	for i, row := range t.Rows() {
		for k, c := range row {
			switch c.Text {
			case "better":
				out.Rows[i][k].Class = "good"
			case "worse":
				out.Rows[i][k].Class = "bad"
			}
		}
	}
	return out
}

var quantity = regexp.MustCompile(`(\d) (s\b|min\b|h\b|d\b|%)`)

// Unbroken keeps numbers and their units on one line.
func Unbroken(lines []string) []string {
	for i, s := range lines {
		lines[i] = quantity.ReplaceAllString(s, "$1\u00a0$2")
	}
	return lines
}

// Inline makes both forms of a figure part of the page, which shows the one that fits
// the screen: their size is left to the page, and their colours become the page's
// variables, so that they follow light and dark.
func Inline(f *plot.Figure) (Figure, error) {
	both := ""
	for _, form := range []struct {
		class string
		write func(io.Writer) error
	}{{"wide", f.WriteSVG}, {"narrow", f.WriteNarrowSVG}} {
		var b bytes.Buffer
		if err := form.write(&b); err != nil {
			return Figure{}, err
		}
		svg := b.String()
		svg = svg[strings.Index(svg, "<svg"):]
		head, rest, _ := strings.Cut(svg, ">")
		view := head[strings.Index(head, "viewBox"):]
		view = view[:strings.Index(view[9:], `"`)+10]
		both += `<svg class="` + form.class + `" role="img" aria-label="` + template.HTMLEscapeString(f.Alt) + `" ` + view + `>` + themed(rest)
	}
	return Figure{f.Name, f.Title, f.Note, f.Alt, template.HTML(both)}, nil // drawn here, text escaped by the canvas
}

// InlineAll makes figures part of the page.
func InlineAll(figures []*plot.Figure) ([]Figure, error) {
	var all []Figure
	for _, f := range figures {
		h, err := Inline(f)
		if err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	return all, nil
}

// themeColors are the palette of the figures and the page's variables of the
// same meaning.
var themeColors = []struct {
	name  string
	color color.NRGBA
}{
	{"paper", plot.Paper}, {"ink", plot.Ink}, {"muted", plot.Muted}, {"line", plot.Grid}, {"blue", plot.Blue},
	{"vermilion", plot.Vermilion}, {"sky", plot.Sky}, {"orange", plot.Orange}, {"green", plot.Green}, {"purple", plot.Purple},
}

var svgColor = regexp.MustCompile(`:#[0-9A-F]{6}\b`)

// themed turns the palette into variables. The canvas loses up to one step of
// a channel on translucent colours, so neighbours count as equal.
func themed(svg string) string {
	return svgColor.ReplaceAllStringFunc(svg, func(s string) string {
		var r, g, b int
		if _, err := fmt.Sscanf(s, ":#%02X%02X%02X", &r, &g, &b); err != nil {
			return s
		}
		for _, t := range themeColors {
			if similar(r, t.color.R) && similar(g, t.color.G) && similar(b, t.color.B) {
				return ":var(--" + t.name + ")"
			}
		}
		return s
	})
}

func similar(v int, c uint8) bool { return v-int(c) <= 1 && int(c)-v <= 1 }

// Packed is gzip and then base64: what unpack in page.js reads.
func Packed(raw []byte) (string, error) {
	var z bytes.Buffer
	w, err := gzip.NewWriterLevel(&z, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(raw); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(base64.StdEncoding.EncodeToString(z.Bytes()))
	return b.String(), nil
}

// ScriptPolicy is the security policy of a page that runs one script and asks for nothing.
func ScriptPolicy(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
