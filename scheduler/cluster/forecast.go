package cluster

import "orrery/scheduler/model"

// Forecast is the free capacity of a cluster with shared nodes at some instant
// to come: the view of now, plus what is predicted to be returned, less what
// is predicted to be held. It answers whether a request would fit then.
type Forecast struct {
	free  []int32 // per node
	count []int32 // nodes by free units
	avail int32
}

// Reset copies the present of v. Cost: one word per node.
func (f *Forecast) Reset(v *View) {
	f.free = append(f.free[:0], v.free...)
	f.count = append(f.count[:0], v.count...)
	f.avail = v.avail
}

// Return adds the shares of p.
func (f *Forecast) Return(p *model.Placement) {
	for _, s := range p.Shares {
		f.shift(s.Node, s.Units)
	}
}

// Withdraw subtracts the shares of p.
func (f *Forecast) Withdraw(p *model.Placement) {
	for _, s := range p.Shares {
		f.shift(s.Node, -s.Units)
	}
}

func (f *Forecast) shift(n model.NodeID, d int32) {
	f.count[f.free[n]]--
	f.free[n] += d
	f.count[f.free[n]]++
	f.avail += d
}

// Fits says whether r fits the forecast.
func (f *Forecast) Fits(r model.Request) bool { return fits(r, f.count, f.avail) }

// fits is the test of a request against the nodes counted by free units.
func fits(r model.Request, count []int32, avail int32) bool {
	if r.Layout == model.Anywhere {
		return r.Units <= avail
	}
	n := int32(0)
	for u := int(r.PerNode); u < len(count); u++ {
		n += count[u]
	}
	return n >= r.Nodes
}
