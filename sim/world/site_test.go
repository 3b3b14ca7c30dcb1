package world

import (
	"testing"

	"orrery/scheduler/model"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// TestLives tells one small story a life.
func TestLives(t *testing.T) {
	for _, c := range []tale{
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
			rows:   []traces.Job{row(1, 0, none, runs(60*sec), walltime(70*sec)), row(2, 5*at, class(9))},
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
			rows:   []traces.Job{row(1, 0, none, neverRequeued, runs(60*sec), walltime(70*sec)), row(2, 5*at, class(9))},
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
			changes: []translate.Change{fails(4, 1), {At: 20 * at, Kind: translate.NodeRepaired, Node: 1}},
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
			changes: []translate.Change{fails(4, 0), fails(5, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      4s node n0 DOWN
			      4s requeued 1 NODE_FAILURE
			      4s assigned 1
			      5s node n1 DOWN
			      5s ended 1 FAILED MAX_REQUEUE_EXCEEDED`,
			attempts: `1 0-4 FAILED +0 -4
			           1 4-5 FAILED +0 -1`,
		},
		{
			name: "a session is never requeued", nodes: 2,
			rows:    []traces.Job{row(1, 0, alwaysRequeued, func(j *traces.Job) { j.Kind = "session" })},
			changes: []translate.Change{fails(4, 0)},
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
			changes: []translate.Change{fails(7, 0), {At: 30 * at, Kind: translate.NodeRepaired}},
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
			rows: []traces.Job{row(1, 0, failed, alwaysRequeued, func(j *traces.Job) { j.RequeueMax = traces.Some[int32](1) }), row(2, 0, failed)},
			log: `0s submitted 1
			      0s submitted 2
			      0s assigned 1
			      10s requeued 1
			      10s assigned 2
			      20s ended 2 FAILED
			      20s assigned 1
			      30s ended 1 FAILED MAX_REQUEUE_EXCEEDED`,
			attempts: `1 0-10 FAILED +0 -10
			           2 10-20 FAILED +0 -10
			           1 20-30 FAILED +0 -10`,
		},
		{
			// D12: the node holds a job that writes its checkpoint, and is not
			// drained before that has left.
			name: "a drain waits for work that checkpoints", nodes: 1, config: grace,
			rows:    []traces.Job{row(1, 0), row(2, 5*at, class(9))},
			orders:  []order{preemptAt(5, 2, 1)},
			changes: []translate.Change{{At: 7 * at, Kind: translate.NodeDrains}, {At: 20 * at, Kind: translate.NodeUndrained}},
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
			name: "a node that is drained while it is wiped is drained when it is clean", nodes: 1,
			config:  func(c *SiteConfig) { c.Wipe = 60 * sec },
			rows:    []traces.Job{row(1, 0, func(j *traces.Job) { j.Sensitive = traces.Some(true) })},
			changes: []translate.Change{{At: 20 * at, Kind: translate.NodeDrains}, {At: 100 * at, Kind: translate.NodeUndrained}},
			log: `0s submitted 1
			      0s assigned 1
			      10s ended 1 COMPLETED
			      10s node n0 WIPING
			      70s node n0 DRAINED
			      100s node n0 READY`,
			attempts: `1 0-10 COMPLETED +10 -0`,
		},
		{
			name: "one that then fails is drained when it is repaired", nodes: 1,
			config:  func(c *SiteConfig) { c.Wipe = 60 * sec },
			rows:    []traces.Job{row(1, 0, func(j *traces.Job) { j.Sensitive = traces.Some(true) })},
			changes: []translate.Change{{At: 20 * at, Kind: translate.NodeDrains}, fails(30, 0), {At: 90 * at, Kind: translate.NodeRepaired}},
			log: `0s submitted 1
			      0s assigned 1
			      10s ended 1 COMPLETED
			      10s node n0 WIPING
			      30s node n0 DOWN
			      90s node n0 DRAINED`,
			attempts: `1 0-10 COMPLETED +10 -0`,
		},
		{
			name: "one that fails while it is wiped, and is not drained, is ready when it is repaired", nodes: 1,
			config:  func(c *SiteConfig) { c.Wipe = 60 * sec },
			rows:    []traces.Job{row(1, 0, func(j *traces.Job) { j.Sensitive = traces.Some(true) })},
			changes: []translate.Change{fails(30, 0), {At: 90 * at, Kind: translate.NodeRepaired}},
			log: `0s submitted 1
			      0s assigned 1
			      10s ended 1 COMPLETED
			      10s node n0 WIPING
			      30s node n0 DOWN
			      90s node n0 READY`,
			attempts: `1 0-10 COMPLETED +10 -0`,
		},
		{
			name: "a degraded node is wiped and degraded still", nodes: 1,
			config:  func(c *SiteConfig) { c.Wipe = 60 * sec },
			rows:    []traces.Job{row(1, 0, func(j *traces.Job) { j.Sensitive = traces.Some(true) })},
			changes: []translate.Change{{At: 5 * at, Kind: translate.NodeDegrades}, {At: 100 * at, Kind: translate.NodeRepaired}},
			log: `0s submitted 1
			      0s assigned 1
			      5s node n0 DEGRADED
			      10s ended 1 COMPLETED
			      10s node n0 WIPING
			      70s node n0 READY
			      70s node n0 DEGRADED
			      100s node n0 READY`,
			attempts: `1 0-10 COMPLETED +10 -0`,
		},
		{
			// D13: nothing is heard of it for 100 days.
			name: "a healthy long job is never failed for its silence", nodes: 1,
			rows: []traces.Job{row(1, 0, runs(100*model.Day), walltime(200*model.Day))},
			log: `0s submitted 1
			      0s assigned 1
			      8640000s ended 1 COMPLETED`,
			attempts: `1 0-8640000 COMPLETED +8640000 -0`,
		},
		{
			name: "degraded nodes keep their work and take none", nodes: 1,
			rows:    []traces.Job{row(1, 0), row(2, 1*at)},
			changes: []translate.Change{{At: 2 * at, Kind: translate.NodeDegrades}, {At: 30 * at, Kind: translate.NodeRepaired}},
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
			orders: []order{{at: 3 * at, kind: model.ProposeCancel, id: 2, victim: 2}},
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
			changes: []translate.Change{
				{At: 10 * at, Kind: translate.PowerChange, Value: 700}, {At: 10 * at, Kind: translate.NodeUndrained}, {At: 10 * at, Kind: translate.LimitsChange, Tenant: 1, Limits: model.Limits{MaxNodes: 3}},
				{At: 10 * at, Kind: translate.PriceChange, Value: 8}, {At: 10 * at, Kind: translate.BandwidthChange, Value: 9},
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
		t.Run(c.name, c.tell)
	}
}
