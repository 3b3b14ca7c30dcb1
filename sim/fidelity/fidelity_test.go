package fidelity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/traces"
	"orrery/traces/transform"
)

// recordOf is the record of some jobs, with a clock of whole seconds.
func recordOf(name string, jobs []Job) *Record {
	return &Record{Name: name, Jobs: jobs, Resolution: second}
}

// itself is a replay that is its record, each job later by so many µs.
func itself(jobs []Job, by model.Duration) Draw {
	var d Draw
	for i := range jobs {
		d.Times = append(d.Times, Times{jobs[i].Start.Add(by), jobs[i].End.Add(by)})
	}
	return d
}

// many are n jobs that queue.
func many(n int) []Job {
	var jobs []Job
	for i := range n {
		start := int64(10*i + i*7919%97)
		jobs = append(jobs, Job{
			Name: fmt.Sprint("job", i), User: []string{"ann", "bob", ""}[i%3], Partition: "main", QOS: "normal",
			Submit: at(int64(i)), Start: at(start), End: at(start + 20), CPUs: int32(1 + i%5), Walltime: model.Minute,
		})
	}
	return jobs
}

// TestAReplayThatIsTheRecord is read by the clock of the record, and every verdict on it is that it holds.
func TestAReplayThatIsTheRecord(t *testing.T) {
	jobs := many(200)
	r, err := Compare(context.Background(), []*Record{recordOf("a", jobs)}, []Draw{itself(jobs, 0), itself(jobs, 999_999)}, 1)
	require.NoError(t, err)
	require.Equal(t, Interval{0, 0, 0}, r.All.Measures[WaitError])
	require.Equal(t, Interval{1, 1, 1}, r.All.Measures[RankCorrelationWaits])
	require.Equal(t, Interval{1, 1, 1}, r.All.Measures[OvertakingsReproduced])
	require.Len(t, r.Conclusions, 7)
	for _, c := range r.Conclusions {
		require.Equal(t, Holds, c.Verdict, c.About)
	}
	require.Equal(t, []string{"ann", "bob"}, []string{r.Users[0].Name, r.Users[1].Name}, "work without a user is in no group")
	require.Equal(t, 67, r.Users[0].Jobs)
	require.Equal(t, []string{"1", "2-4", "5-16"}, []string{r.Sizes[0].Name, r.Sizes[1].Name, r.Sizes[2].Name})
	require.Len(t, r.Partitions, 1)
	require.Len(t, r.QOS, 1)
	require.Equal(t, "CPUs", r.Unit)
	require.Len(t, r.PerJob, 200)
}

// TestJSON has the keys that programs go by, null where there is no figure, and why.
func TestJSON(t *testing.T) {
	jobs := many(2)
	jobs[1].Start, jobs[1].End = jobs[1].Submit, jobs[1].Submit.Add(second)
	jobs[0].Start, jobs[0].End = jobs[0].Submit, jobs[0].Submit.Add(second)
	r, err := Compare(context.Background(), []*Record{recordOf("a", jobs)}, []Draw{itself(jobs, 0)}, 1)
	require.NoError(t, err)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var found map[string]any
	require.NoError(t, json.Unmarshal(text, &found))
	for _, d := range Definitions() {
		require.Contains(t, found, d.Key)
		require.Contains(t, found, d.Key+"_low")
		require.Contains(t, found, d.Key+"_high")
	}
	for _, key := range []string{"mean_wait_recorded_s", "by_partition", "by_size", "by_qos", "by_user", "real_spread", "schema", "conclusions"} {
		require.Contains(t, found, key)
	}
	require.InDelta(t, Schema, found["schema"], 0)
	for _, key := range []string{"wait_error", "wait_error_low", "rank_correlation_waits", "rank_correlation_starts", "overtakings_reproduced", "wasserstein_over_mean", "real_spread"} {
		require.Nil(t, found[key], key)
	}
	require.InDelta(t, 0, found["wait_error_s"], 0)
	require.Contains(t, strings.Join(r.All.Notes, "\n"), "rank_correlation_waits: fewer than 3 jobs waited more than 5 s")
	require.Equal(t, []Conclusion{{"all", Unknown, "2 jobs were compared, and a verdict needs 30: the figures say more of these jobs than of the site."}}, r.Conclusions)
	user := found["by_user"].([]any)[0].(map[string]any)
	require.NotContains(t, user, "makespan_error", "which is of all jobs")
	require.Contains(t, user, "wait_error_low")
}

