package task

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/traces"
	"orrery/traces/transform"
)

// loaded is busy with a load table of a day: a step from 10 to 100 requests per second.
func loaded(t *testing.T) *transform.Set {
	rows := busyRows(800)
	for i := range 24 * 60 {
		rate := 10.
		if i >= 9*60 {
			rate = 100
		}
		rows.Load = append(rows.Load, traces.Load{Service: "chat", Time: model.Time(model.Duration(i) * model.Minute), Width: model.Minute, Arrivals: traces.Some(rate * 60)})
	}
	s, err := transform.FromTables("loaded", traces.Meta{MaxProcs: 24, EpochKnown: true}, rows)
	require.NoError(t, err)
	return s
}

const serving = `agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}
groups: [{name: a, nodes: 24, fingerprint: x}]
tenants: [{name: t0}, {name: t1}, {name: t2}]
vclusters: [{name: all, home: 16}, {name: serving, home: 8}]
routing: {otherwise: all}
services:
- name: chat
  vcluster: serving
  min: 2
  max: 8
  demand: {service: chat%s}
  service: {kind: queue, slots: 20, work: 500ms, boot: 30s, scrape: 5s, mode: fluid, goal: {limit: 1s}}
  policy: {kind: hpa, target: %s}
`

// TestRecordedDemand: tasks replay the load table of their trace as a replay of the file does,
// jitter leaves it as it is, and a window of its own has its part of it.
func TestRecordedDemand(t *testing.T) {
	ctx := context.Background()
	set := loaded(t)
	r := NewRunner(nil)
	m, err := r.Add(set)
	require.NoError(t, err)
	of := func(part, target string) plan.Spec {
		c, err := profiles.ParseCluster("test", fmt.Appendf(nil, serving, part, target))
		require.NoError(t, err)
		spec := plan.DefaultSpec()
		spec.Site = c.JSON()
		return bound(t, m, spec)
	}
	lead := model.Hour
	late := &Window{Begin: model.Time(12 * model.Hour), End: model.Time(20 * model.Hour), Lead: &lead}
	low, high := of("", "0.4"), of("", "0.8")
	got, err := Evaluate(ctx, r, []Task{{Spec: low}, {Spec: high}, {Spec: low, Jitter: &Jitter{By: model.Minute, Seed: 3}}, {Spec: low, Window: late}}, 2)
	require.NoError(t, err)
	hours := func(i int) float64 {
		x, ok := got[i].Value("service_node_hours", "all")
		require.True(t, ok, "%d", i)
		return x
	}

	path := filepath.Join(t.TempDir(), "loaded.trace")
	_, err = set.Write(path, nil)
	require.NoError(t, err)
	res, err := sim.Run(ctx, low, func() (traces.Source, error) {
		b, err := traces.Open(path)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { require.NoError(t, b.Close()) })
		return b.Jobs()
	}, sim.Options{Sink: record.NewSiteMemory()})
	require.NoError(t, err)
	file := 0.0 // replica minutes
	for i := range res.Services[0].Outcome.Timeline {
		file += res.Services[0].Outcome.Timeline[i].Held
	}
	require.InEpsilon(t, file/60, hours(0), 1e-9)
	require.Greater(t, hours(0), 1.5*hours(1), "a target of half the use takes twice the nodes")
	require.InEpsilon(t, hours(0), hours(2), 0.01, "jitter moves jobs alone")
	require.Greater(t, hours(3), 5*8., "the high rate alone")

	_, err = Evaluate(ctx, r, []Task{{Spec: of(", from: 1h", "0.4"), Window: late}}, 1)
	require.ErrorContains(t, err, "the demand of the service chat is a part of the load table")
	_, err = Evaluate(ctx, r, []Task{{Spec: of(", from: 1h", "0.4")}}, 1)
	require.NoError(t, err)
}
