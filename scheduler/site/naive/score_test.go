package naive_test

import (
	"cmp"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/order"
	"orrery/scheduler/order/ordertest"
	"orrery/scheduler/quota"
	"orrery/scheduler/site"
)

// naiveHolding is a row of the ledger: who held how many nodes from when to when.
type naiveHolding struct {
	tenant      int
	from, until model.Time
	nodes, gpus int64
}

// naiveTick is what the last accounting tick found.
type naiveTick struct {
	usage, budget, share, burst []model.Fixed // by tenant, the last for none
	utilisation                 model.Fixed
}

func (s *naiveSite) tickSpan() model.Duration {
	if s.cfg.Quota.Tick > 0 {
		return s.cfg.Quota.Tick
	}
	return quota.DefaultTick
}

// advance makes the accounting ticks up to now.
func (s *naiveSite) advance(now model.Time) {
	step := model.Time(s.tickSpan())
	for t := s.now/step*step + step; t <= now; t += step {
		s.freezeBooks(t)
	}
	s.now = now
}

// freezeBooks is an accounting tick at t.
func (s *naiveSite) freezeBooks(t model.Time) {
	s.tick = naiveTick{}
	if t > 0 {
		s.begun = min(s.begun, t)
	}
	window := s.cfg.Quota.Window
	if window <= 0 {
		window = quota.DefaultWindow
	}
	window = (window + s.tickSpan() - 1) / s.tickSpan() * s.tickSpan()
	from := t - model.Time(window)
	busy := int64(0)
	for i := range s.limits {
		tenant := i
		if i == len(s.limits)-1 {
			tenant = -1
		}
		var now, nodes, gpus int64
		for _, h := range s.held {
			if h.tenant != tenant {
				continue
			}
			if h.from <= t && h.until == model.Never {
				now += h.nodes
			}
			if span := int64(min(t, h.until) - max(from, h.from)); span > 0 {
				nodes += h.nodes * span
				gpus += h.gpus * span
			}
		}
		busy += now
		part, all := now, int64(s.cfg.Quota.Nodes)
		if s.cfg.Quota.Usage == quota.Rolling && s.begun != model.Never && t > s.begun {
			part, all = nodes, all*int64(t-max(from, s.begun))
		}
		s.tick.usage = append(s.tick.usage, naiveRatio(part, all))
		l := &s.limits[i]
		s.tick.budget = append(s.tick.budget, max(naiveRatio(nodes, int64(l.NodeBudget)), naiveRatio(gpus, int64(l.GPUBudget))))
		s.tick.share, s.tick.burst = append(s.tick.share, l.FairShare), append(s.tick.burst, l.Burst)
	}
	s.tick.utilisation = naiveRatio(busy, int64(s.cfg.Quota.Nodes)).Clamp(0, model.One)
}

func naiveRatio(a, b int64) model.Fixed {
	if b <= 0 {
		return 0
	}
	return quotient(a, b)
}

func (s *naiveSite) row(t model.TenantID) int {
	if t < 0 {
		return len(s.limits) - 1
	}
	return int(t)
}

// may are the nodes that j may ever use without borrowing: in its partition and
// its reservation, meeting its constraint, of its vCluster or of none.
func (s *naiveSite) may(j *naiveJob) []int {
	if j.mayUse != nil {
		return j.may // worked out before
	}
	for n := range s.st.Nodes {
		home := s.st.Nodes[n].Home
		j.mayUse = append(j.mayUse, s.suits(j, n) && (home < 0 || home == j.VCluster))
		if j.mayUse[n] {
			j.may = append(j.may, n)
		}
	}
	return j.may
}

// suits says whether node n is in the partition and the reservation of j and
// meets its constraint.
func (s *naiveSite) suits(j *naiveJob, n int) bool {
	id := model.NodeID(n)
	return s.st.Constraints[j.Constraint].Holds(id, &s.st.Nodes[n]) &&
		(j.Partition < 0 || s.st.Partitions[j.Partition].Nodes.Has(id)) &&
		(j.Reservation < 0 || s.st.Reservations[j.Reservation].Nodes.Has(id))
}

// gpusAsked is the GPUs that j asks for: of whole nodes those of the largest
// node it may use, at least one each.
func (s *naiveSite) gpusAsked(j *naiveJob) int32 {
	per := j.Cards()
	if !j.Divides() {
		per = 1
		for _, n := range s.may(j) {
			per = max(per, s.st.Nodes[n].GPUs)
		}
	}
	return per * j.NodesMin
}

// unitsAsked is the size of j: a share without GPUs counts as one with one.
func (s *naiveSite) unitsAsked(j *naiveJob) int32 { return max(s.gpusAsked(j), j.NodesMin) }

// gpusHeld is the GPUs that j holds.
func (s *naiveSite) gpusHeld(j *naiveJob) int32 {
	if j.Divides() {
		return j.Cards() * int32(len(j.nodes))
	}
	sum := int32(0)
	for _, n := range j.nodes {
		sum += max(1, s.st.Nodes[n].GPUs)
	}
	return sum
}

