package site

import (
	"errors"
	"fmt"

	"orrery/scheduler/backfill"
	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/order"
	"orrery/scheduler/preempt"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
	"orrery/scheduler/slurm"
)

// Ranking says what a vCluster orders its queue by.
type Ranking uint8

const (
	ByScore       Ranking = iota // the nine factors and their weights
	ByOrder                      // a baseline order
	ByMultifactor                // Slurm's priority
)

// AllJobs as Policy.Depth lets every blocked job hold a reservation.
const AllJobs = 1 << 30

// Policy is the profile of one vCluster in the words of the core.
type Policy struct {
	// AsCoded reproduces the public sources of Lattice instead of what they
	// document, see docs/SCHEDULING.md.
	AsCoded bool

	Ranking     Ranking
	Order       order.Order // for ByOrder
	Weights     score.Weights
	Reference   model.Duration // of the wait factor
	MinScore    model.Fixed    // jobs below it are held; 0 holds none
	Multifactor multifactor.Weights

	Backfill order.Backfill
	Depth    int // jobs with a reservation under Conservative, at least 1 there
	Window   backfill.Window
	// MaxUserTests bounds the jobs of one user that a pass may plan for under
	// Conservative (Slurm's bf_max_job_user), 0 for no bound.
	MaxUserTests int

	// ConformanceFirst selects nodes from the largest conformance group first, as
	// Lattice's sources do, instead of from the fewest dragonfly groups.
	ConformanceFirst bool
	// LeastFragmentation has shares go where the fragmentation of GPUs grows least for what
	// the jobs of the vCluster have asked for so far, as place.Query.Mix has it.
	LeastFragmentation bool

	// Cycle is the time between two passes, the first at Phase; 0 makes a pass
	// whenever something changed.
	Cycle, Phase model.Duration

	Preempts   bool
	Preemption preempt.Config
	// Slurm has Slurm's own schedulers decide, by package slurm instead of this one, nil for none. Backfill is then None.
	Slurm *slurm.Options
	// Private keeps the reservation of the first blocked job from the other vClusters,
	// which may then take the nodes that it waits for.
	Private bool
	// Expected scores the price of energy over the job's own requested time
	// instead of the instant.
	Expected bool
}

// Config is what a Site is made of. All of it must outlive the core.
type Config struct {
	Site     *model.Site
	Policies []Policy // by vCluster
	Quota    quota.Config
	// Associations are those of Slurm's database, for its own schedulers. Users are the names of the users of jobs, for the same.
	Associations []slurm.Association
	Users        []string
	// AssocPriority of each tenant is for orders by Slurm's priority, nil for none.
	AssocPriority []int64
	// RejectOverLimit withdraws a job that is over a hard limit at its submission, by what is
	// in use then; else it waits.
	RejectOverLimit bool
	// Shared says that nodes may be divided by GPU.
	Shared bool
	// Bandwidth for checkpoints in B/s, 0 when it is not known.
	CheckpointBandwidth int64
	// Price of energy until the first fact about it, 0 to 1.
	Price  model.Fixed
	Prices PriceSeries
	// Max is what the site grants at most at any time; events may raise what
	// Site and Quota say at the beginning.
	Max MaxLimits
	// Extend says that running jobs may outlive their request.
	Extend bool
	// Prefer is a job that stands before all others in the queue of its vCluster, nil for none.
	Prefer *model.JobID
}

// Validate says what is wrong with c, or nil.
func (c *Config) Validate() error {
	if c.Site == nil || len(c.Site.Nodes) == 0 {
		return errors.New("scheduler: a site without nodes")
	}
	if len(c.Policies) != len(c.Site.VClusters) {
		return fmt.Errorf("scheduler: %d policies for %d vClusters", len(c.Policies), len(c.Site.VClusters))
	}
	for i := range c.Policies {
		if err := c.Policies[i].validate(c); err != nil {
			return fmt.Errorf("vCluster %s: %w", c.Site.VClusters[i].Name, err)
		}
	}
	if s := c.Slurm(); s != nil {
		return s.Validate()
	}
	return c.oneSharing()
}

// Slurm is the configuration of Slurm's own schedulers, nil where the policy does not ask for them.
func (c *Config) Slurm() *slurm.Config {
	p := &c.Policies[0]
	if p.Slurm == nil {
		return nil
	}
	out := &slurm.Config{Site: c.Site, Options: *p.Slurm, Associations: c.Associations, Users: c.Users, Quota: c.Quota, MostTenants: c.Max.Tenants, AssocPriority: c.AssocPriority, RejectOverLimit: c.RejectOverLimit, Prefer: c.Prefer}
	if p.Ranking == ByMultifactor {
		out.Weights = &p.Multifactor
	}
	return out
}

