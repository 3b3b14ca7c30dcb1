package site_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
	"orrery/scheduler/site"
)

// stand drives a core by hand: every proposal is granted, jobs end when told.
type stand struct {
	*testing.T
	core *site.Core
	jobs []model.Allocation
	plan *scheduler.Plan
}

func newStand(t *testing.T, cfg site.Config) *stand {
	t.Helper()
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	return &stand{T: t, core: site.New(cfg)}
}

// submit brings a job of one node for an hour, whose id is the number of those
// before it.
func (s *stand) submit(at int64, traits ...func(*model.Allocation)) model.JobID {
	id := model.JobID(len(s.jobs))
	f := errand{submit: at, walltime: 3600, nodes: 1}.fact(int(id))
	for _, trait := range traits {
		trait(f.Alloc)
	}
	f.Walltime, f.Request.Units = f.Alloc.Walltime, f.Alloc.NodesMin
	s.jobs = append(s.jobs, *f.Alloc)
	s.fact(at, f)
	return id
}

// pass lets the core plan at an instant and grants what it proposes; it returns
// the ids of the jobs, in the order of the proposals.
func (s *stand) pass(at int64) []model.JobID {
	s.plan = s.core.Plan(seconds(at))
	var ids []model.JobID
	var facts []model.Fact
	for i := range s.plan.Proposals {
		p := &s.plan.Proposals[i]
		ids = append(ids, p.Job)
		facts = append(facts, model.Fact{Kind: model.FactAssigned, Job: p.Job, Ref: p.Ref, Seq: p.Seq, Placement: &p.Placement})
	}
	s.core.Observe(seconds(at), facts)
	return ids
}

func (s *stand) fact(at int64, f model.Fact) { s.core.Observe(seconds(at), []model.Fact{f}) }

func (s *stand) end(at int64, ids ...model.JobID) {
	for _, id := range ids {
		s.fact(at, model.Fact{Kind: model.FactEnded, Job: id, Ref: model.Ref(id), Outcome: model.Completed})
	}
}

// Traits of jobs.

func of(t model.TenantID) func(*model.Allocation) { return func(a *model.Allocation) { a.Tenant = t } }
func size(n int32) func(*model.Allocation) {
	return func(a *model.Allocation) { a.NodesMin, a.NodesMax = n, n }
}
func upTo(n int32) func(*model.Allocation)  { return func(a *model.Allocation) { a.NodesMax = n } }
func class(c int32) func(*model.Allocation) { return func(a *model.Allocation) { a.Class = c } }
func ckpt(c model.Checkpoint) func(*model.Allocation) {
	return func(a *model.Allocation) { a.Checkpoint = c }
}
func wall(seconds int64) func(*model.Allocation) {
	return func(a *model.Allocation) { a.Walltime = model.Duration(seconds) * model.Second }
}

// The tests below are named after the defects of Lattice that are not copied,
// which docs/INVARIANTS.md lists. Where the as-coded mode has the defect, it is
// shown beside.

// balanced is a policy of the documented mode with the weights of the balanced
// default.
func balanced(t *testing.T, b order.Backfill) site.Policy {
	w, err := score.Normalise([score.NumFactors]float64{.2, .2, .2, .15, .1, .05, 0, 0, .1})
	require.NoError(t, err)
	return site.Policy{Ranking: site.ByScore, Reference: model.Hour, Weights: w, Backfill: b}
}

func coded(t *testing.T) site.Policy {
	w, err := score.Raw([score.NumFactors]float64{.2, .2, .2, .15, .1, .05, 0, 0, .1})
	require.NoError(t, err)
	return site.Policy{AsCoded: true, Ranking: site.ByScore, Reference: model.Hour, Weights: w}
}

// fcfs looks at jobs in the order of submission.
func fcfs(b order.Backfill) site.Policy {
	return site.Policy{Ranking: site.ByOrder, Order: order.FCFS, Backfill: b}
}

func ids(n ...model.JobID) []model.JobID { return n }

