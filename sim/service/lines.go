package service

import (
	"orrery/autoscale"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
	"orrery/sim/service/demand"
)

// request is one that is in the service.
type request struct {
	demand.Arrival
	gen     model.Ref // of its events
	state   waitState
	replica int32
	after   int32 // the next in its line, -1 for none
}

type waitState uint8

const (
	unused waitState = iota
	waiting
	abandoned // still in its line
	inService
)

// line is a queue of requests, first come first served.
type line struct{ head, tail int32 }

var emptyLine = line{-1, -1}

// lines simulates queues and rooms request by request: exact for any distribution of the
// times between arrivals and of the work.
type lines struct {
	arrivals
	requests []request
	free     []int32
	gate     line   // of all replicas, or of requests that found none
	own      []line // by replica, where each has one
}

func (w *lines) event(now model.Time, e des.Event) {
	i := int32(e.Job())
	switch e.Rank() {
	case des.RankSubmission:
		w.arrive(now, w.take())
	case des.RankEnd:
		if w.requests[i].gen == e.Ref() {
			w.complete(now, i)
		}
	case des.RankExpiry:
		if r := &w.requests[i]; r.gen == e.Ref() && r.state == waiting {
			r.state = abandoned
			w.s.moved(now, -1, -1)
			w.s.out.Abandoned++
			w.s.lost(r.At, 1)
		}
	}
}

// arrive takes in a request.
func (w *lines) arrive(now model.Time, x demand.Arrival) {
	s := w.s
	s.arrived(now, 1)
	i := w.slot(x)
	s.moved(now, 1, 1)
	if w.dispatch(now, i) {
		return
	}
	if s.cfg.Line >= 0 && s.flow.Waiting > float64(s.cfg.Line) { // it counts itself
		w.unlink(i)
		w.release(i)
		s.moved(now, -1, -1)
		s.out.Refused++
		s.lost(now, 1)
		return
	}
	if s.cfg.Patience > 0 {
		s.push(now.Add(s.cfg.Patience), des.RankExpiry, i, w.requests[i].gen)
	}
}

// slot is a free place with the request in it.
func (w *lines) slot(x demand.Arrival) int32 {
	if n := len(w.free); n > 0 {
		i := w.free[n-1]
		w.free = w.free[:n-1]
		w.requests[i] = request{Arrival: x, gen: w.requests[i].gen, state: waiting, replica: -1, after: -1}
		return i
	}
	w.requests = append(w.requests, request{Arrival: x, state: waiting, replica: -1, after: -1})
	return int32(len(w.requests) - 1)
}

// release gives a place back; events of its request are void.
func (w *lines) release(i int32) {
	r := &w.requests[i]
	r.gen, r.state = next(r.gen), unused
	w.free = append(w.free, i)
}

// dispatch starts a request or puts it into a line; true when it has started.
func (w *lines) dispatch(now model.Time, i int32) bool {
	r, ok := w.choose(w.requests[i].Number)
	switch {
	case ok && w.s.fleet.list[r].requests < w.s.cfg.Slots:
		w.start(now, i, r)
		return true
	case ok && w.s.cfg.Balancing != OneLine:
		for len(w.own) <= int(r) {
			w.own = append(w.own, emptyLine)
		}
		w.requests[i].replica = r
		w.append(&w.own[r], i)
	default:
		w.requests[i].replica = -1
		w.append(&w.gate, i)
	}
	return false
}

func (w *lines) append(l *line, i int32) {
	if l.tail < 0 {
		l.head = i
	} else {
		w.requests[l.tail].after = i
	}
	l.tail = i
	w.requests[i].after = -1
}

// unlink takes the last request of its line out again.
func (w *lines) unlink(i int32) {
	l := &w.gate
	if r := w.requests[i].replica; r >= 0 {
		l = &w.own[r]
	}
	if l.head == i {
		*l = emptyLine
		return
	}
	before := l.head
	for w.requests[before].after != i {
		before = w.requests[before].after
	}
	w.requests[before].after = -1
	l.tail = before
}

// pop takes the first request of a line that still waits.
func (w *lines) pop(l *line) (int32, bool) {
	for l.head >= 0 {
		i := l.head
		if l.head = w.requests[i].after; l.head < 0 {
			l.tail = -1
		}
		if w.requests[i].state == waiting {
			return i, true
		}
		w.release(i)
	}
	return 0, false
}

// length of the line and of the work at a replica.
func (w *lines) length(i int32) int64 {
	n := w.s.fleet.list[i].requests
	if int(i) < len(w.own) {
		for k := w.own[i].head; k >= 0; k = w.requests[k].after {
			n++
		}
	}
	return n
}

