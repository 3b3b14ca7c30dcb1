package service

import (
	"fmt"
	"math"

	"orrery/autoscale"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
)

// Series is what can be scraped of a service.
type Series uint8

// The series.
const (
	Utilization Series = iota // of the replicas that serve, mean over the window, 0 to 1
	QueueDepth                // requests that wait, at the scrape
	Concurrency               // requests in the service, mean over the window
	RequestRate               // arrivals per second over the window
	Wait                      // mean wait of requests that began within the window, seconds
	Running                   // requests that are served, at the scrape
	Free                      // slots of replicas that serve and have no request, at the scrape
)

// Source is one series as a policy wants it.
type Source struct {
	Series     Series
	Metric     autoscale.Metric
	PerReplica bool           // a sample of each replica that serves; utilisation alone
	Active     bool           // as a fact that says whether it is more than 0
	Gauge      bool           // of the utilisation: as it is at the scrape, not over a window
	Average    bool           // divided by the replicas that serve
	Scale      float64        // the value is multiplied by it: 100 for percent, 1000 for thousandths; 0 is 1
	Window     model.Duration // averaged over; 0 is since the last scrape
}

func (c *Config) validateSources() error {
	for i := range c.Scrape.Sources {
		s := &c.Scrape.Sources[i]
		switch {
		case s.PerReplica && s.Series != Utilization:
			return fmt.Errorf("source %d: only the utilisation is known of each replica", i)
		case s.Window < 0 || !(s.Scale >= 0):
			return fmt.Errorf("source %d: window %v and scale %v: want none negative", i, s.Window, s.Scale)
		}
	}
	return nil
}

// reading is the sums of a service at a scrape.
type reading struct {
	at              model.Time
	busy, up        float64 // utilisation and replicas over time, µs
	arrived, inside float64
	started, waited float64
}

// delivery is facts that the policy sees later, with how many rooms were occupied.
type delivery struct {
	at    model.Time
	facts []autoscale.Fact
	busy  int64
}

// read sums up all replicas at now.
func (s *Sim) read(now model.Time) reading {
	s.work.settle(now)
	s.flow.settle(now)
	for i := range s.fleet.list {
		if r := &s.fleet.list[i]; r.load > 0 {
			s.settleReplica(now, int32(i))
		}
	}
	return reading{now, s.fleet.total, float64(s.out.served), s.flow.Arrived, s.flow.inside, s.flow.Started, s.flow.Waited}
}

// keep notes a reading for the windows that go back to it.
func (s *Sim) keep(r reading) {
	longest := s.cfg.Scrape.Interval
	for i := range s.cfg.Scrape.Sources {
		longest = max(longest, s.cfg.Scrape.Sources[i].Window)
	}
	drop := 0
	for drop+1 < len(s.scrapes) && r.at.Sub(s.scrapes[drop+1].at) >= longest {
		drop++
	}
	n := copy(s.scrapes, s.scrapes[drop:])
	s.scrapes = append(s.scrapes[:n], r)
}

// before is the youngest reading that is at least as old as a window, else the oldest.
func (s *Sim) before(now model.Time, window model.Duration) *reading {
	if window == 0 {
		window = s.cfg.Scrape.Interval
	}
	i := max(0, len(s.scrapes)-2)
	for i > 0 && now.Sub(s.scrapes[i].at) < window {
		i--
	}
	return &s.scrapes[i]
}

// scrape reads the metrics and sends them to the policy. In a gap nothing is read, so that
// the next reading covers the time since the last: the policy is told that there are none.
func (s *Sim) scrape(now model.Time) {
	source := draw.New(s.cfg.Draws.Seed, gapStream, s.taken, 0)
	s.taken++
	missing := within(s.cfg.Faults.Gaps, now) || source.Bool(s.cfg.Faults.GapShare)
	busy := s.occupied
	if missing {
		s.out.Gaps++
	} else {
		s.keep(s.read(now))
		busy = s.fleet.counts[autoscale.Busy]
	}
	facts, late := s.facts, s.cfg.Scrape.Delay > 0
	if late {
		facts = s.spare()
	}
	for i := range s.cfg.Scrape.Sources {
		facts = s.sample(facts, now, &s.cfg.Scrape.Sources[i], missing)
	}
	for i := range s.fleet.list {
		if r := &s.fleet.list[i]; !missing {
			r.scraped, r.scrapeAt = r.busy, now
		}
	}
	if late {
		s.delayed = append(s.delayed, delivery{now.Add(s.cfg.Scrape.Delay), facts, busy})
		s.push(now.Add(s.cfg.Scrape.Delay), des.RankScrape, deliverJob, 0)
		return
	}
	s.facts, s.planning = facts, true
	s.occupancy(busy)
}

