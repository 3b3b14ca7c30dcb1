package watch

import (
	"fmt"

	"orrery/scheduler/model"
)

// begins notes what a service that runs on more than its least nodes from its start on,
// before it is told of any demand, is to have.
func (j *job) begins() {
	if j.demand == 0 && j.nodes > j.NodesMin {
		j.demand = int64(j.nodes)
	}
}

// due is the number of nodes that a reactive service is to have.
func (j *job) due() int32 {
	return int32(min(max(j.demand, int64(j.NodesMin)), int64(j.NodesMax)))
}

// resizes checks a proposal to give j other nodes: invariants 27, 28 and 31.
func (w *Watcher) resizes(j *job, x *flight, p *model.Proposal) {
	if j.Kind != model.Reactive || j.state != model.Running || j.resize != nil {
		w.fail(31, j, fmt.Sprintf("a proposal to resize %s work that is %s", j.Kind, j.state), "a reactive service that runs, and no other such proposal under way")
		return
	}
	n, kept := p.Placement.Nodes(), 0
	for m, share := range each(&p.Placement) {
		if m < 0 || int(m) >= len(w.nodes) {
			return // invariant 6 when it is granted
		}
		if home := w.site.Nodes[m].Home; home >= 0 && home != j.VCluster && !(j.Scaled && p.Borrowed) {
			w.fail(31, j, "node "+w.site.Nodes[m].Name+" at home in vCluster "+w.site.VClusters[home].Name, "nodes of its own vCluster or of none")
		}
		if has(&j.held, m, share) {
			kept++
		}
	}
	due := j.due()
	switch grown := n > j.nodes; {
	case p.Reason == model.ReasonReclaimed && j.Scaled && n < j.nodes && n >= j.NodesMin: // nodes go home, whatever it is to have
	case n == j.nodes, grown && n > due, !grown && n < due:
		w.fail(31, j, fmt.Sprintf("%d nodes instead of %d", n, j.nodes), fmt.Sprintf("what brings it nearer to the %d that it is to have", due))
	case int32(kept) != min(n, j.nodes):
		w.fail(31, j, fmt.Sprintf("%d nodes, of which it has %d", n, kept), fmt.Sprintf("that it keeps %d", min(n, j.nodes)))
	}
	x.more = w.gains(j, &x.placement)
	if x.more.nodes.Nodes() > 0 {
		w.setAside(j, &x.more)
		w.keepsPromises(j, &x.more)
		w.behind(j, &x.more, p.Seq)
	}
	j.resize = x
	w.reserveMore(x, 1)
}

// gains is what j, which runs, takes when it holds p instead, beside what it has.
func (w *Watcher) gains(j *job, p *model.Placement) taking {
	t := taking{job: j, whole: p, until: j.start.Add(j.left)}
	if t.until <= w.now {
		t.until = w.now.Add(model.Second) // as it is predicted
	}
	for _, x := range p.Words {
		for _, h := range j.held.Words {
			if h.Word == x.Word {
				x.Mask &^= h.Mask
			}
		}
		if x.Mask != 0 {
			t.nodes.Words = append(t.nodes.Words, x)
		}
	}
	for _, x := range p.Shares {
		if !holds(&j.held, x.Node) {
			t.nodes.Shares = append(t.nodes.Shares, x)
		}
	}
	return t
}

// has says whether p names n with this share, nil for the whole of it.
func has(p *model.Placement, n model.NodeID, share *model.NodeShare) bool {
	for m, h := range each(p) {
		if m == n {
			return h == nil && share == nil || h != nil && share != nil && *h == *share
		}
	}
	return false
}

// lands takes a proposal to resize off the ledger.
func (w *Watcher) lands(x *flight) {
	if x.job.resize == x {
		x.job.resize = nil
		w.reserveMore(x, -1)
	}
}

// reserveMore counts what a job gains by a proposal among what is in use.
func (w *Watcher) reserveMore(x *flight, sign int32) {
	for _, t := range w.tallies(x.job) {
		t.flyingNodes += sign * x.more.nodes.Nodes()
		t.flyingMilli += int64(sign) * w.thousandths(&x.more.nodes)
	}
}

// resized checks that a running job changes its nodes as was proposed.
func (w *Watcher) resized(j *job, f *model.Fact) {
	x := w.flight(f)
	switch {
	case x == nil || x.kind != model.ProposeResize || x.job != j || j.state != model.Running:
		w.fail(6, j, fmt.Sprintf("other nodes by proposal %d", f.Seq), "a proposal to resize it while it runs")
		x = &flight{}
	case f.Placement == nil || !same(f.Placement, &x.placement):
		w.fail(6, j, "other nodes than proposed", "the nodes proposed")
	}
	w.settle(j)
	w.accrue(j)
	w.take(j, -1)
	had := *j
	w.grant(j, f.Placement, x.borrowed, &had)
}