// TestNothingRecorded: there is nothing to compare with.
func TestNothingRecorded(t *testing.T) {
	jobs := many(3)
	for i := range jobs {
		jobs[i].Start = model.AbsentTime
	}
	_, err := Compare(context.Background(), []*Record{recordOf("a", jobs)}, []Draw{{Times: make([]Times, 3)}}, 1)
	var none *NothingRecordedError
	require.ErrorAs(t, err, &none)
	_, err = Compare(context.Background(), []*Record{recordOf("a", jobs)}, nil, 1)
	require.ErrorIs(t, err, errNoDraw)
}

// TestLeftOut: jobs that did not start in the record or in a draw are counted, and not compared.
func TestLeftOut(t *testing.T) {
	jobs := many(5)
	draw := itself(jobs, 0)
	jobs[1].End = model.AbsentTime
	draw.Times[3] = Times{model.AbsentTime, model.AbsentTime}
	r, err := Compare(context.Background(), []*Record{recordOf("a", jobs)}, []Draw{itself(jobs, 0), draw}, 2)
	require.NoError(t, err)
	require.Equal(t, 3, r.All.Jobs)
	require.Equal(t, []LeftOut{{"no recorded start and end", 1}, {"did not start and end in every draw of the replay", 1}}, r.LeftOut)
}

// TestSpread of three runs, of which the second has the jobs of the first 10 s later.
func TestSpread(t *testing.T) {
	a, b, c := many(40), many(40), many(40)
	for i := range b {
		b[i].Start = b[i].Start.Add(10 * second)
		b[i].Submit = b[i].Submit.Add(2 * second)
	}
	b[7], b[8] = b[8], b[7] // names say which is which
	records := []*Record{recordOf("a", a), recordOf("b", b), recordOf("c", c)}
	r, err := Compare(context.Background(), records, []Draw{itself(a, 0)}, 1)
	require.NoError(t, err)
	s := r.Spread
	require.Equal(t, "name", s.MatchedBy)
	require.Len(t, s.Pairs, 3)
	require.Equal(t, []string{"a", "b"}, []string{s.Pairs[0].A, s.Pairs[0].B})
	require.InDelta(t, 8, float64(s.Pairs[0].MeanWaitDifference), 1e-9)
	require.InDelta(t, 8, float64(s.Pairs[0].PerJob), 1e-9)
	require.InDelta(t, 1, float64(s.Pairs[0].RankCorrelationStarts), 1e-9)
	require.InDelta(t, 0, s.SubmissionDifference, 1e-9, "all were submitted as far apart")
	require.Len(t, s.Replay, 3)
	require.Equal(t, Interval{0, 0, 0}, s.Replay[2].WaitError)
	require.Less(t, float64(s.Replay[1].WaitError.Value), 0.0)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.Contains(t, string(text), `"matched_by":"name"`)
	require.Contains(t, string(text), `"wait_error_high"`)

	for i := range a {
		a[i].Name = ""
	}
	b[7], b[8] = b[8], b[7]
	r, err = Compare(context.Background(), records, []Draw{itself(a, 0)}, 1)
	require.NoError(t, err)
	require.Equal(t, "position", r.Spread.MatchedBy)
	require.InDelta(t, 8, float64(r.Spread.Pairs[0].PerJob), 1e-9)
}

// TestDifferentWorkloads are refused, with what was found.
func TestDifferentWorkloads(t *testing.T) {
	for want, change := range map[string]func([]Job) []Job{
		"one has 10 jobs, the other 9": func(b []Job) []Job { return b[:9] },
		`job 4 by name is of "ann"`: func(b []Job) []Job {
			b[3].User = "eve"
			return b
		},
		"job 1 by name has 1 CPUs in one and 9": func(b []Job) []Job {
			b[0].CPUs = 9
			return b
		},
		"asks for 00:01:00 in one and for no time limit": func(b []Job) []Job {
			b[2].Walltime = model.AbsentDuration
			return b
		},
		`the job "job5" is in the first alone`: func(b []Job) []Job {
			b[5].Name = "other"
			return b
		},
	} {
		err := SameWorkload([]*Record{recordOf("a", many(10)), recordOf("b", change(many(10)))})
		var other *DifferentError
		require.ErrorAs(t, err, &other)
		require.ErrorContains(t, err, want)
	}
}

