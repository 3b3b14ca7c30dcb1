package watch

import (
	"cmp"
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// forecast is what is predicted to be free of nodes and caps for a blocked job at some
// instant, when each job leaves at the predicted end.
type forecast struct {
	head  *job
	nodes int32 // free as a whole, of those that it may use
	// Where it matters which nodes these are: the GPUs of each that no job holds, a
	// node without any counting as one of one GPU.
	detailed         bool
	free             []uint64
	amounts          *amounts // held of each, nil where shares are of GPUs alone
	power, bandwidth int64    // in use
	leaves           []leave
}

// leave is a job that holds nodes now, and its predicted end.
type leave struct {
	at        model.Time
	job       *job
	placement *model.Placement
	power, io int64
}

// full is all of a node.
func full(n *model.Node) uint64 {
	if n.GPUs >= 64 {
		return ^uint64(0)
	}
	return 1<<max(1, n.GPUs) - 1
}

// give counts a placement as free, and take as held.
func (w *Watcher) give(p *model.Placement, take bool) {
	f := &w.pass.forecast
	n := w.counted(p)
	if take {
		n = -n
	}
	if f.nodes += n; !f.detailed {
		return
	}
	for n, share := range each(p) {
		gpus := full(&w.site.Nodes[n])
		if share != nil {
			if gpus = share.GPUs; share.GPUMilli > 0 {
				gpus = 0
			}
			sign := int32(-1)
			if take {
				sign = 1
			}
			f.amounts.add(share, sign)
		} else if f.amounts != nil { // a whole node has no room for shares without GPUs either
			f.amounts.shut(n, take)
		}
		if take {
			f.free[n] &^= gpus
		} else {
			f.free[n] |= gpus
		}
	}
}

// counted is the number of nodes of p that the blocked job could use.
func (w *Watcher) counted(p *model.Placement) int32 {
	n, own := 0, w.own(w.pass.forecast.head)
	for _, x := range p.Words {
		n += bits.OnesCount64(x.Mask & own[x.Word] & w.ready[x.Word])
	}
	return int32(n)
}

// lay sets the forecast for h to now: what runs and what its vCluster has proposed
// holds its nodes; of what others have proposed only power and bandwidth are known.
func (w *Watcher) lay(h *job) {
	f := &w.pass.forecast
	f.head, f.free, f.nodes, f.leaves = h, f.free[:0], 0, f.leaves[:0]
	if f.detailed = w.cfg.Shared || h.IsSensitive() || len(w.site.Reservations)+len(w.promises.list) > 0; f.detailed {
		for i := range w.site.Nodes {
			f.free = append(f.free, full(&w.site.Nodes[i]))
		}
		if f.amounts == nil {
			f.amounts = newAmounts(w.site)
		} else {
			f.amounts.clear()
		}
	}
	for i, m := range w.own(h) {
		f.nodes += int32(bits.OnesCount64(m & w.ready[i]))
	}
	f.power, f.bandwidth = w.power.used, w.bandwidth.used
	holds := func(l leave) {
		if l.at <= w.now {
			l.at = w.now.Add(model.Second)
		}
		f.leaves = append(f.leaves, l)
		w.give(l.placement, true)
	}
	for _, j := range w.pass.running {
		holds(leave{j.start.Add(j.left), j, &j.held, j.power, j.io})
	}
	for o, list := range w.pass.waiting {
		for _, j := range list {
			if j.flying == nil {
				continue
			}
			p := &j.flying.placement
			l := leave{j.flying.made.Add(j.left), j, p, w.site.Draw(&j.Allocation, p), j.Demand(p.Nodes())}
			f.power, f.bandwidth = f.power+l.power, f.bandwidth+l.io
			if model.VClusterID(o) == h.VCluster {
				holds(l)
			}
		}
	}
	for _, j := range w.pass.running {
		if j.resize == nil {
			continue
		}
		power, io := w.adds(&j.resize.more) // of which it is not predicted when it comes free
		f.power, f.bandwidth = f.power+power, f.bandwidth+io
		if j.VCluster == h.VCluster {
			w.give(&j.resize.more.nodes, true)
		}
	}
	slices.SortFunc(f.leaves, func(a, b leave) int { //detlint:total ids of jobs end it
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.job.Job, b.job.Job))
	})
}

