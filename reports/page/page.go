// Package page writes documents as HTML: one file with its style, figures and script, which opens
// without a network, and the files beside it. It has the words for numbers too, and what made the
// results. It knows nothing of what a page is about.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // the style and the template
	"encoding/base64"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"regexp"
	"slices"
	"strings"

	"orrery/internal/doc"
	"orrery/reports/plot"
)

// Names of the page and of the folder of its figures.
const (
	FileHTML   = "report.html"
	DirFigures = "figures"
)

//go:embed assets/page.css
var css string

//go:embed assets/page.html
var text string

// Page is a document with what its HTML has beside it.
type Page struct {
	doc.Document
	Made    Made
	Figures []*plot.Figure    // which the document names
	Style   string            // of this page, beside that of all
	Script  string            // "" is none
	Data    []Data            // that the script reads
	Slots   map[string]string // HTML of the program's own, by the name of the slot
}

// Data is what the script of a page reads in the element of this id.
type Data struct {
	ID   string
	JSON template.JS
}

// policy is the security policy of all pages: they run their own script alone, and ask for nothing.
const policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

// HTML writes the page as one file.
func (p *Page) HTML(w io.Writer) error {
	content := struct {
		*Page
		Policy string
		Style  template.CSS
		Script template.JS
	}{p, policy, template.CSS(css + p.Style), template.JS(p.Script)} // our own files
	if p.Script != "" {
		sum := sha256.Sum256([]byte(p.Script))
		content.Policy += "; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	t, err := template.New("page").Funcs(template.FuncMap{
		"soft": soft, "fixed": fixed, "laid": lay,
		"tone":   func(t doc.Tone) string { return map[doc.Tone]string{doc.Good: "good", doc.Bad: "bad"}[t] },
		"slot":   func(name string) template.HTML { return template.HTML(p.Slots[name]) }, // our own
		"figure": p.figure,
	}).Parse(text)
	if err == nil {
		err = t.Execute(w, content)
	}
	if err != nil {
		return fmt.Errorf("filling the page: %w", err)
	}
	return nil
}

// Write writes the page and its figures into dir, and behind them other files, which may say that there is a page, as write says.
func (p *Page) Write(dir string, others ...File) error {
	return write(dir, p.Figures, append([]File{{FileHTML, p.HTML}}, others...)...)
}

// Names are those of figures, for a part of a document.
func Names(figures []*plot.Figure) (names []string) {
	for _, f := range figures {
		names = append(names, f.Name)
	}
	return names
}

// soft lets a text of a table break behind its underscores, for narrow screens.
func soft(text string) template.HTML {
	return template.HTML(strings.ReplaceAll(template.HTMLEscapeString(text), "_", "_<wbr>")) // escaped
}

var quantity = regexp.MustCompile(`(\d) (s\b|min\b|h\b|d\b|%)`)

// fixed keeps numbers and their units on one line.
func fixed(text string) string { return quantity.ReplaceAllString(text, "$1\u00a0$2") }

// figure makes both forms of a figure part of the page, which shows the one that fits
// the screen: their size is left to the page, and their colours become the page's
// variables, so that they follow light and dark.
func (p *Page) figure(name string) (template.HTML, error) {
	i := slices.IndexFunc(p.Figures, func(f *plot.Figure) bool { return f.Name == name })
	if i < 0 {
		return "", fmt.Errorf("there is no figure %s", name)
	}
	f, both := p.Figures[i], ""
	for _, form := range []struct {
		class string
		write func(io.Writer) error
	}{{"wide", f.WriteSVG}, {"narrow", f.WriteNarrowSVG}} {
		var b bytes.Buffer
		if err := form.write(&b); err != nil {
			return "", err
		}
		svg := b.String()
		svg = svg[strings.Index(svg, "<svg"):]
		head, rest, _ := strings.Cut(svg, ">")
		view := head[strings.Index(head, "viewBox"):]
		view = view[:strings.Index(view[9:], `"`)+10]
		both += `<svg class="` + form.class + `" role="img" aria-label="` + template.HTMLEscapeString(f.Alt()) + `" ` + view + `>` + themed(rest)
	}
	return template.HTML(both), nil // drawn here, text escaped by the canvas
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

// Pack adds data as gzip and then base64: what unpack in page.js reads.
func (p *Page) Pack(id string, raw []byte) error {
	var z bytes.Buffer
	w, err := gzip.NewWriterLevel(&z, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(raw)
	}
	if err == nil {
		err = w.Close()
	}
	p.Data = append(p.Data, Data{id, template.JS(`"` + base64.StdEncoding.EncodeToString(z.Bytes()) + `"`)}) // base64
	return err
}