// backlog is GPU time in seconds, each job rounded up: what waits, and what
// runs, by what was requested from its start on; no end counts as a day.
func (s *naiveSite) backlog() (queued, running int64) {
	for _, j := range s.jobs {
		d := int64(j.left)
		if j.left == model.Forever {
			d = int64(model.Day)
		}
		d = (max(d, 1)-1)/int64(model.Second) + 1
		if j.phase == naiveRunning {
			running += d * int64(s.gpusHeld(j))
		} else {
			queued += d * int64(s.gpusAsked(j))
		}
	}
	return queued, running
}

// naiveFrozen is what all scores of a pass have in common.
type naiveFrozen struct {
	queued, running int64
	view            *naiveView
}

func (s *naiveSite) freeze(l *naiveVCluster) *naiveFrozen {
	queued, running := s.backlog()
	return &naiveFrozen{queued, running, s.view(l, nil)}
}

// largest is the largest conformance group of nodes that j may use and that are
// free.
func (s *naiveSite) largest(v *naiveView, j *naiveJob) int32 {
	groups := map[int]int32{}
	most := int32(0)
	for _, n := range s.idleOf(v, s.may(j)) {
		f := s.conformance(n)
		groups[f]++
		most = max(most, groups[f])
	}
	return most
}

// groupsNeeded is the fewest dragonfly groups whose nodes could hold j.
func (s *naiveSite) groupsNeeded(j *naiveJob) int32 {
	if j.groups > 0 {
		return j.groups // worked out before
	}
	count := make([]int32, len(s.st.Groups))
	for _, n := range s.may(j) {
		count[s.st.Nodes[n].Group]++
	}
	slices.SortFunc(count, func(a, b int32) int { return int(b - a) })
	left := j.NodesMin
	for _, c := range count {
		if left > 0 {
			left -= c
			j.groups++
		}
	}
	return j.groups
}

// priority is the multifactor priority of j.
func (s *naiveSite) priority(l *naiveVCluster, j *naiveJob) int64 {
	var factor, qos int64
	for i := range s.st.Partitions {
		factor = max(factor, s.st.Partitions[i].Factor)
	}
	for i := range s.st.QOS {
		qos = max(qos, s.st.QOS[i].Priority)
	}
	in := multifactor.Inputs{
		Age: s.now.Sub(j.Eligible), Site: j.Priority, Nice: j.Nice,
		Size: multifactor.Size{
			Nodes: multifactor.Part{Amount: int64(j.NodesMin), Whole: int64(len(s.st.Nodes))},
			CPUs:  multifactor.Part{Amount: int64(s.unitsAsked(j)), Whole: s.cfg.Quota.GPUs},
			Limit: j.Walltime,
		},
	}
	if j.Partition >= 0 {
		in.Partition = multifactor.Part{Amount: s.st.Partitions[j.Partition].Factor, Whole: factor}
	}
	if j.QOS >= 0 {
		in.QOS = multifactor.Part{Amount: s.st.QOS[j.QOS].Priority, Whole: qos}
	}
	return multifactor.Priority(&l.policy.Multifactor, &in)
}

// queue are the candidates of l in the order in which they are looked at, and among them the
// services that have too few nodes.
func (s *naiveSite) queue(l *naiveVCluster) []*naiveJob {
	out := s.short(l)
	for _, j := range s.jobs {
		if s.vclusterOf(j) == l && j.phase == naiveWaiting {
			out = append(out, j)
		}
	}
	return s.sorted(l, out)
}

// sorted brings jobs into the order of l.
func (s *naiveSite) sorted(l *naiveVCluster, out []*naiveJob) []*naiveJob {
	f := s.freeze(l)
	for _, j := range out {
		switch l.policy.Ranking {
		case site.ByScore:
			j.score = int64(s.scoreAt(l, j, s.now, s.scoreBut(l, j, f)))
		case site.ByMultifactor:
			j.score = s.priority(l, j)
		}
	}
	slices.SortFunc(out, func(a, b *naiveJob) int {
		first := cmp.Compare(b.score, a.score)
		if l.policy.Ranking == site.ByOrder {
			first = s.key(l.policy.Order, a).Cmp(s.key(l.policy.Order, b))
		}
		if a.first() != b.first() {
			if a.first() {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(s.tier(b), s.tier(a)), first, cmp.Compare(a.Job, b.Job))
	})
	return out
}

func (s *naiveSite) tier(j *naiveJob) int32 {
	if j.Partition < 0 {
		return 0
	}
	return s.st.Partitions[j.Partition].Tier
}

// naiveOrders are the orders whose key decides between any two jobs.
var naiveOrders = exactOrders()

func exactOrders() (list []order.Order) {
	for o, name := range order.Names() {
		if ordertest.Exact(name) {
			list = append(list, order.Order(o))
		}
	}
	return list
}

// key is what an order takes smallest first.
func (s *naiveSite) key(o order.Order, j *naiveJob) ordertest.Key {
	return s.keys.Of(o.String(), ordertest.Job{Submit: j.Submit, Walltime: j.left, Units: int64(s.unitsAsked(j))}, s.now)
}
