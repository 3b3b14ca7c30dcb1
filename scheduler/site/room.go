package site

import (
	"math/bits"

	"orrery/scheduler/model"
	"orrery/scheduler/place"
	"orrery/scheduler/site/internal/caps"
	"orrery/scheduler/site/internal/waiting"
)

// room is where jobs may start now.
type room struct{ *view }

func (v *view) room() room { return room{v} }

// mayFit says whether the free nodes would do for a waiting job by their number.
// It is cheap and errs on the side of yes.
func (p room) mayFit(q *waiting.QueueEntry) bool {
	free := p.qs.waiting.Free(q.Size)
	return (free >= q.Need || q.Borrows && free+p.borrowable >= q.Need) && (q.Needs == caps.Usage{} || p.core.caps.Fits(q.Needs))
}

// anyRoom says whether anything at all is free. The first two shapes of a vCluster
// are all nodes, whole and by one GPU; where nodes are divided by more, there may always
// be room for a small share.
func (p room) anyRoom() bool {
	return p.core.site.Amounts || p.qs.waiting.Free(0) > 0 || (p.core.cfg.Shared && p.qs.waiting.Free(1) > 0)
}

// choose selects nodes for the waiting job under ref. It answers RESOURCES where there are none, whatever is in the way, or the cap
// that the job would break on them.
func (p room) choose(ref model.Ref, c *choice) model.Reason {
	j := &p.core.jobs[ref]
	q := p.searchNow(ref)
	if !p.findNodes(j, &q, c) {
		return model.ReasonResources
	}
	return p.core.overCap(j, &c.nodes)
}

// searchNow is the search for nodes on which the waiting job under ref may start now.
func (p room) searchNow(ref model.Ref) place.Query {
	j := &p.core.jobs[ref]
	q := p.qs.query(j, j.NodesMin, p.core.avoids(ref, p.now, p.now.Add(j.left)))
	if p.core.confines(j) {
		p.core.buf.confined.Or(q.Avoid)
		q.Avoid = p.core.buf.confined
	}
	return q
}

// findNodes selects the nodes of a search for j, lent ones where it may borrow and its own are too few.
func (p room) findNodes(j *job, q *place.Query, c *choice) (found bool) {
	if c.borrowed = false; p.qs.free.Select(q, &c.nodes) {
		return true
	}
	c.borrowed = p.core.cfg.borrows(j.Allocation, j.kind) && p.borrow(j, q, &c.nodes)
	return c.borrowed
}

// short is what is short when no nodes could be selected.
func (p room) short(j *job, q *place.Query) model.Reason {
	if q.Avoid != nil {
		free := *q
		free.Avoid = nil
		if p.qs.free.Fits(&free) {
			return model.ReasonReserved
		}
	}
	if !j.Divides() && p.qs.free.Count(j.kind.class) >= j.NodesMin {
		return model.ReasonConformance
	}
	return model.ReasonResources
}

// borrow completes the nodes that q asks for j with idle ones of vClusters that lend.
func (p room) borrow(j *job, q *place.Query, nodes *model.Placement) bool {
	need := q.Nodes - p.own(j, q.Avoid)
	if need > p.borrowable {
		return false
	}
	lent, lender := p.core.buf.extra, p.core.buf.lender
	clear(lent)
	for v := range p.core.home {
		may := min(need, p.mayLend(model.VClusterID(v), p.core.lent[v]))
		if may <= 0 {
			continue
		}
		copy(lender, p.core.home[v])
		lender.And(j.kind.foreign)
		p.qs.free.Roomy(q, lender)
		need -= p.qs.free.Lowest(lender, q.Avoid, lent, may)
	}
	return need <= 0 && p.qs.free.SelectExtra(q, lent, nodes)
}

// own counts the nodes with room for j that it may use without borrowing.
func (p room) own(j *job, avoid model.NodeSet) int32 {
	if j.Divides() {
		q := p.qs.query(j, j.NodesMin, avoid)
		return p.qs.free.Usable(&q)
	}
	if avoid == nil {
		return p.qs.free.Count(j.kind.class)
	}
	n := 0
	for w, m := range p.qs.free.Idle() {
		n += bits.OnesCount64(m & j.kind.mask[w] &^ avoid[w])
	}
	return int32(n)
}

// lendable bounds what all other vClusters would lend to this one now.
func (p room) lendable() (n int32) {
	if !p.core.site.VClusters[p.qs.id].Borrow {
		return 0
	}
	for v := range p.core.home {
		if may := p.mayLend(model.VClusterID(v), p.core.lent[v]); may > 0 {
			n += min(may, p.qs.free.IdleOf(p.core.home[v]))
		}
	}
	return n
}

// mayLend is how many nodes more v lends to the vCluster when so many are lent already.
func (p room) mayLend(v model.VClusterID, lent int32) int32 {
	vc := &p.core.site.VClusters[v]
	if v == p.qs.id || !vc.Lend || p.core.vclusters[v].keepsNodes() {
		return 0
	}
	return vc.Lendable(p.core.homes[v]) - lent
}

// anyFits says whether any job may have room.
func (p room) anyFits() bool {
	if p.core.caps.Cap != (caps.Usage{}) {
		return p.qs.waiting.AnyFits(p.borrowable, p.mayFit)
	}
	return p.qs.waiting.AnyFits(p.borrowable, nil) // the numbers of nodes decide alone
}

// query is the search for the nodes of j on n nodes; avoid is what avoids said.
func (qs *queueState) query(j *job, n int32, avoid model.NodeSet) place.Query {
	return qs.search(j.Allocation, j.kind, n, avoid)
}

// search is query for an allocation of a kind that need not be in the system.
func (qs *queueState) search(a *model.Allocation, k *nodeChoice, n int32, avoid model.NodeSet) place.Query {
	return place.Query{
		Class: k.class, Nodes: n, Share: place.ShareOf(a), Topology: a.Topology,
		Sensitive: a.IsSensitive(), Avoid: avoid, ConformanceFirst: qs.mode.conformanceFirst, Mix: qs.mix(),
	}
}

// mix is the one that placements go by, nil for none.
func (qs *queueState) mix() *place.Mix {
	if qs.requests == nil {
		return nil
	}
	return qs.requests.Mix()
}

// room counts the nodes that are free for j, or for what it takes of each.
func (qs *queueState) room(j *job) int32 {
	if j.Divides() {
		return qs.free.CountShares(j.kind.class, place.ShareOf(j.Allocation))
	}
	return qs.free.Count(j.kind.class)
}