// A large job that has waited for long comes before a small one that is new, on
// however many free nodes.
func TestDefectD02ConformanceIsCapped(t *testing.T) {
	started := func(p site.Policy) []model.JobID {
		p.Cycle = 7 * model.Day
		s := newStand(t, alike(256, p))
		s.submit(1, size(128), class(9))
		s.submit(7*86400, class(0))
		return s.pass(7 * 86400)
	}
	require.Equal(t, ids(0, 1), started(balanced(t, order.Easy)))
	require.Equal(t, ids(1, 0), started(coded(t)))
}

// Fractions of an hour count in the backlog, and the nodes of reactive work once.
func TestDefectD03BacklogOfFractions(t *testing.T) {
	backlog := func(running, queued func(*model.Allocation)) float64 {
		cfg := alike(8, balanced(t, order.Easy))
		s := newStand(t, cfg)
		s.submit(0, size(8), running)
		s.pass(0)
		s.submit(1, queued)
		s.pass(1)
		return s.core.Why(1, seconds(1)).Score.Factors[score.Backlog].Value.Float()
	}
	half := func(a *model.Allocation) { a.NodesMin, a.NodesMax, a.Walltime = 4, 4, 30*model.Minute }
	require.InDelta(t, .25, backlog(wall(3600), half), 1e-3)
	reactive := func(a *model.Allocation) {
		a.Kind, a.NodesMin, a.NodesMax, a.Walltime = model.Reactive, 2, 2, model.Forever
	}
	require.InDelta(t, .25, backlog(wall(86400), reactive), 1e-3)
}

// textbook is the example of backfilling, begun at an instant: of ten nodes eight
// are busy for two hours, the next job needs so many, and one of two nodes for
// this long comes after it. It says who starts.
func textbook(t *testing.T, p site.Policy, from int64, holder int32, length int64) []model.JobID {
	s := newStand(t, alike(10, p))
	s.submit(from, size(8), wall(7200))
	require.Equal(t, ids(0), s.pass(from))
	s.submit(from+1, size(holder), wall(3600), class(9))
	s.submit(from+1, size(2), wall(length), class(1))
	return s.pass(from + 1)
}

// Backfilling finds jobs, and does so whatever the date is.
func TestDefectD04BackfillReadsNoClock(t *testing.T) {
	for _, from := range []int64{0, 1_000_000_000, 4_000_000_000} {
		for _, p := range []site.Policy{balanced(t, order.Easy), fcfs(order.Easy)} {
			require.Equal(t, ids(2), textbook(t, p, from, 8, 3600))
			require.Equal(t, ids(2), textbook(t, p, from, 10, 3600))
			require.Empty(t, textbook(t, p, from, 10, 7201))
		}
	}
}

// What the first blocked job waits for is not given to others in the same pass.
func TestDefectD05ReservationInTheFirstLook(t *testing.T) {
	require.Empty(t, textbook(t, balanced(t, order.Easy), 0, 10, 3*3600))
	require.Equal(t, ids(2), textbook(t, balanced(t, order.FirstFit), 0, 10, 3*3600), "if asked for")
	require.Equal(t, ids(2), textbook(t, coded(t), 0, 10, 3*3600))
}

// A range takes what is left when all who fit have started.
func TestDefectD08RangesLeaveRoom(t *testing.T) {
	sizes := func(p site.Policy) (out []int32) {
		s := newStand(t, alike(10, p))
		s.submit(0, upTo(10), class(9))
		s.submit(0, size(4), class(1))
		s.pass(0)
		for i := range s.plan.Proposals {
			out = append(out, s.plan.Proposals[i].Placement.Nodes())
		}
		return out
	}
	require.Equal(t, []int32{6, 4}, sizes(balanced(t, order.Easy)))
	require.Equal(t, []int32{10}, sizes(coded(t)))
}

