package site

import (
	"orrery/scheduler/ascoded"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/score"
)

// mode is what follows from the mode of a policy, worked out once: nothing else asks
// for it.
type mode struct {
	planner          func(*Core, *lane) planner
	scoreOnly        bool // no other ranking will do
	fixedServiceSize bool // services keep the size that they start with
	conformanceFirst bool // as place.Query has it
	bounded          bool // scores have bounds, and only which job starts matters
}

// mode of the policy.
func (p *Policy) mode() mode {
	if p.AsCoded {
		return mode{planner: newCodedPlanner, scoreOnly: true, fixedServiceSize: true, conformanceFirst: true}
	}
	return mode{
		planner: newPlanner, conformanceFirst: p.ConformanceFirst,
		bounded: p.Ranking == ByScore && !p.Expected && p.MinScore == 0 && (p.Backfill == order.None || p.Backfill == order.Easy),
	}
}

// planner makes the passes of one vCluster.
type planner interface {
	// pass proposes what jobs and services of the vCluster get now.
	pass(now model.Time)
	// explain takes the score of a waiting job apart.
	explain(ref model.Ref, now model.Time) score.Explanation
}

// documentedPlanner is that of the documented mode.
type documentedPlanner struct {
	s *Core
	l *lane
}

func newPlanner(s *Core, l *lane) planner { return documentedPlanner{s, l} }

func (p documentedPlanner) pass(now model.Time) {
	first := len(p.s.plan.Proposals)
	if p.l.timeline != nil {
		p.s.passTimeline(p.l, now)
	} else {
		p.s.passQueue(p.l, now)
	}
	p.s.grow(p.l, now, first)
}

func (p documentedPlanner) explain(ref model.Ref, now model.Time) score.Explanation {
	return p.s.explained(p.l, &p.s.jobs[ref], now)
}

// codedPlanner implements the ports of ascoded for one vCluster.
type codedPlanner struct {
	s       *Core
	l       *lane
	planner *ascoded.Planner
	found   model.Placement // what Select returns
}

func newCodedPlanner(s *Core, l *lane) planner {
	p := &codedPlanner{s: s, l: l}
	p.planner = ascoded.NewPlanner(ascoded.Config{
		Site: s.site, Weights: &l.policy.Weights, Reference: l.policy.Reference, Window: s.cfg.Quota.Window,
		Ready: s.ready, Free: l.free, All: s.space.Class(nil), Ledger: s.book.Book, Ends: &l.ends,
	}, p)
	return p
}

func (p *codedPlanner) pass(now model.Time) {
	p.s.work.Passes++
	p.s.work.Examined += uint64(len(p.l.queue))
	p.l.blocked = p.planner.Pass(now)
	p.l.quiet = now
}

func (p *codedPlanner) explain(ref model.Ref, now model.Time) score.Explanation {
	return p.planner.Explain(&p.s.jobs[ref].Allocation, now)
}

// Waiting implements ascoded.Jobs.
func (p *codedPlanner) Waiting(dst []ascoded.Job) []ascoded.Job {
	for i := range p.l.queue {
		ref := p.l.queue[i].ref
		j := &p.s.jobs[ref]
		dst = append(dst, ascoded.Job{Allocation: &j.Allocation, Ref: ref, Left: j.left})
	}
	return dst
}

// Running implements ascoded.Jobs.
func (p *codedPlanner) Running(dst []ascoded.Running) []ascoded.Running {
	for _, ref := range p.s.active {
		j := &p.s.jobs[ref]
		dst = append(dst, ascoded.Running{Allocation: &j.Allocation, Nodes: &j.placement, Started: j.started})
	}
	return dst
}

// End implements ascoded.Jobs.
func (p *codedPlanner) End(ref model.Ref) (model.Kind, model.Time, bool) {
	j := &p.s.jobs[ref]
	return j.Kind, j.predicted, j.phase == running
}

// Held implements ascoded.Limits.
func (p *codedPlanner) Held(ref model.Ref, score model.Fixed) model.Reason {
	p.claim(ref, p.s.jobs[ref].NodesMin)
	return p.s.held(p.l, order.Candidate{Key: int64(score), Ref: ref}, p.s.now)
}

// Breaks implements ascoded.Limits.
func (p *codedPlanner) Breaks(ref model.Ref, nodes *model.Placement) model.Reason {
	j := p.claim(ref, nodes.Nodes())
	p.s.chosen.Set(nodes)
	if r := p.s.overCap(j); r != model.ReasonNone {
		return r
	}
	return p.s.limited(j)
}

// Allows implements ascoded.Limits.
func (p *codedPlanner) Allows(ref model.Ref, n int32) bool {
	j := p.claim(ref, n)
	grown := j.Allocation
	grown.NodesMin = n
	ask := usage{leastDraw(&grown, j.kind), j.Demand(n)}
	if j.Power > 0 {
		ask.power = j.Power * int64(n) / int64(j.NodesMin)
	}
	return p.s.limited(j) == model.ReasonNone && p.s.fitsCaps(&ask, p.s.used)
}

// claim makes the job one of n nodes in the eyes of the limits.
func (p *codedPlanner) claim(ref model.Ref, n int32) *job {
	j := &p.s.jobs[ref]
	j.claim = p.s.claimOf(&j.Allocation, j.kind, n)
	return j
}

// Usable implements ascoded.Nodes.
func (p *codedPlanner) Usable(ref model.Ref) int32 {
	j := &p.s.jobs[ref]
	if j.GPUs > 0 {
		return p.l.free.CountGPUs(j.kind.class, j.GPUs)
	}
	return p.s.own(p.l, j, p.avoids(ref))
}

// Select implements ascoded.Nodes.
func (p *codedPlanner) Select(ref model.Ref, n int32) (*model.Placement, model.Reason) {
	j := &p.s.jobs[ref]
	q := p.s.query(p.l, j, n, p.avoids(ref))
	if !p.l.free.Select(&q, &p.found) {
		return nil, p.s.why(p.l, j, &q)
	}
	return &p.found, model.ReasonNone
}

// Short implements ascoded.Nodes.
func (p *codedPlanner) Short(ref model.Ref, n int32) model.Reason {
	j := &p.s.jobs[ref]
	q := p.s.query(p.l, j, n, p.avoids(ref))
	return p.s.why(p.l, j, &q)
}

// Start implements ascoded.Nodes.
func (p *codedPlanner) Start(ref model.Ref, nodes *model.Placement) {
	p.claim(ref, nodes.Nodes())
	p.s.chosen.Set(nodes)
	p.s.chosenBorrows = false
	p.s.propose(p.l, ref, p.s.now)
}

// Wait implements ascoded.Nodes.
func (p *codedPlanner) Wait(ref model.Ref, why model.Reason) { p.s.note(ref, why) }

// avoids are the nodes that the job must not use if it starts now.
func (p *codedPlanner) avoids(ref model.Ref) model.NodeSet {
	return p.s.avoids(ref, p.s.now, p.s.now.Add(p.s.jobs[ref].left))
}
