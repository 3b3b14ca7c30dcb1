package naive_test

import (
	"slices"

	"orrery/scheduler/model"
)

// naivePlan is a reservation of conservative backfilling.
type naivePlan struct {
	job   *naiveJob
	at    model.Time
	nodes []int
}

// appointment is the next start that l has set, or the end of the interval in which
// a pass came too early to plan.
func (s *naiveSite) appointment(l *naiveVCluster) model.Time {
	at := model.Never
	for _, p := range l.plans {
		if p.at > l.passed {
			at = min(at, p.at)
		}
	}
	if l.early {
		at = min(at, l.planAfter(l.passed))
	}
	return at
}

// planAfter is when l may plan next, after a pass at t that came too early: on a
// cycle at a tick whose number is a multiple of the ticks in the interval, else when
// the interval is over.
func (l *naiveVCluster) planAfter(t model.Time) model.Time {
	c, w := l.policy.Cycle, l.policy.Window.Interval
	if c == 0 {
		return l.planned.Add(w)
	}
	for t++; !naiveTickOf(l.policy, t) || l.tooEarly(t); {
		t++
		if since := t.Sub(model.Time(l.policy.Phase)) % c; since > 0 {
			t = t.Add(c - since)
		}
	}
	return t
}

// tooEarly says whether a pass of l at t comes too early to plan.
func (l *naiveVCluster) tooEarly(t model.Time) bool {
	c, w := l.policy.Cycle, l.policy.Window.Interval
	switch {
	case w == 0:
		return false
	case c == 0:
		return l.planned != model.AbsentTime && t < l.planned.Add(w)
	}
	since, ticks := t.Sub(model.Time(l.policy.Phase)), (w+c-1)/c
	return since%(ticks*c) != 0
}

// passConservative goes through the queue until no reservation moves any more.
func (s *naiveSite) passConservative(l *naiveVCluster, queue []*naiveJob) {
	if l.tooEarly(s.now) {
		l.early = true
		s.passBetween(l, queue)
		return
	}
	if l.early = false; len(queue) > 0 {
		l.planned = s.now
	}
	s.keepPlans(l)
	var blocked *naiveJob
	var started []*naiveJob
	for moved := true; moved; {
		moved, blocked = false, nil
		depth, tests, users := 0, 0, map[int32]int{}
		for _, j := range queue {
			if j.phase != naiveWaiting {
				continue
			}
			if s.heldBack(l, j) {
				moved = s.drop(l, j) || moved
				continue
			}
			if s.untested(l, j, tests, users) {
				moved = s.drop(l, j) || moved
				continue
			}
			tests++
			changed := s.replan(l, j, depth < l.policy.Depth)
			moved = moved || changed
			if j.phase == naiveFlying {
				started = append(started, j)
				continue
			}
			depth++
			if blocked == nil {
				blocked = j
			}
		}
	}
	if blocked != nil {
		s.preemptForBlocked(l, queue)
	}
	s.extendPlanned(l)
	s.grow(l, started, blocked, model.Never)
	s.publish(l, blocked, model.Never)
	s.blockedNow(l, blocked != nil)
}

// keepPlans gives up the reservations that cannot stand any more.
func (s *naiveSite) keepPlans(l *naiveVCluster) {
	old := l.plans
	l.plans = nil
	for _, p := range old {
		if p.job.phase != naiveWaiting || p.at < s.now {
			continue
		}
		free := s.throughout(l, p.job, p.at, l.until(p.at, p.job))
		if !slices.ContainsFunc(p.nodes, func(n int) bool { return free[n] == 0 }) && s.capsThroughout(l, p.job, p.at, l.until(p.at, p.job), s.stated(p.job)) {
			l.plans = append(l.plans, p)
		}
	}
}

// startsInPlan is where j starts now beside the reservations of others, nil when it does not.
func (s *naiveSite) startsInPlan(l *naiveVCluster, j *naiveJob) *naiveChoice {
	c := s.chooseOwn(&naiveView{free: s.throughout(l, j, s.now, l.until(s.now, j))}, j, int(j.NodesMin), s.now)
	if c == nil || !s.withinLimits(j, int(j.NodesMin), c) {
		return nil
	}
	needs := s.stated(j)
	needs.power, needs.on, needs.less = s.drawOf(j, c), c.nodes, 0
	if !s.capsThroughout(l, j, s.now, l.until(s.now, j), needs) {
		return nil
	}
	return c
}

// passBetween is a pass within the interval between two plans: jobs start in order,
// up to the first that is blocked.
func (s *naiveSite) passBetween(l *naiveVCluster, queue []*naiveJob) {
	var blocked *naiveJob
	var started []*naiveJob
	for _, j := range queue {
		if s.heldBack(l, j) || blocked != nil {
			continue
		}
		c := s.room(j, s.view(l, nil))
		if c != nil && !s.withinLimits(j, int(j.NodesMin), c) {
			continue
		}
		if c != nil {
			s.drop(l, j)
			s.start(l, j, c)
			started = append(started, j)
			continue
		}
		blocked = j
		s.preemptForBlocked(l, queue)
	}
	s.grow(l, started, blocked, model.Never)
	s.publish(l, blocked, model.Never)
	s.blockedNow(l, blocked != nil)
}

// untested says whether j is beyond the number of jobs that a round plans for, of
// all or of its user. It counts j for its user.
func (s *naiveSite) untested(l *naiveVCluster, j *naiveJob, tests int, users map[int32]int) bool {
	if most := l.policy.Window.Tests; most > 0 && tests == most {
		return true
	}
	users[j.User]++
	return l.policy.MaxUserTests > 0 && users[j.User] > l.policy.MaxUserTests
}

