package place

import (
	"cmp"
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// naive is a Free as a plain list of nodes, written from docs/SCHEDULING.md. It
// walks all nodes for each question.
type naive struct {
	site  *model.Site
	held  []bool   // whole
	taken []uint64 // GPUs
	down  []bool
}

func newNaive(site *model.Site) *naive {
	n := len(site.Nodes)
	t := &naive{site, make([]bool, n), make([]uint64, n), make([]bool, n)}
	for i := range site.Nodes {
		t.down[i] = site.Nodes[i].State != model.Ready
	}
	return t
}

func (t *naive) copyFrom(o *naive) {
	copy(t.held, o.held)
	copy(t.taken, o.taken)
	copy(t.down, o.down)
}

// mark takes (held) or gives what p names; where is nil, or holds what is not to
// be given.
func (t *naive) mark(p *model.Placement, held bool, where *naive) {
	for _, n := range wholeNodes(p) {
		if where == nil || !where.held[n] {
			t.held[n] = held
		}
	}
	for _, s := range p.Shares {
		switch {
		case held:
			t.taken[s.Node] |= s.GPUs
		case where == nil:
			t.taken[s.Node] &^= s.GPUs
		default:
			t.taken[s.Node] &^= s.GPUs &^ where.taken[s.Node]
		}
	}
}

func (t *naive) idle(n int) bool { return !t.held[n] && !t.down[n] && t.taken[n] == 0 }

func (t *naive) freeGPUs(n int) int32 {
	if t.held[n] || t.down[n] {
		return 0
	}
	return t.site.Nodes[n].GPUs - int32(bits.OnesCount64(t.taken[n]))
}

// usable is the nodes that q may have, ascending.
func (t *naive) usable(q *Query, class model.NodeSet) []int {
	var out []int
	for n := range t.site.Nodes {
		id := model.NodeID(n)
		if !class.Has(id) || (q.Avoid != nil && q.Avoid.Has(id)) {
			continue
		}
		if q.GPUs > 0 && t.freeGPUs(n) >= q.GPUs || q.GPUs == 0 && t.idle(n) {
			out = append(out, n)
		}
	}
	return out
}

// parts is a set of nodes cut by some index, ascending by it.
type parts struct {
	index []int
	nodes [][]int
}

func cut(nodes []int, index func(n int) int) parts {
	var p parts
	for _, n := range nodes {
		p.index = append(p.index, index(n))
	}
	slices.Sort(p.index)
	p.index = slices.Compact(p.index)
	p.nodes = make([][]int, len(p.index))
	for _, n := range nodes {
		i, _ := slices.BinarySearch(p.index, index(n))
		p.nodes[i] = append(p.nodes[i], n)
	}
	return p
}

func (t *naive) byGroup(nodes []int) parts {
	return cut(nodes, func(n int) int {
		if len(t.site.Groups) == 0 {
			return 0
		}
		return int(t.site.Nodes[n].Group)
	})
}

// byPrint cuts by fingerprint: unknown ones are groups of their own behind all
// others, or one together.
func (t *naive) byPrint(nodes []int, together bool) parts {
	return cut(nodes, func(n int) int {
		switch f := t.site.Nodes[n].Fingerprint; {
		case f >= 0:
			return int(f)
		case together:
			return int(t.site.Fingerprints)
		default:
			return int(t.site.Fingerprints) + n
		}
	})
}

// fewest is the fewest groups of nodes that hold n.
func (t *naive) fewest(nodes []int, n int) int {
	g := t.byGroup(nodes).nodes
	slices.SortFunc(g, func(a, b []int) int { return len(b) - len(a) })
	k := 0
	for n > 0 {
		n -= len(g[k])
		k++
	}
	return k
}

// conforming is the nodes that q chooses from.
func (t *naive) conforming(q *Query, nodes []int) []int {
	if !q.Sensitive && q.Topology != model.Tight {
		return nodes
	}
	var best []int
	groups := t.byPrint(nodes, false)
	for i, g := range groups.nodes {
		if len(g) < int(q.Nodes) || q.Sensitive && groups.index[i] >= int(t.site.Fingerprints) {
			continue
		}
		a, b := 0, 0
		if q.Topology == model.Tight && best != nil {
			a, b = t.fewest(g, int(q.Nodes)), t.fewest(best, int(q.Nodes))
		}
		if best == nil || a < b || a == b && len(g) < len(best) {
			best = g
		}
	}
	if best == nil && !q.Sensitive {
		return nodes
	}
	return best
}

func (t *naive) adjacent(a, b int) bool {
	if len(t.site.Groups) == 0 {
		return false
	}
	return slices.Contains(t.site.Groups[a].Adjacent, int32(b)) || slices.Contains(t.site.Groups[b].Adjacent, int32(a))
}

// better says whether group i goes before j: fuller (sign 1) or less full (sign
// -1) first, then adjacent to a used one, then the lower index.
func (t *naive) better(p parts, used []int, i, j, sign int) bool {
	apart := func(i int) int {
		for _, u := range used {
			if t.adjacent(p.index[i], p.index[u]) {
				return 0
			}
		}
		return 1
	}
	return cmp.Or(cmp.Compare(sign*len(p.nodes[j]), sign*len(p.nodes[i])), cmp.Compare(apart(i), apart(j)), cmp.Compare(i, j)) < 0
}

func (t *naive) pack(nodes []int, n int) []int {
	p := t.byGroup(nodes)
	var used, out []int
	for n > 0 {
		last, most := -1, -1
		for i, g := range p.nodes {
			if slices.Contains(used, i) {
				continue
			}
			if len(g) >= n && (last < 0 || t.better(p, used, i, last, -1)) {
				last = i
			}
			if most < 0 || t.better(p, used, i, most, 1) {
				most = i
			}
		}
		if last >= 0 {
			return append(out, p.nodes[last][:n]...)
		}
		out = append(out, p.nodes[most]...)
		used = append(used, most)
		n -= len(p.nodes[most])
	}
	return out
}

func (t *naive) spread(nodes []int, n int) []int {
	var out []int
	groups := t.byGroup(nodes).nodes
	for round := 0; len(out) < n; round++ {
		for _, g := range groups {
			if round < len(g) && len(out) < n {
				out = append(out, g[round])
			}
		}
	}
	return out
}

// selection is the nodes chosen, ascending, or nil when q does not fit.
func (t *naive) selection(q *Query, class model.NodeSet) []int {
	nodes := t.usable(q, class)
	n := int(q.Nodes)
	switch {
	case n < 1:
		return nil
	case q.GPUs > 0:
		nodes = t.emptiest(q, nodes)
	case q.ConformanceFirst:
		nodes = t.conformanceFirst(q, nodes)
	default:
		if nodes = t.conforming(q, nodes); len(nodes) < n {
			return nil
		}
		switch q.Topology {
		case model.Tight:
			nodes = t.pack(nodes, n)
		case model.Spread:
			nodes = t.spread(nodes, n)
		}
	}
	if len(nodes) < n {
		return nil
	}
	nodes = nodes[:n]
	slices.Sort(nodes)
	return nodes
}

// emptiest orders nodes by free GPUs, of one known fingerprint for sensitive
// work.
func (t *naive) emptiest(q *Query, nodes []int) []int {
	if q.Sensitive {
		any := *q
		any.Topology = model.Any
		nodes = t.conforming(&any, nodes)
	}
	nodes = slices.Clone(nodes)
	slices.SortStableFunc(nodes, func(a, b int) int { return int(t.freeGPUs(a) - t.freeGPUs(b)) })
	return nodes
}

func (t *naive) conformanceFirst(q *Query, nodes []int) []int {
	n := int(q.Nodes)
	if len(nodes) < n {
		return nil
	}
	prints := t.byPrint(nodes, true).nodes
	slices.SortStableFunc(prints, func(a, b []int) int { return len(b) - len(a) })
	if len(prints[0]) >= n {
		return prints[0]
	}
	if q.Sensitive {
		return nil
	}
	groups := t.byGroup(nodes)
	var out []int
	switch q.Topology {
	case model.Any:
		return nodes
	case model.Spread:
		k := len(groups.nodes)
		for _, g := range groups.nodes {
			out = append(out, g[:min(len(g), (n+k-1)/k)]...)
		}
		return out
	}
	var used []int
	for len(out) < n {
		best := -1
		isAdjacent := func(i int) bool {
			return slices.ContainsFunc(used, func(u int) bool { return t.adjacent(groups.index[u], groups.index[i]) })
		}
		for i, g := range groups.nodes {
			if slices.Contains(used, i) {
				continue
			}
			if best < 0 || isAdjacent(i) && !isAdjacent(best) || isAdjacent(i) == isAdjacent(best) && len(g) > len(groups.nodes[best]) {
				best = i
			}
		}
		out = append(out, groups.nodes[best]...)
		used = append(used, best)
	}
	return out
}

// gpus is the GPUs of node n that a job of k gets.
func (t *naive) gpus(n int, k int32) uint64 {
	node := &t.site.Nodes[n]
	free := (uint64(1)<<node.GPUs - 1) &^ t.taken[n]
	if node.Topology >= 0 {
		topology := &t.site.Topologies[node.Topology]
		free = fit(islands(topology.Bandwidth), free, k)
		free = fit(topology.NUMA, free, k)
	}
	out := uint64(0)
	for g := 0; k > 0; g++ {
		if free>>g&1 != 0 {
			out |= 1 << g
			k--
		}
	}
	return out
}

// islands numbers the GPUs by the island they are in: GPUs with a link of the
// highest bandwidth get the lower number of the two, until nothing changes.
func islands(bandwidth [][]int64) []int32 {
	best := int64(0)
	out := make([]int32, len(bandwidth))
	for i, r := range bandwidth {
		out[i] = int32(i)
		for j, b := range r {
			if i != j {
				best = max(best, b)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for i, r := range bandwidth {
			for j, b := range r {
				if i != j && b == best && out[i] != out[j] {
					out[i], out[j], changed = min(out[i], out[j]), min(out[i], out[j]), true
				}
			}
		}
	}
	return out
}

// fit keeps of free those with the label that has the fewest free of the labels
// that have k, the first such label by its lowest GPU.
func fit(label []int32, free uint64, k int32) uint64 {
	best := free
	found := false
	for i := range label {
		same := uint64(0)
		for j := range label {
			if label[j] == label[i] && free>>j&1 != 0 {
				same |= 1 << j
			}
		}
		c := bits.OnesCount64(same)
		if c >= int(k) && (!found || c < bits.OnesCount64(best)) {
			best, found = same, true
		}
	}
	return best
}

// placement is what Select must write.
func (t *naive) placement(q *Query, class model.NodeSet) model.Placement {
	return t.placing(q, t.selection(q, class))
}

func (t *naive) placing(q *Query, nodes []int) model.Placement {
	var p model.Placement
	for _, n := range nodes {
		if q.GPUs > 0 {
			p.Shares = append(p.Shares, model.NodeShare{Node: model.NodeID(n), Units: q.GPUs, GPUs: t.gpus(n, q.GPUs)})
		} else {
			p.Words = with(p.Words, model.NodeID(n), model.NodeID(n))
		}
	}
	return p
}

// borrowed is what SelectExtra must write.
func (t *naive) borrowed(q *Query, class, extra model.NodeSet) model.Placement {
	if p := t.placement(q, class); len(p.Words)+len(p.Shares) > 0 || q.Sensitive || q.Nodes < 1 {
		return p
	}
	nodes := t.usable(q, class)
	if len(nodes) >= int(q.Nodes) {
		return model.Placement{}
	}
	for _, n := range t.usable(q, extra) {
		if len(nodes) < int(q.Nodes) && t.idle(n) && !class.Has(model.NodeID(n)) {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) < int(q.Nodes) {
		return model.Placement{}
	}
	slices.Sort(nodes)
	return t.placing(q, nodes)
}

// largest is the idle nodes of the largest conformance group.
func (t *naive) largest(class model.NodeSet, together bool) int32 {
	best := 0
	for _, g := range t.byPrint(t.usable(&Query{}, class), together).nodes {
		best = max(best, len(g))
	}
	return int32(best)
}

func wholeNodes(p *model.Placement) []int {
	var out []int
	for _, w := range p.Words {
		for m := w.Mask; m != 0; m &= m - 1 {
			out = append(out, int(w.Word)<<6+bits.TrailingZeros64(m))
		}
	}
	return out
}
