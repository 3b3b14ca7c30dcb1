package transform

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// TestStretchBeyondTheSpan multiplies times by 1000 four times, and back: what a trace cannot
// hold is refused with its row, whatever comes behind, and never cut.
func TestStretchBeyondTheSpan(t *testing.T) {
	jobs := []traces.Job{
		{ID: 7, Submit: 0, Runtime: traces.Some(model.Second)},
		{ID: 8, Submit: model.Time(model.Hour), Runtime: traces.Some(model.Hour), Walltime: traces.Some(2 * model.Hour)},
	}
	for _, row := range []struct {
		steps, want string
		tables      traces.Tables
	}{
		{"stretch by=1000\nstretch by=1000", "", traces.Tables{Jobs: jobs}},
		{strings.Repeat("stretch by=1000\n", 4), "row 2, column submit: found a time of 73,000 years or more (job 8)", traces.Tables{Jobs: jobs}},
		{strings.Repeat("stretch by=1000\n", 4) + strings.Repeat("stretch by=1/1000\n", 4), "row 2, column submit", traces.Tables{Jobs: jobs}},
		{strings.Repeat("stretch by=1000 what=arrivals\n", 4), "row 2, column submit", traces.Tables{Jobs: jobs}},
		{strings.Repeat("stretch by=1000\n", 4), "the events table: row 1, column time", traces.Tables{Jobs: jobs[:1], Events: []traces.Event{{Time: model.Time(model.Hour), Kind: "price", Value: "1"}}}},
		{strings.Repeat("stretch by=1000\n", 4), "the prices table: row 1, column time", traces.Tables{Jobs: jobs[:1], Prices: []traces.Price{{Time: model.Time(model.Hour)}}}},
		{strings.Repeat("stretch by=1000\n", 4), "the load table: row 1, column time", traces.Tables{Jobs: jobs[:1], Load: []traces.Load{{Time: model.Time(model.Hour), Service: "s", Arrivals: traces.Some(1.)}}}},
	} {
		r, err := ParseRecipe(row.steps)
		require.NoError(t, err)
		var out *Set
		s, err := FromTables("x", traces.Meta{}, row.tables)
		require.NoError(t, err)
		if out, err = s.Apply(r, nil); err == nil {
			_, err = out.Collect()
		}
		if row.want == "" {
			require.NoError(t, err)
			continue
		}
		var data *traces.DataError
		require.True(t, errors.As(err, &data), "%s: %v", row.steps, err)
		require.Contains(t, err.Error(), row.want)
	}
}
