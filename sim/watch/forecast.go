package watch

import (
	"cmp"
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// forecast is what is predicted to be free of nodes and caps for a blocked job at some instant, when each job leaves
// at the predicted end.
type forecast struct {
	head  *job
	nodes int32 // free as a whole, of those that it may use
	// Where it matters which nodes these are: the GPUs of each that no job holds, a node without any counting as one
	// of one GPU.
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
func (s *slip) give(p *model.Placement, take bool) {
	f := &s.forecast
	n := s.counted(p)
	if take {
		n = -n
	}
	if f.nodes += n; !f.detailed {
		return
	}
	for n, share := range each(p) {
		gpus := full(&s.site.Nodes[n])
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
func (s *slip) counted(p *model.Placement) int32 {
	n, own := 0, s.ranking.own(s.forecast.head)
	for _, x := range p.Words {
		n += bits.OnesCount64(x.Mask & own[x.Word] & s.ledger.ready[x.Word])
	}
	return int32(n)
}

// lay sets the forecast for h to now: what runs and what its vCluster has proposed holds its nodes; of what others
// have proposed only power and bandwidth are known.
func (s *slip) lay(h *job) {
	f := &s.forecast
	f.head, f.free, f.nodes, f.leaves = h, f.free[:0], 0, f.leaves[:0]
	if f.detailed = s.cfg.Shared || h.IsSensitive() || len(s.site.Reservations)+len(s.promises.list) > 0; f.detailed {
		for i := range s.site.Nodes {
			f.free = append(f.free, full(&s.site.Nodes[i]))
		}
		if f.amounts == nil {
			f.amounts = newAmounts(s.site)
		} else {
			f.amounts.clear()
		}
	}
	for i, m := range s.ranking.own(h) {
		f.nodes += int32(bits.OnesCount64(m & s.ledger.ready[i]))
	}
	f.power, f.bandwidth = s.ledger.power.used, s.ledger.bandwidth.used
	holds := func(l leave) {
		if l.at <= s.now {
			l.at = s.now.Add(model.Second)
		}
		f.leaves = append(f.leaves, l)
		s.give(l.placement, true)
	}
	for _, j := range s.system.running {
		holds(leave{j.start.Add(j.left), j, &j.held, j.power, j.io})
	}
	for o, list := range s.system.waiting {
		for _, j := range list {
			if j.flying == nil {
				continue
			}
			p := &j.flying.placement
			l := leave{j.flying.made.Add(j.left), j, p, s.site.Draw(&j.Allocation, p), j.Demand(p.Nodes())}
			f.power, f.bandwidth = f.power+l.power, f.bandwidth+l.io
			if model.VClusterID(o) == h.VCluster {
				holds(l)
			}
		}
	}
	for _, j := range s.system.running {
		if j.resize == nil {
			continue
		}
		more := &j.resize.more
		power, io := s.adds(more)
		f.power, f.bandwidth = f.power+power, f.bandwidth+io
		switch {
		case j.VCluster != h.VCluster:
		case j.resize.seq > s.since: // it grew behind h, and leaves with what it gains
			holds(leave{more.until, j, &more.nodes, power, io})
		default: // of which it is not predicted when it comes free
			s.give(&more.nodes, true)
		}
	}
	slices.SortStableFunc(f.leaves, func(a, b leave) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.job.Job, b.job.Job))
	})
}

// reserved is the reservation of the blocked job h under EASY: the earliest instant from now on at which it has room,
// Never when there is none. The forecast is left as it is then. Cost: the running jobs, and the nodes for each of
// their ends.
func (s *slip) reserved(h *job) model.Time {
	f := &s.forecast
	s.lay(h)
	for at, next := s.now, 0; ; {
		for ; next < len(f.leaves) && f.leaves[next].at <= at; next++ {
			l := &f.leaves[next]
			s.give(l.placement, false)
			f.power, f.bandwidth = f.power-l.power, f.bandwidth-l.io
		}
		if s.roomAt(h, at) {
			return at
		}
		after := model.Never
		if next < len(f.leaves) {
			after = f.leaves[next].at
		}
		for i := range s.site.Reservations { // which give nodes back as well
			if end := s.site.Reservations[i].End; end > at {
				after = min(after, end)
			}
		}
		s.promises.heeded(h, func(_ *promise, _, end model.Time) {
			if end > at {
				after = min(after, end)
			}
		})
		if at = after; at == model.Never {
			return at
		}
	}
}

// roomBeside says whether h has room at an instant beside t as well. The forecast has to be that of the instant.
func (s *slip) roomBeside(h *job, at model.Time, t *taking) bool {
	f := &s.forecast
	s.give(&t.nodes, true)
	power, io := s.adds(t)
	f.power, f.bandwidth = f.power+power, f.bandwidth+io
	return at == model.Never || s.roomAt(h, at)
}

// roomAt says whether h has room by the forecast, which is of the instant at: in nodes of its own vCluster or of none
// that nothing keeps from it, of one known fingerprint for sensitive work, and under the caps, with the power that it
// is reckoned with as long as its nodes are not known.
func (s *slip) roomAt(h *job, at model.Time) bool {
	f := &s.forecast
	if power := s.reckoned(h); s.ledger.power.cap > 0 && power > 0 && f.power+power > s.ledger.power.cap {
		return false
	}
	if s.ledger.bandwidth.cap > 0 && h.IODemand > 0 && f.bandwidth+h.IODemand > s.ledger.bandwidth.cap {
		return false
	}
	if !f.detailed || !s.cfg.Shared && f.nodes < h.NodesMin {
		return f.nodes >= h.NodesMin
	}
	count, most := make([]int32, s.site.Fingerprints), int32(0)
	for i := range s.site.Nodes {
		n := &s.site.Nodes[i]
		id := model.NodeID(i)
		if f.free[i] == 0 && !s.site.Amounts || !s.ledger.ready.Has(id) || !s.ranking.own(h).Has(id) || s.keeps(h, id, at) {
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

// keeps says whether an advance reservation, or a promise to another job, keeps node n from j, if it ran from at on.
func (s *slip) keeps(j *job, n model.NodeID, at model.Time) (kept bool) {
	for i := range s.site.Reservations {
		r := &s.site.Reservations[i]
		switch named := !r.Maintenance && j.Reservation == model.ReservationID(i); {
		case named && r.Outside(at, at.Add(j.left)):
			return true
		case !named && at < r.End && at.Add(j.left) > r.Start && r.Nodes.Has(n):
			return true
		}
	}
	s.promises.heeded(j, func(x *promise, from, until model.Time) {
		kept = kept || at < until && at.Add(j.left) > from && s.promises.keptBy(x, j, n)
	})
	return kept
}

// reckoned is the power in W of j before its nodes are known: what it states, else that of as many of those that draw
// most of the nodes that it may use.
func (s *slip) reckoned(j *job) int64 {
	if j.Power > 0 || s.ledger.power.cap == 0 {
		return j.Power
	}
	if j.mostPower == 0 {
		for i := range s.site.Nodes {
			if s.ranking.own(j).Has(model.NodeID(i)) {
				j.mostPower = max(j.mostPower, s.site.Nodes[i].BusyPower)
			}
		}
	}
	return j.mostPower * int64(j.NodesMin)
}
