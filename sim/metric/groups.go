package metric

import (
	"math/big"
	"math/bits"
	"strconv"

	"orrery/scheduler/model"
	"orrery/sim/record/column"
)

// What groups are by.
const (
	ByVCluster = "vcluster"
	ByTenant   = "tenant"
	ByClass    = "class"
)

const numClasses = model.SensitiveClass + 1

// groupColumns are what tells groups apart, siteColumns all that is read of a
// site.
const (
	groupColumns = column.VCluster | column.Tenant | column.Class
	siteColumns  = groupColumns | column.Kind | column.Requeues | column.Preemptions | column.NumAttempts |
		column.NodeUS | column.GPUUS | column.BorrowedUS | column.KeptUS | column.LostUS |
		column.EnergyLow | column.Energy | column.EnergyHigh |
		column.CostLow | column.Cost | column.CostHigh | column.CarbonLow | column.Carbon | column.CarbonHigh
)

// observeSite reads what the table says more of row i at a site.
func (o *observation) observeSite(c *column.Jobs, i int) {
	o.vcluster, o.tenant, o.class = c.VCluster[i], c.Tenant[i], c.Class[i]
	o.own = held{nodes: c.NodeUS[i], gpus: c.GPUUS[i], borrowed: c.BorrowedUS[i], kept: c.KeptUS[i], lost: c.LostUS[i]}
	if len(c.Energy) > 0 { // not in tables of earlier versions
		o.own.energy = [3]int64{c.EnergyLow[i], c.Energy[i], c.EnergyHigh[i]}
	}
	o.own.cost, o.own.carbon = charges{unknown: 1}, charges{unknown: 1}
	if len(c.Cost) > 0 { // likewise
		o.own.cost, o.own.carbon = chargeOf(c.CostLow[i], c.Cost[i], c.CostHigh[i]), chargeOf(c.CarbonLow[i], c.Carbon[i], c.CarbonHigh[i])
	}
	o.preemptions, o.requeues = int64(c.Preemptions[i]), int64(c.Requeues[i])
	o.again = c.Attempts[i] > 0
	o.service = model.Kind(c.Kind[i]) != model.Bounded
}

// groupSum gathers the jobs of a group in a window.
type groupSum struct {
	jobs, started, requeues, preemptions int64

	own      held // by its jobs
	wait     moments
	pick     *selection
	targeted int64 // jobs with a target for their wait
	within   int64 // of these, started within it
	eligible int64 // jobs that were not refused
	starved  int64 // of these, waited longer than the limit

	share held // within the window, whosever the jobs
}

// siteSums gathers a window of a site.
type siteSums struct {
	cfg       *SiteConfig
	budget    *keyBudget
	limit     int64
	cells     []cell
	first     []int32 // cell by tenant, from -1, and class, and of all others; from 1, 0 for none
	all       groupSum
	vclusters []groupSum
	tenants   []groupSum
	classes   [numClasses]groupSum
	suspended int64

	shared bool   // what was held within the window is known
	quota  *int64 // job·µs spent waiting for limits; nil when not recorded
	quotas []int64
	held   int64 // within the window, by all: node·µs, or GPU·µs where jobs share nodes
	lends  bool  // what was lent is known
	power  bool  // so is what the site draws
}

func newSiteSums(cfg *SiteConfig, in *keyBudget) *siteSums {
	s := &siteSums{
		cfg: cfg, budget: in, limit: int64(cfg.WaitLimit), first: make([]int32, (1+len(cfg.Tenants))*int(numClasses)+1),
		vclusters: make([]groupSum, len(cfg.VClusters)), tenants: make([]groupSum, len(cfg.Tenants)),
	}
	if s.limit == 0 {
		s.limit = int64(model.Day)
	}
	return s
}

