package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/commitlog"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// losesRows makes rows of w that others wait for never become jobs: by turns one asks for more
// than there is, one never ran, and one had ended, in one way or another, before the replay
// begins at warm. It returns their trace and how many there are of each.
func (w *siteWorld) losesRows(warm model.Time) (m *memory, lost [3]int) {
	k := 0
	for _, e := range w.edges {
		j := &w.jobs[e.On]
		if e.Condition == model.Mutex || j.Kind == "reactive" || j.Kind == "session" || !j.Runtime.OK || j.Start.OK || j.NodesMin.V >= 1000 {
			continue
		}
		switch k++; {
		case k%3 == 0 && j.Submit+1 < warm:
			j.Start, j.Runtime, j.ExitState = traces.Some(j.Submit), traces.Some(warm.Sub(j.Submit)), []string{"", "FAILED", "CANCELLED by 7"}[k/3%3]
			lost[0]++
		case k%3 == 1:
			j.NodesMin, j.NodesMax = traces.Some[int32](1000), traces.Opt[int32]{}
			lost[1]++
		default:
			j.Runtime, j.CancelledAt = traces.Opt[model.Duration]{}, traces.Opt[model.Time]{}
			lost[2]++
		}
	}
	m = w.memory()
	for i := range w.jobs {
		if w.jobs[i].Start.OK {
			m.all.Start[i] = w.jobs[i].Start.V
		}
	}
	m.info.WarmStart, m.info.History = traces.Some(warm), model.Hour
	return m, lost
}

// TestRowsThatNeverCome: on random sites no job waits at the end for rows that are rejected,
// dropped, or were over before the replay began (invariant 34), and a fresh core that is fed with
// the log alone decides the same.
func TestRowsThatNeverCome(t *testing.T) {
	t.Parallel()
	worlds := worldsOf(80, 240, 600)
	var lost [3]int
	told, never := map[model.JobState]int{}, 0
	for i := range worlds {
		w := drawSite(longBytes(uint64(i)))
		m, n := w.losesRows(w.jobs[len(w.jobs)/3].Submit)
		spec := w.spec(t)
		var kept log
		res, err := Run(t.Context(), spec, m.open, Options{Watch: true, Log: kept.recorder()})
		require.NoError(t, err, "world %d\n%s", i, w)
		require.Empty(t, res.Watch.Breaches, "world %d\n%s", i, w)
		kept.same(t, spec, m.open, res.Fingerprint)
		for k := range n {
			lost[k] += n[k]
		}
		for k := range kept.entries {
			switch e := &kept.entries[k]; {
			case e.What == commitlog.Fact && e.Fact.Kind == model.FactGone:
				told[e.Fact.Outcome]++
			case e.What == commitlog.Fact && e.Fact.Reason == model.ReasonDependencyNever:
				never++
			}
		}
	}
	t.Logf("%d rows of before, %d too large, %d dropped; told %v, %d withdrawn", lost[0], lost[1], lost[2], told, never)
	for _, s := range []model.JobState{model.Completed, model.Failed, model.Cancelled, model.Rejected} {
		require.Positive(t, told[s], s)
	}
	require.Positive(t, never)
}

// TestFeedbackFollowsHistory: under feedback a row comes think_time after the recorded end of one
// that had left before the replay, and not before the replay begins.
func TestFeedbackFollowsHistory(t *testing.T) {
	const sec = model.Time(model.Second)
	row := func(id int64, submit model.Time, change ...func(*traces.Job)) traces.Job {
		j := traces.Job{ID: id, Submit: submit, Runtime: traces.Some(10 * model.Second), Walltime: traces.Some(20 * model.Second), NodesMin: traces.Some[int32](1), ProcsRequested: traces.Some[int32](1)}
		for _, c := range change {
			c(&j)
		}
		return j
	}
	follows := func(on int64, think model.Duration) func(*traces.Job) {
		return func(j *traces.Job) { j.AfterJob, j.ThinkTime = traces.Some(on), traces.Some(think) }
	}
	m, err := traces.NewMemory("history", traces.Meta{Sorted: true, WarmStart: traces.Some(100 * sec), History: model.Hour}, traces.Tables{Jobs: []traces.Job{
		row(1, 0, func(j *traces.Job) { j.Start, j.Runtime = traces.Some(5*sec), traces.Some(60*model.Second) }), // ends at 65 s
		row(2, 110*sec, follows(1, 75*model.Second)),                                                             // at 140 s
		row(3, 120*sec, follows(1, 5*model.Second)),                                                              // when the replay begins
		row(4, 130*sec, follows(2, 7*model.Second)),                                                              // 2 leaves at 150 s
	}})
	require.NoError(t, err)
	spec := siteOf(t, "name: s\ngroups: [{name: g, nodes: 4}]\n")
	spec.Feedback = true
	came := map[model.JobID]model.Time{}
	var kept log
	res, err := Run(t.Context(), spec, m.Open, Options{Watch: true, Log: kept.recorder()})
	require.NoError(t, err)
	require.Empty(t, res.Watch.Breaches)
	for i := range kept.entries {
		if e := &kept.entries[i]; e.What == commitlog.Fact && e.Fact.Kind == model.FactSubmitted {
			came[e.Fact.Job] = e.Now
		}
	}
	require.Equal(t, map[model.JobID]model.Time{1: 140 * sec, 2: 100 * sec, 3: 157 * sec}, came)
	require.EqualValues(t, 3, res.State.Left)
	require.EqualValues(t, 3, res.Awkward.Count[translate.RuleFollows])
}
