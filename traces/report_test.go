package traces

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBalanced: the counts of an account add up, and what is measured of its rows fits them.
func TestBalanced(t *testing.T) {
	at := func(n int64) *int64 { return &n }
	good := TableReport{Table: "jobs", Read: 5, Kept: 4, Dropped: []Rule{{Rule: "x", Count: 1}}, FirstUS: at(1), LastUS: at(2), Requests: &Requests{Jobs: 3, Exceeded: 1, Without: 1}}
	for name, change := range map[string]func(*TableReport){
		"a row too many":                    func(r *TableReport) { r.Read++ },
		"a row that became nothing":         func(r *TableReport) { r.Dropped = nil },
		"a first time behind the last":      func(r *TableReport) { r.FirstUS = at(3) },
		"a first time without a last":       func(r *TableReport) { r.LastUS = nil },
		"jobs that are not counted":         func(r *TableReport) { r.Requests = &Requests{Jobs: 3} },
		"more that exceeded than there are": func(r *TableReport) { r.Requests = &Requests{Jobs: 3, Exceeded: 4, Without: 1} },
	} {
		r := good
		var whole Report
		whole.AddTable(&r)
		require.True(t, whole.Balanced())
		change(&r)
		whole = Report{}
		whole.AddTable(&r)
		require.False(t, whole.Balanced(), name)
	}
	require.False(t, (&Report{Read: 1, Kept: 1, Tables: []TableReport{good}}).Balanced(), "sums that are not those of the tables")
}
