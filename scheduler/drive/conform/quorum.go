// Package conform holds the contracts of the ports of scheduler/drive as tests, to be run
// against every implementation: those of the simulation, and those of a live scheduler.
// It knows nothing of either.
package conform

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/drive"
	"orrery/scheduler/model"
)

// Shell is a quorum with its node agents as a shell runs them: four nodes, whole, that no
// job holds, and no others.
type Shell struct {
	Quorum drive.Quorum
	Agents drive.NodeAgents
	// Submit enters a job. It returns the fact of its submission, whose Ref and Job are
	// those that later facts have.
	Submit func(now model.Time, job Job) model.Fact
	// Until hands out the facts up to and including now that no call has handed out, with
	// what they point at owned by the caller.
	Until func(now model.Time) []model.Fact
	// Unreachable is the instant before which the quorum answers nothing.
	Unreachable model.Time
	// Fixed says that running jobs are not the scheduler's to change: the quorum refuses
	// to preempt, requeue, withdraw and resize.
	Fixed bool
}

// Job is what a job of the contract asks for, and what it does.
type Job struct {
	Nodes     int32
	Withdrawn model.Time // by its owner, unless it runs then; model.AbsentTime for never
	// Urgent jobs may preempt those that are not. All can go on from a checkpoint.
	Urgent bool
	// Most is how many nodes a service may have; 0 is a bounded job that runs for a minute.
	Most int32
	// Long bounded jobs run for a day.
	Long bool
}

// Failure is a node that goes out of service for good.
type Failure struct {
	At   model.Time
	Node model.NodeID
}

// Make makes a new shell in which these nodes fail, if nodes fail in it at all.
type Make func(t *testing.T, failures ...Failure) *Shell

// Quorum runs the contract of a quorum. make is a new shell each time, in which an answer
// takes an hour at most, a job starts within an hour of its grant, and a victim leaves its
// nodes within an hour.
func Quorum(t *testing.T, make Make) {
	for _, c := range []struct {
		name string
		run  func(*rig)
	}{
		{"each proposal is answered once", answeredOnce},
		{"of two proposals for a node one is granted", oneOwner},
		{"proposals are valid during the call alone", ownsNothing},
		{"a proposal for a job that does not wait is refused", stale},
		{"a proposal of nodes that do not exist is refused", unknownNodes},
		{"a job that is withdrawn meanwhile does not start", withdrawn},
		{"a job that is withdrawn while its proposal is under way starts, or its proposal is refused", withdrawnInFlight},
		{"nothing is answered while the quorum is unreachable", unreachable},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(newRig(t, make(t))) })
	}
	t.Run("changes", func(t *testing.T) { changes(t, make) })
}

// rig is a shell with all that it has said.
type rig struct {
	*testing.T
	*Shell
	now     model.Time
	facts   []model.Fact
	seq     uint64
	asked   map[uint64]model.ProposalKind
	answers map[uint64]model.Fact
}

func newRig(t *testing.T, s *Shell) *rig {
	return &rig{T: t, Shell: s, asked: map[uint64]model.ProposalKind{}, answers: map[uint64]model.Fact{}}
}

// submit enters jobs of so many nodes each.
func (r *rig) submit(nodes ...int32) (jobs []model.Fact) {
	for _, n := range nodes {
		f := r.Submit(r.now, Job{Nodes: n, Withdrawn: model.AbsentTime})
		require.Equal(r, model.FactSubmitted, f.Kind)
		jobs = append(jobs, f)
	}
	return jobs
}

// proposal is one to start a job on the nodes of a mask.
func (r *rig) proposal(job *model.Fact, mask uint64) model.Proposal {
	r.seq++
	return model.Proposal{
		Kind: model.ProposeAssign, Seq: r.seq, Job: job.Job, Ref: job.Ref, Request: job.Request,
		Placement: model.Placement{Words: []model.NodeWord{{Mask: mask}}},
	}
}

// propose submits, and waits for all answers, which it returns in the order of the
// proposals. Jobs that are granted their nodes start.
func (r *rig) propose(proposals ...model.Proposal) (kinds []model.FactKind) {
	asked := make([]uint64, len(proposals))
	for i := range proposals {
		asked[i] = proposals[i].Seq
		r.asked[asked[i]] = proposals[i].Kind
	}
	r.hear(r.Quorum.Submit(r.now, proposals, nil))
	for i := range proposals { // what the caller does with them afterwards is its own affair
		for k := range proposals[i].Placement.Words {
			proposals[i].Placement.Words[k] = model.NodeWord{Word: 0, Mask: 0xf}
		}
		proposals[i].Job, proposals[i].Ref, proposals[i].Seq = 99, 99, 99
	}
	for _, seq := range asked {
		r.until(func() bool { _, ok := r.answers[seq]; return ok }, "the answer to proposal %d", seq)
		kinds = append(kinds, r.answers[seq].Kind)
	}
	return kinds
}

// until lets time pass until what is waited for has come, an hour at most.
func (r *rig) until(come func() bool, what string, args ...any) {
	for end := r.now.Add(model.Hour); !come(); {
		require.Less(r, r.now, end, fmt.Sprintf("an hour passed without "+what, args...))
		r.wait(model.Second)
	}
}

