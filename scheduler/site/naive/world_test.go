package naive_test

import (
	"fmt"
	"slices"
	"strings"

	"orrery/scheduler"
	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/scheduler/site"
)

// naiveWorld is a site, the jobs that come and what happens meanwhile.
type naiveWorld struct {
	cfg     site.Config
	jobs    []naiveErrand // in order of submission
	changes []naiveChange // in order of time
	latency model.Duration
	leave   model.Duration // from the request until a victim is gone
	grace   model.Duration // that a job may stay beyond what it asked for
	deny    uint64         // bit seq%64: the quorum refuses what it could grant
	end     model.Time     // when it is given up, 0 for naiveEnd
	tariff  []naiveTariff  // the prices, where they are known beforehand
}

// naiveErrand is a job and the truth about it.
type naiveErrand struct {
	model.Allocation
	runtime model.Duration
	outcome model.JobState
	cancel  model.Time     // while it waits; Never
	gone    model.JobState // how it ended if it never comes; Pending when it does
}

type naiveChange struct {
	at   model.Time
	fact model.Fact
}

// both drives two cores with the same facts and compares what they propose.
type both struct {
	a, b  drive.Scheduler
	diff  string
	trace []string
}

func (p *both) Observe(now model.Time, facts []model.Fact) {
	p.a.Observe(now, facts)
	p.b.Observe(now, facts)
}

