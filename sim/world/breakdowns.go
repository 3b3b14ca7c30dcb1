package world

import (
	"errors"
	"fmt"
	"slices"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
)

// Faults is what goes wrong. Every draw is keyed by Seed and the job and attempt, or what breaks and its count of
// failures, so that two profiles replayed with one seed meet the same.
type Faults struct {
	// Lives are the laws of how long nodes work before they break; without any no node breaks by itself. LifeOf is
	// the law of each node; nil gives all of them the first.
	Lives  []hwmodel.Lifetime
	LifeOf []int32
	// Repair is the law of how long a node is repaired, from when it is known to be down.
	Repair hwmodel.Lifetime
	// Shared are parts of the site of which a failure takes several nodes down at once.
	Shared []SharedFault
	// Nothing breaks after Until, so that a replay in which a job waits for ever comes to an end.
	Until     model.Time
	Heartbeat Heartbeat
	// BootFails is the probability that a node does not boot. It is then booted again, BootTimeout later.
	BootFails   float64
	BootTimeout model.Duration
	// PrologueFails is the probability that a prologue fails on a node of a job that starts. The node drains, and
	// takes work again after Remedy.
	PrologueFails float64
	Remedy        hwmodel.Lifetime

	Drift   Drift
	Silence Silence

	// Slow is the probability that a checkpoint takes SlowBy times as long.
	Slow   float64
	SlowBy int64
	// Unresponsive is the probability that a victim does not answer the hint, Partial that a node fails to write its
	// part of a checkpoint, and Defers that a victim answers a hint by asking to be left alone for a while.
	Unresponsive, Partial, Defers float64
}

// SharedFault is a part that several nodes need, such as a switch or a feed of power.
type SharedFault struct {
	Key          uint64 // of its draws, of no other
	Nodes        []model.NodeID
	Life, Repair hwmodel.Lifetime
}

// Heartbeat is how long after a failure the scheduler learns of it. A node that is not heard of is degraded first, so
// that nothing starts there, and then down. With a Down of 0 it is down at once.
type Heartbeat struct{ Degraded, Down model.Duration }

// Exponential is hwmodel.Exponential rounded down to the microsecond, as results have it that were made before the
// other laws.
type Exponential struct{ hwmodel.Exponential }

// Draw takes one draw.
func (e Exponential) Draw(s *draw.Source) model.Duration {
	x := float64(s.Exponential() * float64(e.Expected))
	return model.Duration(min(x, float64(mostTime)))
}

// mostTime bounds the time between two failures and that of a repair.
const mostTime = 100 * 365 * model.Day

var (
	breakStream  = draw.StreamOf("node failure")
	sharedStream = draw.StreamOf("shared failure")
)

// Breaks says whether anything breaks.
func (f *Faults) Breaks() bool {
	return len(f.Lives) > 0 || len(f.Shared) > 0 || f.PrologueFails > 0 || f.Drift.Life != nil || f.Silence.Life != nil
}

// validate says what is wrong with f for a site of so many nodes.
func (f *Faults) validate(nodes int) error {
	var err error
	for _, law := range f.Lives {
		err = errors.Join(err, law.Validate())
	}
	if len(f.Lives) > 0 {
		err = errors.Join(err, validateRepair(f.Repair))
	}
	if f.LifeOf != nil && len(f.LifeOf) != nodes {
		err = errors.Join(err, fmt.Errorf("found laws of %d nodes, want one for each of %d", len(f.LifeOf), nodes))
	}
	for _, i := range f.LifeOf {
		if i < 0 || int(i) >= len(f.Lives) {
			return errors.Join(err, fmt.Errorf("found the law %d of a node, want 0 to %d", i, len(f.Lives)-1))
		}
	}
	for i := range f.Shared {
		p := &f.Shared[i]
		if p.Life == nil {
			return errors.Join(err, fmt.Errorf("shared failure %d has no law of its life: give one", i))
		}
		err = errors.Join(err, p.Life.Validate(), validateRepair(p.Repair))
		for _, id := range p.Nodes {
			if id < 0 || int(id) >= nodes {
				return errors.Join(err, fmt.Errorf("shared failure %d is of node %d, want 0 to %d", i, id, nodes-1))
			}
		}
	}
	if h := f.Heartbeat; h.Down < 0 || h.Degraded < 0 || h.Degraded > h.Down {
		err = errors.Join(err, fmt.Errorf("a node is degraded after %s and down after %s: give 0 or more, the latter the longer", h.Degraded, h.Down))
	}
	if !(f.BootFails >= 0 && f.BootFails < 1) || f.BootTimeout < 0 {
		err = errors.Join(err, fmt.Errorf("boots fail with probability %v after %s: give 0 or more, and a probability below 1", f.BootFails, f.BootTimeout))
	}
	if !(f.PrologueFails >= 0 && f.PrologueFails < 1) {
		err = errors.Join(err, fmt.Errorf("prologues fail with probability %v: give 0 or more and less than 1", f.PrologueFails))
	}
	if f.PrologueFails > 0 {
		err = errors.Join(err, validateRepair(f.Remedy))
	}
	err = errors.Join(err, f.Drift.validate(), f.Silence.validate(f.Heartbeat))
	if err != nil {
		return fmt.Errorf("world: failures: %w", err)
	}
	return nil
}

