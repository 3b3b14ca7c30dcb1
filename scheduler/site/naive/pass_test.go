package naive_test

import (
	"slices"
	"sort"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site"
)

// pass looks through the queue of l.
func (s *naiveSite) pass(l *naiveVCluster) {
	line := s.queue(l)
	queue := slices.DeleteFunc(slices.Clone(line), func(j *naiveJob) bool { return j.phase != naiveWaiting })
	s.shrink(l)
	l.release = s.releaseOf(l, queue)
	if l.policy.Backfill == order.Conservative {
		s.passConservative(l, queue)
		return
	}
	var started []*naiveJob
	var blocked *naiveJob
	shadow := model.Never
	view := s.view(l, nil)
	for _, j := range line {
		if j.phase == naiveRunning {
			s.extend(l, j, blocked, shadow)
			view = s.view(l, nil)
			continue
		}
		if s.heldBack(l, j) {
			continue
		}
		c := s.room(j, view)
		if c != nil && !s.withinLimits(j, int(j.NodesMin), c) {
			continue
		}
		switch {
		case c == nil && blocked == nil:
			blocked = j
			s.preemptForBlocked(l, queue)
			shadow = s.shadow(l, j) // around what is held now
		case c != nil && s.mayOvertake(l, j, c, blocked, shadow):
			s.start(l, j, c)
			view = s.view(l, nil)
			started = append(started, j)
		}
	}
	s.grow(l, started, blocked, shadow)
	s.publish(l, blocked, shadow)
	s.preemptForServices(l)
	s.blockedNow(l, blocked != nil)
}

// blockedNow notes whether any job in l is blocked or a service lacks nodes: while
// that is so, l lends nothing, and afterwards others may borrow.
func (s *naiveSite) blockedNow(l *naiveVCluster, blocked bool) {
	was := l.blocked
	blocked = blocked || s.lacks(l)
	l.blocked = blocked
	s.lapse(l)
	for _, o := range s.vclusters {
		o.changed = o.changed || was && !blocked && o != l
	}
}

// heldBack says whether j is below min_score or beyond a hard limit.
func (s *naiveSite) heldBack(l *naiveVCluster, j *naiveJob) bool {
	return s.outsideNamed(j, s.now, s.now.Add(j.left)) || l.policy.Ranking == site.ByScore && model.Fixed(j.score) < l.policy.MinScore || !s.withinLimits(j, int(j.NodesMin), nil) || s.shutOut(l, j)
}

// shutOut says whether a limit on nodes keeps j, which takes shares, from starting: it
// leaves no room for other nodes than those with shares that it counts, and these have none.
func (s *naiveSite) shutOut(l *naiveVCluster, j *naiveJob) bool {
	on := s.confined(j)
	return on != nil && s.chooseParts(s.view(l, nil), j, s.only(s.may(j), on), int(j.NodesMin)) == nil
}

// confined says on which nodes j, which takes shares, may start by its limits on nodes; nil
// for any.
func (s *naiveSite) confined(j *naiveJob) func(n int) bool {
	if !j.Divides() {
		return nil
	}
	var all []map[int]bool
	look := func(limit int32, count func(*naiveJob) bool) {
		if limit <= 0 {
			return
		}
		if nodes, on := s.distinct(j, count); nodes+int(j.NodesMin) > int(limit) {
			all = append(all, on)
		}
	}
	look(s.limits[s.row(j.Tenant)].MaxNodes, func(o *naiveJob) bool { return s.row(o.Tenant) == s.row(j.Tenant) })
	if j.QOS >= 0 {
		q := &s.st.QOS[j.QOS]
		look(q.GroupNodes, func(o *naiveJob) bool { return o.QOS == j.QOS })
		if j.User >= 0 {
			look(q.UserNodes, func(o *naiveJob) bool { return o.QOS == j.QOS && o.User == j.User })
		}
	}
	if all == nil {
		return nil
	}
	return func(n int) bool {
		return !slices.ContainsFunc(all, func(on map[int]bool) bool { return !on[n] })
	}
}

