package traces_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// What a job held is what it was allocated, where the log has that, and else what it asked for.
func TestHeldBy(t *testing.T) {
	n := traces.Some[int32]
	asked := traces.Job{ProcsRequested: n(8), NodesMin: n(1), GPUsPerNode: n(2), GPUsTotal: n(2), MemPerNode: traces.Some[int64](100)}
	require.Equal(t, traces.Held{8, 1, 2000, 100}, traces.HeldBy(&asked))
	more := asked
	more.ProcsAllocated, more.NodesAllocated, more.GPUsAllocated = n(40), n(2), n(12)
	require.Equal(t, traces.Held{40, 2, 12000, 100}, traces.HeldBy(&more))
	none := traces.Job{ProcsRequested: n(8), NodesMin: n(1), GPUsAllocated: n(4)} // whole nodes, of which GPUs are a part
	require.Equal(t, traces.Held{8, 1, 4000, 0}, traces.HeldBy(&none))
	share := traces.Job{NodesMin: n(1), CPUsPerNode: n(2), GPUsPerNode: n(1), GPUMilli: n(250)}
	require.Equal(t, traces.Held{2, 1, 250, 0}, traces.HeldBy(&share))

	var p traces.Peaks
	p.Add(0, 0, 10*model.Time(model.Second), traces.HeldBy(&more))
	p.Add(1, 5, 20*model.Time(model.Second), traces.HeldBy(&asked))
	p.Finish()
	require.Equal(t, traces.Held{48, 3, 14000, 200}, p.Most)
}
