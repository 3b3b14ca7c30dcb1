package page

import (
	"io"
	"slices"
	"strings"

	"orrery/internal/doc"
	"orrery/reports/plot"
	"orrery/reports/table"
)

// Markdown writes a document as one of its own. Figures are those in the folder of figures beside it.
func Markdown(w io.Writer, d *doc.Document, figures []*plot.Figure) error {
	return writeMarkdown(w, d, &markdown{figures: figures, heading: "#"})
}

// Comment writes a document without figures where others stand beside it: in the job summary of a CI run, or in a comment on a
// pull request. Its headings are a level lower.
func Comment(w io.Writer, d *doc.Document) error {
	return writeMarkdown(w, d, &markdown{heading: "##"})
}

func writeMarkdown(w io.Writer, d *doc.Document, m *markdown) error {
	m.say(m.heading+" ", d.Title)
	m.parts(d.Head)
	for i := range d.Sections {
		m.say(m.heading+"# ", d.Sections[i].Title)
		m.parts(d.Sections[i].Parts)
	}
	_, err := io.WriteString(w, strings.TrimRight(m.out.String(), "\n")+"\n")
	return err
}

type markdown struct {
	out     strings.Builder
	figures []*plot.Figure
	heading string // the mark of the title
}

// say writes a block: a mark, and a text as it is.
func (m *markdown) say(mark, text string) {
	m.out.WriteString(mark + table.EscapedMarkdown(text) + "\n\n")
}

func (m *markdown) parts(parts []doc.Part) {
	for i := range parts {
		m.part(&parts[i])
	}
}

func (m *markdown) part(p *doc.Part) {
	switch {
	case p.Fold != "" && !p.Open:
		m.out.WriteString("<details><summary>" + table.EscapedMarkdown(p.Fold) + "</summary>\n\n")
		m.parts(p.Parts)
		m.out.WriteString("</details>\n\n")
	case p.Parts != nil:
		m.parts(p.Parts)
	case p.Table != nil:
		table.Write(&m.out, p.Table, table.Markdown, table.Options{}) //nolint:errcheck // into memory
		m.out.WriteString("\n")
	case p.Role == doc.Heading:
		m.say(m.heading+"## ", p.Text)
	case p.Role == doc.Verbatim:
		m.out.WriteString("```\n" + p.Text + "\n```\n\n")
	case p.Word != "":
		m.say("**"+table.EscapedMarkdown(p.Word)+"**", strings.TrimSuffix(": "+p.Text, ": "))
	case p.Text != "":
		m.out.WriteString(table.EscapedMarkdown(p.Text) + strings.TrimSuffix(" `"+p.Code+"`", " ``") + "\n\n")
	}
	for _, text := range p.Notes {
		m.out.WriteString("- " + table.EscapedMarkdown(text) + "\n")
	}
	for _, t := range p.Tiles {
		value := strings.TrimPrefix(t.From+" → "+t.Value, " → ")
		if t.Change != "" {
			value += " (" + t.Change + ")"
		}
		m.out.WriteString("- " + table.EscapedMarkdown(t.Label+": "+value) + "\n")
	}
	if len(p.Notes)+len(p.Tiles) > 0 {
		m.out.WriteString("\n")
	}
	for _, name := range p.Figures {
		if i := slices.IndexFunc(m.figures, func(f *plot.Figure) bool { return f.Name == name }); i >= 0 {
			m.out.WriteString("![" + m.figures[i].Alt() + "](" + DirFigures + "/" + name + ".svg)\n\n")
		}
	}
}
