package plain

import (
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// Queue implements scheduler.Questions. A job that has no room waits for resources, and one that
// has for those before it.
func (c *Core) Queue(now model.Time, dst []scheduler.Standing) []scheduler.Standing {
	line := c.q.Refs(nil, c.q.Len())
	if !c.cfg.Order.Static() {
		for _, ref := range line {
			c.cfg.Order.Refresh(&c.jobs[ref].Asked, &c.jobs[ref].Key, now)
		}
		slices.SortFunc(line, func(a, b model.Ref) int { //detlint:total every order ends in the job's id
			if c.comesFirst(&c.jobs[a], &c.jobs[b], now) {
				return -1
			}
			return 1
		})
	}
	blocked := model.JobID(-1)
	for i, ref := range line {
		j := &c.jobs[ref]
		x := scheduler.Standing{Job: j.ID, Position: int32(i) + 1, Reason: model.ReasonResources, Behind: -1, Start: model.AbsentTime}
		switch fits := j.need <= c.view.Free() && (c.view.Whole() || c.view.Fits(j.Request)); {
		case fits:
			x.Reason, x.Behind = model.ReasonPriority, blocked
		case blocked < 0:
			blocked = j.ID
			x.Start = c.hasRoom(now, ref)
		}
		if c.cfg.Backfill == order.Conservative && j.slot != model.Never {
			x.Start = j.slot
		}
		dst = append(dst, x)
	}
	return dst
}

// hasRoom is when the first blocked job has room by the predicted ends, under easy;
// model.AbsentTime under the others, and when it has none.
func (c *Core) hasRoom(now model.Time, ref model.Ref) model.Time {
	if c.cfg.Backfill != order.Easy {
		return model.AbsentTime
	}
	var at model.Time
	if c.shaped {
		found := c.easy
		c.easy = reservation{}
		at = c.foresee(now, c.jobs[ref].Request)
		c.easy = found
	} else {
		at, _ = c.ends.Shadow(now, c.jobs[ref].need, c.view.Free())
	}
	if at == model.Never {
		return model.AbsentTime
	}
	return at
}

// Answers implements scheduler.Questions: of a waiting job what Queue says of it.
func (c *Core) Answers(refs []model.Ref, now model.Time, _ bool, dst []scheduler.Answer) []scheduler.Answer {
	line := c.Queue(now, nil)
	for _, ref := range refs {
		out := scheduler.Answer{Behind: -1}
		if at := slices.IndexFunc(line, func(x scheduler.Standing) bool { return x.Job == c.jobs[ref].ID }); at >= 0 {
			out.Reason, out.Behind = line[at].Reason, line[at].Behind
		}
		dst = append(dst, out)
	}
	return dst
}

// Why implements scheduler.Questions. Units of a plain cluster are alike, so that there is no more to say.
func (c *Core) Why(ref model.Ref, now model.Time) scheduler.Note {
	return scheduler.Note{Job: c.jobs[ref].ID, Ref: ref, Answer: c.Answers([]model.Ref{ref}, now, false, nil)[0], Until: model.AbsentTime, Room: scheduler.Room{Need: c.jobs[ref].need}}
}
