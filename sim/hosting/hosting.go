// Package hosting runs the services of a cluster file inside a replay: each is a reactive job
// of the cluster, whose size a scaling policy sets. What the policy wants becomes a demand on
// the scheduler; what the log says of the job is told to the service. It must not know how a
// scheduler decides, nor how results are shown.
package hosting

import (
	"fmt"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/scaling"
	"orrery/sim/service"
	"orrery/sim/service/demand"
)

// Config is one service of a cluster file.
type Config struct {
	Name     string
	Scaling  *profiles.Scaling // with one policy
	Recorded *demand.Demand    // nil where the demand has a shape
	Start    model.Time        // of the demand
	Length   model.Duration    // of it
	Nodes    int32             // of each replica
	Min, Max int64             // replicas
	Job      model.Allocation  // but for what the replay gives it
}

// Services are those of one replay, in the order of the cluster file. Their clocks are moved
// by Until and Collect. nil has none.
type Services struct {
	list   []hosted
	limits Limits
	of     []int32 // by ref of a job: the service that it is of, and one; 0 for others
}

// Limits is how many nodes more a running job may have by the limits of its tenant and of its
// quality of service, up to most. It is what a client reads before it asks for more.
type Limits func(ref model.Ref, most int32) int32

// Limit says who knows the limits, before the replay begins; nil for none.
func (s *Services) Limit(by Limits) {
	if s != nil {
		s.limits = by
	}
}

// hosted is one service.
type hosted struct {
	cfg    *Config
	sim    *service.Hosted
	needs  []int64
	from   model.Time // where the clock of sim is 0
	next   model.Time // when something happens in it next, or in its place; Never when it is over
	job    model.JobID
	ref    model.Ref
	phase  phase
	told   int64 // nodes of the last demand
	asked  uint64
	has    int64 // nodes
	since  model.Time
	result Result
}

// phase of a service.
type phase uint8

const (
	ahead  phase = iota // not submitted yet
	waits               // for its first place, or for another
	runs                // in its place
	leaves              // asked to give its place up
	over
)

// New makes the services of a replay that begins at begin at the earliest; seed is of what they
// draw. Those whose demand is over by then are over.
func New(list []Config, begin model.Time, seed uint64) (*Services, error) {
	if len(list) == 0 {
		return nil, nil
	}
	s := &Services{list: make([]hosted, len(list))}
	for i := range list {
		c, h := &list[i], &s.list[i]
		*h = hosted{cfg: c, from: max(c.Start, begin), told: c.Min * int64(c.Nodes)}
		p := &c.Scaling.Policies[0]
		h.result = Result{
			Name: c.Name, Policy: p.Name, ID: c.Job.ID, From: h.from, Nodes: c.Nodes, Price: c.Scaling.Service.Price, Missable: 1 - c.Scaling.Service.Goal.Share,
			Unmet: make([]int64, model.LastReason+1),
		}
		if h.next = h.from; h.from >= c.Start.Add(c.Length) {
			h.phase, h.next = over, model.Never
			continue
		}
		var err error
		if h.sim, h.needs, err = scaling.Host(c.Scaling, c.Recorded, h.from.Sub(c.Start), seed); err != nil {
			return nil, fmt.Errorf("the service %s: %w", c.Name, err)
		}
	}
	return s, nil
}

// Next is the first instant at which anything happens in a service; Never for none.
func (s *Services) Next() model.Time {
	if s == nil {
		return model.Never
	}
	at := model.Never
	for i := range s.list {
		at = min(at, s.list[i].next)
	}
	return at
}

// Until lets happen what comes before an instant, up to the first that leaves something to
// tell, which it returns; else that instant.
func (s *Services) Until(limit model.Time) model.Time {
	if s == nil {
		return limit
	}
	for {
		best := -1
		for i := range s.list {
			if at := s.list[i].next; at < limit && (best < 0 || at < s.list[best].next) {
				best = i
			}
		}
		if best < 0 {
			return limit
		}
		h := &s.list[best]
		now := h.next
		if h.phase == ahead || s.step(h, now) {
			return now
		}
	}
}

// step lets happen what is due in a service; it says whether there is something to tell.
func (s *Services) step(h *hosted, now model.Time) bool {
	if h.phase == runs && s.limits != nil {
		per, more := int64(h.cfg.Nodes), int64(service.NoLimit)
		most := h.cfg.Max*per - h.has // beyond it the bound of the service holds
		if n := int64(s.limits(h.ref, int32(max(most, 0)))); n < most {
			more = n / per
		}
		h.sim.Limited(more)
	}
	h.sim.Step(h.local(now))
	h.next = h.at(h.sim.Next())
	return h.tells()
}

// local is an instant on the clock of the service, at one of its clock.
func (h *hosted) local(now model.Time) model.Time { return now - h.from }

func (h *hosted) at(local model.Time) model.Time {
	if local == model.Never {
		return local
	}
	return local + h.from
}

// wants is how many nodes the service is to have.
func (h *hosted) wants() (nodes int64, answer bool) {
	least, most, per := h.cfg.Min*int64(h.cfg.Nodes), h.cfg.Max*int64(h.cfg.Nodes), int64(h.cfg.Nodes)
	if h.phase != runs {
		return least, false
	}
	replicas, answer := h.sim.Wanted()
	return min(max(replicas*per, least), most), answer
}

