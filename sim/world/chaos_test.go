package world

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/sim/world/internal/storage"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// fastest is the highest speed of a job in chaos.
const fastest = 3 * model.One

// chaos draws a small world in which everything goes wrong now and then.
func chaos(rt *rapid.T) (cfg func() SiteConfig, rows *traces.Batch, orders []order) {
	return chaosOn(rt, rapid.IntRange(1, 6).Draw(rt, "nodes"))
}

// chaosOn is chaos on n nodes.
func chaosOn(rt *rapid.T, n int) (cfg func() SiteConfig, rows *traces.Batch, orders []order) {
	seconds := func(most int64, name string) model.Duration {
		return model.Duration(rapid.Int64Range(0, most).Draw(rt, name)) * sec
	}
	exit := preempt.DefaultConfig()
	exit.Bandwidth, exit.KillGrace = rapid.Int64Range(1, 100).Draw(rt, "write"), seconds(30, "kill grace")
	exit.Timeout = seconds(60, "timeout") + sec
	exit.Deferral = seconds(20, "deferral")
	chance := func(name string) float64 { return rapid.SampledFrom([]float64{0, 0.3, 1}).Draw(rt, name) }
	base := SiteConfig{
		Exit: exit, ReadBandwidth: rapid.Int64Range(0, 100).Draw(rt, "read"), Wipe: seconds(9, "wipe"),
		Latency: seconds(3, "latency"), Jitter: seconds(3, "jitter"), Visible: seconds(3, "visible"),
		StartDelay: seconds(3, "start"), BootDelay: seconds(3, "boot"), Seed: rapid.Uint64().Draw(rt, "seed"),
		Faults: Faults{
			Until: 500 * at, Slow: chance("slow"), SlowBy: 3, Unresponsive: chance("silent"), Partial: chance("partial"), Defers: chance("defers"),
		},
	}
	if rapid.Bool().Draw(rt, "breaks") {
		f := breaking(50*sec, 9*sec)
		base.Faults.Lives, base.Faults.Repair = f.Lives, f.Repair
	}
	if rapid.Bool().Draw(rt, "shares") {
		base.Faults.Shared = []SharedFault{{Nodes: []model.NodeID{0, model.NodeID(n - 1)}[:min(n, 2)], Life: expect(70 * sec), Repair: expect(5 * sec)}}
	}
	if rapid.Bool().Draw(rt, "is heard") {
		base.Faults.Heartbeat = Heartbeat{Degraded: seconds(4, "degraded"), Down: seconds(4, "down") + 4*sec}
	}
	if rapid.Bool().Draw(rt, "prologues fail") {
		base.Faults.PrologueFails, base.Faults.Remedy = 0.2, expect(9*sec)
	}
	if rapid.Bool().Draw(rt, "boots fail") {
		base.Faults.BootFails, base.Faults.BootTimeout = 0.5, seconds(9, "boot timeout")
	}
	if s := rapid.IntRange(-1, int(preempt.DalyInterval)).Draw(rt, "keeps"); s >= 0 {
		k := preempt.DefaultCheckpointConfig()
		k.Strategy, k.Bandwidth, k.Bytes, k.MTBF = preempt.Strategy(s), exit.Bandwidth, 0, seconds(200, "expected")+sec
		k.PFail = model.Ratio(rapid.Int64Range(0, 10).Draw(rt, "p_fail"), 10)
		base.Checkpoints = &k
	}
	if rapid.Bool().Draw(rt, "storage") {
		base.Storage = &StorageConfig{
			Bandwidth: rapid.Int64Range(1, 200).Draw(rt, "shared"), Stage: rapid.SampledFrom([]int64{0, 10, 100}).Draw(rt, "stage"),
			Stop: rapid.SampledFrom([]int64{0, 20, 200}).Draw(rt, "stop"),
		}
	}
	if rapid.Bool().Draw(rt, "extend") {
		base.Rows.Policy.Overrun = translate.Extend
	}
	instant := rapid.Int64Range(0, 300)
	now := model.Time(0)
	for range rapid.IntRange(0, 8).Draw(rt, "changes") {
		now += model.Time(seconds(60, "between changes"))
		base.Changes = append(base.Changes, translate.Change{
			At: now, Kind: translate.ChangeKind(rapid.IntRange(0, int(translate.NodeDegrades)).Draw(rt, "change")), Node: model.NodeID(rapid.IntRange(0, n-1).Draw(rt, "node")),
		})
	}
	for i := range 2 * n { // so that every job can run in the end
		base.Changes = append(base.Changes, translate.Change{
			At: model.Time(1000+100*(i/n)) * at, Kind: []translate.ChangeKind{translate.NodeRepaired, translate.NodeUndrained}[i/n], Node: model.NodeID(i % n),
		})
	}
	var jobs []traces.Job
	now = 0
	for i := range rapid.IntRange(1, 12).Draw(rt, "jobs") {
		now += model.Time(seconds(rapid.SampledFrom([]int64{0, 10, 10, 10, 2000}).Draw(rt, "gap"), "between jobs"))
		jobs = append(jobs, row(int64(i), now, func(j *traces.Job) {
			j.Runtime, j.Walltime = traces.Some(seconds(60, "runtime")), traces.Some(seconds(60, "walltime"))
			j.NodesMin = traces.Some(int32(rapid.IntRange(1, n).Draw(rt, "size")))
			j.Class = traces.Some(int32(rapid.IntRange(0, 9).Draw(rt, "class")))
			j.Checkpoint = rapid.SampledFrom([]string{"", "auto", "manual", "none"}).Draw(rt, "checkpoint")
			j.Requeue = rapid.SampledFrom([]string{"", "never", "always"}).Draw(rt, "requeue")
			j.Kind = rapid.SampledFrom([]string{"", "service", "session"}).Draw(rt, "kind")
			j.ExitState = rapid.SampledFrom([]string{"", "FAILED", "CANCELLED", "TIMEOUT"}).Draw(rt, "exit")
			j.Sensitive = traces.Some(rapid.IntRange(0, 5).Draw(rt, "sensitive") == 0)
			j.Mounts = rapid.SampledFrom([]string{"", `{"cold":50}`, `{"cold":900,"hot":7}`}).Draw(rt, "mounts")
			j.Tenant = rapid.SampledFrom([]string{"", "ada", "bob"}).Draw(rt, "tenant")
			if rapid.IntRange(0, 9).Draw(rt, "never ran") == 0 {
				j.Runtime, j.CancelledAt = traces.Opt[model.Duration]{}, traces.Some(model.Time(instant.Draw(rt, "cancelled"))*at)
			}
		}))
	}
	now = 0
	for range rapid.IntRange(0, 12).Draw(rt, "orders") {
		now += model.Time(seconds(30, "between orders"))
		o := order{at: now, id: rapid.Int64Range(0, int64(len(jobs)-1)).Draw(rt, "for"), victim: rapid.Int64Range(0, int64(len(jobs)-1)).Draw(rt, "victim")}
		o.kind = rapid.SampledFrom([]model.ProposalKind{
			model.ProposePreempt, model.ProposePreempt, model.ProposePreempt, model.ProposePreempt, model.ProposeCancel, model.ProposeRequeue,
			setsSpeed, setsSpeed, setsSpeed,
		}).Draw(rt, "order")
		o.here, o.recorded = model.Fixed(rapid.Int64Range(int64(model.One/8), int64(fastest)).Draw(rt, "speed")), model.Fixed(rapid.Int64Range(0, 1).Draw(rt, "known"))*model.One
		orders = append(orders, o)
	}
	return func() SiteConfig {
		c := base
		c.Site = smallSite(n)
		for i := range c.Site.Nodes {
			c.Site.Nodes[i].Fingerprint = 0
		}
		return c
	}, batchOf(jobs...), orders
}

