package world

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/sim/world/internal/storage"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// shares makes all transfers share a bandwidth, and jobs stage at 10 B/s alone. A checkpoint
// of a node is 100 B, written and read at 10 B/s alone.
func shares(bandwidth int64) func(*SiteConfig) {
	return func(c *SiteConfig) {
		grace(c)
		c.Storage = &StorageConfig{Bandwidth: bandwidth, Stage: 10}
	}
}

// copies makes jobs copy their checkpoints into memory at 50 B/s, and write the copy; every
// 50 s by the formula of Young, for 2 s and a failure in 625 s.
func copies(bandwidth int64) func(*SiteConfig) {
	return both(keeps(preempt.YoungInterval, 625*sec), func(c *SiteConfig) {
		c.Storage = &StorageConfig{Bandwidth: bandwidth, Stop: 50}
	})
}

func stages(bytes string) func(*traces.Job) {
	return func(j *traces.Job) { j.Mounts = bytes }
}

const hundred = `{"cold":70,"warm":30,"hot":5000}`

// TestStaging tells of jobs that stage their input before their work begins.
func TestStaging(t *testing.T) {
	long := walltime(1000 * sec)
	for _, c := range []tale{
		{
			//     0    5         15    20   25   30
			//  1  |10 B/s|5 B/s  |work      |
			//  2       |5 B/s    |10 B/s|work   |
			name: "two that stage at a time take longer", nodes: 2, config: shares(10),
			rows: []traces.Job{row(1, 0, stages(hundred), long), row(2, 5*at, stages(hundred), long)},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s assigned 2
			      25s ended 1 COMPLETED
			      30s ended 2 COMPLETED`,
			attempts: `1 0-25 COMPLETED +10 -0
			           2 5-30 COMPLETED +10 -0`,
		},
		{
			name: "they do not where there is enough for both", nodes: 2, config: shares(20),
			rows: []traces.Job{row(1, 0, stages(hundred), long), row(2, 5*at, stages(hundred), long)},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s assigned 2
			      20s ended 1 COMPLETED
			      25s ended 2 COMPLETED`,
			attempts: `1 0-20 COMPLETED +10 -0
			           2 5-25 COMPLETED +10 -0`,
		},
		{
			name: "it begins when the requested time does", nodes: 1, config: both(shares(10), func(c *SiteConfig) { c.StartDelay = 3 * sec }),
			rows: []traces.Job{row(1, 0, stages(hundred), long)},
			log: `0s submitted 1
			      0s assigned 1
			      23s ended 1 COMPLETED`,
			attempts: `1 0-23 COMPLETED +10 -0`,
		},
		{
			name: "the walltime runs on meanwhile", nodes: 1, config: both(shares(10), func(c *SiteConfig) { c.Exit.KillGrace = 0 }),
			rows: []traces.Job{row(1, 0, stages(`{"cold":150}`))},
			log: `0s submitted 1
			      0s assigned 1
			      20s ended 1 TIMEOUT WALLTIME_LIMIT`,
			attempts: `1 0-20 TIMEOUT +5 -0`,
		},
		{
			name: "what is on the fast tier is not staged, and nothing without mounts", nodes: 2, config: shares(10),
			rows: []traces.Job{row(1, 0, stages(`{"hot":150}`)), row(2, 0)},
			log: `0s submitted 1
			      0s submitted 2
			      0s assigned 1
			      0s assigned 2
			      10s ended 1 COMPLETED
			      10s ended 2 COMPLETED`,
			attempts: `1 0-10 COMPLETED +10 -0
			           2 0-10 COMPLETED +10 -0`,
		},
		{
			// 40 B are staged at 4 s, and stay.
			name: "a node fails, and the rest is staged in the next attempt", nodes: 2, config: shares(10),
			rows:    []traces.Job{row(1, 0, stages(hundred), long)},
			changes: []translate.Change{fails(4, 0)},
			log: `0s submitted 1
			      0s assigned 1
			      4s node n0 DOWN
			      4s requeued 1 NODE_FAILURE
			      4s assigned 1
			      20s ended 1 COMPLETED`,
			attempts: `1 0-4 FAILED +0 -0
			           1 4-20 COMPLETED +10 -0`,
		},
		{
			// Both have 50 B at 10 s. The second then has all 10 B/s.
			name: "one is lost while it stages, and the other goes on faster", nodes: 2, config: shares(10),
			rows:    []traces.Job{row(1, 0, stages(hundred), neverRequeued, long), row(2, 0, stages(hundred), long)},
			changes: []translate.Change{fails(10, 0)},
			log: `0s submitted 1
			      0s submitted 2
			      0s assigned 1
			      0s assigned 2
			      10s node n0 DOWN
			      10s ended 1 FAILED NODE_FAILURE
			      25s ended 2 COMPLETED`,
			attempts: `1 0-10 FAILED +0 -0
			           2 0-25 COMPLETED +10 -0`,
		},
		{
			name: "a victim that stages has nothing to write", nodes: 1, config: shares(10),
			rows:   []traces.Job{row(1, 0, stages(hundred), long), row(2, 4*at, class(9))},
			orders: []order{preemptAt(4, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      4s submitted 2
			      4s preempted 1 PREEMPTED
			      4s suspended 1
			      4s assigned 2
			      14s ended 2 COMPLETED
			      14s assigned 1
			      30s ended 1 COMPLETED`,
			attempts: `1 0-4 SUSPENDED +0 -0
			           2 4-14 COMPLETED +10 -0
			           1 14-30 COMPLETED +10 -0`,
		},
	} {
		t.Run(c.name, c.tell)
	}
}

// TestSharedCheckpoints tells of checkpoints that are written and read through one pool.
func TestSharedCheckpoints(t *testing.T) {
	twice := []traces.Job{row(1, 0, manual, runs(240*sec), walltime(400*sec)), row(2, 0, manual, runs(240*sec), walltime(400*sec))}
	late := func(bandwidth int64) func(*SiteConfig) {
		return both(shares(bandwidth), func(c *SiteConfig) { c.Exit.Timeout = 12 * sec })
	}
	victims := []traces.Job{row(1, 0, runs(60*sec), walltime(1000*sec)), row(2, 0, runs(60*sec), walltime(1000*sec)), row(3, 5*at, class(9), nodes(2))}
	leave := []order{preemptAt(5, 3, 1), preemptAt(5, 3, 2)}
	for _, c := range []tale{
		{
			//       0     100  120   220  240  280
			//  1, 2 |work |write|work|write|work|
			name: "two that write at a time take twice as long", nodes: 2,
			config: both(keeps(preempt.YoungInterval, 500*sec), func(c *SiteConfig) { c.Storage = &StorageConfig{Bandwidth: 10} }),
			rows:   twice,
			log: `0s submitted 1
			      0s submitted 2
			      0s assigned 1
			      0s assigned 2
			      120s checkpointed 1
			      120s checkpointed 2
			      240s checkpointed 1
			      240s checkpointed 2
			      280s ended 1 COMPLETED
			      280s ended 2 COMPLETED`,
			attempts: `1 0-280 COMPLETED +240 -0
			           2 0-280 COMPLETED +240 -0`,
		},
		{
			name: "its walltime runs on while it writes", nodes: 2,
			config: both(keeps(preempt.YoungInterval, 500*sec), func(c *SiteConfig) {
				c.Storage, c.Exit.KillGrace = &StorageConfig{Bandwidth: 10}, 0
			}),
			rows: []traces.Job{row(1, 0, manual, runs(240*sec), walltime(115*sec)), row(2, 0, manual, runs(150*sec), walltime(400*sec))},
			log: `0s submitted 1
			      0s submitted 2
			      0s assigned 1
			      0s assigned 2
			      115s ended 1 TIMEOUT WALLTIME_LIMIT
			      117s checkpointed 2
			      167s ended 2 COMPLETED`, // 75 B are left of each at 115 s: at 117.5 s 2 is done
			attempts: `1 0-115 TIMEOUT +100 -0
			           2 0-167 COMPLETED +150 -0`,
		},
		{
			// Both stop at 5 s and have written at 25 s; both read from 35 s to 55 s.
			name: "two victims leave late, and read together", nodes: 2, config: shares(10), rows: victims, orders: leave,
			log: `0s submitted 1
			      0s submitted 2
			      0s assigned 1
			      0s assigned 2
			      5s submitted 3
			      5s preempted 1 PREEMPTED
			      5s preempted 2 PREEMPTED
			      25s suspended 1
			      25s suspended 2
			      25s assigned 3
			      35s ended 3 COMPLETED
			      35s assigned 1
			      35s assigned 2
			      110s ended 1 COMPLETED
			      110s ended 2 COMPLETED`,
			attempts: `1 0-25 SUSPENDED +5 -0
			           2 0-25 SUSPENDED +5 -0
			           3 25-35 COMPLETED +10 -0
			           1 35-110 COMPLETED +55 -0
			           2 35-110 COMPLETED +55 -0`,
		},
		{
			// TERM at 23 s, after one extension; what is whole before KILL at 53 s counts.
			name: "a checkpoint that is whole before KILL counts", nodes: 2, config: late(5), rows: victims, orders: leave,
			log: `0s submitted 1
			      0s submitted 2
			      0s assigned 1
			      0s assigned 2
			      5s submitted 3
			      5s preempted 1 PREEMPTED
			      5s preempted 2 PREEMPTED
			      45s suspended 1
			      45s suspended 2
			      45s assigned 3
			      55s ended 3 COMPLETED
			      55s assigned 1
			      55s assigned 2
			      150s ended 1 COMPLETED
			      150s ended 2 COMPLETED`,
			attempts: `1 0-45 SUSPENDED +5 -0
			           2 0-45 SUSPENDED +5 -0
			           3 45-55 COMPLETED +10 -0
			           1 55-150 COMPLETED +55 -0
			           2 55-150 COMPLETED +55 -0`,
		},
		{
			name: "storage that is too slow loses the work of both", nodes: 2, config: late(4), rows: victims, orders: leave,
			log: `0s submitted 1
			      0s submitted 2
			      0s assigned 1
			      0s assigned 2
			      5s submitted 3
			      5s preempted 1 PREEMPTED
			      5s preempted 2 PREEMPTED
			      53s requeued 1 PREEMPTED
			      53s requeued 2 PREEMPTED
			      53s assigned 3
			      63s ended 3 COMPLETED
			      63s assigned 1
			      63s assigned 2
			      123s ended 1 COMPLETED
			      123s ended 2 COMPLETED`,
			attempts: `1 0-53 FAILED +0 -5
			           2 0-53 FAILED +0 -5
			           3 53-63 COMPLETED +10 -0
			           1 63-123 COMPLETED +60 -0
			           2 63-123 COMPLETED +60 -0`,
		},
	} {
		t.Run(c.name, c.tell)
	}
}

// TestTwoParts tells of checkpoints that are copied into memory and written behind the work.
func TestTwoParts(t *testing.T) {
	one := []traces.Job{row(1, 0, manual, runs(120*sec), walltime(1000*sec))}
	withVictim := func(s model.Time) []traces.Job { return []traces.Job{one[0], row(2, s*at, class(9))} }
	for _, c := range []tale{
		{
			//     0    50   52         62    102  104        114  124
			//  1  |work|copy|work            |copy|work            |
			//               |writes    |          |writes     |
			name: "the copy alone stops the job", nodes: 1, config: copies(10), rows: one,
			log: `0s submitted 1
			      0s assigned 1
			      62s checkpointed 1
			      114s checkpointed 1
			      124s ended 1 COMPLETED`,
			attempts: `1 0-124 COMPLETED +120 -0`,
		},
		{
			name: "a failure while the copy is written loses it", nodes: 2, config: copies(10), rows: one,
			changes: []translate.Change{fails(61, 0)},
			log: `0s submitted 1
			      0s assigned 1
			      61s node n0 DOWN
			      61s requeued 1 NODE_FAILURE
			      61s assigned 1
			      123s checkpointed 1
			      175s checkpointed 1
			      185s ended 1 COMPLETED`,
			attempts: `1 0-61 FAILED +0 -59
			           1 61-185 COMPLETED +120 -0`,
		},
		{
			// It reads 100 B from 63 s to 73 s.
			name: "a failure after that goes on from the copy", nodes: 2, config: copies(10), rows: one,
			changes: []translate.Change{fails(63, 0)},
			log: `0s submitted 1
			      0s assigned 1
			      62s checkpointed 1
			      63s node n0 DOWN
			      63s requeued 1 NODE_FAILURE
			      63s assigned 1
			      135s checkpointed 1
			      145s ended 1 COMPLETED`,
			attempts: `1 0-63 FAILED +50 -11
			           1 63-145 COMPLETED +70 -0`,
		},
		{
			// The next copy would be due at 102 s.
			name: "the next one waits for the last", nodes: 1, config: copies(1), rows: []traces.Job{row(1, 0, manual, runs(260*sec), walltime(1000*sec))},
			log: `0s submitted 1
			      0s assigned 1
			      152s checkpointed 1
			      254s checkpointed 1
			      266s ended 1 COMPLETED`,
			attempts: `1 0-266 COMPLETED +260 -0`,
		},
		{
			// Of 400 s, 58 s are done at 60 s and 242 s at 152 s.
			name: "so it does when the job gets faster", nodes: 1, config: copies(1), orders: []order{speeds(60, 1, 2, 1)},
			rows: []traces.Job{row(1, 0, manual, runs(400*sec), walltime(1000*sec))},
			log: `0s submitted 1
			      0s assigned 1
			      152s checkpointed 1
			      233s ended 1 COMPLETED`,
			attempts: `1 0-233 COMPLETED +400 -0`,
		},
		{
			// It stops at 55 s, with 53 s of work, waits until 62 s, copies until 64 s and writes
			// until 74 s; it reads until 94 s.
			name: "a victim writes a new one behind the last", nodes: 1, config: copies(10), rows: withVictim(55), orders: []order{preemptAt(55, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      55s submitted 2
			      55s preempted 1 PREEMPTED
			      62s checkpointed 1
			      74s suspended 1
			      74s assigned 2
			      84s ended 2 COMPLETED
			      84s assigned 1
			      156s checkpointed 1
			      163s ended 1 COMPLETED`,
			attempts: `1 0-74 SUSPENDED +53 -0
			           2 74-84 COMPLETED +10 -0
			           1 84-163 COMPLETED +67 -0`,
		},
		{
			name: "a victim that copies already leaves with that", nodes: 1, config: copies(10), rows: withVictim(51), orders: []order{preemptAt(51, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      51s submitted 2
			      51s preempted 1 PREEMPTED
			      62s suspended 1
			      62s assigned 2
			      72s ended 2 COMPLETED
			      72s assigned 1
			      144s checkpointed 1
			      154s ended 1 COMPLETED`,
			attempts: `1 0-62 SUSPENDED +50 -0
			           2 62-72 COMPLETED +10 -0
			           1 72-154 COMPLETED +70 -0`,
		},
		{
			name: "and it does so as slowly as it began", nodes: 1,
			config: both(copies(10), func(c *SiteConfig) { c.Faults.Slow, c.Faults.SlowBy = 1, 3 }),
			rows:   withVictim(51), orders: []order{preemptAt(51, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      51s submitted 2
			      51s preempted 1 PREEMPTED
			      86s suspended 1
			      86s assigned 2
			      96s ended 2 COMPLETED
			      96s assigned 1
			      182s ended 1 COMPLETED`,
			attempts: `1 0-86 SUSPENDED +50 -0
			           2 86-96 COMPLETED +10 -0
			           1 96-182 COMPLETED +70 -0`,
		},
		{
			name: "nothing is copied that would not be written within the walltime", nodes: 1, config: copies(10),
			rows: []traces.Job{row(1, 0, manual, runs(58*sec), walltime(61*sec))},
			log: `0s submitted 1
			      0s assigned 1
			      58s ended 1 COMPLETED`,
			attempts: `1 0-58 COMPLETED +58 -0`,
		},
		{
			name: "a victim is killed in the middle of it", nodes: 1,
			config: both(copies(1), func(c *SiteConfig) { c.Exit.Timeout, c.Exit.KillGrace = 2*sec, sec }), rows: withVictim(10), orders: []order{preemptAt(10, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      10s submitted 2
			      10s preempted 1 PREEMPTED
			      14s requeued 1 PREEMPTED
			      14s assigned 2
			      24s ended 2 COMPLETED
			      24s assigned 1
			      146s ended 1 COMPLETED`,
			attempts: `1 0-14 FAILED +0 -10
			           2 14-24 COMPLETED +10 -0
			           1 24-146 COMPLETED +120 -0`,
		},
	} {
		t.Run(c.name, c.tell)
	}
}

// TestTransferCounts: what came to pass is counted by kind, in the order of their names.
func TestTransferCounts(t *testing.T) {
	p := play(t, func() SiteConfig {
		c := SiteConfig{Site: smallSite(2)}
		shares(10)(&c)
		c.Changes = []translate.Change{fails(10, 0)}
		return c
	}(),
		batchOf(row(1, 0, stages(hundred), neverRequeued, walltime(100*sec)), row(2, 0, stages(hundred), walltime(100*sec))))
	s := int64(sec)
	require.Equal(t, []storage.Counts{
		{Kind: "stage", Begun: 2, Done: 1, Asked: 200, Moved: 150, Time: 25 * s, Alone: 15 * s},
		{Kind: "read"}, {Kind: "write"}, {Kind: "copy"}, {Kind: "drain"}, {Kind: "leave"},
	}, p.world.Meter.Transfers)
	require.Zero(t, p.world.transfers.storage.Systems[0].Pool.Len())

	p = play(t, func() SiteConfig { c := SiteConfig{Site: smallSite(1)}; copies(10)(&c); return c }(), batchOf(row(1, 0, manual, runs(103*sec), walltime(1000*sec))))
	require.Equal(t, []storage.Counts{
		{Kind: "stage"}, {Kind: "read"}, {Kind: "write"},
		{Kind: "copy", Begun: 2, Done: 2, Asked: 200, Moved: 200, Time: 4 * s, Alone: 4 * s},
		{Kind: "drain", Begun: 2, Done: 1, Asked: 200, Moved: 130, Time: 13 * s, Alone: 13 * s}, {Kind: "leave"},
	}, p.world.Meter.Transfers, "it ends 3 s after its second copy")

	p = play(t, SiteConfig{Site: smallSite(1)}, batchOf(row(1, 0, stages(hundred))))
	require.Nil(t, p.world.Meter.Transfers, "absent, as nothing is shared")
	require.Equal(t, 10*at, p.sink.jobs[0].End, "and nothing is staged")
}

// TestTransfersUnderWay: what is under way when the replay stops counts as far as it has come.
func TestTransfersUnderWay(t *testing.T) {
	s := newSingle(t, shares(10), row(1, 0, stages(hundred), walltime(100*sec)))
	f := s.submit(0)
	s.propose(0, model.Proposal{Job: f.Job, Ref: f.Ref, Placement: whole(1)})
	require.Equal(t, 10*at, s.Next())
	require.EqualValues(t, 1, s.Abandon(4*at))
	require.Equal(t, storage.Counts{Kind: "stage", Begun: 1, Asked: 100, Moved: 40, Time: int64(4 * sec), Alone: int64(4 * sec)}, s.Meter.Transfers[0])
}

// TestHeldWhileItStages: a job draws what its GPUs draw held until it has its input, however
// long that takes, and while it writes a checkpoint.
//
//	0         20        30
//	| stages  | works   |
func TestHeldWhileItStages(t *testing.T) {
	p := play(t, modelled(1, shares(5)), recordedOn(batchOf(row(1, 0, stages(hundred), walltime(100*sec))), 1))
	require.Equal(t, 30*at, p.sink.jobs[0].End)
	want := int64(20*(100+4*20)+10*(100+4*100)) * 1000
	require.Equal(t, model.Energy{Low: want, Value: want, High: want}, p.sink.jobs[0].Energy)
	require.EqualValues(t, want/1000, p.joules)

	p = play(t, modelled(1, both(keeps(preempt.YoungInterval, 500*sec), func(c *SiteConfig) { c.Storage = &StorageConfig{Bandwidth: 5} })),
		recordedOn(batchOf(row(1, 0, manual, runs(150*sec), walltime(400*sec))), 1))
	require.Equal(t, 170*at, p.sink.jobs[0].End)
	require.EqualValues(t, 20*(100+4*20)+150*(100+4*100), p.joules)
}

// TestBytesOfClasses: a class of work says how much its jobs stage and write, 0 included;
// a row that says it wins.
func TestBytesOfClasses(t *testing.T) {
	known := func(n int64) hwmodel.Size { return hwmodel.Size{Size: n, Known: true} }
	for _, c := range []struct {
		name   string
		bytes  hwmodel.Bytes
		change func(*traces.Job)
		image  int64
		input  int64
	}{
		{"neither", hwmodel.Bytes{}, func(*traces.Job) {}, 100, 0},
		{"of the class", hwmodel.Bytes{Checkpoint: known(30), Input: known(40)}, func(*traces.Job) {}, 30, 40},
		{"none, says the class", hwmodel.Bytes{Checkpoint: known(0), Input: known(0)}, func(*traces.Job) {}, 0, 0},
		{"of the row", hwmodel.Bytes{Checkpoint: known(30), Input: known(40)}, func(j *traces.Job) {
			j.CkptBytes, j.Mounts = traces.Some[int64](7), `{"cold":9}`
		}, 7, 9},
		{"none, says the row", hwmodel.Bytes{Input: known(40)}, stages(`{}`), 100, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := modelled(1, shares(10))
			cfg.Hardware.(*hwmodel.Model).Classes[0].Bytes = c.bytes
			p := play(t, cfg, recordedOn(batchOf(row(1, 0, c.change, walltime(200*sec)), row(2, 9*at, class(9), stages(`{}`))), 1, 1), preemptAt(9, 2, 1))
			leave, stage := p.world.Meter.Transfers[storage.Leave-1], p.world.Meter.Transfers[storage.Stage-1]
			require.Equal(t, c.input, stage.Moved)
			require.Equal(t, c.image, leave.Moved)
		})
	}
}
