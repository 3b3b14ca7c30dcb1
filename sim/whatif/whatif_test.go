package whatif

import (
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
	"orrery/sim/commitlog"
	"orrery/sim/record"
)

// drawn is a job of two runs. A start below 0 is none.
type drawn struct {
	submit, first, second int64
	out                   bool // of the second run
}

// at is the instant from which the two differ.
const at = 50

func drawJobs(t *rapid.T) []drawn {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) drawn {
		d := drawn{submit: rapid.Int64Range(0, 99).Draw(t, "submit")}
		start := func(label string) int64 {
			if rapid.IntRange(0, 9).Draw(t, label+" never") == 0 {
				return -1
			}
			return max(d.submit, at) + rapid.Int64Range(0, 60).Draw(t, label)
		}
		d.first, d.second = start("first"), start("second")
		if d.submit < at && rapid.Bool().Draw(t, "before") {
			d.first = d.submit
			d.second = d.first
		}
		d.out = rapid.IntRange(0, 9).Draw(t, "out") == 0
		return d
	}), 1, 80).Draw(t, "jobs")
}

// memories are the two runs as their tables have them.
func memories(jobs []drawn) (a, b *record.Memory) {
	a, b = record.NewMemory(), record.NewMemory()
	for i, d := range jobs {
		add := func(m *record.Memory, start int64) {
			r := model.JobRecord{Job: model.JobID(i), ID: int64(100 + i), Submit: model.Time(d.submit), Start: model.Time(start), End: 1000, Procs: 2}
			if start < 0 {
				r.Start = model.AbsentTime
			}
			m.Job(&r)
		}
		add(a, d.first)
		if !d.out {
			add(b, d.second)
		}
	}
	return a, b
}

// TestPairsAgainstPlainSums holds the report against sums over the jobs as they were drawn.
func TestPairsAgainstPlainSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawJobs(t)
		a, b := memories(jobs)
		prefer := int64(100 + rapid.IntRange(0, len(jobs)-1).Draw(t, "prefer"))
		r, err := Pairs(a, b, int64(len(jobs)), at, &prefer)
		require.NoError(t, err)
		var n Counts
		var out, pairs, gained, lost, gain, cost int64
		var moves []int64
		for i, d := range jobs {
			switch {
			case d.out:
				out++
				continue
			case d.first < 0 && d.second < 0:
				n.Never++
				continue
			case d.first < 0:
				n.OnlyFork++
				continue
			case d.second < 0:
				n.OnlyFirst++
				continue
			case d.first < at:
				continue
			}
			pairs++
			by := d.second - d.first
			switch {
			case by < 0:
				n.Earlier++
				gained -= by
			case by > 0:
				n.Later++
				lost += by
			default:
				n.Same++
			}
			moves = append(moves, by)
			if int64(100+i) == prefer {
				gain = -by
			} else {
				cost += by
			}
		}
		require.Equal(t, n, r.Jobs)
		require.Equal(t, out, r.LeftOut)
		require.Equal(t, pairs, r.Wait.Jobs)
		require.InDelta(t, float64(gained)/1e6, r.Wait.Gained, 1e-12)
		require.InDelta(t, float64(lost)/1e6, r.Wait.Lost, 1e-12)
		if pairs > 0 {
			require.InDelta(t, float64(lost-gained)/1e6/float64(pairs), *r.Wait.Fork-*r.Wait.Mean, 1e-9)
		}
		if r.Preferred != nil {
			require.InDelta(t, float64(gain)/1e6, r.Preferred.Gain, 1e-12)
			require.InDelta(t, float64(cost)/1e6, r.Preferred.Cost, 1e-12)
			require.InDelta(t, r.Preferred.Gain-r.Preferred.Cost, r.Preferred.Regret, 1e-12)
		}
		slices.Sort(moves)
		for i, m := range r.Gained {
			require.InDelta(t, float64(-moves[i])/1e6, m.Wait-m.Fork, 1e-12)
		}
		for i, m := range r.Lost {
			require.InDelta(t, float64(moves[len(moves)-1-i])/1e6, m.Fork-m.Wait, 1e-12)
		}
		require.Len(t, r.Gained, int(min(n.Earlier, mostMoved)))
		require.Len(t, r.Lost, int(min(n.Later, mostMoved)))

		same, err := SameJobs(a, b, int64(len(jobs)), at)
		early := slices.IndexFunc(jobs, func(d drawn) bool { return d.out && d.first >= 0 && d.first < at })
		if early >= 0 { // a job that had started is not in the fork
			require.ErrorContains(t, err, "are not in the fork")
			return
		}
		require.NoError(t, err)
		require.EqualValues(t, len(slices.DeleteFunc(slices.Clone(jobs), func(d drawn) bool { return d.first < 0 || d.first >= at })), same)
	})
}

// TestPercentileOfWaits is by nearest rank.
func TestPercentileOfWaits(t *testing.T) {
	for _, c := range []struct{ n, rank int64 }{{1, 1}, {2, 2}, {19, 19}, {20, 19}, {21, 20}, {100, 95}, {101, 96}} {
		var waits []int64
		for i := c.n; i > 0; i-- {
			waits = append(waits, i*1e6)
		}
		mean, p95 := meanAndP95(waits)
		require.InDelta(t, float64(c.n+1)/2, *mean, 1e-9)
		require.InDelta(t, float64(c.rank), *p95, 1e-9, "of %d", c.n)
	}
	mean, p95 := meanAndP95(nil)
	require.Nil(t, mean)
	require.Nil(t, p95)
}

// TestLogsAreEqualBeforeAnInstant, or the first entry that is another is named.
func TestLogsAreEqualBeforeAnInstant(t *testing.T) {
	logOf := func(instants ...model.Time) iter.Seq2[*commitlog.Entry, error] {
		return func(yield func(*commitlog.Entry, error) bool) {
			for i, now := range instants {
				e := commitlog.Entry{What: commitlog.Fact, Now: now, Fact: model.Fact{Job: model.JobID(i)}}
				if !yield(&e, nil) {
					return
				}
			}
		}
	}
	run := logOf(1, 2, 49, 50, 60)
	for _, c := range []struct {
		fork  iter.Seq2[*commitlog.Entry, error]
		equal int64
		wrong string
	}{
		{logOf(1, 2, 49, 50, 60), 3, ""},
		{logOf(1, 2, 49), 3, ""},
		{logOf(1, 2, 49, 55), 3, ""},
		{logOf(1, 2), 2, "entry 2 of the log"},
		{logOf(1, 2, 48, 50, 60), 2, "entry 2 of the log"},
		{logOf(1, 2, 49, 49), 3, "entry 3 of the log"},
	} {
		n, err := SameLog(run, c.fork, at)
		require.Equal(t, c.equal, n)
		if c.wrong == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.wrong)
	}
	_, err := SameLog(logOf(1), logOf(1, 2), at)
	require.ErrorContains(t, err, "goes on after entry 1")
}

// TestStartsBeforeAnInstantAreEqual, or the job is named.
func TestStartsBeforeAnInstantAreEqual(t *testing.T) {
	jobs := []drawn{{submit: 0, first: 10, second: 10}, {submit: 5, first: 20, second: 21}}
	a, b := memories(jobs)
	_, err := SameJobs(a, b, 2, at)
	require.ErrorContains(t, err, "job 101 starts at another instant")
	_, err = SameJobs(a, b, 2, 20)
	require.NoError(t, err)
}
