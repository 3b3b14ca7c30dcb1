package world

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/traces"
)

const at = model.Time(sec)

// smallSite is n nodes of 4 GPUs and 8 CPUs in one vCluster.
func smallSite(n int) *model.Site {
	s := &model.Site{
		Groups: []model.Group{{Name: "g0"}}, Fingerprints: 1,
		VClusters: []model.VCluster{{Name: "batch"}}, Tenants: []model.Tenant{{Name: "ada"}, {Name: "bob"}},
	}
	for i := range n {
		s.Nodes = append(s.Nodes, model.Node{
			Name: fmt.Sprintf("n%d", i), Home: 0, GPUs: 4, CPUs: 8, GPUMemory: 25, Memory: 1000, Topology: -1, IdlePower: 100, BusyPower: 300,
		})
	}
	return s
}

// row is a job of one node for 10 s of at most 20 s.
func row(id int64, submit model.Time, change ...func(*traces.Job)) traces.Job {
	j := traces.Job{
		ID: id, Submit: submit, Runtime: traces.Some(10 * sec), Walltime: traces.Some(20 * sec), NodesMin: traces.Some[int32](1),
	}
	for _, c := range change {
		c(&j)
	}
	return j
}

// batchOf makes a batch of rows.
func batchOf(rows ...traces.Job) *traces.Batch {
	b := &traces.Batch{Attr: &traces.Attributes{}}
	or := func(o traces.Opt[int32]) int32 {
		if o.OK {
			return o.V
		}
		return traces.Absent
	}
	for i := range rows {
		r := &rows[i]
		b.ID, b.Submit, b.User = append(b.ID, r.ID), append(b.Submit, r.Submit), append(b.User, -1)
		b.Start = append(b.Start, model.AbsentTime)
		runtime, walltime, cancelled := model.AbsentDuration, model.AbsentDuration, model.AbsentTime
		if r.Runtime.OK {
			runtime = r.Runtime.V
		}
		if r.Walltime.OK {
			walltime = r.Walltime.V
		}
		if r.CancelledAt.OK {
			cancelled = r.CancelledAt.V
		}
		b.Runtime, b.Walltime, b.CancelledAt = append(b.Runtime, runtime), append(b.Walltime, walltime), append(b.CancelledAt, cancelled)
		b.ProcsRequested, b.ProcsAllocated = append(b.ProcsRequested, or(r.ProcsRequested)), append(b.ProcsAllocated, or(r.ProcsAllocated))
		b.NodesMin, b.CPUsPerNode, b.GPUsPerNode = append(b.NodesMin, or(r.NodesMin)), append(b.CPUsPerNode, or(r.CPUsPerNode)), append(b.GPUsPerNode, or(r.GPUsPerNode))
		b.Attr.AppendJob(r)
	}
	return b
}

// order is a proposal that the script makes at an instant, whatever the queue
// says: to preempt the job of id Victim for the job ID, or to cancel the job ID.
type order struct {
	at     model.Time
	kind   model.ProposalKind
	id     int64
	victim int64
}

// story is a world and a scheduler without any policy: whoever waits starts, in
// order of submission, on the lowest nodes that are free.
type story struct {
	t      *testing.T
	world  *Site
	sink   *keep
	rows   *traces.Batch
	orders []order
	log    []string
	refs   map[int64]model.Ref
	queue  []model.Ref
	seq    uint64
	asked  map[model.Ref]bool // in flight
	stop   model.Time
}

