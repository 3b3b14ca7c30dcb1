package quota

import (
	"math"
	"math/bits"

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
	next        model.Time // mark to come
	total       spent      // since the books were opened, up to last
	// ring holds total as it was at the last marks of buckets, the newest at
	// head; empty for who has never held anything.
	ring []spent
	head int
	// decayed is node time as of the last tick, and at is total.node then.
	decayed, at int64
}

// clock divides time into buckets and ticks.
type clock struct {
	opened    bool
	decays    bool
	tick      model.Duration
	bucket    model.Duration // a multiple of tick
	keeps     int            // buckets in the window
	perBucket int64          // ticks in a bucket
	left      halflife.Factor
}

// buckets bounds the history of a tenant.
const buckets = 4095

// newClock makes buckets of one tick, or of as many as it takes to cover the
// window by 4095 buckets.
func newClock(cfg *Config) clock {
	ticks := ceilDiv(int64(cfg.Window), int64(cfg.Tick))
	per := ceilDiv(ticks, buckets)
	bucket := model.Duration(spend(int64(cfg.Tick), per))
	return clock{
		decays: cfg.Usage == Decay, tick: cfg.Tick, bucket: bucket, perBucket: per,
		keeps: int(ceilDiv(int64(cfg.Window), int64(bucket))),
		left:  halflife.Left(int64(cfg.Tick), int64(cfg.HalfLife)),
	}
}

func ceilDiv(a, b int64) int64 { return (a-1)/b + 1 }

// step is the distance of marks.
func (c *clock) step() model.Duration {
	if c.decays {
		return c.tick
	}
	return c.bucket
}

// open starts the accounts when the first instant is known.
func (b *Book) open(now model.Time) {
	if b.clock.opened {
		return
	}
	b.clock.opened = true
	for i := range b.tenants {
		b.clock.begin(&b.tenants[i], now)
	}
	b.clock.begin(&b.site, now)
	b.clock.keep(&b.site)
}

func (c *clock) begin(a *account, now model.Time) {
	a.last, a.next = now, after(now, c.step())
}

// keep gives a its history.
func (c *clock) keep(a *account) {
	if len(a.ring) == 0 {
		a.ring = make([]spent, c.keeps+1)
	}
}

// after is the first multiple of step later than now.
func after(now model.Time, step model.Duration) model.Time {
	past := model.Duration(now) % step
	if past < 0 {
		past += step
	}
	return now.Add(step - past)
}

// advance charges a up to now, which is not before its last change; marks are
// left at every tick on the way.
func (c *clock) advance(a *account, now model.Time) {
	if now <= a.last {
		return
	}
	if len(a.ring) == 0 {
		c.begin(a, now)
		return
	}
	if a.next <= now {
		a.flow(a.next)
		c.mark(a)
		if !c.decays {
			c.markOn(a, now)
		}
		for a.next <= now {
			a.flow(a.next)
			c.mark(a)
		}
	}
	a.flow(now)
}

// markOn leaves the marks of whole buckets up to now, from a mark on.
func (c *clock) markOn(a *account, now model.Time) {
	each := spent{spend(a.nodes, int64(c.bucket)), spend(a.gpus, int64(c.bucket))}
	for a.next <= now {
		a.total = spent{atMost(a.total.node, each.node), atMost(a.total.gpu, each.gpu)}
		a.push()
		a.last, a.next = a.next, a.next.Add(c.bucket)
	}
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

// mark notes the state of a at a.next, where it stands.
func (c *clock) mark(a *account) {
	if c.decays {
		a.decayed = c.left.Of(a.decayed) + a.total.node - a.at
		a.at = a.total.node
	}
	if !c.decays || int64(a.next)/int64(c.tick)%c.perBucket == 0 {
		a.push()
	}
	a.next = a.next.Add(c.step())
}

// push remembers the total at the end of a bucket.
func (a *account) push() {
	if a.head++; a.head == len(a.ring) {
		a.head = 0
	}
	a.ring[a.head] = a.total
}

// window is what a has consumed within the window, as of its last charge: the
// buckets that the window touches, whole.
func (a *account) window() spent {
	if len(a.ring) == 0 {
		return spent{}
	}
	oldest := a.head + 1
	if oldest == len(a.ring) {
		oldest = 0
	}
	return a.total.sub(a.ring[oldest])
}

// recent is the node time of a with older time decayed, as of its last charge.
func (a *account) recent() int64 { return a.decayed + a.total.node - a.at }

func (a *account) copyFrom(src *account) {
	ring := append(a.ring[:0], src.ring...)
	*a = *src
	a.ring = ring
}

// Consumed is what tenant t has consumed since the books were opened, all
// attempts together, in node time and GPU time up to now, which is not before
// its last change. It never falls. -1 is all work without a tenant.
func (b *Book) Consumed(t model.TenantID, now model.Time) (node, gpu model.Duration) {
	return b.tenants[b.index(t)].until(now)
}

// Capacity is what a tenant would have consumed that held the whole site since
// the books were opened.
func (b *Book) Capacity(now model.Time) (node, gpu model.Duration) {
	if !b.clock.opened {
		return 0, 0
	}
	return b.site.until(now)
}

func (a *account) until(now model.Time) (node, gpu model.Duration) {
	d := max(0, now.Sub(a.last))
	return model.Duration(later(a.total.node, a.nodes, d)), model.Duration(later(a.total.gpu, a.gpus, d))
}
