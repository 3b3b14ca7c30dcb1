package metric

import (
	"fmt"
	"io"
	"strings"
)

//go:generate go test . -run Document -update

// WriteMarkdown writes the legend and the table of all definitions as
// Markdown, the form in which docs/METRICS.md holds it.
func WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "```\n%s\n```\n\n| metric | unit | windows | formula | edges | source |\n|---|---|---|---|---|---|\n", Legend)
	for _, d := range Definitions() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` | %s | %s |\n", d.Name, d.Unit, strings.Join(d.Windows, ", "), d.Formula, d.Edge, d.Source)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteText writes the legend and all definitions for a terminal, a paragraph
// each.
func WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", Legend)
	for _, d := range Definitions() {
		fmt.Fprintf(&b, "\n%s (%s; %s)\n    %s\n    %s\n", d.Name, d.Unit, strings.Join(d.Windows, ", "), d.Formula, d.Edge)
		if d.Source != "" {
			fmt.Fprintf(&b, "    %s\n", d.Source)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
