package explain

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/sim"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/traces"
	"orrery/traces/synth/site"
)

// day is a trace of one day of the synthetic month on 64 nodes, and a spec to
// replay it.
func day(t *testing.T) (*traces.Bundle, plan.Spec) {
	t.Helper()
	p := site.Default(64)
	p.Days = 1
	w, err := site.Generate(p, 5)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "day.trace")
	_, err = w.Write(path, func(int64) error { return nil })
	require.NoError(t, err)
	b, err := traces.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	c, err := profiles.LoadCluster("month")
	require.NoError(t, err)
	require.NoError(t, c.Inline("."))
	spec := plan.DefaultSpec()
	spec.Site, spec.Order, spec.Backfill, spec.EventOrder = c.JSON(), "", "", ""
	return b, spec
}

// specOf is a spec of the site that a cluster file describes.
func specOf(t *testing.T, text string) plan.Spec {
	t.Helper()
	c, err := profiles.ParseCluster("test", []byte(text))
	require.NoError(t, err)
	spec := plan.DefaultSpec()
	spec.Site = c.JSON()
	return spec
}

func opened(b *traces.Bundle) func() (traces.Source, error) {
	return func() (traces.Source, error) { return b.Jobs() }
}

// bundleOf is a bundle of what is written.
func bundleOf(t *testing.T, write func(*traces.Writer)) *traces.Bundle {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.trace")
	w, err := traces.NewWriter(path, traces.Meta{Source: "test", Sorted: true})
	require.NoError(t, err)
	write(w)
	_, err = w.Close()
	require.NoError(t, err)
	b, err := traces.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// replayed replays into a directory and opens it.
func replayed(t *testing.T, b *traces.Bundle, spec plan.Spec, decisions bool) (*record.Run, *sim.Outcome) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	out, err := sim.Replay(context.Background(), spec, sim.Input{Open: opened(b)}, sim.ReplayOptions{Dir: dir, Decisions: decisions, Facts: true})
	require.NoError(t, err)
	run, err := record.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, run.Close()) })
	return run, out
}

// What is recorded about decisions changes none of them, and nothing else but how
// long jobs waited for limits, which is not known otherwise.
func TestDecisionsChangeNothing(t *testing.T) {
	b, spec := day(t)
	bare, one := replayed(t, b, spec, false)
	full, two := replayed(t, b, spec, true)
	require.Equal(t, one.Document, two.Document)
	for _, file := range []string{"jobs.parquet", "attempts.parquet", "series.parquet", "vcluster_series.parquet", "facts.parquet"} {
		x, err := os.ReadFile(filepath.Join(bare.Dir(), file))
		require.NoError(t, err)
		y, err := os.ReadFile(filepath.Join(full.Dir(), file))
		require.NoError(t, err)
		require.True(t, bytes.Equal(x, y), file)
	}
	require.False(t, bare.HasDecisions())
	require.True(t, full.HasDecisions())
	held := 0
	for i := range two.Table.Groups {
		if two.Table.Groups[i].HeldUS != nil {
			held++
		}
		two.Table.Groups[i].HeldUS = nil
	}
	require.Positive(t, held)
	require.Equal(t, one.Table.Groups, two.Table.Groups)
}

// A reservation that the trace announces is named, as those of the cluster file are.
func TestReservationOfTheTraceIsNamed(t *testing.T) {
	b := bundleOf(t, func(w *traces.Writer) {
		require.NoError(t, w.WriteJob(&traces.Job{ID: 7, NodesMin: traces.Some[int32](1), Runtime: traces.Some(model.Minute), Walltime: traces.Some(model.Minute)}))
		require.NoError(t, w.WriteEvent(traces.Event{Kind: "reservation", Subject: "exam", Value: `{"nodes":["a-1"],"start":1,"end":90000000}`}))
	})
	run, _ := replayed(t, b, specOf(t, "groups: [{name: a, nodes: 1}]\nvclusters: [{name: v, home: all, profile: {order: fcfs}}]\n"), true)
	src, err := b.Jobs()
	require.NoError(t, err)
	defer src.Close()
	got, err := Jobs(context.Background(), run, 7, Options{Tables: src})
	require.NoError(t, err)
	require.Equal(t, "RESERVED", got[0].Intervals[0].Reason)
	require.Equal(t, "exam", got[0].Intervals[0].Reservation)
}

