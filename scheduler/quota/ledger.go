package quota

import (
	"math"
	"math/bits"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/quota/halflife"
)

// spent is time consumed, in node and GPU microseconds. Each saturates at
// 2^63-1, which is 2.5 billion hours.
type spent struct{ node, gpu int64 }

func (s spent) sub(o spent) spent { return spent{s.node - o.node, s.gpu - o.gpu} }

// account is the ledger of one tenant: what it holds and what it has consumed.
type account struct {
	use         held  // against the limits, in flight included
	nodes, gpus int64 // charged for, as of last
	last        model.Time
	total       spent // since the ledger was opened, up to last
	// turns are the changes of what is charged for that the window or what comes after
	// it depends on, oldest first from old on: one for each bucket that has any.
	turns  []turn
	old    int
	closes model.Time // end of the bucket of the last turn
	next   model.Time // tick to come, where usage decays
	// decayed is node time as of the last tick, and at is total.node then.
	decayed, at int64
	changes     uint64 // of what is charged for, and of the limits
}

// turn says what had been consumed when what is charged for changed, and to what.
type turn struct {
	at          model.Time
	total       spent
	nodes, gpus int64
}

// clock divides time into buckets and ticks.
type clock struct {
	opened bool
	decays bool
	tick   model.Duration
	bucket model.Duration // a multiple of tick
	span   model.Duration // of the buckets in the window
	left   halflife.Factor

	// asked is when begins was last asked, and from its answer: all tenants are
	// looked at as of the same tick.
	asked, from model.Time
}

// buckets bounds the history of a tenant.
const buckets = 4095

// newClock makes buckets of one tick, or of as many as it takes to cover the
// window by 4095 buckets.
func newClock(cfg *Config) clock {
	ticks := ceilDiv(int64(cfg.Window), int64(cfg.Tick))
	bucket := model.Duration(spend(int64(cfg.Tick), ceilDiv(ticks, buckets)))
	return clock{
		decays: cfg.Usage == Decay, tick: cfg.Tick, bucket: bucket,
		span:  model.Duration(spend(int64(bucket), ceilDiv(int64(cfg.Window), int64(bucket)))),
		asked: model.AbsentTime,
		left:  halflife.Left(int64(cfg.Tick), int64(cfg.HalfLife)),
	}
}

func ceilDiv(a, b int64) int64 { return (a-1)/b + 1 }

// open starts the accounts when the first instant is known.
func (b *Ledger) open(now model.Time) {
	if b.clock.opened {
		return
	}
	b.clock.opened = true
	for i := range b.tenants {
		b.clock.begin(&b.tenants[i], now)
	}
	b.clock.begin(&b.site, now)
	b.clock.turn(&b.site, b.site.nodes, b.site.gpus)
}

func (c *clock) begin(a *account, now model.Time) {
	a.last, a.next = now, after(now, c.tick)
}

// after is the first multiple of step later than now, and upTo the last that is not.
func after(now model.Time, step model.Duration) model.Time { return upTo(now, step).Add(step) }

func upTo(now model.Time, step model.Duration) model.Time {
	past := model.Duration(now) % step
	if past < 0 {
		past += step
	}
	return now.Add(-past)
}

// advance charges a up to now, which is not before its last change. Cost: constant, and
// where usage decays that of the ticks on the way.
func (c *clock) advance(a *account, now model.Time) {
	if now <= a.last {
		return
	}
	if c.decays {
		if len(a.turns) == 0 { // nothing was ever held: nothing decays
			c.begin(a, now)
			return
		}
		for ; a.next <= now; a.next = a.next.Add(c.tick) {
			a.flow(a.next)
			a.decayed = c.left.Of(a.decayed) + a.total.node - a.at
			a.at = a.total.node
		}
	}
	a.flow(now)
}

// turn charges a for so much from a.last on. The turn before it in the same bucket is of
// no interest any more: totals are asked for at the ends of buckets only.
func (c *clock) turn(a *account, nodes, gpus int64) {
	a.nodes, a.gpus = nodes, gpus
	if n := len(a.turns); n > a.old && a.last < a.closes {
		a.turns[n-1] = turn{a.last, a.total, nodes, gpus}
		return
	}
	a.closes = after(a.last, c.bucket)
	if len(a.turns) == cap(a.turns) {
		c.forget(a)
		n := copy(a.turns, a.turns[a.old:])
		a.turns, a.old = slices.Grow(a.turns[:n], n), 0 // at most half full
	}
	a.turns = append(a.turns, turn{a.last, a.total, nodes, gpus})
}

// begins is where the window begins at now: the buckets that it touches count whole.
func (c *clock) begins(now model.Time) model.Time {
	if now != c.asked {
		c.asked, c.from = now, upTo(now, c.bucket).Add(-c.span)
	}
	return c.from
}

// forget passes over the turns that the window does not depend on any more, and returns
// where it begins.
func (c *clock) forget(a *account) model.Time {
	from := c.begins(a.last)
	for a.old+1 < len(a.turns) && a.turns[a.old+1].at <= from {
		a.old++
	}
	return from
}

// atMost is the sum, saturating.
func atMost(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxInt64
}

func (a *account) flow(to model.Time) {
	a.total.node = later(a.total.node, a.nodes, to.Sub(a.last))
	a.total.gpu = later(a.total.gpu, a.gpus, to.Sub(a.last))
	a.last = to
}

// later is total after d at this rate.
func later(total, rate int64, d model.Duration) int64 {
	return atMost(total, spend(rate, int64(d)))
}

// spend is a*b for a, b >= 0, saturating.
func spend(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

// window is what a has consumed within the window, as of its last charge: the
// buckets that the window touches, whole.
func (c *clock) window(a *account) spent {
	if len(a.turns) == 0 {
		return spent{}
	}
	from := c.forget(a)
	t := &a.turns[a.old]
	if t.at > from {
		return a.total // all of it
	}
	d := from.Sub(t.at)
	return a.total.sub(spent{later(t.total.node, t.nodes, d), later(t.total.gpu, t.gpus, d)})
}

// recent is the node time of a with older time decayed, as of its last charge.
func (a *account) recent() int64 { return a.decayed + a.total.node - a.at }

// Consumed is what tenant t has consumed since the ledger was opened, all
// attempts together, in node time and GPU time up to now, which is not before
// its last change. It never falls. -1 is all work without a tenant.
func (b *Ledger) Consumed(t model.TenantID, now model.Time) (node, gpu model.Duration) {
	return b.tenants[b.index(t)].until(now)
}

func (a *account) until(now model.Time) (node, gpu model.Duration) {
	d := max(0, now.Sub(a.last))
	return model.Duration(later(a.total.node, a.nodes, d)), model.Duration(later(a.total.gpu, a.gpus, d))
}
