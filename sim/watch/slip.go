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
	seen     model.JobID      // jobs of rows up to this one have had their turn
	head     *job             // the first that is blocked
	skip     bool             // the pass is not one to check
	cause    *job             // for whom victims were last asked for
	victims  int32
	ends     []end // scratch
}

type end struct {
	at    model.Time
	nodes int32
}

func (p *pass) reset() {
	p.vcluster, p.seen, p.head, p.skip, p.cause, p.victims = -1, -1, nil, false, nil, 0
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

// setAside checks that j, proposed now, stays clear of the nodes that advance
// reservations keep for others: invariant 27.
func (w *Watcher) setAside(j *job, p *model.Placement) {
	for i := range w.site.Reservations {
		r := &w.site.Reservations[i]
		if !r.Maintenance && j.Reservation == model.ReservationID(i) || w.now >= r.End || w.now.Add(j.left) <= r.Start {
			continue
		}
		if n := within(p, r.Nodes); n > 0 {
			w.fail(27, j, fmt.Sprintf("%d nodes until %s of reservation %s, which begins at %s", n, w.now.Add(j.left), r.Name, r.Start), "none")
		}
	}
}

// checked says whether reservations of vCluster v are checked: EASY in the order
// of submission, on whole nodes whose number alone decides.
func (w *Watcher) checked(v model.VClusterID) bool {
	if p := &w.cfg.Policies[v]; !p.FCFS || !p.Easy || w.cfg.Shared || w.power.cap > 0 || w.bandwidth.cap > 0 || len(w.site.Reservations) > 0 {
		return false
	}
	for i := range w.cfg.Policies {
		if w.cfg.Policies[i].Preempts {
			return false
		}
	}
	for i := range w.site.Partitions {
		if w.site.Partitions[i].Tier != w.site.Partitions[0].Tier || w.site.Partitions[i].Tier != 0 {
			return false
		}
	}
	return true
}

// behind checks that the start of j on p, proposed now, does not delay the first
// blocked job: invariant 28.
func (w *Watcher) behind(j *job, p *model.Placement) {
	s := &w.pass
	if s.vcluster != j.VCluster || j.Job <= s.seen {
		s.vcluster, s.seen, s.head = j.VCluster, -1, nil
		s.skip = !w.checked(j.VCluster) || w.clashes(j.VCluster)
	}
	// A job that grows takes nodes that those after it did not count on.
	s.skip = s.skip || p.Nodes() > j.NodesMin
	if s.skip {
		return
	}
	w.findHead(j)
	s.seen = j.Job
	if s.head == nil || s.head.IsSensitive() || j.left <= 0 {
		return
	}
	w.Slips++
	mask := w.usable(s.head)
	before := w.shadow(s.head, mask, nil, 0)
	if after := w.shadow(s.head, mask, p, j.left); after > before {
		w.fail(28, j, fmt.Sprintf("its start puts job %d off until %s", s.head.ID, after), "no later than "+before.String())
	}
}

// findHead looks for the first blocked job among those that had their turn
// between the last proposal and the one of j.
func (w *Watcher) findHead(j *job) {
	s := &w.pass
	if s.head != nil {
		return
	}
	list := s.waiting[j.VCluster]
	i, _ := slices.BinarySearchFunc(list, s.seen+1, byRow)
	for _, o := range list[i:] {
		if o.Job >= j.Job {
			return
		}
		if o.flying != nil || o.Hold || o.Eligible > w.now || !w.free(o) {
			continue
		}
		if number, _, _ := w.bound(o, o.NodesMin, false, true); number == 0 {
			s.head = o
			return
		}
	}
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
// granted to another meanwhile: then numbers do not tell who will have what.
func (w *Watcher) clashes(v model.VClusterID) bool {
	for _, j := range w.pass.waiting[v] {
		if j.flying != nil && within(&j.flying.placement, w.owned) > 0 {
			return true
		}
	}
	return false
}

// usable is the nodes that j may use without borrowing.
func (w *Watcher) usable(j *job) model.NodeSet {
	set := model.NewNodeSet(len(w.nodes))
	for i := range w.site.Nodes {
		n := &w.site.Nodes[i]
		id := model.NodeID(i)
		if w.nodes[i].state == model.Ready && (n.Home < 0 || n.Home == j.VCluster) && w.site.Constraints[j.Constraint].Holds(id, n) &&
			(j.Partition < 0 || w.site.Partitions[j.Partition].Nodes.Has(id)) {
			set.Add(id)
		}
	}
	return set
}

// shadow is when j is predicted to have room among the nodes of mask: those that
// run or were proposed leave when their requested time is over, or in a second
// where it is over already. more is a placement taken for span beside these, nil
// for none.
func (w *Watcher) shadow(j *job, mask model.NodeSet, more *model.Placement, span model.Duration) model.Time {
	s := &w.pass
	s.ends = s.ends[:0]
	free := mask.Len()
	add := func(p *model.Placement, at model.Time) {
		n := within(p, mask)
		if at <= w.now {
			at = w.now.Add(model.Second)
		}
		free -= n
		s.ends = append(s.ends, end{at, n})
	}
	for _, r := range s.running {
		add(&r.held, r.start.Add(r.left))
	}
	for _, r := range s.waiting[j.VCluster] {
		if r.flying != nil {
			add(&r.flying.placement, r.flying.made.Add(r.left))
		}
	}
	if more != nil {
		add(more, w.now.Add(span))
	}
	return room(w.now, free, j.NodesMin, s.ends)
}
