package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/tools/refdata"
	"orrery/traces"
)

// asked is a scenario as a spec has it.
func asked(t testing.TB, text string) json.RawMessage {
	t.Helper()
	s, err := profiles.ParseScenario("scenario.yaml", []byte(text))
	require.NoError(t, err, text)
	require.NoError(t, s.Inline("."), text)
	return s.JSON()
}

// logged replays and keeps the log.
func logged(t testing.TB, m *memory, spec plan.Spec) (*Result, *log) {
	t.Helper()
	var l log
	res, err := Run(t.Context(), spec, m.open, Options{Log: l.recorder()})
	require.NoError(t, err)
	return res, &l
}

// kth is the beginning of a real log.
func kth(t testing.TB, rows int) *memory {
	return normalised(t, refdata.Path(t, "oracle/swf-norm/"+oracleLogs[0].name+".swf.gz"), oracleLogs[0].procs).first(rows)
}

// TestPolicyFromAnInstant: from the beginning another policy is a run with it, and from the middle the
// run up to there, and another one from there.
func TestPolicyFromAnInstant(t *testing.T) {
	m := kth(t, 500)
	policies := []struct {
		order, backfill string
		depth           int
	}{{"fcfs", "easy", 0}, {"sjf", "easy", 0}, {"fcfs", "conservative", 0}, {"wfp3", "none", 0}, {"saf", "conservative", 5}, {"fcfs", "first-fit", 0}}
	for i, from := range policies {
		for k, to := range policies {
			for _, cycle := range []model.Duration{0, 60 * model.Second} {
				if i == k {
					continue
				}
				spec := plan.DefaultSpec()
				spec.Order, spec.Backfill, spec.Depth, spec.Cycle = from.order, from.backfill, from.depth, cycle
				other := spec
				other.Order, other.Backfill, other.Depth = to.order, to.backfill, to.depth
				backfill := to.backfill
				if to.depth > 0 {
					backfill = fmt.Sprintf("%s:%d", to.backfill, to.depth)
				}
				scenario := func(at model.Time) plan.Spec {
					s := spec
					s.Scenario = asked(t, fmt.Sprintf("events: [{time: %dus, kind: order, value: %s}, {time: %dus, kind: backfill, value: %s}]", at, to.order, at, backfill))
					return s
				}
				t.Run(fmt.Sprint(from, to, cycle), func(t *testing.T) {
					t.Parallel()
					run, facts := logged(t, m, spec)
					whole, _ := logged(t, m, other)
					begins, _ := logged(t, m, scenario(0))
					require.Equal(t, whole.Fingerprint, begins.Fingerprint)
					require.NotEqual(t, run.Fingerprint, whole.Fingerprint)
					for _, part := range []int{2, 3} {
						at := facts.entries[len(facts.entries)*part/5].Now + 1
						res, forked := logged(t, m, scenario(at))
						requirePrefix(t, at, facts, forked)
						if from.order != to.order { // else they decide alike but for a few jobs
							require.NotEqual(t, run.Fingerprint, res.Fingerprint)
							require.NotEqual(t, whole.Fingerprint, res.Fingerprint)
						}
						forked.same(t, res.Spec, m.open, res.Fingerprint) // a fresh core comes to the same plans
					}
				})
			}
		}
	}
}

// eventsLater moves the events of the cluster file into a scenario.
func (w *siteWorld) eventsLater(t testing.TB) plan.Spec {
	bare := w.clone()
	bare.events = nil
	spec := bare.spec(t)
	if len(w.events) > 0 {
		spec.Scenario = asked(t, "events: ["+strings.Join(w.events, ", ")+"]")
	}
	return spec
}

