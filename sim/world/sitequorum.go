package world

import (
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
)

// Submit implements drive.Quorum.
func (s *Site) Submit(now model.Time, proposals []model.Proposal, dst []model.Fact) []model.Fact {
	s.advance(now)
	for i := range proposals {
		p := &proposals[i]
		if s.warming {
			dst = append(dst, s.decide(p))
			continue
		}
		answer := now
		if s.cfg.Latency != 0 || s.cfg.Jitter != 0 {
			answer = answer.Add(s.latency(&s.lives[p.Ref]))
		}
		if answer = s.answers(answer); answer == now && s.cfg.Latency == 0 && s.cfg.Jitter == 0 {
			dst = append(dst, s.decide(p))
			continue
		}
		s.push(des.NewEvent(answer, des.RankQuorum, model.JobID(s.flown), s.board(p)))
		s.flown++
	}
	return dst
}

// answers is the first instant from t on that is in no outage of the quorum.
// Cost: the outages.
func (s *Site) answers(t model.Time) model.Time {
	for _, o := range s.cfg.Outages {
		if o.From <= t {
			t = max(t, o.Until)
		}
	}
	return t
}

// board copies a proposal into a row of flights, which it returns in the place
// of an event's ref.
func (s *Site) board(p *model.Proposal) model.Ref {
	row := model.Ref(len(s.flights))
	if n := len(s.landed); n > 0 {
		row = s.landed[n-1]
		s.landed = s.landed[:n-1]
	} else {
		s.flights = append(s.flights, flight{})
	}
	f, l := &s.flights[row], &s.lives[p.Ref]
	placement := f.Placement // keeps its space
	placement.Set(&p.Placement)
	f.Proposal = *p
	f.Placement = placement
	if f.keepsJob = l.present && l.rec.Job == p.Job; f.keepsJob {
		l.flying++
	}
	if f.keepsVictim = p.Kind == model.ProposePreempt && s.lives[p.Victim].present; f.keepsVictim {
		s.lives[p.Victim].flying++
	}
	return row
}

// land lets go of a ref that a proposal kept.
func (s *Site) land(ref model.Ref) {
	l := &s.lives[ref]
	if l.flying--; !l.present && l.flying == 0 {
		s.vacated = append(s.vacated, ref)
	}
}

func (s *Site) latency(l *life) model.Duration {
	d := s.cfg.Latency
	if s.cfg.Jitter > 0 {
		src := draw.New(s.cfg.Seed, latencyStream, uint64(l.rec.Job), uint64(l.tries))
		d += model.Duration(src.IntN(int64(s.cfg.Jitter) + 1))
	}
	l.tries++
	return d
}

// answer lets the quorum decide a proposal that was under way. A job that left
// in the meantime has waited for its refusal.
func (s *Site) answer(row model.Ref) {
	f := &s.flights[row]
	if f.keepsJob {
		s.land(f.Ref)
	}
	if f.keepsVictim {
		s.land(f.Victim)
	}
	s.facts = append(s.facts, s.decide(&f.Proposal))
	s.landed = append(s.landed, row)
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
	l := &s.lives[f.Ref]
	switch f.Kind {
	case model.FactAssigned, model.FactRestored:
		l.seq, l.rec.State = p.Seq, model.Running // a withdrawal at this instant comes too late
	case model.FactPreempted:
		s.preempt(f.Ref, f.Reason)
	case model.FactCancelled:
		s.queue(l, -1)
		l.rec.State, l.rec.Reason, l.rec.Runtime = model.Cancelled, f.Reason, l.kept
		s.gone(f.Ref)
	}
	return f
}

// resize books what a running job holds anew when the quorum grants it other
// nodes. Nodes that it leaves are looked at in the next round of the instant.
func (s *Site) resize(p *model.Proposal) model.Fact {
	l := &s.lives[p.Ref]
	runs := l.present && (l.rec.State == model.Running || l.rec.State == model.Checkpointing)
	s.freed = s.freed[:0]
	if runs {
		s.freed = appendNodes(s.freed, s.quorum.Held(p.Ref), nil)
		s.hold(p.Ref, -1)
	}
	f := s.quorum.Decide(p)
	if f.Kind == model.FactResized {
		s.State.Resized++
	}
	if runs {
		l.holds = s.measure(p.Ref, l.alloc)
		l.rec.Nodes = l.holds.nodes
		s.hold(p.Ref, 1)
		s.lookAt(l.alloc.IsSensitive())
	}
	return f
}

// requeue books what the quorum does with a running job whose processes are
// gone: it begins anew.
func (s *Site) requeue(p *model.Proposal) model.Fact {
	l := &s.lives[p.Ref]
	s.freed = s.freed[:0]
	if state, ok := s.quorum.StateOf(p.Ref); ok && state == model.Running && l.rec.Job == p.Job && l.alloc.VCluster == p.VCluster {
		s.freed = appendNodes(s.freed, s.quorum.Held(p.Ref), nil)
		s.again(p.Ref, p.Reason)
		s.lookAt(l.alloc.IsSensitive())
	}
	return s.quorum.Decide(p)
}

// lookAt has the freed nodes that nobody holds any more looked at in the next
// round: they may have to be wiped, or count as drained.
func (s *Site) lookAt(sensitive bool) {
	for _, id := range s.freed {
		if n := &s.nodes[id]; !s.occupied(id) && (sensitive || n.state == model.Draining) {
			n.dirty = sensitive
			s.push(des.NewEvent(s.now, des.RankNodeDown, model.JobID(id), byLeaving))
		}
	}
}
