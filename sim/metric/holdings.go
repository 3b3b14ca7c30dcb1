package metric

import (
	"math"

	"orrery/scheduler/model"
	"orrery/sim/record/column"
)

// SiteConfig is what metrics of a site need to know of it.
type SiteConfig struct {
	VClusters []string // names, by id
	Tenants   []string
	// Targets are the fair shares of the tenants, 0 to 1; 0 and missing ones are
	// none.
	Targets []model.Fixed
	GPUs    int64 // of the site
	// Shared says that jobs share nodes: shares are then of GPU time, since a node
	// counts whole for each job that holds a part of it.
	Shared bool
	// TargetWait is the wait within which jobs of a class should start, by class;
	// 0 and missing ones are none.
	TargetWait []model.Duration
	// WaitLimit is the wait beyond which a job counts as starved; 0 means a day.
	WaitLimit model.Duration
	// Reasons says that Waits and WaitsNoMore will be called.
	Reasons bool
}

// Holding is what the running jobs of a vCluster or a tenant hold now.
type Holding struct {
	Nodes    int64
	GPUs     int64
	Milli    int64 // thousandths of GPUs beside whole ones
	Borrowed int64 // of Nodes, at home in another vCluster
	Lent     int64 // of a vCluster: home nodes that jobs of others hold
	Waiting  int64 // jobs
}

// gpuTime is the GPU time that h comes to in d, rounded down.
func (h *Holding) gpuTime(d model.Duration) int64 {
	if h.Milli == 0 {
		return d.Of(h.GPUs)
	}
	return model.Plus(d.Of(h.GPUs), d.Of(h.Milli)/model.WholeGPU)
}

// openSite prepares the sums of a site.
func (s *Series) openSite(cfg *SiteConfig) {
	v, n := len(cfg.VClusters), len(cfg.VClusters)+len(cfg.Tenants)
	s.held = holdings{of: make([]holder, n)}
	s.bins.cur, s.bins.shares = s.held.of[:v], make([]shareBin, v*maxBins)
	if cfg.Reasons {
		s.reasons = newReasons(cfg)
	}
}

// Hold says what one vCluster or tenant holds from now on: the vClusters count from
// 0 in the order of Config.Site, and the tenants after them. It is called beside
// Observe. Cost is constant; that of a later instant is proportional to the vClusters.
func (s *Series) Hold(now model.Time, index int, h Holding) {
	s.advance(now)
	c := &s.held.of[index]
	if h.Nodes != c.Nodes || h.GPUs != c.GPUs || h.Milli != c.Milli || h.Borrowed != c.Borrowed || h.Lent != c.Lent {
		s.held.settle(c)
	}
	c.Holding = h
}

// VClusterBins returns the time bins of the vClusters, ascending by time, then
// by vCluster; nil when the run is of no site.
func (s *Series) VClusterBins() []column.VClusterBin {
	v := len(s.bins.cur)
	if v == 0 {
		return nil
	}
	s.catchUp()
	out := make([]column.VClusterBin, 0, s.bins.n*v)
	for i := range s.bins.n {
		for k := range v {
			b := &s.bins.shares[i*v+k]
			out = append(out, column.VClusterBin{
				Time: s.bins.begin(i), Width: s.bins.width, VCluster: int32(k),
				NodeUS: b.nodes, BorrowedUS: b.borrowed, LentUS: b.lent, GPUUS: b.gpus, QueuedJobUS: b.waiting,
			})
		}
	}
	return out
}

// held are sums over time, which saturate: int64 holds those of 10^5 nodes over a thousand
// days, and of 10^3 over three centuries.
type held struct {
	nodes, gpus, borrowed, lent, kept, lost int64

	energy [3]int64 // of jobs alone, mJ: at least, most likely and at most
	cost   charges  // of it, 10^-6 of the currency
	carbon charges  // of it, mg
}

// charges are amounts of jobs, at least, most likely and at most.
type charges struct {
	sum     [3]int64
	unknown int64 // jobs of which it is not known
}

// chargeOf is that of one job, whose amounts may be absent.
func chargeOf(low, value, high int64) charges {
	if value == column.Absent {
		return charges{unknown: 1}
	}
	return charges{sum: [3]int64{low, value, high}}
}

func (c *charges) add(o *charges) {
	for i, x := range o.sum {
		c.sum[i] = signedPlus(c.sum[i], x)
	}
	c.unknown += o.unknown
}

// signedPlus is a + b, which saturates at both ends.
func signedPlus(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < -math.MaxInt64-b:
		return -math.MaxInt64
	}
	return a + b
}

// range3 is the sum, nil where it is not known of some job.
func (c *charges) range3() (low, value, high *int64) {
	if c.unknown > 0 {
		return nil, nil, nil
	}
	return &c.sum[atLeast], &c.sum[mostLikely], &c.sum[atMost]
}

