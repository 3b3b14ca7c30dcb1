package watch

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"orrery/scheduler/model"
)

// assigned checks a start: invariants 4 to 6, 15 and 17 to 26.
func (w *Watcher) assigned(j *job, f *model.Fact) {
	x := w.flight(f)
	w.become(j, model.Running)
	switch {
	case x == nil || x.kind != model.ProposeAssign && x.kind != model.ProposeRestore || x.job != j:
		w.fail(6, j, fmt.Sprintf("a start by proposal %d", f.Seq), "a proposal to start it")
		x = &flight{}
	case f.Placement == nil || !same(f.Placement, &x.placement):
		w.fail(6, j, "a start on other nodes", "the nodes proposed")
	}
	if w.now < j.Eligible || j.Hold {
		w.fail(4, j, fmt.Sprintf("a start (on hold: %t)", j.Hold), "none before "+j.Eligible.String()+" or on hold")
	}
	w.waitsFor(j)
	w.grant(j, f.Placement, x.borrowed, nil)
	w.pass.start(j)
	w.causing(j, false)
	w.unpromise(j)
	w.slow = w.slow || x.made != w.now
	j.begins()
	j.start, j.attempts = w.now, j.attempts+1
}

func same(a, b *model.Placement) bool {
	return slices.Equal(a.Words, b.Words) && slices.Equal(a.Shares, b.Shares)
}

// grant checks that j, which holds nothing, may have the nodes of p, and enters
// them. had is what it held until now when it is resized, else nil: it may keep
// nodes that are not ready any more, and what limits now forbid.
func (w *Watcher) grant(j *job, p *model.Placement, borrowed bool, had *job) {
	j.since = w.now
	if p == nil {
		return
	}
	j.held = copied(p)
	j.nodes = p.Nodes()
	if !w.shape(j) {
		j.held, j.nodes = model.Placement{}, 0
		return
	}
	j.milli = w.thousandths(p)
	j.power, j.io = w.site.Draw(&j.Allocation, p), j.Demand(j.nodes)
	if had == nil {
		had = &job{}
	}
	for n, share := range each(p) {
		w.onNode(j, n, share, borrowed, had)
	}
	if j.IsSensitive() {
		w.conform(j, had)
	}
	w.limits(j, had)
	w.accrue(j)
	w.take(j, 1)
	w.lending(j)
}

// shape checks that j gets what it asks for, invariant 6. false says that the
// nodes cannot be entered.
func (w *Watcher) shape(j *job) bool {
	for n, share := range each(&j.held) {
		switch {
		case n < 0 || int(n) >= len(w.nodes):
			w.fail(6, j, fmt.Sprintf("node %d", n), "a node of the site")
			return false
		case (share == nil) == j.Divides() || share != nil && !asksFor(j, share, &w.site.Nodes[n]):
			w.fail(6, j, "of node "+w.site.Nodes[n].Name+" "+textOf(share), textOf(&model.NodeShare{Units: j.GPUs, Amounts: j.Amounts}))
		}
	}
	if j.nodes < j.NodesMin || j.nodes > j.NodesMax {
		w.fail(6, j, fmt.Sprintf("%d nodes", j.nodes), fmt.Sprintf("%d to %d", j.NodesMin, j.NodesMax))
	}
	return true
}

// asksFor says whether h is a share as j asks for.
func asksFor(j *job, h *model.NodeShare, node *model.Node) bool {
	return h.Units == j.GPUs && h.Amounts == j.Amounts && bits.OnesCount64(h.GPUs) == int(h.Cards()) && bits.Len64(h.GPUs) <= int(node.GPUs)
}

// textOf says what h is, nil for a whole node.
func textOf(h *model.NodeShare) string {
	if h == nil || *h == (model.NodeShare{Node: h.Node}) {
		return "the whole"
	}
	return fmt.Sprintf("%d GPUs (%b), %d thousandths of one, %d CPUs and %d B", h.Units, h.GPUs, h.GPUMilli, h.CPUs, h.Memory)
}

