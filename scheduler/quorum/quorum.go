// Package quorum is the replicated state machine that owns the nodes: it sees
// every fact of the committed log, checks each proposal against what is
// committed, and grants or refuses it with a reason. It holds no policy and
// does not trust the scheduler's view. State is for a cluster of equal nodes,
// Site for nodes that differ, belong to vClusters and are shared by tenants.
package quorum

import (
	"math/bits"

	"orrery/scheduler/model"
)

// State is one replica of the ledger of a cluster. It is not safe for concurrent use.
type State struct {
	whole bool
	per   int32
	size  []int32
	nodes []uint64 // free nodes of a whole-node cluster
	valid uint64   // bits in use in the last word
	free  []int32  // free units per node otherwise
	jobs  []entry  // by Ref
	pool  model.PlacementPool
}

type entry struct {
	state model.JobState
	known bool
	held  model.Placement
}

// New returns the state machine of an idle cluster; cfg must be valid.
func New(cfg model.Cluster) *State {
	n := len(cfg.Units)
	s := &State{whole: cfg.Whole, per: cfg.Units[0], size: cfg.Units}
	if !s.whole {
		s.free = append([]int32(nil), cfg.Units...)
		return s
	}
	s.nodes = make([]uint64, (n+63)/64)
	for i := range s.nodes {
		s.nodes[i] = ^uint64(0)
	}
	s.valid = ^uint64(0)
	if n%64 != 0 {
		s.valid = 1<<(n%64) - 1
	}
	s.nodes[len(s.nodes)-1] = s.valid
	return s
}

// Apply commits a fact that did not come from a proposal: a submission, a
// withdrawal, an end. A contradiction to the log (an end of a job that does
// not run) is a fault of the caller and panics.
func (s *State) Apply(f *model.Fact) {
	switch f.Kind {
	case model.FactSubmitted:
		for int(f.Ref) >= len(s.jobs) {
			s.jobs = append(s.jobs, entry{})
		}
		e := &s.jobs[f.Ref]
		if e.known {
			panic("quorum: submission under a ref that is in use")
		}
		e.known, e.state = true, model.Pending
	case model.FactCancelled:
		s.leave(f.Ref, model.Pending)
	case model.FactEnded:
		s.release(&s.jobs[f.Ref].held)
		s.leave(f.Ref, model.Running)
	}
}

func (s *State) leave(ref model.Ref, from model.JobState) {
	e := &s.jobs[ref]
	if !e.known || e.state != from {
		panic("quorum: transition from a state in which the job is not")
	}
	e.known = false
}

// Decide checks a proposal, commits it if it holds and returns the fact that
// answers it. All but assignments are refused. Cost: the nodes named.
func (s *State) Decide(p *model.Proposal) model.Fact {
	f := model.Fact{Kind: model.FactRefused, Job: p.Job, Ref: p.Ref, Seq: p.Seq}
	switch {
	case p.Kind != model.ProposeAssign:
		f.Reason = model.ReasonNotOwned // nothing else is a scheduler's to change on a plain cluster, where units are alike and nothing is restored
	case int(p.Ref) >= len(s.jobs) || !s.jobs[p.Ref].known || s.jobs[p.Ref].state != model.Pending:
		f.Reason = model.ReasonNotPending
	case s.whole:
		f.Reason = s.checkWords(p)
	default:
		f.Reason = s.checkShares(p)
	}
	if f.Reason == model.ReasonNone {
		f.Kind = model.FactAssigned
		s.commit(p)
	}
	return f
}

// Held is what the running job under ref holds; valid until it ends.
func (s *State) Held(ref model.Ref) *model.Placement { return &s.jobs[ref].held }

func (s *State) checkWords(p *model.Proposal) model.Reason {
	need, last := p.Request.Nodes, int32(-1)
	if p.Request.Layout == model.Anywhere {
		need = int32((int64(p.Request.Units) + int64(s.per) - 1) / int64(s.per))
	}
	if len(p.Placement.Shares) > 0 {
		return model.ReasonBadPlacement
	}
	for _, w := range p.Placement.Words {
		switch {
		case w.Word < 0 || int(w.Word) >= len(s.nodes) || (int(w.Word) == len(s.nodes)-1 && w.Mask&^s.valid != 0):
			return model.ReasonUnknownNode
		case w.Word <= last || w.Mask == 0:
			return model.ReasonBadPlacement
		case w.Mask&^s.nodes[w.Word] != 0:
			return model.ReasonNodesTaken
		}
		last = w.Word
		need -= int32(bits.OnesCount64(w.Mask))
	}
	if need != 0 {
		return model.ReasonBadPlacement
	}
	return model.ReasonNone
}

func (s *State) checkShares(p *model.Proposal) model.Reason {
	units, nodes, last := int64(0), int32(0), model.NodeID(-1)
	if len(p.Placement.Words) > 0 {
		return model.ReasonBadPlacement
	}
	for _, h := range p.Placement.Shares {
		switch {
		case h.Node < 0 || int(h.Node) >= len(s.free):
			return model.ReasonUnknownNode
		case h.Node <= last || h.Units < 1 || (p.Request.Layout == model.PerNode && h.Units != p.Request.PerNode):
			return model.ReasonBadPlacement
		case h.Units > s.free[h.Node]:
			return model.ReasonNodesTaken
		}
		last = h.Node
		units += int64(h.Units)
		nodes++
	}
	if units != int64(p.Request.Units) || (p.Request.Layout == model.PerNode && nodes != p.Request.Nodes) {
		return model.ReasonBadPlacement
	}
	return model.ReasonNone
}

func (s *State) commit(p *model.Proposal) {
	e := &s.jobs[p.Ref]
	e.state = model.Running
	e.held = s.pool.Copy(&p.Placement)
	for _, w := range e.held.Words {
		s.nodes[w.Word] &^= w.Mask
	}
	for _, h := range e.held.Shares {
		s.free[h.Node] -= h.Units
	}
}

func (s *State) release(p *model.Placement) {
	for _, w := range p.Words {
		s.nodes[w.Word] |= w.Mask
	}
	for _, h := range p.Shares {
		s.free[h.Node] += h.Units
	}
	s.pool.Put(p)
}
