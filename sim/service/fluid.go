package service

import (
	"math"

	"orrery/autoscale"
	"orrery/internal/libm"
	"orrery/scheduler/model"
	"orrery/sim/des"
	"orrery/sim/service/demand"
	"orrery/sim/service/queueing"
)

// fluid simulates a service as flows: between two events arrivals and capacity are constant,
// a backlog grows or shrinks linearly, and sessions in rooms relax exponentially. Its cost
// does not depend on the rate. Waits are those of the backlog and, where there is none,
// those of the M/M/c queue in its steady state, scaled for other variations (Allen and
// Cunneen).
type fluid struct {
	s        *Sim
	segments []demand.Segment
	segment  int
	at       model.Time
	until    model.Time // of the span that is being settled

	rate     float64 // arrivals per µs
	work     float64 // µs of one on a slot
	capacity float64 // requests per µs that the replicas can serve
	slots    float64 // of the replicas that serve; of inference, requests in all batches
	backlog  float64 // requests
	inRooms  float64
	load     float64 // utilisation of each replica now
	busy     float64 // requests in service
	regime   regime
}

// regime is a span of constant arrivals and capacity without a backlog.
type regime struct {
	arrived float64 // requests in it, not yet judged
	known   bool    // the rest is computed
	waits   float64 // probability that an arrival waits
	decay   float64 // of the tail of the wait, per µs
	base    model.Duration
}

func (f *fluid) begin(now model.Time) error {
	d := f.s.demand
	if f.segments = d.Segments; len(d.Singles) > 0 {
		f.segments = d.Rates(f.s.cfg.Step)
	}
	for i := range f.segments {
		f.s.push(f.segments[i].At, des.RankChange, int32(i), 0)
	}
	if f.s.cfg.Kind == Rooms {
		f.inRooms = d.Initial
	} else {
		f.backlog = d.Initial
	}
	return nil
}

// event is a change of the demand, or the end of a warm-up.
func (f *fluid) event(now model.Time, e des.Event) {
	f.settle(now)
	if i := int(e.Job()); e.Ref() == 0 {
		f.segment = i
	}
	f.refresh(now)
}

// refresh computes the rates anew after a change.
func (f *fluid) refresh(now model.Time) {
	f.judge()
	s, c := f.s, &f.s.cfg
	speed := 0.0
	for i := range s.fleet.list {
		switch r := &s.fleet.list[i]; {
		case !r.serving():
		case now < r.warm:
			speed += c.Supply.WarmRate
			s.push(r.warm, des.RankChange, 0, 1)
		default:
			speed++
		}
	}
	what := c.Draws.Default
	f.rate = 0
	if f.segment < len(f.segments) {
		x := &f.segments[f.segment]
		f.rate = x.Rate / float64(model.Second)
		if x.Work > 0 {
			what.Work, what.WorkCV = x.Work, x.WorkCV
		}
		if x.In > 0 || x.Out > 0 {
			what.In, what.Out = x.In, x.Out
		}
	}
	f.slots = float64(speed * float64(c.Slots))
	if f.work = float64(what.Work); c.Kind == Inference {
		f.slots = float64(speed * float64(c.Batch.Most))
		f.work = float64(c.Batch.iterations(what) * c.Batch.iteration(float64(c.Batch.Most)))
	}
	f.capacity = f.slots / max(f.work, 1)
	f.flowing(speed)
	f.regime = regime{base: f.unqueued(what, speed)}
}

// iterations that a request takes.
func (b *Batch) iterations(what demand.Request) float64 {
	return math.Ceil(max(what.In, 1)/float64(b.Chunk)) + max(what.Out-1, 0)
}

// iteration is how long one takes with so many requests, in µs.
func (b *Batch) iteration(requests float64) float64 {
	return float64(b.Base) + float64(float64(b.PerRequest)*requests)
}

// steadyBatch is how many requests are in a batch that gets x requests' iterations per µs:
// n = x · (base + perRequest · n), at most as many as there may be.
func (b *Batch) steadyBatch(x float64) float64 {
	rest := 1 - float64(x*float64(b.PerRequest))
	if rest <= 0 {
		return float64(b.Most)
	}
	return min(float64(b.Most), float64(x*float64(b.Base))/rest)
}

// flowing sets utilisation and requests in service to what they are at these rates.
func (f *fluid) flowing(speed float64) {
	c := &f.s.cfg
	served := min(f.rate, f.capacity)
	if f.backlog > 0 {
		served = f.capacity
	}
	f.busy, f.load = float64(served*f.work), 0
	switch {
	case c.Kind == Rooms:
		f.busy = f.inRooms
		if f.slots > 0 {
			f.load = min(1, f.inRooms/f.slots)
		}
	case speed == 0:
		f.busy = 0
	case c.Kind == Inference:
		perIteration := f.work / c.Batch.iteration(float64(c.Batch.Most)) // iterations of a request
		n := c.Batch.steadyBatch(float64(served*perIteration) / speed)
		f.busy, f.load = float64(n*speed), 1-libm.Exp(-c.Batch.Occupancy*n)
	default:
		f.load = f.busy / f.slots
	}
}

