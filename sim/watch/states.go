package watch

import (
	"fmt"

	"orrery/scheduler/model"
)

// states is what becomes of nodes, and of the jobs on them: invariant 16.
type states struct {
	*base
	ledger *ledger
	downed []model.NodeID // in this instant
}

// nodeChanges checks invariant 16.
func (st *states) nodeChanges(f *model.Fact) {
	if f.Node < 0 || int(f.Node) >= len(st.ledger.nodes) {
		st.fail(16, nil, fmt.Sprintf("node %d", f.Node), "a node of the site")
		return
	}
	n := &st.ledger.nodes[f.Node]
	name := st.site.Nodes[f.Node].Name
	if !n.state.CanBecome(f.State) {
		st.fail(16, nil, "node "+name+" goes from "+n.state.String()+" to "+f.State.String(), "a legal transition")
	}
	if n.jobs > 0 && (f.State == model.Drained || f.State == model.Wiping) {
		st.fail(16, nil, fmt.Sprintf("node %s is %s with %d jobs on it", name, f.State, n.jobs), "none")
	}
	if f.State == model.Down {
		st.downed = append(st.downed, f.Node)
	}
	st.ledger.idle -= st.ledger.idleOf(f.Node)
	n.state = f.State
	st.ledger.idle += st.ledger.idleOf(f.Node)
	if st.ledger.ready.Remove(f.Node); f.State == model.Ready {
		st.ledger.ready.Add(f.Node)
	}
}

// vacated checks that no job is left on a node that went down in the instant that is over: invariant 16.
func (st *states) vacated() {
	for _, n := range st.downed {
		if x := &st.ledger.nodes[n]; x.jobs > 0 && x.state == model.Down {
			st.fail(16, x.whole, fmt.Sprintf("node %s is down with %d jobs on it", st.site.Nodes[n].Name, x.jobs), "that they left with it")
		}
	}
	st.downed = st.downed[:0]
}
