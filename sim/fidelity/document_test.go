package fidelity

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/internal/doctest"
)

var update = flag.Bool("update", false, "write the definitions into the document")

// TestDocument: the document has the definitions as they are.
func TestDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString("\n| key | unit | definition | range |\n|---|---|---|---|\n")
	for _, d := range Definitions() {
		require.NotEmpty(t, d.Key)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Key, d.Unit, strings.ReplaceAll(d.Formula, "|", `\|`), d.Range)
	}
	b.WriteString("\n")
	doctest.Part{File: "../../docs/FIDELITY.md", Begin: "<!-- definitions: go test ./sim/fidelity -update -->\n", End: "<!-- end of definitions -->"}.Holds(t, b.String(), *update)
}
