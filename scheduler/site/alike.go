package site

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
)

// memo is what a pass remembers to have refused.
type memo struct{ *view }

func (v *view) memo() memo { return memo{v} }

// Many jobs ask for the same. Of those behind the blocked one, what a job was refused in a pass
// is refused to all that ask for the same nodes when it is their turn, until one more is proposed.

// refusedSince is what this pass has refused since its last proposal.
func (p memo) refusedSince() *refusalCache {
	r := &p.scratch.refused
	if r.seq != p.core.seq {
		r.reset(p.core.seq)
	}
	return r
}

// refusalsHold says whether what j is refused holds for others: nodes are set aside
// from all of them alike.
func (p memo) refusalsHold(j *job) bool {
	return p.qs.blocked && p.qs.policy.MinScore == 0 && p.rule.reserves() &&
		len(p.core.site.Reservations) == 0 && len(p.core.promises.List) == 0 && !j.IsSensitive() && !p.qs.mode.conformanceFirst
}

// refusedAlike says whether a job that asks for the same as the one under ref, whose turn it is, was
// refused in this pass, so that it would be as well.
func (p memo) refusedAlike(ref model.Ref) bool {
	return p.noRoomAlike(ref) || p.delaysAlike(ref)
}

// noRoomAlike says whether no nodes were found for a job that asks for the same. There will be none
// in this pass, whatever else is proposed.
func (p memo) noRoomAlike(ref model.Ref) bool {
	r := p.refusedSince()
	return r.noRoom.has(p.core.jobs[ref].alike, r.since) && p.heedsRefusals(ref)
}

// delaysAlike says whether a job that asks for the same got nodes that the blocked job needs. When
// one more is proposed it may get others.
func (p memo) delaysAlike(ref model.Ref) bool {
	j, r := &p.core.jobs[ref], p.refusedSince()
	if !r.delays.has(j.alike, r.since) || !p.heedsRefusals(ref) || p.easy().outOfTheWay(p.now.Add(j.left)) || p.core.confines(j) {
		return false
	}
	p.noteDelay(j)
	return true
}

// heedsRefusals says whether what others were refused is refused to the job under ref as well.
func (p memo) heedsRefusals(ref model.Ref) bool {
	return p.refusalsHold(&p.core.jobs[ref]) && !p.core.holds.Has(ref)
}

// addFew adds s to list, if it is not long: others are looked for one by one.
func addFew[T any](list *[]T, s T) {
	const most = 16
	if len(*list) < most {
		*list = append(*list, s)
	}
}

// addNoRoom takes in that no nodes were found for the job under ref, for a reason.
func (p memo) addNoRoom(ref model.Ref, why model.Reason) {
	j := &p.core.jobs[ref]
	if p.refusalsHold(j) && (why == model.ReasonResources || why == model.ReasonReserved) && !p.core.holds.Has(ref) && !p.core.confines(j) {
		refused := p.refusedSince()
		refused.noRoom.add(j.alike, refused.since)
	}
}

// noteDelay notes that j, if it takes shares, would delay the blocked job.
func (p memo) noteDelay(j *job) {
	if j.usage.Divides {
		p.qs.confinable.add(owner{j.Tenant, j.QOS}, j.usage.Nodes)
	}
}

// addDelay takes in that the job under ref would delay the blocked one on the nodes chosen.
func (p memo) addDelay(ref model.Ref, c *choice) {
	j := &p.core.jobs[ref]
	p.noteDelay(j)
	if !p.refusalsHold(j) || p.core.holds.Has(ref) || p.core.confines(j) {
		return
	}
	if r := p.easy().reservation(); r.KeepsCaps(p.easy().drawn(j, &c.nodes)) { // it was not for the caps, of which others take less
		refused := p.refusedSince()
		refused.delays.add(j.alike, refused.since)
	}
}

// searchOf is the search for victims for j; ok is false where the answer is for j alone, as that of
// a service which is to grow: it wants other nodes than its own. Where idle nodes count, a cap may have less room
// when victims have left.
func (p memo) searchOf(j *job, trigger preempt.Trigger, below int32) (search victimSearch, ok bool) {
	if j.phase == running || p.core.preemptsByQOS || len(p.core.site.Reservations) > 0 || len(p.core.promises.List) > 0 || !p.victims().countsNodes(j) || !p.core.caps.Fits(j.needs) || p.core.caps.Idle.Counts() {
		return victimSearch{}, false
	}
	return victimSearch{j.kind, trigger, j.Class, below, j.NodesMin}, true
}

// searchFailed says whether such a search found none in this pass, since when none was proposed.
func (p memo) searchFailed(search victimSearch) bool {
	return slices.Contains(p.refusedSince().searches, search)
}
