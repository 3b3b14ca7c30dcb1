package explain

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the table in docs/EXPLAIN.md")

const (
	docPath  = "../../docs/EXPLAIN.md"
	docBegin = "<!-- reasons: go test ./sim/explain -update -->\n"
	docEnd   = "<!-- end of reasons -->\n"
)

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
	doc, err := os.ReadFile(docPath)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(doc), docBegin)
	require.True(t, ok, "the document has lost the line %q", docBegin)
	have, after, ok := strings.Cut(rest, docEnd)
	require.True(t, ok, "the document has lost the line %q", docEnd)
	want := markdown()
	if *update {
		require.NoError(t, os.WriteFile(docPath, []byte(before+docBegin+want+docEnd+after), 0o666))
		return
	}
	require.Equal(t, want, have, "run: go test ./sim/explain -update")
}

// Each reason has a sentence somewhere, and none would break the table.
func TestEachReasonHasASentence(t *testing.T) {
	for _, r := range Reasons() {
		all := r.Waits + r.Rejected + r.Refused + r.Ended
		require.NotEmpty(t, all, r.Reason)
		require.NotContains(t, all, "|", r.Reason)
	}
}
