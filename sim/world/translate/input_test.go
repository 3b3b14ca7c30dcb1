package translate

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// TestInput: what a job stages is what its row has on other tiers than hot. A row that has
// none says 0, and one without mounts says nothing.
func TestInput(t *testing.T) {
	for _, c := range []struct {
		mounts string
		want   traces.Opt[int64]
		ready  model.Fixed
	}{
		{"", traces.Opt[int64]{}, -1},
		{"{}", traces.Some[int64](0), model.One},
		{`{"hot":5}`, traces.Some[int64](0), model.One},
		{`{"hot":5,"cold":10,"warm":5}`, traces.Some[int64](15), model.One / 4},
		{`{"cold":-7,"warm":5}`, traces.Some[int64](5), 0},
		{`{"cold":9223372036854775807,"warm":9223372036854775807}`, traces.Some[int64](math.MaxInt64), 0},
	} {
		rows := Rows{File: "log"}
		var a model.Allocation
		truth, _, ok, err := NewSite(namedSite(), &rows).Submission(batchOf(row(1, 0, func(j *traces.Job) { j.Mounts = c.mounts })), 0, &a)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, c.want, truth.Input, c.mounts)
		require.Equal(t, c.ready, a.DataReady, c.mounts)
	}
}
