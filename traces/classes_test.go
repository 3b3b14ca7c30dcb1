package traces_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/traces"
)

// TestEveryColumnHasAClass, and docs/IMPORT.md lists them.
func TestEveryColumnHasAClass(t *testing.T) {
	text, err := os.ReadFile("../docs/IMPORT.md")
	require.NoError(t, err)
	by := map[traces.Class][]string{}
	for _, table := range traces.TableNames() {
		for _, c := range traces.Columns(table) {
			class, ok := traces.ClassOf(table, c.Name)
			require.True(t, ok, "%s.%s: say in classes.go whether it is a request, a truth, an outcome or history", table, c.Name)
			if table == "jobs" {
				by[class] = append(by[class], "`"+c.Name+"`")
			}
		}
	}
	for class, columns := range by {
		line := fmt.Sprintf("| %s | %s |", class, strings.Join(columns, ", "))
		require.Contains(t, string(text), line)
	}
}
