// Package session simulates a fleet of workers for lab sessions, with the two halves of LCM
// in the loop: sessions come and stay for a while, the scheduler places them and calls for
// workers, which boot, and the reconciler drains those that are idle. It must not know how
// either decides.
package session

import (
	"fmt"

	"orrery/autoscale"
	"orrery/autoscale/lcm"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
	"orrery/sim/service"
	"orrery/sim/service/demand"
)

// Config is that of one fleet.
type Config struct {
	Scheduler  lcm.SchedulerConfig   // with the kinds of sessions and the templates of workers
	Reconciler *lcm.ReconcilerConfig // nil for none
	Weights    []float64             // of the kinds of sessions; none for the first alone

	Start     int64          // workers of the first template that run at the beginning
	Limit     int64          // workers of the region in any state but terminated: the control plane refuses more
	Boot      model.Duration // from the call to a worker that runs, the mean
	BootCV    float64
	Immediate bool    // a drained worker is stopped at once and its sessions are lost, as coded; otherwise they end first
	Error     float64 // share of the commands that the platform fails
	Activity  model.Duration
	Draws     demand.Draws // Default.Work is how long a session stays
	Judged    Judged
}

func (c *Config) validate() error {
	switch {
	case c.Start < 0 || c.Start > c.Limit || c.Start > 0 && len(c.Scheduler.Templates) == 0:
		return fmt.Errorf("%d workers at the beginning and a limit of %d: want none to as many, and a template", c.Start, c.Limit)
	case c.Limit < 1 || c.Boot < 0 || !(c.BootCV >= 0) || !(c.Error >= 0 && c.Error <= 1):
		return fmt.Errorf("limit %d, boot %v, its variation %v and errors %v: want a limit, none negative and a share", c.Limit, c.Boot, c.BootCV, c.Error)
	case c.Activity <= 0:
		return fmt.Errorf("activity read each %v: want more than 0", c.Activity)
	case len(c.Weights) > 0 && len(c.Weights) != len(c.Scheduler.Sessions):
		return fmt.Errorf("%d weights of %d kinds of sessions: want as many, or none", len(c.Weights), len(c.Scheduler.Sessions))
	}
	return nil
}

// Outcome is what came of a run.
type Outcome struct {
	Sessions, Assigned, Ended, Killed int64
	Wait                              service.Latency // from the arrival to the assignment
	Calls, Accepted, Refused          int64           // for workers
	Drains                            int64
	Overbooked                        int64   // assignments beyond what a worker has
	MostWorkers                       int64   // at one time, in any state but stopped
	WorkerHours, Cost                 float64 // from the call to the stop
	Service                           service.Outcome
}

type worker struct {
	state    autoscale.State
	template int32
	called   model.Time
	active   model.Time // when it last had a session
	sessions int64
	used     lcm.Capacity
}

type lab struct {
	kind    int32
	worker  int32 // -1 for none
	begun   bool  // it has had one
	arrived model.Time
	stays   model.Duration
}

// Fleet is one run.
type Fleet struct {
	cfg      Config
	sched    *lcm.Scheduler
	recon    *lcm.Reconciler
	arrivals *demand.Arrivals
	coming   demand.Arrival
	end      model.Time
	queue    des.Queue
	workers  []worker
	labs     []lab
	live     int64
	commands uint64
	facts    [2][]autoscale.Fact // by half
	wakes    [2]model.Time
	seen     seen
	out      Outcome
}

// The halves, as events name them.
const (
	scheduling = iota
	reconciling
)

var (
	bootStream  = draw.StreamOf("session worker boot")
	kindStream  = draw.StreamOf("session kind")
	errorStream = draw.StreamOf("session command error")
)

// Run simulates a fleet under a demand for sessions.
func Run(cfg Config, d *demand.Demand) (*Outcome, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	f := &Fleet{cfg: cfg, end: d.End, wakes: [2]model.Time{0, model.Never}}
	f.seen.out.Step = cfg.Judged.Step
	var err error
	if f.sched, err = lcm.NewScheduler(cfg.Scheduler); err != nil {
		return nil, err
	}
	if cfg.Reconciler != nil {
		if f.recon, err = lcm.NewReconciler(*cfg.Reconciler); err != nil {
			return nil, err
		}
		f.wakes[reconciling] = 0
	}
	if f.arrivals, err = demand.NewArrivals(d, cfg.Draws); err != nil {
		return nil, err
	}
	for i := range int32(cfg.Start) {
		f.workers = append(f.workers, worker{})
		f.live++
		f.out.MostWorkers = f.live
		f.enter(0, i, autoscale.Starting)
		f.enter(0, i, autoscale.Ready)
	}
	f.fetch()
	f.push(0, des.RankScrape, 0)
	if cfg.Judged.Step > 0 {
		f.push(0, des.RankRecord, 0)
	}
	var batch []des.Event
	for now := f.queue.Next(); now < f.end; now = f.queue.Next() {
		batch = f.queue.Take(now, des.RankRecord, batch[:0])
		for _, e := range batch {
			f.handle(now, e)
		}
		f.plan(now)
	}
	for i := range f.workers {
		if f.workers[i].state != autoscale.Stopped {
			f.pay(f.end, &f.workers[i])
		}
	}
	f.asService()
	return &f.out, nil
}

