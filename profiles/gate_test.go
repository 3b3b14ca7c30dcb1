package profiles

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// small is a gate file without anything that could be left out.
const small = `runs:
  - {name: a, trace: a.trace}
steady:
  - {run: a}
`

func TestGateTakesWhatItLeavesOut(t *testing.T) {
	g, err := ParseGate("dir/night.yaml", []byte(`runs:
  - {name: a, trace: a.trace, procs: 64, windows: {count: 8, length: 12h}, jitter: 30s, seeds: [1, 2]}
  - {name: b, like: a, order: sjf}
  - {name: c, like: b, jobs: [{name: x}], seeds: [7]}
steady:
  - {run: c}
`))
	require.NoError(t, err)
	require.Equal(t, "night", g.Name)
	require.Equal(t, 0.95, g.Confidence)
	b, c := g.Runs[1], g.Runs[2]
	require.Equal(t, []any{"a.trace", int32(64), "sjf", []int64{1, 2}, GateWindows{8, 12 * model.Hour}}, []any{b.Trace, b.Procs, b.Order, b.Seeds, b.Windows})
	require.Equal(t, []any{"", "sjf", []int64{7}, 30 * model.Second}, []any{c.Trace, c.Order, c.Seeds, c.Jitter})
	require.Equal(t, GateJobs{Name: "x", Kind: "bounded", Count: 1, Arrivals: "even", Runtime: model.Hour, Request: 150, Class: 5, Checkpoint: "none", Requeue: "never"}, c.Jobs[0])
}

// TestBrokenGates reads gate files with one thing wrong each.
func TestBrokenGates(t *testing.T) {
	for _, row := range []struct{ name, from, to, want string }{
		{"nothing", small, "", "g.yaml:1:1: runs: there are none: list what is to be replayed"},
		{"no checks", "steady:\n  - {run: a}\n", "", "there are no checks: give exact, banded"},
		{"unknown key", "steady", "steadi", "g.yaml:3:1: steadi: there is no such key (did you mean steady?)"},
		{"no run", "{run: a}", "{run: b}", `g.yaml:4:11: steady[0].run: found "b", which is no run: want a`},
		{"no workload", ", trace: a.trace", "", "g.yaml:2:5: runs[0]: has neither trace nor jobs"},
		{"two workloads", "a.trace", "a.trace, jobs: [{name: x}]", "runs[0].jobs: stands beside trace: leave one of them out"},
		{"a name twice", "  - {name: a, trace: a.trace}\n", "  - {name: a, trace: a.trace}\n  - {name: a, trace: b.trace}\n", "g.yaml:3:12: runs[1].name: a second run is called a"},
		{"a name that is taken", "name: a,", "name: baseline,", "runs[0].name: found baseline, which means what was stored"},
		{"like no other", "a.trace", "a.trace, like: b", "runs[0].like: found b, which is no run before this one"},
		{"feedback of streams", "trace: a.trace", "feedback: true, jobs: [{name: x}]", "runs[0].feedback: needs a trace: jobs of streams follow no other"},
		{"profile of nothing", "a.trace", "a.trace, profile: [default]", "runs[0].profile: needs a cluster"},
		{"order of a site", "a.trace", "a.trace, cluster: month, order: sjf", "runs[0].order: does not apply with a cluster"},
		{"order by a profile", "a.trace", "a.trace, order: score", "runs[0].order: found score, which a profile has"},
		{"nothing to detect", "steady:\n  - {run: a}", "paired:\n  - {run: a, of: {metric: x}, detect: 3%}", "paired[0].detect: found 3%, want more than the margin, 3%"},
		{"a length of the whole", "a.trace", "a.trace, windows: {count: 1, length: 1d}", "runs[0].windows.length: stands for one window, which is the whole"},
		{"seeds of nothing", "a.trace", "a.trace, seeds: [1, 2]", "runs[0].seeds: nothing is drawn: give jitter, or one seed"},
		{"a seed twice", "a.trace", "a.trace, jitter: 1s, seeds: [1, 1]", "runs[0].seeds[1]: found 1, want numbers from 0 on that differ"},
		{"a stream twice", "trace: a.trace", "jobs: [{name: x}, {name: x}]", "runs[0].jobs[1].name: a second stream is called x"},
		{"runtimes backwards", "trace: a.trace", "jobs: [{name: x, runtime: 2h, longest: 1h}]", "runs[0].jobs[0].longest: found 1h, want at least the runtime of 2h"},
		{"sizes", "trace: a.trace", "jobs: [{name: x, nodes: [0]}]", "runs[0].jobs[0].nodes[0]: found 0, want 1 to 1048576"},
		{"no metric", "steady:\n  - {run: a}", "bound:\n  - {run: a, at_most: 1}", "bound[0].of.metric: is missing: name a metric"},
		{"no limit", "steady:\n  - {run: a}", "bound:\n  - {run: a, of: {metric: x}}", "g.yaml:4:5: bound[0]: has no limit: give at_least or at_most"},
		{"limits backwards", "steady:\n  - {run: a}", "bound:\n  - {run: a, of: {metric: x}, at_least: 2, at_most: 1}", "bound[0].at_least: found 2, above at_most, 1: nothing can hold"},
		{"group of nothing", "steady:\n  - {run: a}", "bound:\n  - {run: a, of: {metric: x, group: b}, at_most: 1}", "bound[0].of.group: needs by: vcluster, tenant or class"},
		{"against itself", "steady:\n  - {run: a}", "paired:\n  - {run: a, against: a, of: {metric: x}}", "paired[0].against: found \"a\", want another run or the word baseline\n"},
		{"no group", "steady:\n  - {run: a}", "bound:\n  - {run: a, of: {metric: x, by: tenant}, at_most: 1}", "bound[0].of.group: is missing: name the tenant"},
		{"against itself", "steady:\n  - {run: a}", "paired:\n  - {run: a, against: a, of: {metric: x}}", `paired[0].against: found "a", want another run or the word baseline`},
		{"seconds", "steady:\n  - {run: a}", "counted:\n  - {run: a, of: [seconds]}", `counted[0].of[0]: found "seconds", want instants, cycles, passes, examined or words`},
		{"no shares", "steady:\n  - {run: a}", "balance:\n  - {run: a}", "balance[0]: has no limit: give within or jain"},
		{"no thrash", "steady:\n  - {run: a}", "thrash:\n  - {run: a}", "thrash[0]: has no limit"},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Contains(t, small, row.from)
			_, err := ParseGate("g.yaml", []byte(strings.ReplaceAll(small, row.from, row.to)))
			var wrong *Error
			require.ErrorAs(t, err, &wrong)
			require.Contains(t, err.Error(), row.want)
		})
	}
}

func gateKeys() []documentKey { return keysOf(reflect.TypeFor[Gate](), "") }

func FuzzGate(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("runs: [{name: a, like: a, jobs: [{name: b, nodes: [1]}]}]\nbound: [{run: a, of: {metric: x}, at_most: 1}]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := ParseGate("g.yaml", text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.NotEmpty(t, g.Runs)
	})
}
