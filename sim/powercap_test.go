package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

const hour = model.Time(model.Hour)

// cappedAttempts is the attempts of jobs, in hours.
type cappedAttempts struct {
	lines map[model.JobID][]string
}

func (s *cappedAttempts) Attempt(a *model.AttemptRecord) {
	s.lines[a.Job] = append(s.lines[a.Job], strings.TrimSpace(fmt.Sprintf("%g-%g %s", float64(a.Start)/float64(hour), float64(a.End)/float64(hour), a.Reason)))
}
func (s *cappedAttempts) Job(*model.JobRecord) {}
func (s *cappedAttempts) Flush() error         { return nil }

// capped replays jobs of a node and some hours each on ten nodes of 1 kW, idle 200 W, under a cap of 10 kW
// that is 6 kW from noon to two.
func capped(t *testing.T, keys string, jobs ...traces.Job) (map[model.JobID][]string, *Result) {
	t.Helper()
	w := &siteWorld{
		head: []string{
			"agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}", "job_requeue: always", "power_cap: 10kW",
			"node_types: [{name: a, cpus: 1, idle_power: 200W, busy_power: 1kW}]",
		},
		groups:    []siteGroup{{"g0", "a", "x", 10}},
		vclusters: []string{"{name: v0, home: all, profile: {order: fcfs, backfill: easy}}"},
		events:    []string{"{time: 12h, kind: power_cap, value: 6kW}", "{time: 14h, kind: power_cap, value: 10kW}"},
		size:      100,
	}
	if keys != "" {
		w.head = append(w.head, strings.Split(keys, "; ")...)
	}
	for i := range jobs {
		jobs[i].ID = int64(i)
		w.jobs = append(w.jobs, jobs[i])
	}
	m := w.memory()
	sink := &cappedAttempts{map[model.JobID][]string{}}
	res, err := Run(context.Background(), w.spec(t), m.open, Options{Sink: sink, Watch: true})
	require.NoError(t, err, w)
	require.Empty(t, res.Watch.Breaches)
	return sink.lines, res
}

// cappedJob takes so many nodes for so many hours, from an hour on.
func cappedJob(from model.Time, nodes int32, hours int64, change ...func(*traces.Job)) traces.Job {
	span := model.Duration(hours) * model.Hour
	j := traces.Job{Submit: from * hour, NodesMin: traces.Some(nodes), Runtime: traces.Some(span), Walltime: traces.Some(2 * span)}
	for _, c := range change {
		c(&j)
	}
	return j
}

func ofPriority(class int32) func(*traces.Job) {
	return func(j *traces.Job) { j.Class = traces.Some(class) }
}
func written(j *traces.Job) { j.Checkpoint = "auto" }

// TestShedding: which jobs leave when a cap falls, and when they are back.
func TestShedding(t *testing.T) {
	ten := func(change ...func(*traces.Job)) (jobs []traces.Job) {
		for range 10 {
			jobs = append(jobs, cappedJob(0, 1, 24, change...))
		}
		return jobs
	}
	t.Run("delay lets them run on", func(t *testing.T) {
		lines, res := capped(t, "", ten()...)
		for i := range model.JobID(10) {
			require.Equal(t, []string{"0-24"}, lines[i])
		}
		require.Zero(t, res.SiteCounts.Shed)
	})
	t.Run("four of ten equal ones, by id, until the cap rises", func(t *testing.T) {
		lines, res := capped(t, "over_power_cap: shed", ten()...)
		for i := range model.JobID(10) {
			want := []string{"0-24"}
			if i < 4 {
				want = []string{"0-12 POWER", "14-38"}
			}
			require.Equal(t, want, lines[i], "job %d", i)
		}
		require.EqualValues(t, 4, res.SiteCounts.Shed)
		require.EqualValues(t, 4, res.SiteCounts.Preempted)
	})
	t.Run("five where idle nodes count", func(t *testing.T) { // 5 x 1 kW + 5 x 0.2 kW
		lines, res := capped(t, "over_power_cap: shed; power_cap_scope: site", ten()...)
		for i := range model.JobID(10) {
			want := []string{"0-24"}
			if i < 5 {
				want = []string{"0-12 POWER", "14-38"}
			}
			require.Equal(t, want, lines[i], "job %d", i)
		}
		require.EqualValues(t, 5, res.SiteCounts.Shed)
	})
	t.Run("work with a checkpoint goes on from there", func(t *testing.T) {
		lines, _ := capped(t, "over_power_cap: shed; job_checkpoint: auto", ten(written)...)
		require.Len(t, lines[0], 2)
		require.NotEqual(t, "14-38", lines[0][1])
	})
	t.Run("the latest of a class, and the lowest class first", func(t *testing.T) {
		lines, _ := capped(t, "over_power_cap: shed",
			cappedJob(0, 2, 24, ofPriority(5)), cappedJob(0, 2, 24, ofPriority(1)), cappedJob(0, 2, 24, ofPriority(6)), cappedJob(6, 2, 24, ofPriority(5)), cappedJob(11, 2, 24, ofPriority(6)))
		require.Equal(t, []string{"0-24"}, lines[0])
		require.Equal(t, []string{"0-12 POWER", "14-38"}, lines[1])
		require.Equal(t, []string{"0-24"}, lines[2])
		require.Equal(t, []string{"6-12 POWER", "14-38"}, lines[3])
		require.Equal(t, []string{"11-35"}, lines[4])
	})
	t.Run("one that makes no difference is spared", func(t *testing.T) {
		lines, res := capped(t, "over_power_cap: shed", cappedJob(0, 1, 24, ofPriority(1)), cappedJob(0, 4, 24, ofPriority(2)), cappedJob(0, 5, 24, ofPriority(3)))
		require.Equal(t, []string{"0-24"}, lines[0])
		require.Equal(t, []string{"0-12 POWER", "14-38"}, lines[1])
		require.Equal(t, []string{"0-24"}, lines[2])
		require.EqualValues(t, 1, res.SiteCounts.Shed)
	})
	t.Run("what may not be preempted stays, and the cap is exceeded", func(t *testing.T) {
		lines, res := capped(t, "over_power_cap: shed", cappedJob(0, 7, 24, ofPriority(8)), cappedJob(0, 3, 24, ofPriority(1)))
		require.Equal(t, []string{"0-24"}, lines[0])
		require.Equal(t, []string{"0-12 POWER", "14-38"}, lines[1])
		require.EqualValues(t, 2*model.Hour, res.Power.OverCapUS, "7 kW and idle nodes for two hours")
	})
}

// TestIdleNodesCount: under the scope of the site a start replaces what its nodes draw idle.
func TestIdleNodesCount(t *testing.T) {
	jobs := func() (jobs []traces.Job) {
		for range 10 {
			jobs = append(jobs, cappedJob(12, 1, 1))
		}
		return jobs
	}
	starts := func(lines map[model.JobID][]string) (at string) {
		for i := range model.JobID(10) {
			at += strings.TrimSpace(strings.Split(lines[i][0], "-")[0]) + " "
		}
		return strings.TrimSpace(at)
	}
	lines, _ := capped(t, "", jobs()...)
	require.Equal(t, "12 12 12 12 12 12 13 13 13 13", starts(lines), "six times 1 kW")
	lines, _ = capped(t, "power_cap_scope: site", jobs()...)
	require.Equal(t, "12 12 12 12 12 13 13 13 13 13", starts(lines), "five times 1 kW and five times 200 W")
}