// TestEventsOfAScenarioAreThoseOfTheClusterFile: start for start, where they are about nodes. What a
// cluster file says of limits and caps is known from the beginning on, that of a scenario from its
// instant on.
func TestEventsOfAScenarioAreThoseOfTheClusterFile(t *testing.T) {
	t.Parallel()
	worlds, compared, moved := uint64(worldsOf(60, 200, 500)), 0, 0
	for seed := range worlds {
		w := drawSite(longBytes(seed))
		ofNodes := len(w.events) > 0
		for _, e := range w.events {
			ofNodes = ofNodes && !strings.Contains(e, "value")
		}
		m := w.memory()
		run, facts := logged(t, m, w.spec(t))
		later, forked := logged(t, m, w.eventsLater(t))
		forked.same(t, later.Spec, m.open, later.Fingerprint)
		if !ofNodes {
			continue
		}
		compared++
		require.Equal(t, run.Fingerprint, later.Fingerprint, "world %d\n%s", seed, w)
		bare := w.clone()
		bare.events = nil
		without, _ := logged(t, m, bare.spec(t))
		if without.Fingerprint != run.Fingerprint {
			moved++
		}
		require.Equal(t, facts.starts(), forked.starts())
	}
	t.Logf("%d worlds have events about nodes alone, which change %d of them", compared, moved)
	require.Greater(t, moved, compared/2, "a scenario that is not heeded would go unnoticed")
}

// TestScenariosOfRandomSites: whatever changes at an instant, nothing before it does.
func TestScenariosOfRandomSites(t *testing.T) {
	t.Parallel()
	worlds, changed := uint64(worldsOf(60, 160, 400)), map[string]int{}
	kinds := []string{"profile", "add", "down", "cap", "outage", "price"}
	for seed := range worlds {
		w := drawSite(longBytes(seed))
		m, spec := w.memory(), w.spec(t)
		run, facts := logged(t, m, spec)
		kind := kinds[seed%uint64(len(kinds))]
		at := facts.entries[len(facts.entries)*int(1+seed%3)/5].Now
		g := w.groups[0]
		event := map[string]string{
			"profile": "kind: profile, profile: {order: sjf, backfill: none}",
			"add":     "kind: add, subject: later, type: " + g.kind + ", value: 3",
			"down":    fmt.Sprintf("kind: down, subject: [%s-1]", g.name),
			"cap":     "kind: power_cap, value: 1MW", "outage": "kind: outage, value: 40s", "price": "kind: price, value: 0.9",
		}[kind]
		forkedSpec := spec
		forkedSpec.Scenario = asked(t, fmt.Sprintf("events: [{time: %dus, %s}]", at, event))
		src, err := m.open()
		require.NoError(t, err)
		_, _, err = forkedSpec.PrepareOn(src)
		require.NoError(t, src.Close())
		if err != nil { // both profiles preempt, each otherwise
			require.ErrorContains(t, err, "the keys of preemption")
			continue
		}
		t.Logf("world %d %s at %d", seed, event, at)
		res, forked := logged(t, m, forkedSpec)
		requirePrefix(t, at, facts, forked)
		forked.same(t, res.Spec, m.open, res.Fingerprint)
		if res.Fingerprint != run.Fingerprint {
			changed[kind]++
		}
	}
	t.Log("worlds that a scenario changes, by what it is:", changed)
	for _, kind := range []string{"profile", "add", "down", "outage"} {
		require.Positive(t, changed[kind], kind)
	}
}

// startedBy are the jobs that started on the site of a cluster file under a scenario, by id, with their instants in
// seconds; the others were rejected or wait for ever.
func startedBy(t *testing.T, site, scenario string, jobs ...traces.Job) map[int64]int64 {
	t.Helper()
	spec := siteOf(t, site)
	if scenario != "" {
		spec.Scenario = asked(t, scenario)
	}
	spec.AllowUnheeded = true
	m, err := traces.NewMemory("made", traces.Meta{}, traces.Tables{Jobs: jobs})
	require.NoError(t, err)
	sink := record.NewSiteMemory()
	_, err = Run(t.Context(), spec, m.Open, Options{Sink: sink})
	require.NoError(t, err)
	out := map[int64]int64{}
	require.NoError(t, sink.Scan(func(c *record.Columns) error {
		for i, id := range c.ID {
			if c.Start[i] != record.Absent {
				out[id] = c.Start[i] / int64(model.Second)
			}
		}
		return nil
	}))
	return out
}

