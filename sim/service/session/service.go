package session

import (
	"orrery/autoscale"
	"orrery/autoscale/lcm"
	"orrery/scheduler/model"
	"orrery/sim/des"
	"orrery/sim/service"
)

// Judged says how a run is seen as that of a service whose replicas are the workers.
type Judged struct {
	Step        model.Duration // of the timeline; 0 keeps none
	Goal        service.Goal
	Price       float64 // of a worker hour
	Granularity model.Duration
	Watch       service.Observer // of the decisions; nil for none
}

// seen fills in the outcome of a run as that of a service.
type seen struct {
	out                      service.Outcome
	at                       model.Time
	ready, live              int64   // workers
	busy                     float64 // of them, by the CPU of their sessions
	waiting                  int64   // sessions without a worker
	readySum, heldSum, total float64 // over the run, µs
	step                     [3]float64
	charged                  int64 // µs
}

// settle brings the sums over time up to now.
func (f *Fleet) settle(now model.Time) {
	s := &f.seen
	dt := float64(now - s.at)
	if dt > 0 {
		s.out.Serving(s.at, s.ready)
	}
	for i, v := range [...]float64{float64(s.ready), float64(s.live), s.busy} {
		s.step[i] += float64(v * dt)
	}
	s.readySum += float64(float64(s.ready) * dt)
	s.heldSum += float64(float64(s.live) * dt)
	s.total += float64(s.busy * dt)
	s.at = now
}

// record closes a step of the timeline and begins the next.
func (f *Fleet) record(now model.Time) {
	f.settle(now)
	s := &f.seen
	p := s.out.Current()
	if dt := float64(now - p.At); dt > 0 {
		p.Ready, p.Held, p.Busy, p.Waiting = s.step[0]/dt, s.step[1]/dt, s.step[2]/dt, float64(s.waiting)
		s.out.CloseStep(now)
	}
	s.step = [3]float64{}
	s.out.Current().Supply = s.ready
	if now < f.end && f.cfg.Judged.Step > 0 {
		f.push(now.Add(f.cfg.Judged.Step), des.RankRecord, 0)
	}
}

// change counts what a worker enters.
func (s *seen) change(from, to autoscale.State) {
	if from == autoscale.Ready {
		s.ready--
	}
	if to == autoscale.Ready {
		s.ready++
	}
	switch to {
	case autoscale.Starting:
		s.live++
	case autoscale.Stopped:
		s.live--
	}
}

// judge holds a session that has found its worker against the goal.
func (f *Fleet) judge(now model.Time, x *lab) {
	s, g := &f.seen, &f.cfg.Judged.Goal
	latency := now.Sub(x.arrived)
	if g.Response {
		latency += x.stays
	}
	s.out.Latency.Add(latency, 1)
	if latency > g.Limit {
		s.out.Delay(x.arrived, 1)
	}
}

// bill charges a worker that stops, or that the run ends with.
func (f *Fleet) bill(now model.Time, w *worker) {
	held := now.Sub(w.called)
	if g := f.cfg.Judged.Granularity; g > 0 {
		held = (held + g - 1) / g * g
	}
	f.seen.charged += int64(held)
}

// decided tells of the decisions of a half.
func (f *Fleet) decided(now model.Time, list []autoscale.Decision) {
	for i := range list {
		f.seen.out.Decided(&list[i])
		if f.cfg.Judged.Watch != nil {
			f.cfg.Judged.Watch(now, &list[i], f.live)
		}
	}
}

// share is the part of a worker that a session takes.
func share(need, of lcm.Capacity) float64 { return float64(need.CPU) / float64(max(of.CPU, 1)) }

// asService closes the sums at the end of the run.
func (f *Fleet) asService() {
	if f.cfg.Judged.Step > 0 {
		f.record(f.end)
	}
	o, hour := &f.seen.out, float64(model.Hour)
	for i := range f.labs {
		if x := &f.labs[i]; !x.begun {
			o.Leave(x.arrived, f.end, f.cfg.Judged.Goal.Limit)
		}
	}
	o.Sum(f.cfg.Judged.Goal.Share)
	o.Served, o.Killed = float64(f.out.Ended), float64(f.out.Killed)
	o.Proposals, o.Rejected, o.Ups, o.Downs = f.out.Calls+f.out.Drains, f.out.Refused, f.out.Accepted, f.out.Drains
	o.Charged, o.Held, o.Used, o.Busy = float64(f.seen.charged)/hour, f.seen.heldSum/hour, f.seen.readySum/hour, f.seen.total/hour
	o.Cost = float64(o.Charged * f.cfg.Judged.Price)
	f.out.Service = f.seen.out
}