func validateRepair(law hwmodel.Lifetime) error {
	if law == nil {
		return errors.New("there is no law of repairs: give one")
	}
	return law.Validate()
}

// lasts is a draw of law, of at least 1 µs: nothing breaks twice at an instant.
func lasts(law hwmodel.Lifetime, src *draw.Source) model.Duration {
	return max(1, min(law.Draw(src), mostTime))
}

// breakdowns is what breaks by itself or is taken down, and the jobs that lose their nodes by that. A part is what
// breaks as one: a node, by its number, or behind the nodes a shared part.
type breakdowns struct {
	*base
	nodes    *nodeStates
	hardware *effects
	endings  *endings
	failures []int32         // of each part, drawn so far
	oneNode  [1]model.NodeID // space of the nodes of a part
	hit      []model.Ref     // space of jobs
}

// part is the draws of a failure of part i, and its laws.
func (b *breakdowns) part(i int) (src draw.Source, life, repair hwmodel.Lifetime) {
	f, count := &b.cfg.Faults, uint64(b.failures[i])
	if k := i - len(b.nodes.list); k >= 0 {
		p := &f.Shared[k]
		return draw.New(b.cfg.Seed, sharedStream, p.Key, count), p.Life, p.Repair
	}
	life = f.Lives[0]
	if f.LifeOf != nil {
		life = f.Lives[f.LifeOf[i]]
	}
	return draw.New(b.cfg.Seed, breakStream, uint64(i), count), life, f.Repair
}

// nodesOf are the nodes of part i, valid until it is asked again.
func (b *breakdowns) nodesOf(i int) []model.NodeID {
	if k := i - len(b.nodes.list); k >= 0 {
		return b.cfg.Faults.Shared[k].Nodes
	}
	b.oneNode[0] = model.NodeID(i)
	return b.oneNode[:]
}

// plan draws when each part breaks first.
func (b *breakdowns) plan() {
	f := &b.cfg.Faults
	if len(f.Lives) == 0 && len(f.Shared) == 0 {
		return
	}
	b.failures = make([]int32, len(b.nodes.list)+len(f.Shared))
	b.nodes.silent = model.NewNodeSet(len(b.nodes.list))
	for i := range b.failures {
		if i >= len(b.nodes.list) || len(f.Lives) > 0 {
			b.planNext(i)
		}
	}
}

// planNext draws when a part that works breaks next.
func (b *breakdowns) planNext(i int) {
	src, life, _ := b.part(i)
	if at := b.now.Add(lasts(life, &src)); at <= b.cfg.Faults.Until {
		b.push(des.NewEvent(at, des.RankNodeDown, model.JobID(i), byFault))
	}
}

