package paired

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/stat"
	"orrery/sim/task"
	"orrery/traces"
	"orrery/traces/transform"
)

const second = int64(model.Second)

// log are n jobs, one each half hour, that wait so many seconds times factor and run
// for an hour; what they wait depends on their id and, a little, on a seed.
func log(n int, factor float64, seed uint64) Jobs {
	sink := record.NewMemory()
	for i := range n {
		level := draw.New(1, draw.StreamOf("paired test"), uint64(i/20), 0)
		noise := draw.New(1, draw.StreamOf("paired noise"), uint64(i), seed)
		wait := int64(factor * (600 + 3000*level.Float64()) * (0.9 + 0.2*noise.Float64()))
		submit := model.Time(int64(i) * 1800 * second)
		start := submit + model.Time(wait*second)
		r := model.JobRecord{}
		r.Job, r.ID, r.Submit, r.Start, r.End = model.JobID(i), int64(1000+i), submit, start, start+model.Time(3600*second)
		sink.Job(&r)
	}
	jobs, err := Read(sink)
	if err != nil {
		panic(err)
	}
	return jobs
}

func side(name string, factor float64, seeds ...uint64) Side {
	s := Side{Name: name}
	for _, seed := range seeds {
		s.Runs = append(s.Runs, Run{Seed: int(seed), Jobs: log(1500, factor, seed)})
	}
	return s
}

func compared(t *testing.T, first, other Side, windows int) []Row {
	t.Helper()
	r, err := Compare(first, []Side{other}, Options{Windows: windows, Stat: stat.Defaults()})
	require.NoError(t, err)
	require.Len(t, r.Rows, 3)
	return r.Rows
}

// TestWithoutNoiseADifferenceHasNoRank, however small or large it is.
func TestWithoutNoiseADifferenceHasNoRank(t *testing.T) {
	rows := compared(t, side("a", 1, 0), side("b", 0.8, 0), 0)
	require.Equal(t, []string{"wait_mean", "turnaround_mean", "bounded_slowdown_mean"}, Figures())
	require.Equal(t, "wait_mean", rows[0].Metric)
	require.Equal(t, 20, rows[0].Windows, "31 days")
	require.Equal(t, Differs, rows[0].Verdict, "%+v", rows[0])
	require.InDelta(t, -0.2, float64(rows[0].Relative.Estimate), 0.01)
	require.Equal(t, 1500, rows[0].Jobs)
	require.False(t, rows[0].Noise.Error.Defined())

	rows = compared(t, side("a", 1, 0), side("b", 0.9996, 0), 0)
	require.Equal(t, "no difference", rows[0].Verdict, "0.04 % is within the margin")
	rows = compared(t, side("a", 1, 0), side("a", 1, 0), 0)
	require.Equal(t, "no difference", rows[0].Verdict)
	rows = compared(t, side("a", 1, 0), side("b", 0.5, 0), 5)
	require.Equal(t, "no evidence", rows[0].Verdict)
	require.Equal(t, "5 windows, 8 needed", rows[0].Reason)
}

func TestWithNoise(t *testing.T) {
	rows := compared(t, side("a", 1, 0, 1, 2), side("b", 0.8, 0, 11, 12), 0)
	require.Equal(t, "better", rows[0].Verdict, "%+v", rows[0])
	require.Equal(t, stat.NoiseOfBoth, rows[0].Noise.Measured)
	require.Equal(t, [2]int{3, 3}, rows[0].Runs)
	require.Greater(t, rows[0].Noise.Share, 0.1)
	rows = compared(t, side("a", 1, 0, 1, 2), side("b", 1.25, 0, 11, 12), 0)
	require.Equal(t, "worse", rows[0].Verdict)

	text, err := json.Marshal(rows[0])
	require.NoError(t, err)
	var numbers struct {
		Relative struct{ Estimate, Low, High float64 }
		P        float64
		Noise    struct{ Measured string }
	}
	require.NoError(t, json.Unmarshal(text, &numbers))
	require.InDelta(t, float64(rows[0].Relative.Low), numbers.Relative.Low, 0, "numbers as they are")
	require.Equal(t, "both", numbers.Noise.Measured)
}

