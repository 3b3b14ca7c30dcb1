package gate

import (
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes the report as a comment for a pull request: the verdict,
// what failed and why, and the rest folded away.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## Gate %s: %s\n\n", escape(r.Gate), heading(r.Verdict))
	for _, text := range r.Unheeded() {
		fmt.Fprintf(&b, "**UNHEEDED**: %s\n\n", escape(text))
	}
	if r.Description != "" {
		fmt.Fprintf(&b, "%s\n\n", escape(r.Description))
	}
	fmt.Fprintf(&b, "Checks: %d, replays: %d; %d hold, %d found a regression, %d lack evidence.\n",
		len(r.Checks), len(r.Replays), r.Count(Holds), r.Count(Regression), r.Count(Undecided))
	for _, v := range []Verdict{Regression, Undecided} {
		if r.Count(v) > 0 {
			fmt.Fprintf(&b, "\n### %s\n\n", heading(v))
			r.rows(&b, v, true)
		}
	}
	if r.Count(Holds) > 0 {
		fmt.Fprintf(&b, "\n<details><summary>Checks that hold: %d</summary>\n\n", r.Count(Holds))
		r.rows(&b, Holds, false)
		b.WriteString("\n</details>\n")
	}
	r.sources(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func heading(v Verdict) string {
	switch v {
	case Regression:
		return "Regression"
	case Undecided:
		return "Not enough evidence"
	}
	return "All hold"
}

func (r *Report) rows(b *strings.Builder, v Verdict, why bool) {
	b.WriteString("| kind | check | found | want |")
	if why {
		b.WriteString(" why |")
	}
	b.WriteString("\n|---|---|---|---|")
	if why {
		b.WriteString("---|")
	}
	b.WriteByte('\n')
	for i := range r.Checks {
		f := &r.Checks[i]
		if f.Verdict != v {
			continue
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |", f.Kind, escape(f.Check), escape(f.Found), escape(f.Want))
		if why {
			fmt.Fprintf(b, " %s |", escape(f.Why))
		}
		b.WriteByte('\n')
	}
}

// sources says where the stored numbers come from, each once.
func (r *Report) sources(b *strings.Builder) {
	seen := map[string]bool{}
	for i := range r.Checks {
		f := &r.Checks[i]
		if f.Baseline == nil || seen[f.Run] {
			continue
		}
		if len(seen) == 0 {
			b.WriteString("\nBaseline:\n\n")
		}
		seen[f.Run] = true
		fmt.Fprintf(b, "- %s: %s\n", escape(f.Run), escape(f.Baseline.String()))
	}
}

// String is the provenance in a line.
func (p *Provenance) String() string {
	out := p.Reason
	var by []string
	for _, part := range []struct{ word, text string }{{"by ", p.By}, {"at ", p.At}, {"with orrery ", p.Version}, {"commit ", short(p.Commit)}} {
		if part.text != "" {
			by = append(by, part.word+part.text)
		}
	}
	if len(by) > 0 {
		out += " (" + strings.Join(by, ", ") + ")"
	}
	return out
}

// escape keeps a text from being read as Markdown or HTML, in a cell of a table
// too.
func escape(s string) string {
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "\n", " ", "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "@", "@\u200b").Replace(s)
}
