package future

import (
	"orrery/scheduler/backfill"
	"orrery/scheduler/model"
	"orrery/scheduler/site/internal/caps"
)

// Plan is the plan of conservative backfilling in a vCluster: reservations of jobs on
// definite nodes, and the timeline of nodes and caps that they were made on. Between two
// plans the reservations stand and the timeline is of no use.
type Plan struct {
	// Planned is the last instant at which a plan was made for waiting jobs,
	// model.AbsentTime for none.
	Planned model.Time
	// Due is the next instant at which a pass must be made for the plan's sake.
	Due model.Time

	window   backfill.Window
	ticks    model.Ticks
	timeline *backfill.Timeline
	caps     capLine
	slots    []slot
	spare    []model.NodeSet
	tests    []userTests
}

// slot is a reservation: the job has these nodes from at on. A job has one at most.
type slot struct {
	ref   model.Ref
	at    model.Time
	nodes model.NodeSet
}

// userTests counts the jobs of a user that a pass has planned for.
type userTests struct {
	user int32
	n    int
}

// NewPlan is an empty plan over so many nodes, by passes that plan at the ticks; 0 nodes are
// for a vCluster that makes none.
func NewPlan(window backfill.Window, ticks model.Ticks, nodes int) Plan {
	p := Plan{Planned: model.AbsentTime, Due: model.Never, window: window, ticks: ticks}
	if nodes > 0 {
		p.timeline = backfill.NewTimeline(nodes)
	}
	return p
}

// CopyFrom makes the reservations of p those of o, of the same vCluster. The timeline is laid out anew.
func (p *Plan) CopyFrom(o *Plan) {
	for len(p.slots) > 0 {
		p.Drop(0)
	}
	p.Planned, p.Due = o.Planned, o.Due
	for i := range o.slots {
		k := &o.slots[i]
		p.slots = append(p.slots, slot{k.ref, k.at, p.copyOf(k.nodes)})
	}
}

// Rounded is an instant on the grid of the plan, never earlier. On a cycle it is one of a
// pass that plans: a reservation between two of them would be missed, and the next instant
// be found behind those that stand.
func (p *Plan) Rounded(at model.Time) model.Time {
	if p.window.Resolution > 1 {
		at = at.Grid(p.window.Resolution, 0)
	}
	return p.ticks.Next(at)
}

// Until is when a job that starts at an instant is planned to give its nodes back.
func (p *Plan) Until(at model.Time, left model.Duration) model.Time { return p.Rounded(at.Add(left)) }

// Begin starts the timeline anew: these nodes are free from now on for ever, and so much
// of the caps is in use. What is predicted is added by Release and Split, and then the
// reservations that stand by Restore.
func (p *Plan) Begin(now model.Time, idle model.NodeSet, s *caps.State) {
	p.timeline.Reset(now, idle)
	p.caps.reset(now, s)
	p.tests = p.tests[:0]
}

// Release adds what is predicted to come free at an instant.
func (p *Plan) Release(at model.Time, nodes model.NodeSet, needs caps.Usage) {
	at = p.Rounded(at)
	p.timeline.Add(at, model.Never, nodes)
	p.caps.add(at, model.Never, caps.Usage{}.Minus(needs))
}

// Split makes an instant one at which a reservation may begin; on a cycle that is the next
// pass that plans.
func (p *Plan) Split(at model.Time) { p.timeline.Split(p.ticks.Next(at)) }

// Restore puts the reservations of before onto the timeline; of gives the requested time
// of a job, and what it needs. One whose nodes are no longer predicted to be free is
// given up, and so is one whose instant is past.
func (p *Plan) Restore(now model.Time, of func(model.Ref) (left model.Duration, needs caps.Usage)) {
	for i := 0; i < len(p.slots); {
		k := &p.slots[i]
		left, needs := of(k.ref)
		until := p.Until(k.at, left)
		if k.at < now || !p.timeline.Holds(k.at, until, k.nodes) || !p.caps.fits(k.at, until, needs) {
			p.Drop(i)
			continue
		}
		p.Take(k.at, until, k.nodes, needs)
		i++
	}
}

// Take counts nodes and needs as taken over [from, until).
func (p *Plan) Take(from, until model.Time, nodes model.NodeSet, needs caps.Usage) {
	p.timeline.Remove(from, until, nodes)
	p.caps.add(from, until, needs)
}