// unqueued is the latency that the goal limits without any wait: of inference the first
// token or the response; otherwise 0 or the work.
func (f *fluid) unqueued(what demand.Request, speed float64) model.Duration {
	c := &f.s.cfg
	if c.Kind != Inference {
		if c.Goal.Response {
			return model.Duration(f.work)
		}
		return 0
	}
	if speed == 0 {
		return 0
	}
	n := c.Batch.iterations(what)
	if !c.Goal.Response {
		n = math.Ceil(max(what.In, 1) / float64(c.Batch.Chunk))
	}
	return model.Duration(float64(n * c.Batch.iteration(max(1, f.busy/speed))))
}

// settle brings the flows up to now.
func (f *fluid) settle(now model.Time) {
	dt := float64(now - f.at)
	if dt <= 0 {
		return
	}
	s := f.s
	f.until = now
	if s.cfg.Kind == Rooms {
		f.relax(dt)
	} else {
		f.flow(dt)
	}
	f.at, s.flow.at = now, now
	s.flow.Waiting, s.flow.Inside = f.backlog, f.backlog+f.busy
}

// flow lets a queue go on for dt: with a backlog that does not change its sign, or without.
func (f *fluid) flow(dt float64) {
	s := f.s
	if f.backlog == 0 && f.rate <= f.capacity {
		n := float64(f.rate * dt)
		s.arrived(f.until, n)
		waited := 0.0
		if f.tail(); f.regime.waits > 0 {
			waited = n * f.regime.waits / f.regime.decay
		}
		s.started(n, waited)
		s.out.Served += n
		f.regime.arrived += n
		s.flow.inside += float64(f.busy * dt)
		f.used(dt)
		return
	}
	net := f.rate - f.capacity
	span := dt
	if net < 0 {
		span = min(dt, f.backlog/-net)
	}
	f.queue(span, net)
	if span == dt && f.backlog > 0 {
		return
	}
	f.backlog = 0 // it ends here
	f.flowing(f.slots / float64(max(1, f.perReplica())))
	if span < dt {
		f.flow(dt - span)
	}
}

// perReplica is the slots of one.
func (f *fluid) perReplica() int64 {
	if f.s.cfg.Kind == Inference {
		return f.s.cfg.Batch.Most
	}
	return f.s.cfg.Slots
}

// waitSlices is how many parts a span is cut into for the distribution of its waits.
const waitSlices = 8

// queue lets a backlog change for a span, with all that can be served being served.
func (f *fluid) queue(span, net float64) {
	s := f.s
	before := f.backlog
	f.backlog = max(0, f.backlog+float64(net*span))
	lost := 0.0
	if most := float64(s.cfg.Line); s.cfg.Line >= 0 && f.backlog > most && net > 0 {
		lost = f.backlog - max(most, before)
		f.backlog -= lost
	}
	arrived := float64(f.rate * span)
	s.arrived(f.until, arrived)
	s.out.Refused += lost
	s.lost(f.until, lost)
	served := float64(f.capacity * span)
	s.out.Served += served
	s.flow.waiting += float64((before + f.backlog) / 2 * span)
	s.flow.inside += float64((before+f.backlog)/2*span) + float64(f.busy*span)
	f.used(span)
	if f.capacity == 0 { // none knows when they begin
		s.judged(f.until, model.Forever, arrived-lost)
		return
	}
	for i := range waitSlices {
		there := before + (f.backlog-before)*(float64(i)+0.5)/waitSlices
		wait := model.Duration(min(there/f.capacity, float64(model.Day*365)))
		s.started((arrived-lost)/waitSlices, float64((arrived-lost)/waitSlices*float64(wait)))
		s.judged(f.until, wait+f.regime.base, (arrived-lost)/waitSlices)
	}
}

// used adds to the utilisation over time.
func (f *fluid) used(dt float64) {
	f.s.fleet.total += float64(f.load * dt * float64(f.s.fleet.up()))
}

// relax lets sessions come and end for dt: n' = rate - n / life, where those that find no
// room are lost.
func (f *fluid) relax(dt float64) {
	s, life, rooms := f.s, max(f.work, 1), f.slots
	s.arrived(f.until, float64(f.rate*dt))
	target, lost, sum := float64(f.rate*life), 0.0, 0.0
	before := f.inRooms
	left := dt
	if target > rooms { // the time until all rooms are taken, then the excess is lost
		until := 0.0
		if before < rooms {
			until = -float64(life * math.Log((target-rooms)/(target-before)))
		}
		if until < dt {
			sum = float64(target*until) - float64((target-min(before, rooms))*life*(1-libm.Exp(-until/life)))
			rest := dt - until
			if before > rooms { // rooms were taken away while they were occupied
				f.inRooms = max(rooms, rooms+float64((before-rooms)*libm.Exp(-rest/life)))
			} else {
				f.inRooms = rooms
			}
			sum += float64((max(before, rooms) + f.inRooms) / 2 * rest)
			lost, left = float64((f.rate-f.inRooms/life)*rest), 0
		}
	}
	if left > 0 {
		decay := libm.Exp(-dt / life)
		f.inRooms = target + float64((before-target)*decay)
		sum = float64(target*dt) + float64((before-target)*life*(1-decay))
	}
	lost = min(max(lost, 0), float64(f.rate*dt))
	n := float64(f.rate*dt) - lost
	s.out.Refused += lost
	s.lost(f.until, lost)
	s.started(n, 0)
	s.judged(f.until, 0, n)
	s.out.Served += n
	s.flow.inside += sum
	if rooms > 0 {
		s.fleet.total += float64(min(1, sum/dt/rooms) * dt * float64(s.fleet.up()))
		f.load = min(1, f.inRooms/rooms)
	}
	f.busy = f.inRooms
}