func TestUnrank(t *testing.T) {
	r, err := Compare(side("a", 1, 0), []Side{side("b", 0.8, 0), side("c", 0.8, 0)}, Options{Stat: stat.Defaults()})
	require.NoError(t, err)
	require.True(t, r.Rows[0].Claims() && r.Rows[0].Better())
	r.Unrank(func(run string) bool { return run == "b" })
	require.Equal(t, []string{Unranked, Unranked, Unranked, Differs}, []string{r.Rows[0].Verdict, r.Rows[1].Verdict, r.Rows[2].Verdict, r.Rows[3].Verdict})
	require.False(t, r.Rows[0].Claims())
	require.False(t, r.Measured())
}

// TestOnlyJobsOfAllRunsCount, in the window of their submission on the trace as it
// is, and jobs of one id by their place.
func TestOnlyJobsOfAllRunsCount(t *testing.T) {
	at := func(id, day, wait int64) job {
		return job{id: id, submit: day * int64(model.Day), wait: wait * second, turn: (wait + 100) * second, run: 100 * second}
	}
	a := Jobs{at(1, 0, 10), at(1, 1, 20), at(2, 2, 30), at(3, 3, 40)}
	b := Jobs{at(1, 0, 11), at(1, 3, 22), at(2, 2, 33), at(9, 3, 44)}
	d := divide([]Run{{0, a}}, []Run{{0, b}}, 3)
	require.Equal(t, []key{{1, 0}, {1, 1}, {2, 0}}, d.ids)
	require.Equal(t, []int{0, 1, 2}, d.window)
	require.Equal(t, []stat.Observation{{Window: 0, Value: 11}, {Window: 1, Value: 22}, {Window: 2, Value: 33}}, d.observe([]Run{{0, b}}, 0))

	require.Equal(t, 1, divide([]Run{{0, a}}, []Run{{0, b}}, 0).windows, "3 jobs hold no second mean")
	empty := divide([]Run{{0, a}}, []Run{{0, nil}}, 0)
	require.Empty(t, empty.observe([]Run{{0, a}}, 0))
	_, err := Compare(Side{Name: "a"}, []Side{{Name: "b"}}, Options{Stat: stat.Defaults()})
	require.EqualError(t, err, "a comparison of a and b: want a run of either side")
	_, err = Compare(Side{}, nil, Options{Windows: -1})
	require.ErrorContains(t, err, "-1 windows")
}

// TestReplay: replicas are the same for any number of workers, and those of another
// seed differ.
func TestReplay(t *testing.T) {
	var rows []traces.Job
	for i := range int64(200) {
		rows = append(rows, traces.Job{
			ID: i + 1, Submit: model.Time(i * 600 * second), Runtime: traces.Some(model.Duration(1000+i*37%900) * model.Second),
			Walltime: traces.Some(2 * model.Hour), ProcsRequested: traces.Some(int32(1 + i%4)),
		})
	}
	set, err := transform.FromTables("rows", traces.Meta{Sorted: true, MaxProcs: 5}, traces.Tables{Jobs: rows})
	require.NoError(t, err)
	runner := task.NewRunner(nil)
	m, err := runner.Add(set)
	require.NoError(t, err)
	spec := plan.DefaultSpec()
	spec.Cluster.Procs = 5
	src, err := m.Open()
	require.NoError(t, err)
	spec, err = spec.Bind(src.(plan.Tables))
	require.NoError(t, err)
	list := []Replica{{spec, model.Minute, 1}, {spec, model.Minute, 2}, {spec, model.Minute, 1}}
	one, err := Replay(context.Background(), runner, list, 1, nil)
	require.NoError(t, err)
	three, err := Replay(context.Background(), runner, list, 3, nil)
	require.NoError(t, err)
	require.Equal(t, one, three)
	require.Len(t, one[0].Jobs, 200)
	require.Equal(t, one[0], one[2])
	require.NotEqual(t, one[0].Jobs, one[1].Jobs)
}
