package watch

import (
	"fmt"
	"math/bits"
	"strings"

	"orrery/scheduler/model"
)

// grants is what the quorum lets jobs have, and what they give back: invariants 4 to 7, 15 and 17 to 26.
type grants struct {
	*base
	system   *system
	flights  *flights
	ledger   *ledger
	accounts *accounts
	promises *promises
}

// assigned checks a start: invariants 4 to 6, 15 and 17 to 26.
func (g *grants) assigned(j *job, f *model.Fact) {
	x := g.flights.flight(f)
	g.system.become(j, model.Running)
	switch {
	case x == nil || x.kind != model.ProposeAssign && x.kind != model.ProposeRestore || x.job != j:
		g.fail(6, j, fmt.Sprintf("a start by proposal %d", f.Seq), "a proposal to start it")
		x = &flight{}
	case f.Placement == nil || !same(f.Placement, &x.placement):
		g.fail(6, j, "a start on other nodes", "the nodes proposed")
	}
	if g.now < j.Eligible || j.Hold {
		g.fail(4, j, fmt.Sprintf("a start (on hold: %t)", j.Hold), "none before "+j.Eligible.String()+" or on hold")
	}
	g.system.waitsFor(j)
	g.grant(j, f.Placement, x.borrowed, nil)
	g.system.runs(j)
	g.system.causing(j, false)
	g.promises.unpromise(j)
	g.promises.slow = g.promises.slow || x.made != g.now
	j.begins()
	j.start, j.attempts = g.now, j.attempts+1
}

// grant checks that j, which holds nothing, may have the nodes of p, and enters them. had is what it held until now
// when it is resized, else nil: it may keep nodes that are not ready any more, and what limits now forbid.
func (g *grants) grant(j *job, p *model.Placement, borrowed bool, had *job) {
	j.since = g.now
	if p == nil {
		return
	}
	j.held = copied(p)
	j.nodes = p.Nodes()
	if !g.shape(j) {
		j.held, j.nodes = model.Placement{}, 0
		return
	}
	j.milli = g.ledger.thousandths(p)
	j.power, j.io = g.site.Draw(&j.Allocation, p), j.Demand(j.nodes)
	if had == nil {
		had = &job{}
	}
	for n, share := range each(p) {
		g.onNode(j, n, share, borrowed, had)
	}
	if j.IsSensitive() {
		g.conform(j, had)
	}
	g.limits(j, had)
	g.accounts.accrue(j)
	g.ledger.take(j, 1)
	g.lending(j)
}

// shape checks that j gets what it asks for, invariant 6. false says that the nodes cannot be entered.
func (g *grants) shape(j *job) bool {
	for n, share := range each(&j.held) {
		switch {
		case n < 0 || int(n) >= len(g.ledger.nodes):
			g.fail(6, j, fmt.Sprintf("node %d", n), "a node of the site")
			return false
		case (share == nil) == j.Divides() || share != nil && !asksFor(j, share, &g.site.Nodes[n]):
			g.fail(6, j, "of node "+g.site.Nodes[n].Name+" "+textOf(share), textOf(&model.NodeShare{Units: j.GPUs, Amounts: j.Amounts}))
		}
	}
	if !j.Holds(&j.held) {
		g.fail(6, j, "shares that do not hold its tasks", fmt.Sprintf("%d tasks of %d CPUs", j.Tasks, j.CPUs))
	}
	if j.nodes < j.NodesMin || j.nodes > j.NodesMax {
		g.fail(6, j, fmt.Sprintf("%d nodes", j.nodes), fmt.Sprintf("%d to %d", j.NodesMin, j.NodesMax))
	}
	return true
}

// asksFor says whether h is a share as j asks for.
func asksFor(j *job, h *model.NodeShare, node *model.Node) bool {
	return h.Units == j.GPUs && j.TasksIn(h) > 0 && bits.OnesCount64(h.GPUs) == int(h.Cards()) && bits.Len64(h.GPUs) <= int(node.GPUs)
}

// textOf says what h is, nil for a whole node.
func textOf(h *model.NodeShare) string {
	if h == nil || *h == (model.NodeShare{Node: h.Node}) {
		return "the whole"
	}
	return fmt.Sprintf("%d GPUs (%b), %d thousandths of one, %d CPUs and %d B", h.Units, h.GPUs, h.GPUMilli, h.CPUs, h.Memory)
}

