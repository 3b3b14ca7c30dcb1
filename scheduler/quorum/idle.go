package quorum

import (
	"math/bits"

	"orrery/scheduler/model"
)

// idleNodes is what the nodes draw that no job holds, where that counts against the cap on power:
// those that are not down, each its idle power. It is empty where it does not.
type idleNodes struct {
	site    *model.Site
	classes *model.NodeClasses
	up      model.NodeSet
	free    model.NodeSet // no job holds anything of these
	watts   int64         // of up and free
}

func newIdleNodes(site *model.Site, classes *model.NodeClasses) (d idleNodes) {
	if !site.CountIdle {
		return d
	}
	d = idleNodes{site: site, classes: classes, up: model.NewNodeSet(len(site.Nodes)), free: model.NewNodeSet(len(site.Nodes))}
	for i := range site.Nodes {
		d.free.Add(model.NodeID(i))
		d.setUp(model.NodeID(i), site.Nodes[i].State != model.Down, false)
	}
	return d
}

// setUp takes in that node n draws power from now on, or is down.
func (d *idleNodes) setUp(n model.NodeID, up, busy bool) {
	if d.site == nil || d.up.Has(n) == up {
		return
	}
	by := d.site.Nodes[n].IdlePower
	if up {
		d.up.Add(n)
	} else {
		d.up.Remove(n)
		by = -by
	}
	if !busy {
		d.watts += by
	}
}

// words takes in that a job holds whole nodes, which none held, or with -1 that none does any more.
func (d *idleNodes) words(words []model.NodeWord, by int32) {
	if d.site == nil {
		return
	}
	d.watts -= int64(by) * d.sum(words, ^uint64(0))
	for _, w := range words {
		if d.free[w.Word] &^= w.Mask; by < 0 {
			d.free[w.Word] |= w.Mask
		}
	}
}

// part takes in whether any job holds a part of node n.
func (d *idleNodes) part(n model.NodeID, busy bool) {
	if d.site == nil || d.free.Has(n) != busy {
		return
	}
	by := int64(0)
	if d.up.Has(n) {
		by = d.site.Nodes[n].IdlePower
	}
	if busy {
		d.free.Remove(n)
		d.watts -= by
	} else {
		d.free.Add(n)
		d.watts += by
	}
}

// without is what the idle nodes draw beside those of p.
func (d *idleNodes) without(p *model.Placement) int64 {
	if d.site == nil {
		return 0
	}
	left := d.watts - d.sum(p.Words, 0)
	for i := range p.Shares {
		if n := p.Shares[i].Node; d.up.Has(n) && d.free.Has(n) {
			left -= d.site.Nodes[n].IdlePower
		}
	}
	return left
}

// sum is what the nodes of words draw idle that are up, and that are free or in the mask.
func (d *idleNodes) sum(words []model.NodeWord, held uint64) (watts int64) {
	for _, w := range words {
		on := w.Mask & d.up[w.Word] & (d.free[w.Word] | held)
		for _, c := range d.classes.Word(w.Word) {
			watts += int64(bits.OnesCount64(c.Mask&on)) * d.classes.Of[c.Part].IdlePower
		}
	}
	return watts
}
