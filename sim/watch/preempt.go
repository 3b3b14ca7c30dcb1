package watch

import (
	"fmt"
	"slices"

	"orrery/scheduler/model"
)

// preempting is who leaves for which job, and why: invariant 25.
type preempting struct {
	*base
	system  *system
	flights *flights
	ledger  *ledger
	cause   *job // for which victims were last asked to leave
	victims int32
}

func (pr *preempting) reset() { pr.cause, pr.victims = nil, 0 }

// preemption checks a proposal to preempt: how many victims, and for which job.
func (pr *preempting) preemption(x *flight, p *model.Proposal) {
	if id, ok := pr.system.refs[p.Victim]; ok {
		x.victim = pr.system.jobs[id]
	}
	if p.Reason == model.ReasonPower && x.victim == x.job {
		return // the quorum says whether it may be
	}
	pr.system.causing(x.job, true)
	policy := &pr.cfg.Policies[x.job.VCluster]
	if x.job.state == model.Running && !(x.job.Scaled && x.job.nodes < x.job.due()) {
		pr.fail(25, x.job, "others are to leave for it while it runs", "that it waits, or is a scaled service with fewer nodes than it is to have")
	}
	if pr.cause != x.job {
		pr.cause, pr.victims = x.job, 0
	}
	if pr.victims++; !policy.Preempts || pr.victims > policy.MaxVictims {
		pr.fail(25, x.job, fmt.Sprintf("%d victims for it in one pass", pr.victims), fmt.Sprintf("at most %d, and none where preemption is off", policy.MaxVictims))
	}
}

// byQOS says whether the quality of service of a preempts that of b, and not the other way round.
func (pr *preempting) byQOS(a, b *job) bool {
	preempts := func(x, y *job) bool {
		return x.QOS >= 0 && y.QOS >= 0 && slices.Contains(pr.site.QOS[x.QOS].PreemptsQOS, y.QOS)
	}
	return preempts(a, b) && !preempts(b, a)
}

// preempted checks invariant 25.
func (pr *preempting) preempted(j *job, f *model.Fact) {
	x := pr.flights.flight(f)
	pr.system.become(j, model.Checkpointing)
	j.preempted = true
	if x == nil || x.kind != model.ProposePreempt || x.victim != j {
		pr.fail(6, j, fmt.Sprintf("it is preempted by proposal %d", f.Seq), "a proposal to preempt it")
		return
	}
	cause := x.job
	if cause == j {
		pr.shed(j)
		return
	}
	reclaims := false
	for n := range each(&j.held) {
		reclaims = reclaims || pr.site.Nodes[n].Home == cause.VCluster && j.VCluster != cause.VCluster
	}
	takes, gives := pr.byQOS(cause, j), pr.byQOS(j, cause)
	outranks := cause.IsSensitive() || takes || j.Class < cause.Class && !gives
	waits := cause.state == model.Pending || cause.state == model.Running && cause.Scaled
	if !waits || !j.Preemptible() || !reclaims && !outranks {
		pr.fail(25, j, fmt.Sprintf("it is preempted, of class %d, for job %d of class %d, which is %s", j.Class, cause.ID, cause.Class, cause.state),
			"preemptible work of a lower class, or on borrowed nodes, or sensitive work that takes them, for a job that waits or a scaled service that lacks nodes")
	}
}

// shed checks invariant 25 for a job that leaves for the sake of the cap.
func (pr *preempting) shed(j *job) {
	if !pr.site.Sheds || !j.Preemptible() || pr.ledger.power.cap == 0 || pr.ledger.power.used+pr.ledger.idle <= pr.ledger.power.cap {
		pr.fail(25, j, fmt.Sprintf("it leaves for the cap on power, with %d W of %d", pr.ledger.power.used+pr.ledger.idle, pr.ledger.power.cap), "preemptible work, above the cap of a site that sheds")
	}
}
