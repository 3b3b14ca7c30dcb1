package reports

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/reports/internal/rundata"
	"orrery/reports/table"
)

// A service has a row with what it held, what it did not get and why.
func TestServiceTable(t *testing.T) {
	dec := json.NewDecoder(strings.NewReader(`{"name": "chat", "policy": "lattice", "requests": 2000, "missed": 0.125, "bad_steps": 3, "steps": 12, "node_us": 7200000000,
		"demands": 9, "unmet": {"RESOURCES": 4, "PRIORITY": 1}, "reclaimed_replicas": 2, "preempted": 1, "elasticity": {"theta_under_pct": 1.5, "theta_over_pct": 20}}`))
	dec.UseNumber()
	var d rundata.Document
	require.NoError(t, dec.Decode(&d))
	var b strings.Builder
	require.NoError(t, serviceTable([]rundata.Document{d}).Write(&b, table.Markdown, table.Options{}))
	require.Contains(t, b.String(), "| chat | lattice | 2,000 | 12.5 | 25 | 2 | 9 | 5 | PRIORITY 1, RESOURCES 4 | 2 | 1 | 1.5 | 20 |")
}