// CapsFit says whether the caps leave room for more over [from, until).
func (p *Plan) CapsFit(from, until model.Time, more caps.Usage) bool {
	return p.caps.fits(from, until, more)
}

// Throughout writes into dst the nodes free over all of [from, until).
func (p *Plan) Throughout(from, until model.Time, dst model.NodeSet) {
	p.timeline.Throughout(from, until, dst)
}

// Earliest is the first instant in [from, limit] at which fits says yes of the nodes of
// mask that are free for a run of the requested time: there are at least n.
// model.Never when there is none.
func (p *Plan) Earliest(from, limit model.Time, left model.Duration, mask model.NodeSet, n int32, fits func(at, until model.Time, nodes model.NodeSet) bool) model.Time {
	until := func(at model.Time) model.Time { return p.Until(at, left) }
	return p.timeline.Earliest(from, limit, until, mask, n, func(at model.Time, nodes model.NodeSet) bool { return fits(at, until(at), nodes) })
}

// Lift takes the reservation of a job out of the timeline and returns its index, -1 when
// it has none. It must be dropped or set then.
func (p *Plan) Lift(ref model.Ref, left model.Duration, needs caps.Usage) int {
	i := p.index(ref)
	if i >= 0 {
		k := &p.slots[i]
		until := p.Until(k.at, left)
		p.timeline.Add(k.at, until, k.nodes)
		p.caps.add(k.at, until, caps.Usage{}.Minus(needs))
	}
	return i
}

// Set makes the lifted reservation i, or a new one of the job for -1, begin at an
// instant. It says whether that is another than before; if not, it keeps its nodes.
func (p *Plan) Set(i int, ref model.Ref, at model.Time, left model.Duration, nodes model.NodeSet, needs caps.Usage) (moved bool) {
	if i < 0 {
		i = len(p.slots)
		p.slots = append(p.slots, slot{ref: ref, nodes: p.copyOf(nodes), at: model.Never})
	}
	k := &p.slots[i]
	if k.at != at {
		copy(k.nodes, nodes)
		k.at, moved = at, true
	}
	p.Take(at, p.Until(at, left), k.nodes, needs)
	return moved
}

// Drop gives up the lifted reservation i; -1 is none.
func (p *Plan) Drop(i int) {
	if i < 0 {
		return
	}
	p.spare = append(p.spare, p.slots[i].nodes)
	p.slots = append(p.slots[:i], p.slots[i+1:]...)
}

// Forget drops the reservation of a job between two plans, if it has one.
func (p *Plan) Forget(ref model.Ref) { p.Drop(p.index(ref)) }

// At is the instant of the reservation of a job, model.AbsentTime for none.
func (p *Plan) At(ref model.Ref) model.Time {
	if i := p.index(ref); i >= 0 {
		return p.slots[i].at
	}
	return model.AbsentTime
}

// Slot is the reservation of a job: its instant and nodes, which are valid until the plan
// changes; model.AbsentTime for none.
func (p *Plan) Slot(ref model.Ref) (model.Time, model.NodeSet) {
	if i := p.index(ref); i >= 0 {
		return p.slots[i].at, p.slots[i].nodes
	}
	return model.AbsentTime, nil
}

// First is the earliest instant after now at which a reservation begins, model.Never
// for none.
func (p *Plan) First(now model.Time) model.Time {
	first := model.Never
	for i := range p.slots {
		if at := p.slots[i].at; at > now {
			first = min(first, at)
		}
	}
	return first
}

// NextRound begins another round through the candidates.
func (p *Plan) NextRound() { p.tests = p.tests[:0] }

// MayTest counts a job of a user against the bound of jobs planned for in a round, 0 for
// no bound.
func (p *Plan) MayTest(user int32, most int) bool {
	if most == 0 {
		return true
	}
	for i := range p.tests {
		if t := &p.tests[i]; t.user == user {
			t.n++
			return t.n <= most
		}
	}
	p.tests = append(p.tests, userTests{user, 1})
	return true
}

func (p *Plan) index(ref model.Ref) int {
	for i := range p.slots {
		if p.slots[i].ref == ref {
			return i
		}
	}
	return -1
}

func (p *Plan) copyOf(s model.NodeSet) model.NodeSet {
	if n := len(p.spare); n > 0 {
		k := p.spare[n-1]
		p.spare = p.spare[:n-1]
		copy(k, s)
		return k
	}
	return append(model.NodeSet(nil), s...)
}
