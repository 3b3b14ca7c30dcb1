package service

import (
	"orrery/autoscale"
	"orrery/scheduler/model"
	"orrery/sim/des"
	"orrery/sim/service/demand"
)

// Hosted is a service whose replicas run on what a cluster gives it, which has other work
// too. It says how many replicas it wants; what it is given, and what is taken from it, is
// told to it. Its clock moves by Step alone. Instants count from the beginning of its demand.
type Hosted struct {
	s *Sim
	want
	Taken int64 // replicas that were taken back while they served or started
}

// want is what the policy wants beyond what the service has.
type want struct {
	more    int64 // replicas that are outstanding
	asked   int64 // by the proposal seq
	seq     uint64
	level   bool  // seq set a size, which stays wanted when it is refused; a step does not
	waits   bool  // seq has no result yet
	fresh   bool  // seq is to be answered, and the cluster has not been asked
	refused bool  // the cluster did not have as many
	away    bool  // the service has lost its place, or never had one
	back    bool  // it had one before
	limited bool  // the policy has been told a limit
	limit   int64 // that it was told last
}

// NewHosted makes a service that has no place yet. Of the supply of cfg the start, the limit
// and the latency are for the cluster to say.
func NewHosted(cfg Config, d *demand.Demand, p autoscale.Policy) (*Hosted, error) {
	cfg.Supply.Start, cfg.Supply.Limit, cfg.Supply.Latency = 0, 0, 0
	s, err := New(cfg, d, p, nil)
	if err != nil {
		return nil, err
	}
	h := &Hosted{s: s, want: want{away: true}}
	s.host = h
	return h, s.begin()
}

// Next is the instant at which something happens next if nothing is told to it; Never from
// the end of the demand on.
func (h *Hosted) Next() model.Time {
	if at := h.s.queue.Next(); at < h.s.demand.End {
		return at
	}
	return model.Never
}

// End is the end of the demand.
func (h *Hosted) End() model.Time { return h.s.demand.End }

// Step lets happen what is due at now, round by round.
func (h *Hosted) Step(now model.Time) {
	for h.s.queue.Next() <= now && now < h.s.demand.End {
		h.s.instant(now)
	}
}

// Wanted is how many replicas the service is to have, with those that drain and still need
// their place, and whether the cluster is to be asked for them: Asked says that it was.
func (h *Hosted) Wanted() (replicas int64, answer bool) { return h.s.fleet.held() + h.more, h.fresh }

// Asked says that the cluster was asked for what is wanted. Resized or Unmet answer.
func (h *Hosted) Asked() { h.fresh = false }

// NoLimit is what a tenant without a limit may have.
const NoLimit = autoscale.NoLimit

// Limited tells how many replicas more its tenant may have, or NoLimit. The policy
// hears of it with what it is told next.
func (h *Hosted) Limited(more int64) {
	if h.limited && h.limit == more || !h.limited && more == NoLimit {
		return
	}
	h.limited, h.limit = true, more
	h.s.facts = append(h.s.facts, autoscale.Fact{Kind: autoscale.FactLimit, N: more, Entity: autoscale.Whole})
}

// Resized tells that the service has place for so many replicas from now on.
func (h *Hosted) Resized(now model.Time, replicas int64, reclaimed bool) {
	s := h.s
	s.advance(now)
	n := replicas - s.fleet.held()
	if !h.away {
		n = min(n, h.more) // what is more than it wants goes back
	} else {
		h.away = false
		if h.back { // as after a start
			s.facts = append(s.facts, autoscale.Fact{Kind: autoscale.FactResumed, N: replicas, Entity: autoscale.Whole})
		}
		h.back, s.planning = true, true
		s.push(now, des.RankScaling, 0, 0) // its policy looks at it at once
	}
	for range n {
		s.order(now)
	}
	if n < 0 {
		h.take(now, -n)
		if reclaimed {
			s.facts = append(s.facts, autoscale.Fact{Kind: autoscale.FactReclaimed, N: -n, Entity: autoscale.Whole})
		}
	}
	if n > 0 {
		s.out.Ups++
		h.more = max(0, h.more-n)
	}
	if h.waits && h.more == 0 {
		h.result(autoscale.Accepted)
	}
	s.tell(now)
}

