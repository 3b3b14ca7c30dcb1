package conform

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// changes runs the part of the contract of a quorum that is about jobs which run: how
// they are preempted, requeued and resized.
func changes(t *testing.T, make Make) {
	if shell := make(t); shell.Fixed {
		refusesChanges(newRig(t, shell))
		return
	}
	for _, c := range []struct {
		name string
		run  func(*rig)
	}{
		{"a victim leaves its nodes, and goes on later", victimLeaves},
		{"a job that may not be preempted keeps its nodes", victimStays},
		{"a running job that is requeued waits again", requeued},
		{"a waiting job is withdrawn, a running one is not", cancelled},
		{"a service takes free nodes and gives nodes back", resized},
		{"a size that cannot be had leaves the service as it was", sizeRefused},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(newRig(t, make(t))) })
	}
}

var preempted = model.FactPreempted

// enter submits one job.
func (r *rig) enter(job Job) model.Fact {
	job.Withdrawn = model.AbsentTime
	return r.Submit(r.now, job)
}

// change is a proposal to change a job, with the nodes of a mask if it names any.
func (r *rig) change(kind model.ProposalKind, job *model.Fact, mask uint64) model.Proposal {
	p := r.proposal(job, mask)
	if p.Kind = kind; mask == 0 {
		p.Placement = model.Placement{}
	}
	return p
}

// preempt is a proposal to make a job leave its nodes to another.
func (r *rig) preempt(victim, to *model.Fact) model.Proposal {
	p := r.change(model.ProposePreempt, to, 0)
	p.Victim = victim.Ref
	return p
}

// grant has a job start on the nodes of a mask.
func (r *rig) grant(job *model.Fact, mask uint64) {
	r.Helper()
	require.Equal(r, []model.FactKind{granted}, r.propose(r.proposal(job, mask)))
}

// refuse has a proposal refused.
func (r *rig) refuse(p model.Proposal, why string) {
	r.Helper()
	require.Equal(r, []model.FactKind{refused}, r.propose(p), why)
}

// count is how many facts of a kind name a job.
func (r *rig) count(kind model.FactKind, job *model.Fact) (n int) {
	for i := range r.facts {
		if r.facts[i].Kind == kind && r.facts[i].Ref == job.Ref {
			n++
		}
	}
	return n
}

// waitsAgain says whether a job that ran is in the queue again.
func (r *rig) waitsAgain(job *model.Fact) bool {
	return r.count(model.FactSuspended, job)+r.count(model.FactRequeued, job) > 0
}

// completes has a job come to its one end within two days.
func (r *rig) completes(job *model.Fact) {
	r.Helper()
	r.wait(2 * model.Day)
	require.Equal(r, 1, r.ends(job.Job))
}

func refusesChanges(r *rig) {
	running, waiting := r.enter(Job{Nodes: 2, Long: true}), r.enter(Job{Nodes: 2, Urgent: true})
	r.grant(&running, 3)
	preempt := r.change(model.ProposePreempt, &waiting, 12) // which it could have
	preempt.Victim = running.Ref
	r.refuse(preempt, "preempt")
	r.refuse(r.change(model.ProposeRequeue, &running, 0), "requeue")
	r.refuse(r.change(model.ProposeCancel, &waiting, 0), "withdraw")
	r.refuse(r.change(model.ProposeResize, &running, 12), "resize")
	r.grant(&waiting, 12)
	r.completes(&running)
}

func victimLeaves(r *rig) {
	victim, urgent := r.enter(Job{Nodes: 4, Long: true}), r.enter(Job{Nodes: 4, Urgent: true})
	r.grant(&victim, 15)
	require.Equal(r, []model.FactKind{preempted}, r.propose(r.preempt(&victim, &urgent)))
	require.Equal(r, victim.Ref, r.answers[r.seq].Ref, "the answer names the victim")
	r.refuse(r.preempt(&victim, &urgent), "it leaves already, or has left")
	r.until(func() bool { return r.waitsAgain(&victim) }, "the victim's nodes")
	require.Zero(r, r.ends(victim.Job), "it is not over")
	r.grant(&urgent, 15)
	r.wait(2 * model.Hour)
	require.Equal(r, 1, r.ends(urgent.Job))
	r.grant(&victim, 15)
	r.completes(&victim)
}

