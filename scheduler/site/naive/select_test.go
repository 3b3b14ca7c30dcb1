package naive_test

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// naiveView is what is free at some instant: of each node the GPUs that no job
// holds, a node without any counting as one with one. Nothing of a node that
// takes no new work is free.
type naiveView struct {
	free []uint64
	used []naiveUsed // nil where no share has amounts
}

// naiveUsed is what shares with amounts hold of a node.
type naiveUsed struct {
	shut   bool // a job holds all of it, or it takes no new work
	jobs   int
	cpus   int32
	memory int64
	milli  [64]int32 // by GPU
}

func (s *naiveSite) full(n int) uint64 { return 1<<max(1, s.st.Nodes[n].GPUs) - 1 }

func (v *naiveView) take(s *naiveSite, c *naiveChoice) {
	for _, n := range c.nodes {
		if c.gpus == nil {
			v.free[n] = 0
		} else if c.amounts.GPUMilli == 0 {
			v.free[n] &^= c.gpus[n]
		}
		if v.used == nil {
			continue
		}
		u := &v.used[n]
		if c.gpus == nil {
			u.shut = true
			continue
		}
		u.jobs++
		u.cpus += c.amounts.CPUs
		u.memory += c.amounts.Memory
		if c.amounts.GPUMilli > 0 {
			u.milli[bits.TrailingZeros64(c.gpus[n])] += c.amounts.GPUMilli
		}
	}
}

// wholeOf is the GPUs of node n of which no job holds anything.
func (v *naiveView) wholeOf(n int) uint64 {
	free := v.free[n]
	for g := 0; v.used != nil && g < 64; g++ {
		if v.used[n].milli[g] > 0 {
			free &^= 1 << g
		}
	}
	return free
}

// idle says whether no job holds any of node n, which takes work.
func (s *naiveSite) idle(v *naiveView, n int) bool {
	return v.wholeOf(n) == s.full(n) && (v.used == nil || v.used[n].jobs == 0 && !v.used[n].shut)
}

// fitsOn says whether node n has room for the share of j.
func (s *naiveSite) fitsOn(v *naiveView, j *naiveJob, n int) bool {
	node := &s.st.Nodes[n]
	if bits.OnesCount64(v.wholeOf(n)) < int(j.GPUs) || node.GPUs < j.GPUs {
		return false
	}
	if j.Amounts == (model.Amounts{}) {
		return true
	}
	u := &v.used[n]
	return !u.shut && u.cpus+j.CPUs <= node.CPUs && u.memory+j.Memory <= node.Memory && (j.GPUMilli == 0 || s.cardOf(v, j, n) >= 0)
}

// cardOf is the GPU of node n that the thousandths of j fit best, -1 for none.
func (s *naiveSite) cardOf(v *naiveView, j *naiveJob, n int) int {
	best := -1
	for g := range int(s.st.Nodes[n].GPUs) {
		used := v.used[n].milli[g]
		if v.free[n]>>g&1 != 0 && used+j.GPUMilli <= 1000 && (best < 0 || used > v.used[n].milli[best]) {
			best = g
		}
	}
	return best
}

// sees says whether l knows that j holds nodes: it runs, or l has proposed it.
func (s *naiveSite) sees(l *naiveVCluster, j *naiveJob) bool {
	return j.phase == naiveRunning || s.vclusterOf(j) == l && (j.phase == naiveFlying || j.phase == naiveWithdrawn)
}

// view is what l sees free, but for the jobs of which without is true.
func (s *naiveSite) view(l *naiveVCluster, without func(*naiveJob) bool) *naiveView {
	v := &naiveView{free: make([]uint64, len(s.up))}
	if s.st.Amounts {
		v.used = make([]naiveUsed, len(s.up))
	}
	for n := range s.up {
		if s.up[n] == model.Ready {
			v.free[n] = s.full(n)
		} else if v.used != nil {
			v.used[n].shut = true
		}
	}
	for _, j := range s.holders {
		if s.sees(l, j) && (without == nil || !without(j)) {
			v.take(s, j.has())
		}
		if j.grows() && s.vclusterOf(j) == l && !(j.behind && without != nil && without(j)) {
			v.take(s, j.gains())
		}
	}
	return v
}

