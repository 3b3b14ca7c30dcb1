package losers

// Group is a group by one dimension or two, and its cells by their place in Names.
type Group struct {
	Loser
	Cells []int32
}

// Groups are all groups.
func Groups(now, then []Cell) (out []Group) {
	for _, g := range groupsOf(pairs(now, then), 2) {
		out = append(out, Group{g.Loser, g.cells})
	}
	return out
}

// Paired are the cells of both runs by their place, and one of no jobs where a run has none.
func Paired(now, then []Cell) (a, b []Cell) {
	for _, p := range pairs(now, then) {
		for _, c := range []*Cell{&p.now, &p.then} {
			c.User, c.Tenant, c.Partition, c.VCluster, c.Runtime, c.Size = p.names.User, p.names.Tenant, p.names.Partition, p.names.VCluster, p.names.Runtime, p.names.Size
		}
		a, b = append(a, p.now), append(b, p.then)
	}
	return a, b
}
