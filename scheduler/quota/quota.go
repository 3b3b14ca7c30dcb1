// Package quota keeps the ledger of the tenants: what each holds and may hold,
// what it has consumed since the ledger was opened, and the figures that bend
// scores, frozen between two ticks of the accounts. It decides nothing about
// order or place and knows neither scores nor nodes, only how many.
package quota

import (
	"orrery/scheduler/model"
)

// Defaults of Config.
const (
	DefaultTick     = 300 * model.Second
	DefaultWindow   = 90 * model.Day
	DefaultHalfLife = 7 * model.Day
)

// Config is what a ledger is about. Zero durations mean the defaults above.
type Config struct {
	Tenants    []model.Tenant
	QOS        []model.QOS
	Partitions []model.Partition
	Nodes      int32 // of the site
	GPUs       int64 // of the site
	// UserSessions is how many sessions of a user run at a time at most, 0 for no bound.
	UserSessions int32

	Tick     model.Duration // between two accountings
	Window   model.Duration // of budgets, and of rolling usage
	Usage    Usage
	HalfLife model.Duration // of decaying usage
	Unknown  Unknown
}

// Usage says what the share of a tenant is a share of.
type Usage uint8

const (
	Instantaneous Usage = iota // nodes held now, of the nodes of the site
	Rolling                    // node time within the window, of the site's in it
	Decay                      // node time that loses half its weight per half-life, of the site's
)

var usages = [...]string{"instantaneous", "rolling", "decay"}

// String is the spelling in files.
func (u Usage) String() string { return usages[u] }

// Unknown says what becomes of work that names no tenant of the site.
type Unknown uint8

const (
	UnknownNone    Unknown = iota // it may run, and comes after every tenant that has a share left: f3 is 0
	UnknownNeutral                // as a tenant without a share: f3 is 0.5, better than a tenant at its share
	UnknownReject                 // it never runs
)

var unknowns = [...]string{"none", "neutral", "reject"}

// String is the spelling in files.
func (u Unknown) String() string { return unknowns[u] }

// ResourceUsage is what one attempt of a job holds, or wants to hold. Ids of -1
// are bound by no limit of that kind. A job of parts of nodes is charged for each node
// that it touches; against limits on nodes a node counts once for all its shares.
type ResourceUsage struct {
	Tenant    model.TenantID
	QOS       model.QOSID
	Partition model.PartitionID
	User      int32
	Session   bool // it counts as a session of its user
	Divides   bool // it takes shares of nodes
	Nodes     int32
	GPUs      int32 // in all, as its nodes have them when it starts
	// Milli is what it takes of GPUs in thousandths of one, against limits on GPUs; before
	// its nodes are known the least that it can be.
	Milli int64
	Each  int64 // of these, at least on each node
	// Shares are those that it takes, once they are known. They must stay as they are while they are in use.
	Shares []model.NodeShare
}

// Ledger is the account of every tenant. It is opened at the first instant that
// it is told. From then on the same facts at the same instants make the same
// ledger, however often it is read.
//
// Check, Never and Freeze take constant time. So do Start, Stop, Resize and the
// readers of a tenant's figures, but for the ticks since the ledger was last
// looked at: those are accounted first, so that readers write. A tenant's first
// start allocates its history (64 KiB at most), nothing else does in steady state.
type Ledger struct {
	cfg     Config
	limits  []model.Limits // of the tenants, then of the unknown
	limited []bool         // likewise: there is any on nodes, GPUs and running jobs
	tenants []account      // likewise
	site    account        // as if a tenant had held the whole site since the ledger was opened
	qos     []pool
	// sessions in use, by user as far as users were met
	sessions []int32
	clock    clock
	busy     int64 // nodes charged for
	frozen   frozen
}

// pool is what is in use of a quality of service.
type pool struct {
	limits bool // there is any on nodes, GPUs and running jobs
	all    held
	users  []held // by user, as far as users were met
}

