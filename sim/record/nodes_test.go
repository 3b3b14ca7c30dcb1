package record

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

func TestNodeTexts(t *testing.T) {
	for _, c := range []struct {
		p             model.Placement
		nodes, shares string
	}{
		{model.Placement{}, "", ""},
		{model.Placement{Words: []model.NodeWord{{Word: 0, Mask: 1}}}, "0", ""},
		{model.Placement{Words: []model.NodeWord{{Word: 0, Mask: 0x8f}}}, "0-3,7", ""},
		{model.Placement{Words: []model.NodeWord{{Word: 0, Mask: ^uint64(0)}, {Word: 1, Mask: 1}, {Word: 3, Mask: 1 << 63}}}, "0-64,255", ""},
		{model.Placement{Shares: []model.NodeShare{{Node: 2, Units: 4}, {Node: 3, Units: 4}, {Node: 4, Units: 4}, {Node: 9, Units: 1}}}, "2-4,9", "4x3,1"},
		{sharesOf(9, 10, 99, 100, 999, 1000, 9999, 10000, 123456), "9-10,99-100,999-1000,9999-10000,123456", "1x9"},
	} {
		require.Equal(t, c.nodes, string(AppendNodes(nil, &c.p)))
		require.Equal(t, c.shares, string(appendShares(nil, &c.p)))
		require.Equal(t, "x"+c.nodes, string(AppendNodes([]byte("x"), &c.p)))
	}
}

// sharesOf is a unit of each node.
func sharesOf(nodes ...model.NodeID) (p model.Placement) {
	for _, n := range nodes {
		p.Shares = append(p.Shares, model.NodeShare{Node: n, Units: 1})
	}
	return p
}

// The text names exactly the nodes of the placement, in as few ranges as can
// be, whichever form the placement has.
func TestNodeRangesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		masks := rapid.SliceOfN(rapid.OneOf(rapid.Just(uint64(0)), rapid.Just(^uint64(0)), rapid.Uint64()), 1, 5).Draw(t, "masks")
		var words, shares model.Placement
		var ranges []string
		last, held := -2, 0
		for w, m := range masks {
			if m != 0 {
				words.Words = append(words.Words, model.NodeWord{Word: int32(w), Mask: m})
			}
			for b := range 64 {
				if m>>b&1 == 0 {
					continue
				}
				n := 64*w + b
				shares.Shares = append(shares.Shares, model.NodeShare{Node: model.NodeID(n), Units: 1})
				if n != last+1 {
					ranges, held = append(ranges, fmt.Sprint(n)), n
				} else {
					ranges[len(ranges)-1] = fmt.Sprintf("%d-%d", held, n)
				}
				last = n
			}
		}
		want := strings.Join(ranges, ",")
		require.Equal(t, want, string(AppendNodes(nil, &words)))
		require.Equal(t, want, string(AppendNodes(nil, &shares)))
	})
}

func TestHotCallsDoNotAllocate(t *testing.T) {
	jobs, attempts := testRows(200)
	m := NewMemory()
	fill := func() {
		for i := range jobs {
			m.Job(&jobs[i])
		}
	}
	fill()
	require.Zero(t, testing.AllocsPerRun(10, func() { m.Reset(); fill() }))

	w, err := Create(t.TempDir(), testMeta())
	require.NoError(t, err)
	defer w.Abort()
	at := jobs[0]
	run := func() {
		for i := range attempts {
			at.Job++
			at.End++
			w.Job(&at)
			w.Attempt(&attempts[i])
		}
	}
	for range 1000 {
		run()
	}
	// Writing pages and row groups allocates now and then, never per row.
	require.Less(t, testing.AllocsPerRun(500, run)/float64(len(attempts)), 0.2)
}