// workloadSet is a trace of jobs that queue on 4 processors.
func workloadSet(t *testing.T, change func(i int, j *traces.Job)) *transform.Set {
	t.Helper()
	var rows []traces.Job
	for i := range 60 {
		submit := model.Time(i/2) * 20 * model.Time(second)
		run := model.Duration(10+i*37%90) * second
		j := traces.Job{
			ID: int64(i + 1), User: "u", Submit: submit, Runtime: traces.Some(run), Walltime: traces.Some(5 * model.Minute),
			ProcsRequested: traces.Some(int32(1 + i%4)), Start: traces.Some(submit.Add(50 * second)), End: traces.Some(submit.Add(50*second + run)),
			Priority: traces.Some(int64(i)),
		}
		if change != nil {
			change(i, &j)
		}
		rows = append(rows, j)
	}
	set, err := transform.FromTables("queue", traces.Meta{Sorted: true, MaxProcs: 4, EpochKnown: true}, traces.Tables{Jobs: rows})
	require.NoError(t, err)
	return set
}

func replaysOf(t *testing.T, set *transform.Set) *Replays {
	t.Helper()
	m, err := set.Collect()
	require.NoError(t, err)
	src, err := m.Open()
	require.NoError(t, err)
	defer src.Close()
	spec := plan.DefaultSpec()
	spec.Cluster.Procs = 4
	spec, err = spec.Bind(src.(plan.Tables))
	require.NoError(t, err)
	return &Replays{Spec: spec, Set: set, Resolution: second, Draws: 6, Seed: 1}
}

// TestDrawsAreKeyed: they depend on seed and number, and not on how many are made at a time.
func TestDrawsAreKeyed(t *testing.T) {
	r := replaysOf(t, workloadSet(t, nil))
	one, err := r.Run(context.Background(), 1, nil)
	require.NoError(t, err)
	three, err := r.Run(context.Background(), 3, nil)
	require.NoError(t, err)
	require.Equal(t, one, three)
	require.NotEqual(t, one[0], one[1])
	r.Draws = 2
	fewer, err := r.Run(context.Background(), 2, nil)
	require.NoError(t, err)
	require.Equal(t, one[:2], fewer, "further draws move none of these")
	r.Seed = 2
	other, err := r.Run(context.Background(), 2, nil)
	require.NoError(t, err)
	require.NotEqual(t, fewer, other)
}

// TestSubmissionsStayInTheirStep, and jobs of one step keep their order.
func TestSubmissionsStayInTheirStep(t *testing.T) {
	r := replaysOf(t, workloadSet(t, nil))
	rows, err := r.unscheduled()
	require.NoError(t, err)
	moved := 0
	for i, j := range r.submitted(3, rows) {
		by := j.Submit.Sub(rows[i].Submit)
		require.True(t, by >= 0 && by < second, "%s", by)
		require.Equal(t, rows[i].Start.V.Add(by), j.Start.V)
		if by > 0 {
			moved++
		}
		if i > 0 {
			require.GreaterOrEqual(t, j.Submit, r.submitted(3, rows)[i-1].Submit)
		}
	}
	require.Greater(t, moved, 50)
	r.Resolution = model.Microsecond
	require.Equal(t, rows, r.submitted(3, rows))
}

// TestTheRecordIsNoInput: whatever starts, ends and priorities the record has, the replays are equal.
func TestTheRecordIsNoInput(t *testing.T) {
	want, err := replaysOf(t, workloadSet(t, nil)).Run(context.Background(), 2, nil)
	require.NoError(t, err)
	r := replaysOf(t, workloadSet(t, nil))
	r.Set = workloadSet(t, func(i int, j *traces.Job) {
		start := j.Submit.Add(model.Duration(i*7919%5000) * second)
		j.Start, j.End, j.Priority = traces.Some(start), traces.Some(start.Add(j.Runtime.V)), traces.Some(int64(i*31%17))
	})
	scrambled, err := r.Run(context.Background(), 2, nil)
	require.NoError(t, err)
	require.Equal(t, want, scrambled)
}

