package transform

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

const minute = model.Time(model.Minute)

// sampled is a trace without jobs: a service by the minute, another by request, two
// GPUs, prices and the node that they are of.
func sampled(t *testing.T) *Set {
	t.Helper()
	tables := traces.Tables{
		Nodes:  []traces.Node{{Name: "n1", GPUs: 2, CPUs: 8, Up: true}},
		Prices: []traces.Price{{Time: 0, Price: 0.2}, {Time: 5 * minute, Price: 0.3}},
		Events: []traces.Event{{Time: 3 * minute, Kind: "power_cap", Value: "900"}},
	}
	for i := range model.Time(10) {
		tables.Load = append(tables.Load,
			traces.Load{Service: "web", Time: i * minute, Width: model.Minute, Arrivals: traces.Some(60.0), Work: traces.Some(model.Second)},
			traces.Load{Service: "chat", Time: i*minute + 10, Arrivals: traces.Some(1.0)})
		for g := range int32(2) {
			tables.Telemetry = append(tables.Telemetry, traces.Telemetry{Node: "n1", GPU: traces.Some(g), Time: i * minute,
				Power: traces.Some(300.0), Energy: traces.Some(int64(i) * 18_000_000), PCIeRx: traces.Some(int64(i)), Processes: `[{"pid":7,"name":"train.py"}]`})
			tables.Instances = append(tables.Instances, traces.Instance{Node: "n1", GPU: g, GPUInstance: 3, Profile: "3g.40gb", Time: i * minute,
				MemUsed: traces.Some(int64(i)), Processes: `[{"pid":7,"name":"train.py"}]`})
		}
	}
	s, err := FromTables("sampled", traces.Meta{EpochKnown: true}, tables)
	require.NoError(t, err)
	return s
}

func apply(t *testing.T, s *Set, text string) *Set {
	t.Helper()
	st, err := ParseStep(text)
	require.NoError(t, err)
	out, err := s.Apply(Recipe{st}, nil)
	require.NoError(t, err)
	return out
}

// written writes a set, checks the bundle and that every account adds up, and reads it.
func written(t *testing.T, s *Set) (*traces.Bundle, Result) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.trace")
	res, err := s.Write(path, nil)
	require.NoError(t, err)
	r, err := traces.Validate(path)
	require.NoError(t, err)
	require.True(t, r.Balanced())
	for _, a := range res.Accounts {
		require.True(t, balanced(a), "%+v", a)
	}
	b, err := traces.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	m, err := s.Collect()
	require.NoError(t, err)
	require.Equal(t, res.Hash, m.Info().Hash)
	return b, res
}

func allLoad(t *testing.T, b *traces.Bundle) (out []traces.Load) {
	t.Helper()
	for l, err := range b.Load() {
		require.NoError(t, err)
		out = append(out, *l)
	}
	return out
}

func allTelemetry(t *testing.T, b *traces.Bundle) (out []traces.Telemetry) {
	t.Helper()
	for g, err := range b.Telemetry() {
		require.NoError(t, err)
		out = append(out, *g)
	}
	return out
}

func allInstances(t *testing.T, b *traces.Bundle) (out []traces.Instance) {
	t.Helper()
	for g, err := range b.Instances() {
		require.NoError(t, err)
		out = append(out, *g)
	}
	return out
}

// A window cuts every table, and the samples at its edges in proportion.
func TestWindowCutsEveryTable(t *testing.T) {
	b, res := written(t, apply(t, sampled(t), "window begin=90s end=390s"))
	load := allLoad(t, b)
	require.Equal(t, traces.Load{Service: "web", Time: 90_000_000, Width: 30 * model.Second, Arrivals: traces.Some(30.0), Work: traces.Some(model.Second)}, load[0])
	last := load[len(load)-2]
	require.Equal(t, traces.Load{Service: "web", Time: 6 * minute, Width: 30 * model.Second, Arrivals: traces.Some(30.0), Work: traces.Some(model.Second)}, last)
	sum := 0.0
	for _, l := range load {
		if l.Service == "web" {
			sum += l.Arrivals.V
		}
	}
	require.Equal(t, 300.0, sum)
	telemetry := allTelemetry(t, b)
	require.Len(t, telemetry, 10)
	require.Equal(t, 2*minute, telemetry[0].Time)
	require.Equal(t, []traces.Price{{Time: 90_000_000, Price: 0.2}, {Time: 5 * minute, Price: 0.3}}, b.Prices())
	require.Len(t, b.Events(), 1)
	parts := allInstances(t, b)
	require.Len(t, parts, 10)
	require.Equal(t, 2*minute, parts[0].Time)
	require.Equal(t, []string{"", "load", "telemetry", "mig"}, []string{res.Accounts[0].Table, res.Accounts[1].Table, res.Accounts[2].Table, res.Accounts[3].Table})
	require.EqualValues(t, [3]int64{20, 11, 2}, [3]int64{res.Accounts[1].Read, res.Accounts[1].Kept, res.Accounts[1].Changed[0].Count})
}

