package tune

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/sim/search"
	"orrery/sim/task"
)

// served is the small site with a service, of which the policy is stated.
func served(t *testing.T, policy string) world {
	t.Helper()
	w := newWorld(t, 3000, 0.75, halves)
	text := string(w.cluster.YAML()) + `
services:
- name: chat
  min: 2
  max: 6
  demand: {shape: sine, base: 5, peak: 40, period: 1h, length: 60d}
  service: {slots: 10, work: 800ms, mode: fluid}
  policy: {` + policy + `}
`
	var err error
	w.cluster, err = profiles.ParseCluster("site.yaml", []byte(text))
	require.NoError(t, err)
	w.spec.Site = w.cluster.JSON()
	return w
}

// costs are runs in which the service costs less the nearer the target of its policy is to 0.8,
// and in which nothing else counts.
func costs(check func(k *task.Task, c *profiles.Cluster)) func(context.Context, []task.Task) ([]task.Result, error) {
	sites := map[string]*profiles.Cluster{}
	return changed(planted(0, 0), func(k *task.Task, r *task.Result) {
		c := sites[string(k.Spec.Site)]
		if c == nil {
			var err error
			if c, err = profiles.ParseCluster("", k.Spec.Site); err != nil {
				panic(err)
			}
			sites[string(k.Spec.Site)] = c
		}
		check(k, c)
		all := append(append([]*task.Figures{&r.Figures}, pointers(r.Parts)...), pointers(r.Brief)...)
		for _, f := range all {
			value := *f.Metrics["bounded_slowdown_mean"].All * (1 + 0.002*float64(k.Spec.Seed%7))
			away := c.Services[0].Policy.Target - 0.8
			set(f, "service_node_hours", value*(1+4*away*away))
		}
	})
}

func pointers(list []task.Figures) (out []*task.Figures) {
	for i := range list {
		out = append(out, &list[i])
	}
	return out
}

func ofService(vary ...string) Options {
	o := small()
	o.Vary, o.Objectives = vary, []search.Objective{{Metric: "service_node_hours", Direction: search.Minimise}}
	return o
}

// A parameter of a policy is found beside weights that do nothing, named wherever they are, and
// recommended as a cluster file.
func TestParametersOfAPolicyAreTuned(t *testing.T) {
	for _, vary := range [][]string{
		{"services.chat.policy.target=0.2..0.95"},
		{"services.chat.policy.target=0.2..0.95", "services.chat.max=5..6", "weights=wait_time,fair_share"},
	} {
		w := served(t, "kind: hpa, target: 0.3")
		o := ofService(vary...)
		o.Evaluate = costs(func(k *task.Task, c *profiles.Cluster) {
			require.InDelta(t, 0.3, w.cluster.Services[0].Policy.Target, 0, "the site of the problem stays as it is")
			if k.Jitter == nil {
				require.Zero(t, k.Spec.Seed, "as orrery replay draws")
				return
			}
			require.Equal(t, k.Jitter.Seed, k.Spec.Seed, "replicas draw the requests of services anew")
		})
		r := w.tune(t, o)
		require.Equal(t, Change, r.Verdict, r.Why)
		require.NotNil(t, r.Cluster())
		target := r.Cluster().Services[0].Policy.Target
		require.InDelta(t, 0.8, target, 0.1)
		again, err := profiles.ParseCluster("cluster.yaml", r.Cluster().YAML())
		require.NoError(t, err)
		require.InDelta(t, target, again.Services[0].Policy.Target, 0)
		if len(vary) > 1 {
			require.Equal(t, []string{"weights.wait_time", "weights.fair_share", "services.chat.max"}, inert(r))
		}
		require.Len(t, r.Changes, 1)
		require.Equal(t, SettingChange{Key: "services.chat.policy.target", Before: "0.3", After: r.Changes[0].After}, r.Changes[0])
		require.Empty(t, r.Profiles(), "they stay as they are")
		require.Contains(t, r.Settings, "services.chat.policy.target")
		require.Contains(t, markdown(t, r), "| services.chat.policy.target | 0.3 |")
	}
}

