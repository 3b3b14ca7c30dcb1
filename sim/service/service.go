// Package service simulates services that answer back: demand comes from outside, and what
// the service does with it depends on how many replicas it has, which a scaling policy
// changes. Metrics are computed from the replicas that are ready when they are scraped, and
// reach the policy as facts; what it proposes is carried out with the delays and failures of
// a platform. The loop is closed: twice the replicas have half the utilisation.
//
// Queues are simulated request by request (Exact) or as flows (Fluid). It must not know
// which policy it drives, files, or how results are shown.
package service

import (
	"errors"
	"fmt"

	"orrery/autoscale"
	"orrery/scheduler/model"
	"orrery/sim/service/demand"
)

// Kind of work that a service does.
type Kind uint8

// The kinds.
const (
	Queue     Kind = iota // requests wait in line and take one slot of a replica each
	Rooms                 // matches and sessions occupy a room for their life; those that find none are lost
	Inference             // requests to a language model share a replica in a batch
)

// Balancing is how requests reach replicas.
type Balancing uint8

// The ways.
const (
	OneLine     Balancing = iota // one line for all, and a free slot takes the first
	Random                       // a replica drawn for each request, with a line of its own
	TwoChoices                   // the shorter line of two that are drawn
	LeastLoaded                  // the shortest line
)

// Batch is how a replica generates tokens: each iteration generates one for every request
// in the batch, or reads a chunk of its prompt, and takes Base + PerRequest times the size
// of the batch. The throughput saturates at 1/PerRequest tokens per second.
type Batch struct {
	Most       int64          // requests in a batch
	Base       model.Duration // of an iteration
	PerRequest model.Duration // for each request in it
	Chunk      int64          // tokens of a prompt that one iteration reads
	Occupancy  float64        // k of the GPU utilisation 1 - exp(-k · requests), which is high long before the throughput is
}

// Goal is what a request is to get.
type Goal struct {
	Response bool           // Limit is of the whole response; otherwise of the wait: until work begins, and of inference until the first token
	Limit    model.Duration // later than this is late
	Share    float64        // of the requests that must not be late or lost, for an interval to be good
}

// Supply is how replicas come and go.
type Supply struct {
	Start       int64           // replicas that are ready at the beginning
	Limit       int64           // most that the platform gives; 0 for no limit
	Boot        model.Duration  // from the order to ready, the mean
	BootCV      float64         // its coefficient of variation; drawn from a gamma distribution
	Warm        model.Duration  // behind ready, in which it works at WarmRate
	WarmRate    float64         // speed of a replica in it, more than 0
	Drain       *model.Duration // a draining replica is stopped by then, and its work is lost; nil for no deadline
	Latency     model.Duration  // from a proposal to its result
	Requests    autoscale.Resources
	Price       float64        // of a replica hour
	Granularity model.Duration // that is charged for: begun ones count; 0 for what was used
}

// Span is a part of the run.
type Span struct{ From, To model.Time }

// Faults are what fails, apart from the work.
type Faults struct {
	Gaps      []Span         // in which no metric is scraped
	GapShare  float64        // of the scrapes that fail besides
	Error     float64        // share of the proposals that cannot be carried out
	Slow      float64        // share of the boots that take SlowBy times as long
	SlowBy    float64        // factor
	Fail      float64        // share of the boots that fail
	FailAfter model.Duration // from the order until that shows
	MTBF      model.Duration // of a replica that is up; 0 for never
}

// Config is that of one service.
type Config struct {
	Kind      Kind
	Fluid     bool
	Slots     int64 // requests that a replica serves at once
	Line      int64 // requests that may wait; -1 for no limit
	Patience  model.Duration
	Balancing Balancing
	Batch     Batch
	Goal      Goal
	Supply    Supply
	Scrape    Scrape
	Faults    Faults
	Draws     demand.Draws
	Step      model.Duration // of the timeline and of the elasticity metrics
}

// Scrape is how the policy comes to its metrics.
type Scrape struct {
	Interval model.Duration
	Delay    model.Duration // from the scrape until the policy sees it
	Sources  []Source
	Entities bool // the policy is told of each replica
}

var errDemand = errors.New("no demand")

func (c *Config) validate(d *demand.Demand) error {
	if d == nil {
		return errDemand
	}
	if err := d.Check(); err != nil {
		return err
	}
	switch {
	case c.Slots < 1:
		return fmt.Errorf("%d slots: want 1 or more", c.Slots)
	case c.Line < -1:
		return fmt.Errorf("line of %d: want 0 or more, or -1 for no limit", c.Line)
	case c.Patience < 0 || c.Step <= 0 || c.Scrape.Interval <= 0 || c.Scrape.Delay < 0:
		return fmt.Errorf("patience %v, step %v, scrape interval %v and delay %v: want none negative, and a step and an interval", c.Patience, c.Step, c.Scrape.Interval, c.Scrape.Delay)
	case c.Fluid && (c.Patience > 0 || c.Balancing != OneLine):
		return errors.New("a fluid has one line and no patience: simulate it exactly")
	case c.Kind == Inference && (c.Batch.Most < 1 || c.Batch.Base <= 0 || c.Batch.PerRequest < 0 || c.Batch.Chunk < 1 || !(c.Batch.Occupancy > 0)):
		return fmt.Errorf("batch %+v: want requests, an iteration, a chunk and an occupancy of more than 0", c.Batch)
	case c.Goal.Limit < 0 || !(c.Goal.Share > 0 && c.Goal.Share < 1):
		return fmt.Errorf("goal %v for a share of %v: want a limit, and a share between 0 and 1", c.Goal.Limit, c.Goal.Share)
	}
	return errors.Join(c.Supply.validate(), c.Faults.validate(), c.validateSources())
}

func (s *Supply) validate() error {
	switch {
	case s.Start < 0 || s.Limit < 0 || s.Limit > 0 && s.Start > s.Limit:
		return fmt.Errorf("%d replicas at the start and a limit of %d: want 0 <= start <= limit, or no limit", s.Start, s.Limit)
	case s.Boot < 0 || !(s.BootCV >= 0) || s.Warm < 0 || s.Warm > 0 && !(s.WarmRate > 0 && s.WarmRate <= 1):
		return fmt.Errorf("boot %v, its variation %v, warm-up %v at %v: want none negative, and a rate up to 1", s.Boot, s.BootCV, s.Warm, s.WarmRate)
	case s.Drain != nil && *s.Drain < 0 || s.Latency < 0 || !(s.Price >= 0) || s.Granularity < 0:
		return fmt.Errorf("drain %v, latency %v, price %v and granularity %v: want none negative", s.Drain, s.Latency, s.Price, s.Granularity)
	}
	return nil
}

func (f *Faults) validate() error {
	for _, p := range [...]float64{f.GapShare, f.Error, f.Slow, f.Fail} {
		if !(p >= 0 && p <= 1) {
			return fmt.Errorf("share %v of failures: want 0 to 1", p)
		}
	}
	if f.Slow > 0 && !(f.SlowBy >= 1) || f.FailAfter < 0 || f.MTBF < 0 {
		return fmt.Errorf("slow by %v, failure after %v and MTBF %v: want a factor of 1 or more, and none negative", f.SlowBy, f.FailAfter, f.MTBF)
	}
	return nil
}

// within says whether an instant lies in any of the spans.
func within(spans []Span, t model.Time) bool {
	for _, s := range spans {
		if t >= s.From && t < s.To {
			return true
		}
	}
	return false
}
