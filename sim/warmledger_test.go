package sim

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/world/translate"
	"orrery/traces"
	"orrery/traces/transform"
)

// remembering is a site whose order hangs on what tenants and users have consumed, by the
// profile.
func remembering(t *testing.T, profile string) plan.Spec {
	c, err := profiles.ParseCluster("site", []byte(`
agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}
groups: [{name: g, nodes: "n[1-8]", fingerprint: x}]
tenants: [{name: a, fair_share: 0.5, node_hours: 60}, {name: b, fair_share: 0.3}, {name: c, fair_share: 0.2, node_hours: 9}]
vclusters: [{name: v, home: "n[1-8]", profile: `+profile+`}]
`))
	require.NoError(t, err)
	spec := plan.DefaultSpec()
	spec.Site = c.JSON()
	return spec
}

// demanding is a log in which three tenants of two users each want more than there is.
func demanding(n int64) (tables traces.Tables) {
	for i := range n {
		tables.Jobs = append(tables.Jobs, traces.Job{
			ID: i + 1, VCluster: "v", Tenant: string("aabc"[i%4]), User: fmt.Sprint("u", i*7%5%2), Submit: model.Time(model.Duration(i) * 131 * model.Second),
			Runtime:  traces.Some(model.Duration(200+i*i*37%1500) * model.Second),
			Walltime: traces.Some(model.Duration(2000) * model.Second), NodesMin: traces.Some(int32(1 + i*7%5)),
		})
	}
	return tables
}

// TestHistoryFillsTheLedgers: with what was consumed before it, a window goes on exactly as
// the whole log did where the order hangs on that, by every way to count. In cycles, for
// else a pass at its beginning, which the whole log has not, may see another order.
func TestHistoryFillsTheLedgers(t *testing.T) {
	tables := demanding(240)
	for _, profile := range []string{
		"{weights: {fair_share: 1}, usage: {rule: rolling}, accounting_tick: 60s, cycle: 30s}",
		"{weights: {fair_share: 1, wait_time: 0.2}, usage: {rule: decay, half_life: 1h}, accounting_tick: 60s, cycle: 30s}",
		"{weights: {wait_time: 1}, accounting_tick: 300s, cycle: 30s}",
		"{order: multifactor, accounting_tick: 60s, cycle: 30s, multifactor: {fairshare: 1000, age: 10, half_life: 2h}}",
		"{order: multifactor, accounting_tick: 60s, cycle: 30s, multifactor: {fairshare: 1000, half_life: 1h, fair_tree: false}}",
	} {
		t.Run(profile, func(t *testing.T) {
			spec := remembering(t, profile)
			for _, part := range []int{60, 121, 200} {
				begin := tables.Jobs[part].Submit + 1
				after := compareHistory(t, spec, traces.Meta{}, tables, begin, model.Never, model.Duration(begin), nil)
				require.Positive(t, after.res.Awkward.Count[translate.RuleLeftBefore])
				onTick := begin - begin%model.Time(300*model.Second)
				compareHistory(t, spec, traces.Meta{}, tables, onTick, model.Never, model.Duration(onTick), nil)
			}
		})
	}
}

// TestWarmStartBetweenTicks: jobs that ran are placed at once, whatever the cycle, also where
// nothing says on which nodes they were.
func TestWarmStartBetweenTicks(t *testing.T) {
	tables := demanding(240)
	for i := range tables.Jobs {
		tables.Jobs[i].Tenant = "b" // which has no budget
	}
	spec := remembering(t, "{weights: {wait_time: 1}, cycle: 30s}")
	for _, part := range []int{60, 121, 200} {
		begin := tables.Jobs[part].Submit + 1
		compareWarm(t, spec, traces.Meta{}, tables, begin, model.Never, nil)
		compareWarm(t, spec, traces.Meta{}, tables, begin-begin%model.Time(30*model.Second), model.Never, nil)
	}
}

// TestHistoryMatters: without it the same window starts jobs in another order.
func TestHistoryMatters(t *testing.T) {
	tables := demanding(240)
	spec := remembering(t, "{weights: {fair_share: 1}, usage: {rule: rolling}, accounting_tick: 60s}")
	whole, err := traces.NewMemory("whole", traces.Meta{}, tables)
	require.NoError(t, err)
	tables.Jobs = asLived(tables.Jobs, live(t, spec, whole.Open), nil)
	set, err := transform.FromTables("log", traces.Meta{}, tables)
	require.NoError(t, err)
	begin := tables.Jobs[121].Submit + 1
	starts := func(history model.Duration) []int64 {
		w, err := set.Window(begin, model.Never, true, history)
		require.NoError(t, err)
		m, err := w.Collect()
		require.NoError(t, err)
		sink := record.NewMemory()
		_, err = Run(context.Background(), spec, m.Open, Options{Sink: sink, Watch: true})
		require.NoError(t, err)
		return append(append([]int64(nil), sink.Jobs.ID...), sink.Jobs.Start...)
	}
	require.NotEqual(t, starts(0), starts(10*model.Day))
	require.Equal(t, starts(9*model.Day), starts(10*model.Day))
}