// What another policy does not have goes with it.
func TestAnotherKindOfPolicyIsTuned(t *testing.T) {
	w := served(t, "kind: hpa, target: 0.3, tolerance: 0.2")
	tuner := &tuner{ctx: context.Background(), problem: w.problem(), opt: ofService("services.chat.policy.kind=hpa,lattice", "services.chat.policy.tolerance=0.1..0.3")}
	s, err := tuner.wholeSpace()
	require.NoError(t, err)
	require.Equal(t, []string{"services.chat.policy.kind (hpa, lattice)", "services.chat.policy.tolerance (0.1 to 0.3)"}, s.described())
	c, err := tuner.found("other", s, []float64{1, 0.25}, false)
	require.NoError(t, err)
	diff := profiles.DiffServices(w.cluster, c.cluster)
	require.Equal(t, "services.chat.policy.kind", diff[0].Key)
	i := slices.IndexFunc(diff, func(d profiles.Difference) bool { return d.Key == "services.chat.policy.tolerance" })
	require.Equal(t, []string{"0.2", ""}, []string{diff[i].Before, diff[i].After})
	_, err = profiles.ParseCluster("", c.specs[0].Site)
	require.NoError(t, err)
}

func TestWhatOfServicesCannotBeVaried(t *testing.T) {
	w := served(t, "kind: hpa, target: 0.3")
	for _, x := range []struct {
		vary []string
		says string
	}{
		{[]string{"services.chut.policy.target=0.1..0.9"}, "found services.chut.policy.target (did you mean chat?), want services.NAME.KEY, NAME being chat"},
		{[]string{"services.chat.policy.targt=0.1..0.9"}, "there is no such key (did you mean target?)"},
		{[]string{"services.chat.policy=1..2"}, "is a block: name one of its keys"},
		{[]string{"services.chat.policy.kind=1..2"}, "it is text, and has no range"},
		{[]string{"services.chat.policy.kind=hpa,kpo"}, `found "kpo" (did you mean kpa?)`},
		{[]string{"services.chat.policy.target=0.9..0.1"}, "want a range from a lower to a higher value"},
		{[]string{"services.chat.policy.target=0..0.9"}, "found 0, want 0.000001 or more"},
		{[]string{"services.chat.policy.tolerance=0.5..2"}, "found 2, want 0 to 1, or usual"},
		{[]string{"services.chat.policy.down_window=1..9m"}, "services.chat.policy.down_window"},
		{[]string{"services.chat.max=1..70000"}, "found 70000, want 1 to 65536"},
		{[]string{"services.chat.min=1..8"}, "services[0].max (site.yaml:"},
		{[]string{"services.chat.min=1..4", "services.chat.max=3..9"}, "found 3, less than the min of 4, with services.chat.min=4 and services.chat.max=3"},
		{[]string{"services.chat.policy.cooldown=1m..2m"}, "does not apply with policy.kind: hpa"},
		{[]string{"services.chat.policy.max=2..4"}, "the service has it: give max there"},
		{[]string{"services.chat.demand.scale=0.5..1"}, "demand.scale is what the service meets or promises"},
		{[]string{"services.chat.service.goal.limit=1s..9s"}, "orrery sweep varies every key"},
	} {
		o := ofService(x.vary...)
		o.Evaluate = planted(0, 0)
		_, err := Run(context.Background(), w.problem(), o)
		var usage *UsageError
		require.ErrorAs(t, err, &usage, x.vary)
		require.ErrorContains(t, err, x.says)
	}
	tuner := &tuner{ctx: context.Background(), problem: w.problem(), opt: ofService("services.chat.min=5..6", "services.chat.max=7..9")}
	_, err := tuner.wholeSpace()
	require.NoError(t, err, "together they can be, and the min alone not beside the max of now")
}

func TestNumbersOfServicesWithoutServices(t *testing.T) {
	w := newWorld(t, 300, 0.8, halves)
	o := ofService("default")
	o.Evaluate = planted(0, 0)
	_, err := Run(context.Background(), w.problem(), o)
	require.ErrorContains(t, err, "service_node_hours is a number of services, and the cluster has none")
	o.Objectives, o.Vary = nil, []string{"services.chat.max=1..2"}
	_, err = Run(context.Background(), w.problem(), o)
	require.ErrorContains(t, err, "the cluster file has no services")
}