// TestChaos: whatever goes wrong, every job is accounted for once, its attempts
// follow each other, its work adds up, the counters agree with the attempts, and
// the same seed tells the same story. The quorum, which shares nothing with the
// world's ledger, panics on an illegal transition and refuses a node twice.
func TestChaos(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg, rows, orders := chaos(rt)
		p := play(rt, cfg(), rows, orders...)
		again := play(rt, cfg(), rows, orders...)
		require.Equal(rt, p.log, again.log)
		require.Equal(rt, p.sink, again.sink)
		require.Equal(rt, p.world.State, again.world.State)
		require.Equal(rt, p.world.Meter, again.world.Meter)

		st, usage := &p.world.State, &p.world.Meter
		unfinished := p.world.Abandon(p.world.now)
		require.Len(rt, p.sink.jobs, rows.Len())
		require.Zero(rt, unfinished)
		require.Zero(rt, [...]int64{int64(st.Waiting), int64(st.Running), st.BusyUnits, st.QueuedUnits, int64(usage.vclusters[0].Waiting), usage.vclusters[0].Nodes, int64(usage.vclusters[0].Running)})

		if s := p.world.transfers.storage; s != nil {
			require.Zero(rt, s.Systems[0].Pool.Len())
		}
		for _, k := range usage.Transfers {
			require.LessOrEqual(rt, k.Done, k.Begun)
			require.LessOrEqual(rt, k.Moved, k.Asked)
			require.LessOrEqual(rt, k.Alone, k.Time+2*k.Begun, "%s: no transfer is faster than alone", k.Kind)
			if k.Done == k.Begun {
				require.Equal(rt, k.Asked, k.Moved, k.Kind)
			}
		}
		jobs := map[int64]*model.JobRecord{}
		for i := range p.sink.jobs {
			r := &p.sink.jobs[i]
			require.Nil(rt, jobs[r.ID], "job %d leaves twice", r.ID)
			require.True(rt, r.State.Terminal())
			jobs[r.ID] = r
		}
		kept, span, end, count := map[int64]model.Duration{}, map[int64]model.Duration{}, map[int64]model.Time{}, map[int64]int32{}
		var nodeTime, lost int64
		for i := range p.sink.attempts {
			a := &p.sink.attempts[i]
			count[a.ID]++
			require.Equal(rt, count[a.ID], a.Attempt)
			require.LessOrEqual(rt, end[a.ID], a.Start)
			require.LessOrEqual(rt, a.Start, a.End)
			require.GreaterOrEqual(rt, a.Kept, model.Duration(0))
			require.GreaterOrEqual(rt, a.Lost, model.Duration(0))
			require.LessOrEqual(rt, a.Kept+a.Lost, a.End.Sub(a.Start)*model.Duration(fastest/model.One))
			end[a.ID] = a.End
			span[a.ID] += a.End.Sub(a.Start)
			kept[a.ID] += a.Kept
			held := int64(jobs[a.ID].Procs)
			nodeTime += held * int64(a.End.Sub(a.Start))
			lost += held * 4 * int64(a.Lost)
		}
		require.Equal(rt, nodeTime, p.nodeTime)
		require.Equal(rt, 4*nodeTime, p.gpuTime)
		require.Equal(rt, lost, usage.Lost)
		for id, r := range jobs {
			require.Equal(rt, count[id], r.Attempts)
			truth := rows.Runtime[id]
			require.Equal(rt, int64(r.Procs)*int64(span[id]), r.Allocated.Nodes)
			require.Equal(rt, 4*r.Allocated.Nodes, r.Allocated.GPUs)
			require.Equal(rt, 4*int64(r.Procs)*int64(kept[id]), r.KeptGPU)
			if r.State == model.Completed && truth != model.AbsentDuration {
				require.Equal(rt, truth, kept[id], "work of job %d", id)
				require.Equal(rt, truth, r.Runtime)
			}
		}
	})
}