// Stretching moves every table, keeps neighbours together, and is undone by its
// inverse.
func TestStretchMovesEveryTable(t *testing.T) {
	whole, res := written(t, sampled(t))
	slow := apply(t, sampled(t), "stretch by=2")
	b, _ := written(t, slow)
	load := allLoad(t, b)
	require.Equal(t, traces.Load{Service: "web", Time: 2 * minute, Width: 2 * model.Minute, Arrivals: traces.Some(60.0), Work: traces.Some(2 * model.Second)}, load[2])
	g := allTelemetry(t, b)[3]
	require.Equal(t, 2*minute, g.Time)
	require.Equal(t, []int64{36_000_000, 1}, []int64{g.Energy.V, g.PCIeRx.V})
	require.Equal(t, 300.0, g.Power.V)
	require.Equal(t, 2*minute, allInstances(t, b)[3].Time)
	require.Equal(t, 10*minute, b.Prices()[1].Time)
	back, again := written(t, apply(t, slow, "stretch by=1/2"))
	require.Equal(t, allLoad(t, whole), allLoad(t, back))
	require.Equal(t, res.Hash, again.Hash)
}

// Samples of two traces are merged by time; what both tell of is there once.
func TestMergeOfSamples(t *testing.T) {
	whole, want := written(t, sampled(t))
	early, late := apply(t, sampled(t), "window begin=0s end=4m"), apply(t, sampled(t), "window begin=4m")
	both, err := mergeOpen(early, late)
	require.NoError(t, err)
	b, _ := written(t, both)
	require.Equal(t, allLoad(t, whole), allLoad(t, b))
	require.Equal(t, allTelemetry(t, whole), allTelemetry(t, b))
	twice, err := mergeOpen(sampled(t), sampled(t))
	require.NoError(t, err)
	require.True(t, twice.jobless)
	b, res := written(t, twice)
	require.Equal(t, allTelemetry(t, whole), allTelemetry(t, b))
	require.Len(t, allLoad(t, b), 30, "requests of the same instant may be different ones")
	require.NotEqual(t, want.Hash, res.Hash)
}

func TestAnonymiseSamples(t *testing.T) {
	b, _ := written(t, apply(t, sampled(t), "anonymise"))
	load := allLoad(t, b)
	require.Equal(t, []string{"service1", "service2"}, []string{load[0].Service, load[1].Service})
	for _, g := range allTelemetry(t, b) {
		require.Empty(t, g.Processes)
		require.Equal(t, "n1", g.Node)
	}
	b, _ = written(t, apply(t, sampled(t), "anonymise columns=user"))
	require.Equal(t, "web", allLoad(t, b)[0].Service)
}

// What cannot apply is refused, and says why.
func TestStepsOfJobsNeedJobs(t *testing.T) {
	for _, text := range []string{"filter user=a", "map column=user to=b", "load to=0.5 capacity=4", "stretch by=2 what=arrivals", "jitter", "resample weeks=2", "window begin=1m warm=true"} {
		st, err := ParseStep(text)
		require.NoError(t, err)
		_, err = sampled(t).Apply(Recipe{st}, nil)
		require.ErrorContains(t, err, "found no jobs, but nodes, events, prices, load, telemetry", text)
		var data *traces.DataError
		require.ErrorAs(t, err, &data)
	}
	_, err := apply(t, sampled(t), "window begin=1h").Write(filepath.Join(t.TempDir(), "x.trace"), nil)
	require.NoError(t, err, "the nodes are left, and the price that holds")
	only := apply(t, sampled(t), "drop tables=nodes,prices,events,telemetry,mig")
	_, err = apply(t, only, "window begin=1h").Write(filepath.Join(t.TempDir(), "x.trace"), nil)
	require.ErrorContains(t, err, `no row of load that the step "window begin=1h" keeps (outside the window: 20), of the 20 it read`)
}

func TestDrop(t *testing.T) {
	b, _ := written(t, apply(t, sampled(t), "drop tables=telemetry,prices,mig"))
	info := b.Info()
	require.Equal(t, []traces.TableRows{{Table: "nodes", Rows: 1}, {Table: "events", Rows: 1}, {Table: "load", Rows: 20}}, info.Tables)
	mixed, err := FromTables("mixed", traces.Meta{}, traces.Tables{Jobs: []traces.Job{{ID: 1, Kind: "service"}, {ID: 2, Submit: 5}},
		Deps: []traces.Dep{{Job: 2, On: 1, Condition: "any"}}, Events: []traces.Event{{Kind: "demand", Subject: "1", Value: "2"}},
		Load: []traces.Load{{Service: "a", Arrivals: traces.Some(1.0)}}})
	require.NoError(t, err)
	_, err = mixed.Apply(Recipe{{Name: "resample", Args: []Arg{{"weeks", "=", "2"}}}}, nil)
	require.ErrorContains(t, err, "load: of the weeks of the log, and of no others; leave out first what was sampled, with the step drop tables=load")
	b, res := written(t, apply(t, mixed, "drop tables=jobs"))
	info = b.Info()
	require.Equal(t, []traces.TableRows{{Table: "load", Rows: 1}}, info.Tables)
	require.EqualValues(t, 2, res.Accounts[0].Dropped[0].Count)
	for text, want := range map[string]string{"drop tables=prices": "no table prices: it has deps, events, load", "drop tables=jobs,load": "no table left"} {
		st, err := ParseStep(text)
		require.NoError(t, err)
		_, err = apply(t, mixed, "drop tables=events").Apply(Recipe{st}, nil)
		if text == "drop tables=prices" {
			_, err = mixed.Apply(Recipe{st}, nil)
		}
		require.ErrorContains(t, err, want)
	}
	_, err = ParseStep("drop tables=loads")
	require.ErrorContains(t, err, "no table of a trace")
}
