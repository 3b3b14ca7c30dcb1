package watch

import (
	"cmp"
	"fmt"
	"slices"

	"orrery/scheduler/model"
)

// pass follows the passes of the scheduler by the proposals between two facts.
type pass struct {
	waiting [][]*job // by vCluster, in order of their rows
	running []*job   // in order of their rows

	vcluster model.VClusterID // whose pass it is, -1 for none
	at       model.Time       // when
	seen     *job             // jobs up to this one in the order have had their turn
	head     *job             // the first that is blocked
	grown    bool             // a job proposed in it has more than its least nodes
	skip     bool             // the pass is not one to check
	cause    *job             // for which victims were last asked to leave
	victims  int32
	forecast
}

type end struct {
	at    model.Time
	nodes int32
}

func (p *pass) reset() {
	p.vcluster, p.seen, p.head, p.grown, p.skip, p.cause, p.victims = -1, nil, nil, false, false, nil, 0
}

func byRow(j *job, id model.JobID) int { return cmp.Compare(j.Job, id) }

func insert(list []*job, j *job) []*job {
	i, found := slices.BinarySearchFunc(list, j.Job, byRow)
	if found {
		return list
	}
	return slices.Insert(list, i, j)
}

func remove(list []*job, j *job) []*job {
	if i, found := slices.BinarySearchFunc(list, j.Job, byRow); found {
		return slices.Delete(list, i, i+1)
	}
	return list
}

func (p *pass) enter(j *job) { p.waiting[j.VCluster] = insert(p.waiting[j.VCluster], j) }
func (p *pass) leave(j *job) { p.waiting[j.VCluster] = remove(p.waiting[j.VCluster], j) }
func (p *pass) stop(j *job)  { p.running = remove(p.running, j) }
func (p *pass) start(j *job) {
	p.leave(j)
	p.running = insert(p.running, j)
}

// taking is what a job takes by a proposal, and until when by its request.
type taking struct {
	job   *job
	whole *model.Placement // all that it has then
	nodes model.Placement  // beside what it has now
	until model.Time
	wide  bool // a start on more than its least nodes
}

// starting is what j takes when it starts on p.
func (w *Watcher) starting(j *job, p *model.Placement) *taking {
	return &taking{job: j, whole: p, nodes: *p, until: w.now.Add(j.left), wide: p.Nodes() > j.NodesMin}
}

// adds is the power in W and the storage bandwidth in B/s of t beside what its job has.
func (w *Watcher) adds(t *taking) (power, io int64) {
	return max(0, w.site.Draw(&t.job.Allocation, t.whole)-t.job.power), max(0, t.job.Demand(t.whole.Nodes())-t.job.io)
}

// setAside checks that j stays clear of the nodes that advance reservations keep for
// others: invariant 27.
func (w *Watcher) setAside(j *job, t *taking) {
	for i := range w.site.Reservations {
		r := &w.site.Reservations[i]
		if !r.Maintenance && j.Reservation == model.ReservationID(i) {
			if r.Outside(w.now, t.until) {
				w.fail(27, j, fmt.Sprintf("a run until %s in reservation %s", t.until, r.Name), fmt.Sprintf("one from %s to %s", r.Start, r.End))
			}
			continue
		}
		if w.now >= r.End || t.until <= r.Start {
			continue
		}
		if n := within(&t.nodes, r.Nodes); n > 0 {
			w.fail(27, j, fmt.Sprintf("%d nodes until %s of reservation %s, which begins at %s", n, t.until, r.Name, r.Start), "none")
		}
	}
}

// checked says whether reservations of vCluster v are checked: EASY, where it can be
// told which job is first, and no nodes are kept for a job that makes others leave.
func (w *Watcher) checked(v model.VClusterID) bool {
	p := &w.cfg.Policies[v]
	if w.site.CountIdle && w.power.cap > 0 {
		return false // what idle nodes draw then is not forecast here
	}
	return p.Easy && (p.Order.known() || w.cfg.First != nil) && w.causes == 0
}