// occupancy lets the policy know how many rooms were occupied at a scrape.
func (s *Sim) occupancy(busy int64) {
	s.fleet.dirty = s.fleet.dirty || busy != s.occupied
	s.occupied = busy
}

// spare is a list of facts that an earlier delivery has no use for any more.
func (s *Sim) spare() []autoscale.Fact {
	if n := len(s.delayed); n < cap(s.delayed) {
		return s.delayed[:n+1][n].facts[:0]
	}
	return nil
}

// deliver hands over what is due.
func (s *Sim) deliver(now model.Time) {
	for len(s.delayed) > 0 && s.delayed[0].at <= now {
		first := s.delayed[0]
		s.facts = append(s.facts, first.facts...)
		s.occupancy(first.busy)
		n := copy(s.delayed, s.delayed[1:])
		s.delayed[n] = delivery{facts: first.facts} // kept for the next one
		s.delayed = s.delayed[:n]
		s.planning = true
	}
}

// sample appends the facts of one source.
func (s *Sim) sample(facts []autoscale.Fact, now model.Time, c *Source, missing bool) []autoscale.Fact {
	f := autoscale.Fact{Kind: autoscale.FactSample, Metric: c.Metric, Entity: autoscale.Whole, At: now, Window: c.Window, Missing: missing}
	scale := c.Scale
	if scale == 0 {
		scale = 1
	}
	if c.PerReplica {
		return s.perReplica(facts, now, f, scale)
	}
	if missing {
		return append(facts, f)
	}
	v, ok := s.value(now, c)
	if c.Average {
		v, ok = v/float64(s.fleet.up()), ok && s.fleet.up() > 0
	}
	f.Value, f.Missing = float64(v*scale), !ok || math.IsNaN(v)
	if c.Active {
		f.Kind = autoscale.FactActive
		if v > 0 {
			f.N = 1
		}
	}
	return append(facts, f)
}

// perReplica appends a sample of each replica that serves.
func (s *Sim) perReplica(facts []autoscale.Fact, now model.Time, f autoscale.Fact, scale float64) []autoscale.Fact {
	even, flows := s.work.(*fluid)
	for i := range s.fleet.list {
		r := &s.fleet.list[i]
		if !r.serving() {
			continue
		}
		f.Entity = autoscale.Entity(i)
		dt := now - r.scrapeAt
		f.Window = model.Duration(dt)
		switch {
		case f.Missing:
		case flows:
			f.Value = float64(even.load * scale)
		case dt > 0:
			f.Value = float64((r.busy - r.scraped) / float64(dt) * scale)
		default:
			f.Value = float64(r.load * scale)
		}
		facts = append(facts, f)
	}
	return facts
}

// loadNow is the mean utilisation of the replicas that serve, at this instant.
func (s *Sim) loadNow() (float64, bool) {
	if f, ok := s.work.(*fluid); ok {
		return f.load, s.fleet.up() > 0
	}
	sum := 0.0
	for i := range s.fleet.list {
		if r := &s.fleet.list[i]; r.serving() {
			sum += r.load
		}
	}
	return sum / float64(s.fleet.up()), s.fleet.up() > 0
}

// value of a series of the whole service; false where there is none.
func (s *Sim) value(now model.Time, c *Source) (float64, bool) {
	last := &s.scrapes[len(s.scrapes)-1]
	then := s.before(now, c.Window)
	dt := float64(now - then.at)
	switch c.Series {
	case Utilization:
		if c.Gauge {
			return s.loadNow()
		}
		if last.up > then.up {
			return (last.busy - then.busy) / (last.up - then.up), true
		}
		return 0, false
	case QueueDepth:
		return s.flow.Waiting, true
	case Running:
		return s.flow.Inside - s.flow.Waiting, true
	case Free:
		return max(0, float64(s.fleet.up()*s.cfg.Slots)-(s.flow.Inside-s.flow.Waiting)), true
	case Concurrency:
		if dt == 0 {
			return s.flow.Inside, true
		}
		return (last.inside - then.inside) / dt, true
	case RequestRate:
		return (last.arrived - then.arrived) / dt * float64(model.Second), dt > 0
	case Wait:
		n := last.started - then.started
		return (last.waited - then.waited) / n / float64(model.Second), n > 0
	}
	return 0, false
}
