package site

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/place"
	"orrery/scheduler/preempt"
	"orrery/scheduler/site/internal/caps"
)

// Many jobs ask for the same. Of those behind the blocked one, what a job was refused in a pass
// is refused to all that ask for the same nodes when it is their turn, until one more is proposed.

// nodeQuery is what the nodes selected for a job that is not sensitive depend on.
type nodeQuery struct {
	kind     *nodeChoice
	share    place.Share
	nodes    int32
	topology model.Topology
	borrows  bool
}

// victimSearch is what it depends on whether victims are found for a job of whole nodes that no cap
// keeps from starting.
type victimSearch struct {
	kind         *nodeChoice
	trigger      preempt.Trigger
	class, below int32
	nodes        int32
}

// refused is what a pass has refused: what was asked for.
type refused struct {
	seq      uint64         // of the last proposal before
	noRoom   []nodeQuery    // no nodes were found
	delays   []nodeQuery    // the nodes found are those that the blocked job needs
	searches []victimSearch // that found none
}

func (r *refused) reset(seq uint64) {
	r.seq, r.noRoom, r.delays, r.searches = seq, r.noRoom[:0], r.delays[:0], r.searches[:0]
}

// refusedSince is what this pass has refused since its last proposal.
func refusedSince(p *pass) *refused {
	r := &p.qs.scratch.refused
	if r.seq != p.core.seq {
		r.reset(p.core.seq)
	}
	return r
}

// refusalsHold says whether what j is refused holds for others: nodes are set aside
// from all of them alike, and there is none to explain it to.
func refusalsHold(p *pass, j *job) bool {
	return p.qs.blocked && p.core.cfg.Explain == nil && p.qs.policy.MinScore == 0 && p.qs.policy.Backfill == order.Easy &&
		len(p.core.site.Reservations) == 0 && len(p.core.promises.list) == 0 && !j.IsSensitive() && !p.qs.mode.conformanceFirst
}

func nodeQueryOf(p *pass, j *job) nodeQuery {
	return nodeQuery{j.kind, place.ShareOf(j.Allocation), j.NodesMin, j.Topology, p.core.cfg.borrows(j.Allocation, j.kind)}
}

// refusedAlike says whether a job that asks for the same as the one under ref, whose turn it is, was
// refused in this pass, so that it would be as well.
func refusedAlike(p *pass, ref model.Ref) bool {
	return noRoomAlike(p, ref) || delaysAlike(p, ref)
}

// noRoomAlike says whether no nodes were found for a job that asks for the same. There will be none
// in this pass, whatever else is proposed.
func noRoomAlike(p *pass, ref model.Ref) bool {
	return askedAlike(p, ref, refusedSince(p).noRoom)
}

// delaysAlike says whether a job that asks for the same got nodes that the blocked job needs. When
// one more is proposed it may get others.
func delaysAlike(p *pass, ref model.Ref) bool {
	j := &p.core.jobs[ref]
	return askedAlike(p, ref, refusedSince(p).delays) && !p.outOfTheWay(p.now.Add(j.left)) && !p.core.confines(j)
}

func askedAlike(p *pass, ref model.Ref, refused []nodeQuery) bool {
	j := &p.core.jobs[ref]
	if len(refused) == 0 || !refusalsHold(p, j) || p.core.holds.has(ref) {
		return false
	}
	s := nodeQueryOf(p, j)
	for i := range refused {
		if refused[i].nodes == s.nodes && refused[i] == s { // most differ in that
			return true
		}
	}
	return false
}

// addFew adds s to list, if it is not long: others are looked for one by one.
func addFew[T any](list *[]T, s T) {
	const most = 16
	if len(*list) < most {
		*list = append(*list, s)
	}
}

// addNoRoom takes in that no nodes were found for the job under ref, for a reason.
func addNoRoom(p *pass, ref model.Ref, why model.Reason) {
	j := &p.core.jobs[ref]
	if refusalsHold(p, j) && (why == model.ReasonResources || why == model.ReasonReserved) && !p.core.holds.has(ref) && !p.core.confines(j) {
		addFew(&p.qs.scratch.refused.noRoom, nodeQueryOf(p, j))
	}
}

// addDelay takes in that the job under ref would delay the blocked one on the nodes chosen.
func addDelay(p *pass, ref model.Ref, c *choice) {
	j := &p.core.jobs[ref]
	if !refusalsHold(p, j) || c.borrowed || p.core.holds.has(ref) || p.core.confines(j) {
		return
	}
	if r := p.reservation(); r.KeepsCaps(drawn(p, j, &c.nodes)) { // it was not for the caps, of which others take less
		addFew(&p.qs.scratch.refused.delays, nodeQueryOf(p, j))
	}
}

// searchOf is the search for victims for j; ok is false where the answer is for j alone, as that of
// a service which is to grow: it wants other nodes than its own.
func searchOf(p *pass, j *job, trigger preempt.Trigger, below int32) (search victimSearch, ok bool) {
	if j.phase == running || p.core.preemptsByQOS || len(p.core.site.Reservations) > 0 || len(p.core.promises.list) > 0 || !countsNodes(p, j) || !p.core.caps.Fits(j.needs) {
		return victimSearch{}, false
	}
	return victimSearch{j.kind, trigger, j.Class, below, j.NodesMin}, true
}

// searchFailed says whether such a search found none in this pass, since when none was proposed.
func searchFailed(p *pass, search victimSearch) bool {
	return slices.Contains(refusedSince(p).searches, search)
}

// drawn is what j takes of the caps on the nodes.
func drawn(p *pass, j *job, placement *model.Placement) caps.Usage {
	needs := caps.Usage{Bandwidth: j.Demand(placement.Nodes())}
	if p.core.caps.Cap.Power > 0 { // it takes a look at each node
		needs.Power = p.core.nodeClasses.Draw(j.Allocation, placement)
	}
	return needs
}
