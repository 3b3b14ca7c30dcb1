package sim

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// following makes every other job follow the one that left last before it came,
// among some that a schedule has before it.
func following(jobs []traces.Job, l lived) []traces.Job {
	out := slices.Clone(jobs)
	for i := range out {
		j := &out[i]
		for back := 1; back < 40 && i-back >= 0 && i%2 == 1; back++ {
			on := &out[i-back]
			if end, ok := l.end[on.ID]; ok && end <= j.Submit {
				j.AfterJob, j.ThinkTime = traces.Some(on.ID), traces.Some(j.Submit.Sub(end))
				break
			}
		}
	}
	return out
}

// compareFeedback replays a log whose jobs follow each other as they did under a
// policy: under that policy nothing changes, and under another they come when the
// others have left.
func compareFeedback(t *testing.T, spec, other plan.Spec, meta traces.Meta, tables traces.Tables) {
	open, err := traces.NewMemory("open", meta, tables)
	require.NoError(t, err)
	before := live(t, spec, open.Open)
	tables.Jobs = following(tables.Jobs, before)
	closed, err := traces.NewMemory("closed", meta, tables)
	require.NoError(t, err)
	spec.Feedback, other.Feedback = true, true
	after := live(t, spec, closed.Open)
	require.Greater(t, after.res.Awkward.Count[translate.RuleFollows], int64(len(tables.Jobs)/4))
	require.Equal(t, before.start, after.start)
	require.Equal(t, before.end, after.end)

	moved := live(t, other, closed.Open)
	submits, late := map[int64]model.Time{}, 0
	for i, id := range moved.sink.Jobs.ID {
		submits[id] = model.Time(moved.sink.Jobs.Submit[i])
	}
	for i := range tables.Jobs {
		j := &tables.Jobs[i]
		if !j.AfterJob.OK {
			require.Equal(t, j.Submit, submits[j.ID])
			continue
		}
		require.Equal(t, moved.end[j.AfterJob.V].Add(j.ThinkTime.V), submits[j.ID], "submission of job %d", j.ID)
		if submits[j.ID] != j.Submit {
			late++
		}
	}
	require.Positive(t, late, "the other policy moved no job")
	require.Zero(t, moved.res.Awkward.Count[translate.RuleNeverCame])
	require.Equal(t, moved.res.Fingerprint, live(t, other, closed.Open).res.Fingerprint)
}

func TestFeedback(t *testing.T) {
	meta, tables := plainLog(t, 400, 3)
	other := plan.DefaultSpec()
	other.Order = "ljf"
	for _, c := range []struct{ order, backfill, event string }{{"fcfs", "easy", ""}, {"sjf", "none", ""}, {"wfp3", "conservative", ""}, {"fcfs", "easy", "sequential"}} {
		spec := plan.DefaultSpec()
		spec.Order, spec.Backfill, spec.EventOrder = c.order, c.backfill, c.event
		compareFeedback(t, spec, other, meta, tables)
	}
	spec := plan.DefaultSpec()
	spec.Cycle, spec.QuorumLatency = 30*model.Second, 2*model.Second
	compareFeedback(t, spec, other, meta, tables)
}

func TestFeedbackOnASite(t *testing.T) {
	var tables traces.Tables
	for i := range int64(200) {
		tables.Jobs = append(tables.Jobs, traces.Job{
			ID: i + 1, VCluster: "v", Submit: model.Time(model.Duration(i) * 301 * model.Second), NodesMin: traces.Some(int32(1 + i*7%5)),
			Runtime: traces.Some(model.Duration(300+i*i*37%1500) * model.Second), Walltime: traces.Some(2000 * model.Second),
		})
	}
	specs := [2]plan.Spec{plan.DefaultSpec(), plan.DefaultSpec()}
	for i, order := range []string{"fcfs", "ljf, backfill: none"} {
		c, err := profiles.ParseCluster("site", []byte("groups: [{name: g, nodes: 8}]\nvclusters: [{name: v, home: all, profile: {order: "+order+"}}]\n"))
		require.NoError(t, err)
		specs[i].Site = c.JSON()
	}
	compareFeedback(t, specs[0], specs[1], traces.Meta{}, tables)
}

