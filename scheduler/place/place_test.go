package place

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

// drawSite draws nodes whose groups and fingerprints lie in runs or are mixed.
func drawSite(t *rapid.T) *model.Site {
	n := rapid.IntRange(1, 200).Draw(t, "nodes")
	groups := rapid.Int32Range(0, 9).Draw(t, "groups")
	prints := rapid.Int32Range(0, 4).Draw(t, "fingerprints")
	run := rapid.SampledFrom([]int{0, 1, 5, 16, 64}).Draw(t, "run")
	unknown := rapid.SampledFrom([]int{0, 0, 3, 10}).Draw(t, "unknown of ten")
	gpus := rapid.SampledFrom([]int32{0, 0, 4, 8}).Draw(t, "gpus")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	site := &model.Site{Fingerprints: prints, Topologies: []model.GPUTopology{pairs(4), pairs(8)}}
	for g := range groups {
		var adjacent []int32
		for o := range groups {
			if o != g && rng.IntN(3) == 0 {
				adjacent = append(adjacent, o)
			}
		}
		site.Groups = append(site.Groups, model.Group{Name: fmt.Sprint(g), Adjacent: adjacent})
	}
	for i := range n {
		node := model.Node{Fingerprint: -1, Topology: -1}
		if groups > 0 {
			node.Group = rng.Int32N(groups)
			if run > 0 {
				node.Group = int32(i/run) % groups
			}
		}
		if prints > 0 && rng.IntN(10) >= unknown {
			node.Fingerprint = rng.Int32N(prints)
		}
		if gpus > 0 {
			node.GPUs = gpus - rng.Int32N(2)*4*rng.Int32N(2)
			node.Topology = rng.Int32N(3) - 1
		}
		if rng.IntN(20) == 0 {
			node.State = model.Down
		}
		site.Nodes = append(site.Nodes, node)
	}
	return site
}

// pairs joins GPUs 2i and 2i+1 at 600 GB/s and all others at 64; the NUMA domains
// are the lower and the upper half.
func pairs(n int) model.GPUTopology {
	t := model.GPUTopology{Name: "pairs", Bandwidth: make([][]int64, n), NUMA: make([]int32, n)}
	for i := range n {
		t.Bandwidth[i] = make([]int64, n)
		t.NUMA[i] = int32(i / (n / 2))
		for j := range n {
			if t.Bandwidth[i][j] = 64; i/2 == j/2 {
				t.Bandwidth[i][j] = 600
			}
		}
	}
	return t
}

// drawSet draws about tenths of ten of n nodes.
func drawSet(t *rapid.T, n, tenths int, label string) model.NodeSet {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, label), 1))
	s := model.NewNodeSet(n)
	for i := range n {
		if rng.IntN(10) < tenths {
			s.Add(model.NodeID(i))
		}
	}
	return s
}

func drawQuery(t *rapid.T, site *model.Site, sp *Space, classes []ClassID) Query {
	n := len(site.Nodes)
	q := Query{
		Class:            rapid.SampledFrom(classes).Draw(t, "class"),
		Nodes:            rapid.Int32Range(0, int32(n)).Draw(t, "size"),
		Topology:         model.Topology(rapid.IntRange(0, 2).Draw(t, "topology")),
		Sensitive:        rapid.IntRange(0, 3).Draw(t, "sensitive") == 0,
		ConformanceFirst: rapid.IntRange(0, 3).Draw(t, "conformance first") == 0,
	}
	if rapid.Bool().Draw(t, "small") {
		q.Nodes = min(q.Nodes, 1+q.Nodes%7)
	}
	if len(sp.least) > 1 && rapid.Bool().Draw(t, "share") {
		q.GPUs = rapid.Int32Range(1, 9).Draw(t, "per node")
	}
	if rapid.IntRange(0, 2).Draw(t, "avoiding") == 0 {
		q.Avoid = drawSet(t, n, 3, "avoid")
	}
	return q
}

// view is a Free and its naive implementation, to which the same is done.
type view struct {
	free  *Free
	naive *naive
}

func (v *view) mark(p *model.Placement, held bool) {
	if held {
		v.free.Take(p)
	} else {
		v.free.Give(p)
	}
	v.naive.mark(p, held, nil)
}

// TestSelectAgainstNaive lets two observers of one site take, give and copy at
// random; each finds the same nodes as a walk over all of them does.
func TestSelectAgainstNaive(t *testing.T) {
	chosen, fitting := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		site := drawSite(t)
		sp := NewSpace(site)
		n := len(site.Nodes)
		classes := []ClassID{sp.Class(nil), sp.Class(drawSet(t, n, 8, "class")), sp.Class(drawSet(t, n, 4, "class"))}
		views := []view{{sp.NewFree(), newNaive(site)}, {sp.NewFree(), newNaive(site)}}
		var placed []model.Placement
		for range 300 {
			a := rapid.IntRange(0, 1).Draw(t, "view")
			v, other := &views[a], &views[1-a]
			q := drawQuery(t, site, sp, classes)
			if rapid.IntRange(0, 9).Draw(t, "new class") == 0 {
				q.Class = sp.Class(drawSet(t, n, 5, "class"))
			}
			p := compare(t, sp, v, &q)
			chosen++
			if len(p.Words)+len(p.Shares) > 0 {
				fitting++
				placed = append(placed, p)
			}
			change(t, v, other, placed, n)
		}
	})
	least := 20_000
	if testing.Short() {
		least = 6_000
	}
	require.GreaterOrEqual(t, chosen, least)
	require.Greater(t, fitting, chosen/6)
}