// of lists the groups of a job, without the one of all; nil where it is in none.
func (s *siteSums) of(vcluster, tenant, class int32) (list [3]*groupSum) {
	if vcluster >= 0 && int(vcluster) < len(s.vclusters) {
		list[0] = &s.vclusters[vcluster]
	}
	if tenant >= 0 && int(tenant) < len(s.tenants) {
		list[1] = &s.tenants[tenant]
	}
	if class >= 0 && class < numClasses {
		list[2] = &s.classes[class]
	}
	return list
}

// digit is how many bits the selections of groups tell apart at a time: fewer, and in more
// passes, where there are many.
func (s *siteSums) digit() uint {
	groups := bits.Len(uint(len(s.vclusters) + len(s.tenants)))
	return uint(min(smallBits, max(4, groupBits-groups)))
}

// pick is the selection of a group, which has one once a job of it started.
func (s *siteSums) pick(g *groupSum) *selection {
	if g.pick == nil {
		g.pick = newSelection(percentiles[qWait], s.digit(), s.budget)
	}
	return g.pick
}

// addWait gives the percentiles of the groups a look at a wait.
func (s *siteSums) addWait(o *observation) {
	for _, g := range s.of(o.vcluster, o.tenant, o.class) {
		if g != nil {
			s.pick(g).add(o.key[qWait])
		}
	}
}

// join adds what o has gathered of other jobs; see reduction.join.
func (s *siteSums) join(o *siteSums) {
	s.suspended += o.suspended
	mine, theirs := s.lists(), o.lists()
	for k, list := range theirs {
		for i := range list {
			if h := &list[i]; h.pick != nil { // waits beyond the budget
				s.pick(&mine[k][i]).join(h.pick)
			}
		}
	}
	s.fold(o.cells)
}

func (g *groupSum) join(o *groupSum) {
	g.jobs += o.jobs
	g.started += o.started
	g.requeues += o.requeues
	g.preemptions += o.preemptions
	g.own.add(&o.own)
	g.wait.join(&o.wait)
	g.targeted += o.targeted
	g.within += o.within
	g.eligible += o.eligible
	g.starved += o.starved
}

// lists are the groups, without the one of all.
func (s *siteSums) lists() [3][]groupSum {
	return [...][]groupSum{s.vclusters, s.tenants, s.classes[:]}
}

// narrow ends a pass; see narrow.
func (s *siteSums) narrow() bool {
	if s == nil {
		return false
	}
	more := false
	for _, list := range s.lists() {
		for i := range list {
			if g := &list[i]; g.pick != nil && g.pick.narrow(&g.wait) {
				more = true
			}
		}
	}
	return more
}

// share gives the windows what was held within them, and what only the whole
// run knows.
func (s *Series) share(all, steady *reduction) {
	h := &s.held
	if all.site == nil {
		return
	}
	if s.services != nil {
		all.serve(s.services)
		steady.serve(within(s.services, s.warm, s.lastOfSteady()+1))
	}
	h.settleAll()
	if s.first != model.AbsentTime && all.started > 0 {
		to := atLastEnd
		if all.lastEnd > int64(s.lastEnd) {
			to = numMarks
		}
		all.site.hold(h.between(atFirst, to))
	}
	if steady.open {
		steady.site.hold(h.between(atWarm, atCool))
	}
	if s.reasons != nil {
		s.reasons.times(s.now) // settles
		all.site.quotas = s.reasons.quota
		n := int64(0)
		for _, q := range s.reasons.quota[:s.reasons.first] {
			n = model.Plus(n, q)
		}
		all.site.quota = &n
	}
}

// hold takes what vClusters and tenants held within the window.
func (s *siteSums) hold(over []held) {
	s.shared = true
	lent, borrowed := int64(0), int64(0)
	for i := range s.vclusters {
		g := &s.vclusters[i]
		g.share = over[i]
		s.held = model.Plus(s.held, s.used(g))
		lent, borrowed = model.Plus(lent, over[i].lent), model.Plus(borrowed, over[i].borrowed)
	}
	s.lends = lent == borrowed // else the lender is unknown
	for i := range s.tenants {
		s.tenants[i].share = over[len(s.vclusters)+i]
	}
}