// TestReadRecord finds the clock, and what jobs held.
func TestReadRecord(t *testing.T) {
	set := workloadSet(t, func(i int, j *traces.Job) {
		switch i {
		case 0:
			j.ProcsAllocated, j.NodesAllocated = traces.Some(int32(24)), traces.Some(int32(3))
		case 1:
			j.ProcsRequested, j.CPUsPerNode, j.NodesMin = traces.Opt[int32]{}, traces.Some(int32(8)), traces.Some(int32(2))
		case 2:
			j.Start = traces.Opt[model.Time]{}
		case 3:
			j.End = traces.Opt[model.Time]{}
		}
	})
	r, err := ReadRecord(set, 0)
	require.NoError(t, err)
	require.Equal(t, second, r.Resolution)
	require.Equal(t, []int32{24, 16}, []int32{r.Jobs[0].CPUs, r.Jobs[1].CPUs})
	require.EqualValues(t, 3, r.Jobs[0].Nodes)
	require.False(t, r.Jobs[2].started())
	require.True(t, r.Jobs[3].started(), "its end is its start and its run time")
	mean, jobs := r.MeanWait()
	require.InDelta(t, 50, mean, 1e-9)
	require.Equal(t, 59, jobs)

	for step, off := range map[model.Duration]model.Duration{model.Millisecond: 5 * model.Millisecond, model.Microsecond: 7} {
		r, err = ReadRecord(workloadSet(t, func(_ int, j *traces.Job) { j.Start.V = j.Start.V.Add(off) }), 0)
		require.NoError(t, err)
		require.Equal(t, step, r.Resolution)
	}
	r, err = ReadRecord(set, model.Minute)
	require.NoError(t, err)
	require.Equal(t, model.Minute, r.Resolution)
	require.Equal(t, at(-60), r.read(at(-1), model.Minute), "before the epoch too")

	broken := *set
	broken.Rows = func() iter.Seq2[*traces.Job, error] {
		return func(yield func(*traces.Job, error) bool) { yield(nil, errors.New("damaged")) }
	}
	_, err = ReadRecord(&broken, 0)
	require.EqualError(t, err, "damaged")
}

// TestConclusions: what may be concluded follows the bounds.
func TestConclusions(t *testing.T) {
	jobs := many(90)
	late := itself(jobs, 0)
	for i := range late.Times {
		by := jobs[i].Wait() / 10
		late.Times[i] = Times{late.Times[i].Start.Add(by), late.Times[i].End.Add(by)}
	}
	r, err := Compare(context.Background(), []*Record{recordOf("a", jobs)}, []Draw{late, late}, 1)
	require.NoError(t, err)
	require.InDelta(t, 0.1, float64(r.All.Measures[WaitError].Value), 0.01)
	require.Equal(t, Roughly, r.Conclusions[0].Verdict)
	require.Contains(t, r.Conclusions[0].Text, "may not be read off")
	require.Equal(t, Holds, r.ofOrder().Verdict)

	r.All.Measures[WaitError] = Interval{1, 0.9, 1.1}
	require.Equal(t, Not, r.ofMean().Verdict)
	r.All.Measures[RankCorrelationWaits].Value = 0.4
	require.Equal(t, Not, r.ofOrder().Verdict)
	r.Spread = &Spread{RankCorrelationWaits: 0.42}
	require.Contains(t, r.ofOrder().Text, "does not repeat it better")
	r.Spread.RankCorrelationWaits = 0.6
	require.Contains(t, r.ofOrder().Text, "the rules of the replay differ")
	r.All.Measures[RankCorrelationWaits].Value = metric.Undefined
	require.Equal(t, Unknown, r.ofOrder().Verdict)
	r.All.Measures[MeanWaitReplayed] = Interval{100, 90, 110}
	require.Equal(t, Roughly, r.ofDraws().Verdict)
	r.Draws = 1
	require.Equal(t, Unknown, r.ofDraws().Verdict)
}
