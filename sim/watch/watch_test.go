package watch

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

const sec = model.Time(model.Second)

// testSite is two vClusters of two nodes each, and one node for both.
//
//	node         0      1      2      3      4
//	home         a      a      b      b      -
//	fingerprint  0      0      1      1      unknown
func testSite() *model.Site {
	s := &model.Site{
		Groups: []model.Group{{Name: "g"}}, Fingerprints: 2,
		Constraints: []model.Constraint{{GPUType: -1}, {GPUType: -1, Memory: 100}},
		VClusters: []model.VCluster{
			{Name: "a", Borrow: true, Lend: true, MaxLent: model.One / 2}, {Name: "b", Borrow: true, Lend: true, MaxLent: model.One / 2},
		},
		Tenants:      []model.Tenant{{Name: "ada", Limits: model.Limits{MaxNodes: 3, MaxConcurrent: 2}}},
		QOS:          []model.QOS{{Name: "q", Class: -1, MaxNodes: 2, GroupJobs: 1}},
		Partitions:   []model.Partition{{Name: "p", Nodes: model.NodeSet{1}, Up: true}, {Name: "shut", Nodes: model.NodeSet{31}}},
		Reservations: []model.Reservation{{Name: "r", Nodes: model.NodeSet{16}, Start: 1000 * sec, End: 2000 * sec}},
	}
	for i := range 5 {
		n := model.Node{
			Name: fmt.Sprint("n", i), Home: model.VClusterID(i / 2), Fingerprint: int32(i / 2), GPUType: -1, Topology: -1, GPUs: 4, Memory: 50, BusyPower: 100,
		}
		if i == 4 {
			n.Home, n.Fingerprint = -1, -1
		}
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

// forged is a log as a test makes it up.
type forged struct {
	*Watcher
	seq uint64
}

func forge(change func(*Config)) *forged {
	l := &forged{}
	cfg := Config{Site: testSite(), Policies: []Policy{{Preempts: true, MaxVictims: 1}, {}}}
	if change != nil {
		change(&cfg)
	}
	l.Watcher = New(cfg)
	return l
}

// submit adds a job of vCluster a for one node and 10 s.
func (l *forged) submit(at model.Time, id model.JobID, change ...func(*model.Allocation)) {
	a := &model.Allocation{
		Job: id, ID: int64(id) + 100, Submit: at, Eligible: at, Walltime: 10 * model.Second, NodesMin: 1, NodesMax: 1,
		Tenant: -1, QOS: -1, Partition: -1, Reservation: -1, TaskGroup: -1, DAG: -1, User: -1, Class: 5, MaxRequeue: 1,
	}
	for _, c := range change {
		c(a)
	}
	l.Fact(at, &model.Fact{Kind: model.FactSubmitted, Job: id, Ref: model.Ref(id), Submit: at, Walltime: a.Walltime, Alloc: a})
}

// requeued has a job that ran before a warm start, for 20 s of the 30 s that it asked for,
// fail at once and run for so long then.
func (l *forged) requeued(runs model.Duration) {
	a := &model.Allocation{Walltime: 10 * model.Second, NodesMin: 1, NodesMax: 1, Tenant: -1, QOS: -1, Partition: -1, Reservation: -1, TaskGroup: -1, DAG: -1, User: -1, MaxRequeue: 1}
	l.Fact(0, &model.Fact{Kind: model.FactSubmitted, Walltime: 30 * model.Second, Alloc: a})
	l.start(0, 0, 0)
	l.fact(sec, model.FactRequeued, 0)
	l.start(sec, 0, 0)
	l.fact(sec.Add(runs), model.FactEnded, 0)
}

func on(nodes ...int) model.Placement {
	w := model.NodeWord{}
	for _, n := range nodes {
		w.Mask |= 1 << n
	}
	return model.Placement{Words: []model.NodeWord{w}}
}

func (l *forged) propose(at model.Time, p model.Proposal) uint64 {
	l.seq++
	p.Seq, p.Ref = l.seq, model.Ref(p.Job)
	l.Proposed(at, &p)
	return l.seq
}

func (l *forged) grant(at model.Time, id model.JobID, seq uint64, p model.Placement) {
	l.Fact(at, &model.Fact{Kind: model.FactAssigned, Job: id, Ref: model.Ref(id), Seq: seq, Placement: &p})
}

// start proposes and grants.
func (l *forged) start(at model.Time, id model.JobID, nodes ...int) {
	l.grant(at, id, l.propose(at, model.Proposal{Job: id, Placement: on(nodes...)}), on(nodes...))
}

func (l *forged) borrow(at model.Time, id model.JobID, nodes ...int) {
	l.grant(at, id, l.propose(at, model.Proposal{Job: id, Borrowed: true, Placement: on(nodes...)}), on(nodes...))
}

func (l *forged) fact(at model.Time, kind model.FactKind, id model.JobID) {
	l.Fact(at, &model.Fact{Kind: kind, Job: id, Ref: model.Ref(id), Outcome: model.Completed})
}

func (l *forged) gone(at model.Time, id model.JobID, outcome model.JobState) {
	l.Fact(at, &model.Fact{Kind: model.FactGone, Job: id, Outcome: outcome})
}

func (l *forged) node(at model.Time, n model.NodeID, state model.NodeState) {
	l.Fact(at, &model.Fact{Kind: model.FactNode, Node: n, State: state})
}

func (l *forged) preempt(at model.Time, cause, victim model.JobID) {
	seq := l.propose(at, model.Proposal{Kind: model.ProposePreempt, Job: cause, Victim: model.Ref(victim)})
	l.Fact(at, &model.Fact{Kind: model.FactPreempted, Job: victim, Ref: model.Ref(victim), Seq: seq})
}

// charges has a job of tenant ada fail after 6 s and start again; the scheduler has
// booked so much for it then, and so much 4 s later.
func (l *forged) charges(first, second model.Duration) {
	l.cfg.Ledger = func(_ model.TenantID, now model.Time) (node, gpu model.Duration) {
		switch {
		case now < 6*sec:
			return 0, 0
		case now < 10*sec:
			return first, 4 * first
		}
		return second, 4 * second
	}
	l.submit(0, 0, tenant)
	l.start(0, 0, 0)
	l.fact(6*sec, model.FactRequeued, 0)
	l.start(6*sec, 0, 0)
	l.fact(10*sec, model.FactEnded, 0)
}

// queue has a job of one node start that lasts a minute, while another of three nodes
// has no room until 10 s.
func (l *forged) queue(span model.Duration) {
	l.submit(0, 0, wants(2))
	l.start(0, 0, 0, 1)
	l.submit(1*sec, 1, wants(3), lasts(span))
	l.submit(1*sec, 2, lasts(model.Minute))
	l.start(1*sec, 2, 4)
}

// beside has a job start for a span beside one that holds 100 W and 5 B/s until 10 s,
// while another of two nodes has no room until then.
func (l *forged) beside(span model.Duration, blocked, starts func(*model.Allocation)) {
	l.submit(0, 0, draws(100), reads(5))
	l.start(0, 0, 0)
	l.submit(1*sec, 1, wants(2), draws(1), blocked)
	l.submit(1*sec, 2, lasts(span), draws(1), starts)
	l.start(1*sec, 2, 4)
}

// alike has a job start on a node for a minute, while sensitive work waits for two.
func (l *forged) alike(node int) {
	l.submit(0, 0)
	l.start(0, 0, 0)
	l.submit(1*sec, 1, wants(2), sensitive)
	l.submit(1*sec, 2, lasts(model.Minute))
	l.start(1*sec, 2, node)
}

// aside has a job start for a span, while another waits for the end of the advance
// reservation.
func (l *forged) aside(span model.Duration) {
	l.submit(0, 0, wants(3), lasts(1500*model.Second))
	l.submit(0, 1, lasts(span))
	l.start(0, 1, 0)
}

// divided has a job start for a minute on two GPUs of a node, while another waits for
// all of three nodes.
func (l *forged) divided(node model.NodeID) {
	p := func(n model.NodeID, gpus uint64) model.Placement {
		return model.Placement{Shares: []model.NodeShare{{Node: n, Units: 2, GPUs: gpus}}}
	}
	l.submit(0, 0, parts)
	l.grant(0, 0, l.propose(0, model.Proposal{Placement: p(0, 3)}), p(0, 3))
	l.submit(1*sec, 1, wants(3))
	l.submit(1*sec, 2, parts, lasts(model.Minute))
	l.grant(1*sec, 2, l.propose(1*sec, model.Proposal{Job: 2, Borrowed: node == 2, Placement: p(node, 12)}), p(node, 12))
}

// Changes of a job.
func wants(n int32) func(*model.Allocation) {
	return func(a *model.Allocation) { a.NodesMin, a.NodesMax = n, n }
}
func class(c int32) func(*model.Allocation) { return func(a *model.Allocation) { a.Class = c } }
func sensitive(a *model.Allocation)         { a.Sensitive = true }
func tenant(a *model.Allocation)            { a.Tenant = 0 }
func inB(a *model.Allocation)               { a.VCluster = 1 }
func quality(a *model.Allocation)           { a.QOS = 0 }
func part(p model.PartitionID) func(*model.Allocation) {
	return func(a *model.Allocation) { a.Partition = p }
}
func member(a *model.Allocation) { a.TaskGroup, a.MaxConcurrent = 7, 1 }
func after(id model.JobID, c model.Condition) func(*model.Allocation) {
	return func(a *model.Allocation) {
		a.Deps = append(a.Deps, model.Dependency{On: id, Condition: c, Mutex: int32(id)})
	}
}
func parts(a *model.Allocation) { a.GPUs = 2 }

// divide has two jobs of one CPU share a GPU of n0 by these thousandths, and a third take
// CPUs of its eight.
func (l *forged) divide(one, two, cpus int32) {
	for i := range l.site.Nodes {
		l.site.Nodes[i].CPUs = 8
	}
	l.site.Amounts, l.ledger.amounts = true, newAmounts(&model.Site{Amounts: true, Nodes: l.site.Nodes})
	for i, a := range []model.Amounts{{CPUs: 1, GPUMilli: one}, {CPUs: 1, GPUMilli: two}, {CPUs: cpus}} {
		h := model.NodeShare{Node: 0, GPUs: uint64(min(a.GPUMilli, 1)) << 2, Amounts: a}
		l.submit(0, model.JobID(i), func(x *model.Allocation) { x.Amounts = a })
		p := model.Placement{Shares: []model.NodeShare{h}}
		l.grant(0, model.JobID(i), l.propose(0, model.Proposal{Job: model.JobID(i), Placement: p}), p)
	}
}
func lasts(d model.Duration) func(*model.Allocation) {
	return func(a *model.Allocation) { a.Walltime = d }
}
func draws(watts int64) func(*model.Allocation) { return func(a *model.Allocation) { a.Power = watts } }
func reads(perSecond int64) func(*model.Allocation) {
	return func(a *model.Allocation) { a.IODemand = perSecond }
}

func records(c *Config) { c.Records = true }
func noLedger(c *Config) {
	c.Site.Reservations = nil
	c.Policies = []Policy{{Order: fcfs, Easy: true}, {}}
}
func easy(o Order) func(*Config) {
	return func(c *Config) {
		noLedger(c)
		c.Policies[0].Order = o
	}
}

func keepBooks(c *Config) { c.Policies = []Policy{{Order: fcfs, Easy: true}, {}} }
func caps(c *Config) {
	noLedger(c)
	c.Site.PowerCap, c.Site.Bandwidth = 250, 10
}
func power(c *Config)   { c.Site.PowerCap = 150 }
func storage(c *Config) { c.Site.Bandwidth = 10 }
func pool(c *Config)    { c.Site.SensitivePool = 1 }
func shut(c *Config)    { c.Site.VClusters[0].Borrow = false }

// forgedLog breaks the invariant of a number, none if it is 0.
type forgedLog struct {
	number int
	what   string
	change func(*Config)
	log    func(l *forged)
}

// TestForgedLogs: each invariant fires when a log breaks it, and only that.
func TestForgedLogs(t *testing.T) {
	for _, c := range slices.Concat([]forgedLog{
		{0, "nothing is wrong", nil, func(l *forged) {
			l.submit(0, 0)
			l.submit(1*sec, 1, wants(2))
			l.start(1*sec, 0, 0)
			l.borrow(2*sec, 1, 1, 2)
			l.fact(5*sec, model.FactEnded, 0)
			l.fact(12*sec, model.FactEnded, 1)
			l.Finish(End{Rows: 2, Dropped: 0, Unfinished: 0})
		}},
		{0, "a victim of a lower class, and its return", nil, func(l *forged) {
			l.submit(0, 0, class(1))
			l.start(0, 0, 0)
			l.submit(1*sec, 1, class(6))
			l.preempt(1*sec, 1, 0)
			l.Fact(3*sec, &model.Fact{Kind: model.FactSuspended, Value: int64(8 * model.Second)})
			l.start(3*sec, 1, 0)
			l.fact(5*sec, model.FactEnded, 1)
			l.start(5*sec, 0, 1)
			l.fact(13*sec, model.FactEnded, 0)
			l.Finish(End{Rows: 2, Dropped: 0, Unfinished: 0})
		}},
		{0, "two jobs share a node by GPU", nil, func(l *forged) {
			for i := range model.JobID(2) {
				l.submit(0, i, parts)
				p := model.Placement{Shares: []model.NodeShare{{Node: 0, Units: 2, GPUs: 3 << (2 * i)}}}
				l.grant(0, i, l.propose(0, model.Proposal{Job: i, Placement: p}), p)
			}
		}},
		{1, "time runs back", nil, func(l *forged) { l.submit(5*sec, 0); l.node(4*sec, 0, model.Draining) }},
		{2, "a second submission", nil, func(l *forged) { l.submit(0, 0); l.submit(0, 0) }},
		{2, "an end of no job", nil, func(l *forged) { l.fact(0, model.FactEnded, 3) }},
		{2, "a job leaves twice", nil, func(l *forged) {
			l.submit(0, 0)
			l.fact(1*sec, model.FactCancelled, 0)
			l.fact(1*sec, model.FactCancelled, 0)
		}},
		{2, "a row is not accounted for", records, func(l *forged) { l.Finish(End{Rows: 1, Dropped: 0, Unfinished: 0}) }},
		{2, "a job is lost", nil, func(l *forged) { l.submit(0, 0); l.Finish(End{Rows: 1, Dropped: 0, Unfinished: 0}) }},
		{2, "an attempt that is not recorded", records, func(l *forged) {
			l.submit(0, 0)
			l.start(0, 0, 0)
			l.fact(1*sec, model.FactEnded, 0)
		}},
		{2, "that a job is over which is in the system", nil, func(l *forged) { l.submit(0, 0); l.gone(0, 0, model.Rejected) }},
		{2, "a job is told to be over without an end", nil, func(l *forged) { l.gone(0, 0, model.Pending) }},
		{0, "jobs that never come are told", nil, func(l *forged) {
			l.gone(0, 0, model.Completed)
			l.gone(0, 1, model.Rejected)
			l.submit(1*sec, 2, after(0, model.AfterOK), after(1, model.AfterNotOK))
			l.start(1*sec, 2, 0)
			l.fact(5*sec, model.FactEnded, 2)
			l.Finish(End{Rows: 1, Whole: true})
		}},
		{0, "a row for which a job waits may still come", nil, func(l *forged) {
			l.submit(0, 1, after(0, model.AfterAny))
			l.Finish(End{Rows: 1, Unfinished: 1})
		}},
		{34, "a job waits for a row of which the log has nothing", nil, func(l *forged) {
			l.submit(0, 1, after(0, model.AfterAny))
			l.Finish(End{Rows: 1, Unfinished: 1, Whole: true})
		}},
		{34, "a job waits for the success of one that never comes", nil, func(l *forged) {
			l.gone(0, 0, model.Rejected)
			l.submit(0, 1, after(0, model.AfterOK))
			l.Finish(End{Rows: 1, Unfinished: 1})
		}},
		{34, "a job whose dependencies hold is in no queue", func(c *Config) { c.Aside = func() map[model.JobID]bool { return map[model.JobID]bool{1: true} } }, func(l *forged) {
			l.gone(0, 0, model.Rejected)
			l.submit(0, 1, after(0, model.AfterAny))
			l.Finish(End{Rows: 1, Unfinished: 1})
		}},
		{3, "an end of a job that waits", nil, func(l *forged) { l.submit(0, 0); l.fact(0, model.FactSuspended, 0) }},
		{3, "suspended without a checkpoint", nil, func(l *forged) { l.submit(0, 0); l.start(0, 0, 0); l.fact(0, model.FactSuspended, 0) }},
		{3, "requeued too often", nil, func(l *forged) {
			l.submit(0, 0)
			for range 2 {
				l.start(0, 0, 0)
				l.fact(0, model.FactRequeued, 0)
			}
		}},
		{4, "a start before the eligible time", nil, func(l *forged) {
			l.submit(0, 0, func(a *model.Allocation) { a.Eligible = 9 * sec })
			l.start(0, 0, 0)
		}},
		{4, "a start on hold", nil, func(l *forged) { l.submit(0, 0, func(a *model.Allocation) { a.Hold = true }); l.start(0, 0, 0) }},
		{5, "one node for two", nil, func(l *forged) { l.submit(0, 0); l.submit(0, 1); l.start(0, 0, 0); l.start(0, 1, 0) }},
		{5, "one GPU for two", nil, func(l *forged) {
			for i := range model.JobID(2) {
				l.submit(0, i, parts)
				p := model.Placement{Shares: []model.NodeShare{{Node: 0, Units: 2, GPUs: 6 >> i}}}
				l.grant(0, i, l.propose(0, model.Proposal{Job: i, Placement: p}), p)
			}
		}},
		{0, "two halves of a GPU, and CPUs beside them", nil, func(l *forged) { l.divide(500, 500, 2) }},
		{5, "more than a GPU", nil, func(l *forged) { l.divide(500, 501, 2) }},
		{5, "more CPUs than there are", nil, func(l *forged) { l.divide(500, 500, 7) }},
		{6, "a start without a proposal", nil, func(l *forged) { l.submit(0, 0); l.grant(0, 0, 9, on(0)) }},
		{6, "a start on other nodes than proposed", nil, func(l *forged) {
			l.submit(0, 0)
			l.grant(0, 0, l.propose(0, model.Proposal{Placement: on(0)}), on(1))
		}},
		{6, "two proposals for one job", nil, func(l *forged) {
			l.submit(0, 0)
			l.propose(0, model.Proposal{Placement: on(0)})
			l.propose(0, model.Proposal{Placement: on(1)})
		}},
		{6, "too few nodes", nil, func(l *forged) { l.submit(0, 0, wants(2)); l.start(0, 0, 0) }},
		{6, "a node that is not there", nil, func(l *forged) { l.submit(0, 0); l.start(0, 0, 9) }},
		{7, "beyond the request", nil, func(l *forged) { l.submit(0, 0); l.start(0, 0, 0); l.fact(11*sec, model.FactEnded, 0) }},
		{0, "the whole request after a requeue, though the job ran before a warm start", nil, func(l *forged) { l.requeued(30 * model.Second) }},
		{7, "more than the whole request after a requeue", nil, func(l *forged) { l.requeued(31 * model.Second) }},
		{15, "a node that drains", nil, func(l *forged) { l.submit(0, 0); l.node(0, 0, model.Draining); l.start(0, 0, 0) }},
		{16, "a node goes from ready to drained", nil, func(l *forged) { l.node(0, 0, model.Drained) }},
		{16, "a job on a node that is down", nil, func(l *forged) {
			l.submit(0, 0)
			l.start(0, 0, 0)
			l.node(1*sec, 0, model.Down)
			l.node(2*sec, 1, model.Draining)
		}},
		{17, "a node without the memory asked for", nil, func(l *forged) {
			l.submit(0, 0, func(a *model.Allocation) { a.Constraint = 1 })
			l.start(0, 0, 0)
		}},
		{17, "a node outside the partition", nil, func(l *forged) { l.submit(0, 0, part(0)); l.start(0, 0, 1) }},
		{18, "another's node, not borrowed", nil, func(l *forged) { l.submit(0, 0); l.start(0, 0, 2) }},
		{18, "borrowed by a vCluster that does not borrow", shut, func(l *forged) { l.submit(0, 0); l.borrow(0, 0, 2) }},
		{18, "borrowed for sensitive work", nil, func(l *forged) { l.submit(0, 0, sensitive); l.borrow(0, 0, 2) }},
		{19, "more lent than half", nil, func(l *forged) { l.submit(0, 0, wants(2)); l.borrow(0, 0, 2, 3) }},
		{20, "two fingerprints", nil, func(l *forged) {
			l.submit(0, 0, wants(2), sensitive)
			l.start(0, 0, 0, 4)
		}},
		{20, "an unknown fingerprint", nil, func(l *forged) { l.submit(0, 0, sensitive); l.start(0, 0, 4) }},
		{20, "more than the pool", pool, func(l *forged) { l.submit(0, 0, sensitive, wants(2)); l.start(0, 0, 0, 1) }},
		{21, "more nodes than the tenant may hold", nil, func(l *forged) {
			l.submit(0, 0, tenant, wants(2))
			l.submit(0, 1, tenant, wants(2), inB)
			l.start(0, 0, 0, 1)
			l.start(0, 1, 2, 3)
		}},
		{21, "more jobs than the tenant may run", nil, func(l *forged) {
			for i := range model.JobID(3) {
				l.submit(0, i, tenant, func(a *model.Allocation) { a.VCluster = model.VClusterID(i / 2) })
				l.start(0, i, int(i))
			}
		}},
		{21, "a limit that was lowered", nil, func(l *forged) {
			l.Fact(0, &model.Fact{Kind: model.FactLimits, Limits: &model.Limits{MaxNodes: 1}})
			l.submit(0, 0, tenant, wants(2))
			l.start(0, 0, 0, 1)
		}},
		{22, "too many nodes for its QOS", nil, func(l *forged) { l.submit(0, 0, quality, wants(3)); l.start(0, 0, 0, 1, 4) }},
		{22, "too many jobs of a QOS", nil, func(l *forged) {
			l.submit(0, 0, quality)
			l.submit(0, 1, quality)
			l.start(0, 0, 0)
			l.start(0, 1, 1)
		}},
		{22, "a partition that is down", nil, func(l *forged) { l.submit(0, 0, part(1)); l.start(0, 0, 0) }},
		{23, "too many of a task group", nil, func(l *forged) {
			l.submit(0, 0, member)
			l.submit(0, 1, member)
			l.start(0, 0, 0)
			l.start(0, 1, 1)
		}},
		{23, "a mutex held twice", nil, func(l *forged) {
			l.submit(0, 0, after(3, model.Mutex))
			l.submit(0, 1, after(3, model.Mutex))
			l.start(0, 0, 0)
			l.start(0, 1, 1)
		}},
		{24, "too much power", power, func(l *forged) { l.submit(0, 0, wants(2)); l.start(0, 0, 0, 1) }},
		{24, "a power cap that was set", nil, func(l *forged) {
			l.Fact(0, &model.Fact{Kind: model.FactPower, Value: 50})
			l.submit(0, 0)
			l.start(0, 0, 0)
		}},
		{24, "too much storage bandwidth", storage, func(l *forged) { l.submit(0, 0, func(a *model.Allocation) { a.IODemand = 11 }); l.start(0, 0, 0) }},
		{25, "a victim of the same class", nil, func(l *forged) {
			l.submit(0, 0)
			l.start(0, 0, 0)
			l.submit(0, 1)
			l.preempt(0, 1, 0)
		}},
		{25, "a sensitive victim", nil, func(l *forged) {
			l.submit(0, 0, class(1), sensitive)
			l.start(0, 0, 0)
			l.submit(0, 1)
			l.preempt(0, 1, 0)
		}},
		{25, "preemption where it is off", nil, func(l *forged) {
			l.submit(0, 0, class(1), inB)
			l.start(0, 0, 2)
			l.submit(0, 1, inB)
			l.preempt(0, 1, 0)
		}},
		{26, "a start before its predecessor ends", nil, func(l *forged) {
			l.submit(0, 0)
			l.submit(0, 1, after(0, model.AfterAny))
			l.start(0, 1, 0)
		}},
		{26, "success of a predecessor that was withdrawn", nil, func(l *forged) {
			l.submit(0, 0)
			l.submit(0, 1, after(0, model.AfterOK))
			l.fact(0, model.FactCancelled, 0)
			l.start(0, 1, 0)
		}},
		{27, "into a reservation", nil, func(l *forged) { l.submit(995*sec, 0); l.start(995*sec, 0, 4) }},
		{28, "a start that delays the first blocked job", noLedger, func(l *forged) {
			l.submit(0, 0, wants(2))
			l.start(0, 0, 0, 1)
			l.submit(1*sec, 1, wants(3))
			l.submit(1*sec, 2, func(a *model.Allocation) { a.Walltime = model.Minute })
			l.start(1*sec, 2, 4)
		}},
		{28, "where the order puts the blocked job first", easy(sjf), func(l *forged) { l.queue(5 * model.Second) }},
		{0, "where the order puts it last", easy(ljf), func(l *forged) { l.queue(5 * model.Second) }},
		{0, "where the order is not known", easy(orderUnknown), func(l *forged) { l.queue(5 * model.Second) }},
		{28, "power that the blocked job counts on", caps, func(l *forged) { l.beside(model.Minute, draws(200), draws(100)) }},
		{0, "power that it can spare", caps, func(l *forged) { l.beside(model.Minute, draws(200), draws(50)) }},
		{28, "bandwidth that it counts on", caps, func(l *forged) { l.beside(model.Minute, reads(8), reads(3)) }},
		{0, "bandwidth that comes back in time", caps, func(l *forged) { l.beside(9*model.Second, reads(8), reads(3)) }},
		{28, "nodes of its fingerprint", noLedger, func(l *forged) { l.alike(1) }},
		{0, "nodes of another fingerprint", noLedger, func(l *forged) { l.alike(4) }},
		{28, "beyond the end of a reservation in its way", keepBooks, func(l *forged) { l.aside(2500 * model.Second) }},
		{0, "until it ends", keepBooks, func(l *forged) { l.aside(1900 * model.Second) }},
		{28, "GPUs that it counts on", func(c *Config) { noLedger(c); c.Shared = true }, func(l *forged) { l.divided(0) }},
		{0, "GPUs of a node at home elsewhere", func(c *Config) { noLedger(c); c.Shared = true }, func(l *forged) { l.divided(2) }},
		{0, "while others leave for a job", func(c *Config) { noLedger(c); c.Policies[0].Preempts, c.Policies[0].MaxVictims = true, 1 }, func(l *forged) {
			l.submit(0, 0, wants(2), class(1))
			l.start(0, 0, 0, 1)
			l.submit(1*sec, 1, wants(3))
			l.preempt(1*sec, 1, 0)
			l.submit(1*sec, 2, lasts(model.Minute))
			l.start(1*sec, 2, 4)
		}},
		{29, "a ledger that forgets", nil, func(l *forged) { l.charges(6*model.Second, 5*model.Second) }},
		{29, "a ledger that invents", nil, func(l *forged) { l.charges(7*model.Second, 10*model.Second) }},
		{30, "more work kept than done", records, func(l *forged) {
			l.submit(0, 0)
			l.start(0, 0, 0)
			l.Attempt(&model.AttemptRecord{Attempt: 1, Nodes: 1, End: 5 * sec, Kept: 6 * model.Second})
		}},
		{30, "work lost from the record", records, func(l *forged) {
			l.submit(0, 0)
			l.start(0, 0, 0)
			l.Attempt(&model.AttemptRecord{Attempt: 1, Nodes: 1, End: 5 * sec, Kept: 5 * model.Second})
			l.fact(5*sec, model.FactEnded, 0)
			l.Job(&model.JobRecord{State: model.Completed, Attempts: 1, End: 5 * sec, Runtime: 4 * model.Second, Allocated: model.Holding{Nodes: int64(5 * sec)}})
		}},
		{29, "node time lost from the record", records, func(l *forged) {
			l.submit(0, 0)
			l.start(0, 0, 0)
			l.Attempt(&model.AttemptRecord{Attempt: 1, Nodes: 1, End: 5 * sec, Kept: 5 * model.Second})
			l.fact(5*sec, model.FactEnded, 0)
			l.Job(&model.JobRecord{State: model.Completed, Attempts: 1, End: 5 * sec, Runtime: 5 * model.Second})
		}},
	}, forgedServices, forgedPromises, forgedCaps) {
		t.Run(fmt.Sprint(c.number, " ", c.what), func(t *testing.T) {
			l := forge(c.change)
			c.log(l)
			if c.number == 0 {
				require.Empty(t, l.Breaches)
				return
			}
			require.NotEmpty(t, l.Breaches)
			for _, b := range l.Breaches {
				require.Equal(t, c.number, b.Invariant, "%s", b)
				require.NotEmpty(t, b.Found)
				require.NotEmpty(t, b.Expected)
			}
		})
	}
}
