package naive_test

import (
	"cmp"
	"slices"
	"sort"

	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
)

// naiveClaim is what is kept for a job that makes others leave.
type naiveClaim struct {
	nodes   []int
	victims map[*naiveJob]uint64 // who has not left yet, by the proposal
}

// keptForOthers says whether node n is kept for another job.
func (s *naiveSite) keptForOthers(j *naiveJob, n int) bool {
	return slices.ContainsFunc(s.claimants, func(o *naiveJob) bool { return o != j && slices.Contains(o.usage.nodes, n) })
}

// unkeep gives up what is kept for j, which others may now use.
func (s *naiveSite) unkeep(j *naiveJob) {
	if j.usage != nil {
		j.usage = nil
		s.claimants = slices.DeleteFunc(s.claimants, func(o *naiveJob) bool { return o == j })
		s.changedForAll()
	}
}

// hasLeft takes v off the claims.
func (s *naiveSite) hasLeft(v *naiveJob) {
	for _, j := range s.jobs {
		if j.usage != nil {
			delete(j.usage.victims, v)
		}
	}
}

// spared takes in that the proposal seq, to preempt, was refused: the victim is
// taken off the claim, which is given up when no other is leaving.
func (s *naiveSite) spared(seq uint64) {
	for _, v := range s.jobs {
		if v.asked == seq {
			v.leaving, v.asked = false, 0
		}
	}
	for _, j := range s.jobs {
		if j.usage == nil {
			continue
		}
		for v, asked := range j.usage.victims {
			if asked == seq {
				s.passAgain(s.vclusterOf(j))
				if delete(j.usage.victims, v); len(j.usage.victims) == 0 {
					s.unkeep(j)
				}
				return
			}
		}
	}
}

// first says whether all victims of j have left: it is met before all others.
func (j *naiveJob) first() bool { return j.usage != nil && len(j.usage.victims) == 0 }

// lapse gives up what is kept for those who could not start although their
// victims have left.
func (s *naiveSite) lapse(l *naiveVCluster) {
	for _, j := range s.jobs {
		if s.vclusterOf(j) == l && (j.phase == naiveWaiting || j.phase == naiveRunning && j.flight == nil) && j.first() {
			s.unkeep(j)
		}
	}
}

// preemptForBlocked looks for victims for the jobs that have no room now, when the first
// blocked job of a pass is met: by class, then in the order of the queue, which is that of the
// beginning of the pass.
func (s *naiveSite) preemptForBlocked(l *naiveVCluster, queue []*naiveJob) {
	if !l.policy.Preempts {
		return
	}
	class := func(j *naiveJob) int32 {
		if j.IsSensitive() {
			return model.SensitiveClass
		}
		return j.Class
	}
	line := slices.DeleteFunc(slices.Clone(queue), func(j *naiveJob) bool { return j.phase != naiveWaiting })
	slices.SortStableFunc(line, func(a, b *naiveJob) int { return cmp.Compare(class(b), class(a)) })
	hopeful, view := map[*naiveJob]bool{}, s.view(l, nil)
	for _, j := range line {
		hopeful[j] = s.mayMakeRoom(l, j, view) && s.room(j, view) == nil
	}
	tries := 0
	for _, j := range line {
		if !hopeful[j] || j.usage != nil || s.hasFailed(j) || s.heldBack(l, j) {
			continue
		}
		if tries++; tries > int(l.policy.Preemption.MaxTries) {
			return
		}
		s.preempt(l, j)
	}
}

// mayBePreempted says whether r, which starts, is preemptible and of a lower class than a job that
// waits in l, where jobs preempt, or whatever its class where qualities of service preempt others.
func (s *naiveSite) mayBePreempted(l *naiveVCluster, r *naiveJob) bool {
	byQOS := slices.ContainsFunc(s.st.QOS, func(q model.QOS) bool { return len(q.PreemptsQOS) > 0 })
	return l.policy.Preempts && r.Preemptible() && slices.ContainsFunc(s.jobs, func(j *naiveJob) bool {
		return j != r && j.phase == naiveWaiting && s.vclusterOf(j) == l && (byQOS || j.IsSensitive() || r.Class < j.Class)
	})
}

