package watch

import (
	"fmt"

	"orrery/scheduler/model"
)

// begins notes what a service that runs on more than its least nodes from its start on, before it is told of any
// demand, is to have.
func (j *job) begins() {
	if j.demand == 0 && j.nodes > j.NodesMin {
		j.demand = int64(j.nodes)
	}
}

// due is the number of nodes that a reactive service is to have.
func (j *job) due() int32 {
	return int32(min(max(j.demand, int64(j.NodesMin)), int64(j.NodesMax)))
}

// resizing is how running services change their size: invariant 31.
type resizing struct {
	*base
	ledger       *ledger
	reservations *reservations
	promises     *promises
	slip         *slip
}

// resizes checks a proposal to give j other nodes: invariants 27, 28 and 31.
func (rz *resizing) resizes(j *job, x *flight, p *model.Proposal) {
	if j.Kind != model.Reactive || j.state != model.Running || j.resize != nil {
		rz.fail(31, j, fmt.Sprintf("a proposal to resize %s work that is %s", j.Kind, j.state), "a reactive service that runs, and no other such proposal under way")
		return
	}
	n, kept := p.Placement.Nodes(), 0
	for m, share := range each(&p.Placement) {
		if m < 0 || int(m) >= len(rz.ledger.nodes) {
			return // invariant 6 when it is granted
		}
		if home := rz.site.Nodes[m].Home; home >= 0 && home != j.VCluster && !(j.Scaled && p.Borrowed) {
			rz.fail(31, j, "node "+rz.site.Nodes[m].Name+" at home in vCluster "+rz.site.VClusters[home].Name, "nodes of its own vCluster or of none")
		}
		if has(&j.held, m, share) {
			kept++
		}
	}
	due := j.due()
	switch grown := n > j.nodes; {
	case p.Reason == model.ReasonReclaimed && j.Scaled && n < j.nodes && n >= j.NodesMin: // nodes go home, whatever it is to have
	case n == j.nodes, grown && n > due, !grown && n < due:
		rz.fail(31, j, fmt.Sprintf("%d nodes instead of %d", n, j.nodes), fmt.Sprintf("what brings it nearer to the %d that it is to have", due))
	case int32(kept) != min(n, j.nodes):
		rz.fail(31, j, fmt.Sprintf("%d nodes, of which it has %d", n, kept), fmt.Sprintf("that it keeps %d", min(n, j.nodes)))
	}
	x.more = rz.gains(j, &x.placement)
	if x.more.nodes.Nodes() > 0 {
		rz.reservations.setAside(j, &x.more)
		rz.promises.keepsPromises(j, &x.more)
		rz.slip.behind(j, &x.more, p.Seq)
	}
	j.resize = x
	rz.ledger.reserveMore(x, 1)
}