// choose is the replica for a request; false when none serves.
func (w *lines) choose(number uint64) (best int32, ok bool) {
	s := w.s
	if s.fleet.up() == 0 {
		return 0, false
	}
	source := draw.New(s.cfg.Draws.Seed, lineStream, number, 0)
	switch s.cfg.Balancing {
	case Random:
		return s.serving(source.IntN(s.fleet.up())), true
	case TwoChoices:
		a, b := s.serving(source.IntN(s.fleet.up())), s.serving(source.IntN(s.fleet.up()))
		if w.length(b) < w.length(a) {
			return b, true
		}
		return a, true
	}
	least := int64(0)
	for i := range s.fleet.list {
		if !s.fleet.list[i].serving() {
			continue
		}
		n := s.fleet.list[i].requests
		if s.cfg.Balancing == LeastLoaded {
			n = w.length(int32(i))
		}
		if !ok || n < least {
			best, least, ok = int32(i), n, true
		}
		if n == 0 {
			break
		}
	}
	return best, ok
}

// serving is the replica of that rank among those that serve.
func (s *Sim) serving(rank int64) int32 {
	for i := range s.fleet.list {
		if !s.fleet.list[i].serving() {
			continue
		}
		if rank == 0 {
			return int32(i)
		}
		rank--
	}
	return -1
}

// start begins the work on a request.
func (w *lines) start(now model.Time, i, r int32) {
	s, x, y := w.s, &w.requests[i], &w.s.fleet.list[r]
	x.state, x.replica = inService, r
	y.requests++
	s.setLoad(now, r, float64(y.requests)/float64(s.cfg.Slots))
	s.moved(now, -1, 0)
	s.started(1, float64(now.Sub(x.At)))
	if !s.cfg.Goal.Response {
		s.judged(x.At, now.Sub(x.At), 1)
	}
	work := x.Work
	if now < y.warm {
		work = model.Duration(float64(work) / s.cfg.Supply.WarmRate)
	}
	s.push(now.Add(max(work, 1)), des.RankEnd, i, x.gen)
	if s.cfg.Kind == Rooms && y.state == autoscale.Ready {
		s.enter(now, r, autoscale.Busy)
		s.planning = true
	}
}

// complete ends a request and lets the next one begin.
func (w *lines) complete(now model.Time, i int32) {
	s, r := w.s, w.requests[i].replica
	if at := w.requests[i].At; s.cfg.Goal.Response {
		s.judged(at, now.Sub(at), 1)
	}
	s.out.Served++
	w.release(i)
	s.moved(now, 0, -1)
	w.vacate(now, r)
}

// vacate frees a slot of a replica.
func (w *lines) vacate(now model.Time, r int32) {
	s, y := w.s, &w.s.fleet.list[r]
	y.requests--
	s.setLoad(now, r, float64(y.requests)/float64(s.cfg.Slots))
	if y.state == autoscale.Draining {
		if y.requests == 0 {
			s.stop(now, r, autoscale.Stopped)
		}
		return
	}
	w.fill(now, r)
	if y.state == autoscale.Busy && y.requests == 0 {
		s.enter(now, r, autoscale.Ready)
	}
}

// fill starts requests that wait, as far as a replica has slots.
func (w *lines) fill(now model.Time, r int32) {
	for w.s.fleet.list[r].requests < w.s.cfg.Slots {
		i, ok := int32(0), false
		if int(r) < len(w.own) {
			i, ok = w.pop(&w.own[r])
		}
		if !ok {
			i, ok = w.pop(&w.gate)
		}
		if !ok {
			return
		}
		w.start(now, i, r)
	}
}

func (w *lines) up(now model.Time, r int32) { w.fill(now, r) }

func (w *lines) drain(now model.Time, r int32) {
	w.scatter(now, r)
	if w.s.fleet.list[r].requests == 0 {
		w.s.stop(now, r, autoscale.Stopped)
	}
}

// scatter gives the line of a replica to the others.
func (w *lines) scatter(now model.Time, r int32) {
	if int(r) >= len(w.own) {
		return
	}
	old := w.own[r]
	w.own[r] = emptyLine
	for {
		i, ok := w.pop(&old)
		if !ok {
			return
		}
		w.dispatch(now, i)
	}
}

// down loses the work on a replica.
func (w *lines) down(now model.Time, r int32) {
	s, y := w.s, &w.s.fleet.list[r]
	killed := int64(0)
	for i := range w.requests {
		if x := &w.requests[i]; x.state == inService && x.replica == r {
			killed++
			s.lost(x.At, 1)
			w.release(int32(i))
		}
	}
	y.requests = 0
	s.setLoad(now, r, 0)
	s.moved(now, 0, -float64(killed))
	s.out.Killed += float64(killed)
	state := y.state
	y.state = autoscale.Draining // it takes none of its own line again
	s.fleet.counts[state]--
	s.fleet.counts[autoscale.Draining]++
	w.scatter(now, r)
}

func (w *lines) finish(end model.Time) {
	for i := range w.requests {
		x := &w.requests[i]
		if x.state == waiting || x.state == inService && w.s.cfg.Goal.Response {
			w.s.out.Leave(x.At, end, w.s.cfg.Goal.Limit)
		}
	}
}