// held is what is in use, in flight included.
type held struct {
	nodes, jobs int32         // distinct nodes
	milli       int64         // thousandths of GPUs
	shares      []int32       // on each node as far as it was met, nil before the first share
	shared      model.NodeSet // the nodes with any of them, likewise
}

// New opens a ledger.
func New(cfg *Config) *Ledger {
	b := &Ledger{cfg: *cfg}
	setDefault(&b.cfg.Tick, DefaultTick)
	setDefault(&b.cfg.Window, DefaultWindow)
	setDefault(&b.cfg.HalfLife, DefaultHalfLife)
	b.clock = newClock(&b.cfg)
	n := len(cfg.Tenants) + 1
	b.limits = make([]model.Limits, n)
	for i := range cfg.Tenants {
		b.limits[i] = cfg.Tenants[i].Limits
	}
	b.tenants, b.limited = make([]account, n), make([]bool, n)
	for i := range b.tenants {
		b.limitsChanged(i)
	}
	b.site.nodes, b.site.gpus = int64(cfg.Nodes), cfg.GPUs
	b.qos = make([]pool, len(cfg.QOS))
	for i := range cfg.QOS {
		q := &cfg.QOS[i]
		b.qos[i].limits = q.MaxNodes|q.GroupNodes|q.GroupJobs|q.UserNodes|q.UserJobs|q.MaxGPUs|q.GroupGPUs|q.UserGPUs != 0
	}
	b.frozen = newFrozen(n)
	for i := range b.frozen.of { // as they stand before the first Freeze
		b.frozen.of[i].Share, b.frozen.of[i].Burst = b.limits[i].FairShare, b.limits[i].Burst
	}
	return b
}

func setDefault(d *model.Duration, to model.Duration) {
	if *d <= 0 {
		*d = to
	}
}

// index of the account of tenant t; the last is that of the unknown.
func (b *Ledger) index(t model.TenantID) int {
	if t < 0 || int(t) >= len(b.tenants)-1 {
		return len(b.tenants) - 1
	}
	return int(t)
}

// user is what user u holds in quality of service q, for change; nil when either
// is unknown.
func (b *Ledger) user(q model.QOSID, u int32) *held {
	if q < 0 || u < 0 {
		return nil
	}
	p := &b.qos[q]
	for int(u) >= len(p.users) {
		p.users = append(p.users, held{})
	}
	return &p.users[u]
}

// Reserve counts c, a proposal in flight, against the limits. It is not charged
// for any time.
func (b *Ledger) Reserve(c *ResourceUsage) { b.use(c, c.Nodes, 1, c.Milli, c.Shares) }

// Unreserve is the answer to Reserve, whatever it was: a granted proposal is
// then started.
func (b *Ledger) Unreserve(c *ResourceUsage) {
	b.use(c, -c.Nodes, -1, -c.Milli, c.Shares)
}

// ReserveMore counts nodes more for c, which is in use, and what they take of GPUs, sign
// times: those of a proposal in flight. The answer to it is the same with sign -1; a
// granted proposal is then a Resize.
func (b *Ledger) ReserveMore(c *ResourceUsage, nodes int32, milli int64, shares []model.NodeShare, sign int32) {
	b.use(c, sign*nodes, 0, int64(sign)*milli, shares)
}

// Start says that c holds its nodes from now on. A resumed job starts again.
func (b *Ledger) Start(c *ResourceUsage, now model.Time) {
	b.use(c, c.Nodes, 1, c.Milli, c.Shares)
	b.charge(c, c.Nodes, c.GPUs, now)
}

// Stop says that c, as it was started or resized, has given back its nodes: at
// its end, or because it was suspended. What it consumed stays in the ledger.
func (b *Ledger) Stop(c *ResourceUsage, now model.Time) {
	b.use(c, -c.Nodes, -1, -c.Milli, c.Shares)
	b.charge(c, -c.Nodes, -c.GPUs, now)
}

