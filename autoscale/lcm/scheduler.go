package lcm

import (
	"fmt"
	"slices"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// Refresh is the series of the capacity cache: a sample that is missing says that the next
// refresh fails, and the cache stays as it was.
const Refresh autoscale.Metric = 1

// SchedulerConfig is that of the side that places sessions and calls for workers. Sessions
// and templates are tables; facts and proposals give places in them.
type SchedulerConfig struct {
	Sessions  []Session
	Templates []Template

	Interval   model.Duration // between cycles; default 30 s
	Polling    bool           // cycles at the interval; default true
	Watch      bool           // and soon after a session has come; default true
	Debounce   model.Duration // how soon; default 0.5 s
	Concurrent int            // sessions that one cycle takes; default 10
	CacheTTL   model.Duration // age from which the capacity cache is refreshed; default 30 s

	// MaxRetries is how many failures in a row a session has, 35 as documented; then it is
	// given up. As coded it is 5, and then the session comes again after Requeue.
	MaxRetries int64
	Requeue    model.Duration // 0 to give up

	// Coded chooses templates as the code does, by name.
	Coded bool
	// NumericVersions compares versions by their numbers.
	NumericVersions bool
	// CountOwn takes what the scheduler has placed itself off the cached capacity, so that
	// it is not given twice before the next refresh.
	CountOwn bool
	// PendingAware looks at the workers that are on their way before it calls for another.
	PendingAware bool
}

// SchedulerDefaults are those of the document.
func SchedulerDefaults() SchedulerConfig {
	return SchedulerConfig{
		Interval: 30 * model.Second, Polling: true, Watch: true, Debounce: 500 * model.Millisecond, Concurrent: 10, CacheTTL: 30 * model.Second, MaxRetries: 35,
	}
}

// SchedulerCoded are those of the sources.
func SchedulerCoded() SchedulerConfig {
	c := SchedulerDefaults()
	c.MaxRetries, c.Requeue, c.Coded = 5, 300*model.Second, true
	return c
}

func (c *SchedulerConfig) validate() error {
	switch {
	case len(c.Sessions) == 0:
		return fmt.Errorf("no kinds of sessions")
	case c.Interval <= 0 || c.Concurrent <= 0:
		return fmt.Errorf("interval %v and %d sessions at once: want more than 0", c.Interval, c.Concurrent)
	case !c.Polling && !c.Watch:
		return fmt.Errorf("neither polling nor watching: nothing would be placed")
	case c.Debounce < 0 || c.CacheTTL < 0 || c.Requeue < 0 || c.MaxRetries < 1:
		return fmt.Errorf("debounce %v, age %v, requeue %v and %d retries: want none negative, and some retries", c.Debounce, c.CacheTTL, c.Requeue, c.MaxRetries)
	}
	return nil
}

// Retry is what becomes of a session after a number of failures in a row: its new number,
// and whether it is given up, or comes again after the span.
func (c *SchedulerConfig) Retry(failures int64) (n int64, after model.Duration, givenUp bool) {
	if n = failures + 1; n < c.MaxRetries {
		return n, 0, false
	}
	return n, c.Requeue, c.Requeue == 0
}

// pending is a session that is to be placed, or has been.
type pending struct {
	entity  autoscale.Entity
	kind    int32
	worker  autoscale.Entity // that it is on; none for not yet
	retries int64
	after   model.Time // not before
	givenUp bool
	flying  uint64 // proposal without a result; 0 for none
	target  autoscale.Entity
}

const none autoscale.Entity = -1

// node is a worker of the scheduler. The cache has what it had at the last refresh.
type node struct {
	entity             autoscale.Entity
	state              autoscale.State
	template           int32
	available, planned Capacity // in the cache; what it has less what a cycle has planned for it on its way
	cached             Cached
	sessions, ports    int64 // that are on it, by the list of workers
}

// call for a worker without a result.
type call struct {
	seq      uint64
	template int32
	planned  Capacity
}

// Scheduler places sessions. An assignment is a Migrate of the session to the worker whose
// number is N; a call for a worker is an AddNode.
type Scheduler struct {
	cfg      SchedulerConfig
	engine   Engine
	events   [Events]int64
	sessions []pending // by entity
	nodes    []node    // by entity
	workers  []Worker  // of nodes, scratch
	calls    []call

	refreshed model.Time
	stale     bool // the next refresh fails
	cached    bool
	next      model.Time
	watch     model.Time // of the debounce, Never for none
	started   bool
	seq       uint64
	plan      autoscale.Plan
}

// NewScheduler makes one.
func NewScheduler(cfg SchedulerConfig) (*Scheduler, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Scheduler{cfg: cfg, engine: Engine{NumericVersions: cfg.NumericVersions}, watch: model.Never}, nil
}

// Count is how often an audit event was recorded.
func (s *Scheduler) Count(e Event) int64 { return s.events[e] }

// Observe implements autoscale.Policy. A session that calls for a worker is FactActive of
// its number, with its kind as Template; N 0 says that it has ended.
func (s *Scheduler) Observe(now model.Time, facts []autoscale.Fact) {
	for k := range facts {
		f := &facts[k]
		switch f.Kind {
		case autoscale.FactActive:
			s.session(now, f)
		case autoscale.FactEntity:
			s.worker(f)
		case autoscale.FactSample:
			if f.Metric == Refresh {
				s.stale = f.Missing
			}
		case autoscale.FactResult:
			s.answered(now, f)
		}
	}
}

func (s *Scheduler) session(now model.Time, f *autoscale.Fact) {
	i, ok := slices.BinarySearchFunc(s.sessions, f.Entity, func(p pending, e autoscale.Entity) int { return int(p.entity) - int(e) })
	switch {
	case ok && f.N == 0:
		s.count(&s.sessions[i], -1)
		s.sessions = slices.Delete(s.sessions, i, i+1)
	case !ok && f.N != 0 && f.Template >= 0 && int(f.Template) < len(s.cfg.Sessions):
		s.sessions = slices.Insert(s.sessions, i, pending{entity: f.Entity, kind: f.Template, worker: none})
		if s.cfg.Watch && s.watch == model.Never {
			s.watch = now.Add(s.cfg.Debounce)
		}
	}
}

func (s *Scheduler) worker(f *autoscale.Fact) {
	i, ok := s.at(f.Entity)
	gone := f.State == autoscale.Failed
	switch {
	case ok && gone:
		s.nodes = slices.Delete(s.nodes, i, i+1)
		return
	case gone || !ok && (f.Template < 0 || int(f.Template) >= len(s.cfg.Templates)):
		return
	case !ok:
		c := s.cfg.Templates[f.Template].Capacity
		s.nodes = slices.Insert(s.nodes, i, node{entity: f.Entity, template: f.Template, available: c, cached: Cached{Declared: c, Sessions: -1}})
		for k := range s.sessions { // of a worker that was there before
			if p := &s.sessions[k]; p.worker == f.Entity {
				s.count(p, +1)
			}
		}
	}
	s.nodes[i].state = f.State
}

// answered takes in a result of an assignment or of a call.
func (s *Scheduler) answered(now model.Time, f *autoscale.Fact) {
	if i := slices.IndexFunc(s.calls, func(c call) bool { return c.seq == f.Seq }); i >= 0 {
		s.calls = slices.Delete(s.calls, i, i+1)
		if f.Outcome == autoscale.Accepted {
			s.events[ScaleUpAccepted]++
		} else {
			s.events[ScaleUpRejected]++
		}
		return
	}
	i := slices.IndexFunc(s.sessions, func(p pending) bool { return p.flying != 0 && p.flying == f.Seq })
	if i < 0 {
		return
	}
	p := &s.sessions[i]
	p.flying = 0
	if f.Outcome == autoscale.Accepted {
		p.worker = p.target
		s.count(p, +1)
		return
	}
	var after model.Duration
	p.retries, after, p.givenUp = s.cfg.Retry(p.retries)
	p.after = now.Add(after)
}

// Plan implements autoscale.Policy: one decision for each session that has to be placed.
func (s *Scheduler) Plan(now model.Time) *autoscale.Plan {
	s.plan.Reset()
	if s.due(now) {
		s.cycle(now)
	}
	if s.cfg.Polling {
		s.plan.Wake = s.next
	}
	s.plan.Wake = min(s.plan.Wake, s.watch)
	return &s.plan
}

// due says whether it is time for a cycle, and when the next one is.
func (s *Scheduler) due(now model.Time) bool {
	due := now >= s.watch
	if s.cfg.Polling && (!s.started || now >= s.next) {
		due, s.started, s.next = true, true, now.Add(s.cfg.Interval)
	}
	if due {
		s.watch = model.Never
	}
	return due
}

// cycle places what is pending.
func (s *Scheduler) cycle(now model.Time) {
	if !s.cached || now.Sub(s.refreshed) >= s.cfg.CacheTTL {
		s.refresh(now)
	}
	taken := 0
	for i := range s.sessions {
		p := &s.sessions[i]
		if p.worker != none {
			continue
		}
		d := autoscale.Decision{Entity: p.entity}
		switch {
		case p.flying != 0:
			d.Guard = autoscale.GuardInFlight
		case p.givenUp:
			d.Guard = GuardGivenUp
		case now < p.after:
			d.Guard = GuardRequeued
		case taken >= s.cfg.Concurrent:
			d.Guard = GuardConcurrency
		default:
			if taken == 0 {
				s.list()
			}
			taken++
			s.place(p, &d)
		}
		s.plan.Decisions = append(s.plan.Decisions, d)
	}
}

// state says whether a worker is on its way.
func (s *Scheduler) state(n *node) bool {
	return n.state == autoscale.Requested || n.state == autoscale.Starting
}

// list is the scheduler's list of workers for the sessions of a cycle: the cache, beside it
// the sessions and ports that are on each.
func (s *Scheduler) list() {
	s.workers = s.workers[:0]
	for i := range s.nodes {
		n := &s.nodes[i]
		t := &s.cfg.Templates[n.template]
		n.planned = t.Capacity
		n.cached.Available = &n.available
		s.workers = append(s.workers, Worker{
			Running: n.state == autoscale.Ready, Cached: &n.cached, Sessions: n.sessions, Ports: n.ports,
			MaxPorts: t.MaxPorts, Licence: t.Licence, Version: t.Version, Definitions: t.Definitions,
		})
	}
	for i := range s.calls {
		s.calls[i].planned = s.cfg.Templates[s.calls[i].template].Capacity
	}
}

// count takes in that a session is on its worker, or leaves it.
func (s *Scheduler) count(p *pending, by int64) {
	if j, ok := s.at(p.worker); ok {
		n := &s.nodes[j]
		n.sessions += by
		n.ports += by * s.cfg.Sessions[p.kind].Ports
	}
}

// at is the place of a worker, or where it would be; ok is false when it is not there.
func (s *Scheduler) at(e autoscale.Entity) (i int, ok bool) {
	return slices.BinarySearchFunc(s.nodes, e, func(n node, e autoscale.Entity) int { return int(n.entity) - int(e) })
}

// refresh reads the capacities anew; one that fails leaves them, and is tried again when
// they are as old once more.
func (s *Scheduler) refresh(now model.Time) {
	s.refreshed, s.cached = now, true
	if s.stale {
		s.stale = false
		return
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		n.cached.Allocated = Capacity{}
	}
	for i := range s.sessions {
		if j, ok := s.at(s.sessions[i].worker); ok {
			c := &s.nodes[j].cached
			c.Allocated = c.Allocated.plus(s.cfg.Sessions[s.sessions[i].kind].Need)
		}
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		n.available = n.cached.Declared.less(n.cached.Allocated)
	}
}

// place assigns a session, or calls for a worker.
func (s *Scheduler) place(p *pending, d *autoscale.Decision) {
	need := &s.cfg.Sessions[p.kind]
	if list := s.engine.Place(need, s.workers); len(list) > 0 {
		n := &s.nodes[list[0].Worker]
		d.Rule, d.Would = RuleAssign, autoscale.Proposal{Verb: autoscale.Migrate, Entity: p.entity, N: int64(n.entity)}
		s.propose(d)
		p.flying, p.target = s.seq, n.entity
		if s.cfg.CountOwn {
			n.available = n.available.less(need.Need)
			n.cached.Allocated = n.cached.Allocated.plus(need.Need)
		}
		return
	}
	d.Rule = RuleUnmet
	switch {
	case len(s.workers) == 0:
		d.Rule = RuleNoWorkers
	case s.engine.AtCapacity():
		d.Rule = RuleCapacity
	}
	index := s.template(need)
	d.Would = autoscale.Proposal{Verb: autoscale.AddNode, Entity: autoscale.Whole, Template: int32(index)}
	if s.cfg.PendingAware && s.coming(need) {
		d.Guard = GuardComing
		return
	}
	s.propose(d)
	c := call{seq: s.seq, template: int32(index)}
	if index >= 0 {
		c.planned = s.cfg.Templates[index].Capacity.less(need.Need)
	}
	s.calls = append(s.calls, c)
}

// template is the place of the template that is called for, -1 for one that is not there.
func (s *Scheduler) template(need *Session) int {
	if s.cfg.Coded {
		return byName(ChooseCoded(need.Licences), s.cfg.Templates)
	}
	i, _, _ := Choose(need.Need, s.cfg.Templates)
	return i
}

// coming takes the room that a session needs on a worker that is on its way.
func (s *Scheduler) coming(need *Session) bool {
	for i := range s.nodes {
		if n := &s.nodes[i]; s.state(n) && s.suits(need, n.template, n.planned) {
			n.planned = n.planned.less(need.Need)
			return true
		}
	}
	for i := range s.calls {
		if c := &s.calls[i]; c.template >= 0 && s.suits(need, c.template, c.planned) {
			c.planned = c.planned.less(need.Need)
			return true
		}
	}
	return false
}

// suits says whether a session could be placed on a worker of a template with some room.
func (s *Scheduler) suits(need *Session, template int32, room Capacity) bool {
	t := &s.cfg.Templates[template]
	w := Worker{Running: true, Declared: room, MaxPorts: t.MaxPorts, Licence: t.Licence, Version: t.Version, Definitions: t.Definitions}
	if room != t.Capacity {
		w.Sessions = 1 // at least: a personal licence is for one
	}
	return s.engine.reject(need, &w) == Predicates
}

func (s *Scheduler) propose(d *autoscale.Decision) {
	s.seq++
	d.Would.Seq = s.seq
	s.plan.Proposals = append(s.plan.Proposals, d.Would)
}