// naiveChoice is where a job could run.
type naiveChoice struct {
	nodes    []int
	gpus     map[int]uint64 // nil for whole nodes
	amounts  model.Amounts
	borrowed bool
}

// has is what j holds.
func (j *naiveJob) has() *naiveChoice {
	return &naiveChoice{nodes: j.nodes, gpus: j.gpus, amounts: j.Amounts}
}

// inTheWay says whether node n is set aside for others at some time of j's run
// from t on.
func (s *naiveSite) inTheWay(j *naiveJob, n int, t model.Time) bool {
	for i := range s.st.Reservations {
		r := &s.st.Reservations[i]
		if (r.Maintenance || model.ReservationID(i) != j.Reservation) && r.Nodes.Has(model.NodeID(n)) && t < r.End && r.Start < t.Add(j.left) {
			return true
		}
	}
	return s.outsideNamed(j, t, t.Add(j.left)) || s.promisedTo(j, n, t, t.Add(j.left))
}

// outsideNamed says whether a run of j would not be within the reservation that it names.
func (s *naiveSite) outsideNamed(j *naiveJob, from, until model.Time) bool {
	if j.Reservation < 0 {
		return false
	}
	r := &s.st.Reservations[j.Reservation]
	return !r.Maintenance && (r.Flex && r.End <= from || !r.Flex && (from < r.Start || r.End < until))
}

// choose selects size nodes for j, to run from t on; nil when there are not
// enough.
func (s *naiveSite) choose(v *naiveView, j *naiveJob, size int, t model.Time) *naiveChoice {
	if c := s.chooseOwn(v, j, size, t); c != nil {
		return c
	}
	return s.borrow(v, j, size, t, nil)
}

// open are the nodes that nothing but running jobs could keep from j.
func (s *naiveSite) open(j *naiveJob, t model.Time) []int {
	return s.only(s.may(j), func(n int) bool { return !s.inTheWay(j, n, t) && !s.keptForOthers(j, n) && (j.on == nil || j.on(n)) })
}

// idleOf are those of the nodes that are wholly free.
func (s *naiveSite) idleOf(v *naiveView, nodes []int) []int {
	return s.only(nodes, func(n int) bool { return s.idle(v, n) })
}

// chooseOwn is choose without borrowing.
func (s *naiveSite) chooseOwn(v *naiveView, j *naiveJob, size int, t model.Time) *naiveChoice {
	if j.Divides() {
		return s.chooseParts(v, j, s.open(j, t), size)
	}
	if nodes := s.chooseWhole(j, s.idleOf(v, s.open(j, t)), size); nodes != nil {
		return &naiveChoice{nodes: nodes}
	}
	return nil
}

// borrow adds idle nodes of lenders to all of j's own that are free. Under conservative
// backfilling no job borrows, not even between two plans.
func (s *naiveSite) borrow(v *naiveView, j *naiveJob, size int, t model.Time, gone func(*naiveJob) bool) *naiveChoice {
	if s.vclusterOf(j).policy.Backfill == order.Conservative {
		return nil
	}
	free := s.idleOf(v, s.open(j, t))
	if j.Divides() {
		free = s.only(s.open(j, t), func(n int) bool { return s.fitsOn(v, j, n) })
	}
	if !s.st.VClusters[j.VCluster].Borrow || !j.Preemptible() || j.Kind != model.Bounded || j.GPUs > 0 && !s.st.Amounts || len(free) >= size {
		return nil
	}
	nodes := slices.Clone(free)
	for lender := range s.st.VClusters {
		if model.VClusterID(lender) == j.VCluster || s.vclusters[lender].blocked {
			continue
		}
		spare := s.lendable(lender, j, gone)
		for n := range s.st.Nodes {
			if len(nodes) < size && spare > 0 && s.st.Nodes[n].Home == model.VClusterID(lender) && s.suits(j, n) &&
				s.idle(v, n) && (!j.Divides() || s.fitsOn(v, j, n)) && !s.inTheWay(j, n, t) && !s.keptForOthers(j, n) && (j.on == nil || j.on(n)) {
				nodes = append(nodes, n)
				spare--
			}
		}
	}
	if len(nodes) < size {
		return nil
	}
	slices.Sort(nodes)
	if j.Divides() {
		c := s.partsOn(v, j, nodes)
		c.borrowed = true
		return c
	}
	return &naiveChoice{nodes: nodes, borrowed: true}
}

