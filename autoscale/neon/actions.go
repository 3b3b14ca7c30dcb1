package neon

import (
	"orrery/autoscale"
	"orrery/scheduler/model"
)

// Step is what an actuator is to be asked for, or why not.
type Step struct {
	Do     bool
	Target autoscale.Resources
	wanted bool
	entity autoscale.Entity
	rule   autoscale.Rule
	guard  autoscale.Guard
}

// Actions are the next steps of an agent: at most one of each actuator, in the order in
// which they are to be taken.
type Actions struct {
	Permit, Resize, Up, Down Step
	Wait                     model.Duration // until others may follow; Forever for not before the next fact
	goal                     goal
}

// Next are the steps that are to be taken at now. It changes nothing: a step is under way
// once Start says so.
func (a *Agent) Next(now model.Time) Actions {
	x := Actions{goal: a.goal(now)}
	to := x.goal.give
	var permit, resize, up, down model.Duration
	x.Permit, permit = a.askPermit(now, &x.goal)
	x.Resize, resize = a.resize(now, to, &x.Permit)
	x.Up, up = a.tellUp(now, to)
	x.Down, down = a.askDown(now, to, x.Up.Do)
	x.Resize.rule = x.goal.rule
	x.Wait = min(x.goal.wish, permit, resize, up, down)
	if x.goal.down && !x.Down.Do && !a.flying[Monitor].target.is {
		x.Wait = min(x.Wait, x.goal.wait)
	}
	return x
}

// askPermit asks the scheduler at every tick, and whenever something else is wanted than
// was permitted last.
func (a *Agent) askPermit(now model.Time, g *goal) (s Step, wait model.Duration) {
	wanted := atLeast(g.give, a.using) // what is given back is reported once it has been
	report := atLeast(a.using, a.flying[VM].target.Resources)
	var tick, denied model.Duration
	if a.asked.is {
		tick = a.cfg.Tick - now.Sub(a.askedAt)
	}
	flying := a.flying[Scheduler].target.is
	if !flying && a.asked.is && a.permit.is && anyLess(a.permit.Resources, a.asked.Resources) {
		denied = max(0, a.askedAt.Add(a.cfg.DeniedRetry).Sub(now))
	}
	differs := a.asked.is && a.permit.is && wanted != a.permit.Resources
	s = Step{entity: Scheduler, rule: g.rule, wanted: differs, Target: wanted}
	if !differs || denied > 0 {
		s.Target, s.rule = report, RuleReport
	}
	failed := a.permitFailed.left(now, a.cfg.PermitRetry)
	switch {
	case flying:
		s.guard = autoscale.GuardInFlight
		return s, model.Forever
	case failed > 0:
		s.guard = GuardFailed
		return s, failed
	case tick <= 0 || differs && denied == 0:
		s.Do, s.wanted = true, true
		return s, model.Forever
	case denied > 0:
		s.guard = GuardDenied
		return s, min(tick, denied)
	}
	return s, tick
}

// resize makes the machine what it is to be, within what is approved and permitted.
func (a *Agent) resize(now model.Time, to autoscale.Resources, permit *Step) (s Step, wait model.Duration) {
	lower, upper := a.using, atLeast(a.using, a.permit.Resources) // without a permit it does not grow
	if a.approved.is {
		lower = atMost(a.using, a.approved.Resources)
	}
	s = Step{entity: VM, wanted: to != a.using, Target: atMost(atLeast(to, lower), upper)}
	if s.Target != to {
		if s.guard = GuardPermit; anyLess(to, s.Target) {
			s.guard = GuardApproval
		}
	}
	if s.Target == a.using {
		s.Target = to
		return s, model.Forever
	}
	asked := permit.Do && anyLess(permit.Target, s.Target)
	if r := a.flying[Scheduler]; r.target.is {
		asked = anyLess(r.target.Resources, s.Target)
	}
	switch failed := a.vmFailed.left(now, a.cfg.VMRetry); {
	case a.flying[VM].target.is:
		s.guard = autoscale.GuardInFlight
	case asked:
		s.guard = GuardOther // the scheduler is being told of less
	case failed > 0:
		s.guard = GuardFailed
		return s, failed
	default:
		s.Do = true
	}
	return s, model.Forever
}

// tellUp tells the monitor what the machine has got.
func (a *Agent) tellUp(now model.Time, to autoscale.Resources) (s Step, wait model.Duration) {
	s = Step{entity: Monitor, rule: RuleApproved}
	if !a.approved.is {
		return s, model.Forever
	}
	has := a.approved.Resources
	s.Target = atLeast(has, atMost(a.using, to))
	if a.cfg.StepUp {
		if step := atMost(s.Target, plus(has, a.cfg.Unit)); step != s.Target {
			s.Target, s.guard = step, GuardUnit
		}
	}
	if s.wanted = s.Target != has; !s.wanted {
		return s, model.Forever
	}
	failed := a.upFailed.left(now, a.cfg.TellRetry)
	switch {
	case a.flying[Monitor].target.is:
		s.guard = autoscale.GuardInFlight
	case failed > 0:
		s.guard = GuardFailed
		return s, failed
	default:
		s.Do = true
	}
	return s, model.Forever
}

// askDown asks the monitor whether one compute unit may go. A machine that has just got
// more is told so first.
func (a *Agent) askDown(now model.Time, to autoscale.Resources, up bool) (s Step, wait model.Duration) {
	s = Step{entity: Monitor, rule: RuleApproved}
	has := a.approved.Resources // none, of which nothing can go, where it is not connected
	whole := atMost(to, has)
	if s.Target = atLeast(whole, less(has, a.cfg.Unit)); s.Target != whole {
		s.guard = GuardUnit
	}
	if s.wanted = s.Target != has; !s.wanted {
		return s, model.Forever
	}
	failed := a.downFailed.left(now, a.cfg.TellRetry)
	switch {
	case up:
		s.guard = GuardOther
	case a.flying[Monitor].target.is:
		s.guard = autoscale.GuardInFlight
	case failed > 0:
		s.guard = GuardFailed
		return s, failed
	case a.refused.left(now, a.cfg.DownRetry) > 0 && !anyLess(a.refused.asked, s.Target):
		s.guard = GuardDenied // the goal is above it already
	default:
		s.Do = true
	}
	return s, model.Forever
}
