package record

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The document describes the columns that the code writes, in order.
func TestDocumentDescribesTheColumns(t *testing.T) {
	doc, err := os.ReadFile("../../docs/RESULT-FORMAT.md")
	require.NoError(t, err)
	for _, table := range Tables() {
		_, section, ok := strings.Cut(string(doc), "\n## "+table+".parquet\n")
		require.True(t, ok, "no section on %s", table)
		section, _, _ = strings.Cut(section, "\n## ")
		var have, want []string
		for line := range strings.Lines(section) {
			if cells := strings.Split(line, "|"); len(cells) > 3 && strings.HasPrefix(cells[1], " `") {
				have = append(have, strings.TrimSpace(cells[1])+" "+strings.TrimSpace(cells[2]))
				require.NotEmpty(t, strings.TrimSpace(cells[3]), line)
			}
		}
		for _, f := range fieldsOf(table) {
			s := fmt.Sprintf("`%s` %s", f.name, [...]string{"int32", "int64", "timestamp", "text", "text", "double"}[f.kind])
			if f.optional {
				s += "?"
			}
			want = append(want, s)
		}
		require.Equal(t, want, have, table)
	}
}
