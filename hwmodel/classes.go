package hwmodel

import (
	"math/bits"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
)

// Class is what is known of a class of work. Whatever is left out is not known.
type Class struct {
	Name string
	// Throughput by GPU model, in any unit that all of them share. The zero Factor is not
	// known.
	Throughput []Factor
	Steps      []Step    // ascending by Nodes, then by PerNode
	Caps       []CapStep // ascending by Draw, which is below One
	// Clocks are what a lock of the clocks costs, by GPU model; a card answers it in its own way.
	Clocks  [][]ClockStep
	Power   []Watts // of one GPU at work, by GPU model; a Value of 0 is not known
	Bytes   Bytes
	Network Communication
	// Spread draws a value from the range of each factor for each job; else it is the middle.
	Spread bool
}

// Factor is a positive number with a range: 10 % of jobs lie below Low and 10 % above
// High, and Value is the median.
type Factor struct{ Low, Value, High model.Fixed }

// Known says whether f is.
func (f Factor) Known() bool { return f.Value > 0 }

// Step is the time of a step on so many nodes or more, relative to one row of the table
// that is taken as 1.
type Step struct {
	Nodes   int32 // from which the row holds, 1 or more
	PerNode int32 // GPUs on the fullest node, from which it holds; 0 for any
	Groups  int32 // network groups from which it holds; 0 for any
	Time    Factor
}

// Communication is how a class uses the network between groups.
type Communication struct {
	// Share is the part of a step, from 0 to One, that waits for communication on a placement
	// over several groups while no other job uses their uplinks.
	Share Factor
	// Bandwidth is what one GPU, or a node without GPUs, sends out of its group meanwhile,
	// B/s; 0 is that nothing of it is known.
	Bandwidth int64
}

// GPU is what a kind of GPU draws.
type GPU struct {
	Name  string
	Idle  Power       // without work
	Held  Power       // while a job holds its memory and does no work
	Limit int64       // W that it is held to, 0 for none beyond what classes were measured at
	Clock model.Fixed // to which its clock is locked, as a part of that without a lock; 0 and One are no lock
}

// Model is hardware that has consequences.
type Model struct {
	GPUs    []GPU
	Classes []Class
	Terms   Terms // that are switched on
	Seed    uint64
	// NodeGPU, NodeGPUs and NodeGroup are the GPU model (-1 for none), the number of GPUs and
	// the network group of each node.
	NodeGPU, NodeGPUs, NodeGroup []int32
	// Uplinks are what the links of the groups to the rest of the network carry, B/s; 0 is not
	// known. There may be fewer than groups.
	Uplinks []int64
}

var spreadStream = draw.StreamOf("spread of a class of work")

// Place sums up in w what j has in p. Cost: the nodes of p.
func (m *Model) Place(j *Job, p *model.Placement, w *Where) {
	*w = Where{Linked: true, Idle: Power{Known: true}, Held: Power{Known: true}, Active: Power{Known: true}}
	c, groups := m.class(j), groupSet{}
	for _, word := range p.Words {
		for mask := word.Mask; mask != 0; mask &= mask - 1 {
			n := word.Word<<6 + int32(bits.TrailingZeros64(mask))
			cards := m.NodeGPUs[n]
			if j.Cards > 0 {
				cards = min(cards, j.Cards)
			}
			m.add(c, w, &groups, n, cards, int64(cards)*model.WholeGPU)
		}
	}
	for i := range p.Shares {
		h := &p.Shares[i]
		m.add(c, w, &groups, int32(h.Node), h.Cards(), h.Thousandths())
		w.Linked = w.Linked && h.Thousandths() > 0
	}
	w.Groups = groups.n
	if w.Clock == unlocked {
		w.Clock = Locked{}
	}
}

// add adds cards of a node, so many thousandths of GPUs in all.
func (m *Model) add(c *Class, w *Where, groups *groupSet, node, cards int32, milli int64) {
	w.Nodes++
	w.Fullest = max(w.Fullest, cards)
	groups.add(m.NodeGroup[node])
	w.Linked = w.Linked && m.uplink(m.NodeGroup[node]) > 0
	if cards == 0 {
		return
	}
	w.Milli += milli
	k := m.NodeGPU[node]
	if k < 0 {
		w.Idle.Known, w.Held.Known, w.Active.Known = false, false, false
		return
	}
	g := &m.GPUs[k]
	w.Models |= 1 << k
	w.Idle.add(g.Idle, milli)
	w.Held.add(g.Held, milli)
	active := Power{}
	if c != nil && int(k) < len(c.Power) && c.Power[k].Value > 0 {
		active = Power{c.Power[k], true}
	}
	w.Active.add(active, milli)
	if g.Limit > 0 && (w.Limit == 0 || g.Limit < w.Limit) {
		w.Limit = g.Limit
	}
	w.Clock.and(m.locked(c, k))
}

// add adds thousandths of a GPU that draws q.
func (p *Power) add(q Power, milli int64) {
	p.Watts = p.Plus(q.Scaled(milli, model.WholeGPU))
	p.Known = p.Known && q.Known
}

// groupSet counts distinct groups. Most jobs have few, and nodes of one group follow each
// other.
type groupSet struct {
	n    int32
	last int32
	seen [64]uint64
}

func (g *groupSet) add(group int32) {
	if g.n > 0 && group == g.last {
		return
	}
	g.last = group
	if word, bit := &g.seen[group>>6&63], uint64(1)<<(group&63); *word&bit == 0 {
		*word |= bit
		g.n++
	}
}

