package site

import (
	"orrery/scheduler/ascoded"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/score"
	"orrery/scheduler/site/internal/future"
	"orrery/scheduler/site/internal/waiting"
)

// inquiry is what is found out about a vCluster to answer questions. It holds until the next call of the core, and at one
// instant.
type inquiry struct {
	pass  pass   // that proposes nothing
	call  uint64 // of the core, as factLog counts them
	own   looks
	coded *ascoded.Planner // nil where the documented mode is asked
	was   queueState       // of the vCluster while it is asked
	met   bool             // likewise of the caps

	// Each is found when it is first asked for.
	foundFirst, laidOut bool
	first               model.Ref // see ahead
	untested            []bool    // by place in the queue, nil where it is not known; see planned
	victims             []victimsFound
	yielded             []yielded
	found               choice            // of the job that is asked about
	others              choice            // of those before it
	line                []order.Candidate // memory
}

// looks is what a pass changes of its vCluster while it looks. An inquiry has its own.
type looks struct {
	scores
	reservation future.Reservation
	plan        future.Plan
	lookout     lookout
}

func newInquiry(s *Core, qs *queueState) *inquiry {
	fair := s.ledger.NewCache(len(s.site.Tenants), qs.policy.Weights[score.FairShare])
	for t := range len(s.site.Tenants) + 1 {
		fair.Enter(model.TenantID(t) - 1)
	}
	nodes := 0
	if qs.policy.plans() {
		nodes = len(s.site.Nodes)
	}
	a := &inquiry{own: looks{
		scores:      scores{terms: waiting.Terms{FairShare: fair.Share, Penalty: fair.Penalty, Inverse: fair.Inverse}, fair: fair},
		reservation: future.NewReservation(s.space.NewFree()),
		plan:        future.NewPlan(qs.policy.Window, qs.policy.ticks(), nodes),
	}}
	a.pass = newPass(s, qs)
	a.coded = codedInquiryOf(&a.pass)
	a.pass.rule = s.passes[qs.id].rule
	return a
}

// openInquiry begins questions about a vCluster, of which looks are put aside until close.
func openInquiry(s *Core, qs *queueState, now model.Time) *inquiry {
	if s.asked == nil {
		s.asked = make([]*inquiry, len(s.vclusters))
	}
	a := s.asked[qs.id]
	if a == nil {
		a = newInquiry(s, qs)
		s.asked[qs.id] = a
	}
	a.was, a.met = *qs, s.caps.Met
	o := &a.own
	qs.scores, qs.reservation, qs.plan, qs.lookout = o.scores, o.reservation, o.plan, o.lookout
	if a.call != s.calls || a.pass.now != now {
		a.begin(now)
	}
	return a
}

// close puts the vCluster back as it was.
func (a *inquiry) close() {
	s, qs := a.pass.core, a.pass.qs
	a.own = looks{qs.scores, qs.reservation, qs.plan, qs.lookout}
	*qs, s.caps.Met = a.was, a.met
}

// begin forgets what was found out before.
func (a *inquiry) begin(now model.Time) {
	s, qs := a.pass.core, a.pass.qs
	a.call, a.foundFirst, a.laidOut, a.untested, a.victims, a.yielded = s.calls, false, false, nil, a.victims[:0], a.yielded[:0]
	a.pass.begin(now)
	a.pass.scratch.gated = a.pass.scratch.gated[:0]
	a.pass.borrowable = a.pass.room().lendable()
	qs.reservation.Reset()
	s.freeze(qs)
	if a.coded != nil {
		a.coded.Look(now)
	}
}