func (s *naiveSite) drop(l *naiveVCluster, j *naiveJob) bool {
	had := len(l.plans)
	l.plans = slices.DeleteFunc(l.plans, func(p naivePlan) bool { return p.job == j })
	return len(l.plans) < had
}

// replan lifts the reservation of j, starts it if it has room, and else sets it at
// the earliest instant. It says whether anything has changed.
func (s *naiveSite) replan(l *naiveVCluster, j *naiveJob, keep bool) bool {
	i := slices.IndexFunc(l.plans, func(p naivePlan) bool { return p.job == j })
	if c := s.startsInPlan(l, j); c != nil {
		s.drop(l, j)
		s.start(l, j, c)
		return true
	}
	if !keep {
		return s.drop(l, j)
	}
	for _, t := range s.endings(l, j) {
		if w := l.policy.Window.Length; w > 0 && t > s.now.Add(w) {
			break
		}
		c := s.chooseOwn(&naiveView{free: s.throughout(l, j, t, l.until(t, j))}, j, int(j.NodesMin), t)
		if c == nil || !s.capsThroughout(l, j, t, l.until(t, j), s.stated(j)) {
			continue
		}
		switch {
		case i < 0:
			l.plans = append(l.plans, naivePlan{j, t, c.nodes})
			return true
		case l.plans[i].at != t:
			l.plans[i] = naivePlan{j, t, c.nodes}
			return true
		}
		return false
	}
	return s.drop(l, j)
}

// planEnd is the predicted end of a job that holds nodes, as the plan of l has it:
// on the next multiple of the resolution, and on a cycle at the next tick that plans.
func (s *naiveSite) planEnd(l *naiveVCluster, j *naiveJob) model.Time {
	return l.rounded(s.endOf(j))
}

// until is when a job that starts at t is planned to leave.
func (l *naiveVCluster) until(t model.Time, j *naiveJob) model.Time { return l.rounded(t.Add(j.left)) }

func (l *naiveVCluster) rounded(t model.Time) model.Time {
	if r := model.Time(l.policy.Window.Resolution); r > 0 && t < model.Never && t%r != 0 {
		t += r - t%r
	}
	return l.planning(t)
}

// planning is the first instant from t on at which l may plan: any on no cycle, else a tick.
func (l *naiveVCluster) planning(t model.Time) model.Time {
	if l.policy.Cycle == 0 || t == model.Never {
		return t
	}
	tick := model.Time(l.policy.Phase)
	if c := l.policy.Cycle; t > tick {
		tick = t.Add((c - t.Sub(tick)%c) % c)
	}
	for l.tooEarly(tick) {
		tick = tick.Add(l.policy.Cycle)
	}
	return tick
}

// endings are the instants after now at which anything comes free.
func (s *naiveSite) endings(l *naiveVCluster, j *naiveJob) (at []model.Time) {
	for _, o := range s.holders {
		if s.sees(l, o) {
			at = append(at, s.planEnd(l, o))
		}
	}
	for _, p := range l.plans {
		if p.job != j {
			at = append(at, l.until(p.at, p.job))
		}
	}
	for i := range s.st.Reservations {
		at = append(at, l.planning(s.st.Reservations[i].End))
	}
	for _, end := range s.promisedEnds(l) {
		at = append(at, l.planning(end))
	}
	at = slices.DeleteFunc(at, func(t model.Time) bool { return t <= s.now || t == model.Never })
	slices.Sort(at)
	return at
}

// throughout is what is free for j from t to until, next to the reservations of
// others.
func (s *naiveSite) throughout(l *naiveVCluster, j *naiveJob, t, until model.Time) []uint64 {
	v := s.view(l, func(o *naiveJob) bool { return s.planEnd(l, o) <= t })
	for _, p := range l.plans {
		if p.job != j && p.at < until && t < l.until(p.at, p.job) {
			v.take(s, &naiveChoice{nodes: p.nodes})
		}
	}
	return v.free
}

// capsThroughout says whether j, which takes this much then, keeps the caps from t to
// until, next to the reservations of others. More is in use only where one begins, or where one
// leaves nodes that draw more without it.
func (s *naiveSite) capsThroughout(l *naiveVCluster, j *naiveJob, t, until model.Time, needs naiveNeeds) bool {
	instants := []model.Time{t}
	add := func(at model.Time) {
		if at > t && at < until {
			instants = append(instants, at)
		}
	}
	for _, p := range l.plans {
		if p.job != j {
			add(p.at)
			add(l.until(p.at, p.job))
		}
	}
	for _, o := range s.holders {
		if s.sees(l, o) {
			add(s.planEnd(l, o))
		}
	}
	for _, at := range instants {
		power, band := needs, needs
		for _, p := range l.plans {
			if p.job != j && p.at <= at && at < l.until(p.at, p.job) {
				k := s.stated(p.job)
				power.power, power.less, band.band = power.power+k.power, power.less+k.less, band.band+k.band
			}
		}
		gone := func(o *naiveJob) bool { return o == j || s.sees(l, o) && s.planEnd(l, o) <= at }
		// Who asks for nothing breaks no cap.
		power.band, band.power = 0, 0
		if needs.power > 0 && !s.withinCaps(power, gone) || needs.band > 0 && !s.withinCaps(band, gone) {
			return false
		}
	}
	return true
}