// wait lets time pass, a second at a time, so that what starts does so when it is granted.
func (r *rig) wait(d model.Duration) {
	for end := r.now.Add(d); r.now < end; {
		r.now = r.now.Add(model.Second)
		r.hear(r.Until(r.now))
	}
}

// hear takes in facts: it starts what is granted, and keeps answers.
func (r *rig) hear(facts []model.Fact) {
	for i := range facts {
		f := &facts[i]
		r.facts = append(r.facts, *f)
		if r.isAnswer(f) {
			require.GreaterOrEqual(r, r.now, r.Unreachable, "an answer while the quorum is unreachable")
			require.NotContains(r, r.answers, f.Seq, "a second answer to a proposal")
			r.answers[f.Seq] = *f
		}
		if f.Kind == model.FactRefused {
			require.NotEqual(r, model.ReasonNone, f.Reason, "a refusal says why")
		}
		if f.Kind == model.FactAssigned {
			r.Agents.Start(r.now, f.Ref)
		}
	}
}

// isAnswer says whether a fact answers a proposal. The end of a run, or a requeue that was
// not proposed, names the proposal by which the run began.
func (r *rig) isAnswer(f *model.Fact) bool {
	switch f.Kind {
	case model.FactAssigned, model.FactRefused, model.FactPreempted, model.FactCancelled, model.FactResized:
		return f.Seq != 0
	case model.FactRequeued:
		kind, ok := r.asked[f.Seq]
		return ok && kind == model.ProposeRequeue
	}
	return false
}

// ends counts the facts that a job ended.
func (r *rig) ends(job model.JobID) (n int) {
	for i := range r.facts {
		if r.facts[i].Kind == model.FactEnded && r.facts[i].Job == job {
			n++
		}
	}
	return n
}

var granted, refused = model.FactAssigned, model.FactRefused

func answeredOnce(r *rig) {
	jobs := r.submit(1, 1, 2)
	require.Equal(r, []model.FactKind{granted, granted, granted}, r.propose(r.proposal(&jobs[0], 1), r.proposal(&jobs[1], 2), r.proposal(&jobs[2], 12)))
	for i := range jobs {
		f := r.answers[uint64(i)+1]
		require.Equal(r, jobs[i].Ref, f.Ref)
		require.Equal(r, jobs[i].Job, f.Job)
	}
	require.Len(r, r.answers, 3)
}

func oneOwner(r *rig) {
	jobs := r.submit(2, 2)
	require.ElementsMatch(r, []model.FactKind{granted, refused}, r.propose(r.proposal(&jobs[0], 3), r.proposal(&jobs[1], 6)))
}

func ownsNothing(r *rig) {
	jobs := r.submit(1, 3)
	// propose overwrites the proposals after the call: a quorum that kept them would have
	// the first job hold all nodes.
	require.Equal(r, []model.FactKind{granted}, r.propose(r.proposal(&jobs[0], 1)))
	require.Equal(r, []model.FactKind{granted}, r.propose(r.proposal(&jobs[1], 14)))
}

func stale(r *rig) {
	jobs := r.submit(1, 1)
	require.ElementsMatch(r, []model.FactKind{granted, refused}, r.propose(r.proposal(&jobs[0], 1), r.proposal(&jobs[0], 2)))
	gone := jobs[1]
	gone.Ref += 1 << 20
	require.Equal(r, []model.FactKind{refused}, r.propose(r.proposal(&gone, 4)), "a handle that no job has")
}

func unknownNodes(r *rig) {
	jobs := r.submit(1, 1)
	require.Equal(r, []model.FactKind{refused}, r.propose(r.proposal(&jobs[0], 1<<40)))
	far := r.proposal(&jobs[1], 1)
	far.Placement.Words[0].Word = 1 << 20
	require.Equal(r, []model.FactKind{refused}, r.propose(far))
	require.Equal(r, []model.FactKind{refused}, r.propose(r.proposal(&jobs[1], 0)), "no nodes at all")
	require.Equal(r, []model.FactKind{granted}, r.propose(r.proposal(&jobs[0], 1)), "a refusal changes nothing")
}

func withdrawn(r *rig) {
	job := r.Submit(r.now, Job{Nodes: 1, Withdrawn: r.now.Add(model.Second)})
	r.wait(2 * model.Second)
	require.Equal(r, model.FactCancelled, r.facts[len(r.facts)-1].Kind)
	require.Equal(r, []model.FactKind{refused}, r.propose(r.proposal(&job, 1)))
	require.Zero(r, r.ends(job.Job))
}

func withdrawnInFlight(r *rig) {
	job := r.Submit(r.now, Job{Nodes: 4, Withdrawn: r.now.Add(model.Second)})
	other := r.submit(4)
	kinds := r.propose(r.proposal(&job, 15))
	if kinds[0] == refused {
		require.Zero(r, r.ends(job.Job))
	}
	r.wait(2 * model.Hour) // what started has ended
	require.Equal(r, []model.FactKind{granted}, r.propose(r.proposal(&other[0], 15)), "its nodes are free either way")
}

func unreachable(r *rig) {
	jobs := r.submit(4)
	require.Equal(r, []model.FactKind{granted}, r.propose(r.proposal(&jobs[0], 15))) // hear looks at the instant
	require.GreaterOrEqual(r, r.now, r.Unreachable)
	r.wait(2 * model.Hour)
	require.Equal(r, 1, r.ends(jobs[0].Job))
}
