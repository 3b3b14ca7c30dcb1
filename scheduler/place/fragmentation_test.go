package place

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

// naiveNode is what is free of a node, GPU by GPU.
type naiveNode struct {
	cpus   int32
	memory int64
	gpus   []int32 // free thousandths
	jobs   int
	whole  bool // held whole
	down   bool
}

// naiveTask is what a job asked for of a node.
type naiveTask struct {
	class model.NodeSet
	share Share
}

// canUse is the free thousandths of a node that a task can use, by the definition.
func (n *naiveNode) canUse(id int, t *naiveTask) (milli int64) {
	need, fewest := int32(1), t.share.GPUMilli
	switch {
	case !t.class.Has(model.NodeID(id)):
		return 0
	case t.share == Share{}:
		if n.jobs > 0 {
			return 0
		}
		need, fewest = 0, 1
	case t.share.GPUs > 0:
		need, fewest = t.share.GPUs, model.WholeGPU
	case t.share.GPUMilli == 0:
		return 0
	}
	enough := int32(0)
	for _, g := range n.gpus {
		if g >= fewest {
			enough++
			milli += int64(g)
		}
	}
	if enough < need || t.share.CPUs > n.cpus {
		return 0
	}
	return milli
}

// fragmentation is the free thousandths that tasks cannot use, summed over them.
func (n *naiveNode) fragmentation(id int, tasks []naiveTask) (sum int64) {
	free := int64(0)
	for _, g := range n.gpus {
		free += int64(g)
	}
	for i := range tasks {
		sum += free - n.canUse(id, &tasks[i])
	}
	return sum
}

// place takes a share off n: thousandths of GPU g, or the lowest whole GPUs.
func (n *naiveNode) place(s Share, g int, times int32) {
	n.cpus -= times * s.CPUs
	n.memory -= int64(times) * s.Memory
	n.jobs += int(times)
	if s.GPUMilli > 0 {
		n.gpus[g] -= times * s.GPUMilli
	}
	whole := s.GPUs
	for i := range n.gpus {
		if whole > 0 && n.gpus[i] == model.WholeGPU {
			n.gpus[i] = 0
			whole--
		}
	}
}

// option is a node and, of thousandths, a GPU, with what decides between them.
type option struct {
	node, gpu  int
	grows      int64 // fragmentation
	left, free int32 // thousandths of the GPU, and whole GPUs of the node
}

func compareOptions(a, b option) int {
	return cmp.Or(cmp.Compare(a.grows, b.grows), cmp.Compare(a.left, b.left), cmp.Compare(a.free, b.free), cmp.Compare(a.node, b.node), cmp.Compare(a.gpu, b.gpu))
}

// options are where a share could go, the best of each node.
func options(nodes []naiveNode, s Share, tasks []naiveTask, class model.NodeSet) (out []option) {
	for i := range nodes {
		n := &nodes[i]
		free := int32(0)
		for _, g := range n.gpus {
			free += g / model.WholeGPU
		}
		if n.whole || n.down || !class.Has(model.NodeID(i)) || n.cpus < s.CPUs || n.memory < s.Memory || free < s.GPUs {
			continue
		}
		before := n.fragmentation(i, tasks)
		after := func(g int) int64 {
			moved := *n
			moved.gpus = slices.Clone(n.gpus)
			moved.place(s, g, 1)
			return moved.fragmentation(i, tasks)
		}
		var best []option
		if s.GPUMilli == 0 {
			best = append(best, option{i, -1, after(-1) - before, 0, free})
		}
		for g, left := range n.gpus {
			if s.GPUMilli > 0 && left >= s.GPUMilli {
				best = append(best, option{i, g, after(g) - before, left, free})
			}
		}
		if len(best) > 0 {
			out = append(out, slices.MinFunc(best, compareOptions))
		}
	}
	slices.SortFunc(out, compareOptions)
	return out
}

// drawShare draws a request for a share, of few kinds, so that GPUs fill up.
func drawShare(t *rapid.T) (s Share) {
	s.CPUs, s.Memory = rapid.Int32Range(0, 6).Draw(t, "cpus"), rapid.Int64Range(0, 3).Draw(t, "memory")
	switch rapid.IntRange(0, 4).Draw(t, "gpus") {
	case 0:
		s.CPUs = max(1, s.CPUs)
	case 1:
		s.GPUs = rapid.Int32Range(1, 4).Draw(t, "whole")
	default:
		s.GPUMilli = rapid.SampledFrom([]int32{100, 250, 300, 500, 700, 999}).Draw(t, "milli")
	}
	return s
}

