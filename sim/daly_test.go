package sim

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/sim/record"
	"orrery/traces"
)

// checkpointed is jobs that write checkpoints at an interval, on nodes that break.
type checkpointed struct {
	rule           string // of agents.checkpoints
	mtbf           model.Duration
	write, restart model.Duration
	jobs           int
	work           model.Duration // of each job
}

// interval is the work between two checkpoints.
func (c *checkpointed) interval() model.Duration {
	if c.rule == "young" {
		return preempt.Young(c.write, c.mtbf)
	}
	return preempt.Daly(c.write, c.mtbf)
}

// daly is the part of its work by which a job is longer, by the complete model of J. T. Daly
// (A higher order estimate of the optimum checkpoint interval for restart dumps, Future
// Generation Computer Systems 22(3), 2006): time = M e^(R/M) (e^((τ+δ)/M) - 1) work/τ.
func (c *checkpointed) daly(restart model.Duration) float64 {
	m, tau := c.mtbf.Seconds(), c.interval().Seconds()
	return m*math.Exp(restart.Seconds()/m)*math.Expm1((tau+c.write.Seconds())/m)/tau - 1
}

// waste is the part of its work by which each job is longer in a replay. More nodes than jobs
// and short repairs let a job go on at once on another node. Nodes break no more once the last
// job has been submitted, so that one more comes when all others are over.
func (c *checkpointed) waste(t *testing.T, seed uint64) []float64 {
	t.Helper()
	const bytes = int64(300e9)
	rate := func(d model.Duration) int64 { return int64(float64(bytes) / d.Seconds()) }
	spec := siteOf(t, fmt.Sprintf(`
job_checkpoint: manual
job_requeue_max: 1000000000
groups: [{name: a, nodes: %d}]
agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s, checkpoints: %s, checkpoint_bandwidth: %dB/s, restore_bandwidth: %dB/s}
failures: {mtbf: %dus, mttr: 1s}
vclusters: [{name: all, home: all, profile: {order: fcfs, backfill: none}}]
`, c.jobs+c.jobs/5, c.rule, rate(c.write), rate(c.restart), c.mtbf))
	spec.Seed = seed
	m := &memory{size: 1000, info: traces.Info{Name: "checkpoints", Hash: "checkpoints", Sorted: true}}
	m.all.Attr = &traces.Attributes{}
	second := int64(model.Second)
	for i := range c.jobs + 1 {
		r := row{runtime: int64(c.work) / second, walltime: 100 * int64(c.work) / second, nodes: 1}
		if i == c.jobs {
			r.submit, r.runtime = 10*r.runtime, 1
		}
		m.add(r)
		m.all.Attr.AppendJob(&traces.Job{CkptBytes: traces.Some(bytes)})
	}
	sink := record.NewMemory()
	res, err := Run(t.Context(), spec, m.open, Options{Sink: sink})
	require.NoError(t, err)
	require.Zero(t, res.Unfinished)
	var waste []float64
	for i, id := range sink.Jobs.ID {
		if id <= int64(c.jobs) {
			require.Equal(t, model.Completed, model.JobState(sink.Jobs.State[i]))
			waste = append(waste, float64(sink.Jobs.End[i])/float64(c.work)-1)
		}
	}
	require.Len(t, waste, c.jobs)
	return waste
}

// TestWasteIsDalys: jobs that write checkpoints lose as much time to writing, restarts and
// work done again as Daly's model has it, within 1 % of that and within the interval of the
// replays. The model without restarts, and replays whose restarts take no time, miss it.
func TestWasteIsDalys(t *testing.T) {
	t.Parallel()
	cases := []checkpointed{
		{"daly", 6 * model.Hour, 5 * model.Minute, 10 * model.Minute, 1000, 1000 * model.Hour},
		{"young", 6 * model.Hour, 5 * model.Minute, 10 * model.Minute, 1000, 1000 * model.Hour},
		{"daly", 24 * model.Hour, 2 * model.Minute, 20 * model.Minute, 1000, 4000 * model.Hour},
	}
	if os.Getenv(envLong) != "1" {
		cases = cases[:1]
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s, %v", c.rule, c.mtbf), func(t *testing.T) {
			t.Parallel()
			waste := c.waste(t, 1)
			mean := stat.Mean(waste, nil)
			half := distuv.UnitNormal.Quantile(0.995) * stat.StdErr(stat.StdDev(waste, nil), float64(len(waste)))
			want, without := c.daly(c.restart), c.daly(0)
			t.Logf("a checkpoint each %v: %.3f %% ± %.3f longer, by Daly %.3f %%, without restarts %.3f %%", c.interval(), 100*mean, 100*half, 100*want, 100*without)
			require.InDelta(t, want, mean, half)
			require.InEpsilon(t, want, mean, 0.01)
			require.Greater(t, math.Abs(without-mean), max(half, 0.01*want), "the model without restarts")
			require.Less(t, half, 0.01*want, "as many failures as the bar takes")
		})
	}
	quick := checkpointed{"daly", 6 * model.Hour, 5 * model.Minute, model.Microsecond, 100, 1000 * model.Hour}
	slow := quick
	slow.restart = 10 * model.Minute
	mean := stat.Mean(quick.waste(t, 1), nil)
	require.Greater(t, math.Abs(slow.daly(slow.restart)-mean), 0.01*mean, "replays whose restarts take no time")
}
