package tune

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/reports/page"
	"orrery/sim/task"
)

// TestUnheededIsToldFirst: what replays left unmet is told once, before anything else.
func TestUnheededIsToldFirst(t *testing.T) {
	const text = "4 of 6 jobs (92 % of the work) ask for GPUs, which the replay ignores"
	o := small()
	replay := planted(0.05, 0.01)
	o.Evaluate = func(ctx context.Context, tasks []task.Task) ([]task.Result, error) {
		out, err := replay(ctx, tasks)
		for i := range out {
			out[i].Unheeded = []string{text}
		}
		return out, err
	}
	r := newWorld(t, 3000, 0.8, halves).tune(t, o)
	require.Equal(t, []string{text}, r.Unheeded)
	require.Contains(t, markdown(t, r), "\n\n**UNHEEDED**: "+text+"\n\n")
}

// markdown is the report as people read it.
func markdown(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, page.Markdown(&b, r.Page(), nil))
	return b.String()
}