// tells says whether there is a demand to tell.
func (h *hosted) tells() bool {
	nodes, answer := h.wants()
	return h.phase != leaves && (nodes != h.told || answer)
}

// Submit is a service that is to be submitted now: its job and when it ends; nil for none.
func (s *Services) Submit(now model.Time) (job *model.Allocation, end model.Time) {
	if s == nil {
		return nil, 0
	}
	for i := range s.list {
		if h := &s.list[i]; h.phase == ahead && h.next <= now {
			return &h.cfg.Job, h.cfg.Start.Add(h.cfg.Length)
		}
	}
	return nil, 0
}

// Submitted says that the job was submitted under ref, or rejected.
func (s *Services) Submitted(now model.Time, job model.JobID, ref model.Ref, rejected model.Reason) {
	for i := range s.list {
		h := &s.list[i]
		if h.cfg.Job.Job != job {
			continue
		}
		if rejected != model.ReasonNone {
			h.phase, h.next, h.result.Rejected = over, model.Never, rejected
			return
		}
		h.phase, h.job, h.ref, h.next = waits, job, ref, h.at(h.sim.Next())
		for int(ref) >= len(s.of) {
			s.of = append(s.of, 0)
		}
		s.of[ref] = int32(i + 1)
		return
	}
}

// Submissions are the services that have been submitted so far, rejected ones included.
func (s *Services) Submissions() (n int64) {
	if s == nil {
		return 0
	}
	for i := range s.list {
		if h := &s.list[i]; h.phase != ahead && h.sim != nil {
			n++
		}
	}
	return n
}

// Collect lets happen what is due at now and appends the demands that come of it to dst.
func (s *Services) Collect(now model.Time, dst []model.Fact) []model.Fact {
	if s == nil {
		return dst
	}
	for i := range s.list {
		h := &s.list[i]
		if h.phase == ahead || h.phase == over {
			continue
		}
		if h.next <= now {
			s.step(h, now)
		}
		if !h.tells() {
			continue
		}
		nodes, answer := h.wants()
		f := model.Fact{Kind: model.FactDemand, Job: h.job, Ref: h.ref, Value: nodes}
		if answer {
			h.sim.Asked()
			h.result.Demands++
			if nodes <= h.has { // it has as much as it may
				h.sim.Unmet(h.local(now))
				h.result.AtMax++
				nodes, _ = h.wants()
				f.Value = nodes
			} else {
				h.asked++
				f.Seq = h.asked
			}
		}
		if f.Seq != 0 || nodes != h.told {
			h.told, dst = nodes, append(dst, f)
		}
	}
	return dst
}

// Pending says whether Collect would find anything at now.
func (s *Services) Pending(now model.Time) bool {
	if s == nil {
		return false
	}
	for i := range s.list {
		if h := &s.list[i]; h.phase != over && (h.next <= now || h.phase != ahead && h.tells()) {
			return true
		}
	}
	return false
}

// Fact takes in what happened to a job.
func (s *Services) Fact(now model.Time, f *model.Fact) {
	if int(f.Ref) >= len(s.of) || s.of[f.Ref] == 0 {
		return
	}
	h := &s.list[s.of[f.Ref]-1]
	if h.job != f.Job {
		return
	}
	at := h.local(now)
	switch f.Kind {
	case model.FactAssigned, model.FactRestored, model.FactResized:
		before := h.sim.Taken
		h.hold(now, int64(f.Placement.Nodes()))
		h.phase = runs
		h.sim.Resized(at, h.has/int64(h.cfg.Nodes), f.Reason == model.ReasonReclaimed)
		h.result.Reclaimed += h.sim.Taken - before
	case model.FactUnmet:
		h.result.Unmet[f.Reason]++
		h.result.Lacking += f.Value
		h.sim.Unmet(at)
	case model.FactPreempted:
		h.phase = leaves
		h.result.Preempted++
		h.sim.Leaving(at)
	case model.FactSuspended, model.FactRequeued:
		h.hold(now, 0)
		before := h.sim.Taken
		h.sim.Gone(at)
		h.result.Lost += h.sim.Taken - before
		h.phase = waits
	case model.FactEnded, model.FactCancelled:
		s.of[f.Ref] = 0
		h.end(now)
		return
	default:
		return
	}
	h.next = h.at(h.sim.Next())
}

// hold notes how many nodes the service has from now on.
func (h *hosted) hold(now model.Time, nodes int64) {
	h.result.NodeTime += model.Duration(h.has * int64(now-h.since))
	h.has, h.since = nodes, now
}

// end closes the sums of a service.
func (h *hosted) end(now model.Time) {
	h.hold(now, 0)
	h.phase, h.next = over, model.Never
	h.result.close(h.sim.Finish(h.local(now)), h.needs)
}

// Results are what came of the services, those that go on included, at the end of a replay.
func (s *Services) Results(now model.Time) []Result {
	if s == nil {
		return nil
	}
	var out []Result
	for i := range s.list {
		h := &s.list[i]
		if h.phase == waits || h.phase == runs || h.phase == leaves {
			h.end(now)
		}
		out = append(out, h.result)
	}
	return out
}
