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
	require.NoError(t, table.Write(&b, serviceTable([]rundata.Document{d}), table.Markdown, table.Options{}))
	require.Contains(t, b.String(), "| chat | lattice | 2,000 | 12.5 | 25 | 2 | 9 | 5 | PRIORITY 1, RESOURCES 4 | 2 | 1 | 1.5 | 20 |")
}

// A taking has a row with both parties, jobs without a tenant among them.
func TestTakingTable(t *testing.T) {
	dec := json.NewDecoder(strings.NewReader(`[{"from": {"vcluster": "ml"}, "to": {"service": "chat"}, "preemptions": 1200, "nodes": 3, "node_us": 7200000000, "borrowed_us": 3600000000, "delay_us": 1800000000, "lost_gpu_us": 0},
		{"from": {"service": "chat"}, "to": {"tenant": "x"}, "nodes": 1}, {"from": {}, "to": {"service": "chat"}}]`))
	dec.UseNumber()
	var d []rundata.Document
	require.NoError(t, dec.Decode(&d))
	var b strings.Builder
	require.NoError(t, table.Write(&b, takingTable(d), table.Markdown, table.Options{}))
	require.Contains(t, b.String(), "| jobs of ml | service chat | 1,200 | 3 | 2 | 1 | 0.5 | 0 |")
	require.Contains(t, b.String(), "| service chat | jobs of x |")
	require.Contains(t, b.String(), "| jobs without a tenant | service chat |")
}