// distinct counts the nodes of the jobs beside j that count, one of which they hold shares
// once, and says which these are.
func (s *naiveSite) distinct(j *naiveJob, count func(*naiveJob) bool) (nodes int, shares map[int]bool) {
	shares = map[int]bool{}
	for _, o := range s.holders {
		if o == j || !count(o) {
			continue
		}
		for _, n := range o.most().nodes {
			if !o.Divides() {
				nodes++
			} else if !shares[n] {
				shares[n] = true
				nodes++
			}
		}
	}
	return nodes, shares
}

// milliOf is what c is of GPUs for j, in thousandths.
func (s *naiveSite) milliOf(j *naiveJob, c *naiveChoice) (sum int) {
	for _, n := range c.nodes {
		if j.Divides() {
			sum += 1000*int(j.GPUs) + int(j.GPUMilli)
		} else {
			sum += 1000 * int(s.st.Nodes[n].GPUs)
		}
	}
	return sum
}

// leastOf is the least that j takes of GPUs on a node, in thousandths.
func (s *naiveSite) leastOf(j *naiveJob) int {
	if j.Divides() {
		return 1000*int(j.GPUs) + int(j.GPUMilli)
	}
	least := -1
	for n := range s.st.Nodes {
		home := s.st.Nodes[n].Home
		mine := home < 0 || home == j.VCluster || s.st.VClusters[j.VCluster].Borrow && s.st.VClusters[home].Lend
		if gpus := int(s.st.Nodes[n].GPUs); (least < 0 || gpus < least) && mine && s.suits(j, n) {
			least = gpus
		}
	}
	return 1000 * max(least, 0)
}

// room is where j could start now, on what is free in the view; nil when nowhere.
func (s *naiveSite) room(j *naiveJob, view *naiveView) *naiveChoice {
	j.on = s.confined(j)
	defer func() { j.on = nil }()
	c := s.choose(view, j, int(j.NodesMin), s.now)
	if c == nil || !s.withinCaps(s.needsOn(j, c), func(*naiveJob) bool { return false }) {
		return nil
	}
	return c
}

// draws is the power of what j holds, which is worked out once for the same nodes.
func (s *naiveSite) draws(j *naiveJob) int64 {
	if !slices.Equal(j.drawnOn, j.nodes) {
		j.drawn, j.drawnOn = s.drawOf(j, j.has()), j.nodes
	}
	return j.drawn
}

func (s *naiveSite) drawOf(j *naiveJob, c *naiveChoice) int64 {
	p := c.placement()
	return s.st.Draw(&j.Allocation, &p)
}

func (c *naiveChoice) placement() (p model.Placement) {
	for _, n := range c.nodes {
		if c.gpus != nil {
			mask := c.gpus[n]
			h := model.NodeShare{Node: model.NodeID(n), Units: int32(naiveCount(mask)), GPUs: mask, Amounts: c.amounts}
			if c.amounts.GPUMilli > 0 {
				h.Units = 0
			}
			p.Shares = append(p.Shares, h)
			continue
		}
		if k := len(p.Words); k == 0 || p.Words[k-1].Word != int32(n/64) {
			p.Words = append(p.Words, model.NodeWord{Word: int32(n / 64)})
		}
		p.Words[len(p.Words)-1].Mask |= 1 << (n % 64)
	}
	return p
}

func naiveCount(mask uint64) (n int) {
	for ; mask != 0; mask &= mask - 1 {
		n++
	}
	return n
}

// endOf is the predicted end of a job that holds nodes.
func (s *naiveSite) endOf(j *naiveJob) model.Time {
	if j.predicted <= s.now {
		return s.now.Add(model.Second)
	}
	return j.predicted
}

// shadow is the earliest instant at which j has room, if each job leaves at the
// predicted end and no other starts; Never when there is none.
func (s *naiveSite) shadow(l *naiveVCluster, j *naiveJob) model.Time {
	if l.policy.Backfill != order.Easy {
		return model.Never
	}
	ends := []model.Time{s.now}
	for _, o := range s.holders {
		if s.sees(l, o) {
			ends = append(ends, s.endOf(o))
		}
	}
	for i := range s.st.Reservations {
		if r := &s.st.Reservations[i]; r.End > s.now {
			ends = append(ends, r.End)
		}
	}
	ends = append(ends, s.promisedEnds(l)...)
	slices.Sort(ends)
	for _, t := range slices.Compact(ends) {
		if t != model.Never && s.roomAt(l, j, t, nil, nil) {
			return t
		}
	}
	return model.Never
}