// judge holds what arrived in the regime since it was judged last against the goal; a step
// of the timeline ends with it.
func (f *fluid) judge() {
	g := &f.regime
	if g.arrived == 0 {
		return
	}
	s := f.s
	f.tail()
	if g.waits == 0 {
		s.judged(f.at, g.base, g.arrived)
		g.arrived = 0
		return
	}
	s.judged(f.at, g.base, float64(g.arrived*(1-g.waits)))
	for i := range waitSlices { // quantiles of the exponential tail
		wait := -math.Log(1-(float64(i)+0.5)/waitSlices) / g.decay
		s.out.Latency.Add(g.base+model.Duration(wait), float64(g.arrived*g.waits/waitSlices))
	}
	if limit := s.cfg.Goal.Limit - g.base; limit >= 0 {
		s.late(f.at, float64(g.arrived*g.waits*libm.Exp(-g.decay*float64(limit))))
	} else {
		s.late(f.at, float64(g.arrived*g.waits))
	}
	g.arrived = 0
}

// tail computes the steady state of the regime: P(wait > t) = waits · exp(-decay · t).
func (f *fluid) tail() {
	g, c := &f.regime, &f.s.cfg
	if g.known || c.Kind != Queue {
		return
	}
	g.known = true
	q := queueing.Queue{Arrivals: f.rate, Service: 1 / max(f.work, 1), Servers: int64(f.slots)}
	if q.Servers < 1 || q.Arrivals <= 0 || q.Utilization() >= 1 {
		return
	}
	st, err := q.Steady()
	if err != nil || st.MeanWait <= 0 {
		return
	}
	cv := c.Draws.Default.WorkCV
	if f.segment < len(f.segments) && f.segments[f.segment].Work > 0 {
		cv = f.segments[f.segment].WorkCV
	}
	scale := (float64(c.Draws.GapCV*c.Draws.GapCV) + float64(cv*cv)) / 2
	if scale == 0 {
		return
	}
	g.waits, g.decay = st.ErlangC, st.ErlangC/float64(st.MeanWait*scale)
}

func (f *fluid) up(now model.Time, _ int32) {
	f.settle(now)
	f.refresh(now)
}

func (f *fluid) drain(now model.Time, i int32) {
	f.settle(now)
	f.s.stop(now, i, autoscale.Stopped) // what it serves is served by the others
	f.refresh(now)
}

func (f *fluid) down(now model.Time, i int32) {
	f.settle(now)
	r := &f.s.fleet.list[i]
	lost := 0.0
	if n := f.s.fleet.up(); n > 0 && r.serving() {
		lost = f.busy / float64(n)
	}
	if f.inRooms = max(0, f.inRooms-lost); f.s.cfg.Kind == Queue || f.s.cfg.Kind == Inference {
		f.busy = max(0, f.busy-lost)
	}
	f.s.out.Served -= lost // they were counted when they arrived
	f.s.out.Killed += lost
	f.s.lost(now, lost)
	state := r.state
	r.state = autoscale.Draining
	f.s.fleet.counts[state]--
	f.s.fleet.counts[autoscale.Draining]++
	f.refresh(now)
}

// occupy tells of rooms that are occupied: as many as the sessions fill.
func (f *fluid) occupy(now model.Time) {
	if f.s.cfg.Kind != Rooms {
		return
	}
	want := min(f.s.fleet.up(), int64(math.Ceil(f.inRooms/float64(f.s.cfg.Slots)-1e-9)))
	have := f.s.fleet.counts[autoscale.Busy]
	for i := 0; i < len(f.s.fleet.list) && have < want; i++ {
		if f.s.fleet.list[i].state == autoscale.Ready {
			f.s.enter(now, int32(i), autoscale.Busy)
			have++
		}
	}
	for i := len(f.s.fleet.list) - 1; i >= 0 && have > want; i-- {
		if f.s.fleet.list[i].state == autoscale.Busy {
			f.s.enter(now, int32(i), autoscale.Ready)
			have--
		}
	}
}

// finish has no request to judge: each is, by the backlog that it finds, when it arrives.
func (f *fluid) finish(model.Time) {
	if f.s.cfg.Kind != Rooms {
		f.s.out.Open = f.backlog
	}
}
