package site

import (
	"math/bits"
	"sort"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/place"
	"orrery/scheduler/preempt"
	"orrery/scheduler/site/internal/caps"
	"orrery/scheduler/site/internal/waiting"
)

// buffers is memory that is used again. A function that answers with one of them says how
// long the answer is valid; no function finds a result of another here.
type buffers struct {
	room, tight []order.Candidate
	line        []order.Candidate
	sizes       []sizeRoom
	scalingUp   []model.Ref
	choice      choice
	avoid       model.NodeSet
	confined    model.NodeSet
	extra       model.NodeSet
	lender      model.NodeSet
	trial       *place.Free
	idle        caps.Idle
	detailed    trial
	counted     countedTrial
	lent        []int32
	victims     []preempt.Victim
	selected    []int
}

func newBuffers(space *place.Space, nodes int) buffers {
	return buffers{avoid: model.NewNodeSet(nodes), confined: model.NewNodeSet(nodes), extra: model.NewNodeSet(nodes), lender: model.NewNodeSet(nodes), trial: space.NewFree(), counted: countedTrial{usable: model.NewNodeSet(nodes), given: make([]int32, nodes)}}
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

// avoids gathers the nodes that j must not use if it ran over
// [from, until): those kept for others, set aside, and promised; nil when there are
// none. The set is valid until the next call.
func (s *Core) avoids(ref model.Ref, from, until model.Time) model.NodeSet {
	if len(s.holds) == 0 && len(s.site.Reservations) == 0 && len(s.promises.list) == 0 {
		return nil
	}
	avoid := s.buf.avoid
	clear(avoid)
	s.holds.nodes(ref, avoid)
	j := &s.jobs[ref]
	for i := range s.site.Reservations {
		if r := &s.site.Reservations[i]; setsAside(r, model.ReservationID(i), j, from, until) {
			avoid.Or(r.Nodes)
		}
	}
	if len(s.promises.list) > 0 {
		s.promises.avoid(ref, j.queue, s.now, from, until, s.holds.nodesOf(ref), avoid)
	}
	return avoid
}

// mayFit says whether the free nodes would do for a waiting job by their number.
// It is cheap and errs on the side of yes.
func (p *pass) mayFit(q *waiting.Job) bool {
	free := p.qs.waiting.Free(q.Size)
	return (free >= q.Need || q.Borrows && free+p.borrowable >= q.Need) && (q.Needs == caps.Usage{} || p.core.caps.Fits(q.Needs))
}

// anyRoom says whether anything at all is free. The first two shapes of a vCluster
// are all nodes, whole and by one GPU; where nodes are divided by more, there may always
// be room for a small share.
func (p *pass) anyRoom() bool {
	return p.core.site.Amounts || p.qs.waiting.Free(0) > 0 || (p.core.cfg.Shared && p.qs.waiting.Free(1) > 0)
}

// lendable bounds what all other vClusters would lend to this one now.
func (p *pass) lendable() (n int32) {
	if !p.core.site.VClusters[p.qs.id].Borrow {
		return 0
	}
	for v := range p.core.home {
		if may := mayLend(p, model.VClusterID(v), p.core.lent[v]); may > 0 {
			n += min(may, p.qs.free.IdleOf(p.core.home[v]))
		}
	}
	return n
}

// borrows says whether a may run on nodes of other vClusters. Shares of GPUs alone are not
// borrowed.
func (c *Config) borrows(a *model.Allocation, k *nodeChoice) bool {
	return k.foreign != nil && c.Policies[a.VCluster].Backfill != order.Conservative && a.Preemptible() && a.Kind == model.Bounded &&
		(a.GPUs == 0 || c.Site.Amounts)
}

// choice is the nodes that a job is to start on.
type choice struct {
	nodes    model.Placement
	borrowed bool // some are of other vClusters
}

// choose selects nodes for the waiting job under ref. It answers RESOURCES where there are none, whatever is in the way, or the cap
// that the job would break on them.
func (p *pass) choose(ref model.Ref, c *choice) model.Reason {
	j := &p.core.jobs[ref]
	q := searchNow(p, ref)
	if !findNodes(p, j, &q, c) {
		return model.ReasonResources
	}
	return p.core.overCap(j, &c.nodes)
}

// searchNow is the search for nodes on which the waiting job under ref may start now.
func searchNow(p *pass, ref model.Ref) place.Query {
	j := &p.core.jobs[ref]
	q := p.qs.query(j, j.NodesMin, p.core.avoids(ref, p.now, p.now.Add(j.left)))
	if p.core.confines(j) {
		p.core.buf.confined.Or(q.Avoid)
		q.Avoid = p.core.buf.confined
	}
	return q
}

// findNodes selects the nodes of a search for j, lent ones where it may borrow and its own are too few.
func findNodes(p *pass, j *job, q *place.Query, c *choice) (found bool) {
	if c.borrowed = false; p.qs.free.Select(q, &c.nodes) {
		return true
	}
	c.borrowed = p.core.cfg.borrows(j.Allocation, j.kind) && p.borrow(j, q, &c.nodes)
	return c.borrowed
}

// confines says whether a limit on nodes keeps j, which takes shares if so, to nodes with shares
// that it counts already; all others are then in buf.confined.
func (s *Core) confines(j *job) bool {
	if !j.usage.Divides {
		return false
	}
	r := s.ledger.Confines(&j.usage, s.buf.confined)
	if r != model.ReasonNone {
		metLimit(s, j, r, true)
	}
	return r != model.ReasonNone
}

// metLimit takes in that a limit keeps j from starting, or from some nodes. Of nodes the limits of
// several may leave it few together, of which the first is told: those of its quality of service
// come after those of its tenant.
func metLimit(s *Core, j *job, r model.Reason, ofNodes bool) {
	addMet(j, r)
	j.queue.byNodes = j.queue.byNodes || ofNodes
	if ofNodes && s.ledger.LimitsQOS(j.QOS) {
		addMet(j, model.ReasonQOSLimit)
	}
}

// overCap says which cap the job would break on the nodes.
func (s *Core) overCap(j *job, nodes *model.Placement) model.Reason {
	if s.caps.Cap == (caps.Usage{}) { // else it takes a look at the nodes
		return model.ReasonNone
	}
	n := nodes.Nodes()
	switch {
	case !s.caps.Fits(caps.Usage{Power: s.nodeClasses.DrawOn(j.Allocation, nodes, n), Idle: s.caps.Idle.On(nodes)}):
		return model.ReasonPower
	case !s.caps.Fits(caps.Usage{Bandwidth: j.Demand(n)}):
		return model.ReasonBandwidth
	}
	return model.ReasonNone
}

// short is what is short when no nodes could be selected.
func (p *pass) short(j *job, q *place.Query) model.Reason {
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
func (p *pass) borrow(j *job, q *place.Query, nodes *model.Placement) bool {
	need := q.Nodes - p.own(j, q.Avoid)
	if need > p.borrowable {
		return false
	}
	lent, lender := p.core.buf.extra, p.core.buf.lender
	clear(lent)
	for v := range p.core.home {
		may := min(need, mayLend(p, model.VClusterID(v), p.core.lent[v]))
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
func (p *pass) own(j *job, avoid model.NodeSet) int32 {
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

// setNeeds counts what j takes of the caps on its nodes.
func (s *Core) setNeeds(j *job) {
	n := j.usage.Nodes
	j.needs = caps.Usage{Power: s.nodeClasses.DrawOn(j.Allocation, &j.placement, n), Bandwidth: j.Demand(n)}
	s.countNeeds(j, 1)
}

// countNeeds counts what j has of the caps and of the nodes for sensitive work, sign
// times.
func (s *Core) countNeeds(j *job, sign int64) {
	s.caps.Used.Power += sign * j.needs.Power
	s.caps.Used.Bandwidth += sign * j.needs.Bandwidth
	s.caps.Hold(&j.placement, int32(sign))
	if j.IsSensitive() {
		s.caps.Sensitive += int32(sign) * j.placement.Nodes()
	}
}

// idleTrial is a copy of the nodes that no job holds on which jobs may leave, valid until the next.
func (b *buffers) idleTrial(of *caps.Idle) *caps.Idle {
	if of.Counts() {
		b.idle.CopyFrom(of)
	}
	return &b.idle
}

// overPool says whether sensitive work would hold too many nodes with n more of j.
func (s *Core) overPool(j *job, n int32) bool { return j.IsSensitive() && !s.caps.PoolHas(n) }

// grow offers the jobs proposed since first that take a range of nodes what
// no other job could use, in the order in which they were proposed.
func (p *pass) grow(first int) {
	for i := first; i < len(p.core.plan.Proposals); i++ {
		proposal := &p.core.plan.Proposals[i]
		if proposal.Kind != model.ProposeAssign || proposal.Borrowed {
			continue
		}
		j := &p.core.jobs[proposal.Ref]
		if j.NodesMax > j.NodesMin && j.Kind != model.Reactive && p.mayGrow(j) {
			p.growJob(proposal)
		}
	}
}

// growJob finds the largest size at which the job of a proposal has room, keeps the
// limits and delays no other, and moves its proposal there.
func (p *pass) growJob(proposal *model.Proposal) {
	j := &p.core.jobs[proposal.Ref]
	have := j.placement.Nodes()
	p.qs.free.Give(&j.placement)
	most := p.qs.free.Count(j.kind.class)
	if j.Divides() {
		most = p.qs.free.CountShares(j.kind.class, place.ShareOf(j.Allocation))
	}
	for n := p.allowed(j, have, min(j.NodesMax, most)); n > have; n-- {
		if p.larger(proposal.Ref, n) {
			break
		}
	}
	p.qs.free.Take(&j.placement)
	p.qs.ends.Remove(j.predicted, proposal.Ref)
	p.qs.ends.Insert(j.predicted, proposal.Ref, j.placement.Nodes())
	proposal.Placement = j.placement
	p.promiseProposed(proposal.Ref)
}

// allowed is the largest size up to most that the limits and, by the least that
// so many nodes draw, the caps let the job in flight have. Both only get tighter
// with its size.
func (p *pass) allowed(j *job, have, most int32) int32 {
	left := p.core.caps.Used.Minus(j.needs)
	grown := *j.Allocation
	over := func(i int) bool {
		n := have + 1 + int32(i)
		grown.NodesMin = n
		needs := caps.Usage{Power: leastDraw(&grown, j.kind), Bandwidth: j.Demand(n)}
		if j.Power > 0 {
			needs.Power = j.Power * int64(n) / int64(j.NodesMin)
		}
		if p.core.caps.Idle.Counts() { // more nodes may draw less than they do idle
			needs.Power = 0
		}
		return p.core.ledger.CheckResize(&j.usage, n) != model.ReasonNone || !p.core.caps.Cap.Allows(needs, left)
	}
	return have + int32(sort.Search(int(max(0, most-have)), over))
}

// larger tries size n for a job that is in flight; its nodes are given back
// for the trial.
func (p *pass) larger(ref model.Ref, n int32) bool {
	j := &p.core.jobs[ref]
	fits := p.core.ledger.CheckResize(&j.usage, n) == model.ReasonNone
	q := p.qs.query(j, n, p.core.avoids(ref, p.now, p.now.Add(j.left)))
	nodes := &p.core.buf.choice.nodes
	if !fits || !p.qs.free.Select(&q, nodes) {
		return false
	}
	p.core.countNeeds(j, -1)
	p.core.ledger.Unreserve(&j.usage)
	if p.core.overCap(j, nodes) != model.ReasonNone || p.core.overPool(j, n) || p.core.overLimits(j, nodes, 0) != model.ReasonNone {
		p.core.ledger.Reserve(&j.usage)
		p.core.countNeeds(j, 1)
		return false
	}
	j.usage = claimOf(j.Allocation, j.kind, n)
	p.core.memory.Set(&j.placement, nodes)
	p.core.setTaken(j)
	p.core.ledger.Reserve(&j.usage)
	p.core.setNeeds(j)
	return true
}