// Equal jobs, groups and nodes are taken in the order of their ids, in whatever
// order the facts came and whatever the refs are.
func TestDefectD09TiesEndInAnID(t *testing.T) {
	for _, p := range []site.Policy{balanced(t, order.Easy), coded(t), fcfs(order.FirstFit)} {
		rapid.Check(t, func(r *rapid.T) {
			cfg := alike(12, p)
			cfg.Site.Groups, cfg.Site.Fingerprints = make([]model.Group, 3), 2
			for n := range cfg.Site.Nodes {
				cfg.Site.Nodes[n].Group, cfg.Site.Nodes[n].Fingerprint = int32(n/4), int32(n%2)
			}
			run := func(order []int) []string {
				core := site.New(cfg)
				for ref, id := range order {
					f := errand{walltime: 60, nodes: int32(1 + id%3)}.fact(id)
					f.Ref = model.Ref(ref)
					core.Observe(0, []model.Fact{f})
				}
				var started []string
				for _, p := range core.Plan(0).Proposals {
					started = append(started, fmt.Sprint(p.Kind, p.Job, p.Placement))
				}
				return started
			}
			want := run([]int{0, 1, 2, 3, 4, 5, 6, 7})
			require.Equal(r, want, run(rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7}).Draw(r, "order")))
		})
	}
}

// tenanted is a site of n nodes of 4 GPUs with one tenant a limit.
func tenanted(n int, p site.Policy, limits ...model.Limits) site.Config {
	cfg := alike(n, p)
	for i := range cfg.Site.Nodes {
		cfg.Site.Nodes[i].GPUs = 4
	}
	for i := range limits {
		cfg.Site.Tenants = append(cfg.Site.Tenants, model.Tenant{Limits: limits[i]})
	}
	cfg.Quota.Tenants, cfg.Quota.GPUs = cfg.Site.Tenants, int64(4*n)
	return cfg
}

// A requeue takes nothing off the ledger.
func TestDefectD14RequeueKeepsConsumedHours(t *testing.T) {
	s := newStand(t, tenanted(2, fcfs(order.Easy), model.Limits{NodeBudget: 100 * model.Hour}))
	s.submit(0, of(0), size(2))
	require.Equal(t, ids(0), s.pass(0))
	s.fact(200, model.Fact{Kind: model.FactRequeued}) // between two accounting ticks
	node, _ := s.core.Ledger().Consumed(0, seconds(200))
	require.Equal(t, 400*model.Second, node)
	require.Equal(t, ids(0), s.pass(200))
	s.end(300, 0)
	node, gpu := s.core.Ledger().Consumed(0, seconds(300))
	require.Equal(t, 600*model.Second, node)
	require.Equal(t, 2400*model.Second, gpu)
}

// A requeue grants the whole request again, as Slurm does, also to a job that ran before a
// warm start and goes on there with what is left of it.
func TestRequeueGrantsTheWholeRequest(t *testing.T) {
	s := newStand(t, alike(1, fcfs(order.Easy)))
	f := errand{submit: 0, walltime: 60, nodes: 1}.fact(0)
	f.Walltime = 100 * model.Second // of which 40 s were over
	s.fact(0, f)
	require.Equal(t, ids(0), s.pass(0))
	require.Equal(t, seconds(60), s.core.Predicted(0))
	s.fact(10, model.Fact{Kind: model.FactRequeued})
	require.Equal(t, ids(0), s.pass(10))
	require.Equal(t, seconds(110), s.core.Predicted(0))
}

// What is suspended holds no nodes and counts against no limit.
func TestDefectD15SuspendedWorkCountsNothing(t *testing.T) {
	s := newStand(t, tenanted(4, fcfs(order.Easy), model.Limits{MaxNodes: 2, MaxConcurrent: 1}))
	s.submit(0, of(0), size(2))
	s.pass(0)
	s.submit(1, of(0), size(2), wall(60))
	require.Empty(t, s.pass(1), "the tenant is at its limit")
	s.fact(2, model.Fact{Kind: model.FactPreempted})
	require.Empty(t, s.pass(2), "while it writes as well")
	s.fact(3, model.Fact{Kind: model.FactSuspended, Value: int64(model.Hour)})
	require.Len(t, s.pass(3), 1, "the limit of one job and that of its nodes have room for a job again")
}

