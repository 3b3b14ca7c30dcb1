package service

import (
	"orrery/autoscale"
	"orrery/scheduler/model"
	"orrery/sim/des"
	"orrery/sim/service/demand"
)

// worker is what a service does with requests. Its methods bring their own state up to now.
type worker interface {
	up(now model.Time, i int32)        // the replica serves from now on
	drain(now model.Time, i int32)     // it takes no new work; when it is empty the worker stops it
	down(now model.Time, i int32)      // it is gone: the work in it is lost
	begin(now model.Time) error        // the run begins
	event(now model.Time, e des.Event) // an event of rank end, expiry or submission
	settle(now model.Time)             // sums of flows are brought up to now
	finish(end model.Time)             // the run ends: what is still inside is judged
}

// Observer is told of each decision of the policy; nil for none.
type Observer func(now model.Time, d *autoscale.Decision, size int64)

// Sim is one service with its policy.
type Sim struct {
	cfg    Config
	demand *demand.Demand
	policy autoscale.Policy
	watch  Observer
	host   *Hosted // nil where the service has a platform of its own

	queue des.Queue
	batch []des.Event
	fleet fleet
	work  worker
	flow  flow // sums over time of the whole service

	scrapes  []reading // the last ones, the newest last
	taken    uint64    // scrapes so far
	delayed  []delivery
	facts    []autoscale.Fact // that the policy has not seen
	pending  []pending        // proposals on their way
	results  uint64
	wake     model.Time
	planning bool  // facts arrived that call for a plan
	occupied int64 // rooms, as far as the policy has been told

	out    Outcome
	latest model.Time // of the integration of the size
}

// flow is what goes through a service, as sums since the beginning.
type flow struct {
	Arrived, Started float64 // requests
	Waited           float64 // µs, of those that started
	Late, Lost       float64 // those beyond the goal; those that got no service
	Waiting, Inside  float64 // now: in lines, and in the service as a whole
	waiting, inside  float64 // over time, requests · µs
	at               model.Time
}

// settle brings the sums over time up to now.
func (f *flow) settle(now model.Time) {
	dt := float64(now - f.at)
	f.waiting += float64(f.Waiting * dt)
	f.inside += float64(f.Inside * dt)
	f.at = now
}

// New makes the simulation of a service under a demand and a policy, which the caller gives
// anew for each run.
func New(cfg Config, d *demand.Demand, p autoscale.Policy, watch Observer) (*Sim, error) {
	if err := cfg.validate(d); err != nil {
		return nil, err
	}
	s := &Sim{cfg: cfg, demand: d, policy: p, watch: watch, wake: model.Never}
	switch {
	case cfg.Fluid:
		s.work = &fluid{s: s}
	case cfg.Kind == Inference:
		s.work = &batches{arrivals: arrivals{s: s}}
	default:
		s.work = &lines{arrivals: arrivals{s: s}, gate: emptyLine}
	}
	return s, nil
}

// Run simulates all of the demand.
func (s *Sim) Run() (*Outcome, error) {
	end := s.demand.End
	if err := s.begin(); err != nil {
		return nil, err
	}
	for {
		now := s.queue.Next()
		if now >= end {
			break
		}
		s.instant(now)
	}
	s.advance(end)
	s.finish(end)
	return &s.out, nil
}

// begin makes the first replicas ready and schedules what recurs.
func (s *Sim) begin() error {
	s.out.Step = s.cfg.Step
	if err := s.work.begin(0); err != nil {
		return err
	}
	for range s.cfg.Supply.Start {
		i := int32(len(s.fleet.list))
		s.fleet.list = append(s.fleet.list, replica{state: autoscale.Starting, ordinal: s.fleet.boots})
		s.fleet.boots++
		s.fleet.counts[autoscale.Starting]++
		s.ready(0, i)
		s.fleet.list[i].warm = 0
	}
	s.fleet.dirty = true
	s.push(0, des.RankScrape, scrapeJob, 0)
	s.push(0, des.RankRecord, 0, 0)
	return nil
}

// Jobs of events of rank scrape and scaling.
const (
	scrapeJob  = 0
	deliverJob = 1
)

func (s *Sim) push(at model.Time, rank des.Rank, job int32, ref model.Ref) {
	if at != model.Never {
		s.queue.Push(des.NewEvent(at, rank, model.JobID(job), ref))
	}
}

