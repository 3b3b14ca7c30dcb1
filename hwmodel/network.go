package hwmodel

import (
	"cmp"
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// Links appends to dst what j sends over the uplinks of its groups in p, ascending by group:
// nothing where p is within one group, or where the class of j does not say what it sends.
// Groups of which the uplink is not known are left out, and so are parts of nodes without
// GPUs. Cost: the nodes of p, and to sort its groups where nodes of one do not follow each
// other.
func (m *Model) Links(j *Job, p *model.Placement, dst []Link) []Link {
	c := m.class(j)
	if c == nil || c.Network.Bandwidth == 0 || !m.Terms.Has(ByContention) {
		return dst
	}
	first := len(dst)
	add := func(group int32, milli int64) {
		if last := len(dst) - 1; last >= first && dst[last].Group == group {
			dst[last].Load += milli
			return
		}
		dst = append(dst, Link{Group: group, Load: milli})
	}
	for _, word := range p.Words {
		for mask := word.Mask; mask != 0; mask &= mask - 1 {
			n := word.Word<<6 + int32(bits.TrailingZeros64(mask))
			cards := m.NodeGPUs[n]
			if j.Cards > 0 {
				cards = min(cards, j.Cards)
			}
			add(m.NodeGroup[n], int64(max(cards, 1))*model.WholeGPU)
		}
	}
	for i := range p.Shares {
		add(m.NodeGroup[p.Shares[i].Node], p.Shares[i].Thousandths())
	}
	links := merged(dst[first:])
	if len(links) < 2 {
		return dst[:first]
	}
	sent := first
	for _, l := range links {
		if l.Uplink = m.uplink(l.Group); l.Uplink == 0 || l.Load == 0 {
			continue
		}
		l.Load = model.MulDiv(c.Network.Bandwidth, l.Load, model.WholeGPU)
		dst[sent] = l
		sent++
	}
	return dst[:sent]
}

// merged has one link for each group, ascending.
func merged(links []Link) []Link {
	byGroup := func(a, b Link) int { return cmp.Compare(a.Group, b.Group) }
	if !slices.IsSortedFunc(links, byGroup) {
		slices.SortFunc(links, byGroup) //detlint:total loads of one group are added up
	}
	n := 0
	for i, l := range links {
		if i > 0 && links[n-1].Group == l.Group {
			links[n-1].Load += l.Load
			continue
		}
		links[n] = l
		n++
	}
	return links[:n]
}

// uplink is what the link of a group carries, 0 where that is not known.
func (m *Model) uplink(group int32) int64 {
	if uint(group) >= uint(len(m.Uplinks)) {
		return 0
	}
	return m.Uplinks[group]
}

// byContention is the time of a step without other jobs by that with them, where
// communication takes times as long: 1 ÷ (1 - share + share · times). Within one group it is
// 1 whatever the class.
func (m *Model) byContention(c *Class, j *Job, w *Where, times model.Fixed) (model.Fixed, bool) {
	switch {
	case w.Groups <= 1:
		return model.One, true
	case c == nil || c.Network.Bandwidth == 0 || !w.Linked:
		return model.One, false
	case times <= model.One:
		return model.One, true
	}
	share := m.valueOf(c, j, c.Network.Share, 2<<32)
	return model.Ratio(int64(model.One), int64(model.One+share.Mul(times-model.One))), true
}