// Resize says that c, which holds its nodes, holds these many from now on, with so much of
// GPUs and these shares, and notes it in c.
func (b *Ledger) Resize(c *ResourceUsage, nodes, gpus int32, milli int64, shares []model.NodeShare, now model.Time) {
	b.use(c, nodes, 0, milli, shares)
	b.use(c, -c.Nodes, 0, -c.Milli, c.Shares)
	b.charge(c, nodes-c.Nodes, gpus-c.GPUs, now)
	c.Nodes, c.GPUs, c.Milli, c.Shares = nodes, gpus, milli, shares
}

// use counts what is taken against the limits, or given back with numbers below 0; of
// shares the nodes are counted one by one.
func (b *Ledger) use(c *ResourceUsage, nodes, jobs int32, milli int64, shares []model.NodeShare) {
	if c.Session && c.User >= 0 {
		b.sessions = append(b.sessions, make([]int32, max(0, int(c.User)+1-len(b.sessions)))...)
		b.sessions[c.User] += jobs
	}
	if len(shares) > 0 {
		b.useShares(c, nodes, jobs, milli, shares)
		return
	}
	b.tenants[b.index(c.Tenant)].use.add(nodes, jobs, milli)
	if c.QOS < 0 {
		return
	}
	b.qos[c.QOS].all.add(nodes, jobs, milli)
	if u := b.user(c.QOS, c.User); u != nil {
		u.add(nodes, jobs, milli)
	}
}

func (b *Ledger) useShares(c *ResourceUsage, nodes, jobs int32, milli int64, shares []model.NodeShare) {
	sign := int32(1)
	if nodes < 0 {
		sign = -1
	}
	add := func(h *held) { h.add(h.touch(shares, sign), jobs, milli) }
	add(&b.tenants[b.index(c.Tenant)].use)
	if c.QOS < 0 {
		return
	}
	add(&b.qos[c.QOS].all)
	if u := b.user(c.QOS, c.User); u != nil {
		add(u)
	}
}

func (h *held) add(nodes, jobs int32, milli int64) {
	h.nodes += nodes
	h.jobs += jobs
	h.milli += milli
	if h.nodes < 0 || h.jobs < 0 {
		panic("quota: a claim gives back more than is held")
	}
}

// touch counts shares on their nodes and says how many nodes more are held by that, less
// with sign -1.
func (h *held) touch(shares []model.NodeShare, sign int32) (nodes int32) {
	for i := range shares {
		n := int(shares[i].Node)
		if n >= len(h.shares) {
			h.shares = append(h.shares, make([]int32, max(n+1, 2*len(h.shares))-len(h.shares))...)
			h.shared = append(h.shared, make(model.NodeSet, (len(h.shares)+63)>>6-len(h.shared))...)
		}
		if h.shares[n] == 0 || h.shares[n]+sign == 0 {
			nodes += sign
			h.shared[n>>6] ^= 1 << (n & 63)
		}
		h.shares[n] += sign
	}
	return nodes
}

// fresh counts the nodes of shares of which h holds none.
func (h *held) fresh(shares []model.NodeShare) (nodes int32) {
	for i := range shares {
		if n := int(shares[i].Node); n >= len(h.shares) || h.shares[n] == 0 {
			nodes++
		}
	}
	return nodes
}

func (b *Ledger) charge(c *ResourceUsage, nodes, gpus int32, now model.Time) {
	b.open(now)
	i := b.index(c.Tenant)
	b.settle(i)
	a := &b.tenants[i]
	b.clock.advance(a, now)
	b.clock.turn(a, a.nodes+int64(nodes), a.gpus+int64(gpus))
	b.busy += int64(nodes)
	b.changed(i)
}

// SetLimits replaces the limits of tenant t. The hard ones hold at once, for
// what starts from now on; the ones that bend scores, from the next Freeze.
func (b *Ledger) SetLimits(t model.TenantID, l *model.Limits) {
	i := b.index(t)
	b.settle(i)
	b.limits[i] = *l
	b.limitsChanged(i)
	b.changed(i)
}

// Limits of tenant t, the last ones set; those of the unknown are empty.
func (b *Ledger) Limits(t model.TenantID) model.Limits { return b.limits[b.index(t)] }
