package world

import (
	"errors"
	"fmt"
	"math"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/scheduler/preempt"
	"orrery/sim/des"
)

// Faults is what goes wrong. Every draw is keyed by Seed and the job and attempt,
// or what breaks and its count of failures, so that two profiles replayed with one
// seed meet the same.
type Faults struct {
	// Lives are the laws of how long nodes work before they break; without any no node
	// breaks by itself. LifeOf is the law of each node; nil gives all of them the first.
	Lives  []hwmodel.Lifetime
	LifeOf []int32
	// Repair is the law of how long a node is repaired, from when it is known to be down.
	Repair hwmodel.Lifetime
	// Shared are parts of the site of which a failure takes several nodes down at once.
	Shared []SharedFault
	// Nothing breaks after Until, so that a replay in which a job waits for ever comes to
	// an end.
	Until     model.Time
	Heartbeat Heartbeat
	// BootFails is the probability that a node does not boot. It is then booted again,
	// BootTimeout later.
	BootFails   float64
	BootTimeout model.Duration
	// PrologueFails is the probability that a prologue fails on a node of a job that starts.
	// The node drains, and takes work again after Remedy.
	PrologueFails float64
	Remedy        hwmodel.Lifetime

	Drift   Drift
	Silence Silence

	// Slow is the probability that a checkpoint takes SlowBy times as long.
	Slow   float64
	SlowBy int64
	// Unresponsive is the probability that a victim does not answer the hint,
	// Partial that a node fails to write its part of a checkpoint, and Defers
	// that a victim answers a hint by asking to be left alone for a while.
	Unresponsive, Partial, Defers float64
}

// SharedFault is a part that several nodes need, such as a switch or a feed of power.
type SharedFault struct {
	Key          uint64 // of its draws, of no other
	Nodes        []model.NodeID
	Life, Repair hwmodel.Lifetime
}

// Heartbeat is how long after a failure the scheduler learns of it. A node that is not heard
// of is degraded first, so that nothing starts there, and then down. With a Down of 0 it is
// down at once.
type Heartbeat struct{ Degraded, Down model.Duration }

// Exponential is hwmodel.Exponential rounded down to the microsecond, as results have it
// that were made before the other laws.
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
	bootStream   = draw.StreamOf("node boot")
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

// failing is what a site knows of what breaks. A part is what breaks as one: a node, by its
// number, or behind the nodes a shared part.
type failing struct {
	failures []int32         // of each part, drawn so far
	oneNode  [1]model.NodeID // space of the nodes of a part
	silent   model.NodeSet   // nodes that are broken and not known to be
	silences int             // of them
	// Nodes that are down and whose jobs have not been evicted yet.
	lost      model.NodeSet
	lostNodes []model.NodeID
	drifted   []int32        // of each node, how often its fingerprint was found to have changed
	silenced  []int32        // of each node, how often its agent was silent
	prologues []model.NodeID // space of nodes on which a prologue fails
}

// part is the draws of a failure of part i, and its laws.
func (s *Site) part(i int) (src draw.Source, life, repair hwmodel.Lifetime) {
	f, count := &s.cfg.Faults, uint64(s.failures[i])
	if k := i - len(s.nodes); k >= 0 {
		p := &f.Shared[k]
		return draw.New(s.cfg.Seed, sharedStream, p.Key, count), p.Life, p.Repair
	}
	life = f.Lives[0]
	if f.LifeOf != nil {
		life = f.Lives[f.LifeOf[i]]
	}
	return draw.New(s.cfg.Seed, breakStream, uint64(i), count), life, f.Repair
}

// nodesOf are the nodes of part i, valid until it is asked again.
func (s *Site) nodesOf(i int) []model.NodeID {
	if k := i - len(s.nodes); k >= 0 {
		return s.cfg.Faults.Shared[k].Nodes
	}
	s.oneNode[0] = model.NodeID(i)
	return s.oneNode[:]
}

// planFailures draws when each part breaks first.
func (s *Site) planFailures() {
	f := &s.cfg.Faults
	if len(f.Lives) == 0 && len(f.Shared) == 0 {
		return
	}
	s.failures = make([]int32, len(s.nodes)+len(f.Shared))
	s.silent = model.NewNodeSet(len(s.nodes))
	for i := range s.failures {
		if i >= len(s.nodes) || len(f.Lives) > 0 {
			s.planFailure(i)
		}
	}
}