func (p *both) Plan(now model.Time) *scheduler.Plan {
	a := *p.a.Plan(now)
	b := *p.b.Plan(now)
	got, want := planTexts(now, &a), planTexts(now, &b)
	p.trace = append(p.trace, want...)
	if !slices.Equal(got, want) && p.diff == "" {
		p.diff = fmt.Sprintf("after\n  %s\ncore proposes\n  %s\ntwin proposes\n  %s",
			strings.Join(p.trace[:len(p.trace)-len(want)], "\n  "), strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	a.Due, a.Again, a.More = min(a.Due, b.Due), a.Again || b.Again, a.More || b.More
	return &a
}

func (p *both) Predicted(ref model.Ref) model.Time { return p.a.Predicted(ref) }
func (p *both) Runs(ref model.Ref) bool            { return p.a.Runs(ref) }

// planTexts are what a plan proposes, promises and cannot give.
func planTexts(now model.Time, p *scheduler.Plan) []string {
	return slices.Concat(naiveTexts(now, p.Proposals), promiseTexts(now, p.Promises), unmetTexts(now, p.Unmet))
}

var naiveKinds = [...]string{"assign", "preempt", "requeue", "cancel", "resize"}

func promiseTexts(now model.Time, promises []scheduler.Promise) []string {
	var out []string
	for i := range promises {
		p := &promises[i]
		out = append(out, fmt.Sprintf("%s: promise job %d (ref %d) of %d on %v at %s, since %s, after %d", now, p.Job, p.Ref, p.VCluster, p.Nodes.Words, p.At, p.Since, p.After))
	}
	return out
}

// unmetTexts are demands that are not met.
func unmetTexts(now model.Time, list []scheduler.Unmet) []string {
	var out []string
	for i := range list {
		u := &list[i]
		out = append(out, fmt.Sprintf("%s: demand %d of job %d (ref %d) lacks %d for %s", now, u.Seq, u.Job, u.Ref, u.Nodes, u.Reason))
	}
	return out
}

func naiveTexts(now model.Time, proposals []model.Proposal) []string {
	var out []string
	for i := range proposals {
		p := &proposals[i]
		var nodes []string
		for _, w := range p.Placement.Words {
			for n := range w.Nodes {
				nodes = append(nodes, fmt.Sprint(n))
			}
		}
		for _, h := range p.Placement.Shares {
			nodes = append(nodes, fmt.Sprintf("%d/%b%v", h.Node, h.GPUs, h.Amounts))
		}
		t := fmt.Sprintf("%s: %d %s job %d on [%s]", now, p.Seq, naiveKinds[p.Kind], p.Job, strings.Join(nodes, " "))
		if p.Kind == model.ProposePreempt {
			t += fmt.Sprintf(" victim %d", p.Victim)
		}
		if p.Borrowed {
			t += " borrowed"
		}
		if p.Reason != model.ReasonNone {
			t += " " + p.Reason.String()
		}
		out = append(out, t)
	}
	return out
}

// naiveStage is a world in which jobs run: it grants what does not clash with
// what it has granted before.
type naiveStage struct {
	drive.Unrecorded
	w      *naiveWorld
	pair   *both
	loop   drive.Loop
	now    model.Time
	events []naiveEvent
	held   map[model.Ref]*model.Placement
	state  []model.JobState // by job
	left   []model.Duration
	began  []model.Time
	run    []int // attempts
	up     []model.NodeState
	steps  int // in this instant
}

type naiveEvent struct {
	at   model.Time
	rank int
	key  int
	fact func() (model.Fact, bool)
}

func (st *naiveStage) Fact(now model.Time, f *model.Fact) {
	if f.Kind == model.FactRefused || f.Kind == model.FactNode || f.Kind >= model.FactEnded {
		st.pair.trace = append(st.pair.trace, fmt.Sprintf("%s: fact %s job %d seq %d node %d %s", now, f.Kind, f.Job, f.Seq, f.Node, f.Reason))
	}
}
func (st *naiveStage) Start(model.Time, model.Ref) {}

// Submit answers at once, or after the latency.
func (st *naiveStage) Submit(now model.Time, proposals []model.Proposal, dst []model.Fact) []model.Fact {
	for i := range proposals {
		p := proposals[i]
		p.Placement = model.Placement{Words: slices.Clone(p.Placement.Words), Shares: slices.Clone(p.Placement.Shares)}
		if st.w.latency == 0 {
			f, _ := st.answer(&p)
			dst = append(dst, f)
			continue
		}
		st.at(now.Add(st.w.latency), 1, int(p.Seq), func() (model.Fact, bool) { return st.answer(&p) })
	}
	return dst
}

func (st *naiveStage) at(t model.Time, rank, key int, fact func() (model.Fact, bool)) {
	st.events = append(st.events, naiveEvent{t, rank, key, fact})
}

func (st *naiveStage) answer(p *model.Proposal) (model.Fact, bool) {
	no := model.Fact{Kind: model.FactRefused, Job: p.Job, Ref: p.Ref, Seq: p.Seq, Reason: model.ReasonNodesTaken}
	denied := st.w.deny>>(p.Seq%64)&1 != 0
	switch p.Kind {
	case model.ProposeAssign:
		if denied || st.state[p.Job] != model.Pending || !st.vacant(p.Ref, &p.Placement) {
			return no, true
		}
		return st.assign(p), true
	case model.ProposePreempt:
		v := p.Victim
		if denied || st.state[v] != model.Running || st.state[p.Job] != model.Pending && st.state[p.Job] != model.Running {
			no.Reason = model.ReasonVictimGone
			return no, true
		}
		st.state[v] = model.Checkpointing
		st.leaves(v)
		return model.Fact{Kind: model.FactPreempted, Job: model.JobID(v), Ref: v, Seq: p.Seq, Reason: p.Reason}, true
	case model.ProposeResize:
		switch {
		case st.state[p.Job] != model.Running:
			no.Reason = model.ReasonNotRunning
			return no, true
		case denied || !st.vacant(p.Ref, &p.Placement):
			return no, true
		}
		st.held[p.Ref] = &p.Placement
		return model.Fact{Kind: model.FactResized, Job: p.Job, Ref: p.Ref, Seq: p.Seq, Placement: &p.Placement}, true
	case model.ProposeCancel:
		if st.state[p.Job] != model.Pending {
			no.Reason = model.ReasonNotPending
			return no, true
		}
		st.state[p.Job] = model.Cancelled
		return model.Fact{Kind: model.FactCancelled, Job: p.Job, Ref: p.Ref, Seq: p.Seq, Reason: p.Reason}, true
	}
	panic("a proposal of a kind that no core makes")
}

// vacant says whether ref may have the nodes of p: no other job holds them, and they are
// ready or its own.
func (st *naiveStage) vacant(ref model.Ref, p *model.Placement) bool {
	if st.w.cfg.Site.Amounts && !st.hasAmounts(ref, p) {
		return false
	}
	used, own := map[model.NodeID]uint64{}, map[model.NodeID]bool{}
	for r, h := range st.held {
		for _, w := range h.Words {
			for n := range w.Nodes {
				if own[n] = own[n] || r == ref; r != ref {
					used[n] = ^uint64(0)
				}
			}
		}
		for _, s := range h.Shares {
			if own[s.Node] = own[s.Node] || r == ref; r != ref && s.GPUMilli == 0 {
				used[s.Node] |= s.GPUs
			}
		}
	}
	for _, w := range p.Words {
		for n := range w.Nodes {
			if used[n] != 0 || st.up[n] != model.Ready && !own[n] {
				return false
			}
		}
	}
	for _, s := range p.Shares {
		if used[s.Node]&s.GPUs != 0 || st.up[s.Node] != model.Ready && !own[s.Node] {
			return false
		}
	}
	return true
}

// hasAmounts says whether the nodes of p have room for its amounts beside what others
// hold, whole nodes none.
func (st *naiveStage) hasAmounts(ref model.Ref, p *model.Placement) bool {
	used := make([]naiveUsed, len(st.up))
	whole := make([]uint64, len(st.up))
	add := func(h *model.Placement) (ok bool) {
		ok = true
		for _, w := range h.Words {
			for n := range w.Nodes {
				ok = ok && used[n].jobs == 0
				used[n].jobs++
			}
		}
		for _, s := range h.Shares {
			u, node := &used[s.Node], &st.w.cfg.Site.Nodes[s.Node]
			u.jobs++
			u.cpus += s.CPUs
			u.memory += s.Memory
			ok = ok && u.cpus <= node.CPUs && u.memory <= node.Memory
			if s.GPUMilli == 0 {
				whole[s.Node] |= s.GPUs
			}
			for g := range 64 {
				if s.GPUMilli > 0 && s.GPUs>>g&1 != 0 {
					u.milli[g] += s.GPUMilli
				}
				ok = ok && u.milli[g] <= 1000 && (u.milli[g] == 0 || whole[s.Node]>>g&1 == 0)
			}
		}
		return ok
	}
	for r, h := range st.held {
		if r != ref {
			add(h)
		}
	}
	return add(p)
}

func (st *naiveStage) assign(p *model.Proposal) model.Fact {
	j := p.Job
	st.state[j], st.held[p.Ref], st.began[j] = model.Running, &p.Placement, st.now
	st.run[j]++
	attempt := st.run[j]
	e := &st.w.jobs[j]
	length, outcome := min(e.runtime, st.left[j]), e.outcome
	if e.runtime > st.left[j] {
		length, outcome = min(e.runtime, st.left[j]+st.w.grace), model.Timeout
	}
	st.at(st.now.Add(length), 0, int(j), func() (model.Fact, bool) {
		if st.run[j] != attempt || st.state[j] != model.Running && st.state[j] != model.Checkpointing {
			return model.Fact{}, false
		}
		st.state[j] = outcome
		delete(st.held, p.Ref)
		return model.Fact{Kind: model.FactEnded, Job: j, Ref: p.Ref, Outcome: outcome}, true
	})
	return model.Fact{Kind: model.FactAssigned, Job: j, Ref: p.Ref, Seq: p.Seq, Placement: &p.Placement}
}

// leaves lets a victim go: to go on later, or to begin again.
func (st *naiveStage) leaves(v model.Ref) {
	attempt := st.run[v]
	st.at(st.now.Add(st.w.leave), 2, int(v), func() (model.Fact, bool) {
		if st.run[v] != attempt || st.state[v] != model.Checkpointing {
			return model.Fact{}, false
		}
		st.state[v] = model.Pending
		delete(st.held, v)
		f := model.Fact{Kind: model.FactRequeued, Job: model.JobID(v), Ref: v, Reason: model.ReasonPreempted}
		if a := &st.w.jobs[v]; a.Checkpoint != model.CheckpointNone {
			if st.left[v] != model.Forever {
				st.left[v] = max(model.Second, st.left[v]-st.now.Sub(st.began[v]))
			}
			f.Kind, f.Value = model.FactSuspended, int64(st.left[v])
		} else {
			st.left[v] = a.Walltime
		}
		return f, true
	})
}

// alone drives one core.
type alone struct {
	drive.Scheduler
	said []string
}

func (p *alone) Plan(now model.Time) *scheduler.Plan {
	plan := p.Scheduler.Plan(now)
	p.said = append(p.said, naiveTexts(now, plan.Proposals)...)
	return plan
}

// proposals replays the world before one core and returns what it proposes.
func (w *naiveWorld) proposals(core drive.Scheduler) []string {
	a := &alone{Scheduler: core}
	st := &naiveStage{w: w, pair: &both{}}
	st.play(a)
	return a.said
}

// run replays the world before the core and the naive implementation and
// returns where they differ.
func (w *naiveWorld) run(a, b drive.Scheduler) string {
	st := &naiveStage{w: w, pair: &both{a: a, b: b}}
	st.play(st.pair)
	if s, ok := b.(*naiveSite); ok && st.pair.diff == "" {
		return s.unreleased(st)
	}
	return st.pair.diff
}

// unreleased says which job waits at the end for others that are all over, "" for none.
func (s *naiveSite) unreleased(st *naiveStage) string {
	for _, j := range s.jobs {
		open := j.phase != naiveDependent
		for _, d := range j.Deps {
			_, over := s.ended[d.On]
			comes := d.On >= 0 && st.w.jobs[d.On].Submit > st.now
			open = open || d.Condition != model.Mutex && !over && (comes || slices.ContainsFunc(s.jobs, func(o *naiveJob) bool { return o.Job == d.On }))
		}
		if !open {
			return fmt.Sprintf("job %d waits at the end, and all that it waits for is over: %+v", j.Job, j.Deps)
		}
	}
	return ""
}

func (st *naiveStage) play(core drive.Scheduler) {
	w := st.w
	st.held = map[model.Ref]*model.Placement{}
	st.loop = drive.Loop{Core: core, Quorum: st, Agents: st, Record: st}
	for i := range w.cfg.Site.Nodes {
		st.up = append(st.up, w.cfg.Site.Nodes[i].State)
	}
	st.arrange()
	end := w.end
	if end == 0 {
		end = naiveEnd
	}
	for step := 0; st.pair.diff == ""; step++ {
		before := st.now
		st.now = model.Never
		if step > 0 {
			st.now = st.loop.Due()
		}
		for _, e := range st.events {
			st.now = min(st.now, e.at)
		}
		if st.now == model.Never || st.now > end {
			break
		}
		if st.spins(before, step) {
			break
		}
		st.loop.Step(st.now, st.take())
	}
}

// spins says whether the core asks for more than it has reason to: more steps in
// an instant than there are jobs that could start, leave or stop being blocked in
// it, or more in all than seconds and events account for.
func (st *naiveStage) spins(before model.Time, step int) bool {
	if st.now != before {
		st.steps = 0
	}
	st.steps++
	most := 8 + 4*len(st.w.jobs)
	if st.now >= before && st.steps <= most && (st.w.end != 0 || step < 3*int(naiveEnd/model.Time(model.Second))+100*most) {
		return false
	}
	st.pair.diff = fmt.Sprintf("step %d: the core spins at %s, after %s", step, st.now, before)
	return true
}

// naiveEnd is when a world is given up: the jobs left are those that never fit.
const naiveEnd = 4000 * model.Time(model.Second)

// take removes the events of now and makes facts of them.
func (st *naiveStage) take() []model.Fact {
	var now, later []naiveEvent
	for _, e := range st.events {
		if e.at == st.now {
			now = append(now, e)
		} else {
			later = append(later, e)
		}
	}
	st.events = later
	slices.SortStableFunc(now, func(a, b naiveEvent) int {
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		return a.key - b.key
	})
	var facts []model.Fact
	for _, e := range now {
		if f, ok := e.fact(); ok {
			facts = append(facts, f)
		}
	}
	return facts
}

// arrange puts the submissions, withdrawals and changes on the calendar.
func (st *naiveStage) arrange() {
	for i := range st.w.jobs {
		e := &st.w.jobs[i]
		id := model.JobID(i)
		st.state, st.left = append(st.state, model.Pending), append(st.left, e.Walltime)
		st.began, st.run = append(st.began, 0), append(st.run, 0)
		st.at(e.Submit, 4, i, func() (model.Fact, bool) {
			if e.gone != model.Pending {
				st.state[i] = e.gone
				return model.Fact{Kind: model.FactGone, Job: id, Outcome: e.gone}, e.Awaited
			}
			return model.Fact{
				Kind: model.FactSubmitted, Job: id, Ref: model.Ref(i), Submit: e.Submit, Walltime: e.Walltime,
				Request: model.Request{Units: e.NodesMin}, Alloc: &e.Allocation,
			}, true
		})
		if e.cancel == model.Never {
			continue
		}
		st.at(e.cancel, 3, i, func() (model.Fact, bool) {
			if st.state[i] != model.Pending || st.run[i] > 0 {
				return model.Fact{}, false
			}
			st.state[i] = model.Cancelled
			return model.Fact{Kind: model.FactCancelled, Job: id, Ref: model.Ref(i), Reason: model.ReasonCancelled}, true
		})
	}
	for i := range st.w.changes {
		c := &st.w.changes[i]
		st.at(c.at, 5, i, func() (model.Fact, bool) {
			switch j := c.fact.Job; c.fact.Kind {
			case model.FactNode:
				st.up[c.fact.Node] = c.fact.State
			case model.FactDemand: // of no service that is not in the system
				return c.fact, st.w.jobs[j].Submit <= st.now && !st.state[j].Terminal()
			}
			return c.fact, true
		})
	}
}
