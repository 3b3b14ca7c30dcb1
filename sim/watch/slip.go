package watch

import (
	"fmt"

	"orrery/scheduler/model"
)

// slip follows the passes of the scheduler by the proposals between two facts, and holds that what is taken in one
// does not put off the first blocked job: invariant 28.
type slip struct {
	*base
	system   *system
	ledger   *ledger
	promises *promises
	ranking  *ranking

	vcluster model.VClusterID // whose pass it is, -1 for none
	at       model.Time       // when
	seen     *job             // jobs up to this one in the order have had their turn
	head     *job             // the first that is blocked
	since    uint64           // the last proposal before its turn
	grown    bool             // a job proposed in it has more than its least nodes
	skip     bool             // the pass is not one to check
	forecast forecast
}

func (s *slip) reset() {
	s.vcluster, s.seen, s.head, s.grown, s.skip = -1, nil, nil, false, false
}

// checked says whether reservations of vCluster v are checked: EASY, where it can be told which job is first, and no
// nodes are kept for a job that makes others leave.
func (s *slip) checked(v model.VClusterID) bool {
	p := &s.cfg.Policies[v]
	if s.site.CountIdle && s.ledger.power.cap > 0 {
		return false // what idle nodes draw then is not forecast here
	}
	return p.Easy && (p.Order.known() || s.cfg.First != nil) && s.system.causes == 0
}

// behind checks that what j takes by the proposal of number seq does not delay the first blocked job: invariant 28.
func (s *slip) behind(j *job, t *taking, seq uint64) {
	ordered := s.cfg.Policies[j.VCluster].Order.known()
	if s.vcluster != j.VCluster || s.at != s.now || !ordered || s.seen != nil && !s.ranking.before(s.seen, j) {
		s.vcluster, s.at, s.seen, s.head, s.grown = j.VCluster, s.now, nil, nil, false
		s.skip = !s.checked(j.VCluster) || s.clashes(j.VCluster)
	}
	if s.skip {
		return
	}
	if ordered {
		s.findHead(j, seq)
	} else {
		s.askHead(j, seq)
	}
	s.seen = j
	s.grown = s.grown || t.wide
	if s.skip || s.head == nil || t.until <= s.now {
		return
	}
	at := s.reserved(s.head)
	if at == s.now { // it is not room that it waits for
		s.skip = true
		return
	}
	s.Slips++
	if t.until > at && !s.roomBeside(s.head, at, t) {
		s.fail(28, j, fmt.Sprintf("what it takes until %s is what job %d counts on at %s", t.until, s.head.ID, at), "that the first blocked job has room then as well")
	}
}

// askHead takes the scheduler's word for which job is blocked first, if j comes behind.
func (s *slip) askHead(j *job, seq uint64) {
	ref, since, ok := s.cfg.First(j.VCluster)
	if !ok || seq <= since {
		return
	}
	switch head := s.system.jobs[s.system.refs[ref]]; {
	case head == nil || head.VCluster != j.VCluster || head.state != model.Pending || head.flying != nil:
		s.fail(28, j, "a start behind a blocked job that does not wait", "one that waits in the same queue")
	default:
		s.head, s.since = head, since
	}
}

// findHead looks for the first blocked job among those that had their turn between the last proposal and the one of
// j.
func (s *slip) findHead(j *job, seq uint64) {
	if s.head != nil {
		return
	}
	for _, o := range s.system.waiting[j.VCluster] {
		if o == j || !s.ranking.before(o, j) {
			if s.cfg.Policies[j.VCluster].Order == fcfs && !s.ranking.tiered() {
				return // the list is in this order
			}
			continue
		}
		if s.seen != nil && !s.ranking.before(s.seen, o) || s.head != nil && s.ranking.before(s.head, o) {
			continue
		}
		if o.flying != nil || o.Hold || o.Eligible > s.now || !s.system.free(o) || s.overPool(o) {
			continue
		}
		switch number, _, _ := s.ledger.bound(o, o.NodesMin, &job{}, true); {
		case number == 0:
			s.head, s.since = o, seq-1
		case s.grown: // or were there fewer nodes in flight when its turn was?
			s.skip = true
			return
		}
	}
}

// overPool says whether j would hold too many nodes for sensitive work, with what is in flight.
func (s *slip) overPool(j *job) bool {
	if s.site.SensitivePool <= 0 || !j.IsSensitive() {
		return false
	}
	n := s.ledger.sensitive + j.NodesMin
	for _, list := range s.system.waiting {
		for _, o := range list {
			if o.flying != nil && o.IsSensitive() {
				n += o.flying.placement.Nodes()
			}
		}
	}
	for _, o := range s.system.running {
		if o.resize != nil && o.IsSensitive() {
			n += o.resize.more.nodes.Nodes()
		}
	}
	return n > s.site.SensitivePool
}

// clashes says whether a proposal of v that is under way names a node that was granted to another meanwhile: then it
// is not known which job will have what.
func (s *slip) clashes(v model.VClusterID) bool {
	for _, j := range s.system.waiting[v] {
		if j.flying != nil && within(&j.flying.placement, s.ledger.owned) > 0 {
			return true
		}
	}
	for _, j := range s.system.running {
		if j.VCluster == v && j.resize != nil && within(&j.resize.more.nodes, s.ledger.owned) > 0 {
			return true
		}
	}
	return false
}
