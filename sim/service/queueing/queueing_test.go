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
