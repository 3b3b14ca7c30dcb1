package service

import (
	"orrery/autoscale"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
)

// Streams of the draws about replicas.
var (
	bootStream  = draw.StreamOf("service boot")
	slowStream  = draw.StreamOf("service slow boot")
	failStream  = draw.StreamOf("service failed boot")
	lossStream  = draw.StreamOf("service replica loss")
	errorStream = draw.StreamOf("service actuator error")
	gapStream   = draw.StreamOf("service metric gap")
	lineStream  = draw.StreamOf("service balancing")
)

// replica is one of the fleet. Its number is its place, which is given again once it has
// stopped.
type replica struct {
	state   autoscale.State // Stopped for a free place
	gen     model.Ref       // of its events
	ordinal uint64          // of its boot: draws go by it
	ordered model.Time      // when it began to cost
	ready   model.Time      // when it began to serve
	warm    model.Time      // until when it works slowly

	requests int64   // in it, served or in its batch
	load     float64 // utilisation now, 0 to 1
	busy     float64 // utilisation over time, µs
	settled  model.Time
	scraped  float64 // of busy, at the last scrape
	scrapeAt model.Time
}

// serving says that it takes work.
func (r *replica) serving() bool { return r.state == autoscale.Ready || r.state == autoscale.Busy }

// fleet is all replicas.
type fleet struct {
	list    []replica
	boots   uint64
	counts  [autoscale.Failed + 1]int64 // by state
	total   float64                     // busy of all, those that have stopped too, up to the last settling of each
	dirty   bool                        // counts differ from what the policy was told
	charged int64                       // µs of replicas that have stopped, as they are charged
	gone    int64                       // the same as they were held
}

// size is what the service has been given: starting, ready or busy.
func (f *fleet) size() int64 {
	return f.counts[autoscale.Starting] + f.counts[autoscale.Ready] + f.counts[autoscale.Busy]
}

// up is how many serve.
func (f *fleet) up() int64 { return f.counts[autoscale.Ready] + f.counts[autoscale.Busy] }

// held is how many cost.
func (f *fleet) held() int64 { return f.size() + f.counts[autoscale.Draining] }

// enter moves a replica to a state and notes the fact.
func (s *Sim) enter(now model.Time, i int32, to autoscale.State) {
	r := &s.fleet.list[i]
	was := r.serving()
	s.fleet.counts[r.state]--
	r.state = to
	s.fleet.counts[to]++
	if was && r.serving() { // a room that is occupied or left, which a scrape shows
		return
	}
	s.fleet.dirty = true
	if s.cfg.Scrape.Entities {
		at := now
		if to == autoscale.Starting {
			at = r.ordered
		}
		s.facts = append(s.facts, autoscale.Fact{Kind: autoscale.FactEntity, Entity: autoscale.Entity(i), State: to, At: at, Resources: s.cfg.Supply.Requests})
	}
}

// order begins a boot.
func (s *Sim) order(now model.Time) {
	i := int32(-1)
	for k := range s.fleet.list {
		if s.fleet.list[k].state == autoscale.Stopped {
			i = int32(k)
			break
		}
	}
	if i < 0 {
		i = int32(len(s.fleet.list))
		s.fleet.list = append(s.fleet.list, replica{state: autoscale.Stopped})
		s.fleet.counts[autoscale.Stopped]++
	}
	r := &s.fleet.list[i]
	*r = replica{state: autoscale.Stopped, gen: next(r.gen), ordinal: s.fleet.boots, ordered: now, settled: now, scrapeAt: now}
	s.fleet.boots++
	s.enter(now, i, autoscale.Starting)
	seed := s.cfg.Draws.Seed
	fails := draw.New(seed, failStream, r.ordinal, 0)
	if fails.Bool(s.cfg.Faults.Fail) {
		s.push(now.Add(s.cfg.Faults.FailAfter), des.RankNodeDown, i, r.gen)
		return
	}
	s.push(now.Add(s.boot(r.ordinal)), des.RankNodeUp, i, r.gen)
}

