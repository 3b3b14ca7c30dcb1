package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// unknown is the number of tenants of which a plan says that their ledgers begin empty.
func unknown(p *Resolved, info traces.Info, awkward *translate.SpecialRows) int64 {
	for _, r := range p.Ignored(info, awkward) {
		if r.Rule == "ledger-begins-empty" {
			return r.Count
		}
	}
	return 0
}

// TestLedgersOfAWarmStart: a plan says whose ledgers should remember what was
// before the warm start, and do not.
func TestLedgersOfAWarmStart(t *testing.T) {
	for _, row := range []struct {
		tenants, profile string
		want             int64
	}{
		{"[{name: a, fair_share: 0.5}, {name: b, gpu_hours: 10}]", "{order: fcfs}", 0},
		{"[{name: a, fair_share: 0.5}, {name: b, fair_share: 0.5}]", "{usage: {rule: instantaneous}}", 0},
		{"[{name: a, fair_share: 0.5}, {name: b}]", "{usage: {rule: rolling}}", 1},
		{"[{name: a, fair_share: 0.5}, {name: b, fair_share: 0.5}]", "{usage: {rule: decay}}", 2},
		{"[{name: a}, {name: b, gpu_hours: 10}]", "{usage: {rule: instantaneous}}", 1},
		{"[{name: a}, {name: b}]", "{order: multifactor}", 2},
		{"[]", "{order: multifactor}", 1},
	} {
		spec := siteSpec(t, "groups: [{name: g, nodes: 2}]\nvclusters: [{name: v, home: all, profile: "+row.profile+"}]\ntenants: "+row.tenants+"\n")
		info := traces.Info{WarmStart: traces.Some(model.Time(model.Minute))}
		p := planned(t, spec, traces.Meta{WarmStart: info.WarmStart}, traces.Tables{})
		awkward := &translate.SpecialRows{}
		require.Equal(t, row.want, unknown(p, info, awkward), row.tenants+row.profile)
		info.History = 1000 * model.Day
		require.Equal(t, row.want, unknown(p, info, awkward), "a history without a row of a job that left")
		awkward.Count[translate.RuleLeftBefore]++
		require.Zero(t, unknown(p, info, awkward))
	}
}

// TestMemory: how much history a warm start needs.
func TestMemory(t *testing.T) {
	for profile, want := range map[string]model.Duration{
		"{order: fcfs}":             0,
		"{weights: {wait_time: 1}}": 90 * model.Day, // for the budgets
		"{weights: {wait_time: 1}, usage: {rule: decay, half_life: 20d}}": 200 * model.Day,
		"{order: multifactor, multifactor: {half_life: 3d}}":              30 * model.Day,
	} {
		got, err := siteSpec(t, `
groups: [{name: g, nodes: 8}]
tenants: [{name: a, fair_share: 0.5, node_hours: 60}, {name: b, fair_share: 0.3}]
vclusters: [{name: v, home: all, profile: `+profile+`}]
`).Memory()
		require.NoError(t, err)
		require.Equal(t, want, got, profile)
	}
	got, err := DefaultSpec().Memory()
	require.NoError(t, err)
	require.Zero(t, got)
	got, err = siteSpec(t, "groups: [{name: g, nodes: 2}]\ntenants: [{name: a, fair_share: 0.5}]\nvclusters: [{name: v, home: all, profile: {usage: {rule: instantaneous}}}]\n").Memory()
	require.NoError(t, err)
	require.Zero(t, got, "shares of what is held now, and no budgets")
	got, err = siteSpec(t, "groups: [{name: g, nodes: 2}]\n").Memory()
	require.NoError(t, err)
	require.Equal(t, 90*model.Day, got, "the trace may name tenants with budgets")
}