func (p *Policy) validate(c *Config) error {
	switch {
	case p.Backfill == order.Conservative && p.Depth < 1:
		return errors.New("conservative backfilling on a site needs a depth: the number of jobs that hold reservations, for example 50")
	case p.Backfill == order.Conservative && c.Shared:
		return errors.New("conservative backfilling reserves whole nodes and cannot divide them: use easy, or sharing: whole")
	case p.Backfill != order.Conservative && p.Depth != 0:
		return fmt.Errorf("a depth applies to conservative backfilling only, not to %s", p.Backfill)
	case p.Reference <= 0 && p.Ranking == ByScore:
		return fmt.Errorf("the reference wait is %s, want more than 0", p.Reference)
	case p.Cycle < 0 || p.Phase < 0 || (p.Cycle > 0 && p.Phase >= p.Cycle) || (p.Cycle == 0 && p.Phase > 0):
		return fmt.Errorf("a cycle of %s with a phase of %s: want a phase below the cycle", p.Cycle, p.Phase)
	case p.Slurm != nil && (len(c.Policies) > 1 || p.Preempts || p.Ranking == ByScore || p.Ranking == ByOrder && p.Order != order.FCFS || p.Cycle > 0):
		return errors.New("the schedulers of Slurm need one vCluster without preemption and cycle, and order multifactor or fcfs")
	case p.Slurm != nil && (c.Site.PowerCap > 0 || c.Site.Bandwidth > 0 || c.Site.SensitivePool > 0):
		return errors.New("the schedulers of Slurm know no cap on power, bandwidth or sensitive nodes")
	case p.mode().scoreOnly && p.Ranking != ByScore:
		return errors.New("the as-coded mode orders by score")
	}
	return nil
}

// plans says whether p plans reservations for several jobs.
func (p *Policy) plans() bool { return p.Backfill == order.Conservative }

// spacesPlans says whether the instant of a plan decides when the next one may be. On a cycle that hangs on nothing
// but the number of the tick.
func (p *Policy) spacesPlans() bool { return p.plans() && p.Window.Interval > 0 && p.Cycle == 0 }

// ticks are those at which a vCluster on a cycle plans.
func (p *Policy) ticks() model.Ticks {
	if p.Cycle == 0 {
		return model.Ticks{}
	}
	return model.Ticks{Every: max((p.Window.Interval+p.Cycle-1)/p.Cycle, 1) * p.Cycle, Phase: p.Phase}
}

// Punctual says whether passes by the policy do not put off by themselves what they have
// promised under FCFS: the bounds of conservative backfilling may leave a job out.
func (p *Policy) Punctual() bool {
	return p.Backfill == order.Easy || p.Backfill == order.Conservative && p.Window == (backfill.Window{}) && p.MaxUserTests == 0
}

// borrows says whether a may run on nodes of other vClusters. Shares of GPUs alone are not
// borrowed.
func (c *Config) borrows(a *model.Allocation, k *nodeChoice) bool {
	return k.foreign != nil && c.Policies[a.VCluster].Backfill != order.Conservative && a.Preemptible() && a.Kind == model.Bounded &&
		(a.GPUs == 0 || c.Site.Amounts)
}

// unitsOf is what each node of j counts for in Least.
func (c *Config) unitsOf(j *job) int32 {
	if c.Shared {
		return j.kind.unitsOf(j.Allocation)
	}
	return 1
}

// MaxLimits is the most that a site grants at any time; nil is what it grants at
// the beginning. In Caps 0 is no cap.
type MaxLimits struct {
	Caps    *Caps
	Tenants []model.Tenant // with the highest limits of each
	// MayFail are nodes that may be down at some time: what they draw idle is not always there.
	MayFail model.NodeSet
}

// Caps are the caps of a site, 0 for none.
type Caps struct {
	Power     int64 // W
	Bandwidth int64 // B/s
	Sensitive int32 // nodes of sensitive work
}

// caps are the highest that there will be.
func (c *Config) caps() Caps {
	if c.Max.Caps != nil {
		return *c.Max.Caps
	}
	return Caps{c.Site.PowerCap, c.Site.Bandwidth, c.Site.SensitivePool}
}

func (c *Config) maxLedger() *quota.Ledger {
	q := c.Quota
	if c.Max.Tenants != nil {
		q.Tenants = c.Max.Tenants
	}
	return quota.New(&q)
}

// alwaysIdle is what the nodes draw at least while no job runs, W, where that counts against
// the cap on power: those that are up, and will stay so.
func (c *Config) alwaysIdle() (watts int64) {
	if !c.Site.CountIdle {
		return 0
	}
	for i := range c.Site.Nodes {
		if n := &c.Site.Nodes[i]; n.State != model.Down && (c.Max.MayFail == nil || !c.Max.MayFail.Has(model.NodeID(i))) {
			watts += n.IdlePower
		}
	}
	return watts
}

// sharing is that of the policies that order by Slurm's priority, which Validate has
// found to be the same, nil when there are none.
func (c *Config) sharing() *multifactor.Sharing {
	for i := range c.Policies {
		if c.Policies[i].Ranking == ByMultifactor {
			sharing := c.Policies[i].Multifactor.Sharing
			sharing.Period = c.Quota.Tick
			return &sharing
		}
	}
	return nil
}

// oneSharing says which policies want the fair share computed in different ways.
func (c *Config) oneSharing() error {
	first := -1
	for i := range c.Policies {
		p := &c.Policies[i]
		switch {
		case p.Ranking != ByMultifactor:
		case first < 0:
			first = i
		case p.Multifactor.Sharing != c.Policies[first].Multifactor.Sharing:
			return fmt.Errorf("vClusters %s and %s: their profiles count the usage of Slurm's fair share differently (half_life, fair_tree, dampening): make them equal", c.Site.VClusters[first].Name, c.Site.VClusters[i].Name)
		}
	}
	return nil
}

// What Policy.Multifactor.TRES gives weights to, in this order.
const (
	TRESNode = iota
	TRESCPU
	TRESMemory
	TRESGPU
	NumTRES
)