// TestFeedbackOfJobsThatAreNone: a job that follows one that is refused comes when it
// was refused, one that follows a row that is dropped when the log says, and one
// that follows a job that never leaves never comes.
func TestFeedbackOfJobsThatAreNone(t *testing.T) {
	job := func(id, procs, submit, after int64) traces.Job {
		j := traces.Job{
			ID: id, Submit: model.Time(model.Duration(submit) * model.Second), Runtime: traces.Some(10 * model.Second), Walltime: traces.Some(20 * model.Second), ProcsRequested: traces.Some(int32(procs)),
		}
		if after > 0 {
			j.AfterJob, j.ThinkTime = traces.Some(after), traces.Some(model.Duration(0))
		}
		return j
	}
	dropped := job(4, 0, 5, 0)
	thinks := job(7, 1, 9, 6)
	thinks.ThinkTime, thinks.CancelledAt = traces.Some(3*model.Second), traces.Some(model.Time(100*model.Second))
	silent := job(8, 1, 9, 6)
	silent.ThinkTime = traces.Opt[model.Duration]{}
	m, err := traces.NewMemory("few", traces.Meta{MaxProcs: 4}, traces.Tables{Jobs: []traces.Job{
		job(1, 4, 0, 0), job(2, 9, 1, 0), job(3, 4, 2, 2), dropped, job(5, 1, 6, 4), job(6, 4, 7, 1), thinks, silent, job(9, 1, 9, 77),
	}})
	require.NoError(t, err)
	spec := plan.DefaultSpec()
	spec.Feedback = true
	sink := record.NewMemory()
	res, err := Run(context.Background(), spec, m.Open, Options{Sink: sink, Watch: true})
	require.NoError(t, err)
	require.Empty(t, res.Watch.Breaches, "%v", res.Watch)
	submits := map[int64]int64{}
	for i, id := range sink.Jobs.ID {
		submits[id] = sink.Jobs.Submit[i] / 1e6
	}
	require.Equal(t, map[int64]int64{1: 0, 2: 1, 3: 1, 5: 6, 6: 10, 7: 43, 8: 9, 9: 9}, submits)
	require.EqualValues(t, 4, res.Awkward.Count[translate.RuleFollows])

	c, err := profiles.ParseCluster("site", []byte("groups: [{name: g, nodes: 8}]\nvclusters: [{name: v, home: all, profile: {order: fcfs}}]\n"))
	require.NoError(t, err)
	spec.Site = c.JSON()
	held := job(1, 1, 0, 0)
	held.Hold = traces.Some(true)
	m, err = traces.NewMemory("held", traces.Meta{}, traces.Tables{Jobs: []traces.Job{held, job(2, 1, 1, 1), job(3, 1, 1, 2), job(4, 1, 1, 0)}})
	require.NoError(t, err)
	res, err = Run(context.Background(), spec, m.Open, Options{Watch: true})
	require.NoError(t, err)
	require.Empty(t, res.Watch.Breaches, "%v", res.Watch)
	require.EqualValues(t, 2, res.Awkward.Count[translate.RuleNeverCame])
	require.EqualValues(t, 1, res.Unfinished)
}

// TestFeedbackAfterAWarmStart: a row that follows a job of before the window comes as in
// the replay of the whole log.
func TestFeedbackAfterAWarmStart(t *testing.T) {
	meta, tables := plainLog(t, 400, 5)
	spec := plan.DefaultSpec()
	m, err := traces.NewMemory("open", meta, tables)
	require.NoError(t, err)
	tables.Jobs = following(tables.Jobs, live(t, spec, m.Open))
	spec.Feedback = true
	begin := tables.Jobs[200].Submit
	after := compareWarm(t, spec, meta, tables, begin, model.Never, nil)
	require.Positive(t, after.res.Awkward.Count[translate.RuleFollows])
	require.Positive(t, after.res.Awkward.Count[translate.RuleRanBefore])
}