// used is what a group held within the window, as shares count it.
func (s *siteSums) used(g *groupSum) int64 {
	if s.cfg.Shared {
		return g.share.gpus
	}
	return g.share.nodes
}

// target of a tenant, 0 for none.
func (s *siteSums) target(i int) model.Fixed {
	if i >= len(s.cfg.Targets) {
		return 0
	}
	return s.cfg.Targets[i]
}

// groups are the rows of a window: vClusters, tenants, and the classes that
// occur.
func (r *reduction) groups() []column.Group {
	s := r.site
	if s == nil || !r.open {
		return nil
	}
	s.power = r.power != nil
	var out []column.Group
	for i := range s.vclusters {
		g := s.row(&s.vclusters[i], ByVCluster, s.cfg.VClusters[i], r.name)
		if s.shared && s.lends {
			g.LentUS = &s.vclusters[i].share.lent
		}
		if s.quotas != nil {
			g.HeldUS = &s.quotas[i]
		}
		out = append(out, g)
	}
	for i := range s.tenants {
		g := s.row(&s.tenants[i], ByTenant, s.cfg.Tenants[i], r.name)
		if t := s.target(i); t > 0 {
			g.Target = number(t.Float())
			if g.Share != nil {
				num, den := s.deviation(i)
				g.Deviation = number(quotient(num, den))
			}
		}
		if s.quotas != nil {
			g.HeldUS = &s.quotas[len(s.vclusters)+i]
		}
		out = append(out, g)
	}
	for i := range s.classes {
		if s.classes[i].jobs > 0 {
			out = append(out, s.row(&s.classes[i], ByClass, strconv.Itoa(i), r.name))
		}
	}
	return out
}

func number(x float64) *float64 { return &x }

// part is a/b, nil when b is 0.
func part(a, b int64) *float64 {
	if b == 0 {
		return nil
	}
	return number(quotient(big.NewInt(a), big.NewInt(b)))
}

func (s *siteSums) row(g *groupSum, by, name, window string) column.Group {
	out := column.Group{
		By: by, Name: name, Window: window,
		Jobs: g.jobs, Started: g.started, Preemptions: g.preemptions, Requeues: g.requeues,
		NodeUS: g.own.nodes, GPUUS: g.own.gpus, BorrowedUS: g.own.borrowed, KeptUS: g.own.kept, LostUS: g.own.lost,
		EnergyLow: g.own.energy[atLeast], Energy: g.own.energy[mostLikely], EnergyHigh: g.own.energy[atMost],
		Within: part(g.within, g.targeted), Starved: part(g.starved, g.eligible),
	}
	if s.power {
		out.CostLow, out.Cost, out.CostHigh = g.own.cost.range3()
		out.CarbonLow, out.Carbon, out.CarbonHigh = g.own.carbon.range3()
	}
	if by != ByClass && s.shared {
		out.Share = part(s.used(g), s.held)
	}
	if g.pick == nil || g.wait.n == 0 {
		return out
	}
	seconds := func(x *big.Int) *float64 { return number(quotient(x, bigSecond)) }
	out.WaitMean = number(quotient(g.wait.total.big(), product(big.NewInt(g.wait.n), bigSecond)))
	out.WaitP50, out.WaitP90 = seconds(g.pick.percentile(50)), seconds(g.pick.percentile(90))
	out.WaitP95, out.WaitP99 = seconds(g.pick.percentile(95)), seconds(g.pick.percentile(99))
	out.WaitMax = seconds(new(big.Int).SetUint64(g.wait.max))
	return out
}

// deviation of tenant i is num/den, its share less its target; den is positive
// where anything was held.
func (s *siteSums) deviation(i int) (num, den *big.Int) {
	all, one := big.NewInt(s.held), big.NewInt(int64(model.One))
	num = product(big.NewInt(s.used(&s.tenants[i])), one)
	num.Sub(num, product(big.NewInt(int64(s.target(i))), all))
	return num, product(all, one)
}
