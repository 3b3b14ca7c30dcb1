package watch

import (
	"fmt"
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
)

// promise is what a vCluster has promised to its first blocked job, by the log.
type promise struct {
	job   *job
	at    model.Time
	nodes model.NodeSet
	plain bool // nothing has happened since that may move it to a later instant
}

// promises are those of the site, oldest first, and the changes that proposals of higher numbers alone heed:
// invariants 32 and 33.
type promises struct {
	*base
	system  *system
	ledger  *ledger
	ranking *ranking
	list    []promise
	told    []scheduler.Promise
	slow    bool // answers come later than the proposals
}

// tell notes what a pass has promised.
func (ps *promises) tell(changed []scheduler.Promise) {
	for _, x := range changed {
		x.Nodes = copied(&x.Nodes)
		ps.told = append(ps.told, x)
	}
}

// hear takes over the promises that the proposal of a number heeds.
func (ps *promises) hear(seq uint64) {
	n := 0
	for ; n < len(ps.told) && ps.told[n].After < seq; n++ {
		ps.promised(&ps.told[n])
	}
	ps.told = slices.Delete(ps.told, 0, n)
}

// promised takes over a promise that has changed, and checks invariant 33.
func (ps *promises) promised(x *scheduler.Promise) {
	i := slices.IndexFunc(ps.list, func(p promise) bool { return p.job.Job == x.Job })
	j := ps.system.jobs[x.Job]
	switch {
	case len(x.Nodes.Words) == 0:
		if i >= 0 {
			ps.list = slices.Delete(ps.list, i, i+1)
		}
		return
	case j == nil:
		return // it has left since
	case i < 0:
		i = len(ps.list)
		ps.list = append(ps.list, promise{job: j, at: x.At})
	}
	p := &ps.list[i]
	// What idle nodes draw changes with work of other vClusters, and with it what is left of a cap.
	alone := !ps.site.CountIdle || ps.ledger.power.cap == 0
	if policy := &ps.cfg.Policies[j.VCluster]; alone && policy.Order == fcfs && policy.Punctual && i == 0 && p.plain && !ps.slow && x.At > max(p.at, ps.now) && !ps.overdue() {
		ps.fail(33, j, "the nodes that it was promised at "+p.at.String()+" are promised at "+x.At.String(), "the same instant, or an earlier one")
	}
	p.at, p.plain, p.nodes = x.At, i == 0 && !ps.ranking.tiered(), model.NewNodeSet(len(ps.site.Nodes))
	for _, n := range x.Nodes.Words {
		p.nodes[n.Word] |= n.Mask
	}
	for n := range each(&x.Nodes) {
		p.plain = p.plain && ps.site.Nodes[n].Home < 0 // its lender may take back what it lends
	}
}

// overdue says whether a job that runs should have left by now.
func (ps *promises) overdue() bool {
	return slices.ContainsFunc(ps.system.running, func(j *job) bool { return j.start.Add(j.left) <= ps.now })
}

// disturbed notes that what was predicted of the site does not hold any more.
func (ps *promises) disturbed() {
	for i := range ps.list {
		ps.list[i].plain = false
	}
}

// comesFirst notes that j starts before jobs of its vCluster that have a promise, by the order of the queue: a limit,
// a dependency or a hold that is lifted, or a requeue, has brought a job before them that was not there when they
// were promised anything.
func (ps *promises) comesFirst(j *job) {
	for i := range ps.list {
		x := ps.list[i].job
		if x.VCluster == j.VCluster && (j.Submit < x.Submit || j.Submit == x.Submit && j.Job < x.Job) {
			ps.list[i].plain = false
		}
	}
}

// unpromise ends the promise of a job that has started or left.
func (ps *promises) unpromise(j *job) {
	ps.list = slices.DeleteFunc(ps.list, func(p promise) bool { return p.job == j })
}

// flies makes what j was promised that which is proposed for it.
func (ps *promises) flies(j *job, p *model.Placement) {
	for i := range ps.list {
		x := &ps.list[i]
		if x.job != j {
			continue
		}
		clear(x.nodes)
		for n := range each(p) {
			if ps.site.Nodes[n].Home != j.VCluster {
				x.nodes.Add(n)
			}
		}
		x.at = ps.now
	}
}

// heeded calls f with the promises that j must heed, of jobs of other vClusters that have no younger one than j, and
// the time for which each is.
func (ps *promises) heeded(j *job, f func(x *promise, from, until model.Time)) {
	own := slices.IndexFunc(ps.list, func(x promise) bool { return x.job == j })
	for i := range ps.list {
		if x := &ps.list[i]; x.job.VCluster != j.VCluster && (own < 0 || own > i) {
			from := max(x.at, ps.now)
			f(x, from, from.Add(x.job.left))
		}
	}
}

// keptBy says whether the promise keeps the node from j: a lender's own jobs may have what it lends.
func (ps *promises) keptBy(x *promise, j *job, n model.NodeID) bool {
	return x.nodes.Has(n) && ps.site.Nodes[n].Home != j.VCluster
}

// keepsPromises checks that j leaves alone what others were promised: invariant 32. The nodes of victims that left
// for it are its own.
func (ps *promises) keepsPromises(j *job, t *taking) {
	if j.caused {
		return
	}
	ps.heeded(j, func(x *promise, from, until model.Time) {
		n := 0
		for node := range each(&t.nodes) {
			if ps.keptBy(x, j, node) {
				n++
			}
		}
		if n > 0 && t.until > from && ps.now < until {
			ps.fail(32, j, fmt.Sprintf("%d nodes until %s that job %d is promised at %s", n, t.until, x.job.ID, x.at), "none")
		}
	})
}
