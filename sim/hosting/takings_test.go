package hosting

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// story drives takings on four nodes, of which 0 and 1 are at home in vCluster a and the
// others in b, with the service s, job 9, of b.
type story struct {
	*Takings
	seq uint64
}

func newStory() *story {
	s := &Services{list: []hosted{{cfg: &Config{Name: "s", Job: model.Allocation{Job: 9}}}}}
	site := &model.Site{Nodes: []model.Node{{Home: 0}, {Home: 0}, {Home: 1}, {Home: 1}}}
	return &story{Takings: NewTakings(s, site, []string{"a", "b"}, []string{"x"})}
}

func (s *story) submit(ref model.Ref, job model.JobID, v model.VClusterID) {
	s.Fact(0, &model.Fact{Kind: model.FactSubmitted, Ref: ref, Job: job, Alloc: &model.Allocation{VCluster: v, Tenant: -1}})
}

// holds tells the fact that a job holds these nodes, whole or shared, from now on.
func (s *story) holds(now model.Time, kind model.FactKind, ref model.Ref, why model.Reason, shared bool, nodes ...model.NodeID) {
	var p model.Placement
	for _, n := range nodes {
		if shared {
			p.Shares = append(p.Shares, model.NodeShare{Node: n})
		} else {
			p.Words = append(p.Words, model.NodeWord{Mask: 1 << n})
		}
	}
	s.Fact(now, &model.Fact{Kind: kind, Ref: ref, Job: s.jobs[ref].job, Reason: why, Placement: &p})
}

// preempt proposes that victim leaves for cause, and tells the answer.
func (s *story) preempt(now model.Time, victim, cause model.Ref, answer model.FactKind) {
	s.seq++
	s.Proposed(&model.Proposal{Kind: model.ProposePreempt, Seq: s.seq, Ref: cause, Victim: victim})
	f := model.Fact{Kind: answer, Ref: victim, Seq: s.seq}
	if answer == model.FactRefused {
		f.Ref = cause
	}
	s.Fact(now, &f)
}

func (s *story) tell(now model.Time, kind model.FactKind, ref model.Ref) {
	s.Fact(now, &model.Fact{Kind: kind, Ref: ref, Job: s.jobs[ref].job})
}

// TestTakingsAreCountedOnce: what a job borrows counts until it is preempted; what is taken
// counts for the one for whom it was, and for none after it.
func TestTakingsAreCountedOnce(t *testing.T) {
	s := newStory()
	s.submit(0, 5, 0) // of a
	s.submit(1, 9, 1) // the service
	s.submit(2, 6, 1) // of b
	s.holds(10, model.FactAssigned, 0, 0, false, 0, 1, 2)
	s.holds(10, model.FactAssigned, 1, 0, false, 3)
	s.preempt(20, 0, 1, model.FactRefused)
	s.preempt(30, 0, 1, model.FactPreempted)
	s.Attempt(&model.AttemptRecord{Job: 9, Lost: 100, GPUs: 1}) // is not asked to leave
	s.Attempt(&model.AttemptRecord{Job: 5, Lost: 7, GPUs: 4})
	s.tell(40, model.FactSuspended, 0)
	s.holds(40, model.FactResized, 1, 0, false, 2, 3)
	s.holds(50, model.FactAssigned, 2, 0, false, 0) // free, though it was given up for another
	s.tell(60, model.FactEnded, 2)
	s.holds(60, model.FactResized, 1, 0, false, 3) // by itself
	s.holds(70, model.FactAssigned, 0, 0, false, 0, 1, 2)
	owner, tenant := s.Results(100)
	a, svc := Party{Group: "a"}, Party{Service: "s"}
	require.Equal(t, []Taking{
		{From: a, To: svc, Preemptions: 1, Nodes: 1, NodeTime: 20, Delay: 30, LostGPU: 28},
		{From: a, To: Party{Group: "b"}, Borrowed: 10}, // job 6 on node 0
		{From: Party{Group: "b"}, To: a, Borrowed: 30 + 30},
	}, owner)
	require.Equal(t, []Taking{{From: Party{}, To: svc, Preemptions: 1, Nodes: 1, NodeTime: 20, Delay: 30, LostGPU: 28}}, tenant)
}

// TestTakingsOfSharedNodes: a node of which several jobs hold parts counts for one at a time,
// and for what was taken before what is borrowed.
func TestTakingsOfSharedNodes(t *testing.T) {
	s := newStory()
	s.submit(0, 5, 1) // of b
	s.submit(1, 6, 1) // of b
	s.submit(2, 9, 1) // the service
	s.submit(3, 7, 0) // of a
	s.holds(0, model.FactAssigned, 0, 0, true, 0)
	s.holds(5, model.FactAssigned, 1, 0, true, 0) // a second part of the borrowed node
	s.preempt(10, 0, 2, model.FactPreempted)
	s.tell(10, model.FactRequeued, 0)
	s.holds(20, model.FactAssigned, 2, 0, true, 0)
	s.holds(25, model.FactResized, 2, model.ReasonReclaimed, false) // and goes home
	s.holds(30, model.FactAssigned, 3, 0, true, 0)
	s.tell(45, model.FactEnded, 3)
	s.tell(50, model.FactCancelled, 0)
	owner, _ := s.Results(60)
	a, b, svc := Party{Group: "a"}, Party{Group: "b"}, Party{Service: "s"}
	require.Equal(t, []Taking{
		{From: svc, To: a, Nodes: 1, NodeTime: 15},
		{From: a, To: b, Borrowed: 10},
		{From: b, To: svc, Preemptions: 1, Nodes: 1, NodeTime: 5, Delay: 40},
	}, owner)
}

// TestNoTakingsWithoutServices: nothing is followed.
func TestNoTakingsWithoutServices(t *testing.T) {
	require.Nil(t, NewTakings(nil, nil, nil, nil))
	owner, tenant := (*Takings)(nil).Results(0)
	require.Empty(t, owner)
	require.Empty(t, tenant)
}