// class is that of a job, nil for none.
func (m *Model) class(j *Job) *Class {
	if j.Class <= 0 {
		return nil
	}
	return &m.Classes[j.Class-1]
}

// Speed is how fast the work of j runs on w, relative to its record, within limits.
func (m *Model) Speed(j *Job, w *Where, within Limits) Speed {
	s := AsRecorded()
	c := m.class(j)
	for t := range NumTerms {
		if !m.Terms.Has(t) {
			continue
		}
		f, known := m.by(t, c, j, w, within)
		if !known {
			s.Unknown = s.Unknown.With(t)
		}
		s.By[t] = f
	}
	return s
}

// by is one term; model.One where it is not known.
func (m *Model) by(t Term, c *Class, j *Job, w *Where, within Limits) (f model.Fixed, known bool) {
	switch t {
	case ByType:
		return m.byType(c, j, w)
	case ByPlacement:
		return m.byPlacement(c, j, w)
	case ByContention:
		return m.byContention(c, j, w, within.Network)
	}
	_, f, known = m.holds(c, w, within.Cap)
	return f, known
}

// byType is the throughput on the slowest GPU that j has, by that on the slowest of its
// record. Where both are of the same models it is 1 whatever the class.
func (m *Model) byType(c *Class, j *Job, w *Where) (model.Fixed, bool) {
	then := j.Recorded.Models
	if w.Models == 0 && w.Nodes > 0 && w.Milli == 0 { // work without GPUs has no type of them
		return model.One, true
	}
	if then == w.Models && then != 0 {
		return model.One, true
	}
	if c == nil || then == 0 || w.Models == 0 {
		return model.One, false
	}
	here, ok := m.slowest(c, j, w.Models)
	recorded, known := m.slowest(c, j, then)
	if !ok || !known {
		return model.One, false
	}
	return model.Ratio(int64(here), int64(recorded)), true
}

// slowest is the least throughput on a set of models.
func (m *Model) slowest(c *Class, j *Job, models uint64) (least model.Fixed, ok bool) {
	for ; models != 0; models &= models - 1 {
		k := bits.TrailingZeros64(models)
		if k >= len(c.Throughput) || !c.Throughput[k].Known() {
			return 0, false
		}
		if v := m.valueOf(c, j, c.Throughput[k], uint64(k)); least == 0 || v < least {
			least = v
		}
	}
	return least, true
}

// byPlacement is the time of a step where j ran by that where it is. A row of the table that
// asks for a number of GPUs or of groups cannot be told for a record that does not say it.
func (m *Model) byPlacement(c *Class, j *Job, w *Where) (model.Fixed, bool) {
	then := &j.Recorded
	if c == nil || then.Nodes == 0 {
		return model.One, false
	}
	for i := range c.Steps {
		if r := &c.Steps[i]; r.PerNode > 0 && then.Fullest == 0 || r.Groups > 0 && then.Groups == 0 {
			return model.One, false
		}
	}
	if then.Nodes == w.Nodes && (then.Fullest == w.Fullest || then.Fullest == 0) && (then.Groups == w.Groups || then.Groups == 0) {
		return model.One, true
	}
	here, ok := m.step(c, j, w)
	recorded, known := m.step(c, j, then)
	if !ok || !known {
		return model.One, false
	}
	return model.Ratio(int64(recorded), int64(here)), true
}

// step is the time of a step on w: the last row that holds there.
func (m *Model) step(c *Class, j *Job, w *Where) (model.Fixed, bool) {
	last := -1
	for i := range c.Steps {
		r := &c.Steps[i]
		if r.Nodes <= w.Nodes && r.PerNode <= w.Fullest && r.Groups <= w.Groups {
			last = i
		}
	}
	if last < 0 {
		return 0, false
	}
	return m.valueOf(c, j, c.Steps[last].Time, 1<<32|uint64(last)), true
}

// Least is the deepest cap by the site, as a part of what j draws, at which its throughput
// is known; One where none is.
func (m *Model) Least(j *Job) model.Fixed {
	if c := m.class(j); c != nil && len(c.Caps) > 0 && m.Terms.Has(ByCap) {
		return c.Caps[0].Draw
	}
	return model.One
}

// Bytes are those of the class of j.
func (m *Model) Bytes(j *Job) Bytes {
	if c := m.class(j); c != nil {
		return c.Bytes
	}
	return Bytes{}
}

// valueOf is the value of a factor for a job: the median, or drawn from its range by seed,
// job and what, so that a job meets the same wherever it runs. The quantiles from 10 to
// 90 % lie on lines from Low to Value to High; what is drawn beyond them is the end of the
// range.
func (m *Model) valueOf(c *Class, j *Job, f Factor, what uint64) model.Fixed {
	if !c.Spread || f.Low == f.High {
		return f.Value
	}
	src := draw.New(m.Seed, spreadStream, uint64(j.Key), what)
	const ten, half = int64(model.One) / 10, int64(model.One) / 2
	switch u := src.IntN(int64(model.One)); {
	case u <= ten:
		return f.Low
	case u <= half:
		return f.Low + model.Ratio(u-ten, half-ten).Mul(f.Value-f.Low)
	case u < int64(model.One)-ten:
		return f.Value + model.Ratio(u-half, half-ten).Mul(f.High-f.Value)
	}
	return f.High
}
