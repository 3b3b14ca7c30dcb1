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
	"orrery/scheduler/place"
	"orrery/scheduler/preempt"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
	"orrery/scheduler/site/internal/caps"
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
	MinScore    model.Fixed    // jobs below it are held; 0 holds nobody
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

	// Cycle is the time between two passes, the first at Phase; 0 makes a pass
	// whenever something changed.
	Cycle, Phase model.Duration

	Preempts   bool
	Preemption preempt.Config
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
	// Shared says that nodes may be divided by GPU.
	Shared bool
	// Bandwidth for checkpoints in B/s, 0 when it is not known.
	CheckpointBandwidth int64
	// Price of energy until the first fact about it, 0 to 1.
	Price  model.Fixed
	Prices PriceSeries
	// Explain asks for notes: of all jobs, or of those for which it is true.
	Explain func(model.JobID) bool
	// EveryCycle makes a pass at every tick of a cycle, also where the core knows
	// that nothing can change. It is the referee of the skipping.
	EveryCycle bool
	// Max is what the site grants at most at any time; events may raise what
	// Site and Quota say at the beginning.
	Max MaxLimits
	// Extend says that running jobs may outlive their request.
	Extend bool
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

func (policy *Policy) validate(c *Config) error {
	switch {
	case policy.Backfill == order.Conservative && policy.Depth < 1:
		return errors.New("conservative backfilling on a site needs a depth: the number of jobs that hold reservations, for example 50")
	case policy.Backfill == order.Conservative && c.Shared:
		return errors.New("conservative backfilling reserves whole nodes and cannot divide them: use easy, or sharing: whole")
	case policy.Backfill != order.Conservative && policy.Depth != 0:
		return fmt.Errorf("a depth applies to conservative backfilling only, not to %s", policy.Backfill)
	case policy.Reference <= 0 && policy.Ranking == ByScore:
		return fmt.Errorf("the reference wait is %s, want more than 0", policy.Reference)
	case policy.Cycle < 0 || policy.Phase < 0 || (policy.Cycle > 0 && policy.Phase >= policy.Cycle) || (policy.Cycle == 0 && policy.Phase > 0):
		return fmt.Errorf("a cycle of %s with a phase of %s: want a phase below the cycle", policy.Cycle, policy.Phase)
	case policy.AsCoded && policy.Ranking != ByScore:
		return errors.New("the as-coded mode orders by score")
	}
	return nil
}

// Core is the scheduler core of a site: one committed view of nodes that
// differ, and for each vCluster a queue, a policy and the proposals it has in
// flight. It reads no clock and allocates nothing once its tables
// have grown. It is not safe for concurrent use.
type Core struct {
	cfg         Config
	site        *model.Site
	nodeClasses *model.Makes
	space       *place.Space
	free        *place.Free // what the committed log leaves
	ready       model.NodeSet
	readyCount  int32 // so many
	vclusters   []queueState
	jobs        []job       // by Ref
	active      []model.Ref // running
	book        *quota.Book
	maxBook     *quota.Book // of nobody, with the highest limits there will be
	graph       *workflow.Graph
	kinds       []*nodeChoice // distinct (vCluster, constraint, partition, reservation)

	holds   []hold // nodes kept for jobs that preempted others
	resizes []resize
	// recalled is what was consumed before the beginning, until it is on the books.
	recalled      []consumed
	unsatisfiable []model.Ref
	later         []model.Ref // wait for their eligible time
	changes       workflow.Changes

	price                   model.Fixed
	caps                    caps.State
	queuedWork, runningWork int64    // GPU seconds asked for by waiting and by running jobs
	weighed                 [2]int64 // these, as they were when backlog was worked out
	backlogFactor           model.Fixed
	lent                    []int32 // home nodes of each vCluster that others hold
	homes                   []int32 // home nodes of each vCluster
	home                    []model.NodeSet

	shares              *shares // nil without an order by Slurm's priority
	mostFactor, mostQOS int64   // highest of all partitions and qualities of service

	now   model.Time
	next  model.Time // accounting tick
	ticks int64      // changes with what the last one froze
	// happened counts the facts observed but for submissions.
	factSeq          int64
	accountsStableAt model.Time // until when the accounts can change if nothing is observed
	lastFact         model.Time // when anything was observed last
	begun            bool       // something was observed
	// outOfTurn is what OutOfTurn said last.
	outOfTurn bool
	walk      uint64 // of the predicted ends, so far
	seq       uint64
	plan      scheduler.Plan
	work      scheduler.Work
	buf       buffers
	idle      *place.Free // all nodes are free, for questions
	told      int         // notes that the last plan held
}