// TestLeastFragmentationByDefinition: over whole histories of starts, ends, outages and
// copies, shares get the nodes and GPUs whose fragmentation grows least by the definition,
// and the fragmentation in all is that of the definition.
func TestLeastFragmentationByDefinition(t *testing.T) {
	var chosen, others int
	rapid.Check(t, func(t *rapid.T) {
		site := &model.Site{Fingerprints: 1, Groups: make([]model.Group, 1), Amounts: true}
		var nodes []naiveNode
		for i := range rapid.IntRange(1, 12).Draw(t, "nodes") {
			n := model.Node{Topology: -1, GPUs: rapid.Int32Range(0, 4).Draw(t, "gpus"), CPUs: rapid.Int32Range(4, 24).Draw(t, "cpus"), Memory: 12}
			site.Nodes = append(site.Nodes, n)
			nodes = append(nodes, naiveNode{cpus: n.CPUs, memory: n.Memory, gpus: make([]int32, n.GPUs)})
			for g := range nodes[i].gpus {
				nodes[i].gpus[g] = model.WholeGPU
			}
		}
		sp := NewSpace(site)
		free, spare := sp.NewFree(), sp.NewFree()
		classes := []model.NodeSet{sp.every, drawSet(t, sp.nodes, 6, "class")}
		var seen Requests
		var mix *Mix
		var tasks, known []naiveTask
		var placed []model.Placement
		shares := rapid.SliceOfN(rapid.Custom(drawShare), 1, 6).Draw(t, "shares")
		for range 60 {
			share, class := rapid.SampledFrom(shares).Draw(t, "share"), rapid.SampledFrom(classes).Draw(t, "of")
			if rapid.IntRange(0, 9).Draw(t, "for a whole node") == 0 {
				share = Share{}
			}
			seen.Add(sp.Class(class), share, 1)
			tasks = append(tasks, naiveTask{class, share})
			if mix == nil || rapid.IntRange(0, 9).Draw(t, "anew") == 0 {
				mix, known = seen.Mix(), slices.Clone(tasks)
			}
			if rapid.Bool().Draw(t, "copied") { // what is known of the one must not be believed of the other
				spare.CopyFrom(free)
				free, spare = spare, free
			}
			if n := rapid.IntRange(0, 3*len(nodes)).Draw(t, "fails"); n < len(nodes) {
				nodes[n].down = !nodes[n].down
				free.SetAvailable(model.NodeID(n), !nodes[n].down)
			}
			if len(placed) > 0 && rapid.IntRange(0, 2).Draw(t, "ends") == 0 {
				at := rapid.IntRange(0, len(placed)-1).Draw(t, "which")
				give(free, nodes, &placed[at])
				placed = slices.Delete(placed, at, at+1)
			}
			if (share == Share{}) {
				continue
			}
			q := Query{Class: sp.Class(class), Nodes: rapid.Int32Range(1, 2).Draw(t, "wide"), Share: share, Mix: mix}
			want := options(nodes, share, known, class)
			var p model.Placement
			if !free.Select(&q, &p) {
				require.Less(t, len(want), int(q.Nodes))
				continue
			}
			want = want[:q.Nodes]
			slices.SortFunc(want, func(a, b option) int { return a.node - b.node })
			var plain model.Placement
			q.Mix = nil
			free.Select(&q, &plain)
			for i, o := range want {
				require.Equal(t, model.NodeID(o.node), p.Shares[i].Node, "%+v", share)
				if o.gpu >= 0 {
					require.EqualValues(t, 1<<o.gpu, p.Shares[i].GPUs, "%+v", share)
				}
				nodes[o.node].place(share, o.gpu, 1)
			}
			free.Take(&p)
			placed = append(placed, p)
			if chosen++; !slices.Equal(p.Shares, plain.Shares) {
				others++
			}
			checkFragmentation(t, free, nodes, mix, known)
		}
	})
	require.Greater(t, others, chosen/50, "others than without a mix, of %d", chosen)
}

