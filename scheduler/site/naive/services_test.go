package naive_test

import (
	"cmp"
	"maps"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// wanted is how many nodes j is to have while it runs; of what is no reactive service
// as many as it has.
func (j *naiveJob) wanted() int {
	if j.Kind != model.Reactive {
		return len(j.nodes)
	}
	return int(min(max(j.demand, int64(j.NodesMin)), int64(j.NodesMax)))
}

// astray says whether j runs with other than the nodes that it is to have, or is about
// to change them.
func (j *naiveJob) astray() bool {
	return j.phase == naiveRunning && !j.leaving && (j.flight != nil || len(j.nodes) != j.wanted())
}

// grows says whether more nodes of j are in flight.
func (j *naiveJob) grows() bool { return j.flight != nil && len(j.flight.nodes) > len(j.nodes) }

// most is what counts against limits and caps: what j holds, or what it will.
func (j *naiveJob) most() *naiveChoice {
	if j.grows() {
		return j.flight
	}
	return j.has()
}

// gains is what j gets by the growth that is in flight.
func (j *naiveJob) gains() *naiveChoice {
	c := &naiveChoice{gpus: j.flight.gpus, amounts: j.Amounts}
	for _, n := range j.flight.nodes {
		if !slices.Contains(j.nodes, n) {
			c.nodes = append(c.nodes, n)
		}
	}
	return c
}

// demanded takes in that j is to have so many nodes.
func (s *naiveSite) demanded(j *naiveJob, nodes int64, seq uint64) {
	if j != nil && j.Kind == model.Reactive {
		j.demand, j.unanswered = nodes, seq
		s.vclusterOf(j).changed = true
		if j.phase == naiveRunning && len(j.nodes) >= j.wanted() {
			s.unkeep(j)
		}
	}
}

// resized takes in that j holds what was proposed for it.
func (s *naiveSite) resized(j *naiveJob) {
	if j.flight == nil {
		return // the core has proposed what the naive implementation has not: they differ
	}
	s.held[j.holding].until = s.now
	s.unkeep(j)
	j.nodes, j.gpus = j.flight.nodes, j.flight.gpus
	j.flight, j.resize = nil, 0
	j.borrowed = len(s.foreign(j, j.nodes)) > 0
	if len(j.nodes) >= j.wanted() {
		j.unanswered = 0
	}
	s.holds(j)
	s.changedForAll()
}

// services are the running services of l that are left to change, in the order of
// their ids.
func (s *naiveSite) services(l *naiveVCluster) []*naiveJob {
	var out []*naiveJob
	for _, j := range s.holders {
		if s.vclusterOf(j) == l && j.Kind == model.Reactive && j.phase == naiveRunning && !j.leaving && j.flight == nil {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b *naiveJob) int { return cmp.Compare(a.Job, b.Job) })
	return out
}

// short are those services that have too few nodes.
func (s *naiveSite) short(l *naiveVCluster) []*naiveJob {
	return slices.DeleteFunc(s.services(l), func(j *naiveJob) bool { return len(j.nodes) >= j.wanted() })
}

// shrink takes nodes off the services that have too many.
func (s *naiveSite) shrink(l *naiveVCluster) {
	for _, j := range s.jobs {
		j.behind = false // of another pass
	}
	for _, j := range s.services(l) {
		if size := j.wanted(); size < len(j.nodes) {
			s.proposeResize(j, s.stays(j, size))
		}
	}
}

// stays is what is left of j on fewer nodes.
func (s *naiveSite) stays(j *naiveJob, size int) *naiveChoice {
	if j.borrowed {
		return s.staysAtHome(j, size)
	}
	ready := s.only(j.nodes, func(n int) bool { return s.up[n] == model.Ready })
	if j.Divides() {
		rest := s.only(j.nodes, func(n int) bool { return s.up[n] != model.Ready })
		c := &naiveChoice{nodes: append(ready, rest...)[:size], gpus: map[int]uint64{}, amounts: j.Amounts}
		slices.Sort(c.nodes)
		for _, n := range c.nodes {
			c.gpus[n] = j.gpus[n]
		}
		return c
	}
	if len(ready) >= size {
		return &naiveChoice{nodes: s.chooseWhole(j, ready, size)}
	}
	return &naiveChoice{nodes: s.chooseWhole(j, j.nodes, size)}
}

func (s *naiveSite) proposeResize(j *naiveJob, c *naiveChoice) {
	j.flight = c
	s.propose(model.Proposal{Kind: model.ProposeResize, VCluster: j.VCluster, Job: j.Job, Ref: j.ref, Placement: c.placement(), Borrowed: j.Scaled && len(s.foreign(j, c.nodes)) > 0})
	j.resize = s.seq
}

// extend gives j, whose turn it is, as many as can be of the nodes that it lacks.
func (s *naiveSite) extend(l *naiveVCluster, j *naiveJob, blocked *naiveJob, shadow model.Time) {
	if j.usage != nil && !j.first() {
		return // others are leaving for it
	}
	own := func(o *naiveJob) bool { return o == j }
	s.extendOn(j, s.view(l, nil), s.borrowsMore(l, j, blocked), func(whole, more *naiveChoice) bool {
		return s.withinCaps(s.needsOn(j, whole), own) && s.mayGain(l, j, more, blocked, shadow)
	})
	j.behind = blocked != nil
}

// extendPlanned is the turn of services under conservative backfilling.
func (s *naiveSite) extendPlanned(l *naiveVCluster) {
	for _, j := range s.short(l) {
		until := s.planEnd(l, j)
		s.extendOn(j, &naiveView{free: s.throughout(l, j, s.now, until)}, false, func(whole, _ *naiveChoice) bool {
			return s.capsThroughout(l, j, s.now, until, s.needsOn(j, whole))
		})
	}
}

// extendOn proposes the largest size for j at which it finds nodes, keeps its limits
// and fits.
func (s *naiveSite) extendOn(j *naiveJob, v *naiveView, borrows bool, fits func(whole, more *naiveChoice) bool) {
	open := s.only(s.may(j), func(n int) bool { return s.mayGainNode(j, n) })
	for lacks := j.wanted() - len(j.nodes); lacks > 0; lacks-- {
		var more *naiveChoice
		if j.Divides() {
			more = s.chooseParts(v, j, open, lacks)
		} else if nodes := s.chooseWhole(j, s.idleOf(v, open), lacks); nodes != nil {
			more = &naiveChoice{nodes: nodes}
		}
		if more == nil && borrows {
			more = s.borrowMore(v, j, open, lacks)
		}
		if more == nil || !s.mayHold(j, len(j.nodes)+lacks, more) {
			continue
		}
		whole := &naiveChoice{nodes: slices.Concat(j.nodes, more.nodes), gpus: more.gpus, amounts: more.amounts}
		slices.Sort(whole.nodes)
		if j.Divides() {
			whole.gpus = maps.Clone(j.gpus)
			maps.Copy(whole.gpus, more.gpus)
		}
		if fits(whole, more) {
			s.proposeResize(j, whole)
			return
		}
	}
}

// mayGainNode says whether n is open to j, which runs, if it were free.
func (s *naiveSite) mayGainNode(j *naiveJob, n int) bool {
	return !slices.Contains(j.nodes, n) && !s.keptForOthers(j, n) && !s.setAsideBefore(j, n, s.endOf(j)) &&
		(!j.IsSensitive() || s.conformance(n) == s.conformance(j.nodes[0]))
}

// setAsideBefore says whether node n is set aside for others at some time from now to
// until.
func (s *naiveSite) setAsideBefore(j *naiveJob, n int, until model.Time) bool {
	for i := range s.st.Reservations {
		r := &s.st.Reservations[i]
		if (r.Maintenance || model.ReservationID(i) != j.Reservation) && r.Nodes.Has(model.NodeID(n)) && s.now < r.End && r.Start < until {
			return true
		}
	}
	return s.outsideNamed(j, s.now, until) || s.promisedTo(j, n, s.now, until)
}

// mayGain is the backfill rule for the nodes that j gets beside what it has.
func (s *naiveSite) mayGain(l *naiveVCluster, j *naiveJob, more *naiveChoice, blocked *naiveJob, shadow model.Time) bool {
	switch {
	case blocked == nil || l.policy.Backfill == order.FirstFit:
		return true
	case l.policy.Backfill == order.None:
		return false
	case s.endOf(j) <= shadow:
		return true
	}
	// As if it were in flight: then it is not predicted to come free.
	had := j.flight
	defer func() { j.flight = had }()
	j.flight = &naiveChoice{nodes: slices.Concat(j.nodes, more.nodes), amounts: more.amounts}
	if j.Divides() {
		j.flight.gpus = maps.Clone(j.gpus)
		maps.Copy(j.flight.gpus, more.gpus)
	}
	slices.Sort(j.flight.nodes)
	return s.roomAt(l, blocked, shadow, nil, nil)
}

// mayHold says whether j, which runs, keeps the limits on so many nodes more than it
// holds: those on jobs it meets already. more is the nodes that it gets, nil before they
// are known.
func (s *naiveSite) mayHold(j *naiveJob, size int, more *naiveChoice) bool {
	within := func(limit int32, used int) bool { return limit <= 0 || used <= int(limit) }
	most := j.most()
	extra := (size - len(most.nodes)) * s.leastOf(j)
	if more != nil {
		extra = s.milliOf(j, more)
	}
	ok := func(nodes, gpus int32, count func(*naiveJob) bool) bool {
		used, shares := s.distinct(j, count)
		fresh := size - len(most.nodes)
		if j.Divides() {
			if fresh = 0; !within(nodes, size) {
				return false
			}
			for _, n := range most.nodes {
				if !shares[n] {
					shares[n] = true
					used++
				}
			}
			for i := 0; more != nil && i < len(more.nodes); i++ {
				if !shares[more.nodes[i]] {
					fresh++
				}
			}
		} else {
			used += len(most.nodes)
		}
		milli := s.milliOf(j, most) + extra
		for _, o := range s.holders {
			if o != j && count(o) {
				milli += s.milliOf(o, o.most())
			}
		}
		return (fresh == 0 || within(nodes, used+fresh)) && (extra == 0 || gpus <= 0 || milli <= 1000*int(gpus))
	}
	fits := true
	if j.IsSensitive() {
		used := size
		for _, o := range s.holders {
			if o != j && o.IsSensitive() {
				used += len(o.most().nodes)
			}
		}
		fits = within(s.pool, used)
	}
	l := &s.limits[s.row(j.Tenant)]
	fits = fits && ok(l.MaxNodes, l.MaxGPUs, func(o *naiveJob) bool { return o.Tenant == j.Tenant })
	if j.QOS >= 0 {
		q := &s.st.QOS[j.QOS]
		fits = fits && within(q.MaxNodes, size) && ok(0, q.MaxGPUs, func(*naiveJob) bool { return false }) &&
			ok(q.GroupNodes, q.GroupGPUs, func(o *naiveJob) bool { return o.QOS == j.QOS }) &&
			(j.User < 0 || ok(q.UserNodes, q.UserGPUs, func(o *naiveJob) bool { return o.QOS == j.QOS && o.User == j.User }))
	}
	if j.Partition >= 0 {
		p := &s.st.Partitions[j.Partition]
		fits = fits && p.Up && size >= int(p.MinNodes) && (p.MaxNodes <= 0 || size <= int(p.MaxNodes))
	}
	return fits
}

// lacks says whether a service of l has fewer nodes than it is to have, proposals in
// flight counted, although its limits would allow one more.
func (s *naiveSite) lacks(l *naiveVCluster) bool {
	return slices.ContainsFunc(s.holders, func(j *naiveJob) bool {
		if s.vclusterOf(j) != l || !j.astray() {
			return false
		}
		has := len(j.nodes)
		if j.flight != nil {
			has = len(j.flight.nodes)
		}
		return has < j.wanted() && s.mayHold(j, has+1, nil)
	})
}
