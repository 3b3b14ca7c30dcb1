package preempt

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

const (
	auto   = model.CheckpointAuto
	manual = model.CheckpointManual
	none   = model.CheckpointNone
)

// victim holds whole nodes of 4 GPUs and has run since 0.
func victim(job model.JobID, class, nodes int32) Victim {
	return Victim{Job: job, Ref: model.Ref(job), Class: class, Nodes: nodes, Usable: nodes, GPUs: 4, Preemptible: true,
		Walltime: 4 * model.Hour, Elapsed: 2 * model.Hour, LastCheckpoint: model.AbsentTime}
}

// Golden costs of Lattice in minutes, which leave out how many GPUs a victim holds: they are those of
// nodes with one GPU. Two are other than the cost here, each for a reason.
func TestGoldenCosts(t *testing.T) {
	for _, c := range []struct {
		checkpoint        model.Checkpoint
		elapsed, walltime model.Duration // minutes
		nodes             int32
		golden, cost      float64
	}{
		{auto, 30, 240, 1, 17.5, 17.5},
		{auto, 10, 240, 1, 6, 6},
		{auto, 120, 240, 1, 55, 55},
		{auto, 220, 240, 1, 1005, 1005},
		{auto, 30, 0, 1, 5, 55}, // without a walltime it counts as half done, there as not begun
		{manual, 120, 240, 2, 60, 60},
		{none, 60, 240, 1, 85, 85},
		{none, 30, 240, 4, 132.5, 42.5}, // 30 minutes of each node are lost, for each that comes free; there 120 for all
	} {
		v := Victim{Checkpoint: c.checkpoint, Elapsed: c.elapsed * model.Minute, Walltime: c.walltime * model.Minute,
			LastCheckpoint: model.AbsentTime, Nodes: c.nodes, Usable: c.nodes, GPUs: 1}
		cfg := DefaultConfig()
		now := model.Time(v.Elapsed)
		require.InDelta(t, c.cost, float64(cfg.Cost(&v, now, cfg.Bandwidth))/float64(model.Minute), 0, "%+v", c)
		v.Burst = true
		require.InDelta(t, c.cost/2, float64(cfg.Cost(&v, now, cfg.Bandwidth))/float64(model.Minute), 0, "%+v with burst", c)
		v.Burst = false
		if c.walltime == 0 {
			v.Walltime = model.Forever
			require.InDelta(t, c.cost, float64(cfg.Cost(&v, now, cfg.Bandwidth))/float64(model.Minute), 0, "%+v", c)
		}
	}
}

// Costs in GPU-minutes per usable node, with 4 GPUs on each node.
func TestCost(t *testing.T) {
	const tenGiB = 10 * gib
	for _, c := range []struct {
		checkpoint         model.Checkpoint
		elapsed, walltime  model.Duration // minutes
		lastCheckpoint     model.Time     // minutes
		gibibytes          int64
		nodes, usable      int32
		burst              bool
		write, lost, value int64 // minutes that it should be made of
		cost               int64
	}{
		{auto, 120, 240, -1, 0, 1, 1, false, 5, 0, 50, 55 * 4},
		{manual, 120, 240, -1, 0, 1, 1, false, 10, 0, 50, 60 * 4},
		{none, 120, 240, -1, 0, 1, 1, false, 0, 120, 50, 170 * 4},
		{none, 120, 240, 90, 0, 1, 1, false, 0, 30, 50, 80 * 4},       // lost since the last checkpoint only
		{auto, 10, 240, -1, 0, 1, 1, false, 5, 0, 1, 6 * 4},           // hardly begun
		{auto, 24, 240, -1, 0, 1, 1, false, 5, 0, 10, 15 * 4},         // in proportion from a tenth on
		{auto, 216, 240, -1, 0, 1, 1, false, 5, 0, 1000, 1005 * 4},    // the surcharge at 90 %
		{auto, 120, 240, -1, 1200, 1, 1, false, 2, 0, 50, 52 * 4},     // 1200 GiB at 10 GiB/s
		{manual, 120, 240, -1, 12000, 1, 1, false, 20, 0, 50, 70 * 4}, // a stated size counts for both
		{auto, 120, 240, -1, 0, 8, 8, false, 5, 0, 50, 55 * 4},        // per node
		{auto, 120, 240, -1, 0, 8, 2, false, 5, 0, 50, 55 * 4 * 4},    // per usable node
		{auto, 120, 240, -1, 0, 8, 2, true, 5, 0, 50, 55 * 4 * 2},
		{auto, 120, 0, -1, 0, 1, 1, false, 5, 0, 50, 55 * 4}, // without a walltime: half done
	} {
		require.Equal(t, c.cost, (c.write+c.lost+c.value)*4*int64(c.nodes)/int64(c.usable)/(1+b2i(c.burst)), "%+v", c)
		v := Victim{Checkpoint: c.checkpoint, Elapsed: c.elapsed * model.Minute, Walltime: c.walltime * model.Minute,
			LastCheckpoint: model.AbsentTime, CkptBytes: c.gibibytes * gib, Nodes: c.nodes, Usable: c.usable, GPUs: 4, Burst: c.burst}
		if c.lastCheckpoint >= 0 {
			v.LastCheckpoint = c.lastCheckpoint * model.Time(model.Minute)
		}
		cfg := DefaultConfig()
		now := model.Time(v.Elapsed)
		require.Equal(t, c.cost*int64(model.Minute), cfg.Cost(&v, now, tenGiB), "%+v", c)
	}
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func TestCostSaturates(t *testing.T) {
	cfg := DefaultConfig()
	v := victim(0, 1, 1<<30)
	v.GPUs, v.Usable = 1<<30, 1
	require.EqualValues(t, model.Forever, cfg.Cost(&v, 0, 1))
	v = victim(0, 1, 1)
	require.EqualValues(t, model.Forever, cfg.Cost(&v, 0, 0), "no storage to write to")
	v.Walltime, v.Elapsed = model.Forever-1, model.Forever-2
	require.Positive(t, cfg.Cost(&v, 0, gib))
}

func TestConfigValidate(t *testing.T) {
	cfg := DefaultConfig()
	require.NoError(t, cfg.Validate())
	cfg.MaxVictims = 0
	require.EqualError(t, cfg.Validate(), "preemption: max_victims is 0: give at least 1")
	cfg = DefaultConfig()
	cfg.Rule = 2
	require.ErrorContains(t, cfg.Validate(), "use strict (0) or banded (1)")
	cfg = DefaultConfig()
	cfg.Extension = -1
	require.ErrorContains(t, cfg.Validate(), "extension is -1")
	cfg = DefaultConfig()
	require.Equal(t, 30*model.Second, cfg.Longest(none))
	require.Equal(t, (4*600+3*300+300+30)*model.Second, cfg.Longest(auto))
	require.Equal(t, (6*600+5*300+300+30)*model.Second, cfg.Longest(manual))

	ck := DefaultCheckpointConfig()
	require.NoError(t, ck.Validate())
	ck.MTBF = 0
	require.EqualError(t, ck.Validate(), "checkpoints: mtbf in microseconds is 0: give at least 1")
	ck = DefaultCheckpointConfig()
	ck.PFail = 2 * model.One
	require.ErrorContains(t, ck.Validate(), "at most 1")
	ck = DefaultCheckpointConfig()
	ck.Strategy = 3
	require.ErrorContains(t, ck.Validate(), "young (1)")
	require.Equal(t, "banded daly", Banded.String()+" "+DalyInterval.String())
}