// wide is a job on so many nodes, submitted at an instant in seconds, that runs for 10 s.
func wide(id, submit int64, nodes int32) traces.Job {
	return traces.Job{
		ID: id, Submit: model.Time(submit) * model.Time(model.Second), NodesMin: traces.Some(nodes), Tenant: "bio",
		Runtime: traces.Some(10 * model.Second), Walltime: traces.Some(20 * model.Second),
	}
}

// TestNothingOfAScenarioIsKnownBeforehand: a limit that a cluster file will raise lets a job wait, and one that a
// scenario will raise does not; from its instant on both let the next one start.
func TestNothingOfAScenarioIsKnownBeforehand(t *testing.T) {
	site := `
groups: [{name: g, nodes: 4}]
tenants: [{name: bio, max_nodes: 2}]
vclusters: [{name: one, home: all, profile: {order: fcfs}}]
`
	event := "events: [{time: 50s, kind: quota, subject: bio, limit: max_nodes, value: 4}]\n"
	jobs := []traces.Job{wide(1, 10, 3), wide(2, 100, 3), wide(3, 200, 2)}
	require.Equal(t, map[int64]int64{3: 200}, startedBy(t, site, "", jobs...))
	require.Equal(t, map[int64]int64{1: 50, 2: 100, 3: 200}, startedBy(t, site+event, "", jobs...))
	require.Equal(t, map[int64]int64{2: 100, 3: 200}, startedBy(t, site, event, jobs...))
}

// TestAddedNodesTakeWorkFromTheirInstantOn, and an outage puts off what would start in it.
func TestAddedNodesTakeWorkFromTheirInstantOn(t *testing.T) {
	site := `
node_types: [{name: a, cpus: 1}]
groups: [{name: g, nodes: 2, type: a}]
tenants: [{name: bio}]
vclusters: [{name: one, home: all, profile: {order: fcfs, backfill: none}}]
agents: {boot_delay: 5s}
events: [{time: 10s, kind: up, subject: all}]
`
	jobs := []traces.Job{wide(1, 0, 2), wide(2, 1, 2), wide(3, 2, 2), wide(4, 100, 3)}
	require.Equal(t, map[int64]int64{1: 0, 2: 10, 3: 20}, startedBy(t, site, "", jobs...), "job 4 never fits")
	add := "events: [{time: 12s, kind: add, subject: more, type: a, value: 2}]"
	require.Equal(t, map[int64]int64{1: 0, 2: 10, 3: 17, 4: 100}, startedBy(t, site, add, jobs...))
	outage := "events: [{time: 9s, kind: outage, value: 6s}]"
	require.Equal(t, map[int64]int64{1: 0, 2: 15, 3: 25}, startedBy(t, site, outage, jobs...))
}

// TestPreferredJobOfASiteStandsFirst under every kind of order, and before partitions of higher tiers. (Under
// conservative, reservations of before stand, whatever comes to the head.)
func TestPreferredJobOfASiteStandsFirst(t *testing.T) {
	for _, profile := range []string{"order: fcfs", "order: ljf, backfill: none", "order: wfp3", "order: score", "order: multifactor", "order: sjf, cycle: 5s"} {
		site := `
groups: [{name: g, nodes: 2}]
tenants: [{name: bio}]
partitions: [{name: low, nodes: all, tier: 1}, {name: high, nodes: all, tier: 9}]
vclusters: [{name: one, home: all, profile: {` + profile + `}}]
`
		jobs := []traces.Job{wide(1, 0, 2), wide(2, 1, 2), wide(3, 2, 2), wide(4, 3, 2)}
		for i := range jobs {
			jobs[i].Partition = []string{"high", "high", "low", "high"}[i]
		}
		was := startedBy(t, site, "", jobs...)
		is := startedBy(t, site, "prefer: 3", jobs...)
		require.Len(t, was, 4, profile)
		require.Greater(t, was[3], was[2], profile)
		require.Less(t, is[3], min(is[2], is[4]), profile)
		require.Greater(t, is[3], is[1], profile)
	}
}