// change does one thing to v.
func change(t *rapid.T, v, other *view, placed []model.Placement, nodes int) {
	what := rapid.IntRange(0, 20).Draw(t, "change")
	switch {
	case what == 20:
		v.free.CopyFrom(other.free)
		v.naive.copyFrom(other.naive)
	case what > 17:
		n, up := rapid.IntRange(0, nodes-1).Draw(t, "node"), rapid.Bool().Draw(t, "up")
		v.free.SetAvailable(model.NodeID(n), up)
		v.naive.down[n] = !up
	case len(placed) == 0:
	case what < 6:
		v.mark(&placed[len(placed)-1], true)
	default:
		p := &placed[rapid.IntRange(0, len(placed)-1).Draw(t, "placement")]
		if what < 11 {
			v.free.GiveWhere(p, other.free)
			v.naive.mark(p, false, other.naive)
			return
		}
		v.mark(p, what == 11)
	}
}

// compare asks both for everything and returns what was chosen.
func compare(t *rapid.T, sp *Space, v *view, q *Query) model.Placement {
	class := sp.Members(q.Class)
	want := v.naive.placement(q, class)
	fits := len(want.Words)+len(want.Shares) > 0
	require.Equal(t, fits, v.free.Fits(q), "%+v fits", q)
	var p model.Placement
	require.Equal(t, fits, v.free.Select(q, &p), "%+v is selected", q)
	require.Equal(t, want, p, "%+v", q)

	extra := drawSet(t, sp.Nodes(), 5, "extra")
	want = v.naive.borrowed(q, class, extra)
	var borrowed model.Placement
	require.Equal(t, len(want.Words)+len(want.Shares) > 0, v.free.SelectExtra(q, extra, &borrowed), "%+v borrows", q)
	require.Equal(t, want, borrowed, "%+v borrows", q)

	most, offer := rapid.Int32Range(0, 20).Draw(t, "most"), model.NewNodeSet(sp.Nodes())
	idle := v.naive.usable(&Query{Avoid: q.Avoid}, extra)
	require.EqualValues(t, min(int(most), len(idle)), v.free.Lowest(extra, q.Avoid, offer, most))
	for _, n := range idle[:min(int(most), len(idle))] {
		require.True(t, offer.Has(model.NodeID(n)))
	}
	require.EqualValues(t, min(int(most), len(idle)), offer.Len())

	require.EqualValues(t, len(v.naive.usable(&Query{}, class)), v.free.Count(q.Class))
	require.EqualValues(t, len(v.naive.usable(&Query{Share: Share{GPUs: 2}}, class)), v.free.CountShares(q.Class, Share{GPUs: 2}))
	require.Equal(t, v.naive.largest(class, false), v.free.Largest(q.Class))
	require.Equal(t, v.naive.largest(class, true), v.free.LargestOrUnknown(q.Class))
	n := rapid.IntRange(0, sp.Nodes()-1).Draw(t, "node")
	require.Equal(t, v.naive.idle(n), v.free.Has(model.NodeID(n)))
	return p
}

// TestSpace: classes, and what a request can ever get, against walks over all
// nodes.
func TestSpace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		site := drawSite(t)
		sp, idle := NewSpace(site), newNaive(site)
		clear(idle.down)
		n := len(site.Nodes)
		a, b := drawSet(t, n, 8, "class"), drawSet(t, n, 4, "class")
		ida, idb := sp.Class(a), sp.Class(b)
		require.Equal(t, ida, sp.Class(append(model.NodeSet(nil), a...)))
		require.Equal(t, a, sp.Members(ida))
		require.Equal(t, idb, sp.Class(b))
		all := sp.Eligible(&model.Constraint{GPUType: -1, Exclude: a})
		for i := range n {
			require.Equal(t, !a.Has(model.NodeID(i)), all.Has(model.NodeID(i)))
		}
		for g := range int32(10) {
			require.EqualValues(t, len(idle.usable(&Query{Share: Share{GPUs: g}}, b)), sp.Most(idb, g))
		}
		k := rapid.Int32Range(1, int32(n)).Draw(t, "size")
		groups := max(1, len(site.Groups))
		want := groups
		if nodes := idle.usable(&Query{}, b); len(nodes) >= int(k) {
			want = idle.fewest(nodes, int(k))
		}
		needed, of := sp.GroupsNeeded(idb, k)
		require.EqualValues(t, want, needed)
		require.EqualValues(t, groups, of)
	})
}