// Unmet tells that the cluster does not have what is outstanding. A step is withdrawn by
// that, and its policy takes it again; a size stays wanted.
func (h *Hosted) Unmet(now model.Time) {
	h.refused = true
	if !h.waits {
		return
	}
	outcome := autoscale.Accepted
	if h.more >= h.asked {
		outcome = autoscale.Rejected
		h.s.out.Rejected++
	}
	h.result(outcome)
	if !h.level {
		h.more = 0
	}
	h.s.tell(now)
}

// Leaving tells that the service is to lose its place: its replicas take no new work.
func (h *Hosted) Leaving(now model.Time) {
	if h.away {
		return
	}
	h.s.advance(now)
	h.away, h.fresh = true, false
	h.s.facts = append(h.s.facts, autoscale.Fact{Kind: autoscale.FactSuspended, Entity: autoscale.Whole})
	for i := range h.s.fleet.list {
		if h.s.removable(int32(i)) {
			h.s.leave(now, int32(i))
		}
	}
	h.s.plan(now) // so that the policy withdraws what is in flight
	h.supersede()
	h.more = 0
	h.s.tell(now)
}

// supersede answers the proposal that has no result yet, for it will have none.
func (h *Hosted) supersede() {
	if h.waits {
		h.result(autoscale.Superseded)
	}
}

// Gone tells that it has lost its place; what its replicas still served is lost.
func (h *Hosted) Gone(now model.Time) {
	h.s.advance(now)
	h.Leaving(now)
	h.take(now, h.s.fleet.held())
	h.s.tell(now)
}

// Finish ends the service at now, the end of its demand or before it, and says what came of it.
func (h *Hosted) Finish(now model.Time) *Outcome {
	now = min(now, h.s.demand.End)
	h.s.advance(now)
	h.s.finish(now)
	return &h.s.out
}

// take stops replicas at once: those that drain first, then those that start, then the
// youngest.
func (h *Hosted) take(now model.Time, n int64) {
	s := h.s
	for ; n > 0; n-- {
		best := int32(-1)
		for i := range s.fleet.list {
			if k := int32(i); s.fleet.list[i].state != autoscale.Stopped && (best < 0 || s.sooner(k, best)) {
				best = k
			}
		}
		if best < 0 {
			return
		}
		if s.fleet.list[best].state != autoscale.Draining {
			h.Taken++
		}
		if s.fleet.list[best].state != autoscale.Starting {
			s.work.down(now, best)
		}
		s.stop(now, best, autoscale.Stopped)
	}
	s.out.Downs++
}

// sooner says whether replica a is taken before b.
func (s *Sim) sooner(a, b int32) bool {
	order := func(i int32) int {
		switch s.fleet.list[i].state {
		case autoscale.Draining:
			return 0
		case autoscale.Starting:
			return 1
		}
		return 2
	}
	if x, y := order(a), order(b); x != y {
		return x < y
	}
	return s.fleet.list[a].ordinal > s.fleet.list[b].ordinal
}

// resize wants another size. What is more is the cluster's to give, and has no result yet:
// false. What is less goes from what is outstanding first.
func (h *Hosted) resize(now model.Time, p *autoscale.Proposal, by int64) (done int64, answered bool) {
	h.supersede()
	if p.Verb == autoscale.Scale && by < 0 {
		less := min(h.more, -by)
		h.more -= less
		by += less
	} else if p.Verb == autoscale.SetReplicas {
		same := by > 0 && by == h.more && h.refused
		if h.more = max(0, by); same { // it stands, and was refused
			return 0, true
		}
	}
	if by <= 0 {
		return h.s.resize(now, by), true
	}
	if p.Verb == autoscale.Scale {
		h.more += by
	}
	h.seq, h.asked, h.level, h.waits, h.fresh, h.refused = p.Seq, by, p.Verb == autoscale.SetReplicas, true, true, false
	return 0, false
}

// withdraw takes back the proposal seq if it has no result yet.
func (h *Hosted) withdraw(seq uint64) {
	if h.waits && h.seq == seq {
		h.result(autoscale.Superseded)
		h.more, h.fresh = 0, false
	}
}

// result tells the policy how its proposal went.
func (h *Hosted) result(outcome autoscale.Outcome) {
	h.waits = false
	f := autoscale.Fact{Kind: autoscale.FactResult, Seq: h.seq, Entity: autoscale.Whole, Outcome: outcome}
	if outcome == autoscale.Accepted {
		if f.N = h.asked - h.more; h.level {
			f.N = h.s.fleet.size()
		}
	}
	h.s.facts = append(h.s.facts, f)
}
