package workflow

import "orrery/scheduler/model"

// recordOf is the record of a job, made when there is none.
func (g *Graph) recordOf(job model.JobID) int32 {
	if p, ok := g.byJob[job]; ok {
		return p
	}
	var p int32
	if n := len(g.spare); n > 0 {
		p, g.spare = g.spare[n-1], g.spare[:n-1]
	} else {
		p = int32(len(g.records))
		g.records = append(g.records, record{})
	}
	g.records[p] = record{job: job, group: none, edges: none}
	g.byJob[job] = p
	return p
}

// drop puts a record that no job can ask for any more out of use.
func (g *Graph) drop(p int32) {
	delete(g.byJob, g.records[p].job)
	g.spare = append(g.spare, p)
}

// open adds a condition of ref on record p.
func (g *Graph) open(p int32, ref model.Ref, c model.Condition) {
	r, m := &g.records[p], &g.members[ref]
	x := edge{from: p, to: ref, condition: c, next: r.edges, previous: none, sibling: m.edges}
	var e int32
	if n := len(g.unused); n > 0 {
		e, g.unused = g.unused[n-1], g.unused[:n-1]
		g.edges[e] = x
	} else {
		e = int32(len(g.edges))
		g.edges = append(g.edges, x)
	}
	if r.edges != none {
		g.edges[r.edges].previous = e
	}
	r.edges, m.edges = e, e
	m.open++
}

// unlink takes condition e out of the list of its predecessor.
func (g *Graph) unlink(e int32) {
	x := &g.edges[e]
	if x.previous == none {
		g.records[x.from].edges = x.next
	} else {
		g.edges[x.previous].next = x.next
	}
	if x.next != none {
		g.edges[x.next].previous = x.previous
	}
	g.unused = append(g.unused, e)
}

// close takes out one condition of ref.
func (g *Graph) close(e int32, ref model.Ref) {
	m := &g.members[ref]
	at := &m.edges
	for *at != e {
		at = &g.edges[*at].sibling
	}
	*at = g.edges[e].sibling
	m.open--
	g.unlink(e)
}

// closeAll takes out all conditions of ref, and with them what is known of
// jobs that only they expected.
func (g *Graph) closeAll(ref model.Ref) {
	m := &g.members[ref]
	for e := m.edges; e != none; {
		p, sibling := g.edges[e].from, g.edges[e].sibling
		g.unlink(e)
		if r := &g.records[p]; r.stage == expected && r.edges == none {
			g.drop(p)
		}
		e = sibling
	}
	m.edges, m.open = none, 0
}
