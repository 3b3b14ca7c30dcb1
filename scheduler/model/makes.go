package model

import "math/bits"

// Cut divides the nodes of a site into parts, so that what all nodes of a part
// have in common can be looked up once for each word of a node set, and not for
// each node. It does not change and may be shared.
type Cut struct {
	first  []int32 // pieces[first[w]:first[w+1]] are those of word w
	pieces []Piece
}

// Piece is the nodes of one part in one word.
type Piece struct {
	Part int32
	Mask uint64
}

// NewCut puts each of n nodes into the part that of names. Cost: the nodes, and
// in each word the parts that it meets for each node.
func NewCut(n int, of func(NodeID) int32) Cut {
	c := Cut{first: make([]int32, 0, (n+63)/64+1)}
	for id := range NodeID(n) {
		if id&63 == 0 {
			c.first = append(c.first, int32(len(c.pieces)))
		}
		c.add(of(id), 1<<(id&63))
	}
	c.first = append(c.first, int32(len(c.pieces)))
	return c
}

// add puts a node of the last word into a part.
func (c *Cut) add(part int32, bit uint64) {
	for i := len(c.pieces) - 1; i >= int(c.first[len(c.first)-1]); i-- {
		if c.pieces[i].Part == part {
			c.pieces[i].Mask |= bit
			return
		}
	}
	c.pieces = append(c.pieces, Piece{part, bit})
}

// Word is the pieces of word w, for reading only: no two of one part.
func (c *Cut) Word(w int32) []Piece { return c.pieces[c.first[w]:c.first[w+1]] }

// Make is what is reckoned with of a node: who may use it, and what it has and
// draws. See Node for the units.
type Make struct {
	Home      VClusterID
	GPUs      int32
	GPUMemory int64
	Memory    int64
	IdlePower int64
	BusyPower int64
}

// Makes cuts the nodes of a site by make. It does not change and may be shared.
type Makes struct {
	Cut        // its parts index Of
	Of  []Make // in the order in which their first nodes come
	all []int32
}

// NewMakes describes the nodes of site, of which home, GPUs, memory and power
// must not change afterwards. Cost: some look-ups per node.
func NewMakes(site *Site) *Makes {
	m := &Makes{all: make([]int32, len(site.Nodes))}
	index := map[Make]int32{}
	for i := range site.Nodes {
		n := &site.Nodes[i]
		k := Make{n.Home, n.GPUs, n.GPUMemory, n.Memory, n.IdlePower, n.BusyPower}
		part, ok := index[k]
		if !ok {
			part = int32(len(m.Of))
			index[k] = part
			m.Of = append(m.Of, k)
		}
		m.all[i] = part
	}
	m.Cut = NewCut(len(site.Nodes), func(n NodeID) int32 { return m.all[n] })
	return m
}

// Node is the make of node n.
func (m *Makes) Node(n NodeID) *Make { return &m.Of[m.all[n]] }

// Draw is Site.Draw at the cost of the words of p, and of its shares.
func (m *Makes) Draw(a *Allocation, p *Placement) int64 {
	if a.Power > 0 {
		return inProportion(a.Power, p.Nodes(), a.NodesMin)
	}
	sum := m.busy(p.Words)
	for _, h := range p.Shares {
		k := m.Node(h.Node)
		sum += partOfPower(k.BusyPower, h.Units, k.GPUs)
	}
	return sum
}

// busy is what whole nodes draw at work.
func (m *Makes) busy(words []NodeWord) int64 {
	sum := int64(0)
	if len(m.Of) == 1 { // as on most sites
		for _, w := range words {
			sum += int64(bits.OnesCount64(w.Mask))
		}
		return sum * m.Of[0].BusyPower
	}
	for _, w := range words {
		for _, c := range m.Word(w.Word) {
			sum += int64(bits.OnesCount64(c.Mask&w.Mask)) * m.Of[c.Part].BusyPower
		}
	}
	return sum
}