func (h *held) add(o *held) {
	h.nodes = model.Plus(h.nodes, o.nodes)
	h.gpus = model.Plus(h.gpus, o.gpus)
	h.borrowed = model.Plus(h.borrowed, o.borrowed)
	h.lent = model.Plus(h.lent, o.lent)
	h.kept = model.Plus(h.kept, o.kept)
	h.lost = model.Plus(h.lost, o.lost)
	for i := range h.energy {
		h.energy[i] = model.Plus(h.energy[i], o.energy[i])
	}
	h.cost.add(&o.cost)
	h.carbon.add(&o.carbon)
}

// Instants at which holdings are remembered.
const (
	atFirst = iota
	atLastEnd
	atWarm
	atCool
	numMarks
)

// holdings sums up what vClusters, and after them tenants, hold. The zero value
// is of no site and does nothing. The sums of a holder are brought up to date when what it
// holds changes, and before they are read.
type holdings struct {
	elapsed int64           // µs integrated so far
	at      [numMarks]int64 // elapsed at the marks
	of      []holder
}

// holder is a vCluster or a tenant.
type holder struct {
	Holding
	since int64 // elapsed when total was brought up to date
	total amounts
	marks [numMarks]amounts // total at the marks
}

// amounts are what was held, summed up over time.
type amounts struct{ nodes, gpus, borrowed, lent int64 }

// plus is a and what c holds for d.
func (a amounts) plus(c *Holding, d model.Duration) amounts {
	a.nodes = model.Plus(a.nodes, d.Of(c.Nodes))
	if c.GPUs|c.Milli != 0 {
		a.gpus = model.Plus(a.gpus, c.gpuTime(d))
	}
	if c.Borrowed|c.Lent != 0 {
		a.borrowed, a.lent = model.Plus(a.borrowed, d.Of(c.Borrowed)), model.Plus(a.lent, d.Of(c.Lent))
	}
	return a
}

func (h *holdings) mark(at int) { h.at[at] = h.elapsed }

// settle brings the sums of one up to date, and those at the marks set since then.
// A mark that is set now is left for later: nothing is held for no time.
func (h *holdings) settle(c *holder) {
	d := h.elapsed - c.since
	for k, at := range &h.at {
		if until := at - c.since; uint64(until) < uint64(d) { // 0 and more
			c.marks[k] = c.total.plus(&c.Holding, model.Duration(until))
		}
	}
	c.total = c.total.plus(&c.Holding, model.Duration(d))
	c.since = h.elapsed
}

// settleAll is to be called before any sum is read.
func (h *holdings) settleAll() {
	for i := range h.of {
		c := &h.of[i]
		h.settle(c)
		for k, at := range &h.at {
			if at == h.elapsed {
				c.marks[k] = c.total
			}
		}
	}
}

// totals are what each has held so far.
func (h *holdings) totals() []amounts {
	h.settleAll()
	out := make([]amounts, len(h.of))
	for i := range out {
		out[i] = h.of[i].total
	}
	return out
}

// minus is what was held since b.
func (a amounts) minus(b amounts) held {
	return held{nodes: a.nodes - b.nodes, gpus: a.gpus - b.gpus, borrowed: a.borrowed - b.borrowed, lent: a.lent - b.lent}
}

// between is what each held from one mark to another, or to the end for numMarks.
func (h *holdings) between(from, to int) []held {
	out := make([]held, len(h.of))
	for i := range out {
		until := h.of[i].total
		if to < numMarks {
			until = h.of[i].marks[to]
		}
		out[i] = until.minus(h.of[i].marks[from])
	}
	return out
}

// shareBin is a bin of a vCluster.
type shareBin struct{ nodes, borrowed, lent, gpus, waiting int64 }

func (b *bins) hold(i int, d model.Duration) {
	shares := b.shares[i*len(b.cur):][:len(b.cur)]
	for k := range b.cur {
		c, s := &b.cur[k], &shares[k]
		s.nodes = model.Plus(s.nodes, d.Of(c.Nodes))
		if c.GPUs|c.Milli != 0 {
			s.gpus = model.Plus(s.gpus, c.gpuTime(d))
		}
		if c.Borrowed|c.Lent != 0 { // few sites have any
			s.borrowed = model.Plus(s.borrowed, d.Of(c.Borrowed))
			s.lent = model.Plus(s.lent, d.Of(c.Lent))
		}
		if c.Waiting != 0 {
			s.waiting = model.Plus(s.waiting, d.Of(c.Waiting))
		}
	}
}

// mergeShares joins neighbours into the first half bins.
func (b *bins) mergeShares(half int) {
	v := len(b.cur)
	for i := range half {
		for k := range v {
			c, o := &b.shares[2*i*v+k], &b.shares[(2*i+1)*v+k]
			b.shares[i*v+k] = shareBin{
				model.Plus(c.nodes, o.nodes), model.Plus(c.borrowed, o.borrowed), model.Plus(c.lent, o.lent), model.Plus(c.gpus, o.gpus), model.Plus(c.waiting, o.waiting),
			}
		}
	}
	clear(b.shares[half*v : b.n*v])
}
