package ascoded

import (
	"cmp"
	"slices"
	"sort"

	"orrery/scheduler/model"
	"orrery/scheduler/score"
)

// lookAhead is how far the second look sees releases.
const lookAhead = 24 * model.Hour

// Planner makes the passes of one vCluster. It is not safe for concurrent use, and
// allocates nothing once its tables have grown.
type Planner struct {
	cfg    Config
	core   Core
	window model.Duration // of budgets
	curve  score.Curve    // of the wait
	inputs inputs         // of the last pass

	// Tables that are reused from pass to pass; none says anything between two.
	waiting          []Job
	running          []Running
	ranked, deferred []candidate
	held             []holding
}

// candidate is a waiting job in a pass.
type candidate struct {
	score model.Fixed
	id    model.JobID
	at    int32 // in Planner.waiting
}

// before orders candidates: the highest score first, ties by id.
func before(a, b candidate) int {
	switch { // written out, for it is most of the sort
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	}
	return cmp.Compare(a.id, b.id)
}

// Pass is the pass of Lattice's sources at now: score, sort, place first fit with
// conformance groups first, and then a second look that tries to backfill before the
// first job that found no nodes. The sort is stable on the id. blocked says whether any
// job found none. Cost: a score for each waiting job, sorting them, and a selection of
// nodes for each.
func (p *Planner) Pass(now model.Time) (blocked bool) {
	p.Look(now)
	p.ranked = p.ranked[:0]
	for i := range p.waiting {
		j := &p.waiting[i]
		p.ranked = append(p.ranked, candidate{p.score(j.Allocation, now), j.Job, int32(i)})
	}
	slices.SortFunc(p.ranked, before) //detlint:total ids are distinct
	p.deferred = p.deferred[:0]
	for i := range p.ranked {
		switch c := &p.ranked[i]; p.place(c) {
		case model.ReasonResources, model.ReasonConformance, model.ReasonReserved:
			p.deferred = append(p.deferred, *c)
		}
	}
	if len(p.deferred) > 1 {
		p.backfill(now)
	}
	return len(p.deferred) > 0
}

// Look takes in the queue and what runs at now, for what is asked without a pass.
func (p *Planner) Look(now model.Time) {
	p.waiting, p.running = p.core.Waiting(p.waiting[:0]), p.core.Running(p.running[:0])
	p.freeze(now)
}

// Why says why a waiting job would not start if it had its turn as of the last Look, at now: ReasonNone where it would.
func (p *Planner) Why(j *Job, now model.Time) model.Reason {
	if r := p.core.Held(j.Ref, p.score(j.Allocation, now)); r != model.ReasonNone {
		return r
	}
	_, r := p.choose(j)
	return r
}

// place proposes a job where it has room, or says why not.
func (p *Planner) place(c *candidate) model.Reason {
	j := &p.waiting[c.at]
	var nodes *model.Placement
	r := p.core.Held(j.Ref, c.score)
	if r == model.ReasonNone {
		nodes, r = p.choose(j)
	}
	if r == model.ReasonNone {
		p.core.Start(j.Ref, nodes)
	}
	return r
}

// choose selects as many nodes of a range as there are, up to its maximum, or says why
// there are none. The limits, caps and reservations of the site hold here as well: the
// sources know none of them but the first, and what the quorum is going to refuse must
// not be proposed for ever. Where the nodes found break one, the largest size is taken
// that breaks none, or a range would wait for ever on an idle site. Cost: a selection
// for each size that is tried.
func (p *Planner) choose(j *Job) (*model.Placement, model.Reason) {
	n := j.NodesMax
	if n > j.NodesMin {
		n = min(max(p.core.Usable(j.Ref), j.NodesMin), n)
	}
	nodes, r := p.find(j, n)
	if r != model.ReasonNone {
		return nil, r
	}
	if r = p.core.Breaks(j.Ref, nodes); r == model.ReasonNone {
		return nodes, r
	}
	for n = p.largest(j, n-1); n >= j.NodesMin; n-- {
		nodes, short := p.find(j, n)
		if short != model.ReasonNone {
			continue
		}
		if r = p.core.Breaks(j.Ref, nodes); r == model.ReasonNone {
			return nodes, r
		}
	}
	return nil, r
}

// find selects n nodes, or says why there are none. Sensitive work is not given those
// of unknown fingerprints.
func (p *Planner) find(j *Job, n int32) (*model.Placement, model.Reason) {
	nodes, r := p.core.Select(j.Ref, n)
	if r == model.ReasonNone && j.IsSensitive() && p.anyUnknown(nodes) {
		return nil, p.core.Short(j.Ref, n)
	}
	return nodes, r
}

// largest is the largest size up to most that the limits and, by the least that so many
// nodes draw, the caps let j have; no less than its fewest nodes, and most where that is
// less. Both only get tighter with its size.
func (p *Planner) largest(j *Job, most int32) int32 {
	over := func(i int) bool { return !p.core.Allows(j.Ref, j.NodesMin+1+int32(i)) }
	return min(most, j.NodesMin+int32(sort.Search(int(max(0, most-j.NodesMin)), over)))
}

// anyUnknown says whether the fingerprint of a node is not known.
func (p *Planner) anyUnknown(nodes *model.Placement) bool {
	unknown := false
	nodes.EachNode(func(n model.NodeID) { unknown = unknown || p.cfg.Site.Nodes[n].Fingerprint < 0 })
	return unknown
}

// backfill is the second look: each deferred job that ends before the first of them
// could start, by the number of nodes alone, is tried again.
func (p *Planner) backfill(now model.Time) {
	at := p.startOf(&p.waiting[p.deferred[0].at], now)
	if at == model.Never {
		return
	}
	for i := range p.deferred[1:] {
		c := &p.deferred[1+i]
		if j := &p.waiting[c.at]; j.Left != model.Forever && now.Add(j.Left) <= at {
			p.place(c)
		}
	}
}

// startOf is when enough nodes are free for a deferred job, by the predicted ends of
// bounded work that is not overdue; never when there are enough of them now, or only
// beyond lookAhead.
func (p *Planner) startOf(j *Job, now model.Time) model.Time {
	free, at := p.cfg.Free.Idle().Len(), model.Never
	if free >= j.NodesMin {
		return at
	}
	until := now.Add(lookAhead)
	p.cfg.Ends.Ascend(now, func(t model.Time, ref model.Ref, n int32) bool {
		if t > until {
			return false
		}
		kind, end, ok := p.core.End(ref)
		if !ok || kind != model.Bounded || end <= now {
			return true
		}
		if free += n; free >= j.NodesMin {
			at = t
		}
		return at == model.Never
	})
	return at
}
