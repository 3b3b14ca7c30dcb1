package plan

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// TestIgnoredColumnsExist keeps the names in step with the table.
func TestIgnoredColumnsExist(t *testing.T) {
	optional := map[string]bool{}
	for _, c := range traces.JobColumns() {
		optional[c.Name] = c.Optional || c.Name == "kind"
	}
	for name := range ignoredColumns {
		require.True(t, optional[name], "%s is no optional column of jobs", name)
	}
}

// TestReplaySaysWhatItIgnores fills one column that a replay heeds and two that
// it does not, and a dependency.
func TestReplaySaysWhatItIgnores(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wishes.trace")
	w, err := traces.NewWriter(path, traces.Meta{Source: "test", MaxProcs: 8, Sorted: true})
	require.NoError(t, err)
	for i := range int64(3) {
		j := traces.Job{ID: i + 1, Submit: model.Time(i), ProcsRequested: traces.Some[int32](1), Runtime: traces.Some(model.Second), Topology: "tight", QOS: "normal", Partition: "main"}
		if i == 2 {
			j.AfterJob, j.Partition, j.Kind = traces.Some[int64](1), "gpu", "service"
		}
		require.NoError(t, w.WriteJob(&j))
	}
	require.NoError(t, w.WriteDep(traces.Dep{Job: 2, On: 1, Condition: "success"}))
	require.NoError(t, w.WriteLoad(&traces.Load{Service: "web", Arrivals: traces.Some(1.0)}))
	_, err = w.Close()
	require.NoError(t, err)

	b, err := traces.Open(path)
	require.NoError(t, err)
	defer b.Close()
	got := map[string]int64{}
	for _, r := range (&Resolved{events: 2, prices: 5}).Ignored(b.Info(), &translate.SpecialRows{}) {
		got[r.Rule] = r.Count
	}
	require.Equal(t, map[string]int64{"ignored-kind": 3, "ignored-partition": 3, "ignored-topology": 3, "ignored-after_job": 1, "ignored-deps": 1, "ignored-load": 1, "ignored-events": 2, "ignored-prices": 5}, got)
}

// TestSiteSaysWhatItIgnores: points of jobs matter where some vCluster orders by
// Slurm's priority, a reservation that is announced later is
// known at once, and the weights of the log's own scheduler matter nowhere.
func TestSiteSaysWhatItIgnores(t *testing.T) {
	events := []traces.Event{{Kind: "reservation", Subject: "x", Value: `{"nodes":["a-1"],"start":1,"end":2}`}, {Time: 1, Kind: "reservation", Subject: "y", Value: `{"nodes":["a-1"],"start":1,"end":2}`},
		{Time: 2, Kind: "weights", Subject: "v", Value: `{"priority":1}`}, {Time: 3, Kind: "weights", Subject: "v", Value: `{"priority":2}`}}
	info := traces.Info{Filled: []traces.Filled{{Column: "priority", Rows: 9, Varies: true}, {Column: "site_factor", Rows: 4, Varies: true}, {Column: "nice", Rows: 3, Varies: true}, {Column: "hold", Rows: 2}}}
	rules := func(order string) (out []string) {
		spec := siteSpec(t, "groups: [{name: a, nodes: 1}]\nvclusters: [{name: v, home: all, profile: {order: "+order+"}}]\n")
		for _, r := range planned(t, spec, traces.Meta{}, traces.Tables{Events: events}).Ignored(info, &translate.SpecialRows{}) {
			out = append(out, fmt.Sprintf("%s %d", r.Rule, r.Count))
		}
		return out
	}
	require.Equal(t, []string{"ignored-site_factor 4", "ignored-nice 3", "reservation-known-early 1", "ignored-event-weights 2"}, rules("fcfs"))
	require.Equal(t, []string{"reservation-known-early 1", "ignored-event-weights 2"}, rules("multifactor"))
}

// siteSpec is a spec of the site that a cluster file describes.
func siteSpec(t *testing.T, text string) Spec {
	t.Helper()
	c, err := profiles.ParseCluster("test", []byte(text))
	require.NoError(t, err)
	spec := DefaultSpec()
	spec.Site = c.JSON()
	return spec
}

// planned is spec on a trace.
func planned(t *testing.T, spec Spec, meta traces.Meta, tables traces.Tables) *Resolved {
	t.Helper()
	m, err := traces.NewMemory("log", meta, tables)
	require.NoError(t, err)
	src, err := m.Open()
	require.NoError(t, err)
	prep, err := Prepare(spec)
	require.NoError(t, err)
	p, err := prep.Resolve(src)
	require.NoError(t, err)
	return &p
}

// TestSiteSaysWhatRowsDoNotAsk: a null is no 0 where the site divides what the row does not ask
// for, and no rule where it does not.
func TestSiteSaysWhatRowsDoNotAsk(t *testing.T) {
	info := traces.Info{Rows: 9, Filled: []traces.Filled{{Column: "mem_per_node", Rows: 7}, {Column: "io_demand", Rows: 9}}}
	rules := func(site string, info traces.Info) (out []string) {
		for _, r := range planned(t, siteSpec(t, site), traces.Meta{}, traces.Tables{}).Site.unstated(info) {
			out = append(out, fmt.Sprintf("%s %d: %s", r.Rule, r.Count, r.Doc))
		}
		return out
	}
	const nodes = "node_types: [{name: t, cpus: 8, memory: 64GiB}]\ngroups: [{name: a, nodes: 1, type: t}]\n"
	require.Empty(t, rules(nodes, info))
	require.Equal(t, []string{
		"unstated-cpus_per_node 9: kept: the row does not say how many processors its job needs: 2 of each node, by job_cpus of the cluster file",
		"unstated-mem_per_node 2: kept: the row does not say how much memory its job needs: 0 B of each node, by job_memory of the cluster file",
	}, rules(nodes+"sharing: resources\njob_cpus: 2\n", info))
	require.Empty(t, rules(nodes+"storage_bandwidth: 1GB/s\n", info), "all rows say it")
	info.Filled = info.Filled[:1]
	require.Len(t, rules(nodes+"storage_bandwidth: 1GB/s\n", info), 1)
	require.Empty(t, rules(nodes+"storage: {bandwidth: 1GB/s}\n", info), "nothing is staged")
	require.Equal(t, []string{"unstated-mounts 9: kept: the row does not say what input its job stages: what its class of work says, else nothing"},
		rules(nodes+"storage: {stage_bandwidth: 1GB/s}\n", info))
}