// reserved is the reservation of the blocked job h under EASY: the earliest instant
// from now on at which it has room, Never when there is none. The forecast is left
// as it is then. Cost: the running jobs, and the nodes for each of their ends.
func (w *Watcher) reserved(h *job) model.Time {
	f := &w.pass.forecast
	w.lay(h)
	for at, next := w.now, 0; ; {
		for ; next < len(f.leaves) && f.leaves[next].at <= at; next++ {
			l := &f.leaves[next]
			w.give(l.placement, false)
			f.power, f.bandwidth = f.power-l.power, f.bandwidth-l.io
		}
		if w.roomAt(h, at) {
			return at
		}
		after := model.Never
		if next < len(f.leaves) {
			after = f.leaves[next].at
		}
		for i := range w.site.Reservations { // which give nodes back as well
			if end := w.site.Reservations[i].End; end > at {
				after = min(after, end)
			}
		}
		w.heeded(h, func(_ *promise, _, end model.Time) {
			if end > at {
				after = min(after, end)
			}
		})
		if at = after; at == model.Never {
			return at
		}
	}
}

// roomBeside says whether h has room at an instant beside t as well. The forecast has
// to be that of the instant.
func (w *Watcher) roomBeside(h *job, at model.Time, t *taking) bool {
	f := &w.pass.forecast
	w.give(&t.nodes, true)
	power, io := w.adds(t)
	f.power, f.bandwidth = f.power+power, f.bandwidth+io
	return at == model.Never || w.roomAt(h, at)
}

// roomAt says whether h has room by the forecast, which is of the instant at: in
// nodes of its own vCluster or of none that nothing keeps from it, of one known
// fingerprint for sensitive work, and under the caps, with the power that it is
// reckoned with as long as its nodes are not known.
func (w *Watcher) roomAt(h *job, at model.Time) bool {
	f := &w.pass.forecast
	if power := w.reckoned(h); w.power.cap > 0 && power > 0 && f.power+power > w.power.cap {
		return false
	}
	if w.bandwidth.cap > 0 && h.IODemand > 0 && f.bandwidth+h.IODemand > w.bandwidth.cap {
		return false
	}
	if !f.detailed || !w.cfg.Shared && f.nodes < h.NodesMin {
		return f.nodes >= h.NodesMin
	}
	count, most := make([]int32, w.site.Fingerprints), int32(0)
	for i := range w.site.Nodes {
		n := &w.site.Nodes[i]
		id := model.NodeID(i)
		if f.free[i] == 0 && !w.site.Amounts || !w.ready.Has(id) || !w.own(h).Has(id) || w.keeps(h, id, at) {
			continue
		}
		if !h.Divides() && (f.free[i] != full(n) || f.amounts != nil && f.amounts.nodes[i].jobs > 0) || h.Divides() && !f.amounts.has(h, id, n, f.free[i]) {
			continue
		}
		if !h.IsSensitive() {
			most++
		} else if n.Fingerprint >= 0 {
			count[n.Fingerprint]++
			most = max(most, count[n.Fingerprint])
		}
	}
	return most >= h.NodesMin
}

// own is the nodes that j may ever use without borrowing.
func (w *Watcher) own(j *job) model.NodeSet {
	if j.own != nil {
		return j.own
	}
	j.own = model.NewNodeSet(len(w.site.Nodes))
	for i := range w.site.Nodes {
		n, node := model.NodeID(i), &w.site.Nodes[i]
		if (node.Home < 0 || node.Home == j.VCluster) && w.site.Constraints[j.Constraint].Holds(n, node) &&
			(j.Partition < 0 || w.site.Partitions[j.Partition].Nodes.Has(n)) &&
			(j.Reservation < 0 || w.site.Reservations[j.Reservation].Nodes.Has(n)) {
			j.own.Add(n)
		}
	}
	return j.own
}

// keeps says whether an advance reservation, or a promise to another job, keeps node n from
// j, if it ran from at on.
func (w *Watcher) keeps(j *job, n model.NodeID, at model.Time) (kept bool) {
	for i := range w.site.Reservations {
		r := &w.site.Reservations[i]
		switch named := !r.Maintenance && j.Reservation == model.ReservationID(i); {
		case named && r.Outside(at, at.Add(j.left)):
			return true
		case !named && at < r.End && at.Add(j.left) > r.Start && r.Nodes.Has(n):
			return true
		}
	}
	w.heeded(j, func(x *promise, from, until model.Time) {
		kept = kept || at < until && at.Add(j.left) > from && w.keptBy(x, j, n)
	})
	return kept
}

// reckoned is the power in W of j before its nodes are known: what it states, else
// that of as many of those that draw most of the nodes that it may use.
func (w *Watcher) reckoned(j *job) int64 {
	if j.Power > 0 || w.power.cap == 0 {
		return j.Power
	}
	if j.mostPower == 0 {
		for i := range w.site.Nodes {
			if w.own(j).Has(model.NodeID(i)) {
				j.mostPower = max(j.mostPower, w.site.Nodes[i].BusyPower)
			}
		}
	}
	return j.mostPower * int64(j.NodesMin)
}