// job is what the core knows of a job in the system.
type job struct {
	key order.Key // its Walltime is what is left of the request once the job was suspended
	model.Allocation
	phase     phase
	predicted model.Time // end of the running or in-flight job
	placement model.Placement
	queue     *queueState
	kind      *nodeChoice
	claim     quota.Claim
	assoc     int32       // in Site.shares
	static    model.Fixed // the terms of the score that never change
	needs     caps.Usage
	backlog   int64 // GPU seconds in Site.queued
	load      int64 // GPU seconds in Site.running
	pos       int32 // in the lane's queue, or in Site.active while running

	started    model.Time
	saved      model.Time     // when its work was safe last in this attempt, AbsentTime if never
	left       model.Duration // requested time from the next start on
	demand     int32          // nodes that a reactive service is to have, 0 until that is said
	borrowed   bool
	leaving    bool   // preempted, still on its nodes
	resizing   bool   // another size is in flight
	seq        uint64 // of the last proposal to start it
	preemptSeq uint64 // of the last proposal to preempt it
	pastWalk   uint64 // last walk of ends in which it was past
	note       noted
}

// phase is where a job stands in the eyes of the core.
type phase uint8

const (
	gone     phase = iota
	queued         // may start
	proposed       // proposed, not answered
	withdrawn
	running
	dependent     // waits for others
	early         // waits for its eligible time, or is on hold
	unsatisfiable // can never start; its withdrawal is proposed
)

// kind is a distinct set of nodes that jobs may use.
type nodeChoice struct {
	vcluster    model.VClusterID
	constraint  model.ConstraintID
	partition   model.PartitionID
	reservation model.ReservationID

	mask    model.NodeSet // nodes of the vCluster or of nobody
	class   place.ClassID
	foreign model.NodeSet // nodes of others that could be borrowed, nil for none
	gpus    int32         // of the largest node, at least 1
	watts   int64         // of the hungriest node at work
	least   int64         // W of the node at work that draws least, borrowed ones included
	part    int64         // likewise of one GPU, rounded down
	all     bool          // every node of the site
}

// New returns the core of an idle site. cfg must be valid.
func New(cfg Config) *Core {
	s := &Core{cfg: cfg, site: cfg.Site, nodeClasses: model.NewMakes(cfg.Site), space: place.NewSpace(cfg.Site), graph: workflow.New(), price: cfg.Price}
	n := len(cfg.Site.Nodes)
	s.free = s.space.NewFree()
	s.ready = model.NewNodeSet(n)
	s.book = quota.New(&cfg.Quota)
	s.maxBook = cfg.maxBook()
	s.caps.Cap, s.caps.Pool = caps.Usage{Power: cfg.Site.PowerCap, Bandwidth: cfg.Site.Bandwidth}, cfg.Site.SensitivePool
	s.homes = make([]int32, len(cfg.Site.VClusters))
	s.lent = make([]int32, len(cfg.Site.VClusters))
	s.home = make([]model.NodeSet, len(cfg.Site.VClusters))
	for i := range s.home {
		s.home[i] = model.NewNodeSet(n)
	}
	for i := range cfg.Site.Nodes {
		node := &cfg.Site.Nodes[i]
		if node.Home >= 0 {
			s.home[node.Home].Add(model.NodeID(i))
			s.homes[node.Home]++
		}
		if node.State == model.Ready {
			s.ready.Add(model.NodeID(i))
		}
	}
	s.readyCount = s.ready.Len()
	s.vclusters = make([]queueState, len(cfg.Policies))
	for i := range s.vclusters {
		qs := &s.vclusters[i]
		*qs = newQueueState(model.VClusterID(i), &cfg.Policies[i], s.free, s.space, len(cfg.Site.Tenants)+1)
	}
	for i := range cfg.Site.Partitions {
		s.mostFactor = max(s.mostFactor, cfg.Site.Partitions[i].Factor)
	}
	for i := range cfg.Site.QOS {
		s.mostQOS = max(s.mostQOS, cfg.Site.QOS[i].Priority)
	}
	s.shares = newShares(&s.cfg)
	s.buf, s.idle = newBuffers(s.space, n), s.space.NewFree()
	s.idle.SetAllAvailable()
	return s
}