// play runs the story to its end and returns what happened, a line a fact.
func play(t *testing.T, cfg SiteConfig, rows *traces.Batch, orders ...order) *story {
	t.Helper()
	if cfg.Exit.Timeout == 0 {
		cfg.Exit = preempt.DefaultConfig()
		cfg.Exit.KillGrace, cfg.Exit.Bandwidth = 0, 10 // B/s: 4 GPUs of 25 B take 10 s
	}
	require.NoError(t, cfg.Validate())
	sink := &keep{}
	p := &story{t: t, world: NewSite(cfg, sink), sink: sink, rows: rows, orders: orders, refs: map[int64]model.Ref{}, asked: map[model.Ref]bool{}, stop: model.Never}
	pos := 0
	for last := model.AbsentTime; ; {
		now := p.world.Next()
		if pos < rows.Len() {
			now = min(now, rows.Submit[pos])
		}
		if len(p.orders) > 0 {
			now = min(now, p.orders[0].at)
		}
		if now == model.Never || now > p.stop {
			break
		}
		require.GreaterOrEqual(t, now, last)
		last = now
		if p.world.Next() == now {
			p.see(now, p.world.Take(now))
		}
		for ; pos < rows.Len() && rows.Submit[pos] == now; pos++ {
			f, ok, err := p.world.Submission(rows, pos, p.never)
			require.NoError(t, err)
			if ok {
				p.refs[rows.ID[pos]] = f.Ref
				p.see(now, []model.Fact{f})
			}
		}
		for len(p.orders) > 0 && p.orders[0].at == now {
			p.order(now)
		}
		p.start(now)
		p.world.Close()
	}
	return p
}

func (p *story) never(a *model.Allocation) model.Reason {
	if int(a.NodesMin) > len(p.world.site.Nodes) {
		return model.ReasonTooLarge
	}
	return model.ReasonNone
}

// see notes facts and starts what was granted.
func (p *story) see(now model.Time, facts []model.Fact) {
	for i := range facts {
		f := &facts[i]
		line := fmt.Sprintf("%ds %s", int64(now)/int64(at), f.Kind)
		switch f.Kind {
		case model.FactNode:
			line += fmt.Sprintf(" n%d %s", f.Node, f.State)
		case model.FactPrice, model.FactPower, model.FactBandwidth:
			line += fmt.Sprintf(" %d", f.Value)
		case model.FactLimits:
			line += fmt.Sprintf(" %d %d", f.Tenant, f.Limits.MaxNodes)
		default:
			line += fmt.Sprintf(" %d", p.rows.ID[f.Job])
		}
		if f.Kind == model.FactEnded {
			line += " " + f.Outcome.String()
		}
		if f.Reason != model.ReasonNone {
			line += " " + f.Reason.String()
		}
		p.log = append(p.log, line)
		switch f.Kind {
		case model.FactSubmitted, model.FactSuspended, model.FactRequeued:
			p.queue = append(p.queue, f.Ref)
		case model.FactAssigned:
			p.asked[f.Ref] = false
			p.queue = slices.DeleteFunc(p.queue, func(r model.Ref) bool { return r == f.Ref })
			p.world.Start(now, f.Ref)
		case model.FactRefused:
			p.asked[f.Ref] = false
		case model.FactCancelled:
			p.queue = slices.DeleteFunc(p.queue, func(r model.Ref) bool { return r == f.Ref })
		}
	}
}

func (p *story) propose(now model.Time, x model.Proposal) {
	p.seq++
	x.Seq = p.seq
	p.see(now, p.world.Submit(now, []model.Proposal{x}, nil))
}

func (p *story) order(now model.Time) {
	o := p.orders[0]
	p.orders = p.orders[1:]
	ref := p.refs[o.id]
	l := &p.world.lives[ref]
	x := model.Proposal{Kind: o.kind, Job: l.rec.Job, Ref: ref, VCluster: l.alloc.VCluster, Victim: p.refs[o.victim]}
	if o.kind == model.ProposeCancel {
		x.Reason = model.ReasonDependencyNever
	}
	p.propose(now, x)
}

