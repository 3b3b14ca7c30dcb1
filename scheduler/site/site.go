// Package site is the scheduler core of a site whose nodes differ and that several
// vClusters share: each has its queue, its policy and its proposals in flight. What it
// does is docs/SCHEDULING.md, from which the naive implementation in its tests is
// written. It does not know who commits a plan or what time it is.
package site

import (
	"errors"
	"fmt"
	"math"

	"orrery/scheduler"
	"orrery/scheduler/backfill"
	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/order"
	"orrery/scheduler/preempt"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
	"orrery/scheduler/site/internal/caps"
	"orrery/scheduler/site/internal/wake"
	"orrery/scheduler/workflow"
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
	// EveryCycle makes a pass at every tick of a cycle, also where the core knows
	// that nothing can change. Tests hold the skipping against it.
	EveryCycle bool
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
	return c.oneSharing()
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
	case p.mode().scoreOnly && p.Ranking != ByScore:
		return errors.New("the as-coded mode orders by score")
	}
	return nil
}

// Core is the scheduler core of a site: one committed view of nodes that differ, and
// for each vCluster a queue, a policy and the proposals it has in flight. It reads no
// clock and allocates nothing once its tables have grown. It is not safe for concurrent
// use.
//
// It observes facts and keeps the state below; what a vCluster does about it is decided
// by a pass. Each part says what always holds of it between two calls.
type Core struct {
	cfg Config

	nodeState
	jobTable
	accounts
	caps     caps.State // in use is what the jobs in phases running, proposed and withdrawn need, and resizes
	price    model.Fixed
	backlog  backlog
	holds    holds
	promises promises
	resizes  []resize // in flight, in the order proposed; a job has one at most

	vclusters []queueState
	board     wake.Board
	factLog
	output
	buf   buffers
	asked []*inquiry // by vCluster, nil until it is asked why a job waits there
}

// factLog is where in the log the core is.
type factLog struct {
	now       model.Time // of the last Observe or Plan
	calls     uint64     // of these and of Follow: what was found out to answer questions holds until the next
	shedAt    int64      // factSeq when jobs to shed were last looked for
	factSeq   int64      // facts observed that may let a preemption succeed that failed before, or a cap have room
	lastFact  model.Time // when anything was observed last
	restoring bool       // each vCluster makes a pass in every plan, whatever its cycle
}

// output is what the core answers with, and what it has answered so far.
type output struct {
	plan scheduler.Plan
	seq  uint64 // of the last proposal
	work scheduler.Work
	next int // the vCluster whose turn is next at this instant, when others had theirs
}

// New returns the core of an idle site. cfg must be valid.
func New(cfg Config) *Core {
	s := &Core{cfg: cfg, nodeState: newNodeState(cfg.Site), jobTable: jobTable{graph: workflow.New(), noStint: &stint{}, alikes: alikes{numbers: map[nodeQuery]int32{}}, nextDue: model.Never}, price: cfg.Price}
	if cfg.Prefer != nil {
		s.prefer = *cfg.Prefer
	}
	s.accounts = newAccounts(&s.cfg) // which keeps what it points at
	s.promises = newPromises(cfg.Site, s.home)
	n := len(cfg.Site.Nodes)
	s.caps.Cap, s.caps.Pool = caps.Usage{Power: cfg.Site.PowerCap, Bandwidth: cfg.Site.Bandwidth}, cfg.Site.SensitivePool
	if cfg.Site.CountIdle {
		s.caps.CountIdle(cfg.Site)
	}
	s.board = wake.NewBoard(len(cfg.Policies), len(cfg.Site.Tenants), len(cfg.Site.QOS))
	s.vclusters = make([]queueState, len(cfg.Policies))
	for i := range s.vclusters {
		qs := &s.vclusters[i]
		*qs = newQueueState(model.VClusterID(i), &cfg.Policies[i], s.ledger.NewCache(len(cfg.Site.Tenants), cfg.Policies[i].Weights[score.FairShare]), s.free, s.space)
	}
	s.buf = newBuffers(s.space, n)
	for i := range s.vclusters {
		qs := &s.vclusters[i]
		qs.by = qs.mode.planner(s, qs)
		qs.promising = qs.mode.promises && s.promises.unhomed
	}
	return s
}

// Work returns the counters.
func (s *Core) Work() scheduler.Work { return s.work }

// Predicted is the predicted end of the running job under ref.
func (s *Core) Predicted(ref model.Ref) model.Time { return s.jobs[ref].predicted }