// mayMakeRoom says whether the nodes that are free for j and those that running jobs hold
// which it might preempt are as many as it needs. A node counts for each job that holds it.
func (s *naiveSite) mayMakeRoom(l *naiveVCluster, j *naiveJob, view *naiveView) bool {
	n := len(s.only(s.may(j), func(n int) bool {
		if j.Divides() {
			return s.fitsOn(view, j, n)
		}
		return s.idle(view, n)
	}))
	any := j.IsSensitive() || j.QOS >= 0 && len(s.st.QOS[j.QOS].PreemptsQOS) > 0 || s.lends(l)
	for _, r := range s.holders {
		if r.phase == naiveRunning && r.Preemptible() && (any || r.Class < j.Class) {
			n += len(s.only(r.nodes, func(n int) bool { return j.mayUse[n] }))
		}
	}
	return n >= int(j.NodesMin)
}

// lends says whether jobs of other vClusters hold nodes of l, or are proposed for them.
func (s *naiveSite) lends(l *naiveVCluster) bool {
	return slices.ContainsFunc(s.holders, func(j *naiveJob) bool {
		return (j.borrowed || j.grows()) && s.vclusterOf(j) != l && slices.ContainsFunc(j.most().nodes, func(n int) bool { return s.st.Nodes[n].Home >= 0 && s.vclusters[s.st.Nodes[n].Home] == l })
	})
}

// preempt asks victims to make room for a blocked job.
func (s *naiveSite) preempt(l *naiveVCluster, j *naiveJob) {
	if !s.makesRoom(l, j) && !(s.lends(l) && s.reclaim(l, j, true)) {
		s.fails(j)
	}
}

// naiveFailed is a try for a job that found no victims: the facts observed by then, and one.
type naiveFailed struct {
	vcluster, site int
	capped         bool // a cap had no room for it
}

// happens counts a fact that may let a preemption succeed that failed before, for those that it concerns.
func (s *naiveSite) happens(f *model.Fact) {
	s.factSeq++
	for _, l := range s.vclusters {
		if s.factConcerns(l, f) {
			l.factSeq++
		}
	}
}

// factConcerns says whether a fact concerns l: one about a job of another vCluster does where that has or had nodes of l, or where
// nodes have no home.
func (s *naiveSite) factConcerns(l *naiveVCluster, f *model.Fact) bool {
	switch f.Kind {
	case model.FactCancelled, model.FactEnded, model.FactAssigned, model.FactPreempted, model.FactSuspended, model.FactRequeued, model.FactResized, model.FactDemand, model.FactReleased:
	default:
		return true
	}
	j := s.job(f.Ref)
	if s.vclusterOf(j) == l || slices.ContainsFunc(s.st.Nodes, func(n model.Node) bool { return n.Home < 0 }) {
		return true
	}
	nodes := slices.Clone(j.nodes)
	if f.Placement != nil {
		f.Placement.EachNode(func(n model.NodeID) { nodes = append(nodes, int(n)) })
	}
	return slices.ContainsFunc(nodes, func(n int) bool { return int(s.st.Nodes[n].Home) == l.id })
}

// fails notes that no victims were found for j.
func (s *naiveSite) fails(j *naiveJob) {
	needs := s.stated(j)
	if j.phase == naiveRunning {
		j.more = 1
		needs = s.statedMore(j)
	}
	j.failed = naiveFailed{s.vclusterOf(j).factSeq + 1, s.factSeq + 1, !s.withinCaps(needs, func(o *naiveJob) bool { return o == j })}
}

// hasFailed says whether that has been so since, and nothing has happened that could change it.
func (s *naiveSite) hasFailed(j *naiveJob) bool {
	if j.failed.capped {
		return j.failed.site == s.factSeq+1
	}
	return j.failed.vcluster == s.vclusterOf(j).factSeq+1
}

// makesRoom asks victims to make room for all that is sought for j, and says whether there are
// any.
func (s *naiveSite) makesRoom(l *naiveVCluster, j *naiveJob) bool {
	triggers := []preempt.Trigger{preempt.Reclaim, preempt.Priority}
	if j.IsSensitive() {
		triggers[1] = preempt.Sensitive
	}
	if s.lends(l) && s.reclaim(l, j, false) {
		return true
	}
	for _, t := range triggers {
		victims, nodes := s.victims(l, j, t)
		if len(victims) == 0 {
			continue
		}
		reason := model.ReasonPreempted
		if t == preempt.Reclaim {
			reason = model.ReasonReclaimed
		}
		j.usage = &naiveClaim{nodes, map[*naiveJob]uint64{}}
		s.claimants = append(s.claimants, j)
		for _, v := range victims {
			s.propose(model.Proposal{Kind: model.ProposePreempt, Reason: reason, VCluster: j.VCluster, Job: j.Job, Ref: j.ref, Victim: v.ref})
			v.leaving, v.asked = true, s.seq
			j.usage.victims[v] = s.seq
		}
		return true
	}
	return false
}

