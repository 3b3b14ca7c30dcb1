// Package conform holds the contracts of the ports of scheduler/drive as tests, to be run
// against every implementation: those of the simulation, and those of a live scheduler.
// It knows nothing of either.
package conform

import (
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
	// Submit enters a job that asks for so many nodes, runs for a minute and is withdrawn
	// by its owner at an instant unless it runs then, model.AbsentTime for never. It returns
	// the fact of its submission, whose Ref and Job are those that later facts have.
	Submit func(now model.Time, nodes int32, withdrawn model.Time) model.Fact
	// Until hands out the facts up to and including now that no call has handed out, with
	// what they point at owned by the caller.
	Until func(now model.Time) []model.Fact
}

// Quorum runs the contract of a quorum and its agents. make is a new shell each time, in
// which an answer takes an hour at most and a job starts within an hour of its grant.
func Quorum(t *testing.T, make func(t *testing.T) *Shell) {
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
		{"a job ends once, and its nodes can be had again", endsOnce},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(&rig{T: t, Shell: make(t)}) })
	}
}

// rig is a shell with all that it has said.
type rig struct {
	*testing.T
	*Shell
	now     model.Time
	facts   []model.Fact
	seq     uint64
	answers map[uint64]model.Fact
}

// submit enters jobs of so many nodes each.
func (r *rig) submit(nodes ...int32) (jobs []model.Fact) {
	for _, n := range nodes {
		f := r.Submit(r.now, n, model.AbsentTime)
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
	}
	r.hear(r.Quorum.Submit(r.now, proposals, nil))
	for i := range proposals { // what the caller does with them afterwards is its own affair
		for k := range proposals[i].Placement.Words {
			proposals[i].Placement.Words[k] = model.NodeWord{Word: 0, Mask: 0xf}
		}
		proposals[i].Job, proposals[i].Ref, proposals[i].Seq = 99, 99, 99
	}
	r.wait(model.Hour)
	for _, seq := range asked {
		f, ok := r.answers[seq]
		require.True(r, ok, "proposal %d has no answer after an hour", seq)
		kinds = append(kinds, f.Kind)
	}
	return kinds
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
		if f.Seq != 0 && (f.Kind == model.FactAssigned || f.Kind == model.FactRefused) {
			if r.answers == nil {
				r.answers = map[uint64]model.Fact{}
			}
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
	job := r.Submit(r.now, 1, r.now.Add(model.Second))
	r.wait(2 * model.Second)
	require.Equal(r, model.FactCancelled, r.facts[len(r.facts)-1].Kind)
	require.Equal(r, []model.FactKind{refused}, r.propose(r.proposal(&job, 1)))
	require.Zero(r, r.ends(job.Job))
}

func withdrawnInFlight(r *rig) {
	job := r.Submit(r.now, 4, r.now.Add(model.Second))
	other := r.submit(4)
	kinds := r.propose(r.proposal(&job, 15))
	if kinds[0] == refused {
		require.Zero(r, r.ends(job.Job))
	}
	r.wait(2 * model.Hour) // what started has ended
	require.Equal(r, []model.FactKind{granted}, r.propose(r.proposal(&other[0], 15)), "its nodes are free either way")
}

func endsOnce(r *rig) {
	jobs := r.submit(4, 4)
	require.Equal(r, []model.FactKind{granted}, r.propose(r.proposal(&jobs[0], 15)))
	r.wait(2 * model.Hour)
	require.Equal(r, 1, r.ends(jobs[0].Job))
	require.Equal(r, []model.FactKind{granted}, r.propose(r.proposal(&jobs[1], 15)))
	r.wait(2 * model.Hour)
	require.Equal(r, 1, r.ends(jobs[0].Job), "no second end")
	require.Equal(r, 1, r.ends(jobs[1].Job))
}