// Nodes that leave service under a job count with the GPUs that they have.
func TestDefectD16NodesOutOfServiceKeepTheirGPUs(t *testing.T) {
	s := newStand(t, tenanted(2, fcfs(order.Easy), model.Limits{GPUBudget: 100 * model.Hour}))
	s.submit(0, of(0), size(2))
	s.pass(0)
	s.fact(1800, model.Fact{Kind: model.FactNode, Node: 1, State: model.Draining})
	s.end(3600, 0)
	_, gpu := s.core.Ledger().Consumed(0, seconds(3600))
	require.Equal(t, 8*model.Hour, gpu)

	// As coded, the budget of the tenant is spent while its node is in service
	// only.
	started := func(state model.NodeState) []model.JobID {
		s := newStand(t, tenanted(3, coded(t), model.Limits{GPUBudget: 4 * model.Hour}))
		s.submit(0, of(0), wall(7200))
		s.pass(0)
		s.fact(1800, model.Fact{Kind: model.FactNode, Node: 0, State: state})
		s.submit(3600, of(0), class(9))
		s.submit(3600, class(5))
		return s.pass(3600)
	}
	require.Equal(t, ids(2, 1), started(model.Ready))
	require.Equal(t, ids(1, 2), started(model.Draining))
}

// Work that has ended counts against budgets.
func TestDefectD22BudgetsKnowHistory(t *testing.T) {
	started := func(p site.Policy) []model.JobID {
		s := newStand(t, tenanted(2, p, model.Limits{NodeBudget: model.Hour}, model.Limits{NodeBudget: model.Hour}))
		s.submit(0, of(0))
		s.pass(0)
		s.end(3600, 0)
		s.submit(4000, of(0))
		s.submit(4000, of(1))
		return s.pass(4000)
	}
	require.Equal(t, ids(2, 1), started(balanced(t, order.Easy)), "the first tenant has spent its budget")
	require.Equal(t, ids(1, 2), started(coded(t)))
}

// Without any node in service, each job waits for a reason that is told.
func TestDefectD23NoNodesStillGiveReasons(t *testing.T) {
	cfg := alike(2, balanced(t, order.Easy))
	cfg.Site.Nodes[0].State, cfg.Site.Nodes[1].State = model.Down, model.Drained
	s := newStand(t, cfg)
	s.submit(0)
	s.submit(0, size(2))
	require.Empty(t, s.pass(0))
	for ref := range model.Ref(2) {
		require.Equal(t, model.ReasonResources, s.core.Why(ref, 0).Reason)
	}
}

// A node that comes back is where it was: in its own group.
func TestDefectD24NodesComeBackToTheirGroup(t *testing.T) {
	cfg := alike(6, balanced(t, order.Easy))
	cfg.Site.Groups = make([]model.Group, 2)
	for n := range cfg.Site.Nodes {
		cfg.Site.Nodes[n].Group = int32(n / 3)
	}
	s := newStand(t, cfg)
	for n := range model.NodeID(3) {
		s.fact(0, model.Fact{Kind: model.FactNode, Node: 3 + n, State: model.Down})
		s.fact(0, model.Fact{Kind: model.FactNode, Node: 3 + n, State: model.Ready})
	}
	s.submit(0)
	s.pass(0)
	s.submit(1, size(3))
	s.pass(1)
	require.Equal(t, []model.NodeWord{{Mask: 0b111000}}, s.plan.Proposals[0].Placement.Words)
}

// Work of an unknown tenant is no better off than that of a tenant at
// its share, and one that asks for it is refused.
func TestDefectD28UnknownTenantsAreNotBetterOff(t *testing.T) {
	started := func(unknown quota.Unknown, p site.Policy) []model.JobID {
		cfg := tenanted(4, p, model.Limits{FairShare: model.One / 4})
		cfg.Quota.Unknown = unknown
		s := newStand(t, cfg)
		s.submit(0, of(0), wall(7200))
		s.pass(0)
		s.submit(400, of(0))
		s.submit(400)
		return s.pass(400)
	}
	require.Equal(t, ids(1, 2), started(quota.UnknownNone, balanced(t, order.Easy)), "f3 is 0 for both, and the id decides")
	require.Equal(t, ids(1), started(quota.UnknownReject, balanced(t, order.Easy)))
	require.Equal(t, ids(2, 1), started(quota.UnknownNone, coded(t)))
}