// A job that names a reservation is told that it waits for its begin, or came too late for it. Of
// two reservations that end together the one is named that has the nodes.
func TestNamedReservation(t *testing.T) {
	b := bundleOf(t, func(w *traces.Writer) {
		job := func(id int64, at, span model.Duration, name string) {
			require.NoError(t, w.WriteJob(&traces.Job{
				ID: id, Submit: model.Time(at), NodesMin: traces.Some[int32](1), Runtime: traces.Some(span), Walltime: traces.Some(span), Reservation: name,
			}))
		}
		job(0, 0, 20*model.Second, "")
		job(1, 0, 40*model.Second, "exam")
		job(2, 5*model.Second, 50*model.Second, "exam")
		job(3, 10*model.Second, model.Hour, "")
	})
	run, _ := replayed(t, b, specOf(t, `
groups: [{name: a, nodes: 3}]
vclusters: [{name: v, home: all, profile: {order: fcfs}}]
reservations: [{name: exam, nodes: a-1, start: 60s, end: 120s}, {name: upkeep, nodes: "a-[2-3]", start: 30s, end: 120s, maintenance: true}]
`), true)
	answer := func(id int64) Explanation {
		got, err := Jobs(context.Background(), run, id, Options{})
		require.NoError(t, err)
		return got[0]
	}
	require.Equal(t, "Job 1 waited 1 min for the reservation exam, which it names, to begin.", answer(1).Answer)
	late := answer(2).Intervals
	require.Equal(t, "because it would run past the end of the reservation exam, which it names", late[len(late)-1].What)
	require.Empty(t, late[len(late)-1].Until)
	sets := answer(3).Intervals[0].Rejected
	require.Equal(t, "set aside by the reservation upkeep until 00:02:00", sets[len(sets)-1].Why)
}

// Under conservative backfilling too a job waits for nodes that a reservation sets aside, and not for
// jobs before it where there are none.
func TestReservedUnderConservative(t *testing.T) {
	b := bundleOf(t, func(w *traces.Writer) {
		require.NoError(t, w.WriteJob(&traces.Job{ID: 1, NodesMin: traces.Some[int32](2), Runtime: traces.Some(model.Minute), Walltime: traces.Some(model.Minute)}))
	})
	run, _ := replayed(t, b, specOf(t, `
groups: [{name: a, nodes: 2}]
vclusters: [{name: v, home: all, profile: {order: fcfs, backfill: conservative}}]
reservations: [{name: upkeep, nodes: a-2, start: 30s, end: 120s, maintenance: true}]
`), true)
	got, err := Jobs(context.Background(), run, 1, Options{})
	require.NoError(t, err)
	require.Equal(t, "Job 1 waited 2 min for nodes that the reservation upkeep set aside.", got[0].Answer)
}

// The start is predicted of a job that can only start by borrowing, and it starts then.
func TestPredictedStartOnLentNodes(t *testing.T) {
	b := bundleOf(t, func(w *traces.Writer) {
		for i, nodes := range []int32{1, 1, 4} {
			span := model.Duration(i+1) * 40 * model.Second
			require.NoError(t, w.WriteJob(&traces.Job{
				ID: int64(i), NodesMin: traces.Some(nodes), Runtime: traces.Some(span), Walltime: traces.Some(span), VCluster: map[int32]string{1: "small", 4: "wide"}[nodes],
			}))
		}
	})
	run, _ := replayed(t, b, specOf(t, `
groups: [{name: a, nodes: 6}]
vclusters: [{name: lender, home: 4, max_lent: 0.5}, {name: small, lend: false, profile: {order: fcfs}}, {name: wide, home: 2, profile: {order: fcfs}}]
`), true)
	q, err := QueueAt(context.Background(), run, model.Time(10*model.Second), Options{Open: opened(b)})
	require.NoError(t, err)
	require.Len(t, q.Jobs, 1)
	require.NotNil(t, q.Jobs[0].PredictedStart)
	require.Equal(t, "1970-01-01T00:01:20Z", *q.Jobs[0].PredictedStart)
	got, err := Jobs(context.Background(), run, 2, Options{})
	require.NoError(t, err)
	require.Equal(t, *q.Jobs[0].PredictedStart, *got[0].Start)
}