// lendable is how many nodes more a vCluster lends, when those have left of which gone is true.
func (s *naiveSite) lendable(lender int, wants *naiveJob, gone func(*naiveJob) bool) int {
	home, lent := int32(0), 0
	for n := range s.st.Nodes {
		if s.st.Nodes[n].Home == model.VClusterID(lender) {
			home++
		}
	}
	for _, j := range s.holders {
		for _, n := range j.nodes {
			if j != wants && (gone == nil || !gone(j)) && j.borrowed && j.VCluster != model.VClusterID(lender) && s.st.Nodes[n].Home == model.VClusterID(lender) {
				lent++
			}
		}
		if j.grows() {
			lent += len(s.only(s.foreign(j, j.gains().nodes), func(n int) bool { return s.st.Nodes[n].Home == model.VClusterID(lender) }))
		}
	}
	return int(s.st.VClusters[lender].Lendable(home)) - lent
}

// conformance is the conformance group of node n: unknown ones, each by itself,
// come after the known.
func (s *naiveSite) conformance(n int) int {
	if f := s.st.Nodes[n].Fingerprint; f >= 0 {
		return int(f)
	}
	return int(s.st.Fingerprints) + n
}

// chooseWhole selects among free nodes.
func (s *naiveSite) chooseWhole(j *naiveJob, free []int, size int) []int {
	among := free
	if j.Topology == model.Tight || j.IsSensitive() {
		type group struct{ index, needs, left int }
		var best *group
		groups := map[int][]int{}
		for _, n := range free {
			groups[s.conformance(n)] = append(groups[s.conformance(n)], n)
		}
		for _, c := range slices.Sorted(maps.Keys(groups)) {
			if j.IsSensitive() && c >= int(s.st.Fingerprints) {
				break
			}
			in := groups[c]
			if len(in) < size {
				continue
			}
			g := group{c, 0, len(in)}
			if j.Topology == model.Tight {
				g.needs = s.needs(in, size)
			}
			if best == nil || cmp.Or(cmp.Compare(g.needs, best.needs), cmp.Compare(g.left, best.left)) < 0 {
				best = &g
			}
		}
		switch {
		case best != nil:
			among = s.only(free, func(n int) bool { return s.conformance(n) == best.index })
		case j.IsSensitive():
			return nil
		}
	}
	if len(among) < size {
		return nil
	}
	var nodes []int
	switch j.Topology {
	case model.Tight:
		nodes = s.tight(among, size)
	case model.Spread:
		nodes = s.spread(among, size)
	default:
		nodes = slices.Clone(among[:size])
	}
	slices.Sort(nodes)
	return nodes
}

func (s *naiveSite) only(nodes []int, ok func(int) bool) []int {
	var out []int
	for _, n := range nodes {
		if ok(n) {
			out = append(out, n)
		}
	}
	return out
}

// groups are the nodes by dragonfly group.
func (s *naiveSite) groups(nodes []int) [][]int {
	out := make([][]int, len(s.st.Groups))
	for _, n := range nodes {
		g := s.st.Nodes[n].Group
		out[g] = append(out[g], n)
	}
	return out
}

// needs is the fewest dragonfly groups that hold size of nodes.
func (s *naiveSite) needs(nodes []int, size int) int {
	groups := s.groups(nodes)
	slices.SortStableFunc(groups, func(a, b []int) int { return len(b) - len(a) })
	needed := 0
	for size > 0 {
		size -= len(groups[needed])
		needed++
	}
	return needed
}

func (s *naiveSite) tight(nodes []int, size int) []int {
	var out []int
	groups := s.groups(nodes)
	used := map[int]bool{}
	for len(out) < size {
		rest, last, most := size-len(out), -1, -1
		adjacent := func(g int) bool {
			return slices.ContainsFunc(s.st.Groups[g].Adjacent, func(o int32) bool { return used[int(o)] })
		}
		for g := range groups {
			k := len(groups[g])
			if used[g] || k == 0 {
				continue
			}
			if k >= rest && (last < 0 || k < len(groups[last]) || k == len(groups[last]) && adjacent(g) && !adjacent(last)) {
				last = g
			}
			if most < 0 || k > len(groups[most]) || k == len(groups[most]) && adjacent(g) && !adjacent(most) {
				most = g
			}
		}
		if last >= 0 {
			return append(out, groups[last][:rest]...)
		}
		out = append(out, groups[most]...)
		used[most] = true
	}
	return out
}

