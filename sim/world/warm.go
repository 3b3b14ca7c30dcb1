package world

import (
	"cmp"
	"math/bits"
	"slices"

	"orrery/scheduler/model"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// Resumes says whether the job under ref, just submitted, ran before the beginning of the replay.
func (w *World) Resumes(ref model.Ref) bool { return w.jobs[ref].truth.Ran > 0 }

// Warming makes the quorum answer at once, or no more: what ran before the replay was granted long ago. At its end it
// counts the jobs that found no place.
func (w *World) Warming(on bool) {
	if w.immediate = on; on {
		return
	}
	for ref := range w.jobs {
		if j := &w.jobs[ref]; j.present && j.truth.Ran > 0 && j.rec.State == model.Pending {
			j.rec.Start = model.AbsentTime
			w.Special.Add(translate.RuleNotResumed, j.rec.ID)
		}
	}
}

// warmStart is what ran before the replay began: what is to go on, and what was used until then.
type warmStart struct {
	*base
	rows     *translate.Site
	nodes    *nodeStates
	restores []model.Proposal        // not read yet
	past     []attemptBefore         // likewise
	restored []taken                 // what of each node they hold
	named    map[string]model.NodeID // all nodes, until the warm start
}

// Resumes says whether the job under ref, just submitted, ran before the beginning of the replay.
func (w *warmStart) Resumes(ref model.Ref) bool { return w.jobs.At(ref).resumes }

// Warming makes the quorum answer at once, or no more, see World.Warming.
func (w *warmStart) Warming(on bool) {
	if w.immediate = on; on {
		return
	}
	for ref := range model.Ref(w.jobs.Len()) {
		l := w.jobs.At(ref)
		if l.present && l.resumes && l.rec.State == model.Pending {
			l.rec.Start, l.resumes = model.AbsentTime, false
			w.Special.Add(translate.RuleNotResumed, l.rec.ID)
		}
	}
}

// firstRestore is the number of the first proposal to restore a job: far from those that cores make, which count from
// 1.
const firstRestore = 1 << 62

// Restores are proposals to let jobs that ran before the replay go on where they did, on nodes that are known, ready
// and, in this order, not taken twice. They are read once.
func (w *warmStart) Restores() []model.Proposal {
	out := w.restores
	w.restores, w.restored, w.named = nil, nil, nil
	return out
}

// usageBatch is how many facts of usage are passed at a time.
const usageBatch = 1 << 10

// Usage passes what was used before the replay, in order of time: facts of the begin and of the end of each attempt,
// some at a time and valid during the call. It is read once.
func (w *warmStart) Usage(observe func([]model.Fact)) {
	past := w.past
	w.past = nil
	type change struct {
		at   model.Time
		of   int32
		ends bool
	}
	changes := make([]change, 0, 2*len(past))
	for i := range past {
		changes = append(changes, change{past[i].from, int32(i), false}, change{past[i].to, int32(i), true})
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) }) // an end stays behind its begin
	for batch := range slices.Chunk(changes, usageBatch) {
		facts := make([]model.Fact, 0, len(batch))
		for _, c := range batch {
			p := &past[c.of]
			f := model.Fact{Kind: model.FactUsageBegan, Job: p.alloc.Job, At: c.at, Alloc: &p.alloc, Constraint: &w.cfg.Site.Constraints[p.alloc.Constraint]}
			if c.ends {
				f.Kind = model.FactUsageEnded
			}
			facts = append(facts, f)
		}
		observe(facts)
	}
}

// attemptBefore is an attempt of before the replay, as far as it is over then.
type attemptBefore struct {
	alloc    model.Allocation
	from, to model.Time
}

// used notes that an attempt held what a asks for over [from, to), before the replay.
func (w *warmStart) used(a *model.Allocation, from, to model.Time) {
	if to = min(to, w.cfg.Rows.Warm.V); !w.cfg.History || from >= to {
		return
	}
	w.past = append(w.past, attemptBefore{*a, from, to})
	w.past[len(w.past)-1].alloc.Deps = nil
}

// resume settles how a job that ran before the replay goes on. The error is a traces.DataError: the nodes on which it
// ran are not said in a way that is understood.
func (w *warmStart) resume(ref model.Ref, b *traces.Batch, i int) error {
	l := w.jobs.At(ref)
	ran := l.truth.Ran
	l.resumes = true
	w.used(l.alloc, w.cfg.Rows.Warm.V.Add(-ran), w.cfg.Rows.Warm.V)
	if l.truth.Runtime != model.AbsentDuration { // else it runs until it is cancelled
		l.kept = min(ran, l.truth.Runtime)
		l.used = l.kept
	}
	l.rec.Start = max(b.Start[i], b.Submit[i])
	l.limit = translate.Remaining(l.limit, ran)
	a := l.alloc
	a.Walltime, a.Hold, a.Deps, l.release = l.limit, false, a.Deps[:0], model.AbsentTime
	a.Eligible, l.rec.Eligible = a.Submit, min(l.rec.Eligible, l.rec.Start)
	names, stated, err := w.rows.RanOn(b, i)
	if err != nil || !stated {
		return err
	}
	if p, ok := w.recorded(names, a); ok {
		w.restores = append(w.restores, model.Proposal{
			Kind: model.ProposeRestore, VCluster: a.VCluster, Seq: firstRestore + uint64(len(w.restores)), Job: a.Job, Ref: ref,
			Borrowed: w.borrows(&p, a.VCluster), Placement: p,
		})
	} else {
		w.Special.Add(translate.RuleElsewhere, l.rec.ID)
	}
	return nil
}

