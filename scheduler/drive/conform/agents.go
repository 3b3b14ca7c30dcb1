package conform

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// NodeAgents runs the contract of node agents: what is started ends once, and what does
// not start or is lost is reported. make is as for Quorum. In a Fixed shell no node fails.
func NodeAgents(t *testing.T, make Make) {
	t.Run("a job ends once, and its nodes can be had again", func(t *testing.T) { endsOnce(newRig(t, make(t))) })
	if make(t).Fixed {
		return
	}
	for _, c := range []struct {
		name string
		at   model.Duration // when node 1 fails
		run  func(*rig)
	}{
		{"a job whose node fails is put back, and the node is not granted again", 2 * model.Hour, nodeFails},
		{"a start that fails is refused or reported", model.Second, startFails},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(newRig(t, make(t, Failure{At: model.Time(c.at), Node: 1}))) })
	}
}

func endsOnce(r *rig) {
	jobs := r.submit(4, 4)
	require.Equal(r, []model.FactKind{granted}, r.propose(r.proposal(&jobs[0], 15)))
	r.wait(2 * model.Hour)
	require.Equal(r, 1, r.ends(jobs[0].Job))
	require.Equal(r, []model.FactKind{granted}, r.propose(r.proposal(&jobs[1], 15)))
	r.wait(2 * model.Hour)
	require.Equal(r, 1, r.ends(jobs[0].Job), "no second end")
	require.Equal(r, 1, r.ends(jobs[1].Job))
}

func nodeFails(r *rig) {
	job, other := r.enter(Job{Nodes: 2, Long: true}), r.enter(Job{Nodes: 2, Long: true})
	r.grant(&job, 3)
	r.grant(&other, 12)
	r.wait(3 * model.Hour)
	require.True(r, r.waitsAgain(&job), "its processes are gone with the node")
	require.False(r, r.waitsAgain(&other), "the other has lost no node")
	r.refuse(r.proposal(&job, 3), "the node is out of service")
	r.completes(&other)
	r.grant(&job, 12)
	r.completes(&job)
}

func startFails(r *rig) {
	job := r.enter(Job{Nodes: 2, Long: true})
	if kinds := r.propose(r.proposal(&job, 3)); kinds[0] == granted {
		r.until(func() bool { return r.waitsAgain(&job) }, "the report that a start failed")
	}
	r.grant(&job, 12)
	r.completes(&job)
}
