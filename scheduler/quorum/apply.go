package quorum

import "orrery/scheduler/model"

// Apply commits a fact that did not come from a proposal. The states of nodes
// are what the log says they are; a contradiction about jobs, such as an end of
// one that does not run, is a fault of the caller and panics.
func (s *Site) Apply(f *model.Fact) {
	switch f.Kind {
	case model.FactSubmitted:
		s.enter(f)
	case model.FactCancelled:
		s.withdraw(f.Ref, f.Job)
	case model.FactEnded:
		if !f.Outcome.Terminal() {
			panic("quorum: end in a state that is none")
		}
		s.vacate(f.Ref, f.Job, f.Outcome)
		s.jobs.At(f.Ref).known = false
	case model.FactSuspended:
		s.vacate(f.Ref, f.Job, model.Suspended)
		s.jobs.At(f.Ref).become(model.Pending)
	case model.FactRequeued:
		s.vacate(f.Ref, f.Job, model.Failed)
		s.jobs.At(f.Ref).become(model.Pending)
	case model.FactReleased:
		s.jobUnder(f.Ref, f.Job).onHold = false
	case model.FactNode:
		s.setState(f.Node, f.State)
	case model.FactLimits:
		s.tenants[f.Tenant].limits = *f.Limits
	case model.FactPower:
		s.power.limit = f.Value
	case model.FactBandwidth:
		s.bandwidth.limit = f.Value
	case model.FactSensitivePool:
		s.pool = int32(f.Value)
	case model.FactPrice, model.FactCheckpointed, model.FactDemand, model.FactUnmet, model.FactGone: // nothing that is checked
	default:
		panic("quorum: a " + f.Kind.String() + " fact answers a proposal and is decided, not applied")
	}
}

func (s *Site) enter(f *model.Fact) {
	s.jobs.Reach(f.Ref)
	j, a := s.jobs.At(f.Ref), f.Alloc
	switch {
	case j.known:
		panic("quorum: submission under a ref that is in use")
	case a == nil || a.Job != f.Job:
		panic("quorum: submission without its allocation")
	case int(a.Tenant) >= len(s.tenants) || int(a.VCluster) >= len(s.homes):
		panic("quorum: submission for a tenant or a vCluster that the site does not have")
	}
	j.Allocation, j.onHold, j.state, j.known, j.holding = a, a.Hold, model.Pending, true, s.none
}

func (s *Site) jobUnder(ref model.Ref, id model.JobID) *jobState {
	if !s.present(ref) || s.jobs.At(ref).Job != id {
		panic("quorum: a fact about a job that is not in the system under this ref")
	}
	return s.jobs.At(ref)
}

func (j *jobState) become(next model.JobState) {
	if !j.state.CanBecome(next) {
		panic("quorum: a " + j.state.String() + " job cannot become " + next.String())
	}
	j.state = next
}

// withdraw takes out a job that waits.
func (s *Site) withdraw(ref model.Ref, id model.JobID) {
	j := s.jobUnder(ref, id)
	if j.state != model.Pending {
		panic("quorum: withdrawal of a job that does not wait")
	}
	j.become(model.Cancelled)
	j.known = false
}

// vacate takes a job that runs, or is leaving, off its nodes.
func (s *Site) vacate(ref model.Ref, id model.JobID, next model.JobState) {
	j := s.jobUnder(ref, id)
	if j.state == model.Pending {
		panic("quorum: end of a job that does not run")
	}
	j.become(next)
	s.release(ref)
	s.memory.Put(&j.held)
	s.spare.Give(j.holding)
	j.holding = s.none
}
