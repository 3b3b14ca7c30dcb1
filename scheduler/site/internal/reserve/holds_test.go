package reserve

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// set is the nodes named, of eight.
func set(nodes ...model.NodeID) model.NodeSet {
	s := model.NewNodeSet(8)
	for _, n := range nodes {
		s.Add(n)
	}
	return s
}

// twoHolds keeps node 0 for job 1, whose victims 5 and 6 are on their way out by proposals 50 and 60,
// and nodes 2 and 3 for job 2, for which 7 leaves by proposal 70.
func twoHolds() Holds {
	var h Holds
	x := h.Add(1, 8)
	x.Nodes.Add(0)
	x.Victims = append(x.Victims, Victim{5, 50}, Victim{6, 60})
	x = h.Add(2, 8)
	x.Nodes.Or(set(2, 3))
	x.Victims = append(x.Victims, Victim{7, 70})
	return h
}

// Each row is what happens to two holds, and of which jobs nodes are kept then, and are ready.
func TestHolds(t *testing.T) {
	for _, c := range []struct {
		name        string
		happen      func(t *testing.T, h *Holds)
		kept, ready []model.Ref
	}{
		{"nothing", func(*testing.T, *Holds) {}, []model.Ref{1, 2}, nil},
		{"one of two victims leaves", func(_ *testing.T, h *Holds) { h.Left(5) }, []model.Ref{1, 2}, nil},
		{"a hold stands when its victims have all left", func(_ *testing.T, h *Holds) { h.Left(6); h.Left(5) }, []model.Ref{1, 2}, []model.Ref{1}},
		{"a job leaves that is no victim", func(_ *testing.T, h *Holds) { h.Left(8) }, []model.Ref{1, 2}, nil},
		{"a proposal of two is refused", func(t *testing.T, h *Holds) {
			ref, idle := h.Refused(50)
			require.EqualValues(t, 1, ref)
			require.False(t, idle, "another is on its way out")
		}, []model.Ref{1, 2}, nil},
		{"the only proposal is refused", func(t *testing.T, h *Holds) {
			ref, idle := h.Refused(70)
			require.EqualValues(t, 2, ref)
			require.True(t, idle)
		}, []model.Ref{1, 2}, []model.Ref{2}},
		{"the last proposal is refused when another victim has left", func(t *testing.T, h *Holds) {
			h.Left(6)
			ref, idle := h.Refused(50)
			require.EqualValues(t, 1, ref)
			require.True(t, idle)
		}, []model.Ref{1, 2}, []model.Ref{1}},
		{"a proposal of another kind is refused", func(t *testing.T, h *Holds) {
			ref, idle := h.Refused(5)
			require.EqualValues(t, -1, ref)
			require.False(t, idle)
		}, []model.Ref{1, 2}, nil},
		{"the job starts", func(t *testing.T, h *Holds) {
			require.True(t, h.Drop(1))
			require.False(t, h.Drop(1), "it is dropped")
		}, []model.Ref{2}, nil},
		{"a job starts that nothing is kept for", func(t *testing.T, h *Holds) { require.False(t, h.Drop(7)) }, []model.Ref{1, 2}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := twoHolds()
			c.happen(t, &h)
			var kept, ready []model.Ref
			for ref := range model.Ref(9) {
				if h.Has(ref) {
					kept = append(kept, ref)
				}
				if h.Ready(ref) {
					ready = append(ready, ref)
				}
			}
			require.Equal(t, c.kept, kept)
			require.Equal(t, c.ready, ready)
		})
	}
}

// A job leaves the nodes alone that are kept for others, and not its own.
func TestNodesKept(t *testing.T) {
	h := twoHolds()
	for ref, want := range map[model.Ref]struct{ own, others model.NodeSet }{
		1: {set(0), set(2, 3)},
		2: {set(2, 3), set(0)},
		3: {nil, set(0, 2, 3)},
	} {
		require.Equal(t, want.own, h.NodesOf(ref), "job %d", ref)
		others := set(7)
		h.AddOthers(ref, others)
		want.others.Add(7)
		require.Equal(t, want.others, others, "job %d, beside what it avoids already", ref)
	}
	require.Nil(t, h.Find(3))
	require.Equal(t, []Victim{{7, 70}}, h.Find(2).Victims)
}

// A hold in the memory of another knows nothing of it, and those that stand keep what they have.
func TestHoldMemory(t *testing.T) {
	h := twoHolds()
	h.Drop(1)
	x := h.Add(3, 8)
	require.Equal(t, Hold{Ref: 3, Nodes: set(), Victims: []Victim{}}, *x)
	x.Nodes.Add(6)
	x.Victims = append(x.Victims, Victim{4, 40})
	require.Equal(t, Holds{{2, set(2, 3), []Victim{{7, 70}}}, {3, set(6), []Victim{{4, 40}}}}, h)
	require.Zero(t, testing.AllocsPerRun(10, func() {
		h.Drop(2)
		h.Add(2, 8)
	}))
}
