package traces_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/traces"
)

// docs/TRACE-FORMAT.md lists exactly the columns of the code, in order, with
// type, nullability, unit and meaning.
func TestFormatDocumentListsTheColumns(t *testing.T) {
	text, err := os.ReadFile("../docs/TRACE-FORMAT.md")
	require.NoError(t, err)
	for table, columns := range map[string][]traces.Column{
		"jobs": traces.JobColumns(), "deps": traces.Columns("deps"), "nodes": traces.Columns("nodes"),
		"tenants": traces.Columns("tenants"), "events": traces.Columns("events"), "prices": traces.Columns("prices"),
		"load": traces.Columns("load"), "telemetry": traces.Columns("telemetry"), "mig": traces.Columns("mig"),
	} {
		_, section, found := strings.Cut(string(text), "\n### "+table+"\n")
		require.True(t, found, table)
		var rows [][]string
		for _, line := range strings.Split(section, "\n") {
			if strings.HasPrefix(line, "#") {
				break
			}
			if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| column |") {
				continue
			}
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		}
		want := make([][]string, len(columns))
		for i, c := range columns {
			null := ""
			if c.Optional {
				null = "yes"
			}
			want[i] = []string{c.Name, c.Type.String(), null, c.Unit, c.Doc}
		}
		require.Equal(t, want, rows, table)
	}
}
