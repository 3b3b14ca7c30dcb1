package lattice

import "math"

// Lending is what one vCluster can lend to another.
type Lending struct {
	Total, Idle int64   // nodes of the lender
	Share       float64 // of all its nodes that it lends at most; default 0.2
	Lends       bool    // the lender lends
	Borrows     bool    // the borrower borrows
}

// Grant is how many of the nodes asked for the broker grants: all of them or none.
func (l Lending) Grant(nodes int64) int64 {
	most := int64(math.Floor(float64(float64(l.Total) * l.Share)))
	if !l.Lends || !l.Borrows || nodes > l.Idle || nodes > most {
		return 0
	}
	return nodes
}
