package work

import (
	"math/bits"

	"orrery/scheduler/model"
)

// Pool is a capacity that its members share, such as the bandwidth of a storage system or
// a feed of power: processor sharing. Each member would take some time alone, drawing its
// demand meanwhile. While all demands together exceed the capacity, all go on slower by
// one factor, capacity ÷ demands. Members whose demand is the whole capacity get equal
// parts of it.
//
// One virtual clock runs at that factor, and a member is done when the clock has run for
// the time that it would take alone. So a start or an end touches no other member: it
// costs the logarithm of their number, and one event per pool is enough, at Next. When a
// change has moved Next, events set before are overtaken: e.At != Next() tells them.
//
// The clock is late by less than 2^-32 µs for each change of the members, and ends are
// rounded half up to the µs of real time.
type Pool struct {
	capacity int64
	drawn    amount // demands of all members, in their unit: the sum of many may exceed 64 bits
	clock    amount
	at       model.Time // of the clock
	members  []member   // by Ref
	heap     []model.Ref
}

type member struct {
	done   amount // of the clock
	demand int64
	place  int32 // in the heap, from 1; 0 for none
}

// NewPool is an empty pool. A capacity of 0 lets no member go on.
func NewPool(capacity int64) *Pool { return &Pool{capacity: capacity} }

// Len is the number of members.
func (p *Pool) Len() int { return len(p.heap) }

// settle brings the clock to now.
func (p *Pool) settle(now model.Time) {
	d := now.Sub(p.at)
	p.at = now
	capacity, drawn := p.factor(p.drawn)
	if capacity == drawn {
		p.clock = p.clock.add(micros(d))
		return
	}
	hi, lo := bits.Mul64(uint64(d), capacity)
	whole, rest := bits.Div64(hi, lo, drawn) // at most d
	part, _ := bits.Div64(rest>>32, rest<<32, drawn)
	p.clock = p.clock.add(amount{whole >> 32, whole<<32 | part})
}

// factor is capacity ÷ drawn as a fraction, 1 ÷ 1 where nothing is slowed. Demands beyond 64
// bits are rounded to 63.
func (p *Pool) factor(drawn amount) (num, den uint64) {
	capacity := uint64(max(p.capacity, 0))
	switch {
	case drawn.hi == 0 && drawn.lo <= capacity:
		return 1, 1
	case drawn.hi == 0:
		return capacity, drawn.lo
	}
	shift := bits.Len64(drawn.hi)
	return capacity >> shift, drawn.hi<<(64-shift) | drawn.lo>>shift
}

// SetCapacity changes the capacity.
func (p *Pool) SetCapacity(now model.Time, capacity int64) {
	p.settle(now)
	p.capacity = capacity
}

// Join lets ref, which must not be a member, go on in the pool until it has had what takes
// alone at a draw of demand. Instants must not run back.
func (p *Pool) Join(now model.Time, ref model.Ref, alone model.Duration, demand int64) {
	p.settle(now)
	for int(ref) >= len(p.members) {
		p.members = append(p.members, member{})
	}
	p.drawn = p.drawn.add(amount{0, uint64(demand)})
	p.heap = append(p.heap, ref)
	p.members[ref] = member{p.clock.add(micros(alone)), demand, int32(len(p.heap))}
	p.up(len(p.heap) - 1)
}

// Leave takes a member out before it is done, and says what is left of the time that it
// takes alone, rounded half up to the µs.
func (p *Pool) Leave(now model.Time, ref model.Ref) (left model.Duration) {
	p.settle(now)
	m := &p.members[ref]
	p.remove(int(m.place) - 1)
	p.drawn = p.drawn.sub(amount{0, uint64(m.demand)})
	return m.done.sub(p.clock).over(model.One)
}

// Next is when the next member is done if none comes or goes before, Never for none.
func (p *Pool) Next() model.Time {
	if len(p.heap) == 0 {
		return model.Never
	}
	return p.at.Add(p.lasts(p.heap[0], p.drawn))
}

// lasts is how long a member takes from the instant of the clock on, while drawn is drawn.
func (p *Pool) lasts(ref model.Ref, drawn amount) model.Duration {
	left := p.members[ref].done.sub(p.clock)
	switch num, den := p.factor(drawn); {
	case num == den, left == amount{}:
		return left.over(model.One)
	case num == 0:
		return model.Forever
	default:
		return left.times(den, num)
	}
}

// Take takes out the members that are done by now, and appends them to dst: first done
// first, those of one instant of the clock by ref. It is to be called at Next.
func (p *Pool) Take(now model.Time, dst []model.Ref) []model.Ref {
	p.settle(now)
	for drawn := p.drawn; len(p.heap) > 0; {
		ref := p.heap[0]
		if p.lasts(ref, drawn) > 0 {
			break
		}
		dst = append(dst, ref)
		p.remove(0)
		p.drawn = p.drawn.sub(amount{0, uint64(p.members[ref].demand)})
	}
	return dst
}

// before orders members by when they are done.
func (p *Pool) before(a, b model.Ref) bool {
	x, y := p.members[a].done, p.members[b].done
	return x.less(y) || x == y && a < b
}

func (p *Pool) put(i int, ref model.Ref) {
	p.heap[i] = ref
	p.members[ref].place = int32(i) + 1
}

func (p *Pool) up(i int) {
	for ref := p.heap[i]; i > 0 && p.before(ref, p.heap[(i-1)/2]); i = (i - 1) / 2 {
		p.put(i, p.heap[(i-1)/2])
		p.put((i-1)/2, ref)
	}
}

func (p *Pool) down(i int) {
	for {
		least := 2*i + 1
		if least >= len(p.heap) {
			return
		}
		if r := least + 1; r < len(p.heap) && p.before(p.heap[r], p.heap[least]) {
			least = r
		}
		if !p.before(p.heap[least], p.heap[i]) {
			return
		}
		a, b := p.heap[i], p.heap[least]
		p.put(i, b)
		p.put(least, a)
		i = least
	}
}

// remove takes the member at place i of the heap out of it.
func (p *Pool) remove(i int) {
	p.members[p.heap[i]].place = 0
	last := len(p.heap) - 1
	ref := p.heap[last]
	if p.heap = p.heap[:last]; i == last {
		return
	}
	p.put(i, ref)
	p.down(i)
	p.up(i)
}