// checkFragmentation compares the figure for the site.
func checkFragmentation(t *rapid.T, f *Free, nodes []naiveNode, mix *Mix, known []naiveTask) {
	got, open := f.Fragmentation(mix)
	sum, free := int64(0), int64(0)
	for i := range nodes {
		if nodes[i].down {
			continue
		}
		sum += nodes[i].fragmentation(i, known)
		for _, g := range nodes[i].gpus {
			free += int64(g)
		}
	}
	require.Equal(t, free, open)
	require.InDelta(t, float64(sum)/float64(len(known)), float64(got), 1)
}

// give ends what p holds, here and there.
func give(f *Free, nodes []naiveNode, p *model.Placement) {
	f.Give(p)
	for _, s := range p.Shares {
		n := &nodes[s.Node]
		n.cpus, n.memory, n.jobs = n.cpus+s.CPUs, n.memory+s.Memory, n.jobs-1
		for g := range n.gpus {
			switch {
			case s.GPUs>>g&1 == 0:
			case s.GPUMilli > 0:
				n.gpus[g] += s.GPUMilli
			default:
				n.gpus[g] = model.WholeGPU
			}
		}
	}
}

// TestLeastFragmentation tells of a node of two GPUs and one of one, where half of the tasks
// ask for two GPUs and half for 300 thousandths.
func TestLeastFragmentation(t *testing.T) {
	site := &model.Site{Fingerprints: 1, Groups: make([]model.Group, 1), Nodes: []model.Node{{Topology: -1, GPUs: 1, CPUs: 8}, {Topology: -1, GPUs: 2, CPUs: 8}}}
	sp := NewSpace(site)
	all := sp.Class(nil)
	var seen Requests
	seen.Add(all, Share{GPUs: 2}, 1)
	seen.Add(all, milli(300), 1)
	f, mix := sp.NewFree(), seen.Mix()
	fragmented, free := f.Fragmentation(mix)
	require.Equal(t, []int64{500, 3000}, []int64{fragmented, free}, "half of the tasks cannot use the node with one GPU")
	for _, c := range []struct {
		share Share
		node  model.NodeID
		gpus  uint64
		mine  string
	}{
		{milli(300), 0, 1, "keeps the two GPUs together"},
		{Share{GPUs: 1}, 1, 1, "has no choice"},
		{milli(500), 1, 2, "on the first node it would leave 200, too few for any task"},
		{milli(200), 1, 2, "both lose as much: the GPU with the fewest free thousandths"},
	} {
		q := Query{Class: all, Nodes: 1, Share: c.share, Mix: mix}
		var p model.Placement
		require.True(t, f.Select(&q, &p))
		require.Equal(t, c.node, p.Shares[0].Node, c.mine)
		require.Equal(t, c.gpus, p.Shares[0].GPUs, c.mine)
		f.Take(&p)
	}
}

// TestRequestsAreBounded: of more kinds than are told apart the frequent ones stay, and all
// are in the total.
func TestRequestsAreBounded(t *testing.T) {
	var r Requests
	for i := range int32(100_000) {
		cpus := 1000 + i
		if i%2 == 0 {
			cpus = i % 20
		}
		r.Add(0, Share{GPUs: 1, Amounts: model.Amounts{CPUs: cpus}}, 1)
	}
	require.Len(t, r.tasks, mostTasks)
	require.EqualValues(t, 100_000, r.total)
	sum := int64(0)
	for _, k := range r.tasks {
		sum += k.count
	}
	require.Equal(t, r.total, sum)
	for cpus := range int32(10) {
		i := slices.IndexFunc(r.tasks, func(c counted) bool { return c.cpus == 2*cpus })
		require.GreaterOrEqual(t, i, 0, fmt.Sprint(2*cpus))
		require.EqualValues(t, 5000, r.tasks[i].count)
	}
	require.Len(t, r.Mix().needs, 1)
}

// TestMixSoFarFollows: placements go by what has been asked for before it grew by a quarter.
func TestMixSoFarFollows(t *testing.T) {
	m := NewMixSoFar()
	require.Zero(t, m.Mix().total)
	var anew []int64
	for i := range int64(30) {
		if m.Add(0, Share{GPUs: 1}, 1) {
			anew = append(anew, i+1)
		}
		require.LessOrEqual(t, i+1, m.Mix().total*5/4+1)
	}
	require.Equal(t, []int64{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27}, anew)
}