// breakPart breaks a part and draws when it is repaired. Both happen when they were drawn, whatever else befell its
// nodes, so that one profile's drains move no other failure.
func (b *breakdowns) breakPart(i int) {
	b.push(des.NewEvent(b.repaired(i, b.now), des.RankNodeUp, model.JobID(i), byFault))
	if i >= len(b.nodes.list) {
		b.Meter.SharedFailures++
	}
	h := b.cfg.Faults.Heartbeat
	if h.Down == 0 {
		b.losePart(i)
		return
	}
	for _, id := range b.nodesOf(i) {
		if b.nodes.list[id].state != model.Down && !b.nodes.silent.Has(id) {
			b.nodes.silent.Add(id)
			b.nodes.silences++
		}
	}
	for _, ref := range b.jobsOn(b.nodes.silent) {
		b.hardware.stall(ref)
	}
	b.push(des.NewEvent(b.now.Add(h.Degraded), des.RankNodeDown, model.JobID(i), byOverdue))
	b.push(des.NewEvent(b.now.Add(h.Down), des.RankNodeDown, model.JobID(i), bySilence))
}

// repaired is when a part that broke at an instant is repaired, and its nodes have booted unless that fails.
func (b *breakdowns) repaired(i int, broke model.Time) model.Time {
	src, life, repair := b.part(i)
	_ = life.Draw(&src) // when it broke
	return broke.Add(b.cfg.Faults.Heartbeat.Down).Add(lasts(repair, &src)).Add(b.cfg.BootDelay)
}

// repairPart ends the repair of a part, and draws when it breaks next.
func (b *breakdowns) repairPart(i int) {
	for _, id := range b.nodesOf(i) {
		b.nodes.comeBack(id)
	}
	b.failures[i]++
	b.planNext(i)
}

// degradeSilent lets nothing start on the nodes of part i that are not heard of.
func (b *breakdowns) degradeSilent(i int) {
	for _, id := range b.nodesOf(i) {
		if b.nodes.silent.Has(id) && b.nodes.list[id].state == model.Ready {
			b.nodes.setState(id, model.Degraded)
		}
	}
}

// losePart takes the nodes of a part down that broke as long ago as heartbeats take, and all jobs on them. Of a node
// that several failures have hit at a time the last repair counts. A node that was taken down otherwise stays as it
// is.
func (b *breakdowns) losePart(i int) {
	f := &b.cfg.Faults
	at := b.repaired(i, b.now.Add(-f.Heartbeat.Down))
	for _, id := range b.nodesOf(i) {
		n := &b.nodes.list[id]
		back := at.Add(b.nodes.failedBoots(id))
		switch {
		case n.state == model.Down && n.broken && n.back != model.AbsentTime:
			if back <= n.back {
				continue
			}
			n.back = back
		case n.state == model.Down, f.Heartbeat.Down > 0 && !b.nodes.silent.Has(id):
			continue
		default:
			b.nodes.takeDown(id)
			n.back, n.broken = back, true
		}
		if n.back != at {
			b.push(des.NewEvent(n.back, des.RankNodeUp, model.JobID(id), byRepair))
		}
	}
	b.evict()
}

// down takes a node and all jobs on it down, unless it is down already.
func (b *breakdowns) down(id model.NodeID) bool {
	if b.nodes.list[id].state == model.Down {
		return false
	}
	b.nodes.takeDown(id)
	b.evict()
	return true
}

// evict fails the jobs on nodes that have been taken down, by job. Cost: the jobs in the system, once for all nodes
// that a failure takes down together.
func (b *breakdowns) evict() {
	if len(b.nodes.lostNodes) == 0 {
		return
	}
	hit := b.jobsOn(b.nodes.lost)
	for _, id := range b.nodes.lostNodes {
		b.nodes.lost.Remove(id)
	}
	b.nodes.lostNodes = b.nodes.lostNodes[:0]
	for _, ref := range hit {
		b.endings.fail(ref, model.ReasonNodeFailure, true)
	}
}

// jobsOn are the running jobs that hold a node of a set or a part of one, by job; valid until it is asked again.
// Cost: the jobs in the system.
func (b *breakdowns) jobsOn(nodes model.NodeSet) []model.Ref {
	on := b.hit[:0]
	for ref := range model.Ref(b.jobs.Len()) {
		l := b.jobs.At(ref)
		if l.onNodes() && holdsAny(b.quorum.Held(ref), nodes) {
			on = append(on, ref)
		}
	}
	//detlint:total a job has one ref
	slices.SortFunc(on, func(x, y model.Ref) int { return int(b.jobs.At(x).rec.Job) - int(b.jobs.At(y).rec.Job) })
	b.hit = on
	return on
}