// start proposes whoever fits.
func (p *story) start(now model.Time) {
	for _, ref := range slices.Clone(p.queue) {
		a := p.world.lives[ref].alloc
		var words []model.NodeWord
		n := a.NodesMin
		for id := range p.world.site.Nodes {
			if n > 0 && p.world.nodes[id].state == model.Ready && p.world.quorum.OwnerOf(model.NodeID(id)) < 0 {
				if len(words) == 0 {
					words = []model.NodeWord{{}}
				}
				words[0].Mask |= 1 << id
				n--
			}
		}
		if n == 0 && !p.asked[ref] {
			p.asked[ref] = true
			p.propose(now, model.Proposal{Job: a.Job, Ref: ref, VCluster: a.VCluster, Borrowed: true, Placement: model.Placement{Words: words}})
		}
	}
}

// attempts lists the attempts: job, span, outcome, work kept and lost.
func (p *story) attempts() (out []string) {
	for _, a := range p.sink.attempts {
		out = append(out, fmt.Sprintf("%d %d-%d %s +%d -%d", a.ID, int64(a.Start)/int64(at), int64(a.End)/int64(at), a.Outcome,
			int64(a.Kept)/int64(sec), int64(a.Lost)/int64(sec)))
	}
	return out
}

func lines(s string) []string {
	var out []string
	for l := range strings.Lines(s) {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

func runs(d model.Duration) func(*traces.Job) {
	return func(j *traces.Job) { j.Runtime = traces.Some(d) }
}
func asks(d model.Duration) func(*traces.Job) {
	return func(j *traces.Job) { j.Walltime = traces.Some(d) }
}
func nodes(n int32) func(*traces.Job) { return func(j *traces.Job) { j.NodesMin = traces.Some(n) } }
func class(n int32) func(*traces.Job) { return func(j *traces.Job) { j.Class = traces.Some(n) } }
func says(f func(*traces.Job)) func(*traces.Job) {
	return f
}

// TestLives tells one small story a life. A node is 4 GPUs of 25 B, and 10 B of
// a checkpoint are written and read in a second.
func TestLives(t *testing.T) {
	grace := func(c *SiteConfig) {
		c.Exit = preempt.DefaultConfig()
		c.Exit.Bandwidth, c.ReadBandwidth = 10, 10
	}
	none := says(func(j *traces.Job) { j.Checkpoint = "none" })
	always := says(func(j *traces.Job) { j.Requeue = "always" })
	never := says(func(j *traces.Job) { j.Requeue = "never" })
	failed := says(func(j *traces.Job) { j.ExitState = "FAILED" })
	preemptAt := func(s model.Time, id, victim int64) order { return order{s * at, model.ProposePreempt, id, victim} }
	fails := func(s model.Time, n model.NodeID) Change { return Change{At: s * at, Kind: NodeFails, Node: n} }
	for _, c := range []struct {
		name     string
		nodes    int
		config   func(*SiteConfig)
		rows     []traces.Job
		orders   []order
		changes  []Change
		log      string
		attempts string
	}{
		{
			name: "finishes", nodes: 1,
			rows: []traces.Job{row(1, 5*at)},
			log: `5s submitted 1
			      5s assigned 1
			      15s ended 1 COMPLETED`,
			attempts: `1 5-15 COMPLETED +10 -0`,
		},
		{
			name: "reaches its walltime and is killed after the grace", nodes: 1, config: grace,
			rows: []traces.Job{row(1, 0, runs(100*sec))},
			log: `0s submitted 1
			      0s assigned 1
			      50s ended 1 TIMEOUT WALLTIME_LIMIT`,
			attempts: `1 0-50 TIMEOUT +50 -0`,
		},
		{
			// D11: TERM at 20 s is not yet the end; the job uses its grace.
			name: "ends by itself within the grace, and is TIMEOUT", nodes: 1, config: grace,
			rows: []traces.Job{row(1, 0, runs(27*sec))},
			log: `0s submitted 1
			      0s assigned 1
			      27s ended 1 TIMEOUT WALLTIME_LIMIT`,
			attempts: `1 0-27 TIMEOUT +27 -0`,
		},
		{
			name: "without a grace it ends at its walltime", nodes: 1,
			rows: []traces.Job{row(1, 0, runs(27*sec))},
			log: `0s submitted 1
			      0s assigned 1
			      20s ended 1 TIMEOUT WALLTIME_LIMIT`,
			attempts: `1 0-20 TIMEOUT +20 -0`,
		},
		{
			//      0    5        15   25       35     40
			//   1  |work|writing |    |restore |work  |
			//   2                |work|
			name: "is preempted and goes on after reading its checkpoint", nodes: 1, config: grace,
			rows:   []traces.Job{row(1, 0), row(2, 5*at, class(9))},
			orders: []order{preemptAt(5, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s preempted 1 PREEMPTED
			      15s suspended 1
			      15s assigned 2
			      25s ended 2 COMPLETED
			      25s assigned 1
			      40s ended 1 COMPLETED`,
			attempts: `1 0-15 SUSPENDED +5 -0
			           2 15-25 COMPLETED +10 -0
			           1 25-40 COMPLETED +5 -0`,
		},
		{
			//      0    5  TERM    35   45       55
			//   1  |work|grace     |    |anew    |
			//   2                  |work|
			name: "is preempted without a checkpoint and begins anew", nodes: 1, config: grace,
			rows:   []traces.Job{row(1, 0, none, runs(60*sec), asks(70*sec)), row(2, 5*at, class(9))},
			orders: []order{preemptAt(5, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s preempted 1 PREEMPTED
			      35s requeued 1 PREEMPTED
			      35s assigned 2
			      45s ended 2 COMPLETED
			      45s assigned 1
			      105s ended 1 COMPLETED`,
			attempts: `1 0-35 FAILED +0 -35
			           2 35-45 COMPLETED +10 -0
			           1 45-105 COMPLETED +60 -0`,
		},
		{
			name: "is preempted without a checkpoint and never comes back", nodes: 1, config: grace,
			rows:   []traces.Job{row(1, 0, none, never, runs(60*sec), asks(70*sec)), row(2, 5*at, class(9))},
			orders: []order{preemptAt(5, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s preempted 1 PREEMPTED
			      35s ended 1 FAILED PREEMPTED
			      35s assigned 2
			      45s ended 2 COMPLETED`,
			attempts: `1 0-35 FAILED +0 -35
			           2 35-45 COMPLETED +10 -0`,
		},
		{
			name: "finishes within the grace of its preemption", nodes: 1, config: grace,
			rows:   []traces.Job{row(1, 0, none), row(2, 5*at, class(9))},
			orders: []order{preemptAt(5, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s preempted 1 PREEMPTED
			      10s ended 1 COMPLETED
			      10s assigned 2
			      20s ended 2 COMPLETED`,
			attempts: `1 0-10 COMPLETED +10 -0
			           2 10-20 COMPLETED +10 -0`,
		},
		{
			// INV-E4: the checkpoint of 1 would be whole at 115 s. Its walltime is
			// over at 20 s, and KILL comes at 50 s.
			name: "walltime beats the checkpoint", nodes: 1, config: grace,
			rows:   []traces.Job{row(1, 0, runs(60*sec), func(j *traces.Job) { j.CkptBytes = traces.Some[int64](1000) }), row(2, 15*at, class(9))},
			orders: []order{preemptAt(15, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      15s submitted 2
			      15s preempted 1 PREEMPTED
			      50s ended 1 TIMEOUT WALLTIME_LIMIT
			      50s assigned 2
			      60s ended 2 COMPLETED`,
			attempts: `1 0-50 TIMEOUT +15 -0
			           2 50-60 COMPLETED +10 -0`,
		},
		{
			name: "a checkpoint that is whole within the grace counts", nodes: 1, config: grace,
			rows:   []traces.Job{row(1, 0, runs(18*sec)), row(2, 15*at, class(9))},
			orders: []order{preemptAt(15, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      15s submitted 2
			      15s preempted 1 PREEMPTED
			      25s suspended 1
			      25s assigned 2
			      35s ended 2 COMPLETED
			      35s assigned 1
			      48s ended 1 COMPLETED`,
			attempts: `1 0-25 SUSPENDED +15 -0
			           2 25-35 COMPLETED +10 -0
			           1 35-48 COMPLETED +3 -0`,
		},
		{
			name: "a node fails, and the job comes back with its age", nodes: 2,
			rows:    []traces.Job{row(1, 0, nodes(2)), row(2, 1*at)},
			changes: []Change{fails(4, 1), {At: 20 * at, Kind: NodeRepaired, Node: 1}},
			log: `0s submitted 1
			      0s assigned 1
			      1s submitted 2
			      4s node n1 DOWN
			      4s requeued 1 NODE_FAILURE
			      4s assigned 2
			      14s ended 2 COMPLETED
			      20s node n1 READY
			      20s assigned 1
			      30s ended 1 COMPLETED`,
			attempts: `1 0-4 FAILED +0 -4
			           2 4-14 COMPLETED +10 -0
			           1 20-30 COMPLETED +10 -0`,
		},
		{
			name: "a node fails too often", nodes: 3,
			rows:    []traces.Job{row(1, 0, func(j *traces.Job) { j.RequeueMax = traces.Some[int32](1) })},
			changes: []Change{fails(4, 0), fails(5, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      4s node n0 DOWN
			      4s requeued 1 NODE_FAILURE
			      4s assigned 1
			      5s node n1 DOWN
			      5s ended 1 FAILED NODE_FAILURE`,
			attempts: `1 0-4 FAILED +0 -4
			           1 4-5 FAILED +0 -1`,
		},
		{
			name: "a session is never requeued", nodes: 2,
			rows:    []traces.Job{row(1, 0, always, func(j *traces.Job) { j.Kind = "session" })},
			changes: []Change{fails(4, 0)},
			log: `0s submitted 1
			      0s assigned 1
			      4s node n0 DOWN
			      4s ended 1 FAILED NODE_FAILURE`,
			attempts: `1 0-4 FAILED +0 -4`,
		},
		{
			name: "a node fails while a checkpoint is written to it", nodes: 2, config: grace,
			rows:    []traces.Job{row(1, 0), row(2, 5*at, class(9), nodes(2))},
			orders:  []order{preemptAt(5, 2, 1)},
			changes: []Change{fails(7, 0), {At: 30 * at, Kind: NodeRepaired}},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s preempted 1 PREEMPTED
			      7s node n0 DOWN
			      7s requeued 1 NODE_FAILURE
			      7s assigned 1
			      17s ended 1 COMPLETED
			      30s node n0 READY
			      30s assigned 2
			      40s ended 2 COMPLETED`,
			attempts: `1 0-7 FAILED +0 -5
			           1 7-17 COMPLETED +10 -0
			           2 30-40 COMPLETED +10 -0`,
		},
		{
			name: "an application fails, once more each time it comes back", nodes: 1,
			rows: []traces.Job{row(1, 0, failed, always, func(j *traces.Job) { j.RequeueMax = traces.Some[int32](1) }), row(2, 0, failed)},
			log: `0s submitted 1
			      0s submitted 2
			      0s assigned 1
			      10s requeued 1
			      10s assigned 2
			      20s ended 2 FAILED
			      20s assigned 1
			      30s ended 1 FAILED`,
			attempts: `1 0-10 FAILED +0 -10
			           2 10-20 FAILED +10 -0
			           1 20-30 FAILED +10 -0`,
		},
		{
			// D12: the node holds a job that writes its checkpoint, and is not
			// drained before that has left.
			name: "a drain waits for work that checkpoints", nodes: 1, config: grace,
			rows:    []traces.Job{row(1, 0), row(2, 5*at, class(9))},
			orders:  []order{preemptAt(5, 2, 1)},
			changes: []Change{{At: 7 * at, Kind: NodeDrains}, {At: 20 * at, Kind: NodeUndrained}},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s preempted 1 PREEMPTED
			      7s node n0 DRAINING
			      15s suspended 1
			      15s node n0 DRAINED
			      20s node n0 READY
			      20s assigned 2
			      30s ended 2 COMPLETED
			      30s assigned 1
			      45s ended 1 COMPLETED`,
			attempts: `1 0-15 SUSPENDED +5 -0
			           2 20-30 COMPLETED +10 -0
			           1 30-45 COMPLETED +5 -0`,
		},
		{
			name: "nodes are wiped after sensitive work", nodes: 1,
			config: func(c *SiteConfig) { c.Wipe = 60 * sec },
			rows:   []traces.Job{row(1, 0, func(j *traces.Job) { j.Sensitive = traces.Some(true) }), row(2, 1*at)},
			log: `0s submitted 1
			      0s assigned 1
			      1s submitted 2
			      10s ended 1 COMPLETED
			      10s node n0 WIPING
			      70s node n0 READY
			      70s assigned 2
			      80s ended 2 COMPLETED`,
			attempts: `1 0-10 COMPLETED +10 -0
			           2 70-80 COMPLETED +10 -0`,
		},
		{
			// D13: nothing is heard of it for 100 days.
			name: "a healthy long job is never failed for its silence", nodes: 1,
			rows: []traces.Job{row(1, 0, runs(100*model.Day), asks(200*model.Day))},
			log: `0s submitted 1
			      0s assigned 1
			      8640000s ended 1 COMPLETED`,
			attempts: `1 0-8640000 COMPLETED +8640000 -0`,
		},
		{
			name: "degraded nodes keep their work and take none", nodes: 1,
			rows:    []traces.Job{row(1, 0), row(2, 1*at)},
			changes: []Change{{At: 2 * at, Kind: NodeDegrades}, {At: 30 * at, Kind: NodeRepaired}},
			log: `0s submitted 1
			      0s assigned 1
			      1s submitted 2
			      2s node n0 DEGRADED
			      10s ended 1 COMPLETED
			      30s node n0 READY
			      30s assigned 2
			      40s ended 2 COMPLETED`,
			attempts: `1 0-10 COMPLETED +10 -0
			           2 30-40 COMPLETED +10 -0`,
		},
		{
			name: "a job that can never start is withdrawn", nodes: 1,
			rows:   []traces.Job{row(1, 0), row(2, 1*at)},
			orders: []order{{3 * at, model.ProposeCancel, 2, 0}},
			log: `0s submitted 1
			      0s assigned 1
			      1s submitted 2
			      3s cancelled 2 DEPENDENCY_NEVER
			      10s ended 1 COMPLETED`,
			attempts: `1 0-10 COMPLETED +10 -0`,
		},
		{
			name: "changes come after what frees nodes and before what asks for them", nodes: 1,
			rows: []traces.Job{row(1, 0), row(2, 10*at)},
			changes: []Change{
				{At: 10 * at, Kind: PowerChange, Value: 700}, {At: 10 * at, Kind: NodeUndrained}, {At: 10 * at, Kind: LimitsChange, Tenant: 1, Limits: model.Limits{MaxNodes: 3}},
				{At: 10 * at, Kind: PriceChange, Value: 8}, {At: 10 * at, Kind: BandwidthChange, Value: 9},
			},
			log: `0s submitted 1
			      0s assigned 1
			      10s ended 1 COMPLETED
			      10s power 700
			      10s limits 1 3
			      10s price 8
			      10s bandwidth 9
			      10s submitted 2
			      10s assigned 2
			      20s ended 2 COMPLETED`,
			attempts: `1 0-10 COMPLETED +10 -0
			           2 10-20 COMPLETED +10 -0`,
		},
		{
			name: "a victim does not answer, and is killed", nodes: 1,
			config: func(c *SiteConfig) { grace(c); c.Luck.Unresponsive = 1 },
			rows:   []traces.Job{row(1, 0, runs(1000*sec), asks(2000*sec)), row(2, 5*at, class(9))},
			orders: []order{preemptAt(5, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s preempted 1 PREEMPTED
			      635s requeued 1 PREEMPTED
			      635s assigned 2
			      645s ended 2 COMPLETED
			      645s assigned 1
			      1645s ended 1 COMPLETED`,
			attempts: `1 0-635 FAILED +0 -635
			           2 635-645 COMPLETED +10 -0
			           1 645-1645 COMPLETED +1000 -0`,
		},
		{
			// Three deferrals of 300 s, then it writes.
			name: "a victim asks for time as often as it may", nodes: 1,
			config: func(c *SiteConfig) { grace(c); c.Luck.Defers = 1 },
			rows:   []traces.Job{row(1, 0, runs(1000*sec), asks(2000*sec)), row(2, 5*at, class(9))},
			orders: []order{preemptAt(5, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s preempted 1 PREEMPTED
			      915s suspended 1
			      915s assigned 2
			      925s ended 2 COMPLETED
			      925s assigned 1
			      1030s ended 1 COMPLETED`,
			attempts: `1 0-915 SUSPENDED +905 -0
			           2 915-925 COMPLETED +10 -0
			           1 925-1030 COMPLETED +95 -0`,
		},
		{
			name: "a node fails to write its part", nodes: 1,
			config: func(c *SiteConfig) { grace(c); c.Luck.Partial = 1 },
			rows:   []traces.Job{row(1, 0), row(2, 5*at, class(9))},
			orders: []order{preemptAt(5, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s preempted 1 PREEMPTED
			      15s requeued 1 PREEMPTED
			      15s assigned 2
			      25s ended 2 COMPLETED
			      25s assigned 1
			      35s ended 1 COMPLETED`,
			attempts: `1 0-15 FAILED +0 -5
			           2 15-25 COMPLETED +10 -0
			           1 25-35 COMPLETED +10 -0`,
		},
		{
			// 100 times 10 s are more than 600 s and the extension by 300 s.
			name: "a checkpoint is too slow for its extension", nodes: 1,
			config: func(c *SiteConfig) { grace(c); c.Luck.Slow, c.Luck.SlowBy = 1, 100 },
			rows:   []traces.Job{row(1, 0, asks(2000*sec)), row(2, 5*at, class(9))},
			orders: []order{preemptAt(5, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s preempted 1 PREEMPTED
			      935s requeued 1 PREEMPTED
			      935s assigned 2
			      945s ended 2 COMPLETED
			      945s assigned 1
			      955s ended 1 COMPLETED`,
			attempts: `1 0-935 FAILED +0 -5
			           2 935-945 COMPLETED +10 -0
			           1 945-955 COMPLETED +10 -0`,
		},
		{
			// Work begins 3 s after the nodes are granted, and the requested time with
			// it. A node that was down boots for 7 s.
			name: "starts and boots take time", nodes: 1,
			config:  func(c *SiteConfig) { c.StartDelay, c.BootDelay = 3*sec, 7*sec },
			rows:    []traces.Job{row(1, 0, runs(20*sec))},
			changes: []Change{fails(5, 0), {At: 10 * at, Kind: NodeRepaired}},
			log: `0s submitted 1
			      0s assigned 1
			      5s node n0 DOWN
			      5s requeued 1 NODE_FAILURE
			      17s node n0 READY
			      17s assigned 1
			      40s ended 1 COMPLETED`,
			attempts: `1 0-5 FAILED +0 -2
			           1 17-40 COMPLETED +20 -0`,
		},
		{
			name: "a node that fails while it is drained comes back drained", nodes: 1,
			rows: []traces.Job{row(1, 0)},
			changes: []Change{
				{At: 2 * at, Kind: NodeDrains}, fails(4, 0), {At: 20 * at, Kind: NodeRepaired}, {At: 21 * at, Kind: NodeRepaired}, {At: 30 * at, Kind: NodeUndrained},
			},
			log: `0s submitted 1
			      0s assigned 1
			      2s node n0 DRAINING
			      4s node n0 DOWN
			      4s requeued 1 NODE_FAILURE
			      20s node n0 DRAINED
			      30s node n0 READY
			      30s assigned 1
			      40s ended 1 COMPLETED`,
			attempts: `1 0-4 FAILED +0 -4
			           1 30-40 COMPLETED +10 -0`,
		},
		{
			name: "a service ends when its owner ends it", nodes: 1, config: grace,
			rows: []traces.Job{row(1, 0, runs(100*sec), func(j *traces.Job) {
				j.Kind, j.ExitState, j.Walltime = "service", "CANCELLED by 7", traces.Opt[model.Duration]{}
			})},
			log: `0s submitted 1
			      0s assigned 1
			      100s ended 1 CANCELLED CANCELLED`,
			attempts: `1 0-100 CANCELLED +100 -0`,
		},
		{
			name: "a job that never ran in the log is withdrawn while it waits", nodes: 1,
			rows: []traces.Job{row(1, 0), row(2, 1*at, func(j *traces.Job) {
				j.Runtime, j.CancelledAt = traces.Opt[model.Duration]{}, traces.Some(4*at)
			})},
			log: `0s submitted 1
			      0s assigned 1
			      1s submitted 2
			      4s cancelled 2 CANCELLED
			      10s ended 1 COMPLETED`,
			attempts: `1 0-10 COMPLETED +10 -0`,
		},
		{
			// The hint waits for the grace of the vCluster that borrowed.
			name: "a borrower has its grace", nodes: 1,
			config: func(c *SiteConfig) {
				grace(c)
				c.Site.VClusters[0].Grace = 60 * sec
				c.Site.VClusters = append(c.Site.VClusters, model.VCluster{Name: "home"})
				c.Site.VClusters[0].Borrow, c.Site.VClusters[1].Lend, c.Site.VClusters[1].MaxLent = true, true, model.One
				c.Site.Nodes[0].Home = 1
			},
			rows:   []traces.Job{row(1, 0, runs(100*sec), asks(200*sec)), row(2, 5*at, func(j *traces.Job) { j.VCluster = "home" })},
			orders: []order{preemptAt(5, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s preempted 1 RECLAIMED
			      75s suspended 1
			      75s assigned 2
			      85s ended 2 COMPLETED
			      85s assigned 1
			      130s ended 1 COMPLETED`,
			attempts: `1 0-75 SUSPENDED +65 -0
			           2 75-85 COMPLETED +10 -0
			           1 85-130 COMPLETED +35 -0`,
		},
		{
			name: "the quorum takes its time, and two ask for one node", nodes: 1,
			config: func(c *SiteConfig) { c.Latency = 2 * sec },
			rows:   []traces.Job{row(1, 0), row(2, 0)},
			log: `0s submitted 1
			      0s submitted 2
			      2s assigned 1
			      2s refused 2 NODES_TAKEN
			      12s ended 1 COMPLETED
			      14s assigned 2
			      24s ended 2 COMPLETED`,
			attempts: `1 2-12 COMPLETED +10 -0
			           2 14-24 COMPLETED +10 -0`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := SiteConfig{Site: smallSite(c.nodes), Changes: c.changes}
			if c.config != nil {
				c.config(&cfg)
			}
			p := play(t, cfg, batchOf(c.rows...), c.orders...)
			require.Equal(t, lines(c.log), p.log)
			require.Equal(t, lines(c.attempts), p.attempts())
			require.Len(t, p.sink.jobs, len(c.rows))
			st := &p.world.State
			require.Zero(t, [...]int64{int64(st.Waiting), int64(st.Running), st.BusyUnits, st.QueuedUnits, st.All.Nodes, st.All.GPUs})
		})
	}
}
