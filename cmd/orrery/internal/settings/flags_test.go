package settings

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/logfile"
	"orrery/scheduler/model"
	"orrery/sim/plan"
	"orrery/traces"
)

func parseSettings(t *testing.T, args ...string) *Flags {
	t.Helper()
	s := &Flags{}
	cmd := &cobra.Command{Use: "test"}
	s.Register(cmd)
	require.NoError(t, cmd.ParseFlags(args))
	return s
}

var hundred = &logfile.Trace{Label: "log", About: traces.Info{Name: "log", Hash: "abc", Rows: 1000, MaxProcs: 100}}

// flagCases sets every flag to something else than its default and says which
// spec that is.
var flagCases = []struct {
	args []string
	want func(*plan.Spec)
}{
	{nil, func(*plan.Spec) {}},
	{[]string{"--profile=interactive"}, nil}, // a site
	{[]string{"--cluster=testdata/site.yaml"}, nil},
	{[]string{"--cluster=testdata/site.yaml", "--vcluster-of=partition=a:one"}, nil},
	{[]string{"--procs=7"}, func(s *plan.Spec) { s.Cluster.Procs = 7 }},
	{[]string{"--nodes=3", "--cores-per-node=4"}, func(s *plan.Spec) { s.Cluster = plan.ClusterSpec{Nodes: 3, CoresPerNode: 4} }},
	{[]string{"--nodes=3", "--cores-per-node=4", "--gpus-per-node=2"}, func(s *plan.Spec) {
		s.Cluster = plan.ClusterSpec{Nodes: 3, CoresPerNode: 4, GPUsPerNode: 2}
	}},
	{[]string{"--nodes=3", "--cores-per-node=4", "--exclusive=true"}, func(s *plan.Spec) {
		s.Cluster = plan.ClusterSpec{Nodes: 3, CoresPerNode: 4, Exclusive: true}
	}},
	{[]string{"--runtime=recorded"}, func(*plan.Spec) {}},
	{[]string{"--order=exp"}, func(s *plan.Spec) { s.Order = "expansion" }},
	{[]string{"--backfill=conservative:9"}, func(s *plan.Spec) { s.Backfill, s.Depth = "conservative", 9 }},
	{[]string{"--event-order=sequential"}, func(s *plan.Spec) { s.EventOrder = "sequential" }},
	{[]string{"--cycle=30s", "--phase=5s"}, func(s *plan.Spec) { s.Cycle, s.Phase = 30*model.Second, 5*model.Second }},
	{[]string{"--overrun=extend"}, func(s *plan.Spec) { s.Overrun = "extend" }},
	{[]string{"--missing-request=recorded"}, func(s *plan.Spec) { s.MissingRequest = "recorded" }},
	{[]string{"--missing-request=default:12h"}, func(s *plan.Spec) { s.MissingRequest, s.DefaultRequest = "default", 12*model.Hour }},
	{[]string{"--infeasible=error"}, func(s *plan.Spec) { s.Infeasible = "error" }},
	{[]string{"--quorum-latency=2s"}, func(s *plan.Spec) { s.QuorumLatency = 2 * model.Second }},
	{[]string{"--allow-unheeded=true"}, func(s *plan.Spec) { s.AllowUnheeded = true }},
	{[]string{"--feedback"}, func(s *plan.Spec) { s.Feedback = true }},
	{[]string{"--quorum-jitter=1s", "--seed=9"}, func(s *plan.Spec) { s.QuorumJitter, s.Seed = model.Second, 9 }},
	{[]string{"--warmup=0"}, func(s *plan.Spec) { s.WarmupJobs = plan.NoWarmup }},
	{[]string{"--warmup=25"}, func(s *plan.Spec) { s.WarmupJobs = 25 }},
	{[]string{"--warmup=2.5%"}, func(s *plan.Spec) { s.WarmupJobs = 25 }},
	{[]string{"--warmup=1%"}, func(*plan.Spec) {}},
	{[]string{"--warmup=6h"}, func(s *plan.Spec) { s.Warmup = 6 * model.Hour }},
	{[]string{"--scenario=testdata/scenario.yaml"}, func(s *plan.Spec) {
		s.Scenario = []byte(`{"events":[{"time":"1d","kind":"order","value":"sjf"}]}`)
	}},
	{[]string{"--cooldown=1-00:00:00"}, func(s *plan.Spec) { s.Cooldown = model.Day }},
}

// TestEveryFlagReachesTheSpec is there because a flag that reaches nothing is
// not noticed by looking at results.
func TestEveryFlagReachesTheSpec(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range flagCases {
		s := parseSettings(t, c.args...)
		got, err := s.Bound(hundred)
		require.NoError(t, err, c.args)
		if c.want == nil {
			require.Contains(t, string(got.Site), "interactive", c.args)
		} else {
			want := plan.DefaultSpec()
			c.want(&want)
			want, err = want.Bind(hundred)
			require.NoError(t, err)
			require.Equal(t, string(want.JSON()), string(got.JSON()), c.args)
		}
		s.Set.Visit(func(*pflag.Flag) { t.Error("flags are parsed as those of the verb") })
		s.Set.VisitAll(func(f *pflag.Flag) { seen[f.Name] = seen[f.Name] || f.Changed })
	}
	for name, was := range seen {
		require.True(t, was, "no case sets --%s", name)
	}
}

// TestSettingsRoundTrip: what verify gives its processes is the same spec.
func TestSettingsRoundTrip(t *testing.T) {
	for _, c := range flagCases {
		first := parseSettings(t, c.args...)
		second := parseSettings(t, first.Given()...)
		a, err := first.Bound(hundred)
		require.NoError(t, err)
		b, err := second.Bound(hundred)
		require.NoError(t, err)
		require.Equal(t, a, b, c.args)
		require.Len(t, first.Given(), len(c.args))
	}
}

// TestEffectiveNamesEveryFlag: --print-config leaves nothing out.
func TestEffectiveNamesEveryFlag(t *testing.T) {
	for _, args := range [][]string{nil, {"--nodes=3", "--cores-per-node=4"}} {
		s := parseSettings(t, args...)
		spec, err := s.Bound(hundred)
		require.NoError(t, err)
		n := 0
		for _, e := range s.effective(spec, hundred) {
			require.NotEmpty(t, e.Origin, e.Key)
			require.NotEmpty(t, e.Doc, e.Key)
			n++
		}
		flags := 0
		s.Set.VisitAll(func(*pflag.Flag) { flags++ })
		// semantics and trace are no flags; of procs, and nodes with their cores and
		// GPUs, those that apply are shown.
		require.Equal(t, flags+2-map[bool]int{true: 3, false: 1}[args == nil], n)
	}
}