// Work returns the counters.
func (s *Core) Work() scheduler.Work { return s.work }

// Predicted is the predicted end of the running job under ref.
func (s *Core) Predicted(ref model.Ref) model.Time { return s.jobs[ref].predicted }

// Runs says whether the job under ref is running.
func (s *Core) Runs(ref model.Ref) bool { return s.jobs[ref].phase == running }

// FirstBlocked is the job that nobody behind it may delay under Easy, as the last pass of
// v found it, and the number of the last proposal before its turn: those of higher
// numbers are of jobs behind it. ok is false when there is none.
func (s *Core) FirstBlocked(v model.VClusterID) (ref model.Ref, since uint64, ok bool) {
	qs := &s.vclusters[v]
	return qs.reservation.Ref, qs.reservation.Since, qs.blocked && qs.reservation.Ref >= 0
}

// Consumed implements scheduler.Questions.
func (s *Core) Consumed(t model.TenantID, now model.Time) (node, gpu model.Duration) {
	return s.book.Consumed(t, now)
}

// Least is the smallest number of units (nodes, or GPUs where they are shared) that a
// waiting job could start on, 0 when no job waits. Its cost is that of the distinct
// request sizes.
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

// kindOf is the row of s.kinds for a, made when it is new. Distinct kinds are
// few, so they are searched one by one.
func (s *Core) kindOf(a *model.Allocation) *nodeChoice {
	for _, k := range s.kinds {
		if k.vcluster == a.VCluster && k.constraint == a.Constraint && k.partition == a.Partition && k.reservation == a.Reservation {
			return k
		}
	}
	return s.newKind(a)
}

func (s *Core) newKind(a *model.Allocation) *nodeChoice {
	k := &nodeChoice{vcluster: a.VCluster, constraint: a.Constraint, partition: a.Partition, reservation: a.Reservation, gpus: 1}
	may := s.space.Eligible(&s.site.Constraints[a.Constraint])
	if a.Partition >= 0 {
		may.And(s.site.Partitions[a.Partition].Nodes)
	}
	if a.Reservation >= 0 {
		may.And(s.site.Reservations[a.Reservation].Nodes)
	}
	k.mask = append(model.NodeSet(nil), may...)
	for v := range s.home {
		if model.VClusterID(v) == a.VCluster {
			continue
		}
		k.mask.AndNot(s.home[v])
		if s.site.VClusters[a.VCluster].Borrow && s.site.VClusters[v].Lend {
			if k.foreign == nil {
				k.foreign = model.NewNodeSet(len(s.site.Nodes))
			}
			k.foreign.Or(s.home[v])
		}
	}
	if k.foreign != nil {
		k.foreign.And(may)
	}
	k.class = s.space.Class(k.mask)
	k.all = int(k.mask.Len()) == len(s.site.Nodes)
	for n := k.mask.Next(0); n >= 0; n = k.mask.Next(n + 1) {
		k.gpus = max(k.gpus, s.site.Nodes[n].GPUs)
		k.watts = max(k.watts, s.site.Nodes[n].BusyPower)
	}
	k.least, k.part = s.leastPower(k)
	s.kinds = append(s.kinds, k)
	return k
}

// claimOf is what a takes from its tenant's limits on n nodes.
func (s *Core) claimOf(a *model.Allocation, k *nodeChoice, n int32) quota.Claim {
	return quota.Claim{Tenant: a.Tenant, QOS: a.QOS, Partition: a.Partition, User: a.User, Nodes: n, GPUs: n * k.gpusOf(a)}
}

// gpusOf is how many GPUs a counts with on each of its nodes.
func (k *nodeChoice) gpusOf(a *model.Allocation) int32 {
	if a.GPUs > 0 {
		return a.GPUs
	}
	return k.gpus
}

// demand is what a asks for before its nodes are known: the power that it
// states, else what as many of the hungriest nodes it may use can draw.
func needsOf(a *model.Allocation, k *nodeChoice) caps.Usage {
	u := caps.Usage{Power: a.Power, Bandwidth: a.IODemand}
	if u.Power == 0 {
		u.Power = k.watts * int64(a.NodesMin)
	}
	return u
}
