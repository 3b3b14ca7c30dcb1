package maestro

import (
	"math"
	"slices"

	"orrery/autoscale"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
)

// Counters count what an operator watches.
type Counters struct {
	Started, Finished, Failed int64 // changes of size
	Panics                    int64
}

// room is one that is known by number.
type room struct {
	entity  autoscale.Entity
	state   autoscale.State
	has     autoscale.Resources
	use     [2]float64 // by CPU, Memory
	sampled [2]bool
}

// Policy is version 9. It counts its own points: one of each kind of trigger at every
// tick, before it decides.
type Policy struct {
	cfg      Config
	counters Counters
	rooms    Rooms // of the counts, if there are any, else of those that are known
	counted  bool
	known    []room // by number
	whole    []float64
	in       Input
	last     Check
	rings    [][]float32 // by kind, the newest first
	kept     []int64     // by kind, points that a ring keeps; 0 for none

	occupied bool // a room has become so since the last call

	flying struct {
		first, last uint64 // proposals; 0 for none
		open        int64  // without a result
		done        bool   // one was accepted
	}
	before State // of the change in flight

	ticks autoscale.Ticks
	seq   uint64
	drawn uint64
	ready []autoscale.Entity
	plan  autoscale.Plan
}

// New makes the policy of a scheduler.
func New(cfg Config) (*Policy, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	kinds := int(Custom) + len(cfg.Scalers)
	p := &Policy{cfg: cfg, whole: make([]float64, kinds), rings: make([][]float32, kinds), kept: make([]int64, kinds)}
	p.in = Input{Scaled: model.Never, Usage: make([]float32, kinds), Up: make([][]float32, len(cfg.Up.Triggers)), Down: make([][]float32, len(cfg.Down.Triggers))}
	for i := range p.whole {
		p.whole[i] = math.NaN()
	}
	for _, d := range [...]*Direction{&p.cfg.Up, &p.cfg.Down} { // the down trigger is the last word
		for i := range d.Triggers {
			t := &d.Triggers[i]
			n := p.cfg.window(t) + 1
			if p.cfg.LargerWindow {
				n = max(n, p.kept[t.Kind])
			}
			p.kept[t.Kind] = n
		}
	}
	for i, n := range p.kept {
		p.rings[i] = make([]float32, 0, n)
	}
	return p, nil
}

// Restore gives back the state and the last change of size after a restart, Never for none.
func (p *Policy) Restore(s State, scaled model.Time) { p.in.State, p.in.Scaled = s, scaled }

// State and Scaled are those of now.
func (p *Policy) State() State { return p.in.State }

// Scaled is the last change of size.
func (p *Policy) Scaled() model.Time { return p.in.Scaled }

// Last is what the last tick came to.
func (p *Policy) Last() Check { return p.last }

// Counters are what has been counted so far.
func (p *Policy) Counters() Counters { return p.counters }

// Observe implements autoscale.Policy.
func (p *Policy) Observe(now model.Time, facts []autoscale.Fact) {
	for i := range facts {
		f := &facts[i]
		switch f.Kind {
		case autoscale.FactCount:
			if !p.counted {
				p.rooms, p.counted = Rooms{}, true
			}
			if n := p.rooms.of(f.State); n != nil {
				p.occupied = p.occupied || f.State == autoscale.Busy && f.N > *n
				*n = f.N
			}
		case autoscale.FactEntity:
			p.entered(f)
		case autoscale.FactSample:
			p.sample(f)
		case autoscale.FactResult:
			p.answered(now, f)
		}
	}
}

// of is the count of a state, or nil.
func (r *Rooms) of(s autoscale.State) *int64 {
	switch s {
	case autoscale.Requested, autoscale.Starting:
		return &r.Creating
	case autoscale.Busy:
		return &r.Occupied
	case autoscale.Ready:
		return &r.Ready
	case autoscale.Draining:
		return &r.Terminating
	}
	return nil
}

// count changes the number of rooms in a state, unless that is told.
func (p *Policy) count(s autoscale.State, by int64) {
	if n := p.rooms.of(s); n != nil && !p.counted {
		*n += by
	}
}

func (p *Policy) find(e autoscale.Entity) (int, bool) {
	return slices.BinarySearchFunc(p.known, e, func(r room, e autoscale.Entity) int { return int(r.entity) - int(e) })
}

