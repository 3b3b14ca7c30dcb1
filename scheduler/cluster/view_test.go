package cluster

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// nodes is a cluster as a plain list of free units.
type nodes struct {
	units, free []int32
	whole       bool
}

func (c *nodes) fits(r model.Request, free []int32) bool {
	need, got := r.Units, int32(0)
	for n, f := range free {
		switch {
		case c.whole && f == c.units[n]:
			got++
		case c.whole:
		case r.Layout == model.Anywhere:
			got += f
		case f >= r.PerNode:
			got++
		}
	}
	switch {
	case r.Layout == model.PerNode:
		need = r.Nodes
		if c.whole && r.PerNode > c.units[0] {
			return false
		}
	case c.whole:
		need = (r.Units + c.units[0] - 1) / c.units[0]
	}
	return got >= need
}

// take chooses as View.Take documents.
func (c *nodes) take(r model.Request) map[int]int32 {
	held := map[int]int32{}
	pick := func(better func(a, b int32) bool, least int32) int {
		best := -1
		for n, f := range c.free {
			if held[n] == 0 && f >= least && f > 0 && (best < 0 || better(f, c.free[best])) {
				best = n
			}
		}
		return best
	}
	fuller := func(a, b int32) bool { return a < b }
	emptier := func(a, b int32) bool { return a > b }
	switch {
	case c.whole:
		need := r.Nodes
		if r.Layout == model.Anywhere {
			need = (r.Units + c.units[0] - 1) / c.units[0]
		}
		for n := range c.units {
			if need > 0 && c.free[n] == c.units[n] {
				held[n] = c.units[n]
				need--
			}
		}
	case r.Layout == model.PerNode:
		for range r.Nodes {
			held[pick(fuller, r.PerNode)] = r.PerNode
		}
	default:
		for left := r.Units; left > 0; {
			n := pick(fuller, left)
			if n < 0 {
				n = pick(emptier, 1)
			}
			held[n] = min(left, c.free[n])
			left -= held[n]
		}
	}
	for n, u := range held {
		c.free[n] -= u
	}
	return held
}

func spread(p *model.Placement, units []int32) map[int]int32 {
	out := map[int]int32{}
	for _, w := range p.Words {
		for m := w.Mask; m != 0; m &= m - 1 {
			n := int(w.Word)*64 + bits.TrailingZeros64(m)
			out[n] = units[n]
		}
	}
	for _, s := range p.Shares {
		out[int(s.Node)] += s.Units
	}
	return out
}

func randomCluster(rng *rand.Rand) model.Cluster {
	n := 1 + rng.IntN([]int{6, 70, 200}[rng.IntN(3)])
	if rng.IntN(2) == 0 {
		return model.UniformCluster(int32(n), 1+rng.Int32N(5), rng.IntN(2) == 0)
	}
	c := model.Cluster{}
	for range n {
		c.Units = append(c.Units, 1+rng.Int32N(6))
	}
	return c
}

func randomRequest(rng *rand.Rand, c model.Cluster) model.Request {
	if rng.IntN(2) == 0 {
		return model.Request{Units: 1 + rng.Int32N(int32(c.Total()))}
	}
	r := model.Request{Layout: model.PerNode, Nodes: 1 + rng.Int32N(int32(min(9, len(c.Units)))), PerNode: 1 + rng.Int32N(6)}
	r.Units = r.Nodes * r.PerNode
	return r
}

// TestViewAgainstAList takes and releases at random; View and Forecast answer
// as a walk over all nodes does, and name the same nodes.
func TestViewAgainstAList(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 5))
		cfg := randomCluster(rng)
		require.NoError(t, cfg.Validate())
		v, c := NewView(cfg), &nodes{cfg.Units, slices.Clone(cfg.Units), cfg.Whole}
		var held []*model.Placement
		for range 200 {
			r := randomRequest(rng, cfg)
			require.Equal(t, c.fits(r, c.units), v.Possible(r), "%+v possible on %v", r, cfg)
			if !v.Possible(r) {
				continue
			}
			require.Equal(t, c.fits(r, c.free), v.Fits(r), "%+v fits %v", r, c.free)
			if v.Fits(r) {
				p := &model.Placement{}
				v.Take(r, p)
				require.Equal(t, c.take(r), spread(p, cfg.Units), "%+v on %v", r, cfg)
				require.True(t, slices.IsSortedFunc(p.Shares, func(a, b model.NodeShare) int { return int(a.Node - b.Node) }))
				held = append(held, p)
			}
			for len(held) > 0 && rng.IntN(3) > 0 {
				i := rng.IntN(len(held))
				v.Release(held[i])
				for n, u := range spread(held[i], cfg.Units) {
					c.free[n] += u
				}
				held = slices.Delete(held, i, i+1)
			}
			if !cfg.Whole {
				compareForecast(t, v, c, held, r)
			}
		}
	}
}

func compareForecast(t *testing.T, v *View, c *nodes, held []*model.Placement, r model.Request) {
	var f Forecast
	f.Reset(v)
	free := slices.Clone(c.free)
	for i, p := range held {
		f.Return(p)
		for n, u := range spread(p, c.units) {
			free[n] += u
		}
		if i%3 == 2 {
			f.Withdraw(p)
			for n, u := range spread(p, c.units) {
				free[n] -= u
			}
		}
	}
	require.Equal(t, c.fits(r, free), f.Fits(r))
}

func TestConfigRefuses(t *testing.T) {
	require.ErrorContains(t, model.Cluster{}.Validate(), "no nodes")
	require.ErrorContains(t, model.Cluster{Units: []int32{2, 0}}.Validate(), "node 1")
	require.ErrorContains(t, model.Cluster{Units: []int32{2, 3}, Whole: true}.Validate(), "equal")
	require.Equal(t, int64(12), model.UniformCluster(3, 4, false).Total())
}
