package watch

import (
	"fmt"
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// job is what the log says of a job in the system.
type job struct {
	model.Allocation
	ref    model.Ref
	state  model.JobState
	left   model.Duration // requested time from the next start on
	whole  model.Duration // likewise, after a requeue
	flying *flight        // proposal to start it, nil when none is under way
	resize *flight        // proposal to give it other nodes while it runs, nil when none is under way
	demand int64          // nodes that a reactive service is to have, 0 before it is known

	start     model.Time
	since     model.Time // when what it holds last changed
	held      model.Placement
	nodes     int32
	milli     int64 // thousandths of GPUs held
	power, io int64
	preempted bool
	caused    bool // others were asked to leave for it while it waits
	requeues  int32

	// Worked out on the first use, until then nil or 0.
	own       model.NodeSet // that it may use without borrowing
	units     uint64        // GPUs asked for
	mostPower int64         // W of the node that draws most of own, at work

	// For the records.
	nodeTime int64 // µs
	attempts int32
	ended    model.Time     // of the last attempt recorded
	kept     model.Duration // work, by all attempts
	last     model.Duration // work lost in the last one
}

// flight is a proposal that has no answer yet.
type flight struct {
	kind      model.ProposalKind
	job       *job
	victim    *job
	borrowed  bool
	made      model.Time
	placement model.Placement
	more      taking // Resize: what it takes beside what it has
}

func copied(p *model.Placement) model.Placement {
	return model.Placement{Words: slices.Clone(p.Words), Shares: slices.Clone(p.Shares)}
}

// each goes over the nodes of p, with the share taken of one, nil for a whole node.
func each(p *model.Placement) func(yield func(model.NodeID, *model.NodeShare) bool) {
	return func(yield func(model.NodeID, *model.NodeShare) bool) {
		for _, w := range p.Words {
			for n := range w.Nodes {
				if !yield(n, nil) {
					return
				}
			}
		}
		for i := range p.Shares {
			if !yield(p.Shares[i].Node, &p.Shares[i]) {
				return
			}
		}
	}
}

// ledger is which job holds what, by the log.
type ledger struct {
	nodes    []node
	mostGPUs int32    // of a node
	amounts  *amounts // nil where shares are of GPUs alone
	ready    model.NodeSet
	owned    model.NodeSet // by any job, in whole or in part
	downed   []model.NodeID
	homes    []int32 // by vCluster
	lent     []int32
	tenants  []account
	qos      []tally
	users    map[userOf]*tally
	sessions map[int32]*tally // by user
	groups   map[int32]*tally
	locks    map[int32]*tally

	power, bandwidth budget
	refusals         bool  // in this instant
	idle             int64 // W of nodes that are up and that no job holds, where these count
	pool             int32 // most nodes of sensitive work, 0 for no bound
	sensitive        int32
}

type node struct {
	state   model.NodeState
	whole   *job
	taken   uint64 // GPUs, held whole
	jobs    int32
	foreign int32 // of jobs: those at home elsewhere
}

type account struct {
	tally
	limits  model.Limits
	charged int32 // nodes, one for each job that holds any of it
	time    int64 // node time up to since, µs
	since   model.Time
	booked  [2]model.Duration // by the scheduler, when last asked
}

// tally is what is in use, by running jobs and by proposals under way.
type tally struct {
	nodes, jobs, flyingNodes, flyingJobs int32 // distinct nodes, but of proposals each
	milli, flyingMilli                   int64 // thousandths of GPUs
	shares                               map[model.NodeID]int32
}

// fresh is how many of the nodes of p, which are n, are not held in shares by what t counts.
func (t *tally) fresh(p *model.Placement, n int32) int32 {
	for i := range p.Shares {
		if t.shares[p.Shares[i].Node] > 0 {
			n--
		}
	}
	return n
}

// add counts what j holds, or takes it off with sign -1.
func (t *tally) add(j *job, sign int32) {
	t.jobs += sign
	t.milli += int64(sign) * j.milli
	t.nodes += sign * (j.nodes - int32(len(j.held.Shares)))
	for i := range j.held.Shares {
		if t.shares == nil {
			t.shares = map[model.NodeID]int32{}
		}
		n := j.held.Shares[i].Node
		if t.shares[n] == 0 || t.shares[n]+sign == 0 {
			t.nodes += sign
		}
		t.shares[n] += sign
	}
}

// thousandths is what p holds of GPUs.
func (w *Watcher) thousandths(p *model.Placement) (sum int64) {
	for n, share := range each(p) {
		if share == nil {
			sum += model.WholeGPU * int64(w.site.Nodes[n].GPUs)
		} else {
			sum += share.Thousandths()
		}
	}
	return sum
}

type userOf struct {
	qos  model.QOSID
	user int32
}

type budget struct{ used, cap int64 }

func newLedger(s *model.Site) ledger {
	b := ledger{
		nodes: make([]node, len(s.Nodes)), amounts: newAmounts(s), ready: model.NewNodeSet(len(s.Nodes)), owned: model.NewNodeSet(len(s.Nodes)),
		homes: make([]int32, len(s.VClusters)), lent: make([]int32, len(s.VClusters)),
		tenants: make([]account, len(s.Tenants)), qos: make([]tally, len(s.QOS)),
		users: map[userOf]*tally{}, sessions: map[int32]*tally{}, groups: map[int32]*tally{}, locks: map[int32]*tally{},
		power: budget{cap: s.PowerCap}, bandwidth: budget{cap: s.Bandwidth}, pool: s.SensitivePool,
	}
	for i := range s.Nodes {
		b.nodes[i].state = s.Nodes[i].State
		b.mostGPUs = max(b.mostGPUs, s.Nodes[i].GPUs)
		if b.nodes[i].state == model.Ready {
			b.ready.Add(model.NodeID(i))
		}
		if h := s.Nodes[i].Home; h >= 0 {
			b.homes[h]++
		}
	}
	for i := range s.Tenants {
		b.tenants[i].limits = s.Tenants[i].Limits
	}
	return b
}

// tallies goes over what counts the jobs like j.
func (b *ledger) tallies(j *job) []*tally {
	var out []*tally
	find := func(m map[int32]*tally, id int32) {
		if m[id] == nil {
			m[id] = &tally{}
		}
		out = append(out, m[id])
	}
	if j.Tenant >= 0 {
		out = append(out, &b.tenants[j.Tenant].tally)
	}
	if j.QOS >= 0 {
		out = append(out, &b.qos[j.QOS])
		out = append(out, b.user(j))
	}
	if j.TaskGroup >= 0 {
		find(b.groups, j.TaskGroup)
	}
	if j.Kind == model.Session && j.User >= 0 {
		find(b.sessions, j.User)
	}
	for _, d := range j.Deps {
		if d.Condition == model.Mutex {
			find(b.locks, d.Mutex)
		}
	}
	return out
}

func (b *ledger) user(j *job) *tally {
	k := userOf{j.QOS, j.User}
	if b.users[k] == nil {
		b.users[k] = &tally{}
	}
	return b.users[k]
}

// reserve counts a proposal to start a job among what is in use.
func (w *Watcher) reserve(x *flight, sign int32) {
	for _, t := range w.tallies(x.job) {
		t.flyingNodes += sign * x.placement.Nodes()
		t.flyingMilli += int64(sign) * w.thousandths(&x.placement)
		t.flyingJobs += sign
	}
}

// take enters what j holds with sign 1, and gives it back with sign -1.
func (w *Watcher) take(j *job, sign int32) {
	for n, share := range each(&j.held) {
		w.visit(j, n, share, sign)
	}
	for _, t := range w.tallies(j) {
		t.add(j, sign)
	}
	if j.Tenant >= 0 {
		w.tenants[j.Tenant].charged += sign * j.nodes
	}
	if j.IsSensitive() {
		w.sensitive += sign * j.nodes
	}
	w.power.used += int64(sign) * j.power
	w.bandwidth.used += int64(sign) * j.io
}

// visit counts j onto node n, or off it.
func (w *Watcher) visit(j *job, n model.NodeID, share *model.NodeShare, sign int32) {
	if int(n) >= len(w.nodes) {
		return
	}
	x := &w.nodes[n]
	w.idle -= w.idleOf(n)
	if x.jobs += sign; x.jobs > 0 {
		w.owned.Add(n)
	} else {
		w.owned.Remove(n)
	}
	w.idle += w.idleOf(n)
	switch {
	case share == nil:
		x.whole = nil
		if sign > 0 {
			x.whole = j
		}
	case share.GPUMilli == 0:
		x.taken ^= share.GPUs
		fallthrough
	default:
		w.amounts.add(share, sign)
	}
	if home := w.site.Nodes[n].Home; home >= 0 && home != j.VCluster {
		if before := x.foreign; before == 0 || before+sign == 0 {
			w.lent[home] += sign
		}
		x.foreign += sign
	}
}

// settle charges what j holds up to now.
func (w *Watcher) settle(j *job) {
	j.nodeTime += int64(j.nodes) * int64(w.now.Sub(j.since))
	j.since = w.now
}

// accrue brings the node time of the tenant of j up to now.
func (w *Watcher) accrue(j *job) {
	if j.Tenant < 0 {
		return
	}
	a := &w.tenants[j.Tenant]
	if a.charged > 0 {
		a.time += int64(a.charged) * int64(w.now.Sub(a.since))
	}
	a.since = w.now
}

// stops notes that j runs no longer; invariants 2 and 7.
func (w *Watcher) stops(j *job) {
	if j.state != model.Running && j.state != model.Checkpointing {
		w.fail(3, j, "an end while it is "+j.state.String(), "that it runs")
		return
	}
	if j.resize != nil {
		w.lands(j.resize)
	}
	if span := w.now.Sub(j.start); !w.cfg.Overrun && !j.preempted && j.left < model.Forever-w.cfg.Slack && span > j.left+w.cfg.Slack {
		w.fail(7, j, "it ran for "+span.String(), "at most "+(j.left+w.cfg.Slack).String())
	}
	if w.cfg.Records && j.ended != w.now {
		w.fail(2, j, "no record of its attempt", "one that ends now")
	}
	w.settle(j)
	w.accrue(j)
	w.take(j, -1)
	w.pass.stop(j)
	j.held, j.nodes, j.milli, j.power, j.io, j.preempted = model.Placement{}, 0, 0, 0, 0, false
}

// nodeChanges checks invariant 16.
func (w *Watcher) nodeChanges(f *model.Fact) {
	if f.Node < 0 || int(f.Node) >= len(w.nodes) {
		w.fail(16, nil, fmt.Sprintf("node %d", f.Node), "a node of the site")
		return
	}
	n := &w.nodes[f.Node]
	name := w.site.Nodes[f.Node].Name
	if !n.state.CanBecome(f.State) {
		w.fail(16, nil, "node "+name+" goes from "+n.state.String()+" to "+f.State.String(), "a legal transition")
	}
	if n.jobs > 0 && (f.State == model.Drained || f.State == model.Wiping) {
		w.fail(16, nil, fmt.Sprintf("node %s is %s with %d jobs on it", name, f.State, n.jobs), "none")
	}
	if f.State == model.Down {
		w.downed = append(w.downed, f.Node)
	}
	w.idle -= w.idleOf(f.Node)
	n.state = f.State
	w.idle += w.idleOf(f.Node)
	if w.ready.Remove(f.Node); f.State == model.Ready {
		w.ready.Add(f.Node)
	}
}

// vacated checks that no job is left on a node that went down in the instant
// that is over: invariant 16.
func (w *Watcher) vacated() {
	for _, n := range w.downed {
		if x := &w.nodes[n]; x.jobs > 0 && x.state == model.Down {
			w.fail(16, x.whole, fmt.Sprintf("node %s is down with %d jobs on it", w.site.Nodes[n].Name, x.jobs), "that they left with it")
		}
	}
	w.downed = w.downed[:0]
}

// opening takes over what the scheduler's ledger has of before the beginning: the log
// begins after it.
func (w *Watcher) opening(now model.Time) {
	for t := range w.tenants {
		if a := &w.tenants[t]; w.cfg.Ledger != nil {
			node, gpu := w.cfg.Ledger(model.TenantID(t), now)
			a.time, a.since, a.booked = int64(node), now, [2]model.Duration{node, gpu}
		}
	}
}

// audit holds the scheduler's ledger against the one here: invariant 29.
func (w *Watcher) audit(j *job) {
	if w.cfg.Ledger == nil || j.Tenant < 0 {
		return
	}
	w.accrue(j)
	a := &w.tenants[j.Tenant]
	node, gpu := w.cfg.Ledger(j.Tenant, w.now)
	if node < a.booked[0] || gpu < a.booked[1] {
		w.fail(29, j, fmt.Sprintf("%s of node and %s of GPU time booked for tenant %s", node, gpu, w.site.Tenants[j.Tenant].Name),
			fmt.Sprintf("no less than before, %s and %s", a.booked[0], a.booked[1]))
	}
	if int64(node) != a.time {
		w.fail(29, j, fmt.Sprintf("%s of node time booked for tenant %s", node, w.site.Tenants[j.Tenant].Name), model.Duration(a.time).String())
	}
	a.booked = [2]model.Duration{node, gpu}
}

// within counts the nodes of p that are in set.
func within(p *model.Placement, set model.NodeSet) int32 {
	n := 0
	for _, w := range p.Words {
		n += bits.OnesCount64(w.Mask & set[w.Word])
	}
	for _, h := range p.Shares {
		if set.Has(h.Node) {
			n++
		}
	}
	return int32(n)
}
