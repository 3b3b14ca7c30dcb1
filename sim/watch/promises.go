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

// promises are those of the site, oldest first, and the changes that proposals of higher
// numbers alone heed.
type promises struct {
	list []promise
	told []scheduler.Promise
	slow bool // answers come later than the proposals
}

// Passed implements drive.Recorder.
func (w *Watcher) Passed(now model.Time, p *scheduler.Plan) {
	w.hear(^uint64(0))
	w.clock(now) // a pass without facts
	for i := range p.Promises {
		x := p.Promises[i]
		x.Nodes = copied(&x.Nodes)
		w.told = append(w.told, x)
	}
}

// hear takes over the promises that the proposal of a number heeds.
func (w *Watcher) hear(seq uint64) {
	n := 0
	for ; n < len(w.told) && w.told[n].After < seq; n++ {
		w.promised(&w.told[n])
	}
	w.told = slices.Delete(w.told, 0, n)
}

// promised takes over a promise that has changed, and checks invariant 33.
func (w *Watcher) promised(x *scheduler.Promise) {
	i := slices.IndexFunc(w.promises.list, func(p promise) bool { return p.job.Job == x.Job })
	j := w.jobs[x.Job]
	switch {
	case len(x.Nodes.Words) == 0:
		if i >= 0 {
			w.promises.list = slices.Delete(w.promises.list, i, i+1)
		}
		return
	case j == nil:
		return // it has left since
	case i < 0:
		i = len(w.promises.list)
		w.promises.list = append(w.promises.list, promise{job: j, at: x.At})
	}
	p := &w.promises.list[i]
	// What idle nodes draw changes with work of other vClusters, and with it what is left of a cap.
	alone := !w.site.CountIdle || w.power.cap == 0
	if policy := &w.cfg.Policies[j.VCluster]; alone && policy.Order == fcfs && policy.Punctual && i == 0 && p.plain && !w.slow && x.At > max(p.at, w.now) && !w.overdue() {
		w.fail(33, j, "the nodes that it was promised at "+p.at.String()+" are promised at "+x.At.String(), "the same instant, or an earlier one")
	}
	p.at, p.plain, p.nodes = x.At, i == 0 && !w.tiered(), model.NewNodeSet(len(w.site.Nodes))
	for _, n := range x.Nodes.Words {
		p.nodes[n.Word] |= n.Mask
	}
	for n := range each(&x.Nodes) {
		p.plain = p.plain && w.site.Nodes[n].Home < 0 // its lender may take back what it lends
	}
}

// overdue says whether a job that runs should have left by now.
func (w *Watcher) overdue() bool {
	return slices.ContainsFunc(w.pass.running, func(j *job) bool { return j.start.Add(j.left) <= w.now })
}

// disturbed notes that what was predicted of the site does not hold any more.
func (w *Watcher) disturbed() {
	for i := range w.promises.list {
		w.promises.list[i].plain = false
	}
}

// comesFirst notes that j starts before jobs of its vCluster that have a promise, by the
// order of the queue: a limit, a dependency or a hold that is lifted, or a requeue, has
// brought a job before them that was not there when they were promised anything.
func (w *Watcher) comesFirst(j *job) {
	for i := range w.promises.list {
		x := w.promises.list[i].job
		if x.VCluster == j.VCluster && (j.Submit < x.Submit || j.Submit == x.Submit && j.Job < x.Job) {
			w.promises.list[i].plain = false
		}
	}
}

// unpromise ends the promise of a job that has started or left.
func (w *Watcher) unpromise(j *job) {
	w.promises.list = slices.DeleteFunc(w.promises.list, func(p promise) bool { return p.job == j })
}

// flies makes what j was promised that which is proposed for it.
func (w *Watcher) flies(j *job, p *model.Placement) {
	for i := range w.promises.list {
		x := &w.promises.list[i]
		if x.job != j {
			continue
		}
		clear(x.nodes)
		for n := range each(p) {
			if w.site.Nodes[n].Home != j.VCluster {
				x.nodes.Add(n)
			}
		}
		x.at = w.now
	}
}

// heeded calls f with the promises that j must heed, of jobs of other vClusters that have no
// younger one than j, and the time for which each is.
func (w *Watcher) heeded(j *job, f func(x *promise, from, until model.Time)) {
	own := slices.IndexFunc(w.promises.list, func(x promise) bool { return x.job == j })
	for i := range w.promises.list {
		if x := &w.promises.list[i]; x.job.VCluster != j.VCluster && (own < 0 || own > i) {
			from := max(x.at, w.now)
			f(x, from, from.Add(x.job.left))
		}
	}
}

// keptBy says whether the promise keeps the node from j: a lender's own jobs may have what it lends.
func (w *Watcher) keptBy(x *promise, j *job, n model.NodeID) bool {
	return x.nodes.Has(n) && w.site.Nodes[n].Home != j.VCluster
}

// keepsPromises checks that j leaves alone what others were promised: invariant 32. The
// nodes of victims that left for it are its own.
func (w *Watcher) keepsPromises(j *job, t *taking) {
	if j.caused {
		return
	}
	w.heeded(j, func(x *promise, from, until model.Time) {
		n := 0
		for node := range each(&t.nodes) {
			if w.keptBy(x, j, node) {
				n++
			}
		}
		if n > 0 && t.until > from && w.now < until {
			w.fail(32, j, fmt.Sprintf("%d nodes until %s that job %d is promised at %s", n, t.until, x.job.ID, x.at), "none")
		}
	})
}
