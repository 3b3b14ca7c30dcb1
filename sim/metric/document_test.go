package metric

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/internal/doctest"
)

var update = flag.Bool("update", false, "rewrite the table in docs/METRICS.md")

var document = doctest.Part{File: "../../docs/METRICS.md", Begin: "<!-- definitions: go test ./sim/metric -update -->\n", End: "<!-- end of definitions -->\n"}

// markdown is the legend and the table of all definitions.
func markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "```\n%s\n```\n\n| metric | unit | better | windows | formula | edges | source |\n|---|---|---|---|---|---|---|\n", Legend)
	for i, d := range AllDefinitions() {
		if i == len(definitions) {
			b.WriteString("\nOf a site only:\n\n| metric | unit | better | windows | formula | edges | source |\n|---|---|---|---|---|---|---|\n")
		}
		if i == len(definitions)+len(siteDefinitions) {
			b.WriteString("\nOf a site whose prices have a supply only:\n\n| metric | unit | better | windows | formula | edges | source |\n|---|---|---|---|---|---|---|\n")
		}
		if i == len(definitions)+len(siteDefinitions)+len(supplyDefinitions) {
			b.WriteString("\nOf a site with [services](SERVICES.md#inside-a-cluster) only, over all of them; run.json has each of them:\n\n| metric | unit | better | windows | formula | edges | source |\n|---|---|---|---|---|---|---|\n")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | `%s` | %s | %s |\n", d.Name, d.Unit, d.Sense, strings.Join(d.Windows, ", "), d.Formula, d.Edge, d.Source)
	}
	b.WriteString("\nOf a group, with N its jobs:\n\n| number | unit | better | formula | groups |\n|---|---|---|---|---|\n")
	for _, c := range Columns() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` | %s |\n", c.Name, c.Unit, c.Sense, c.Formula, strings.Join(c.Of, ", "))
	}
	return b.String()
}

// The table in the document is the table in the code.
func TestDocumentHoldsTheDefinitions(t *testing.T) {
	document.Holds(t, markdown(), *update)
}

func TestDefinitionsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range AllDefinitions() {
		require.False(t, seen[d.Name], "%s is defined twice", d.Name)
		seen[d.Name] = true
		for _, text := range []string{d.Name, d.Unit, d.Formula, d.Edge} {
			require.NotEmpty(t, text, d.Name)
			require.NotContains(t, text, "|", "it would break the table")
		}
	}
	tab := compute(t, byHand, Config{Units: 4})
	n := 0
	for _, d := range Definitions() {
		for _, w := range d.Windows {
			_, ok := tab.Get(d.Name, w)
			require.True(t, ok, "%s %s is not computed", d.Name, w)
			n++
		}
	}
	require.Len(t, tab.Metrics, n)
}
