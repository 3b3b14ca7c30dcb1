package watch

import (
	"cmp"
	"math/big"
	"math/bits"

	"orrery/scheduler/model"
)

// Order is what the queue of a vCluster is ordered by, as far as it can be told from the log alone. Partition tiers
// come before it and ids behind it.
type Order uint8

const (
	orderUnknown Order = iota // scores, priorities, and orders with logarithms and roots
	fcfs                      // by submission
	sjf                       // shortest request first
	ljf                       // longest request first
	saf                       // smallest request x units first
	sqf                       // fewest units first
	wfp3                      // largest (wait / request)^3 x units first
	expansion                 // largest (wait + request) / request first
)

// OrderOf is the order of a name, orderUnknown for those that cannot be told.
func OrderOf(name string) Order {
	for o, n := range [...]string{fcfs: "fcfs", sjf: "sjf", ljf: "ljf", saf: "saf", sqf: "sqf", wfp3: "wfp3", expansion: "expansion"} {
		if n == name && n != "" {
			return Order(o)
		}
	}
	return orderUnknown
}

func (o Order) known() bool { return o != orderUnknown }

// longest is the request that those beyond it count as in an order.
const longest = 1 << 50

// ranking is the order of queues, and what of it depends on which nodes a job may use.
type ranking struct{ *base }

// before says whether a comes before b in the queue of their vCluster now.
func (r *ranking) before(a, b *job) bool {
	c := cmp.Compare(r.tier(b), r.tier(a))
	if o := r.cfg.Policies[a.VCluster].Order; c == 0 {
		c = r.compare(o, a, b)
	}
	return cmp.Or(c, cmp.Compare(a.Job, b.Job)) < 0
}

func (r *ranking) tier(j *job) int32 {
	if j.Partition < 0 {
		return 0
	}
	return r.site.Partitions[j.Partition].Tier
}

// tiered says whether partitions have tiers.
func (r *ranking) tiered() bool {
	for i := range r.site.Partitions {
		if r.site.Partitions[i].Tier != 0 {
			return true
		}
	}
	return false
}

func (r *ranking) compare(o Order, a, b *job) int {
	ra, rb := asked(a), asked(b)
	na, nb := r.units(a), r.units(b)
	wa, wb := uint64(r.now-a.Submit), uint64(r.now-b.Submit)
	switch o {
	case fcfs:
		return cmp.Compare(a.Submit, b.Submit)
	case sjf:
		return cmp.Compare(ra, rb)
	case ljf:
		return cmp.Compare(rb, ra)
	case saf:
		return compareProducts(ra, na, rb, nb)
	case sqf:
		return cmp.Compare(na, nb)
	case wfp3:
		return cube(wb, ra, nb).Cmp(cube(wa, rb, na))
	case expansion:
		return compareProducts(wb+rb, ra, wa+ra, rb)
	}
	return 0
}

func asked(j *job) uint64 { return uint64(min(max(j.left, 1), longest)) }

// compareProducts compares a x b with c x d.
func compareProducts(a, b, c, d uint64) int {
	hi, lo := bits.Mul64(a, b)
	top, low := bits.Mul64(c, d)
	return cmp.Or(cmp.Compare(hi, top), cmp.Compare(lo, low))
}

// cube is (a x b)^3 x n.
func cube(a, b, n uint64) *big.Int {
	x := new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
	y := new(big.Int).Mul(x, x)
	return y.Mul(y, x).Mul(y, new(big.Int).SetUint64(n))
}

// units is the GPUs that j asks for, one that it takes a part of whole: of whole nodes those of the largest that it
// may use, at least one each.
func (r *ranking) units(j *job) uint64 {
	if j.units == 0 {
		per := max(1, j.Cards())
		for i := range r.site.Nodes {
			if !j.Divides() && r.own(j).Has(model.NodeID(i)) {
				per = max(per, r.site.Nodes[i].GPUs)
			}
		}
		j.units = uint64(per) * uint64(j.NodesMin)
	}
	return j.units
}

// own is the nodes that j may ever use without borrowing.
func (r *ranking) own(j *job) model.NodeSet {
	if j.own != nil {
		return j.own
	}
	j.own = model.NewNodeSet(len(r.site.Nodes))
	for i := range r.site.Nodes {
		n, node := model.NodeID(i), &r.site.Nodes[i]
		if (node.Home < 0 || node.Home == j.VCluster) && r.site.Constraints[j.Constraint].Holds(n, node) &&
			(j.Partition < 0 || r.site.Partitions[j.Partition].Nodes.Has(n)) &&
			(j.Reservation < 0 || r.site.Reservations[j.Reservation].Nodes.Has(n)) {
			j.own.Add(n)
		}
	}
	return j.own
}
