package site

import "orrery/scheduler/place"

// requestMix is what the jobs of a vCluster have asked for of their nodes so far, under a
// policy of least fragmentation; mix is nil under others.
type requestMix struct {
	seen place.Requests
	mix  *place.Mix // that placements go by, which is not always the newest
	next int64      // tasks seen when it is made anew
}

// mixGrowth is by which part, 1 in so many, the tasks seen grow before placements go by them.
// With each new mix all that is known of the fragmentation of nodes is computed anew.
const mixGrowth = 4

func newRequestMix(p *Policy) requestMix {
	if !p.LeastFragmentation {
		return requestMix{}
	}
	return requestMix{mix: (&place.Requests{}).Mix(), next: 1}
}

// count counts what a submitted job asks for. It says whether placements go by another mix
// from now on.
func (m *requestMix) count(j *job) (anew bool) {
	if m.mix == nil {
		return false
	}
	m.seen.Add(j.kind.class, place.ShareOf(j.Allocation), j.NodesMin)
	if m.seen.Total() < m.next {
		return false
	}
	m.mix, m.next = m.seen.Mix(), m.seen.Total()+max(1, m.seen.Total()/mixGrowth)
	return true
}

// countRequest counts what a submitted job asks for. With another mix a pass may find other
// nodes than the last one did, for jobs that start and for those that are promised some.
func countRequest(s *Core, j *job) {
	if qs := j.queue; qs.requests.count(j) {
		qs.dirty, qs.heldBack.by = true, -1
		qs.quietUntil = min(qs.quietUntil, s.now)
	}
}
