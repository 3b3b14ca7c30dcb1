package metric

import (
	"slices"

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
	Borrowed int64 // of Nodes, at home in another vCluster
	Lent     int64 // of a vCluster: home nodes that jobs of others hold
	Waiting  int64 // jobs
}

// Energy is an amount of energy: joules and millionths of one.
type Energy struct{ Joules, Micro int64 }

// SetEnergy says what was drawn in the whole run.
func (s *Series) SetEnergy(e Energy) { s.energy = &e }

// openSite prepares the sums of a site.
func (s *Series) openSite(cfg *SiteConfig) {
	v, n := len(cfg.VClusters), len(cfg.VClusters)+len(cfg.Tenants)
	s.held = holdings{vclusters: v, cur: make([]Holding, n), total: make([]held, n)}
	for i := range s.held.marks {
		s.held.marks[i] = make([]held, n)
	}
	s.bins.cur, s.bins.shares = s.held.cur[:v], make([]shareBin, v*maxBins)
	if cfg.Reasons {
		s.reasons = newReasons(cfg)
	}
}

// Hold says what each vCluster and each tenant holds from now on. It is called
// beside Observe, with as many as Config.Site names. Cost is proportional to
// their number, as is then the cost of every later instant.
func (s *Series) Hold(now model.Time, vclusters, tenants []Holding) {
	s.advance(now)
	copy(s.held.cur, vclusters)
	copy(s.held.cur[s.held.vclusters:], tenants)
}

// VClusterBins returns the time bins of the vClusters, ascending by time, then
// by vCluster; nil when the run is of no site.
func (s *Series) VClusterBins() []column.VClusterBin {
	v := len(s.bins.cur)
	if v == 0 {
		return nil
	}
	out := make([]column.VClusterBin, 0, s.bins.n*v)
	for i := range s.bins.n {
		for k := range v {
			b := &s.bins.shares[i*v+k]
			out = append(out, column.VClusterBin{
				Time: s.bins.origin + model.Time(int64(i)*int64(s.bins.width)), Width: s.bins.width, VCluster: int32(k),
				NodeUS: b.nodes, BorrowedUS: b.borrowed, LentUS: b.lent, GPUUS: b.gpus, QueuedJobUS: b.waiting,
			})
		}
	}
	return out
}

// held are sums over time; int64 holds those of 10^5 nodes over a million days.
type held struct{ nodes, gpus, borrowed, lent, kept, lost int64 }

func (h *held) add(o *held) {
	h.nodes += o.nodes
	h.gpus += o.gpus
	h.borrowed += o.borrowed
	h.lent += o.lent
	h.kept += o.kept
	h.lost += o.lost
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
// is of no site and does nothing.
type holdings struct {
	vclusters int
	cur       []Holding
	total     []held
	marks     [numMarks][]held
}

func (h *holdings) integrate(d int64) {
	for i := range h.cur {
		c, t := &h.cur[i], &h.total[i]
		t.nodes += c.Nodes * d
		t.gpus += c.GPUs * d
		t.borrowed += c.Borrowed * d
		t.lent += c.Lent * d
	}
}

func (h *holdings) mark(at int) { copy(h.marks[at], h.total) }

// since is what was held from one mark to another.
func (h *holdings) since(from, to []held) []held {
	out := slices.Clone(to)
	for i := range out {
		out[i].nodes -= from[i].nodes
		out[i].gpus -= from[i].gpus
		out[i].borrowed -= from[i].borrowed
		out[i].lent -= from[i].lent
	}
	return out
}

// shareBin is a bin of a vCluster.
type shareBin struct{ nodes, borrowed, lent, gpus, waiting int64 }

func (b *bins) hold(i, d int64) {
	for k := range b.cur {
		c, s := &b.cur[k], &b.shares[int(i)*len(b.cur)+k]
		s.nodes += c.Nodes * d
		s.borrowed += c.Borrowed * d
		s.lent += c.Lent * d
		s.gpus += c.GPUs * d
		s.waiting += c.Waiting * d
	}
}

// mergeShares joins neighbours into the first half bins.
func (b *bins) mergeShares(half int) {
	v := len(b.cur)
	for i := range half {
		for k := range v {
			c := b.shares[2*i*v+k]
			if 2*i+1 < b.n {
				o := &b.shares[(2*i+1)*v+k]
				c = shareBin{c.nodes + o.nodes, c.borrowed + o.borrowed, c.lent + o.lent, c.gpus + o.gpus, c.waiting + o.waiting}
			}
			b.shares[i*v+k] = c
		}
	}
	clear(b.shares[half*v : b.n*v])
}