// TestEnergy: two nodes draw 100 W each when idle, and 300 W at work.
//
//	0       10        20      30
//	| idle   | 1 on n0 | idle  | the end
func TestEnergy(t *testing.T) {
	p := play(t, SiteConfig{Site: smallSite(2), Changes: []translate.Change{{At: 0, Kind: translate.PriceChange}, {At: 30 * at, Kind: translate.PriceChange}}}, batchOf(row(1, 10*at)))
	require.EqualValues(t, 30*2*100+10*200, p.joules)

	p = play(t, SiteConfig{Site: smallSite(2), Changes: []translate.Change{{At: 0, Kind: translate.NodeFails}, {At: 30 * at, Kind: translate.PriceChange}}},
		batchOf(row(1, 10*at, func(j *traces.Job) { j.Power = traces.Some[int64](1000) })))
	require.EqualValues(t, 30*100+10*900, p.joules, "a node that is down draws nothing; a job that says what it draws, that")
	require.Equal(t, model.Energy{Low: 10_000_000, Value: 10_000_000, High: 10_000_000}, p.sink.jobs[0].Energy, "the idle part of its node included")
}

func TestTransfer(t *testing.T) {
	for _, c := range []struct {
		size, rate int64
		want       model.Duration
	}{
		{0, 5, 0}, {100, 0, 0}, {100, 10, 10 * sec}, {1, 3, 333_334}, {math.MaxInt64, 1, model.Forever}, {math.MaxInt64, math.MaxInt64, sec},
	} {
		require.Equal(t, c.want, storage.Takes(c.size, c.rate), "%d B at %d B/s", c.size, c.rate)
	}
}