func (f *Fleet) push(at model.Time, r des.Rank, job int32) {
	if at != model.Never {
		f.queue.Push(des.NewEvent(at, r, model.JobID(job), 0))
	}
}

func (f *Fleet) fetch() {
	var ok bool
	if f.coming, ok = f.arrivals.Next(); ok {
		f.push(f.coming.At, des.RankSubmission, 0)
	}
}

func (f *Fleet) handle(now model.Time, e des.Event) {
	i := int32(e.Job())
	switch e.Rank() {
	case des.RankNodeUp:
		if f.workers[i].state == autoscale.Starting {
			f.workers[i].active = now
			f.enter(now, i, autoscale.Ready)
		}
	case des.RankEnd:
		if f.labs[i].worker >= 0 { // it was not killed
			f.out.Ended++
			f.leave(now, i)
		}
	case des.RankSubmission:
		x := f.coming
		f.fetch()
		f.out.Sessions++
		f.settle(now)
		f.seen.waiting++
		f.seen.out.Arrive(now, 1)
		n := int32(len(f.labs))
		f.labs = append(f.labs, lab{kind: f.kind(x.Number), worker: -1, arrived: now, stays: x.Work})
		f.facts[scheduling] = append(f.facts[scheduling], autoscale.Fact{Kind: autoscale.FactActive, Entity: autoscale.Entity(n), N: 1, Template: f.labs[n].kind})
	case des.RankRecord:
		f.record(now)
	case des.RankScrape:
		f.activity(now)
		f.push(now.Add(f.cfg.Activity), des.RankScrape, 0)
	}
}

// kind draws that of a session.
func (f *Fleet) kind(number uint64) int32 {
	sum := 0.0
	for _, w := range f.cfg.Weights {
		sum += w
	}
	source := draw.New(f.cfg.Draws.Seed, kindStream, number, 0)
	left := float64(source.Float64() * sum)
	for i, w := range f.cfg.Weights {
		if left -= w; left < 0 {
			return int32(i)
		}
	}
	return 0
}

// activity tells the reconciler when workers were last used.
func (f *Fleet) activity(now model.Time) {
	for i := range f.workers {
		w := &f.workers[i]
		if w.state != autoscale.Ready {
			continue
		}
		if w.sessions > 0 {
			w.active = now
		}
		f.facts[reconciling] = append(f.facts[reconciling], autoscale.Fact{Kind: autoscale.FactSample, Metric: lcm.Activity, Entity: autoscale.Entity(i), At: w.active})
	}
}

// enter moves a worker to a state and tells both halves.
func (f *Fleet) enter(now model.Time, i int32, to autoscale.State) {
	w := &f.workers[i]
	f.settle(now)
	f.seen.change(w.state, to)
	w.state = to
	x := autoscale.Fact{Kind: autoscale.FactEntity, Entity: autoscale.Entity(i), State: to, Template: w.template, At: now}
	for half := range f.facts {
		f.facts[half] = append(f.facts[half], x)
	}
}

// leave ends a session on its worker.
func (f *Fleet) leave(now model.Time, i int32) {
	x := &f.labs[i]
	w := &f.workers[x.worker]
	w.sessions--
	need := f.cfg.Scheduler.Sessions[x.kind].Need
	w.used = lcm.Capacity{CPU: w.used.CPU - need.CPU, Memory: w.used.Memory - need.Memory, Storage: w.used.Storage - need.Storage}
	f.settle(now)
	f.seen.busy -= share(need, f.cfg.Scheduler.Templates[w.template].Capacity)
	w.active = now
	if w.state == autoscale.Draining && w.sessions == 0 {
		f.stop(now, x.worker)
	}
	x.worker = -1
	f.facts[scheduling] = append(f.facts[scheduling], autoscale.Fact{Kind: autoscale.FactActive, Entity: autoscale.Entity(i), Template: x.kind})
}

func (f *Fleet) stop(now model.Time, i int32) {
	f.pay(now, &f.workers[i])
	f.live--
	f.enter(now, i, autoscale.Stopped)
}

// pay counts what a worker cost.
func (f *Fleet) pay(now model.Time, w *worker) {
	hours := now.Sub(w.called).Seconds() / 3600
	f.out.WorkerHours += hours
	f.bill(now, w)
	f.out.Cost += float64(hours * f.cfg.Scheduler.Templates[w.template].Cost)
}

