package sim

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/plan"
	"orrery/tools/refdata"
)

// A prepared spec is replayed again and again, by several at a time, on traces that
// bring constraints and reservations of their own: no replay leaves anything behind
// for the next.
func TestPreparedSpecs(t *testing.T) {
	worlds := 60
	if testing.Short() {
		worlds = 15
	}
	for i := range worlds {
		w := drawSite(longBytes(uint64(i)))
		spec := w.spec(t)
		p, err := plan.Prepare(spec)
		require.NoError(t, err)
		require.True(t, p.Of(w.spec(t)))
		half := w.clone()
		half.jobs, half.edges = half.jobs[len(half.jobs)/2:], nil
		turns := []*siteWorld{w, half, w}
		var got [3]string
		var all sync.WaitGroup
		for k, world := range turns {
			all.Go(func() { got[k] = outcomeOf(RunPrepared(context.Background(), p, world.memory().open, Options{})) })
		}
		all.Wait()
		for k, world := range turns {
			require.Equal(t, outcomeOf(Run(context.Background(), spec, world.memory().open, Options{})), got[k], "world %d, replay %d\n%s", i, k, world)
		}
	}
	broken := plan.DefaultSpec()
	broken.Site = []byte(`{"nonsense":1}`)
	p, err := plan.Prepare(broken)
	require.Error(t, err)
	require.Nil(t, p, "what is not prepared must not be kept and run")

	other := plan.DefaultSpec()
	p, err = plan.Prepare(other)
	require.NoError(t, err)
	other.Seed++
	require.False(t, p.Of(other))
}

func outcomeOf(res *Result, err error) string {
	if err != nil {
		return err.Error()
	}
	return res.Fingerprint + string(res.Spec.JSON())
}

// TestSitesSideBySide: eight replays at once come out as one alone does.
func TestSitesSideBySide(t *testing.T) {
	for i := range uint64(20) {
		w := drawSite(longBytes(i))
		m := w.memory()
		spec := w.spec(t)
		want, err := Run(context.Background(), spec, m.open, Options{})
		require.NoError(t, err)
		prints := make(chan string)
		for range 8 {
			go func() {
				res, err := Run(context.Background(), spec, m.open, Options{Watch: true})
				if err != nil {
					prints <- err.Error()
					return
				}
				prints <- res.Fingerprint
			}()
		}
		for range 8 {
			require.Equal(t, want.Fingerprint, <-prints, "world %d", i)
		}
	}
}

// TestResultsDoNotHangOnTheRun: batches of the source of any size, and many
// replays at once over one trace, give the same bytes.
func TestResultsDoNotHangOnTheRun(t *testing.T) {
	m := normalised(t, refdata.Path(t, "oracle/swf-norm/kth-sp2.swf.gz"), 100).first(5000)
	want := map[string]string{}
	specs := []plan.Spec{{}, {Order: "wfp3"}, {Backfill: "conservative"}, {Cycle: 30 * model.Second}}
	for _, s := range specs {
		s.Semantics = plan.Semantics
		for _, size := range []int{1, 7, 1000, 5000} {
			n := *m
			n.size = size
			res, err := Run(context.Background(), s, n.open, Options{})
			require.NoError(t, err)
			if old, ok := want[s.ID()]; ok {
				require.Equal(t, old, res.Fingerprint, "in batches of %d", size)
			}
			want[s.ID()] = res.Fingerprint
		}
	}
	var wg sync.WaitGroup
	for i := range 16 {
		s := specs[i%len(specs)]
		s.Semantics = plan.Semantics
		wg.Go(func() {
			res, err := Run(context.Background(), s, m.open, Options{})
			if err != nil || res.Fingerprint != want[s.ID()] {
				t.Errorf("beside others: %v", err)
			}
		})
	}
	wg.Wait()
}
