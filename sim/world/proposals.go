package world

import (
	"orrery/scheduler/model"
	"orrery/sim/des"
)

// Submit implements drive.Quorum.
func (s *Site) Submit(now model.Time, proposals []model.Proposal, dst []model.Fact) []model.Fact {
	s.hardware.advance(now)
	for i := range proposals {
		p := &proposals[i]
		if namesNone(p, s.jobs.Len()) {
			dst = append(dst, s.quorum.Decide(p)) // which refuses it
			continue
		}
		if s.immediate {
			dst = append(dst, s.decide(p))
			continue
		}
		answer := now
		if s.cfg.Latency != 0 || s.cfg.Jitter != 0 {
			answer = answer.Add(s.jobs.At(p.Ref).latency(s.cfg.Latency, s.cfg.Jitter, s.cfg.Seed))
		}
		if answer = s.answers(answer); answer == now && s.cfg.Latency == 0 && s.cfg.Jitter == 0 {
			dst = append(dst, s.decide(p))
			continue
		}
		var victim *job
		if p.Kind == model.ProposePreempt {
			victim = &s.jobs.At(p.Victim).job
		}
		s.push(des.NewEvent(answer, des.RankQuorum, model.JobID(s.sent), s.send(p, &s.jobs.At(p.Ref).job, victim)))
		s.sent++
	}
	s.hardware.holdCap()
	return dst
}

// answers is the first instant from t on that is in no outage of the quorum. Cost: the outages.
func (s *Site) answers(t model.Time) model.Time {
	for _, o := range s.cfg.Outages {
		if o.From <= t {
			t = max(t, o.Until)
		}
	}
	return t
}

// answer lets the quorum decide a proposal that was under way. A job that left in the meantime has waited for its
// refusal.
func (s *Site) answer(row model.Ref) {
	f := &s.proposals[row]
	if f.keepsJob {
		s.receive(f.Ref, &s.jobs.At(f.Ref).job)
	}
	if f.keepsVictim {
		s.receive(f.Victim, &s.jobs.At(f.Victim).job)
	}
	s.facts = append(s.facts, s.decide(&f.Proposal))
	s.answered = append(s.answered, row)
}

// decide commits a proposal or refuses it, and lets happen what follows.
func (s *Site) decide(p *model.Proposal) model.Fact {
	switch p.Kind {
	case model.ProposeResize:
		return s.resize(p)
	case model.ProposeRequeue:
		return s.requeue(p)
	}
	f := s.quorum.Decide(p)
	l := s.jobs.At(f.Ref)
	switch f.Kind {
	case model.FactAssigned, model.FactRestored:
		l.attempt = s.endings.newAttempt()
		l.seq, l.rec.State = p.Seq, model.Running // a withdrawal at this instant comes too late
	case model.FactPreempted:
		s.exits.begin(f.Ref, f.Reason)
	case model.FactCancelled:
		s.ledger.setWaiting(l, -1)
		l.rec.State, l.rec.Reason, l.rec.Runtime = model.Withdrawn(f.Reason), f.Reason, l.kept
		s.endings.depart(f.Ref)
	}
	return f
}

// resize enters what a running job holds anew when the quorum grants it other nodes. Nodes that it leaves are looked
// at in the next round of the instant.
func (s *Site) resize(p *model.Proposal) model.Fact {
	l := s.jobs.At(p.Ref)
	runs := l.onNodes()
	freed := s.freed[:0]
	if runs {
		freed = appendNodes(freed, s.quorum.Held(p.Ref), nil)
		s.freed = freed
		s.hardware.unplug(p.Ref)
		s.ledger.account(p.Ref, -1)
	}
	f := s.quorum.Decide(p)
	if f.Kind == model.FactResized {
		s.Meter.Resized++
	}
	if runs {
		l.holds = s.ledger.measure(p.Ref)
		l.rec.Nodes = l.holds.nodes
		s.ledger.account(p.Ref, 1)
		s.hardware.plugIn(p.Ref)
		s.hardware.redraw(l)
		s.hardware.setSpeed(p.Ref)
		s.nodes.recheck(freed, l.alloc.IsSensitive())
	}
	return f
}

// requeue enters what the quorum does with a running job whose processes are gone: it begins anew.
func (s *Site) requeue(p *model.Proposal) model.Fact {
	l := s.jobs.At(p.Ref)
	if state, ok := s.quorum.StateOf(p.Ref); ok && state == model.Running && l.rec.Job == p.Job && l.alloc.VCluster == p.VCluster {
		freed := appendNodes(s.freed[:0], s.quorum.Held(p.Ref), nil)
		s.freed = freed
		s.endings.countRequeue(p.Ref, p.Reason)
		s.nodes.recheck(freed, l.alloc.IsSensitive())
	}
	return s.quorum.Decide(p)
}