// entered takes in that a room has entered a state.
func (p *Policy) entered(f *autoscale.Fact) {
	i, ok := p.find(f.Entity)
	if ok {
		p.count(p.known[i].state, -1)
	}
	p.count(f.State, 1)
	if p.rooms.of(f.State) == nil {
		if ok {
			p.known = slices.Delete(p.known, i, i+1)
		}
		return
	}
	if !ok {
		p.known = slices.Insert(p.known, i, room{entity: f.Entity})
	}
	p.occupied = p.occupied || f.State == autoscale.Busy && p.known[i].state != autoscale.Busy
	p.known[i].state = f.State
	if f.Resources != (autoscale.Resources{}) {
		p.known[i].has = f.Resources
	}
}

// sample takes in a value of a series, of a room or of the whole.
func (p *Policy) sample(f *autoscale.Fact) {
	if f.Entity == autoscale.Whole {
		kind := int(f.Metric)
		switch {
		case f.Metric == CPU:
			kind = int(KindCPU)
		case f.Metric == Memory:
			kind = int(KindMemory)
		case kind < int(Custom) || kind >= len(p.whole):
			return // of another policy
		}
		if p.whole[kind] = f.Value; !f.HasValue() {
			p.whole[kind] = math.NaN()
		}
		return
	}
	if i, ok := p.find(f.Entity); ok && (f.Metric == CPU || f.Metric == Memory) {
		p.known[i].use[f.Metric], p.known[i].sampled[f.Metric] = f.Value, f.HasValue()
	}
}

// usage of CPU or memory: the sum over the rooms that have a sample, or that of the whole.
func (p *Policy) usage(k Kind, m autoscale.Metric) float32 {
	var use, has float32
	for i := range p.known {
		r := &p.known[i]
		if !r.sampled[m] || r.state == autoscale.Draining {
			continue
		}
		use += float32(r.use[m])
		if m == CPU {
			has += float32(r.has.CPU)
		} else {
			has += float32(r.has.Memory)
		}
	}
	if has == 0 {
		return float32(p.whole[k])
	}
	return use / has
}

// answered takes in a result of the change in flight.
func (p *Policy) answered(now model.Time, f *autoscale.Fact) {
	x := &p.flying
	if x.first == 0 || f.Seq < x.first || f.Seq > x.last {
		return
	}
	x.done = x.done || f.Outcome == autoscale.Accepted
	if x.open--; x.open > 0 {
		return
	}
	switch {
	case x.done:
		p.counters.Finished++
		p.in.State, p.in.Scaled = InSync, now
	case f.Outcome == autoscale.Rejected: // the lock was not free: nothing is noted
		p.counters.Failed++
		p.in.State = p.before
	default: // as coded the state says that all is well
		p.counters.Failed++
		p.in.State = InSync
	}
	x.first = 0
}

// Plan implements autoscale.Policy.
func (p *Policy) Plan(now model.Time) *autoscale.Plan {
	p.plan.Reset()
	if p.cfg.Panic && p.occupied {
		p.panicked(now)
	}
	p.occupied = false
	if p.ticks.Due(now, p.cfg.Period, &p.plan) {
		p.tick(now)
	}
	return &p.plan
}

// tick pushes one point of each kind and decides.
func (p *Policy) tick(now model.Time) {
	p.in.Now, p.in.Rooms = now, p.rooms
	p.push()
	p.before = p.in.State
	p.last = p.cfg.Check(&p.in)
	k := &p.last
	d := autoscale.Decision{Rule: k.Rule, Guard: k.Guard, Entity: autoscale.Whole}
	if k.Would != 0 {
		d.Would = autoscale.Proposal{Verb: autoscale.Scale, N: k.Would, Entity: autoscale.Whole}
	}
	switch {
	case p.flying.first != 0:
		if k.Delta != 0 {
			d.Guard, d.Would = autoscale.GuardInFlight, autoscale.Proposal{Verb: autoscale.Scale, N: k.Delta, Entity: autoscale.Whole}
		}
	case k.Delta != 0:
		p.in.State = k.State
		p.apply(now, k.Delta, p.cfg.MaxScaleUp, &d)
	default:
		p.in.State = k.State
	}
	p.plan.Decisions = append(p.plan.Decisions, d)
}