// behind checks that what j takes by the proposal of number seq does not delay the first
// blocked job: invariant 28.
func (w *Watcher) behind(j *job, t *taking, seq uint64) {
	s := &w.pass
	ordered := w.cfg.Policies[j.VCluster].Order.known()
	if s.vcluster != j.VCluster || s.at != w.now || !ordered || s.seen != nil && !w.before(s.seen, j) {
		s.vcluster, s.at, s.seen, s.head, s.grown = j.VCluster, w.now, nil, nil, false
		s.skip = !w.checked(j.VCluster) || w.clashes(j.VCluster)
	}
	if s.skip {
		return
	}
	if ordered {
		w.findHead(j)
	} else {
		w.askHead(j, seq)
	}
	s.seen = j
	s.grown = s.grown || t.wide
	if s.skip || s.head == nil || t.until <= w.now {
		return
	}
	at := w.reserved(s.head)
	if at == w.now { // it is not room that it waits for
		s.skip = true
		return
	}
	w.Slips++
	if t.until > at && !w.roomBeside(s.head, at, t) {
		w.fail(28, j, fmt.Sprintf("what it takes until %s is what job %d counts on at %s", t.until, s.head.ID, at), "that the first blocked job has room then as well")
	}
}

// askHead takes the scheduler's word for which job is blocked first, if j comes behind.
func (w *Watcher) askHead(j *job, seq uint64) {
	ref, since, ok := w.cfg.First(j.VCluster)
	if !ok || seq <= since {
		return
	}
	switch head := w.jobs[w.refs[ref]]; {
	case head == nil || head.VCluster != j.VCluster || head.state != model.Pending || head.flying != nil:
		w.fail(28, j, "a start behind a blocked job that does not wait", "one that waits in the same queue")
	default:
		w.pass.head = head
	}
}

// findHead looks for the first blocked job among those that had their turn
// between the last proposal and the one of j.
func (w *Watcher) findHead(j *job) {
	s := &w.pass
	if s.head != nil {
		return
	}
	for _, o := range s.waiting[j.VCluster] {
		if o == j || !w.before(o, j) {
			if w.cfg.Policies[j.VCluster].Order == fcfs && !w.tiered() {
				return // the list is in this order
			}
			continue
		}
		if s.seen != nil && !w.before(s.seen, o) || s.head != nil && w.before(s.head, o) {
			continue
		}
		if o.flying != nil || o.Hold || o.Eligible > w.now || !w.free(o) || w.overPool(o) {
			continue
		}
		switch number, _, _ := w.bound(o, o.NodesMin, &job{}, true); {
		case number == 0:
			s.head = o
		case s.grown: // or were there fewer nodes in flight when its turn was?
			s.skip = true
			return
		}
	}
}

// overPool says whether j would hold too many nodes for sensitive work, with what
// is in flight.
func (w *Watcher) overPool(j *job) bool {
	if w.site.SensitivePool <= 0 || !j.IsSensitive() {
		return false
	}
	n := w.sensitive + j.NodesMin
	for _, list := range w.pass.waiting {
		for _, o := range list {
			if o.flying != nil && o.IsSensitive() {
				n += o.flying.placement.Nodes()
			}
		}
	}
	for _, o := range w.pass.running {
		if o.resize != nil && o.IsSensitive() {
			n += o.resize.more.nodes.Nodes()
		}
	}
	return n > w.site.SensitivePool
}

// free says whether the dependencies of j hold.
func (w *Watcher) free(j *job) bool {
	for _, d := range j.Deps {
		if d.Condition != model.Mutex && !w.holdsNow(j, d) {
			return false
		}
	}
	return true
}

// clashes says whether a proposal of v that is under way names a node that was
// granted to another meanwhile: then it is not known which job will have what.
func (w *Watcher) clashes(v model.VClusterID) bool {
	for _, j := range w.pass.waiting[v] {
		if j.flying != nil && within(&j.flying.placement, w.owned) > 0 {
			return true
		}
	}
	for _, j := range w.pass.running {
		if j.VCluster == v && j.resize != nil && within(&j.resize.more.nodes, w.owned) > 0 {
			return true
		}
	}
	return false
}
