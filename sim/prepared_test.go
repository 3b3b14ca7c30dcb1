package sim

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
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
		p, err := Prepare(spec)
		require.NoError(t, err)
		require.True(t, p.Of(w.spec(t)))
		half := w.clone()
		half.jobs, half.edges = half.jobs[len(half.jobs)/2:], nil
		turns := []*siteWorld{w, half, w}
		var got [3]string
		var all sync.WaitGroup
		for k, world := range turns {
			all.Go(func() { got[k] = outcomeOf(p.Run(context.Background(), world.memory().open, Options{})) })
		}
		all.Wait()
		for k, world := range turns {
			require.Equal(t, outcomeOf(Run(context.Background(), spec, world.memory().open, Options{})), got[k], "world %d, replay %d\n%s", i, k, world.list())
		}
	}
	broken := DefaultSpec()
	broken.Site = []byte(`{"nonsense":1}`)
	p, err := Prepare(broken)
	require.Error(t, err)
	require.Nil(t, p, "what is not prepared must not be kept and run")

	other := DefaultSpec()
	p, err = Prepare(other)
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
