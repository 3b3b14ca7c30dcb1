package watch

import (
	"fmt"

	"orrery/scheduler/model"
)

// ledger is which job holds what, by the log.
type ledger struct {
	*base
	nodes    []node
	mostGPUs int32    // of a node
	amounts  *amounts // nil where shares are of GPUs alone
	ready    model.NodeSet
	owned    model.NodeSet // by any job, in whole or in part
	homes    []int32       // by vCluster
	lent     []int32
	tenants  []account
	qos      []tally
	users    map[userOf]*tally
	sessions map[int32]*tally // by user
	groups   map[int32]*tally
	locks    map[int32]*tally

	power, bandwidth budget
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
func (b *ledger) thousandths(p *model.Placement) (sum int64) {
	for n, share := range each(p) {
		if share == nil {
			sum += model.WholeGPU * int64(b.site.Nodes[n].GPUs)
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

func newLedger(from *base) ledger {
	s := from.site
	b := ledger{
		base:  from,
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
	for n := range s.Nodes {
		b.idle += b.idleOf(model.NodeID(n))
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
func (b *ledger) reserve(x *flight, sign int32) {
	for _, t := range b.tallies(x.job) {
		t.flyingNodes += sign * x.placement.Nodes()
		t.flyingMilli += int64(sign) * b.thousandths(&x.placement)
		t.flyingJobs += sign
	}
}

// take enters what j holds with sign 1, and gives it back with sign -1.
func (b *ledger) take(j *job, sign int32) {
	for n, share := range each(&j.held) {
		b.visit(j, n, share, sign)
	}
	for _, t := range b.tallies(j) {
		t.add(j, sign)
	}
	if j.Tenant >= 0 {
		b.tenants[j.Tenant].charged += sign * j.nodes
	}
	if j.IsSensitive() {
		b.sensitive += sign * j.nodes
	}
	b.power.used += int64(sign) * j.power
	b.bandwidth.used += int64(sign) * j.io
}

// visit counts j onto node n, or off it.
func (b *ledger) visit(j *job, n model.NodeID, share *model.NodeShare, sign int32) {
	if int(n) >= len(b.nodes) {
		return
	}
	x := &b.nodes[n]
	b.idle -= b.idleOf(n)
	if x.jobs += sign; x.jobs > 0 {
		b.owned.Add(n)
	} else {
		b.owned.Remove(n)
	}
	b.idle += b.idleOf(n)
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
		b.amounts.add(share, sign)
	}
	if home := b.site.Nodes[n].Home; home >= 0 && home != j.VCluster {
		if before := x.foreign; before == 0 || before+sign == 0 {
			b.lent[home] += sign
		}
		x.foreign += sign
	}
}

// idleOf is what node n counts with against the cap on power as a node that no job holds.
func (b *ledger) idleOf(n model.NodeID) int64 {
	if !b.site.CountIdle || b.nodes[n].state == model.Down || b.nodes[n].jobs > 0 {
		return 0
	}
	return b.site.Nodes[n].IdlePower
}

// idleBeside is what nodes count with that no job holds and j, which is not booked yet, does not get.
func (b *ledger) idleBeside(j *job) int64 {
	watts := b.idle
	for n := range each(&j.held) {
		watts -= b.idleOf(n)
	}
	return watts
}

// bound says which hard limit j would exceed on n nodes, by the number of its invariant, 0 for none. had is what it
// held until now when it runs already, else nothing; flying says that what proposals under way take counts as well.
func (b *ledger) bound(j *job, n int32, had *job, flying bool) (number int, found, expected string) {
	more, runs := int32(1), had.nodes > 0
	if runs {
		more = 0
	}
	fresh, milli := func(*tally) int32 { return n }, b.mostMilli(j, n)
	if !flying { // what it gets is known
		fresh, milli = func(t *tally) int32 { return t.fresh(&j.held, n) }, j.milli
	}
	over := func(t *tally, nodes, gpus, jobs int32, what string) bool {
		usedNodes, usedJobs, usedMilli := t.nodes+fresh(t), t.jobs+more, t.milli+milli
		if flying {
			usedNodes, usedJobs, usedMilli = usedNodes+t.flyingNodes, usedJobs+t.flyingJobs, usedMilli+t.flyingMilli
		}
		grows := usedNodes > t.nodes+t.fresh(&had.held, had.nodes)
		if nodes > 0 && grows && usedNodes > nodes || jobs > 0 && more > 0 && usedJobs > jobs || gpus > 0 && milli > had.milli && usedMilli > model.WholeGPU*int64(gpus) {
			found = fmt.Sprintf("%d nodes, %d thousandths of GPUs and %d jobs of its %s", usedNodes, usedMilli, usedJobs, what)
			expected = fmt.Sprintf("at most %d nodes, %d GPUs and %d jobs, where 0 is no limit", nodes, gpus, jobs)
			return true
		}
		return false
	}
	if j.Tenant >= 0 {
		a := &b.tenants[j.Tenant]
		if over(&a.tally, a.limits.MaxNodes, a.limits.MaxGPUs, a.limits.MaxConcurrent, "tenant") {
			return 21, found, expected
		}
	}
	if j.QOS >= 0 {
		q := &b.site.QOS[j.QOS]
		if q.MaxNodes > 0 && n > q.MaxNodes {
			return 22, fmt.Sprintf("%d nodes", n), fmt.Sprintf("at most %d of a job of QOS %s", q.MaxNodes, q.Name)
		}
		if q.MaxGPUs > 0 && milli > model.WholeGPU*int64(q.MaxGPUs) {
			return 22, fmt.Sprintf("%d thousandths of GPUs", milli), fmt.Sprintf("at most %d GPUs of a job of QOS %s", q.MaxGPUs, q.Name)
		}
		if over(&b.qos[j.QOS], q.GroupNodes, q.GroupGPUs, q.GroupJobs, "QOS") || j.User >= 0 && over(b.user(j), q.UserNodes, q.UserGPUs, q.UserJobs, "QOS and user") {
			return 22, found, expected
		}
	}
	if j.Partition >= 0 {
		p := &b.site.Partitions[j.Partition]
		if !p.Up || n < p.MinNodes || p.MaxNodes > 0 && n > p.MaxNodes {
			return 22, fmt.Sprintf("%d nodes of partition %s, which is up: %t", n, p.Name, p.Up), fmt.Sprintf("that it is up, and %d to %d nodes", p.MinNodes, p.MaxNodes)
		}
	}
	if t := b.groups[j.TaskGroup]; j.TaskGroup >= 0 && t != nil && over(t, 0, 0, j.MaxConcurrent, "task group") {
		return 23, found, expected
	}
	if t := b.sessions[j.User]; j.Kind == model.Session && j.User >= 0 && t != nil && over(t, 0, 0, b.site.UserSessions, "user, sessions,") {
		return 22, found, expected
	}
	for _, d := range j.Deps {
		if t := b.locks[d.Mutex]; d.Condition == model.Mutex && t != nil && !runs && over(t, 0, 0, 1, "mutex") {
			return 23, found, expected
		}
	}
	return 0, "", ""
}

// mostMilli is the most that j may take of GPUs on n nodes, in thousandths.
func (b *ledger) mostMilli(j *job, n int32) int64 {
	if j.Divides() {
		return int64(n) * (model.WholeGPU*int64(j.GPUs) + int64(j.GPUMilli))
	}
	return model.WholeGPU * int64(n) * int64(b.mostGPUs)
}

// reserveMore counts what a job gains by a proposal among what is in use.
func (b *ledger) reserveMore(x *flight, sign int32) {
	for _, t := range b.tallies(x.job) {
		t.flyingNodes += sign * x.more.nodes.Nodes()
		t.flyingMilli += int64(sign) * b.thousandths(&x.more.nodes)
	}
}