// Runs says whether the job under ref is running.
func (s *Core) Runs(ref model.Ref) bool { return s.jobs[ref].phase == running }

// FirstBlocked is the job that none behind it may delay under Easy, as the last pass of
// v found it, and the number of the last proposal before its turn: those of higher
// numbers are of jobs behind it. ok is false when there is none.
func (s *Core) FirstBlocked(v model.VClusterID) (ref model.Ref, since uint64, ok bool) {
	qs := &s.vclusters[v]
	return qs.reservation.Ref, qs.reservation.Since, qs.blocked && qs.reservation.Ref >= 0
}

// Consumed implements scheduler.Questions.
func (s *Core) Consumed(t model.TenantID, now model.Time) (node, gpu model.Duration) {
	return s.ledger.Consumed(t, now)
}

// Least is the smallest number of units (nodes, or GPUs where they are shared) that a
// waiting job could start on, 0 when no job waits. Its cost is that of the vClusters, and
// of the distinct request sizes where a job has left that could start on so few.
func (s *Core) Least() int32 {
	least := int32(math.MaxInt32)
	for i := range s.vclusters {
		least = min(least, s.vclusters[i].waiting.Least())
	}
	if least == math.MaxInt32 {
		return 0
	}
	return least
}

// claimOf is what a takes from its tenant's limits on n nodes.
func claimOf(a *model.Allocation, k *nodeChoice, n int32) quota.ResourceUsage {
	each := model.WholeGPU * int64(k.leastGPUs)
	if a.Divides() {
		each = model.WholeGPU*int64(a.GPUs) + int64(a.GPUMilli)
	}
	return quota.ResourceUsage{
		Tenant: a.Tenant, QOS: a.QOS, Partition: a.Partition, User: a.User, Session: a.Kind == model.Session, Nodes: n, GPUs: n * k.gpusOf(a), Milli: int64(n) * each, Each: each, Divides: a.Divides(),
	}
}

// setTaken notes in the ledger entry of j what its placement takes, which is not counted yet.
func (s *Core) setTaken(j *job) {
	j.usage.Shares = j.placement.Shares
	if j.kind.gpusDiffer && !j.usage.Divides {
		j.usage.GPUs = j.kind.unitsHeld(j.Allocation, &j.placement, j.usage.Nodes, s.nodeClasses)
		j.usage.Milli = s.nodeClasses.Thousandths(&j.placement, j.usage.Nodes)
	}
}

// overLimits says which limit on nodes or GPUs the placement would break for j, which holds so
// many thousandths of GPUs beside it.
func (s *Core) overLimits(j *job, p *model.Placement, held int64) model.Reason {
	if !j.kind.gpusDiffer && !j.usage.Divides { // what its nodes are was known before
		return model.ReasonNone
	}
	n := p.Nodes()
	r := s.ledger.CheckChosen(&j.usage, n, s.nodeClasses.Thousandths(p, n), held, p.Shares)
	if r != model.ReasonNone {
		addMet(j, r)
		j.queue.byNodes = true
	}
	return r
}

// gpusOf is how many GPUs a counts with on each of its nodes: of its share those that it
// touches.
func (k *nodeChoice) gpusOf(a *model.Allocation) int32 {
	if a.Divides() {
		return a.Cards()
	}
	return k.gpus
}

// unitsHeld is how many GPUs a counts with where it holds the n nodes of p.
func (k *nodeChoice) unitsHeld(a *model.Allocation, p *model.Placement, n int32, classes *model.NodeClasses) int32 {
	if k.gpusDiffer && !a.Divides() {
		return classes.Units(p, n)
	}
	return n * k.gpusOf(a)
}

// unitsOf is what each node of a counts for by size: its GPUs, a share without any as one.
func (k *nodeChoice) unitsOf(a *model.Allocation) int32 { return max(k.gpusOf(a), 1) }

// needsOf is what a asks for before its nodes are known: the power that it
// states, else what as many nodes of those that draw most among those it may use can draw. Where idle
// nodes count, whole nodes take off at least what the one of them draws that draws least.
func needsOf(a *model.Allocation, k *nodeChoice) caps.Usage {
	u := caps.Usage{Power: a.Power, Bandwidth: a.IODemand}
	if u.Power == 0 {
		u.Power = k.watts * int64(a.NodesMin)
	}
	if !a.Divides() {
		u.Idle = k.leastIdle * int64(a.NodesMin)
	}
	return u
}