// onNode checks one node, or a part of it: invariants 5, 15, 17 and 18.
func (w *Watcher) onNode(j *job, n model.NodeID, share *model.NodeShare, borrowed bool, had *job) {
	x, site := &w.nodes[n], &w.site.Nodes[n]
	over := ""
	if share != nil {
		over = w.amounts.beyond(share, site, x.taken)
	}
	if x.whole != nil || share == nil && x.jobs > 0 || over != "" {
		holder := "others"
		if x.whole != nil {
			holder = fmt.Sprintf("job %d", x.whole.ID)
		}
		w.fail(5, j, strings.TrimSpace(over+fmt.Sprintf(" of node %s, which %s hold", site.Name, holder)), "what no job holds of nodes")
	}
	if x.state != model.Ready && !holds(&had.held, n) {
		w.fail(15, j, "node "+site.Name+", which is "+x.state.String(), "nodes that are READY")
	}
	where := ""
	switch c := &w.site.Constraints[j.Constraint]; {
	case !c.Holds(n, site):
		where = "its constraints"
	case j.Partition >= 0 && !w.site.Partitions[j.Partition].Nodes.Has(n):
		where = "its partition " + w.site.Partitions[j.Partition].Name
	case j.Reservation >= 0 && !w.site.Reservations[j.Reservation].Nodes.Has(n):
		where = "its reservation " + w.site.Reservations[j.Reservation].Name
	}
	if where != "" {
		w.fail(17, j, "node "+site.Name, "nodes of "+where)
	}
	if site.Home < 0 || site.Home == j.VCluster {
		return
	}
	if !borrowed || !w.site.VClusters[j.VCluster].Borrow || !w.site.VClusters[site.Home].Lend || !j.Preemptible() {
		w.fail(18, j, "node "+site.Name+" at home in vCluster "+w.site.VClusters[site.Home].Name,
			"nodes of its own vCluster or of none, or idle ones of a lender for preemptible work of a borrower")
	}
}

func holds(p *model.Placement, n model.NodeID) bool {
	for m := range each(p) {
		if m == n {
			return true
		}
	}
	return false
}

// conform checks invariant 20.
func (w *Watcher) conform(j *job, had *job) {
	print := int32(-2)
	for n := range each(&j.held) {
		f := w.site.Nodes[n].Fingerprint
		if f < 0 || print != -2 && f != print {
			w.fail(20, j, fmt.Sprintf("node %s of fingerprint %d for sensitive work", w.site.Nodes[n].Name, f), "nodes of one known fingerprint")
			break
		}
		print = f
	}
	if pool := w.pool; pool > 0 && j.nodes > had.nodes && w.sensitive+j.nodes > pool {
		w.fail(20, j, fmt.Sprintf("%d nodes of sensitive work", w.sensitive+j.nodes), fmt.Sprintf("at most %d", pool))
	}
}

// lending checks invariant 19 for the lenders of j, which is booked.
func (w *Watcher) lending(j *job) {
	for v := range w.lent {
		if most := w.site.VClusters[v].Lendable(w.homes[v]); w.lent[v] > most {
			for n := range each(&j.held) {
				if w.site.Nodes[n].Home == model.VClusterID(v) && j.VCluster != model.VClusterID(v) {
					w.fail(19, j, fmt.Sprintf("%d nodes lent by vCluster %s", w.lent[v], w.site.VClusters[v].Name), fmt.Sprintf("at most %d", most))
					break
				}
			}
		}
	}
}

// limits checks what bounds the start of a job beside its nodes: invariants 21
// to 24.
func (w *Watcher) limits(j *job, had *job) {
	if had.nodes == 0 || j.nodes > had.nodes || j.milli > had.milli {
		if number, found, expected := w.bound(j, j.nodes, had, false); number > 0 {
			w.fail(number, j, found, expected)
		}
	}
	for _, b := range []struct {
		name, unit   string
		budget       *budget
		request, had int64
		beside       int64
	}{{"power", "W", &w.power, j.power, had.power, w.idleBeside(j)}, {"storage bandwidth", "B/s", &w.bandwidth, j.io, had.io, 0}} {
		if b.budget.cap > 0 && b.request > b.had && b.budget.used+b.beside+b.request > b.budget.cap {
			w.fail(24, j, fmt.Sprintf("%s of %d %s", b.name, b.budget.used+b.beside+b.request, b.unit), fmt.Sprintf("at most %d", b.budget.cap))
		}
	}
}

