package site

import (
	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
)

// victimsFound is why no victims are found by a search.
type victimsFound struct {
	search victimSearch
	why    scheduler.NoVictims
}

// yielded is how many nodes jobs of a kind and a class would have if all running ones left that these may preempt, and if
// those left too that are protected.
type yielded struct {
	kind        *nodeChoice
	class       int32
	most, ofAll int32
}

// noVictims says why no job is preempted for a blocked one, or for a service that lacks nodes.
func (a *inquiry) noVictims(ref model.Ref) scheduler.NoVictims {
	p := &a.pass
	j := &p.core.jobs[ref]
	if !p.qs.policy.Preempts || p.services().makesRoom(ref) {
		return scheduler.VictimsFound
	}
	if j.phase == running {
		if size := j.usage.Nodes; p.qs.policy.plans() || j.leaving || j.resizing || size >= j.wants() || p.services().atLimit(j, size) != model.ReasonNone {
			return scheduler.VictimsFound
		}
		more := j.more
		defer func() { j.more = more }()
		j.more = 1
		return a.lookForVictims(ref)
	}
	search, alike := p.memo().searchOf(j, triggerOf(j), belowOf(p.core.site, j))
	if !alike {
		return a.lookForVictims(ref)
	}
	if p.core.lent[p.qs.id] == 0 { // most are told by what all others would leave
		switch y := a.yieldedTo(ref); {
		case y.ofAll < j.NodesMin:
			return scheduler.VictimsNone
		case y.most < j.NodesMin:
			return scheduler.VictimsProtected
		}
	}
	for _, x := range a.victims {
		if x.search == search {
			return x.why
		}
	}
	why := a.lookForVictims(ref)
	a.victims = append(a.victims, victimsFound{search, why})
	return why
}

// yieldedTo is that for jobs like the one under ref, for which the number of nodes decides: they are not sensitive.
func (a *inquiry) yieldedTo(ref model.Ref) yielded {
	p := &a.pass
	j, cfg := &p.core.jobs[ref], &p.qs.policy.Preemption
	y := yielded{kind: j.kind, class: j.Class}
	for _, x := range a.yielded {
		if x.kind == y.kind && x.class == y.class {
			return x
		}
	}
	list, t := p.victims().holdersFor(ref, preempt.Priority), p.victims().trialFor(ref)
	counted := t.(*countedTrial)
	each := func(admitted bool, f func(*preempt.Victim)) {
		for i := range list {
			if v := &list[i]; cfg.Rule.Over(j.Class, v.Class) && cfg.Admits(v, preempt.Priority, j.Class) == admitted {
				f(v)
			}
		}
	}
	each(true, t.Give)
	y.most = counted.free
	each(false, t.Give)
	y.ofAll = counted.free
	each(true, t.Take)
	each(false, t.Take)
	a.yielded = append(a.yielded, y)
	return y
}

// lookForVictims is noVictims for a job for which no other makes room. Cost: the running jobs.
func (a *inquiry) lookForVictims(ref model.Ref) scheduler.NoVictims {
	p := &a.pass
	s, j, cfg := p.core, &p.core.jobs[ref], &p.qs.policy.Preemption
	t := p.victims().newTrial(ref)
	found := func(trigger preempt.Trigger, list []preempt.Victim) bool {
		chosen, ok := preempt.Select(cfg, trigger, j.Class, p.now, list, &t, s.buf.selected)
		s.buf.selected = chosen
		return ok && len(chosen) > 0
	}
	if s.lent[p.qs.id] > 0 && found(preempt.Reclaim, p.victims().holdersFor(ref, preempt.Reclaim)) {
		return scheduler.VictimsUntried
	}
	trigger := triggerOf(j)
	list := p.victims().holdersFor(ref, trigger)
	switch tooMany, protected := preempt.Shortfall(cfg, trigger, j.Class, list, &t); {
	case tooMany && found(trigger, list):
		return scheduler.VictimsUntried
	case tooMany:
		return scheduler.VictimsTooMany
	case protected:
		return scheduler.VictimsProtected
	}
	return scheduler.VictimsNone
}
