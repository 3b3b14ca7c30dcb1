package service

import (
	"orrery/autoscale"
	"orrery/scheduler/model"
	"orrery/sim/des"
)

// Outcome is what came of a run.
type Outcome struct {
	Requests  float64 // that arrived
	Served    float64
	Late      float64 // beyond the limit of the goal
	Refused   float64 // no room in the line, or no free room
	Abandoned float64 // waited beyond their patience
	Killed    float64 // were in a replica that was lost, or that did not drain in time
	Open      float64 // had not come, at the end, to what the goal limits; late if that is longer ago than its limit

	Latency   Latency // of what the goal limits
	Intervals int64   // steps with an arrival
	Bad       int64   // those of them in which the goal was missed

	Proposals, Rejected, Errored int64
	Ups, Downs                   int64 // changes that were made
	FailedBoots, Losses          int64
	Gaps                         int64 // scrapes without a metric

	Charged, Held, Used float64 // replica hours: as billed, as held, and those that served
	Busy                float64 // replica hours of work
	Cost                float64

	Step     model.Duration
	Timeline []Point
	Sizes    []Size      // that served, one for each change; none served before the first
	Rules    []RuleCount // in the order in which they first came

	open         Point // the step of the timeline that is being filled
	held, served int64 // µs of replicas
}

// Size is how many replicas serve from an instant on.
type Size struct {
	At model.Time
	N  int64
}

// Serving notes how many serve since an instant, where that is another number than before.
func (o *Outcome) Serving(since model.Time, n int64) {
	if k := len(o.Sizes); k > 0 && o.Sizes[k-1].N == n || k == 0 && n == 0 {
		return
	}
	o.Sizes = append(o.Sizes, Size{since, n})
}

// RuleCount is how often a rule fired with a guard.
type RuleCount struct {
	Rule     autoscale.Rule
	Guard    autoscale.Guard
	Proposed bool // a proposal was made
	N        int64
}

// Decided counts a decision.
func (o *Outcome) Decided(d *autoscale.Decision) {
	for i := range o.Rules {
		if r := &o.Rules[i]; r.Rule == d.Rule && r.Guard == d.Guard && r.Proposed == d.Proposed() {
			r.N++
			return
		}
	}
	o.Rules = append(o.Rules, RuleCount{d.Rule, d.Guard, d.Proposed(), 1})
}

// arrived counts arrivals.
func (s *Sim) arrived(at model.Time, n float64) {
	s.flow.Arrived += n
	s.out.Arrive(at, n)
}

// started counts requests that begin, with the sum of their waits in µs.
func (s *Sim) started(n, waited float64) {
	s.flow.Started += n
	s.flow.Waited += waited
}

// judged holds requests, which arrived at an instant, with a latency against the goal.
func (s *Sim) judged(at model.Time, latency model.Duration, n float64) {
	s.out.Latency.Add(latency, n)
	if latency > s.cfg.Goal.Limit {
		s.late(at, n)
	}
}

func (s *Sim) late(at model.Time, n float64) {
	s.flow.Late += n
	s.out.Delay(at, n)
}

// lost counts requests, which arrived at an instant, that get no service.
func (s *Sim) lost(at model.Time, n float64) {
	s.flow.Lost += n
	s.out.Lose(at, n)
}

// moved changes how many requests wait and how many are inside.
func (s *Sim) moved(now model.Time, waiting, inside float64) {
	s.flow.settle(now)
	s.flow.Waiting += waiting
	s.flow.Inside += inside
}

// record closes a step of the timeline and begins the next.
func (s *Sim) record(now model.Time) {
	s.closeStep(now)
	s.out.open.Supply = s.fleet.up()
	s.push(now.Add(s.cfg.Step), des.RankRecord, 0, 0)
}

func (s *Sim) closeStep(now model.Time) {
	r := s.read(now)
	if f, ok := s.work.(*fluid); ok {
		f.judge()
	}
	p := &s.out.open
	if dt := float64(now - p.At); dt > 0 {
		p.Ready, p.Held = float64(p.ready)/dt, float64(p.held)/dt
		p.Busy = (r.busy - p.busy) / dt
		p.Waiting = s.flow.Waiting
		s.out.CloseStep(now)
		s.out.open.busy = r.busy
	}
}

// finish closes the sums at the end of the run.
func (s *Sim) finish(end model.Time) {
	s.closeStep(end)
	s.work.finish(end)
	o, c := &s.out, &s.cfg.Supply
	o.Sum(s.cfg.Goal.Share)
	charged := s.fleet.charged
	for i := range s.fleet.list {
		if r := &s.fleet.list[i]; r.state != autoscale.Stopped {
			charged += int64(c.billed(end.Sub(r.ordered)))
		}
	}
	hour := float64(model.Hour)
	o.Charged, o.Held, o.Used, o.Busy = float64(charged)/hour, float64(o.held)/hour, float64(o.served)/hour, s.fleet.total/hour
	o.Cost = float64(o.Charged * c.Price)
}
