package world

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// keeps makes running jobs write checkpoints, of 10 s on a node as in grace.
func keeps(s preempt.Strategy, mtbf model.Duration) func(*SiteConfig) {
	return func(c *SiteConfig) {
		grace(c)
		k := preempt.DefaultCheckpointConfig()
		k.Strategy, k.MTBF, k.Bandwidth, k.Bytes = s, mtbf, c.Exit.Bandwidth, 0
		c.Checkpoints = &k
	}
}

func both(f ...func(*SiteConfig)) func(*SiteConfig) {
	return func(c *SiteConfig) {
		for _, f := range f {
			f(c)
		}
	}
}

func manual(j *traces.Job) { j.Checkpoint = "manual" }

// TestPeriodicCheckpoints tells of jobs that save their work as they run. By the
// formula of Young 10 s to write and a failure in 500 s are 100 s of work between.
func TestPeriodicCheckpoints(t *testing.T) {
	for _, c := range []tale{
		{
			//     0     100  110   210  220  260
			//  1  |work |writes|work|writes|work|
			name: "a job writes every so often and ends later", nodes: 1, config: keeps(preempt.YoungInterval, 500*sec),
			rows: []traces.Job{row(1, 0, manual, runs(240*sec), walltime(400*sec))},
			log: `0s submitted 1
			      0s assigned 1
			      110s checkpointed 1
			      220s checkpointed 1
			      260s ended 1 COMPLETED`,
			attempts: `1 0-260 COMPLETED +240 -0`,
		},
		{
			//     0     100  130   230  260  300
			//  1  |work |writes|work|writes|work|
			name: "a slow one takes three times as long", nodes: 1,
			config: both(keeps(preempt.YoungInterval, 500*sec), func(c *SiteConfig) { c.Faults.Slow, c.Faults.SlowBy = 1, 3 }),
			rows:   []traces.Job{row(1, 0, manual, runs(240*sec), walltime(400*sec))},
			log: `0s submitted 1
			      0s assigned 1
			      130s checkpointed 1
			      260s checkpointed 1
			      300s ended 1 COMPLETED`,
			attempts: `1 0-300 COMPLETED +240 -0`,
		},
		{
			// 100 s are saved, and 40 s lost; it reads for 10 s.
			name: "it goes on from there after a node has failed", nodes: 2, config: keeps(preempt.YoungInterval, 500*sec),
			rows:    []traces.Job{row(1, 0, manual, runs(180*sec), walltime(400*sec))},
			changes: []translate.Change{fails(150, 0)},
			log: `0s submitted 1
			      0s assigned 1
			      110s checkpointed 1
			      150s node n0 DOWN
			      150s requeued 1 NODE_FAILURE
			      150s assigned 1
			      240s ended 1 COMPLETED`,
			attempts: `1 0-150 FAILED +100 -40
			           1 150-240 COMPLETED +80 -0`,
		},
		{
			// 100 s are saved; the 80 s behind that count for nothing.
			name: "of what crashes by itself counts what is saved", nodes: 1, config: keeps(preempt.YoungInterval, 500*sec),
			rows: []traces.Job{row(1, 0, manual, runs(180*sec), walltime(400*sec), failed, neverRequeued)},
			log: `0s submitted 1
			      0s assigned 1
			      110s checkpointed 1
			      190s ended 1 FAILED`,
			attempts: `1 0-190 FAILED +100 -80`,
		},
		{
			name: "a node that fails while it writes takes the checkpoint along", nodes: 2, config: keeps(preempt.YoungInterval, 500*sec),
			rows:    []traces.Job{row(1, 0, manual, runs(120*sec), walltime(400*sec))},
			changes: []translate.Change{fails(105, 0)},
			log: `0s submitted 1
			      0s assigned 1
			      105s node n0 DOWN
			      105s requeued 1 NODE_FAILURE
			      105s assigned 1
			      215s checkpointed 1
			      235s ended 1 COMPLETED`,
			attempts: `1 0-105 FAILED +0 -100
			           1 105-235 COMPLETED +120 -0`,
		},
		{
			// It does not answer at 150 s; TERM after 20 s, KILL after 30 s more. 100 s
			// are saved, and 90 s lost.
			name: "a victim that has no time to write goes on from there", nodes: 1,
			config: both(keeps(preempt.YoungInterval, 500*sec), func(c *SiteConfig) { c.Faults.Unresponsive, c.Exit.Timeout = 1, 20*sec }),
			rows:   []traces.Job{row(1, 0, manual, runs(220*sec), walltime(2000*sec)), row(2, 150*at, class(9))},
			orders: []order{preemptAt(150, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      110s checkpointed 1
			      150s submitted 2
			      150s preempted 1 PREEMPTED
			      200s requeued 1 PREEMPTED
			      200s assigned 2
			      210s ended 2 COMPLETED
			      210s assigned 1
			      330s checkpointed 1
			      350s ended 1 COMPLETED`,
			attempts: `1 0-200 FAILED +100 -90
			           2 200-210 COMPLETED +10 -0
			           1 210-350 COMPLETED +120 -0`,
		},
		{
			// It is asked at 104 s for what it began to write at 100 s.
			name: "a victim that writes already leaves with that", nodes: 1, config: keeps(preempt.YoungInterval, 500*sec),
			rows:   []traces.Job{row(1, 0, manual, runs(150*sec), walltime(2000*sec)), row(2, 104*at, class(9))},
			orders: []order{preemptAt(104, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      104s submitted 2
			      104s preempted 1 PREEMPTED
			      110s suspended 1
			      110s assigned 2
			      120s ended 2 COMPLETED
			      120s assigned 1
			      180s ended 1 COMPLETED`,
			attempts: `1 0-110 SUSPENDED +100 -0
			           2 110-120 COMPLETED +10 -0
			           1 120-180 COMPLETED +50 -0`,
		},
		{
			name: "its walltime runs on while it writes", nodes: 1, config: keeps(preempt.YoungInterval, 500*sec),
			rows: []traces.Job{row(1, 0, manual, runs(150*sec), walltime(120*sec))},
			log: `0s submitted 1
			      0s assigned 1
			      110s checkpointed 1
			      150s ended 1 TIMEOUT WALLTIME_LIMIT`,
			attempts: `1 0-150 TIMEOUT +140 -0`,
		},
		{
			name: "nothing is written that would not be whole within the walltime", nodes: 1, config: keeps(preempt.YoungInterval, 500*sec),
			rows: []traces.Job{row(1, 0, manual, runs(105*sec), walltime(110*sec))},
			log: `0s submitted 1
			      0s assigned 1
			      105s ended 1 COMPLETED`,
			attempts: `1 0-105 COMPLETED +105 -0`,
		},
		{
			// Automatic checkpoints come no sooner than after 300 s.
			name: "the policy bounds the interval", nodes: 1, config: keeps(preempt.YoungInterval, 500*sec),
			rows: []traces.Job{row(1, 0, runs(400*sec), walltime(500*sec)), row(2, 420*at, none, runs(400*sec), walltime(500*sec))},
			log: `0s submitted 1
			      0s assigned 1
			      310s checkpointed 1
			      410s ended 1 COMPLETED
			      420s submitted 2
			      420s assigned 2
			      820s ended 2 COMPLETED`,
			attempts: `1 0-410 COMPLETED +400 -0
			           2 420-820 COMPLETED +400 -0`,
		},
		{
			// It tries again 30 s after each failure.
			name: "a node fails to write its part", nodes: 1,
			config: both(keeps(preempt.YoungInterval, 500*sec), func(c *SiteConfig) { c.Faults.Partial = 1 }),
			rows:   []traces.Job{row(1, 0, manual, runs(140*sec), walltime(400*sec))},
			log: `0s submitted 1
			      0s assigned 1
			      160s ended 1 COMPLETED`,
			attempts: `1 0-160 COMPLETED +140 -0`,
		},
		{
			// Writing takes 10 s, of the job and of its 4 GPUs: a cost of 50. At 30 s
			// its value is 30 x 4 x 0.001. At 60 s one job of a higher class waits (100
			// x 0.5), for 20 s where 400 s run (60 x 0.05). 30 s after it has written
			// comes the look at 120 s, when the job is over.
			name: "a job writes when that is worth it", nodes: 1, config: keeps(preempt.ValueOverCost, model.Forever),
			rows: []traces.Job{row(1, 0, manual, runs(100*sec), walltime(400*sec)), row(2, 35*at, class(9))},
			log: `0s submitted 1
			      0s assigned 1
			      35s submitted 2
			      70s checkpointed 1
			      110s ended 1 COMPLETED
			      110s assigned 2
			      120s ended 2 COMPLETED`,
			attempts: `1 0-110 COMPLETED +100 -0
			           2 110-120 COMPLETED +10 -0`,
		},
	} {
		t.Run(c.name, c.tell)
	}
}

// TestWorthIt holds the decision of a running job against the rows of the golden
// table whose memory and class a site can state, with the documents' size: on
// each GPU, and since the last checkpoint.
func TestWorthIt(t *testing.T) {
	const h, m, gib = model.Hour, model.Minute, int64(1) << 30
	for _, c := range []struct {
		nodes   int32
		since   model.Duration
		backlog model.Fixed
		waiting int32
		perGPU  int64 // GiB
		write   model.Duration
		worth   bool
	}{
		{2, 2 * h, 0, 0, 20, 16 * sec, false}, // cost 16 + 128 + 3.2 = 147.2, value 57.6
		{4, 30 * m, model.One / 10, 0, 2, 3200 * model.Millisecond, false},
		{4, 30 * m, model.One, 3, 2, 3200 * model.Millisecond, true}, // cost 3.2 + 51.2 + 0.64 = 55.04, value 568.8
		{2, 10 * m, model.One / 2, 0, 20, 16 * sec, false},
		{1, 1 * h, 0, 0, 20, 8 * sec, false},
		{4, 2 * h, model.One / 2, 2, 2, 3200 * model.Millisecond, true},
		{2, 6*h - 1, 0, 0, 80, 64 * sec, false},
		{2, 6 * h, 0, 0, 80, 64 * sec, true}, // forced
	} {
		cfg := SiteConfig{Site: smallSite(4)}
		grace(&cfg)
		cfg.Exit.Bandwidth = 10 * gib
		k := preempt.DefaultCheckpointConfig()
		k.Bytes, cfg.Checkpoints = 0, &k
		require.NoError(t, cfg.Validate())
		s := NewSite(cfg, forget{})
		s.now = model.Time(c.since)
		s.ledger.load.running, s.ledger.load.queued = 1000, int64(c.backlog)*1000>>model.FractionBits
		s.ledger.load.classes[9], s.ledger.load.classes[0] = c.waiting, 7
		l := &siteJob{alloc: &model.Allocation{}, attempt: &attempt{holds: holding{nodes: c.nodes, gpus: 4 * c.nodes, image: int64(4*c.nodes) * c.perGPU * gib}}}
		require.Equal(t, c.write, s.agenda.writing(l))
		require.Equal(t, c.worth, s.checkpoints.worth(l), "%+v", c)
	}
}

// TestWorthItByWhatStops: a checkpoint costs the time for which it stops the job. Of 40 GPUs
// with 20 GiB each it is worth 40·3600·0.001 s after an hour. Written at 10 GiB/s it stops the
// job for 80 s, which costs 80·41 s and 16 for its size; copied at 100 GiB/s for 8 s, and at
// 800 GiB/s for 1 s.
func TestWorthItByWhatStops(t *testing.T) {
	const gib = int64(1) << 30
	for stop, worth := range map[int64]bool{0: false, 100 * gib: false, 800 * gib: true} { //detlint:ordered each stands alone
		cfg := SiteConfig{Site: smallSite(4)}
		grace(&cfg)
		cfg.Exit.Bandwidth = 10 * gib
		k := preempt.DefaultCheckpointConfig()
		k.Bytes, cfg.Checkpoints = 0, &k
		if stop > 0 {
			cfg.Storage = &StorageConfig{Stop: stop}
		}
		require.NoError(t, cfg.Validate())
		s := NewSite(cfg, forget{})
		s.now = model.Time(model.Hour)
		l := &siteJob{alloc: &model.Allocation{}, attempt: &attempt{holds: holding{nodes: 10, gpus: 40, image: 40 * 20 * gib}}}
		require.Equal(t, worth, s.checkpoints.worth(l), "copies at %d B/s", stop)
	}
}

func TestBadStorage(t *testing.T) {
	for _, c := range []struct {
		storage StorageConfig
		want    string
	}{
		{StorageConfig{Bandwidth: -1}, "the bandwidth is -1 B/s"},
		{StorageConfig{Bandwidth: 1, Stage: -1}, "the rate of staging is -1 B/s"},
		{StorageConfig{Stop: -1}, "the rate of copies of checkpoints is -1 B/s"},
		{StorageConfig{}, "without any rate"},
		{StorageConfig{FileSystems: []FileSystem{{Name: "a", Bandwidth: 1}, {Name: "b", Bandwidth: -1}}}, "the bandwidth of file system 1 is -1 B/s"},
		{StorageConfig{Bandwidth: 1, FileSystems: []FileSystem{{Name: "a", Bandwidth: 1}}}, "give one of them"},
	} {
		cfg := SiteConfig{Site: smallSite(1), Exit: preempt.DefaultConfig(), Storage: &c.storage}
		require.ErrorContains(t, cfg.Validate(), c.want)
	}
}

func TestBadCheckpoints(t *testing.T) {
	for _, c := range []struct {
		spoil func(*SiteConfig)
		want  string
	}{
		{keeps(preempt.YoungInterval, model.Forever), "young needs the mean time between the failures of a node"},
		{both(keeps(preempt.ValueOverCost, model.Forever), func(c *SiteConfig) { c.Checkpoints.Bandwidth = 3 }), "are written at 3 B/s and those of victims at 10"},
		{both(keeps(preempt.ValueOverCost, model.Forever), func(c *SiteConfig) { c.Checkpoints.Price = -1 }), "price"},
	} {
		cfg := SiteConfig{Site: smallSite(1)}
		c.spoil(&cfg)
		require.ErrorContains(t, cfg.Validate(), c.want)
	}
}