// push enters the usage of each kind that a trigger has.
func (p *Policy) push() {
	for k := range p.rings {
		var v float32
		switch Kind(k) {
		case KindRoom, KindLegacy:
			v = Occupancy(p.rooms)
		case KindCPU:
			v = p.usage(KindCPU, CPU)
		case KindMemory:
			v = p.usage(KindMemory, Memory)
		default:
			v = p.cfg.Scalers[k-int(Custom)].Usage(p.rooms, p.whole[k])
		}
		p.in.Usage[k] = v
		if p.kept[k] == 0 {
			continue
		}
		r := p.rings[k]
		if int64(len(r)) < p.kept[k] {
			r = r[:len(r)+1]
		}
		copy(r[1:], r)
		r[0], p.rings[k] = v, r
	}
	for i := range p.cfg.Up.Triggers {
		p.in.Up[i] = p.rings[p.cfg.Up.Triggers[i].Kind]
	}
	for i := range p.cfg.Down.Triggers {
		p.in.Down[i] = p.rings[p.cfg.Down.Triggers[i].Kind]
	}
}

// apply proposes a change within the bounds and, of rooms known by number, what is ready. One
// that comes to nothing counts as made.
func (p *Policy) apply(now model.Time, delta, most int64, d *autoscale.Decision) {
	amount, guard := p.cfg.Within(delta, p.rooms.Available(), most)
	if p.choosable() {
		if most := -int64(len(p.free())); amount < most {
			amount, guard = most, GuardReady
		}
	}
	d.Guard = guard
	d.Would = autoscale.Proposal{Verb: autoscale.Scale, N: delta, Entity: autoscale.Whole}
	first := p.seq + 1
	switch {
	case amount < 0 && p.choosable():
		p.terminate(-amount)
	case amount != 0:
		p.propose(autoscale.Proposal{Verb: autoscale.Scale, N: amount, Entity: autoscale.Whole})
	default:
		p.in.State, p.in.Scaled = InSync, now
		return
	}
	p.counters.Started++
	d.Would.Seq = first
	p.flying.first, p.flying.last, p.flying.open, p.flying.done = first, p.seq, int64(p.seq-first)+1, false
}

func (p *Policy) propose(x autoscale.Proposal) {
	p.seq++
	x.Seq = p.seq
	p.plan.Proposals = append(p.plan.Proposals, x)
}

// choosable says whether the rooms are known by number.
func (p *Policy) choosable() bool { return len(p.known) > 0 }

// stream of the draws of rooms to terminate.
var stream = draw.StreamOf("maestro ready room")

// free are the rooms known by number that are ready.
func (p *Policy) free() []autoscale.Entity {
	p.ready = p.ready[:0]
	for i := range p.known {
		if p.known[i].state == autoscale.Ready {
			p.ready = append(p.ready, p.known[i].entity)
		}
	}
	return p.ready
}

// terminate draws free rooms, of which there are at least n.
func (p *Policy) terminate(n int64) {
	free := p.free()
	source := draw.New(p.cfg.Seed, stream, p.drawn, 0)
	p.drawn++
	for range n {
		i := int(source.Uint64() % uint64(len(free)))
		p.propose(autoscale.Proposal{Verb: autoscale.Drain, Entity: free[i]})
		last := len(free) - 1
		free[i], free = free[last], free[:last]
	}
}

// panicked scales up at once when few rooms are free. It takes no account of cooldown and
// of the largest step, but for the lock: one change at a time.
func (p *Policy) panicked(now model.Time) {
	limit := p.cfg.Up.Triggers[0].Limit
	if limit == 0 {
		limit = defaultLimit
	}
	n := p.rooms.Available()
	if 100*p.rooms.Occupied <= n*limit || p.in.State == Creating || p.in.State == Terminating {
		return
	}
	d := autoscale.Decision{Rule: RulePanic, Entity: autoscale.Whole, Would: autoscale.Proposal{Verb: autoscale.Scale, N: p.cfg.Up.Delta, Entity: autoscale.Whole}}
	switch {
	case p.flying.first != 0:
		d.Guard = autoscale.GuardInFlight
	case p.cfg.Max > 0 && n >= p.cfg.Max:
		d.Guard = autoscale.GuardMax
	case p.cfg.Up.Delta > 0:
		p.counters.Panics++
		p.before = p.in.State
		p.apply(now, p.cfg.Up.Delta, math.MaxInt64, &d)
	}
	p.plan.Decisions = append(p.plan.Decisions, d)
}
