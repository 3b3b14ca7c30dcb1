package explain

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/internal/doctest"
)

var update = flag.Bool("update", false, "rewrite the table in docs/EXPLAIN.md")

var document = doctest.Part{File: "../../docs/EXPLAIN.md", Begin: "<!-- reasons: go test ./sim/explain -update -->\n", End: "<!-- end of reasons -->\n"}

// markdown is the table of all reasons with their sentences.
func markdown() string {
	var b strings.Builder
	b.WriteString("| reason | the job waited … | it was refused at submission, since … | a proposal to start it was refused: … | it ended because … |\n|---|---|---|---|---|\n")
	for _, r := range Reasons() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.Reason, r.Waits, r.Rejected, r.Refused, r.Ended)
	}
	return strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(b.String())
}

// The table in the document is the table in the code.
func TestDocumentHoldsTheReasons(t *testing.T) {
	document.Holds(t, markdown(), *update)
}

// Each reason has a sentence somewhere, and none would break the table.
func TestEachReasonHasASentence(t *testing.T) {
	for _, r := range Reasons() {
		all := r.Waits + r.Rejected + r.Refused + r.Ended
		require.NotEmpty(t, all, r.Reason)
		require.NotContains(t, all, "|", r.Reason)
	}
}
