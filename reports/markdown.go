package reports

import (
	"bufio"
	"io"

	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/reports/table"
)

// writeMarkdown writes summary.md: the head of the report for places that show
// Markdown, such as a job summary of a CI run.
func (r *run) writeMarkdown(w io.Writer, o Options, figures []*plot.Figure) error {
	b := bufio.NewWriter(w)
	line := func(s ...string) {
		for _, part := range s {
			b.WriteString(part)
		}
		b.WriteByte('\n')
	}
	section := func(title string, t *table.Table) error {
		if t.Len() == 0 {
			return nil
		}
		line("\n## ", title, "\n")
		return t.Write(b, table.Markdown, table.Options{})
	}
	line("# Replay of ", table.EscapedMarkdown(o.Title), "\n")
	for _, s := range r.unheeded() {
		line("**UNHEEDED**: ", table.EscapedMarkdown(s), "\n")
	}
	if r.Table.Verdict != "" {
		line("**", string(r.Table.Verdict), "**: ", VerdictWords(r.Table.Verdict), ".\n")
	}
	for _, s := range r.summary() {
		line(table.EscapedMarkdown(s))
	}
	if ws := r.warnings(); len(ws) > 0 {
		line()
		for _, s := range ws {
			line("- ", table.EscapedMarkdown(s))
		}
	}
	for _, s := range r.siteTables() {
		if err := section(s.title, s.table); err != nil {
			return err
		}
	}
	if err := section("Metrics", metricTable(&r.Table)); err != nil {
		return err
	}
	line("\n## Figures\n")
	for _, f := range figures {
		line("![", f.Alt, "](", page.DirFigures, "/", f.Name, ".svg)\n")
	}
	for _, s := range []struct {
		title string
		table *table.Table
	}{
		{"Policy and cluster", r.policyTable()},
		{"Jobs by final state", r.stateTable()},
		{"Rows that needed special handling", r.awkwardTable()},
		{"Provenance", r.provenanceTable()},
	} {
		if err := section(s.title, s.table); err != nil {
			return err
		}
	}
	return b.Flush()
}
