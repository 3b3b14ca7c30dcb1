package site

import (
	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/score"
	"orrery/scheduler/site/internal/notes"
)

// Why implements scheduler.Questions. Cost: that of Answers, a selection, and the nodes of the site.
func (s *Core) Why(ref model.Ref, now model.Time) scheduler.Note {
	j := &s.jobs[ref]
	if !isAsked(j) {
		out := noteOf(s, ref, aside(s, ref, now), model.AbsentTime)
		out.Score, out.Scored = standing(s, ref)
		return out
	}
	a := openInquiry(s, j.queue, now)
	defer a.close()
	answer := a.answer(ref, true)
	_, until := a.inTheWay(ref, answer.Reason)
	out := noteOf(s, ref, answer, until)
	out.Score, out.Scored = a.standing(ref)
	return out
}

// noteOf is the note of an answer, but for the score.
func noteOf(s *Core, ref model.Ref, answer scheduler.Answer, until model.Time) scheduler.Note {
	j := &s.jobs[ref]
	c := notes.Case{
		Site: s.site, Space: s.space, Job: j.Allocation, Ref: ref, Mask: j.kind.mask, Class: j.kind.class, Answer: answer, Until: until,
		Free: j.queue.free, Nodes: &j.placement,
	}
	switch j.phase {
	case queued, dependent, early, unwanted:
		c.Waits, c.Avoid, c.Kept, c.Nodes = true, s.avoids(ref, s.now, s.now.Add(j.left)), keptFrom(s, ref), &model.Placement{}
		if notes.OfNodes(answer.Reason) {
			wouldChoose(s, j, c.Avoid, c.Nodes)
		}
	}
	return notes.Of(&c)
}

// standing is what a job is ranked by, taken apart; ok is false where it is not.
func standing(s *Core, ref model.Ref) (e score.Explanation, ok bool) {
	j := &s.jobs[ref]
	qs := j.queue
	switch {
	case j.phase != queued && j.phase != proposed:
	case qs.policy.Ranking == ByScore:
		if x, coded := s.passes[qs.id].rule.(codedRule); coded {
			return x.c.planner.Explain(j.Allocation, s.now), true
		}
		return explained(s, qs, j, s.now), true
	case qs.policy.Ranking == ByMultifactor && s.ledger.Complete(): // all users are in the tree
		var tres [NumTRES]multifactor.Part
		in := s.factors(qs, j, s.now, &tres)
		return scheduler.Points(&qs.policy.Multifactor, &in), true
	}
	return e, false
}

// standing is that of a job of the queue, by scores as they are now.
func (a *inquiry) standing(ref model.Ref) (score.Explanation, bool) {
	if a.coded != nil {
		return a.coded.Explain(a.pass.core.jobs[ref].Allocation, a.pass.core.now), true
	}
	return standing(a.pass.core, ref)
}

// wouldChoose writes into p the nodes that j would get if nothing but their number
// counted, none when there are too few.
func wouldChoose(s *Core, j *job, avoid model.NodeSet, p *model.Placement) {
	q := j.queue.query(j, j.NodesMin, avoid)
	asked := s.viewOf(j.queue, s.now)
	asked.borrowable = asked.room().lendable()
	if !j.queue.free.Select(&q, p) && !asked.room().borrow(j, &q, p) {
		p.Words, p.Shares = p.Words[:0], p.Shares[:0]
	}
}