// bound says which hard limit j would exceed on n nodes, by the number of its
// invariant, 0 for none. had is what it held until now when it runs already, else nothing;
// flying says that what proposals under way take counts as well.
func (w *Watcher) bound(j *job, n int32, had *job, flying bool) (number int, found, expected string) {
	more, runs := int32(1), had.nodes > 0
	if runs {
		more = 0
	}
	fresh, milli := func(*tally) int32 { return n }, w.mostMilli(j, n)
	if !flying { // what it gets is known
		fresh, milli = func(t *tally) int32 { return t.fresh(&j.held, n) }, j.milli
	}
	over := func(t *tally, nodes, gpus, jobs int32, what string) bool {
		usedNodes, usedJobs, usedMilli := t.nodes+fresh(t), t.jobs+more, t.milli+milli
		if flying {
			usedNodes, usedJobs, usedMilli = usedNodes+t.flyingNodes, usedJobs+t.flyingJobs, usedMilli+t.flyingMilli
		}
		grows := usedNodes > t.nodes+t.fresh(&had.held, had.nodes)
		if nodes > 0 && grows && usedNodes > nodes || jobs > 0 && more > 0 && usedJobs > jobs || gpus > 0 && milli > had.milli && usedMilli > model.WholeGPU*int64(gpus) {
			found = fmt.Sprintf("%d nodes, %d thousandths of GPUs and %d jobs of its %s", usedNodes, usedMilli, usedJobs, what)
			expected = fmt.Sprintf("at most %d nodes, %d GPUs and %d jobs, where 0 is no limit", nodes, gpus, jobs)
			return true
		}
		return false
	}
	if j.Tenant >= 0 {
		a := &w.tenants[j.Tenant]
		if over(&a.tally, a.limits.MaxNodes, a.limits.MaxGPUs, a.limits.MaxConcurrent, "tenant") {
			return 21, found, expected
		}
	}
	if j.QOS >= 0 {
		q := &w.site.QOS[j.QOS]
		if q.MaxNodes > 0 && n > q.MaxNodes {
			return 22, fmt.Sprintf("%d nodes", n), fmt.Sprintf("at most %d of a job of QOS %s", q.MaxNodes, q.Name)
		}
		if q.MaxGPUs > 0 && milli > model.WholeGPU*int64(q.MaxGPUs) {
			return 22, fmt.Sprintf("%d thousandths of GPUs", milli), fmt.Sprintf("at most %d GPUs of a job of QOS %s", q.MaxGPUs, q.Name)
		}
		if over(&w.qos[j.QOS], q.GroupNodes, q.GroupGPUs, q.GroupJobs, "QOS") || j.User >= 0 && over(w.user(j), q.UserNodes, q.UserGPUs, q.UserJobs, "QOS and user") {
			return 22, found, expected
		}
	}
	if j.Partition >= 0 {
		p := &w.site.Partitions[j.Partition]
		if !p.Up || n < p.MinNodes || p.MaxNodes > 0 && n > p.MaxNodes {
			return 22, fmt.Sprintf("%d nodes of partition %s, which is up: %t", n, p.Name, p.Up), fmt.Sprintf("that it is up, and %d to %d nodes", p.MinNodes, p.MaxNodes)
		}
	}
	if t := w.groups[j.TaskGroup]; j.TaskGroup >= 0 && t != nil && over(t, 0, 0, j.MaxConcurrent, "task group") {
		return 23, found, expected
	}
	if t := w.sessions[j.User]; j.Kind == model.Session && j.User >= 0 && t != nil && over(t, 0, 0, w.site.UserSessions, "user, sessions,") {
		return 22, found, expected
	}
	for _, d := range j.Deps {
		if t := w.locks[d.Mutex]; d.Condition == model.Mutex && t != nil && !runs && over(t, 0, 0, 1, "mutex") {
			return 23, found, expected
		}
	}
	return 0, "", ""
}

// mostMilli is the most that j may take of GPUs on n nodes, in thousandths.
func (w *Watcher) mostMilli(j *job, n int32) int64 {
	if j.Divides() {
		return int64(n) * (model.WholeGPU*int64(j.GPUs) + int64(j.GPUMilli))
	}
	return model.WholeGPU * int64(n) * int64(w.mostGPUs)
}