// The sizes of a service are told, and which it was to have, wherever one of them changes:
// also that it has none while it waits to start again.
func TestSizesAreTold(t *testing.T) {
	b := bundleOf(t, func(w *traces.Writer) {
		require.NoError(t, w.WriteJob(&traces.Job{ID: 7, Kind: "reactive", NodesMin: traces.Some[int32](1), NodesMax: traces.Some[int32](3), Runtime: traces.Some(model.Hour)}))
		for at, nodes := range []string{"2", "9", "1", "3", "3"} {
			require.NoError(t, w.WriteEvent(traces.Event{Time: model.Time(at) * model.Time(model.Minute), Kind: "demand", Subject: "7", Value: nodes}))
		}
	})
	site := "agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}\ngroups: [{name: a, nodes: 4}]\nvclusters: [{name: v, home: all, profile: {order: fcfs}}]\n" +
		"events: [{time: 5m, kind: drain, subject: all}, {time: 6m, kind: down, subject: a-1}, {time: 8m, kind: undrain, subject: all}]\n"
	for _, recorded := range []bool{true, false} {
		run, _ := replayed(t, b, specOf(t, site), recorded)
		got, err := Jobs(context.Background(), run, 7, Options{Open: opened(b)})
		require.NoError(t, err)
		type size struct {
			at            string
			nodes, demand int32
		}
		var sizes []size
		for _, z := range got[0].Sizes {
			sizes = append(sizes, size{got[0].Moment(z.From), z.Nodes, z.Demand})
		}
		require.Equal(t, []size{{"00:00:00", 2, 2}, {"00:01:00", 3, 9}, {"00:02:00", 1, 1}, {"00:03:00", 3, 3}, {"00:06:00", 0, 3}, {"00:08:00", 3, 3}}, sizes)
	}
}

// taken is a DecisionWriter that keeps what it is given.
type taken []record.Decision

func (d *taken) Decision(r *record.Decision) { *d = append(*d, *r) }

// To explain one job costs notes of that job only, one for each change, and the run
// stays what it is.
func TestExplainingOneJobIsBounded(t *testing.T) {
	b, spec := day(t)
	plain, err := sim.Run(context.Background(), spec, opened(b), sim.Options{})
	require.NoError(t, err)
	var all taken
	res, err := sim.Run(context.Background(), spec, opened(b), sim.Options{Decisions: &all})
	require.NoError(t, err)
	require.Equal(t, plain.Fingerprint, res.Fingerprint)
	for _, job := range []model.JobID{0, 100, model.JobID(b.Info().Rows - 1)} {
		var got taken
		res, err := sim.Run(context.Background(), spec, opened(b), sim.Options{Decisions: &got, Explain: func(j model.JobID) bool { return j == job }})
		require.NoError(t, err)
		require.Equal(t, plain.Fingerprint, res.Fingerprint)
		require.NotEmpty(t, got)
		require.Equal(t, slices.DeleteFunc(slices.Clone(all), func(d record.Decision) bool { return d.Job != job }), got)
		for i := 1; i < len(got); i++ {
			a, b := got[i-1], got[i]
			require.False(t, a.Kind == "wait" && b.Kind == "wait" && a.Reason == b.Reason && a.Behind == b.Behind, "%v and %v", a, b)
		}
	}
}

// The sets of nodes of a decision fit its reason and its numbers.
func TestRejectedSetsFitTheDecision(t *testing.T) {
	b, spec := day(t)
	var all taken
	_, err := sim.Run(context.Background(), spec, opened(b), sim.Options{Decisions: &all})
	require.NoError(t, err)
	kinds := map[scheduler.Rejection]int{}
	for i := range all {
		d := &all[i]
		if d.Kind != "wait" {
			continue
		}
		n := [record.RejectedSets]int32{}
		for k, text := range d.Rejected {
			if n[k] = int32(record.CountNodes(text)); text != "" {
				kinds[scheduler.Rejection(k)]++
			}
		}
		chosen, free, alike, adjacent, kept := n[0], n[1], n[2], n[3], n[4]
		if chosen > 0 {
			require.GreaterOrEqual(t, chosen, d.Need)
			require.Contains(t, []model.Reason{model.ReasonPriority, model.ReasonPower, model.ReasonBandwidth}, d.Reason)
			require.Zero(t, free+alike+adjacent+kept)
		}
		switch d.Reason {
		case model.ReasonResources, model.ReasonReserved:
			require.Less(t, free, d.Need)
		case model.ReasonDependency, model.ReasonQuotaNodes:
			require.Equal(t, [record.RejectedSets]string{}, d.Rejected)
		}
		require.LessOrEqual(t, max(alike, adjacent), free)
		require.LessOrEqual(t, free+kept, d.Nodes)
	}
	require.Positive(t, kinds[scheduler.RejectedChosen])
	require.Positive(t, kinds[scheduler.RejectedFree])
	require.Positive(t, kinds[scheduler.RejectedAlike]+kinds[scheduler.RejectedNear], "%v", kinds)
}