// planFailure draws when a part that works breaks next.
func (s *Site) planFailure(i int) {
	src, life, _ := s.part(i)
	if at := s.now.Add(lasts(life, &src)); at <= s.cfg.Faults.Until {
		s.push(des.NewEvent(at, des.RankNodeDown, model.JobID(i), byFault))
	}
}

// breakPart breaks a part and draws when it is repaired. Both happen when they were
// drawn, whatever else befell its nodes, so that one profile's drains move no other
// failure.
func (s *Site) breakPart(i int) {
	s.push(des.NewEvent(s.repaired(i, s.now), des.RankNodeUp, model.JobID(i), byFault))
	if i >= len(s.nodes) {
		s.Meter.SharedFailures++
	}
	h := s.cfg.Faults.Heartbeat
	if h.Down == 0 {
		s.losePart(i)
		return
	}
	for _, id := range s.nodesOf(i) {
		if s.nodes[id].state != model.Down && !s.silent.Has(id) {
			s.silent.Add(id)
			s.silences++
		}
	}
	for _, ref := range s.jobsOn(s.silent) {
		s.stall(ref)
	}
	s.push(des.NewEvent(s.now.Add(h.Degraded), des.RankNodeDown, model.JobID(i), byOverdue))
	s.push(des.NewEvent(s.now.Add(h.Down), des.RankNodeDown, model.JobID(i), bySilence))
}

// repaired is when a part that broke at an instant is repaired, and its nodes have booted
// unless that fails.
func (s *Site) repaired(i int, broke model.Time) model.Time {
	src, life, repair := s.part(i)
	_ = life.Draw(&src) // when it broke
	return broke.Add(s.cfg.Faults.Heartbeat.Down).Add(lasts(repair, &src)).Add(s.cfg.BootDelay)
}

// degradeSilent lets nothing start on the nodes of part i that are not heard of.
func (s *Site) degradeSilent(i int) {
	for _, id := range s.nodesOf(i) {
		if s.silent.Has(id) && s.nodes[id].state == model.Ready {
			s.setState(id, model.Degraded)
		}
	}
}

// losePart takes the nodes of a part down that broke as long ago as heartbeats take, and all
// jobs on them. Of a node that several failures have hit at a time the last repair counts. A
// node that was taken down otherwise stays as it is.
func (s *Site) losePart(i int) {
	f := &s.cfg.Faults
	at := s.repaired(i, s.now.Add(-f.Heartbeat.Down))
	for _, id := range s.nodesOf(i) {
		n := &s.nodes[id]
		back := at.Add(s.failedBoots(id))
		switch {
		case n.state == model.Down && n.broken && n.back != model.AbsentTime:
			if back <= n.back {
				continue
			}
			n.back = back
		case n.state == model.Down, f.Heartbeat.Down > 0 && !s.silent.Has(id):
			continue
		default:
			s.takeDown(id)
			n.back, n.broken = back, true
		}
		if n.back != at {
			s.push(des.NewEvent(n.back, des.RankNodeUp, model.JobID(id), byRepair))
		}
	}
	s.evict()
}

// mostBoots bounds how often a boot is tried.
const mostBoots = 1000

// failedBoots is how long a node that boots now, or is repaired after a failure of now, takes
// beyond BootDelay. It counts the boots that fail.
func (s *Site) failedBoots(id model.NodeID) model.Duration {
	f := &s.cfg.Faults
	if f.BootFails == 0 {
		return 0
	}
	src := draw.New(s.cfg.Seed, bootStream, uint64(id), uint64(s.now))
	n := int64(0)
	for n < mostBoots && src.Bool(f.BootFails) {
		n++
	}
	s.Meter.FailedBoots += n
	return model.Duration(n) * min(f.BootTimeout, math.MaxInt64/mostBoots)
}

// standsStill says whether the job under ref holds a node that is broken and not known to be.
func (s *Site) standsStill(ref model.Ref) bool {
	return s.silences > 0 && holdsAny(s.quorum.Held(ref), s.silent)
}

// stall stops the work of a running job, whose processes wait for those of a node that is
// broken. A checkpoint that is being written fails. The job holds its nodes until the
// failure is known, or its walltime is over.
func (s *Site) stall(ref model.Ref) {
	l := s.jobs.At(ref)
	if l.exit.writes {
		l.exit.act = preempt.WriteFailed
		return
	}
	l.ckpt.breaks = l.ckpt.writes
	if l.work.SetRate(s.now, 0) {
		s.retime(ref)
	}
}