// waitsFor checks that the dependencies of j hold: invariant 26.
func (w *Watcher) waitsFor(j *job) {
	for _, d := range j.Deps {
		if d.Condition != model.Mutex && !w.holdsNow(j, d) {
			w.fail(26, j, fmt.Sprintf("a start while the job of row %d is %s", d.On, w.where(d.On)), "the condition "+d.Condition.String()+" on it")
		}
	}
}

func (w *Watcher) where(id model.JobID) model.JobState {
	if j := w.jobs[id]; j != nil {
		return j.state
	}
	return w.outcome(id)
}

func (w *Watcher) holdsNow(j *job, d model.Dependency) bool {
	out := w.outcome(d.On)
	switch d.Condition {
	case model.AfterOK:
		return out == model.Completed
	case model.AfterNotOK:
		return out == model.Failed || out == model.Timeout || out == model.Rejected
	case model.AfterCorr:
		on := w.gone(d.On)
		if o := w.jobs[d.On]; o != nil {
			on.group, on.index = o.TaskGroup, o.Index
		} else if out == model.Pending {
			return false
		}
		return out == model.Completed || on.group >= 0 && j.TaskGroup >= 0 && on.index != j.Index
	}
	return out != model.Pending
}

// preemption checks a proposal to preempt: how many victims, and for which job.
func (w *Watcher) preemption(x *flight, p *model.Proposal) {
	if id, ok := w.refs[p.Victim]; ok {
		x.victim = w.jobs[id]
	}
	if p.Reason == model.ReasonPower && x.victim == x.job {
		return // the quorum says whether it may be
	}
	w.causing(x.job, true)
	policy := &w.cfg.Policies[x.job.VCluster]
	if x.job.state == model.Running && !(x.job.Scaled && x.job.nodes < x.job.due()) {
		w.fail(25, x.job, "others are to leave for it while it runs", "that it waits, or is a scaled service with fewer nodes than it is to have")
	}
	if w.pass.cause != x.job {
		w.pass.cause, w.pass.victims = x.job, 0
	}
	if w.pass.victims++; !policy.Preempts || w.pass.victims > policy.MaxVictims {
		w.fail(25, x.job, fmt.Sprintf("%d victims for it in one pass", w.pass.victims), fmt.Sprintf("at most %d, and none where preemption is off", policy.MaxVictims))
	}
}

// byQOS says whether the quality of service of a preempts that of b, and not the other way round.
func (w *Watcher) byQOS(a, b *job) bool {
	preempts := func(x, y *job) bool {
		return x.QOS >= 0 && y.QOS >= 0 && slices.Contains(w.site.QOS[x.QOS].PreemptsQOS, y.QOS)
	}
	return preempts(a, b) && !preempts(b, a)
}

// preempted checks invariant 25.
func (w *Watcher) preempted(j *job, f *model.Fact) {
	x := w.flight(f)
	w.become(j, model.Checkpointing)
	j.preempted = true
	if x == nil || x.kind != model.ProposePreempt || x.victim != j {
		w.fail(6, j, fmt.Sprintf("it is preempted by proposal %d", f.Seq), "a proposal to preempt it")
		return
	}
	cause := x.job
	if cause == j {
		w.shed(j)
		return
	}
	reclaims := false
	for n := range each(&j.held) {
		reclaims = reclaims || w.site.Nodes[n].Home == cause.VCluster && j.VCluster != cause.VCluster
	}
	takes, gives := w.byQOS(cause, j), w.byQOS(j, cause)
	outranks := cause.IsSensitive() || takes || j.Class < cause.Class && !gives
	waits := cause.state == model.Pending || cause.state == model.Running && cause.Scaled
	if !waits || !j.Preemptible() || !reclaims && !outranks {
		w.fail(25, j, fmt.Sprintf("it is preempted, of class %d, for job %d of class %d, which is %s", j.Class, cause.ID, cause.Class, cause.state),
			"preemptible work of a lower class, or on borrowed nodes, or sensitive work that takes them, for a job that waits or a scaled service that lacks nodes")
	}
}
