package sim

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/order"
	"orrery/scheduler/order/ordertest"
	"orrery/scheduler/plain"
	"orrery/scheduler/site"
	"orrery/sim/fork"
	"orrery/sim/plan"
	"orrery/traces"
)

var profileOf = regexp.MustCompile(`profile: \{.*\}\}$`)

// reserving makes every vCluster of w fill by EASY in an order, answers at once, and lets
// no service grow.
func (w *siteWorld) reserving(order string) {
	w.head = slices.DeleteFunc(w.head, func(l string) bool { return strings.HasPrefix(l, "quorum:") })
	// Invariant 28 is not checked where idle nodes count against the cap. A job that is shed
	// changes what was predicted.
	w.head = slices.DeleteFunc(w.head, func(l string) bool {
		return strings.HasPrefix(l, "power_cap_scope:") || strings.HasPrefix(l, "over_power_cap:")
	})
	w.events = slices.DeleteFunc(w.events, func(e string) bool { return slices.Contains(w.falling, e) })
	for i, v := range w.vclusters {
		w.vclusters[i] = profileOf.ReplaceAllString(v, fmt.Sprintf("profile: {backfill: easy, order: %s, reservations: private}}", order))
	}
	for i := range w.jobs {
		if w.jobs[i].Kind != "reactive" {
			w.jobs[i].NodesMax = traces.Opt[int32]{}
		}
	}
}

// replayed replays w under spec as Run does. A broken core backfills without regard to the
// reservation, of which its watcher is not told.
func (w *siteWorld) replayed(t *testing.T, spec plan.Spec, broken bool) *Result {
	m := w.memory()
	src, err := m.open()
	require.NoError(t, err)
	prep, err := plan.Prepare(spec)
	require.NoError(t, err)
	p, err := prep.Resolve(src)
	require.NoError(t, err)
	p.Site.World.Rows.Dependencies, err = plan.Dependencies(context.Background(), src, m.open)
	require.NoError(t, err)
	opt := Options{Watch: true}
	if broken {
		opt.Core = func(c site.Config) fork.Scheduler {
			c.Policies = slices.Clone(c.Policies)
			for i := range c.Policies {
				c.Policies[i].Backfill = order.FirstFit
			}
			return site.New(c)
		}
	}
	r, err := newRun(p, src, 0, opt)
	require.NoError(t, err)
	require.NoError(t, r.replay(context.Background()))
	res, err := r.finish()
	require.NoError(t, err)
	return res
}

// TestWatcherCatchesABrokenCore replays random sites with a core that backfills
// without regard to the reservation of the first blocked job. Where that makes any
// difference, a start puts the blocked job off, and invariant 28 is broken; where it
// makes none, nothing is.
func TestWatcherCatchesABrokenCore(t *testing.T) {
	t.Parallel()
	worlds := worldsOf(60, 400, 1000)
	orders := append(slices.DeleteFunc(order.Names(), func(name string) bool { return !ordertest.Exact(name) }), "score", "multifactor", "f1")
	differ := map[string]int{}
	for k := range worlds + 1 {
		i := k
		if k == worlds {
			i = 2295 // several services grow behind the first blocked job in one pass
		}
		order := orders[i%len(orders)]
		w := drawSite(longBytes(uint64(i)))
		w.reserving(order)
		spec := w.spec(t)
		sound, broken := w.replayed(t, spec, false), w.replayed(t, spec, true)
		require.Zero(t, sound.Watch.Count, "world %d\n%s\n%v", i, w, sound.Watch.Breaches)
		if sound.Fingerprint != broken.Fingerprint {
			differ[order]++
			require.Positive(t, broken.Watch.Count, "world %d under %s\n%s", i, order, w)
		}
		for _, b := range broken.Watch.Breaches {
			require.Equal(t, 28, b.Invariant, "world %d: %s", i, b)
			require.NotEqual(t, sound.Fingerprint, broken.Fingerprint, "world %d: %s", i, b)
		}
	}
	t.Log("worlds that the broken core changes, by order:", differ)
	require.True(t, len(differ) == len(orders) || testing.Short() && len(differ) > 0)
}

// TestWatcherCatchesSlippingReservations replays a log by conservative backfilling: no reservation
// slips. With a core that gives the first job of the queue a reservation alone, others do, or have
// none.
func TestWatcherCatchesSlippingReservations(t *testing.T) {
	t.Parallel()
	replay := func(by string, depth int) *Result {
		meta, tables := plainLog(t, 400, 3)
		spec := plan.DefaultSpec()
		spec.Order, spec.Backfill = by, "conservative"
		prep, err := plan.Prepare(spec)
		require.NoError(t, err)
		m, err := traces.NewMemory("made", meta, tables)
		require.NoError(t, err)
		src, err := m.Open()
		require.NoError(t, err)
		p, err := prep.Resolve(src)
		require.NoError(t, err)
		r, err := newRun(p, src, 0, Options{Watch: true})
		require.NoError(t, err)
		cfg := p.Core
		cfg.Depth = depth
		core := plain.New(cfg)
		r.core, r.loop.Core = core, core
		require.NoError(t, r.replay(context.Background()))
		res, err := r.finish()
		require.NoError(t, err)
		return res
	}
	for _, by := range []string{"fcfs", "sjf", "wfp3"} {
		sound := replay(by, 0).Watch
		require.Empty(t, sound.Breaches, by)
		require.Positive(t, sound.Slips, by)
		broken := replay(by, 1).Watch
		require.NotEmpty(t, broken.Breaches, by)
		for _, b := range broken.Breaches {
			require.Equal(t, 11, b.Invariant, "%s: %s", by, b)
		}
	}
}