// Every wait of every job is explained from its beginning to its end, and a run
// without decisions yields the same explanation by one more replay.
func TestEveryWaitIsExplained(t *testing.T) {
	t.Parallel()
	b, spec := day(t)
	run, _ := replayed(t, b, spec, true)
	bare, _ := replayed(t, b, spec, false)
	src, err := b.Jobs()
	require.NoError(t, err)
	defer src.Close()
	var ids []int64
	preempted := map[int64]bool{}
	require.NoError(t, run.Scan(func(c *record.Columns) error {
		for i := range c.ID {
			if preempted[c.ID[i]] = c.Preemptions[i] > 0; i%20 == 0 || c.Preemptions[i] > 0 || c.Start[i] == record.Absent {
				ids = append(ids, c.ID[i])
			}
		}
		return nil
	}))
	for n, id := range ids {
		found, err := Jobs(context.Background(), run, id, Options{Tables: src})
		require.NoError(t, err)
		require.Len(t, found, 1)
		e := &found[0]
		require.NotEmpty(t, e.Answer)
		require.False(t, e.Recomputed)
		covers(t, e)
		require.Equal(t, preempted[id], slices.ContainsFunc(e.Moves, func(m Move) bool { return m.Leaves }), e.Answer)
		if n%20 != 0 {
			continue
		}
		again, err := Jobs(context.Background(), bare, id, Options{Tables: src, Open: opened(b)})
		require.NoError(t, err)
		require.True(t, again[0].Recomputed)
		again[0].Recomputed, again[0].Fingerprint = false, ""
		x, err := json.Marshal(found)
		require.NoError(t, err)
		y, err := json.Marshal(again)
		require.NoError(t, err)
		require.JSONEq(t, string(x), string(y))
	}
	_, err = Jobs(context.Background(), bare, ids[0], Options{})
	var none *NoDecisionsError
	require.ErrorAs(t, err, &none)
}

// covers checks that the wait intervals of a job fill its waits without a gap.
func covers(t *testing.T, e *Explanation) {
	t.Helper()
	at := func(instant string) time.Time {
		out, err := time.Parse(time.RFC3339Nano, instant)
		require.NoError(t, err)
		return out
	}
	waits := [][2]time.Time{{at(e.Submit), at(e.End)}}
	for i := range e.Attempts {
		waits[i][1] = at(e.Attempts[i].Start)
		waits = append(waits, [2]time.Time{at(e.Attempts[i].End), at(e.End)})
	}
	seen := 0
	for _, w := range waits {
		from := w[0]
		for ; seen < len(e.Intervals) && at(e.Intervals[seen].From).Equal(from) && !at(e.Intervals[seen].To).After(w[1]); seen++ {
			from = at(e.Intervals[seen].To)
		}
		require.Equal(t, w[1], from, e.Answer)
	}
	require.Equal(t, len(e.Intervals), seen, e.Answer)
}

// A job behind many reservations is not told each of them.
func TestManyReservationsAreOneCause(t *testing.T) {
	e := story{Explanation: Explanation{ID: 7}, start: model.Time(5 * model.Hour)}
	for i := range int64(4) {
		e.Intervals = append(e.Intervals, Interval{
			from: model.Time(model.Hour).Add(model.Duration(i-1) * model.Hour), to: model.Time(model.Hour).Add(model.Duration(i) * model.Hour),
			reason: model.ReasonPriority, Behind: &Other{ID: i % 3}, Room: &Room{},
		})
	}
	e.Intervals = append(e.Intervals, Interval{from: model.Time(4 * model.Hour), to: e.start, reason: model.ReasonResources, Room: &Room{Need: 2}})
	for i := range e.Intervals {
		e.Intervals[i].What = e.what(&e.Intervals[i])
	}
	require.Equal(t, "Job 7 waited 5 h: 4 h behind the reservations of 3 jobs, the first job 0 and 1 h for 2 free nodes.", e.answer())
	e.Intervals = append(e.Intervals[:2:2], e.Intervals[4])
	require.Equal(t, "Job 7 waited 5 h: 1 h behind the reservation of job 0, 1 h behind the reservation of job 1 and 1 h for 2 free nodes.", e.answer())
}

func TestWords(t *testing.T) {
	for d, want := range map[model.Duration]string{
		0: "0 s", 1500 * model.Millisecond: "1.5 s", model.Minute: "1 min", 61 * model.Second: "1 min 1 s",
		model.Hour: "1 h", 3*model.Hour + 12*model.Minute + 30*model.Second: "3 h 12 min", 2*model.Day + 5*model.Minute: "2 d", 26 * model.Hour: "1 d 2 h",
	} {
		require.Equal(t, want, Words(d))
	}
}
