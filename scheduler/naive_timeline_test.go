package scheduler_test

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

// appointment is the next start that l has set.
func (s *naiveSite) appointment(l *naiveLane) model.Time {
	at := model.Never
	for _, p := range l.plans {
		at = min(at, p.at)
	}
	return at
}

// passConservative goes through the queue until no reservation moves any more.
func (s *naiveSite) passConservative(l *naiveLane, queue []*naiveJob) {
	old := l.plans
	l.plans = nil
	for _, p := range old {
		if p.job.phase != naiveWaiting || p.at < s.now {
			continue
		}
		free := s.throughout(l, p.job, p.at)
		power, band := s.ask(p.job)
		if !slices.ContainsFunc(p.nodes, func(n int) bool { return free[n] == 0 }) && s.capsThroughout(l, p.job, p.at, power, band) {
			l.plans = append(l.plans, p)
		}
	}
	var blocked *naiveJob
	var started []*naiveJob
	for moved := true; moved; {
		moved, blocked = false, nil
		depth := 0
		for _, j := range queue {
			if j.phase != naiveWaiting {
				continue
			}
			if s.heldBack(l, j) {
				moved = s.drop(l, j) || moved
				continue
			}
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
		s.preempt(l, blocked)
	}
	s.grow(l, started, blocked, model.Never)
	s.blockedNow(l, blocked != nil)
}

func (s *naiveSite) drop(l *naiveLane, j *naiveJob) bool {
	had := len(l.plans)
	l.plans = slices.DeleteFunc(l.plans, func(p naivePlan) bool { return p.job == j })
	return len(l.plans) < had
}

// replan lifts the reservation of j, starts it if it has room, and else sets it at
// the earliest instant. It says whether anything has changed.
func (s *naiveSite) replan(l *naiveLane, j *naiveJob, keep bool) bool {
	i := slices.IndexFunc(l.plans, func(p naivePlan) bool { return p.job == j })
	instants := []model.Time{s.now}
	if keep {
		instants = append(instants, s.endings(l, j)...)
	}
	for _, t := range instants {
		c := s.chooseOwn(&naiveView{s.throughout(l, j, t)}, j, int(j.NodesMin), t)
		if c == nil {
			continue
		}
		power, band := s.ask(j)
		if t == s.now {
			power = s.drawOf(j, c)
		}
		if !s.capsThroughout(l, j, t, power, band) {
			continue
		}
		switch {
		case t == s.now:
			s.drop(l, j)
			s.start(l, j, c)
			return true
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

// endings are the instants after now at which anything comes free.
func (s *naiveSite) endings(l *naiveLane, j *naiveJob) (at []model.Time) {
	for _, o := range s.jobs {
		if s.sees(l, o) {
			at = append(at, s.endOf(o))
		}
	}
	for _, p := range l.plans {
		if p.job != j {
			at = append(at, p.at.Add(p.job.left))
		}
	}
	for i := range s.site.Reservations {
		at = append(at, s.site.Reservations[i].End)
	}
	at = slices.DeleteFunc(at, func(t model.Time) bool { return t <= s.now || t == model.Never })
	slices.Sort(at)
	return at
}

// throughout is what is free from t on for as long as j takes, next to the
// reservations of others.
func (s *naiveSite) throughout(l *naiveLane, j *naiveJob, t model.Time) []uint64 {
	v := s.view(l, func(o *naiveJob) bool { return s.endOf(o) <= t })
	for _, p := range l.plans {
		if p.job != j && p.at < t.Add(j.left) && t < p.at.Add(p.job.left) {
			v.take(s, &naiveChoice{nodes: p.nodes})
		}
	}
	return v.free
}

// capsThroughout says whether j keeps the caps from t on for as long as it takes,
// next to the reservations of others. More is in use only where one begins.
func (s *naiveSite) capsThroughout(l *naiveLane, j *naiveJob, t model.Time, power, band int64) bool {
	instants := []model.Time{t}
	for _, p := range l.plans {
		if p.job != j && p.at > t && p.at < t.Add(j.left) {
			instants = append(instants, p.at)
		}
	}
	for _, at := range instants {
		besidePower, besideBand := int64(0), int64(0)
		for _, p := range l.plans {
			if p.job != j && p.at <= at && at < p.at.Add(p.job.left) {
				p, b := s.ask(p.job)
				besidePower, besideBand = besidePower+p, besideBand+b
			}
		}
		gone := func(o *naiveJob) bool { return s.sees(l, o) && s.endOf(o) <= at }
		// Who asks for nothing breaks no cap.
		if power > 0 && !s.withinCaps(power+besidePower, 0, gone) || band > 0 && !s.withinCaps(0, band+besideBand, gone) {
			return false
		}
	}
	return true
}