// boot draws how long a boot takes.
func (s *Sim) boot(ordinal uint64) model.Duration {
	c := &s.cfg.Supply
	d := c.Boot
	if c.BootCV > 0 && d > 0 {
		square := float64(c.BootCV * c.BootCV)
		source := draw.New(s.cfg.Draws.Seed, bootStream, ordinal, 0)
		d = model.Duration(source.Gamma(1/square, float64(float64(d)*square)))
	}
	slow := draw.New(s.cfg.Draws.Seed, slowStream, ordinal, 0)
	if slow.Bool(s.cfg.Faults.Slow) {
		d = model.Duration(float64(d) * s.cfg.Faults.SlowBy)
	}
	return d
}

// next is the generation behind one: events of an earlier one are void.
func next(gen model.Ref) model.Ref { return (gen + 1) & (1<<24 - 1) }

// ready lets a replica serve.
func (s *Sim) ready(now model.Time, i int32) {
	r := &s.fleet.list[i]
	r.ready, r.warm, r.settled, r.scrapeAt = now, now.Add(s.cfg.Supply.Warm), now, now
	s.enter(now, i, autoscale.Ready)
	if s.cfg.Faults.MTBF > 0 {
		source := draw.New(s.cfg.Draws.Seed, lossStream, r.ordinal, 0)
		s.push(now.Add(model.Duration(float64(source.Exponential()*float64(s.cfg.Faults.MTBF)))), des.RankNodeDown, i, r.gen)
	}
	s.work.up(now, i)
}

// leave takes a replica out of service: one that starts goes at once, one that serves
// takes no new work and goes when it is empty.
func (s *Sim) leave(now model.Time, i int32) {
	r := &s.fleet.list[i]
	if !r.serving() {
		s.stop(now, i, autoscale.Stopped)
		return
	}
	s.enter(now, i, autoscale.Draining)
	if d := s.cfg.Supply.Drain; d != nil {
		s.push(now.Add(*d), des.RankCheckpoint, i, r.gen)
	}
	s.work.drain(now, i)
}

// stop ends a replica: it costs nothing from now on.
func (s *Sim) stop(now model.Time, i int32, as autoscale.State) {
	r := &s.fleet.list[i]
	s.settleReplica(now, i)
	held := now.Sub(r.ordered)
	s.fleet.gone += int64(held)
	s.fleet.charged += int64(s.cfg.Supply.billed(held))
	r.gen = next(r.gen)
	s.enter(now, i, as)
	if as == autoscale.Failed { // its place is free again
		s.fleet.counts[autoscale.Failed]--
		s.fleet.counts[autoscale.Stopped]++
		r.state = autoscale.Stopped
	}
}

// billed is what is charged for a span.
func (s *Supply) billed(held model.Duration) model.Duration {
	g := s.Granularity
	if g <= 0 {
		return held
	}
	return (held + g - 1) / g * g
}

// fail ends a replica that was lost, or whose boot failed.
func (s *Sim) fail(now model.Time, i int32) {
	r := &s.fleet.list[i]
	if r.state == autoscale.Starting {
		s.out.FailedBoots++
	} else {
		s.out.Losses++
		s.work.down(now, i)
	}
	s.stop(now, i, autoscale.Failed)
	if s.host != nil { // its place is still the service's
		s.order(now)
	}
}

// setLoad changes the utilisation of a replica.
func (s *Sim) setLoad(now model.Time, i int32, load float64) {
	s.settleReplica(now, i)
	s.fleet.list[i].load = load
}

// settleReplica brings its utilisation over time up to now.
func (s *Sim) settleReplica(now model.Time, i int32) {
	r := &s.fleet.list[i]
	if dt := now - r.settled; dt > 0 && r.load > 0 {
		x := float64(r.load * float64(dt))
		r.busy += x
		s.fleet.total += x
	}
	r.settled = now
}
