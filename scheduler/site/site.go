// Package site is the scheduler core of a site whose nodes differ and that several
// vClusters share: each has its queue, its policy and its proposals in flight. What it
// does is docs/SCHEDULING.md, from which the naive implementation in its tests is
// written. It does not know who commits a plan or what time it is.
package site

import (
	"errors"
	"fmt"

	"orrery/scheduler"
	"orrery/scheduler/backfill"
	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/order"
	"orrery/scheduler/place"
	"orrery/scheduler/preempt"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
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
	case p.AsCoded && p.Ranking != ByScore:
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
	powerCap, used          usage
	pool                    int32    // most nodes of sensitive work, 0 for no bound
	queuedWork, runningWork int64    // GPU seconds asked for by waiting and by running jobs
	weighed                 [2]int64 // these, as they were when backlog was worked out
	backlogFactor           model.Fixed
	sensitive               int32   // nodes of sensitive work, running or in flight
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
	siteScratch
}

// queued is what a pass looks at of every waiting job, side by side in memory. What
// most passes look at comes first.
type waitingJob struct {
	static  model.Fixed
	wait    model.Fixed // weighted f2 at seen
	seen    model.Time
	bound   model.Fixed // ceiling of the terms that are its own
	rate    uint64      // growth of wait from then on at most, see score.Rate
	perNode model.Fixed // weighted f9 for each node of the largest group at most
	need    int32       // nodes
	size    int32       // index into lane.shapes
	tenant  int32       // index into lane.tenant
	tier    int32
	ref     model.Ref
	plain   bool // asks for nodes of its own alone

	borrows bool
	key     model.Fixed // score in the last pass, where the price is the same for all
	submit  model.Time
	left    model.Duration
	needs   usage // as far as it is stated
	class   place.ClassID
}

// usage is what is shared out beside the nodes.
type usage struct {
	power     int64 // W
	bandwidth int64 // B/s
}

// lane is one vCluster at work.
type queueState struct {
	id       model.VClusterID
	policy   *Policy
	free     *place.Free  // committed, less its own proposals in flight
	waiting  []waitingJob // candidates and held jobs, in no order
	index    boundIndex
	curve    score.Curve // of the wait
	sizes    []sizeClass // of the jobs met so far
	stamp    uint64      // changes with what is free
	inFlight []model.Ref // proposed, not answered
	// services are the reactive ones that run, by id.
	services []model.Ref
	ends     backfill.Ends

	dirty            bool       // something changed since the last pass
	quietUntil       model.Time // nothing changes before, if nothing is observed and the accounts stay
	accountsAt       model.Time // the accounts may change, which matters
	minScoreAt       model.Time // a job held by min_score may reach it
	belowMinScore    bool       // some job is held by min_score
	lastPass         model.Time // last pass, or tick of the cycle that needed none
	blocked          bool       // somebody waits for room
	underProvisioned bool       // a service is smaller than it is to be, for want of nodes
	orderHolds       bool       // somebody who may have room waits for the order alone

	best             model.Ref   // best of the last pass, -1 for none
	fastPath         bool        // the pass looked at the best job and those who may overtake it only
	contenders       []model.Ref // these
	settled          bool        // what the pass knew holds until something is observed but newcomers
	fresh            []model.Ref // they, since the last pass
	reservation      easyReservation
	plans            planning
	failedPreemption failedPreemption
	timeline         *backfill.Timeline
	tenant           []model.Fixed // weighted f3, at the last accounting tick
	penalty          []model.Fixed
	inverse          []model.Fixed // of the penalty
	figured          []figured     // what these are made of
	figuredAt        int64         // accounting tick up to which these are true of all members, -1 for none
	members          []int32       // of each in the queue
	global           model.Fixed   // weighted f6 and f7, when they were frozen last
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
	needs     usage
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
	gone phase = iota
	waiting
	proposed // proposed, not answered
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
	s.powerCap, s.pool = usage{cfg.Site.PowerCap, cfg.Site.Bandwidth}, cfg.Site.SensitivePool
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
		*qs = queueState{
			id: model.VClusterID(i), policy: &cfg.Policies[i], free: s.space.NewFree(),
			best: -1, figuredAt: -1, quietUntil: model.Never, accountsAt: model.Never, minScoreAt: model.Never, lastPass: model.AbsentTime,
			tenant: make([]model.Fixed, len(cfg.Site.Tenants)+1), penalty: make([]model.Fixed, len(cfg.Site.Tenants)+1),
		}
		qs.figured, qs.members = make([]figured, len(qs.tenant)), make([]int32, len(qs.tenant))
		qs.inverse = make([]model.Fixed, len(qs.tenant))
		for t := range qs.figured {
			qs.figured[t].tick = -1
		}
		qs.free.CopyFrom(s.free)
		if qs.policy.Ranking == ByScore {
			qs.curve = score.CurveOf(qs.policy.Reference)
		}
		if qs.policy.fastPath() {
			qs.index = newBoundIndex(len(qs.tenant))
		}
		qs.sizeOfRequest(s.space.Class(nil), 0)
		qs.sizeOfRequest(s.space.Class(nil), 1)
		qs.reservation.forecast = s.space.NewFree()
		qs.plans.planned, qs.plans.due = model.AbsentTime, model.Never
		if qs.policy.Backfill == order.Conservative {
			qs.timeline = backfill.NewTimeline(n)
		}
	}
	for i := range cfg.Site.Partitions {
		s.mostFactor = max(s.mostFactor, cfg.Site.Partitions[i].Factor)
	}
	for i := range cfg.Site.QOS {
		s.mostQOS = max(s.mostQOS, cfg.Site.QOS[i].Priority)
	}
	s.shares = newShares(&s.cfg)
	s.siteScratch = newSiteScratch(s.space, n)
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
	return qs.reservation.ref, qs.reservation.since, qs.blocked && qs.reservation.ref >= 0
}

// Consumed implements scheduler.Questions.
func (s *Core) Consumed(t model.TenantID, now model.Time) (node, gpu model.Duration) {
	return s.book.Consumed(t, now)
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
func needsOf(a *model.Allocation, k *nodeChoice) usage {
	u := usage{a.Power, a.IODemand}
	if u.power == 0 {
		u.power = k.watts * int64(a.NodesMin)
	}
	return u
}