// instant handles one round of an instant: what it causes at the same instant is the next.
func (s *Sim) instant(now model.Time) {
	s.advance(now)
	s.batch = s.queue.Take(now, des.RankRecord, s.batch[:0])
	for _, e := range s.batch {
		s.handle(now, e)
	}
	if s.host != nil && s.host.away { // no policy scales what does not run
		s.planning = false
		return
	}
	if s.planning || now >= s.wake {
		s.plan(now)
	}
}

// handle is one event.
func (s *Sim) handle(now model.Time, e des.Event) {
	i := int32(e.Job())
	switch e.Rank() {
	case des.RankNodeUp:
		if s.fleet.list[i].gen == e.Ref() {
			s.ready(now, i)
		}
	case des.RankNodeDown:
		if s.fleet.list[i].gen == e.Ref() {
			s.fail(now, i)
		}
	case des.RankCheckpoint:
		if s.fleet.list[i].gen == e.Ref() {
			s.work.down(now, i)
			s.stop(now, i, autoscale.Stopped)
		}
	case des.RankQuorum:
		s.answer(now, i)
	case des.RankEnd, des.RankExpiry, des.RankSubmission, des.RankChange:
		s.work.event(now, e)
	case des.RankScrape:
		if i == deliverJob {
			s.deliver(now)
			return
		}
		if f, ok := s.work.(*fluid); ok {
			f.settle(now)
			f.occupy(now)
		}
		s.scrape(now)
		s.push(now.Add(s.cfg.Scrape.Interval), des.RankScrape, scrapeJob, 0)
	case des.RankScaling: // its instant is in wake
	case des.RankRecord:
		s.record(now)
	}
}

// plan lets the policy see the facts and decide.
func (s *Sim) plan(now model.Time) {
	s.planning = false
	s.tell(now)
	p := s.policy.Plan(now)
	for i := range p.Decisions {
		d := &p.Decisions[i]
		s.out.Decided(d)
		if s.watch != nil {
			s.watch(now, d, s.fleet.size())
		}
	}
	for i := range p.Proposals {
		s.propose(now, p.Proposals[i])
	}
	if s.wake = p.Wake; s.wake != model.Never && s.wake < s.demand.End {
		s.push(s.wake, des.RankScaling, 0, 0)
	}
}

// tell hands the policy what has become known. A result is told at once, and alone calls
// for no plan.
func (s *Sim) tell(now model.Time) {
	if s.fleet.dirty {
		s.count()
	}
	if len(s.facts) > 0 {
		s.policy.Observe(now, s.facts)
		s.facts = s.facts[:0]
	}
}

// count appends the facts of how many replicas are in which state.
func (s *Sim) count() {
	s.fleet.dirty = false
	s.facts = append(s.facts, autoscale.Fact{Kind: autoscale.FactSize, N: s.fleet.size(), Entity: autoscale.Whole})
	counts := s.fleet.counts
	counts[autoscale.Busy] = min(s.occupied, s.fleet.up()) // what a scrape has shown: the platform knows replicas, and not what they do
	counts[autoscale.Ready] = s.fleet.up() - counts[autoscale.Busy]
	for _, state := range [...]autoscale.State{autoscale.Requested, autoscale.Starting, autoscale.Ready, autoscale.Busy, autoscale.Draining} {
		s.facts = append(s.facts, autoscale.Fact{Kind: autoscale.FactCount, State: state, N: counts[state], Entity: autoscale.Whole})
	}
	if s.cfg.Supply.Limit > 0 {
		s.facts = append(s.facts, autoscale.Fact{Kind: autoscale.FactLimit, N: max(0, s.cfg.Supply.Limit-s.fleet.held()), Entity: autoscale.Whole})
	}
}

// advance integrates what the fleet holds over the time that has passed.
func (s *Sim) advance(now model.Time) {
	if now == s.latest {
		return
	}
	dt := int64(now - s.latest)
	s.out.Serving(s.latest, s.fleet.up())
	s.out.held += dt * s.fleet.held()
	s.out.served += dt * s.fleet.up()
	s.out.open.ready += dt * s.fleet.up()
	s.out.open.held += dt * s.fleet.held()
	s.latest = now
}