// onNode checks one node, or a part of it: invariants 5, 15, 17 and 18.
func (g *grants) onNode(j *job, n model.NodeID, share *model.NodeShare, borrowed bool, had *job) {
	x, site := &g.ledger.nodes[n], &g.site.Nodes[n]
	over := ""
	if share != nil {
		over = g.ledger.amounts.beyond(share, site, x.taken)
	}
	if x.whole != nil || share == nil && x.jobs > 0 || over != "" {
		holder := "others"
		if x.whole != nil {
			holder = fmt.Sprintf("job %d", x.whole.ID)
		}
		g.fail(5, j, strings.TrimSpace(over+fmt.Sprintf(" of node %s, which %s hold", site.Name, holder)), "what no job holds of nodes")
	}
	if x.state != model.Ready && !holds(&had.held, n) {
		g.fail(15, j, "node "+site.Name+", which is "+x.state.String(), "nodes that are READY")
	}
	where := ""
	switch c := &g.site.Constraints[j.Constraint]; {
	case !c.Holds(n, site):
		where = "its constraints"
	case j.Partition >= 0 && !g.site.Partitions[j.Partition].Nodes.Has(n):
		where = "its partition " + g.site.Partitions[j.Partition].Name
	case j.Reservation >= 0 && !g.site.Reservations[j.Reservation].Nodes.Has(n):
		where = "its reservation " + g.site.Reservations[j.Reservation].Name
	}
	if where != "" {
		g.fail(17, j, "node "+site.Name, "nodes of "+where)
	}
	if site.Home < 0 || site.Home == j.VCluster {
		return
	}
	if !borrowed || !g.site.VClusters[j.VCluster].Borrow || !g.site.VClusters[site.Home].Lend || !j.Preemptible() {
		g.fail(18, j, "node "+site.Name+" at home in vCluster "+g.site.VClusters[site.Home].Name,
			"nodes of its own vCluster or of none, or idle ones of a lender for preemptible work of a borrower")
	}
}

// conform checks invariant 20.
func (g *grants) conform(j *job, had *job) {
	print := int32(-2)
	for n := range each(&j.held) {
		f := g.site.Nodes[n].Fingerprint
		if f < 0 || print != -2 && f != print {
			g.fail(20, j, fmt.Sprintf("node %s of fingerprint %d for sensitive work", g.site.Nodes[n].Name, f), "nodes of one known fingerprint")
			break
		}
		print = f
	}
	if pool := g.ledger.pool; pool > 0 && j.nodes > had.nodes && g.ledger.sensitive+j.nodes > pool {
		g.fail(20, j, fmt.Sprintf("%d nodes of sensitive work", g.ledger.sensitive+j.nodes), fmt.Sprintf("at most %d", pool))
	}
}

// lending checks invariant 19 for the lenders of j, which is booked.
func (g *grants) lending(j *job) {
	for v := range g.ledger.lent {
		if most := g.site.VClusters[v].Lendable(g.ledger.homes[v]); g.ledger.lent[v] > most {
			for n := range each(&j.held) {
				if g.site.Nodes[n].Home == model.VClusterID(v) && j.VCluster != model.VClusterID(v) {
					g.fail(19, j, fmt.Sprintf("%d nodes lent by vCluster %s", g.ledger.lent[v], g.site.VClusters[v].Name), fmt.Sprintf("at most %d", most))
					break
				}
			}
		}
	}
}

// limits checks what bounds the start of a job beside its nodes: invariants 21 to 24.
func (g *grants) limits(j *job, had *job) {
	if had.nodes == 0 || j.nodes > had.nodes || j.milli > had.milli {
		if number, found, expected := g.ledger.bound(j, j.nodes, had, false); number > 0 {
			g.fail(number, j, found, expected)
		}
	}
	for _, b := range []struct {
		name, unit   string
		budget       *budget
		request, had int64
		beside       int64
	}{{"power", "W", &g.ledger.power, j.power, had.power, g.ledger.idleBeside(j)}, {"storage bandwidth", "B/s", &g.ledger.bandwidth, j.io, had.io, 0}} {
		if b.budget.cap > 0 && b.request > b.had && b.budget.used+b.beside+b.request > b.budget.cap {
			g.fail(24, j, fmt.Sprintf("%s of %d %s", b.name, b.budget.used+b.beside+b.request, b.unit), fmt.Sprintf("at most %d", b.budget.cap))
		}
	}
}

// resized checks that a running job changes its nodes as was proposed.
func (g *grants) resized(j *job, f *model.Fact) {
	x := g.flights.flight(f)
	switch {
	case x == nil || x.kind != model.ProposeResize || x.job != j || j.state != model.Running:
		g.fail(6, j, fmt.Sprintf("other nodes by proposal %d", f.Seq), "a proposal to resize it while it runs")
		x = &flight{}
	case f.Placement == nil || !same(f.Placement, &x.placement):
		g.fail(6, j, "other nodes than proposed", "the nodes proposed")
	}
	g.accounts.settle(j)
	g.accounts.accrue(j)
	g.ledger.take(j, -1)
	had := *j
	g.grant(j, f.Placement, x.borrowed, &had)
}

// stops notes that j runs no longer; invariants 2 and 7.
func (g *grants) stops(j *job) {
	if j.state != model.Running && j.state != model.Checkpointing {
		g.fail(3, j, "an end while it is "+j.state.String(), "that it runs")
		return
	}
	if j.resize != nil {
		g.flights.lands(j.resize)
	}
	if span := g.now.Sub(j.start); !g.cfg.Overrun && !j.preempted && j.left < model.Forever-g.cfg.Slack && span > j.left+g.cfg.Slack {
		g.fail(7, j, "it ran for "+span.String(), "at most "+(j.left+g.cfg.Slack).String())
	}
	if g.cfg.Records && j.ended != g.now {
		g.fail(2, j, "no record of its attempt", "one that ends now")
	}
	g.accounts.settle(j)
	g.accounts.accrue(j)
	g.ledger.take(j, -1)
	g.system.stop(j)
	j.held, j.nodes, j.milli, j.power, j.io, j.preempted = model.Placement{}, 0, 0, 0, 0, false
}