// victims are the jobs that make room for j on nodes of its own, none when none
// can, and the nodes that it gets then.
func (s *naiveSite) victims(l *naiveVCluster, j *naiveJob, trigger preempt.Trigger) ([]*naiveJob, []int) {
	cfg := &l.policy.Preemption
	type candidate struct {
		job  *naiveJob
		cost int64
	}
	var all []candidate
	for _, v := range s.holders {
		if !s.admits(cfg, j, v, trigger) {
			continue
		}
		usable := int32(len(s.only(v.nodes, func(n int) bool {
			return s.up[n] == model.Ready && s.couldUse(j, n)
		})))
		if usable == 0 {
			continue
		}
		all = append(all, candidate{v, cfg.Cost(s.victimOf(v, usable), s.now, cfg.Bandwidth)})
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(s.classAgainst(j, a.job, trigger), s.classAgainst(j, b.job, trigger)), cmp.Compare(a.cost, b.cost), cmp.Compare(b.job.start, a.job.start), cmp.Compare(a.job.Job, b.job.Job))
	})
	fits := func(victims []*naiveJob) *naiveChoice {
		gone := func(o *naiveJob) bool { return slices.Contains(victims, o) }
		needs := s.stated(j)
		if j.phase == naiveRunning {
			needs = s.statedMore(j)
		}
		if !s.withinCaps(needs, func(o *naiveJob) bool { return o == j || gone(o) }) {
			return nil
		}
		return s.chooseSought(s.view(l, gone), j)
	}
	line := make([]*naiveJob, len(all))
	for i, c := range all {
		line[i] = c.job
	}
	needed := fewest(len(line), func(n int) bool { return fits(line[:n]) != nil })
	if needed > len(line) {
		return nil, nil
	}
	taken := slices.Clone(line[:needed])
	for i := len(taken) - 1; i >= 0; i-- {
		if rest := slices.Delete(slices.Clone(taken), i, i+1); fits(rest) != nil {
			taken = rest
		}
	}
	if len(taken) > int(cfg.MaxVictims) {
		return nil, nil
	}
	return taken, fits(taken).nodes
}

// fewest is how many of n victims, from the first on, are enough; n+1 where all are not. Of few, as
// in drawn worlds, one after the other is tried. Many are cut in two, since what is enough stays
// enough with more: so preempt.Trial has it, which worlds with few hold.
func fewest(n int, enough func(int) bool) int {
	const few = 16
	if n > few {
		return sort.Search(n+1, enough)
	}
	for k := range n + 1 {
		if enough(k) {
			return k
		}
	}
	return n + 1
}

// classAgainst is the class that v counts with when j wants its nodes.
func (s *naiveSite) classAgainst(j, v *naiveJob, trigger preempt.Trigger) int32 {
	preempts := func(a, b *naiveJob) bool {
		return a.QOS >= 0 && b.QOS >= 0 && slices.Contains(s.st.QOS[a.QOS].PreemptsQOS, b.QOS)
	}
	if preempts(j, v) == preempts(v, j) {
		return v.Class
	}
	if preempts(j, v) {
		return min(v.Class, j.Class-1)
	}
	if trigger == preempt.Priority {
		return max(v.Class, j.Class)
	}
	return v.Class
}

// admits says whether v may lose its nodes to j.
func (s *naiveSite) admits(cfg *preempt.Config, j, v *naiveJob, trigger preempt.Trigger) bool {
	if v.phase != naiveRunning || v.leaving || !v.Preemptible() {
		return false
	}
	if v.left != model.Forever && v.left-s.now.Sub(v.start) <= cfg.NearCompletion {
		return false
	}
	if trigger == preempt.Reclaim {
		return v.borrowed && !v.Scaled && v.VCluster != j.VCluster && slices.ContainsFunc(v.nodes, func(n int) bool { return s.st.Nodes[n].Home == j.VCluster })
	}
	class := j.Class
	if trigger == preempt.Sensitive {
		class = model.SensitiveClass
	}
	if cfg.Rule == preempt.Banded {
		band := func(c int32) int32 { return (c + 2) / 3 }
		return band(s.classAgainst(j, v, trigger)) < band(class)
	}
	return s.classAgainst(j, v, trigger) < class
}