// roomAt says whether j has room at t on nodes of its own, with beside on top
// running on c. What other vClusters have in flight stays.
func (s *naiveSite) roomAt(l *naiveVCluster, j *naiveJob, t model.Time, beside *naiveJob, c *naiveChoice) bool {
	gone := func(o *naiveJob) bool { return s.sees(l, o) && s.endOf(o) <= t || o == beside || o == j }
	v := s.view(l, gone)
	needs := s.stated(j)
	if beside != nil {
		v.take(s, c)
		if needs.power > 0 {
			needs.power += s.drawOf(beside, c)
			needs.on = c.nodes
		}
		if needs.band > 0 {
			needs.band += beside.Demand(int32(len(c.nodes)))
		}
	}
	return s.withinCaps(needs, gone) && s.chooseOwn(v, j, int(j.NodesMin), t) != nil
}

// mayOvertake is the backfill rule.
func (s *naiveSite) mayOvertake(l *naiveVCluster, j *naiveJob, c *naiveChoice, blocked *naiveJob, shadow model.Time) bool {
	switch {
	case blocked == nil || l.policy.Backfill == order.FirstFit:
		return true
	case l.policy.Backfill == order.None:
		return false
	case shadow == model.Never || s.now.Add(j.left) <= shadow:
		return true
	}
	return s.roomAt(l, blocked, shadow, j, c)
}

// start proposes j on c.
func (s *naiveSite) start(l *naiveVCluster, j *naiveJob, c *naiveChoice) {
	j.phase, j.nodes, j.gpus, j.borrowed, j.predicted = naiveFlying, c.nodes, c.gpus, c.borrowed, s.now.Add(j.left)
	s.holders = append(s.holders, j)
	s.propose(model.Proposal{
		Kind: model.ProposeAssign, Borrowed: c.borrowed, VCluster: j.VCluster, Job: j.Job, Ref: j.ref, Placement: c.placement(),
	})
	j.seq = s.seq
	s.promiseProposed(j)
}

// grow offers more nodes of their own to the jobs that were started. While a job
// is blocked only those grow that are predicted to end by its reservation, and
// under first-fit all.
func (s *naiveSite) grow(l *naiveVCluster, started []*naiveJob, blocked *naiveJob, shadow model.Time) {
	for _, j := range started {
		if blocked != nil && l.policy.Backfill != order.FirstFit && (l.policy.Backfill != order.Easy || s.now.Add(j.left) > shadow) {
			continue
		}
		if j.borrowed || j.Kind == model.Reactive {
			continue
		}
		for size := int(j.NodesMax); size > int(j.NodesMin); size-- {
			own := func(o *naiveJob) bool { return o == j }
			c := s.chooseOwn(s.view(l, own), j, size, s.now)
			if c == nil || !s.withinLimits(j, size, c) || !s.withinCaps(s.needsOn(j, c), own) {
				continue
			}
			j.nodes, j.gpus = c.nodes, c.gpus
			for i := range s.plan.Proposals {
				if p := &s.plan.Proposals[i]; p.Kind == model.ProposeAssign && p.Ref == j.ref {
					p.Placement = c.placement()
				}
			}
			s.promiseProposed(j)
			break
		}
	}
}

// releaseOf is the first instant at which a job that min_score holds reaches it,
// if nothing but its wait changes.
func (s *naiveSite) releaseOf(l *naiveVCluster, queue []*naiveJob) model.Time {
	at := model.Never
	if l.policy.Ranking != site.ByScore {
		return at
	}
	for _, j := range queue {
		if model.Fixed(j.score) >= l.policy.MinScore {
			continue
		}
		rest := s.scoreBut(l, j, s.freeze(l))
		const horizon = 1 << 50
		k := sort.Search(horizon, func(d int) bool {
			return s.scoreAt(l, j, s.now+model.Time(d), rest) >= l.policy.MinScore
		})
		if k < horizon {
			at = min(at, s.now+model.Time(k))
		}
		// What is on the accounts is forgotten at ticks to come.
		tick := (s.now/model.Time(s.tickSpan()) + 1) * model.Time(s.tickSpan())
		if tick <= s.stableAt {
			at = min(at, tick)
		}
	}
	return at
}
