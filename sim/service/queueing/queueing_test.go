package queueing

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
)

// M/M/1 has its own closed form: C = ρ, W = ρ/(μ-λ).
func TestOneServer(t *testing.T) {
	q := Queue{Arrivals: 3, Service: 4, Servers: 1}
	s, err := q.Steady()
	require.NoError(t, err)
	require.InDelta(t, 0.75, s.ErlangC, 1e-12)
	require.InDelta(t, 0.75, s.MeanWait, 1e-12)
	require.InDelta(t, 1, s.MeanResponse, 1e-12)
	require.InDelta(t, 2.25, s.MeanInQueue, 1e-12)
	require.InDelta(t, 3, s.MeanInSystem, 1e-12)
	require.InDelta(t, 0.75*math.Exp(-2), q.Later(s, 2), 1e-12)
}

// naiveB is Erlang's formula as it is written down: (aᶜ/c!) / Σ aᵏ/k!.
func naiveB(a float64, c int) float64 {
	term, sum := 1.0, 1.0
	for k := 1; k <= c; k++ {
		term *= a / float64(k)
		sum += term
	}
	return term / sum
}

func TestErlangBAgainstItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, c := rapid.Float64Range(0.01, 60).Draw(t, "load"), rapid.IntRange(1, 80).Draw(t, "servers")
		require.InEpsilon(t, naiveB(a, c), ErlangB(a, int64(c)), 1e-9)
	})
}

// What is enough is enough, and one less is not.
func TestSmallestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		load, late := rapid.Float64Range(0.05, 200).Draw(t, "load"), rapid.Float64Range(0.001, 0.5).Draw(t, "late")
		wait := rapid.Float64Range(0, 2).Draw(t, "wait")
		enough := func(c int64) bool {
			q := Queue{Arrivals: load, Service: 1, Servers: c}
			s, err := q.Steady()
			return err == nil && q.Later(s, wait) <= late
		}
		c := Servers(load, 1, wait, late)
		require.True(t, enough(c))
		require.False(t, c > 1 && enough(c-1))
		p := Places(load, late)
		require.LessOrEqual(t, ErlangB(load, p), late)
		require.Greater(t, ErlangB(load, p-1), late)
	})
	require.Zero(t, Servers(0, 1, 0, 0.1))
	require.Zero(t, Places(0, 0.1))
}

// A queue that cannot be, or that grows without end, has no figures.
func TestRefused(t *testing.T) {
	for _, q := range []Queue{{}, {Arrivals: 2, Service: 1, Servers: 2}, {Arrivals: 1, Service: math.Inf(1), Servers: 1}, {Arrivals: 1, Service: 1}} {
		_, err := q.Steady()
		require.Error(t, err)
		_, err = q.Sakasegawa()
		require.Error(t, err)
		_, err = q.AllenCunneen()
		require.Error(t, err)
	}
}

// The sum agrees with the recursion B(c) = aB(c-1) / (c + aB(c-1)) from B(0) = 1, below, at
// and beyond the load, however large it is.
func TestErlangBAgainstItsRecursion(t *testing.T) {
	for _, a := range []float64{0.5, 100, 1e5} {
		b, next := 1.0, 0
		for c := 1; c <= int(2*a)+10; c++ {
			if b = a * b / (float64(c) + a*b); c < next {
				continue
			}
			next = c + 1 + int(a/50)
			if b < 1e-290 {
				require.Less(t, ErlangB(a, int64(c)), 1e-280, "%v erlangs on %d", a, c)
				continue
			}
			require.InEpsilon(t, b, ErlangB(a, int64(c)), 1e-9, "%v erlangs on %d", a, c)
		}
	}
	require.Less(t, ErlangB(1e12, 2e12), 1e-290)
	require.InEpsilon(t, 0.5, ErlangB(1e12, 5e11), 1e-6)
	require.Equal(t, 1.0, ErlangB(3, 0))
	require.Zero(t, ErlangB(0, 2))
}

func TestSmallest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		least, want := rapid.Int64Range(0, 1e12).Draw(t, "least"), rapid.Int64Range(0, 1e12).Draw(t, "want")
		looks := 0
		got := Smallest(least, func(n int64) bool { looks++; return n >= want })
		require.Equal(t, max(least, want), got)
		require.LessOrEqual(t, looks, 82)
	})
}