// TestTakeoversAreBounded: each keeps a core beside the one that decides.
func TestTakeoversAreBounded(t *testing.T) {
	m := kth(t, 20)
	spec := plan.DefaultSpec()
	events := func(n int) json.RawMessage {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("{time: %ds, kind: order, value: %s}", 10+i, []string{"sjf", "ljf"}[i%2]))
		}
		return asked(t, "events: ["+strings.Join(list, ", ")+"]")
	}
	spec.Scenario = events(plan.MostTakeovers)
	_, err := Run(t.Context(), spec, m.open, Options{})
	require.NoError(t, err)
	spec.Scenario = events(plan.MostTakeovers + 1)
	_, err = Run(t.Context(), spec, m.open, Options{})
	require.ErrorContains(t, err, "at more than 16 instants")
	spec.Scenario = events(1)
	_, err = Run(t.Context(), spec, m.open, Options{Watch: true})
	require.ErrorContains(t, err, "the invariants are those of one policy")
}

// TestWorkLeftOut: the run without some jobs is that of a log that does not have them, start for start.
func TestWorkLeftOut(t *testing.T) {
	m := kth(t, 300)
	spec := plan.DefaultSpec()
	all := startsByID(t, m, spec)
	for _, row := range []int{0, 17, 120, 299} {
		without := spec
		without.Scenario = asked(t, fmt.Sprintf("without: {jobs: [%d]}", m.all.ID[row]))
		got := startsByID(t, m, without)
		require.Equal(t, startsByID(t, m.without(row), spec), got)
		require.NotContains(t, got, m.all.ID[row])
		require.Contains(t, all, m.all.ID[row])
		res, _ := logged(t, m, without)
		require.EqualValues(t, 1, res.LeftOut)
	}
}

func startsByID(t testing.TB, m *memory, spec plan.Spec) map[int64]int64 {
	t.Helper()
	sink := record.NewMemory()
	_, err := Run(t.Context(), spec, m.open, Options{Sink: sink})
	require.NoError(t, err)
	out := map[int64]int64{}
	require.NoError(t, sink.Scan(func(c *record.Columns) error {
		for i, id := range c.ID {
			out[id] = c.Start[i]
		}
		return nil
	}))
	return out
}

// TestPreferredJobStandsFirst: without backfilling, a job at the head starts when those that ran at its
// submission have left enough: nothing starts before it then.
func TestPreferredJobStandsFirst(t *testing.T) {
	m := kth(t, 300)
	spec := plan.Spec{Semantics: plan.Semantics, Backfill: "none"}
	_, facts := logged(t, m, spec)
	sooner := 0
	for row := 10; row < 300; row += 7 {
		id := m.all.ID[row]
		first := spec
		first.Scenario = asked(t, fmt.Sprintf("prefer: %d", id))
		_, preferred := logged(t, m, first)
		requirePrefix(t, m.all.Submit[row], facts, preferred)
		want, have := startsOf(facts, row), startsOf(preferred, row)
		require.LessOrEqual(t, have, want)
		if have < want {
			sooner++
		}
		for other := range 300 {
			s := startsOf(preferred, other)
			require.False(t, other != row && s > m.all.Submit[row] && s < have, "job of row %d starts at %s, between the submission and the start of that of row %d", other, s, row)
		}
	}
	require.Positive(t, sooner)
}

// startsOf is when the job of a row got nodes.
func startsOf(l *log, row int) model.Time {
	for i := range l.entries {
		if e := &l.entries[i]; e.Fact.Kind == model.FactAssigned && e.What.String() == "fact" && int(e.Fact.Job) == row {
			return e.Now
		}
	}
	return model.Never
}