func victimStays(r *rig) {
	running, alike := r.enter(Job{Nodes: 2, Long: true}), r.enter(Job{Nodes: 2, Long: true})
	r.refuse(r.preempt(&running, &alike), "a victim that does not run")
	r.grant(&running, 3)
	r.refuse(r.preempt(&running, &alike), "for a job that is not more urgent")
	gone := running
	gone.Ref += 1 << 20
	r.refuse(r.preempt(&gone, &alike), "a victim that there is not")
	r.completes(&running)
	require.Zero(r, r.count(model.FactPreempted, &running))
}

// requeued grants a job anew before and after its first run would have been over.
func requeued(r *rig) {
	for _, gap := range []model.Duration{2 * model.Hour, model.Day + model.Hour} {
		job, other := r.enter(Job{Nodes: 4, Long: true}), r.enter(Job{Nodes: 4})
		r.refuse(r.change(model.ProposeRequeue, &job, 0), "it does not run")
		r.grant(&job, 15)
		p := r.change(model.ProposeRequeue, &job, 0)
		p.Reason = model.ReasonNodeFailure
		require.Equal(r, []model.FactKind{model.FactRequeued}, r.propose(p))
		require.Equal(r, model.ReasonNodeFailure, r.answers[r.seq].Reason)
		r.grant(&other, 15)
		r.wait(gap)
		require.Equal(r, 1, r.ends(other.Job))
		require.Zero(r, r.ends(job.Job), "it waits")
		r.grant(&job, 15)
		r.wait(model.Day - 6*model.Minute)
		require.Zero(r, r.ends(job.Job), "it begins anew")
		r.completes(&job)
	}
}

func cancelled(r *rig) {
	running, waiting := r.enter(Job{Nodes: 4, Long: true}), r.enter(Job{Nodes: 4})
	r.grant(&running, 15)
	r.refuse(r.change(model.ProposeCancel, &running, 0), "it runs")
	p := r.change(model.ProposeCancel, &waiting, 0)
	p.Reason = model.ReasonDependencyNever
	require.Equal(r, []model.FactKind{model.FactCancelled}, r.propose(p))
	require.Equal(r, model.ReasonDependencyNever, r.answers[r.seq].Reason)
	r.completes(&running)
	r.refuse(r.proposal(&waiting, 15), "it is withdrawn")
	require.Zero(r, r.ends(waiting.Job))
}

func resized(r *rig) {
	service, job := r.enter(Job{Nodes: 1, Most: 3}), r.enter(Job{Nodes: 2})
	r.refuse(r.change(model.ProposeResize, &service, 3), "it does not run")
	r.grant(&service, 1)
	require.Equal(r, []model.FactKind{model.FactResized}, r.propose(r.change(model.ProposeResize, &service, 7)))
	require.Equal(r, int32(3), r.answers[r.seq].Placement.Nodes(), "the answer has what it holds now")
	r.refuse(r.proposal(&job, 6), "the nodes are the service's")
	require.Equal(r, []model.FactKind{model.FactResized}, r.propose(r.change(model.ProposeResize, &service, 1)))
	r.grant(&job, 6)
}

func sizeRefused(r *rig) {
	service, job := r.enter(Job{Nodes: 1, Most: 3}), r.enter(Job{Nodes: 1, Long: true})
	r.grant(&service, 1)
	r.grant(&job, 2)
	r.refuse(r.change(model.ProposeResize, &service, 3), "a node that another job holds")
	r.refuse(r.change(model.ProposeResize, &service, 1<<40), "a node that there is not")
	require.Equal(r, []model.FactKind{model.FactResized}, r.propose(r.change(model.ProposeResize, &service, 13)), "its own node and two free ones")
	r.completes(&job)
}