// borrows says whether p names home nodes of other vClusters than v.
func (w *warmStart) borrows(p *model.Placement, v model.VClusterID) bool {
	for _, n := range appendNodes(nil, p, nil) {
		if home := w.cfg.Site.Nodes[n].Home; home >= 0 && home != v {
			return true
		}
	}
	return false
}

// node is the node of a name.
func (w *warmStart) node(name string) (model.NodeID, bool) {
	if w.named == nil {
		w.named = make(map[string]model.NodeID, len(w.cfg.Site.Nodes))
		for i := range w.cfg.Site.Nodes {
			w.named[w.cfg.Site.Nodes[i].Name] = model.NodeID(i)
		}
	}
	id, ok := w.named[name]
	return id, ok
}

// recorded finds the nodes of these names; false when they are not as many nodes of the site as a asks for, ready,
// with room beside those that were found before.
func (w *warmStart) recorded(names []string, a *model.Allocation) (p model.Placement, ok bool) {
	nodes := make([]model.NodeID, 0, len(names))
	for _, name := range names {
		id, known := w.node(name)
		if !known || w.nodes.list[id].state != model.Ready {
			return p, false
		}
		nodes = append(nodes, id)
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	if n := int32(len(nodes)); n < a.NodesMin || n > a.NodesMax || a.Tasks > 0 && n > 1 { // how many tasks each has is not known
		return p, false
	}
	if w.restored == nil {
		w.restored = make([]taken, len(w.nodes.list))
	}
	shares := make([]model.NodeShare, len(nodes))
	for k, n := range nodes {
		if shares[k], ok = w.restored[n].room(n, &w.cfg.Site.Nodes[n], a); !ok {
			return p, false
		}
	}
	set := model.NewNodeSet(len(w.nodes.list))
	for k, n := range nodes {
		w.restored[n].take(&shares[k])
		if a.Divides() {
			p.Shares = append(p.Shares, shares[k])
			continue
		}
		set.Add(n)
	}
	for w, mask := range set {
		if mask != 0 {
			p.Words = append(p.Words, model.NodeWord{Word: int32(w), Mask: mask})
		}
	}
	return p, true
}

// taken is what the jobs that go on hold of a node.
type taken struct {
	jobs, cpus int32
	memory     int64
	gpus       uint64  // whole, all of them when a job has the node
	milli      []int32 // thousandths of each GPU, nil for none
}

// room is the share of node n that a gets beside what is taken: the highest GPUs that no job holds, or the lowest
// that has as many thousandths.
func (t *taken) room(n model.NodeID, node *model.Node, a *model.Allocation) (h model.NodeShare, ok bool) {
	all := uint64(1)<<max(node.GPUs, 1) - 1
	free := all &^ t.gpus
	h = model.NodeShare{Node: n, Units: a.GPUs, GPUs: all, Amounts: a.Amounts}
	if !a.Divides() {
		return h, free == all && t.jobs == 0
	}
	if a.Tasks > 0 {
		h.CPUs, h.Memory = a.Tasks*a.CPUs, int64(a.Tasks)*a.Memory
	}
	if t.cpus+h.CPUs > node.CPUs && h.CPUs > 0 || t.memory+h.Memory > node.Memory && h.Memory > 0 {
		return h, false
	}
	if a.GPUMilli > 0 {
		for g := range node.GPUs {
			if h.GPUs = 1 << g; free&h.GPUs != 0 && t.thousandths(g)+a.GPUMilli <= model.WholeGPU {
				return h, true
			}
		}
		return h, false
	}
	for g := range int32(len(t.milli)) {
		if t.milli[g] > 0 {
			free &^= 1 << g
		}
	}
	for h.GPUs = free; bits.OnesCount64(h.GPUs) > int(a.GPUs); {
		h.GPUs &= h.GPUs - 1
	}
	return h, bits.OnesCount64(h.GPUs) == int(a.GPUs)
}

func (t *taken) thousandths(gpu int32) int32 {
	if t.milli == nil {
		return 0
	}
	return t.milli[gpu]
}

// take counts a share, or the whole node.
func (t *taken) take(h *model.NodeShare) {
	t.jobs++
	t.cpus += h.CPUs
	t.memory += h.Memory
	if h.GPUMilli == 0 {
		t.gpus |= h.GPUs
		return
	}
	if t.milli == nil {
		t.milli = make([]int32, 64)
	}
	t.milli[bits.TrailingZeros64(h.GPUs)] += h.GPUMilli
}
