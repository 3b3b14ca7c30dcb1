package caps

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAllows(t *testing.T) {
	for _, c := range []struct {
		name       string
		cap, asked Usage
		used       Usage
		want       bool
	}{
		{"no caps", Usage{}, Usage{Power: 100, Bandwidth: 100}, Usage{Power: 100, Bandwidth: 100}, true},
		{"up to the cap", Usage{Power: 100}, Usage{Power: 40}, Usage{Power: 60}, true},
		{"beyond the cap", Usage{Power: 100}, Usage{Power: 41}, Usage{Power: 60}, false},
		{"nothing asked of a cap that is exceeded", Usage{Power: 100, Bandwidth: 10}, Usage{Bandwidth: 1}, Usage{Power: 200}, true},
		{"beside idle nodes", Usage{Power: 100}, Usage{Power: 50, Idle: 10}, Usage{Power: 30, Idle: -30}, true},
		{"more than idle nodes leave", Usage{Power: 100}, Usage{Power: 51, Idle: 10}, Usage{Power: 30, Idle: -30}, false},
		{"bandwidth", Usage{Power: 100, Bandwidth: 10}, Usage{Power: 1, Bandwidth: 6}, Usage{Bandwidth: 5}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := State{Cap: c.cap, Used: c.used}
			require.Equal(t, c.want, s.Fits(c.asked))
		})
	}
}

// A cap binds who asks for some of it.
func TestBinds(t *testing.T) {
	for _, c := range []struct {
		cap, asked Usage
		want       bool
	}{
		{Usage{}, Usage{Power: 1, Bandwidth: 1}, false},
		{Usage{Power: 1}, Usage{Power: 1}, true},
		{Usage{Power: 1}, Usage{Bandwidth: 1}, false},
		{Usage{Bandwidth: 1}, Usage{Bandwidth: 1}, true},
		{Usage{Bandwidth: 1}, Usage{Power: 1}, false},
	} {
		require.Equal(t, c.want, c.cap.Binds(c.asked), "%+v asked for %+v", c.cap, c.asked)
	}
}

func TestPool(t *testing.T) {
	require.True(t, (&State{Sensitive: 9}).PoolHas(1), "no bound")
	require.True(t, (&State{Pool: 10, Sensitive: 9}).PoolHas(1))
	require.False(t, (&State{Pool: 10, Sensitive: 9}).PoolHas(2))
}
