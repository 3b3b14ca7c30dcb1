package caps

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// A node counts while it is up and no job holds it, however many share it.
func TestIdle(t *testing.T) {
	var s State
	s.CountIdle(&model.Site{Nodes: []model.Node{{IdlePower: 100}, {IdlePower: 200}, {IdlePower: 400, State: model.Down}}})
	idle := func() int64 { return s.Used.Net() }
	require.EqualValues(t, 300, idle())
	whole := &model.Placement{Words: []model.NodeWord{{Mask: 0b101}}}
	require.EqualValues(t, 100, s.Idle.On(whole), "the other is down")
	s.Hold(whole, 1)
	require.EqualValues(t, 200, idle())
	require.Zero(t, s.Idle.On(whole))
	s.SetUp(2, true)
	require.EqualValues(t, 200, idle(), "a job is on it")
	share := &model.Placement{Shares: []model.NodeShare{{Node: 1}}}
	s.Hold(share, 1)
	s.Hold(share, 1)
	require.Zero(t, idle())
	var trial Idle
	trial.CopyFrom(&s.Idle)
	require.Equal(t, Usage{Power: 50}, trial.Leave(Usage{Power: 50}, share), "another is still on the node")
	require.Equal(t, Usage{Power: 50, Idle: 200}, trial.Leave(Usage{Power: 50}, share), "it is idle from then on")
	require.Equal(t, Usage{Power: 50, Idle: 200}, trial.Return(Usage{Power: 50}, share))
	require.Zero(t, idle(), "a trial changes nothing")
	s.Hold(share, -1)
	require.Zero(t, idle())
	s.Hold(share, -1)
	s.Hold(whole, -1)
	require.EqualValues(t, 700, idle())
	s.SetUp(1, false)
	s.SetUp(1, false)
	require.EqualValues(t, 500, idle())
}

// Where idle nodes do not count, nothing is counted.
func TestNoIdle(t *testing.T) {
	var s State
	p := &model.Placement{Words: []model.NodeWord{{Mask: 1}}}
	s.Hold(p, 1)
	s.SetUp(0, false)
	require.Zero(t, s.Used)
	require.Zero(t, s.Idle.On(p))
	require.Equal(t, Usage{Power: 5}, s.Idle.Leave(Usage{Power: 5}, p))
}
