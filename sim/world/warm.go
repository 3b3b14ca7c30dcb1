package world

import (
	"math/bits"
	"slices"

	"orrery/scheduler/model"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// Resumes says whether the job under ref, just submitted, ran before the
// beginning of the replay.
func (w *World) Resumes(ref model.Ref) bool { return w.jobs[ref].truth.Ran > 0 }

// Warming makes the quorum answer at once, or no more: what ran before the
// replay was granted long ago. At its end it counts the jobs that found no place.
func (w *World) Warming(on bool) {
	if w.immediate = on; on {
		return
	}
	for ref := range w.jobs {
		if j := &w.jobs[ref]; j.present && j.truth.Ran > 0 && j.rec.State == model.Pending {
			j.rec.Start = model.AbsentTime
			w.Special.Add(translate.RuleNotResumed, j.rec.ID)
		}
	}
}

// Resumption is a job that ran before the replay, and where.
type Resumption struct {
	Ref       model.Ref
	Placement model.Placement
}

// Resumes says whether the job under ref, just submitted, ran before the
// beginning of the replay.
func (s *Site) Resumes(ref model.Ref) bool { return s.jobs[ref].resumes }

// Resumptions lists the jobs that ran before the replay on nodes that are known,
// ready and, in this order, not taken twice. It is read once.
func (s *Site) Resumptions() []Resumption {
	out := s.resumptions
	s.resumptions, s.adopted, s.named = nil, nil, nil
	return out
}

// Warming makes the quorum answer at once, or no more, see World.Warming.
func (s *Site) Warming(on bool) {
	if s.immediate = on; on {
		return
	}
	for ref := range s.jobs {
		l := &s.jobs[ref]
		if l.present && l.resumes && l.rec.State == model.Pending {
			l.rec.Start, l.resumes = model.AbsentTime, false
			s.Special.Add(translate.RuleNotResumed, l.rec.ID)
		}
	}
}

// history counts row i, which had left when the replay begins, and tells what it consumed.
func (s *Site) history(b *traces.Batch, i int) error {
	s.Special.Add(translate.RuleLeftBefore, b.ID[i])
	if s.Recall == nil {
		return nil
	}
	met, ok, err := s.rows.Allocation(b, i, &s.inspected)
	s.Special.Note(met, b.ID[i])
	if ok {
		from := max(b.Start[i], b.Submit[i])
		s.Recall(&s.inspected, s.inspected.NodesMin, from, from.Add(b.Runtime[i]))
	}
	return err
}

// resume settles how a job that ran before the replay goes on. The error is a
// traces.DataError: the nodes on which it ran are not said in a way that is
// understood.
func (s *Site) resume(ref model.Ref, b *traces.Batch, i int) error {
	l := &s.jobs[ref]
	ran := l.truth.Ran
	l.resumes = true
	if s.Recall != nil {
		s.Recall(l.alloc, l.alloc.NodesMin, s.cfg.Rows.Warm.V.Add(-ran), s.cfg.Rows.Warm.V)
	}
	if l.truth.Runtime != model.AbsentDuration { // else it runs until it is cancelled
		l.kept = min(ran, l.truth.Runtime)
	}
	l.rec.Start = max(b.Start[i], b.Submit[i])
	l.limit = translate.Remaining(l.limit, ran)
	a := l.alloc
	a.Walltime, a.Hold, a.Deps, l.release = l.limit, false, a.Deps[:0], model.AbsentTime
	a.Eligible, l.rec.Eligible = a.Submit, min(l.rec.Eligible, l.rec.Start)
	names, stated, err := s.rows.RanOn(b, i)
	if err != nil || !stated {
		return err
	}
	if p, ok := s.recorded(names, a); ok {
		s.resumptions = append(s.resumptions, Resumption{ref, p})
	} else {
		s.Special.Add(translate.RuleElsewhere, l.rec.ID)
	}
	return nil
}

// node is the node of a name.
func (s *Site) node(name string) (model.NodeID, bool) {
	if s.named == nil {
		s.named = make(map[string]model.NodeID, len(s.site.Nodes))
		for i := range s.site.Nodes {
			s.named[s.site.Nodes[i].Name] = model.NodeID(i)
		}
	}
	id, ok := s.named[name]
	return id, ok
}

// recorded finds the nodes of these names; false when they are not as many nodes of
// the site as a asks for, ready, with room beside those that were found before.
func (s *Site) recorded(names []string, a *model.Allocation) (p model.Placement, ok bool) {
	nodes := make([]model.NodeID, 0, len(names))
	for _, name := range names {
		id, known := s.node(name)
		if !known || s.nodes[id].state != model.Ready {
			return p, false
		}
		nodes = append(nodes, id)
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	if n := int32(len(nodes)); n < a.NodesMin || n > a.NodesMax {
		return p, false
	}
	if s.adopted == nil {
		s.adopted = make([]uint64, len(s.nodes))
	}
	masks := make([]uint64, len(nodes))
	for k, n := range nodes {
		all := uint64(1)<<max(s.site.Nodes[n].GPUs, 1) - 1
		free := all &^ s.adopted[n]
		if masks[k] = free; a.GPUs == 0 && free != all || bits.OnesCount64(free) < int(a.GPUs) {
			return p, false
		}
		for a.GPUs > 0 && bits.OnesCount64(masks[k]) > int(a.GPUs) {
			masks[k] &= masks[k] - 1
		}
	}
	set := model.NewNodeSet(len(s.nodes))
	for k, n := range nodes {
		s.adopted[n] |= masks[k]
		if a.GPUs > 0 {
			p.Shares = append(p.Shares, model.NodeShare{Node: n, Units: a.GPUs, GPUs: masks[k]})
			continue
		}
		set.Add(n)
	}
	for w, mask := range set {
		if mask != 0 {
			p.Words = append(p.Words, model.NodeWord{Word: int32(w), Mask: mask})
		}
	}
	return p, true
}