// plan lets both halves decide, and carries out what they want.
func (f *Fleet) plan(now model.Time) {
	halves := [2]autoscale.Policy{scheduling: f.sched}
	if f.recon != nil {
		halves[reconciling] = f.recon
	}
	for i, p := range halves {
		if p == nil {
			f.facts[i] = f.facts[i][:0]
			continue
		}
		p.Observe(now, f.facts[i])
		f.facts[i] = f.facts[i][:0]
		plan := p.Plan(now)
		f.decided(now, plan.Decisions)
		for _, x := range plan.Proposals {
			f.facts[i] = append(f.facts[i], f.carry(now, i, x))
		}
		if f.wakes[i] != plan.Wake {
			f.wakes[i] = plan.Wake
			f.push(plan.Wake, des.RankScaling, int32(i))
		}
	}
	for i, p := range halves { // results are known at once
		if p != nil && len(f.facts[i]) > 0 {
			p.Observe(now, f.facts[i])
			f.facts[i] = f.facts[i][:0]
		}
	}
}

// carry does what a half wants and tells how it went.
func (f *Fleet) carry(now model.Time, half int, p autoscale.Proposal) autoscale.Fact {
	r := autoscale.Fact{Kind: autoscale.FactResult, Seq: p.Seq, Entity: p.Entity, Outcome: autoscale.Accepted, N: p.N}
	source := draw.New(f.cfg.Draws.Seed, errorStream, f.commands, 0)
	f.commands++
	if source.Bool(f.cfg.Error) {
		r.Outcome = autoscale.Errored
		return r
	}
	ok := false
	switch p.Verb {
	case autoscale.AddNode:
		ok = f.grow(now, p.Template)
	case autoscale.Migrate:
		ok = f.assign(now, int32(p.Entity), int32(p.N))
	case autoscale.Drain:
		ok = f.drain(now, int32(p.Entity))
	}
	if !ok {
		r.Outcome = autoscale.Rejected
	}
	return r
}

// grow is the command for a worker.
func (f *Fleet) grow(now model.Time, template int32) bool {
	f.out.Calls++
	g := lcm.Growth{Known: template >= 0 && int(template) < len(f.cfg.Scheduler.Templates), Active: f.live, Limit: f.cfg.Limit}
	g.Enabled = g.Known && f.cfg.Scheduler.Templates[template].Enabled
	if status, _ := lcm.Grow(g); status != lcm.Created {
		f.out.Refused++
		return false
	}
	f.out.Accepted++
	f.live++
	f.out.MostWorkers = max(f.out.MostWorkers, f.live)
	i := int32(len(f.workers))
	f.workers = append(f.workers, worker{template: template, called: now})
	f.enter(now, i, autoscale.Starting)
	boot := f.cfg.Boot
	if f.cfg.BootCV > 0 {
		square := float64(f.cfg.BootCV * f.cfg.BootCV)
		source := draw.New(f.cfg.Draws.Seed, bootStream, uint64(i), 0)
		boot = model.Duration(source.Gamma(1/square, float64(float64(boot)*square)))
	}
	f.push(now.Add(boot), des.RankNodeUp, i)
	return true
}

// assign puts a session onto a worker, which may have less room than the scheduler's cache
// says.
func (f *Fleet) assign(now model.Time, i, to int32) bool {
	if to < 0 || int(to) >= len(f.workers) || f.workers[to].state != autoscale.Ready || f.labs[i].worker >= 0 {
		return false
	}
	x, w := &f.labs[i], &f.workers[to]
	need, has := f.cfg.Scheduler.Sessions[x.kind].Need, f.cfg.Scheduler.Templates[w.template].Capacity
	w.used = lcm.Capacity{CPU: w.used.CPU + need.CPU, Memory: w.used.Memory + need.Memory, Storage: w.used.Storage + need.Storage}
	if w.used.CPU > has.CPU || w.used.Memory > has.Memory || w.used.Storage > has.Storage {
		f.out.Overbooked++
	}
	w.sessions++
	w.active, x.worker, x.begun = now, to, true
	f.out.Assigned++
	f.out.Wait.Add(now.Sub(x.arrived), 1)
	f.settle(now)
	f.seen.waiting--
	f.seen.busy += share(need, has)
	f.judge(now, x)
	f.push(now.Add(max(x.stays, 1)), des.RankEnd, i)
	return true
}

// drain is the command for a worker to leave.
func (f *Fleet) drain(now model.Time, i int32) bool {
	known := i >= 0 && int(i) < len(f.workers)
	if lcm.Drain(known, known && f.workers[i].state == autoscale.Ready) != lcm.OK {
		return false
	}
	f.out.Drains++
	f.enter(now, i, autoscale.Draining)
	if f.cfg.Immediate {
		for k := range f.labs {
			if f.labs[k].worker == i {
				f.out.Killed++
				f.seen.out.Lose(f.labs[k].arrived, 1)
				f.leave(now, int32(k))
			}
		}
	}
	if f.workers[i].state == autoscale.Draining && f.workers[i].sessions == 0 {
		f.stop(now, i)
	}
	return true
}
