package service

import (
	"math"

	"orrery/autoscale"
	"orrery/internal/libm"
	"orrery/scheduler/model"
	"orrery/sim/des"
	"orrery/sim/service/demand"
)

// sequence is a request in the batch of a replica.
type sequence struct {
	demand.Arrival
	first float64 // iterations of the replica after which it has its first token
	last  float64 // and all of them
	begun bool    // it has its first token
}

// engine is the batch of one replica. All sequences in it make one iteration at a time;
// how many have been made since it began is done, and grows at a rate that depends on the
// size of the batch.
type engine struct {
	batch []sequence
	done  float64
	at    model.Time
	gen   model.Ref
}

// batches simulates the inference of language models with continuous batching: a request
// joins the batch of a replica as soon as there is room, and leaves it when it is done.
type batches struct {
	arrivals
	line    []demand.Arrival // first come first served
	engines []engine         // by replica
}

func (w *batches) event(now model.Time, e des.Event) {
	if e.Rank() == des.RankSubmission {
		x := w.take()
		w.s.arrived(now, 1)
		w.s.moved(now, 1, 1)
		if w.s.cfg.Line >= 0 && int64(len(w.line)) >= w.s.cfg.Line && !w.room() {
			w.s.moved(now, -1, -1)
			w.s.out.Refused++
			w.s.lost(now, 1)
			return
		}
		w.line = append(w.line, x)
		w.admit(now)
		return
	}
	if i := int32(e.Job()); w.engines[i].gen == e.Ref() {
		w.step(now, i)
		w.admit(now)
	}
}

// room says whether a batch has room.
func (w *batches) room() bool { _, ok := w.emptiest(); return ok }

// emptiest is the replica with the fewest requests that has room.
func (w *batches) emptiest() (best int32, ok bool) {
	for i := range w.s.fleet.list {
		r := &w.s.fleet.list[i]
		if r.serving() && r.requests < w.s.cfg.Batch.Most && (!ok || r.requests < w.s.fleet.list[best].requests) {
			best, ok = int32(i), true
		}
	}
	return best, ok
}

// admit lets requests that wait join batches.
func (w *batches) admit(now model.Time) {
	taken := 0
	for taken < len(w.line) {
		i, ok := w.emptiest()
		if !ok {
			break
		}
		x := w.line[taken]
		taken++
		e := w.engine(i)
		w.progress(now, i)
		chunks := math.Ceil(float64(max(x.In, 1)) / float64(w.s.cfg.Batch.Chunk))
		e.batch = append(e.batch, sequence{x, e.done + chunks, e.done + chunks + float64(max(x.Out-1, 0)), false})
		w.s.moved(now, -1, 0)
		w.s.started(1, float64(now.Sub(x.At)))
		w.changed(now, i)
	}
	n := copy(w.line, w.line[taken:])
	w.line = w.line[:n]
}

func (w *batches) engine(i int32) *engine {
	for len(w.engines) <= int(i) {
		w.engines = append(w.engines, engine{})
	}
	return &w.engines[i]
}

// iteration is how long one takes at a replica now, in µs.
func (w *batches) iteration(now model.Time, i int32) float64 {
	c := &w.s.cfg.Batch
	t := float64(c.Base) + float64(float64(c.PerRequest)*float64(len(w.engines[i].batch)))
	if now < w.s.fleet.list[i].warm {
		t /= w.s.cfg.Supply.WarmRate
	}
	return t
}

// progress brings the iterations of a replica up to now.
func (w *batches) progress(now model.Time, i int32) {
	e := w.engine(i)
	if dt := now - e.at; dt > 0 && len(e.batch) > 0 {
		e.done += float64(dt) / w.iteration(e.at, i)
	}
	e.at = now
}

// changed notes the size of a batch and schedules what comes next in it.
func (w *batches) changed(now model.Time, i int32) {
	e, r := &w.engines[i], &w.s.fleet.list[i]
	r.requests = int64(len(e.batch))
	w.s.setLoad(now, i, 1-libm.Exp(-w.s.cfg.Batch.Occupancy*float64(r.requests)))
	e.gen = next(e.gen)
	soonest := math.Inf(1)
	for k := range e.batch {
		x := &e.batch[k]
		at := x.last
		if !x.begun {
			at = x.first
		}
		soonest = min(soonest, at)
	}
	if len(e.batch) == 0 {
		return
	}
	at := now.Add(model.Duration(math.Ceil(max(0, soonest-e.done) * w.iteration(now, i))))
	if warm := r.warm; now < warm && at > warm {
		at = warm // the rate changes there
	}
	w.s.push(max(at, now+1), des.RankEnd, i, e.gen)
}

// step takes first tokens and ended requests out of what a replica has done.
func (w *batches) step(now model.Time, i int32) {
	w.progress(now, i)
	e, goal := &w.engines[i], &w.s.cfg.Goal
	const rounding = 1e-6 // iterations; instants are whole microseconds
	kept := e.batch[:0]
	for _, x := range e.batch {
		if !x.begun && e.done >= x.first-rounding {
			x.begun = true
			if !goal.Response {
				w.s.judged(x.At, now.Sub(x.At), 1)
			}
		}
		if x.begun && e.done >= x.last-rounding {
			if goal.Response {
				w.s.judged(x.At, now.Sub(x.At), 1)
			}
			w.s.out.Served++
			w.s.moved(now, 0, -1)
			continue
		}
		kept = append(kept, x)
	}
	e.batch = kept
	w.changed(now, i)
	if len(kept) == 0 && w.s.fleet.list[i].state == autoscale.Draining {
		w.s.stop(now, i, autoscale.Stopped)
	}
}

func (w *batches) up(now model.Time, i int32) {
	*w.engine(i) = engine{at: now, gen: w.engine(i).gen, batch: w.engine(i).batch[:0]}
	w.admit(now)
}

func (w *batches) drain(now model.Time, i int32) {
	if len(w.engine(i).batch) == 0 {
		w.s.stop(now, i, autoscale.Stopped)
	}
}

func (w *batches) down(now model.Time, i int32) {
	e := w.engine(i)
	n := float64(len(e.batch))
	w.s.moved(now, 0, -n)
	w.s.out.Killed += n
	for k := range e.batch {
		w.s.lost(e.batch[k].At, 1)
	}
	e.batch, e.gen = e.batch[:0], next(e.gen)
	w.s.fleet.list[i].requests = 0
	w.s.setLoad(now, i, 0)
}

func (w *batches) finish(end model.Time) {
	goal := &w.s.cfg.Goal
	for i := range w.line {
		w.s.out.Leave(w.line[i].At, end, goal.Limit)
	}
	for i := range w.engines {
		for k := range w.engines[i].batch {
			if x := &w.engines[i].batch[k]; goal.Response || !x.begun {
				w.s.out.Leave(x.At, end, goal.Limit)
			}
		}
	}
}
