package site

import (
	"orrery/scheduler"
	"orrery/scheduler/model"
)

// Plan makes the passes that are due at now, in the order of the vClusters, and returns
// what they decided; it is valid until the next Plan. Of several vClusters it stops behind the
// first that proposes anything. The others follow in the next plan of the instant, when
// the answers that are known at once have been observed: so vClusters that have their turn at
// one instant do not take each other's nodes.
func (s *Core) Plan(now model.Time) *scheduler.Plan {
	s.advance(now)
	s.updateBacklog(now)
	s.plan.Proposals, s.plan.Promises, s.plan.Unmet, s.plan.Passed = s.plan.Proposals[:0], s.plan.Promises[:0], s.plan.Unmet[:0], s.plan.Passed[:0]
	s.plan.Due, s.plan.QuietUntil, s.plan.Again, s.plan.More = model.Never, model.Never, false, false
	if s.nextDue <= now {
		s.admitDue()
	}
	if len(s.unwanted) > 0 {
		withdraw(s)
	}
	shed(s)
	from := s.next
	s.next = 0
	for i := from; i < len(s.vclusters); i++ {
		if s.vclusters[i].awaitsTick(now) && !s.restoring {
			continue
		}
		first := len(s.plan.Proposals)
		p := &s.passes[i]
		p.begin(now)
		switch {
		case s.restoring:
			p.run()
		case p.waking().turn():
			p.qs.lastPass = now
			p.run()
		}
		if len(s.plan.Proposals) > first && len(s.vclusters) > 1 {
			s.next, s.plan.More = i+1, true
			break
		}
	}
	for i := range s.vclusters {
		s.plan.Due = min(s.plan.Due, s.due(&s.vclusters[i], now))
	}
	s.plan.Due = min(s.plan.Due, s.nextDue)
	return &s.plan
}

// withdraw proposes to cancel the jobs that can never start, or are not to wait.
func withdraw(s *Core) {
	for _, u := range s.unwanted {
		j := &s.jobs[u.ref]
		s.seq++
		s.plan.Proposals = append(s.plan.Proposals, model.Proposal{
			Kind: model.ProposeCancel, Reason: u.why, VCluster: j.VCluster, Seq: s.seq, Job: j.Job, Ref: u.ref,
		})
	}
	s.unwanted = s.unwanted[:0]
}