func (s *naiveSite) spread(nodes []int, size int) []int {
	var out []int
	groups := s.groups(nodes)
	for round := 0; len(out) < size; round++ {
		for _, g := range groups {
			if round < len(g) && len(out) < size {
				out = append(out, g[round])
			}
		}
	}
	return out
}

// chooseParts selects GPUs of shared nodes.
func (s *naiveSite) chooseParts(v *naiveView, j *naiveJob, may []int, size int) *naiveChoice {
	fit := s.only(may, func(n int) bool { return s.fitsOn(v, j, n) })
	if j.IsSensitive() {
		fit = s.alike(fit, size)
	}
	if len(fit) < size {
		return nil
	}
	used := func(n int) int32 { // of the GPU that it gets thousandths of
		if j.GPUMilli == 0 {
			return 0
		}
		return v.used[n].milli[s.cardOf(v, j, n)]
	}
	free := func(n int) int { return bits.OnesCount64(v.wholeOf(n) & (1<<s.st.Nodes[n].GPUs - 1)) }
	slices.SortStableFunc(fit, func(a, b int) int {
		return cmp.Or(int(used(b)-used(a)), free(a)-free(b), a-b)
	})
	return s.partsOn(v, j, slices.Clone(fit[:size]))
}

// partsOn is the share of j on each of the nodes.
func (s *naiveSite) partsOn(v *naiveView, j *naiveJob, nodes []int) *naiveChoice {
	c := &naiveChoice{nodes: nodes, gpus: map[int]uint64{}, amounts: j.Amounts}
	slices.Sort(c.nodes)
	for _, n := range c.nodes {
		if c.gpus[n] = s.gpusOf(n, v.wholeOf(n), int(j.GPUs)); j.GPUMilli > 0 {
			c.gpus[n] = 1 << s.cardOf(v, j, n)
		}
	}
	return c
}

// alike are the nodes of the conformance group with the fewest that are enough.
func (s *naiveSite) alike(fit []int, size int) []int {
	var best []int
	for f := range s.st.Fingerprints {
		in := s.only(fit, func(n int) bool { return s.st.Nodes[n].Fingerprint == f })
		if len(in) >= size && (best == nil || len(in) < len(best)) {
			best = in
		}
	}
	return best
}

// gpusOf picks k of the free GPUs of node n: within the island that they fit
// best, within the domain there that they fit best, the lowest.
func (s *naiveSite) gpusOf(n int, free uint64, k int) uint64 {
	if t := s.st.Nodes[n].Topology; t >= 0 {
		topology := &s.st.Topologies[t]
		for _, sets := range [][]uint64{islands(topology), domainsOf(topology)} {
			best := uint64(0)
			for _, d := range sets {
				if c := bits.OnesCount64(d & free); c >= k && (best == 0 || c < bits.OnesCount64(best)) {
					best = d & free
				}
			}
			if best != 0 {
				free = best
			}
		}
	}
	return lowestOf(free, k)
}

func lowestOf(set uint64, k int) (out uint64) {
	for range k {
		out |= set & -set
		set &= set - 1
	}
	return out
}

// islands are the sets of GPUs that links of the highest bandwidth connect.
func islands(t *model.GPUTopology) (out []uint64) {
	best := int64(0)
	for i := range t.Bandwidth {
		for j, b := range t.Bandwidth[i] {
			if i != j {
				best = max(best, b)
			}
		}
	}
	seen := uint64(0)
	for i := range t.Bandwidth {
		if seen>>i&1 != 0 {
			continue
		}
		set := uint64(1) << i
		for range t.Bandwidth {
			for a := range t.Bandwidth {
				for b := range t.Bandwidth {
					if a != b && set>>a&1 != 0 && t.Bandwidth[a][b] == best {
						set |= 1 << b
					}
				}
			}
		}
		seen |= set
		out = append(out, set)
	}
	return out
}

func domainsOf(t *model.GPUTopology) []uint64 {
	var out []uint64
	for d := range int32(len(t.NUMA)) {
		set := uint64(0)
		for g, n := range t.NUMA {
			if n == d {
				set |= 1 << g
			}
		}
		if set != 0 {
			out = append(out, set)
		}
	}
	return out
}
