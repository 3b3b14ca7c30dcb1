package sim

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// leastFragmentation has every vCluster of w select so, unless it gives nodes whole.
func leastFragmentation(w *siteWorld) bool {
	if !slices.ContainsFunc(w.head, func(line string) bool { return line == "sharing: resources" || line == "sharing: gpus" }) {
		return false
	}
	changed := false
	for i, v := range w.vclusters {
		if !strings.Contains(v, "mode: as-coded") {
			w.vclusters[i] = strings.Replace(v, "profile: {", "profile: {selection: least-fragmentation, ", 1)
			changed = changed || w.vclusters[i] != v
		}
	}
	return changed
}

// TestLeastFragmentationOnRandomSites: no invariant breaks, a fresh core that is fed the log
// makes the same plans, and a pass at each tick of a cycle finds nothing that one which was
// left out would have found. Some schedules are others than without it.
func TestLeastFragmentationOnRandomSites(t *testing.T) {
	t.Parallel()
	worlds := uint64(worldsOf(150, 600, 1500))
	tried, others := 0, 0
	for i := range worlds {
		w := drawSite(longBytes(i))
		documented := w.spec(t)
		if !leastFragmentation(w) {
			continue
		}
		tried++
		m, spec := w.memory(), w.spec(t)
		var kept log
		res, err := Run(t.Context(), spec, m.open, Options{Watch: true, Log: kept.recorder()})
		require.NoError(t, err, "world %d\n%s", i, w)
		require.Empty(t, res.Watch.Breaches, "world %d\n%s", i, w)
		kept.same(t, spec, m.open, res.Fingerprint)
		if res.Unfinished == 0 { // else there are ticks for ever
			every, err := Run(t.Context(), spec, m.open, Options{Core: everyTick})
			require.NoError(t, err)
			require.Equal(t, res.Fingerprint, every.Fingerprint, "world %d\n%s", i, w)
		}
		plain, err := Run(t.Context(), documented, m.open, Options{})
		require.NoError(t, err)
		if plain.Fingerprint != res.Fingerprint {
			others++
		}
	}
	t.Logf("%d sites, %d of them with other schedules than without", tried, others)
	require.Greater(t, others, tried/50)
}

// TestOpenbLeastFragmentation: the openb trace is replayed in full under least fragmentation,
// with no node beyond what it has, and other starts than under the documented selection.
func TestOpenbLeastFragmentation(t *testing.T) {
	t.Parallel()
	m := openb(t, 20)
	profile := "profile: {"
	spec := siteOf(t, strings.Replace(openbSite, profile, profile+"selection: least-fragmentation, ", 1))
	res, err := Run(t.Context(), spec, m.Open, Options{Watch: true})
	require.NoError(t, err)
	require.Empty(t, res.Watch.Breaches, "%v", res.Watch)
	require.Zero(t, res.Unfinished)
	documented, err := Run(t.Context(), siteOf(t, openbSite), m.Open, Options{})
	require.NoError(t, err)
	require.NotEqual(t, documented.Fingerprint, res.Fingerprint)
}

// TestLeastFragmentationKeepsGPUsTogether: two nodes have two GPUs each, of which one has the
// CPUs for jobs of two. After three such jobs, one of 300 thousandths goes to the other node,
// and the next job of two GPUs starts at once. The documented selection, to which both nodes
// are alike, takes the first.
func TestLeastFragmentationKeepsGPUsTogether(t *testing.T) {
	starts := map[string][]model.Time{}
	for _, selection := range []string{"documented", "least-fragmentation"} {
		spec := siteOf(t, `
sharing: resources
node_types: [{name: large, cpus: 8, gpus: 2, gpu: A}, {name: small, cpus: 2, gpus: 2, gpu: A}]
groups: [{name: a, nodes: 1, type: large}, {name: b, nodes: 1, type: small}]
vclusters: [{name: all, home: all, profile: {order: fcfs, backfill: none, selection: `+selection+`}}]
`)
		var tables traces.Tables
		add := func(at int64, gpus, milli, cpus int32, seconds int64) {
			j := traces.Job{
				ID: int64(len(tables.Jobs)), Submit: model.Time(at) * model.Time(model.Second), Runtime: traces.Some(model.Duration(seconds) * model.Second),
				NodesMin: traces.Some[int32](1), GPUsPerNode: traces.Some(gpus), CPUsPerNode: traces.Some(cpus), MemPerNode: traces.Some[int64](0),
			}
			if j.Walltime = j.Runtime; milli > 0 {
				j.GPUMilli = traces.Some(milli)
			}
			tables.Jobs = append(tables.Jobs, j)
		}
		for i := range int64(3) {
			add(10*i, 2, 0, 6, 5)
		}
		add(40, 1, 300, 1, 100)
		add(50, 2, 0, 6, 5)
		memory, err := traces.NewMemory("pairs", traces.Meta{Source: "pairs", Sorted: true}, tables)
		require.NoError(t, err)
		var l log
		_, err = Run(t.Context(), spec, memory.Open, Options{Log: l.recorder(), Watch: true})
		require.NoError(t, err)
		for _, e := range l.entries {
			if e.Fact.Kind == model.FactAssigned {
				starts[selection] = append(starts[selection], e.Now)
			}
		}
	}
	second := model.Time(model.Second)
	require.Equal(t, []model.Time{0, 10 * second, 20 * second, 40 * second, 140 * second}, starts["documented"])
	require.Equal(t, []model.Time{0, 10 * second, 20 * second, 40 * second, 50 * second}, starts["least-fragmentation"])
}
