package ascoded

import (
	"cmp"
	"slices"
	"sort"

	"orrery/scheduler/model"
)

// lookAhead is how far the second look sees releases.
const lookAhead = 24 * model.Hour

// Planner makes the passes of one vCluster. It is not safe for concurrent use, and
// allocates nothing once its tables have grown.
type Planner struct {
	cfg    Config
	core   Core
	window model.Duration
	inputs inputs // of the last pass

	// Tables that are reused from pass to pass; none says anything between two.
	refs             []model.Ref
	ranked, deferred []candidate
	ends             []End
	held             []holding
}

// candidate is a waiting job in a pass.
type candidate struct {
	score model.Fixed
	id    model.JobID
	ref   model.Ref
}

// Pass is the pass of Lattice's sources at now: score, sort, place first fit with
// conformance groups first, and then a second look that tries to backfill before the
// first job that found no nodes. The sort is stable on the id. blocked says whether any
// job found none. Cost: a score for each waiting job, sorting them, and a selection of
// nodes for each.
func (p *Planner) Pass(now model.Time) (blocked bool) {
	p.refs = p.core.Waiting(p.refs[:0])
	p.freeze(now)
	p.ranked = p.ranked[:0]
	for _, ref := range p.refs {
		j := p.core.Job(ref)
		p.ranked = append(p.ranked, candidate{p.score(&j, now), j.Job, ref})
	}
	slices.SortFunc(p.ranked, func(a, b candidate) int { //detlint:total ids are distinct
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id))
	})
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

// place proposes a job where it has room, or says why not.
func (p *Planner) place(c *candidate) model.Reason {
	var nodes *model.Placement
	r := p.core.Held(c.ref, c.score)
	if r == model.ReasonNone {
		nodes, r = p.choose(c.ref)
	}
	if r == model.ReasonNone {
		p.core.Start(c.ref, nodes)
	} else {
		p.core.Wait(c.ref, r)
	}
	return r
}

// choose selects as many nodes of a range as there are, up to its maximum, or says why
// there are none. The limits, caps and reservations of the site hold here as well: the
// sources know none of them but the first, and what the quorum is going to refuse must
// not be proposed for ever. Where the nodes found break one, the largest size is taken
// that breaks none, or a range would wait for ever on an idle site. Cost: a selection
// for each size that is tried.
func (p *Planner) choose(ref model.Ref) (*model.Placement, model.Reason) {
	j := p.core.Job(ref)
	n := min(max(p.core.Usable(ref), j.NodesMin), j.NodesMax)
	nodes, ok := p.find(ref, &j, n)
	if !ok {
		return nil, p.core.Short(ref, n)
	}
	r := p.core.Breaks(ref, nodes)
	if r == model.ReasonNone {
		return nodes, r
	}
	for n = p.largest(ref, &j, n-1); n >= j.NodesMin; n-- {
		if nodes, ok = p.find(ref, &j, n); !ok {
			continue
		}
		if r = p.core.Breaks(ref, nodes); r == model.ReasonNone {
			return nodes, r
		}
	}
	return nil, r
}

// find selects n nodes. Sensitive work is not given those of unknown fingerprints.
func (p *Planner) find(ref model.Ref, j *Job, n int32) (*model.Placement, bool) {
	nodes, ok := p.core.Select(ref, n)
	return nodes, ok && (!j.IsSensitive() || !p.anyUnknown(nodes))
}

// largest is the largest size up to most that the limits and, by the least that so many
// nodes draw, the caps let j have; no less than its fewest nodes, and most where that is
// less. Both only get tighter with its size.
func (p *Planner) largest(ref model.Ref, j *Job, most int32) int32 {
	over := func(i int) bool { return !p.core.Allows(ref, j.NodesMin+1+int32(i)) }
	return min(most, j.NodesMin+int32(sort.Search(int(max(0, most-j.NodesMin)), over)))
}

// anyUnknown says whether the fingerprint of a node is not known.
func (p *Planner) anyUnknown(nodes *model.Placement) bool {
	unknown := false
	eachNode(nodes, func(n model.NodeID) { unknown = unknown || p.cfg.Site.Nodes[n].Fingerprint < 0 })
	return unknown
}

// eachNode calls f with every node of a placement.
func eachNode(nodes *model.Placement, f func(model.NodeID)) {
	for _, w := range nodes.Words {
		for n := range w.Nodes {
			f(n)
		}
	}
	for _, h := range nodes.Shares {
		f(h.Node)
	}
}

// backfill is the second look: each deferred job that ends before the first of them
// could start, by the number of nodes alone, is tried again.
func (p *Planner) backfill(now model.Time) {
	at := p.startOf(p.deferred[0].ref, now)
	if at == model.Never {
		return
	}
	for i := range p.deferred[1:] {
		c := &p.deferred[1+i]
		if j := p.core.Job(c.ref); j.Left != model.Forever && now.Add(j.Left) <= at {
			p.place(c)
		}
	}
}

// startOf is when enough nodes are free for a deferred job, by the predicted ends of
// bounded work that is not overdue; never when there are enough of them now, or only
// beyond lookAhead.
func (p *Planner) startOf(ref model.Ref, now model.Time) model.Time {
	free, need := p.cfg.Free.Idle().Len(), p.core.Job(ref).NodesMin
	if free >= need {
		return model.Never
	}
	p.ends = p.core.Ends(now.Add(lookAhead), p.ends[:0])
	for i := range p.ends {
		e := &p.ends[i]
		if r := p.core.Job(e.Ref); r.Kind != model.Bounded || r.Predicted <= now {
			continue
		}
		if free += e.Nodes; free >= need {
			return e.At
		}
	}
	return model.Never
}