// TestSiteSteadyStateAllocatesNothing runs jobs that are preempted, restored
// and wiped after, over and over, without and with shared storage.
func TestSiteSteadyStateAllocatesNothing(t *testing.T) {
	for _, storage := range []*StorageConfig{nil, {Bandwidth: 50, Stage: 10, Stop: 200}} {
		requireNoAllocations(t, storage)
	}
}

func requireNoAllocations(t *testing.T, storage *StorageConfig) {
	exit := preempt.DefaultConfig()
	exit.Bandwidth = 100
	s := NewSite(SiteConfig{Site: smallSite(2), Exit: exit, Latency: 1, Wipe: sec, Storage: storage, Faults: Faults{Slow: 0.5, SlowBy: 2}}, forget{})
	rows := batchOf(row(1, 0, runs(100*sec), walltime(200*sec), stages(hundred)), row(2, 0, class(9), func(j *traces.Job) { j.Sensitive = traces.Some(true) }))
	now := model.Time(0)
	none := func(*model.Allocation) model.Reason { return model.ReasonNone }
	var proposals [1]model.Proposal
	words := [...][]model.NodeWord{{{Mask: 1}}, {{Mask: 2}}}
	var answers, facts []model.Fact
	cycle := func() {
		var refs [2]model.Ref
		for i := range refs {
			rows.Submit[i] = now
			f, ok, err := s.submission(rows, i, none)
			if !ok || err != nil {
				t.Fatal("dropped", err)
			}
			refs[i] = f.Ref
			proposals[0] = model.Proposal{Ref: f.Ref, Job: f.Job, Placement: model.Placement{Words: words[i]}}
			answers = s.Submit(now, proposals[:], answers[:0])
		}
		started := 0
		for s.State.Left < s.State.Submitted || s.Next() != model.Never {
			now = s.Next()
			facts = s.Take(now, facts[:0])
			for _, f := range facts {
				switch f.Kind {
				case model.FactAssigned:
					s.Start(now, f.Ref)
					if started++; f.Ref == refs[0] && started <= 2 {
						proposals[0] = model.Proposal{Kind: model.ProposePreempt, Job: 1, Ref: refs[1], Victim: refs[0]}
						answers = s.Submit(now, proposals[:], answers[:0])
					}
				case model.FactSuspended:
					proposals[0] = model.Proposal{Ref: f.Ref, Job: f.Job, Placement: model.Placement{Words: words[0]}}
					answers = s.Submit(now, proposals[:], answers[:0])
				}
			}
			s.Close()
		}
	}
	for range 300 {
		cycle()
	}
	require.Less(t, testing.AllocsPerRun(200, cycle), 0.5)
	require.Positive(t, s.State.Submitted)
}

type forget struct{}

func (forget) Job(*model.JobRecord)         {}
func (forget) Attempt(*model.AttemptRecord) {}
