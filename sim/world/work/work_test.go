package work_test

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
	"orrery/sim/world/work"
)

const (
	sec  = model.Second
	at   = model.Time(sec)
	half = model.One / 2
)

var third = model.Ratio(1, 3)

// TestSlowedTwice: 40 s at speed 1, 20 s at half of it, and of the 100 s of work 50 are
// left for a third of it.
func TestSlowedTwice(t *testing.T) {
	w := work.Of(100*sec, 0)
	require.Equal(t, 100*at, w.End())
	require.True(t, w.SetRate(40*at, half))
	require.Equal(t, 160*at, w.End())
	require.True(t, w.SetRate(60*at, third))
	require.Equal(t, 210*at, w.End())
	require.Equal(t, 50*sec, w.Done(60*at))
	require.Equal(t, 60*sec, w.Took(60*at))
	require.Equal(t, 100*sec, w.Done(210*at))
	require.False(t, w.SetRate(210*at, model.One), "it is done")
	require.Equal(t, 210*at, w.End())
}

// TestEnds: the end is rounded half up to the µs, and all work counts as done then.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		name  string
		whole model.Duration
		rate  model.Fixed
		end   model.Time
	}{
		{"a half goes up", 1, 2 * model.One, 1},
		{"less goes down", 1, 3 * model.One, 0},
		{"more goes up", 2, 3 * model.One, 1},
		{"one and a half", 3, 2 * model.One, 2},
		{"none", 0, half, 0},
		{"none, at rate 0", 0, 0, 0},
		{"at rate 0", 1, 0, model.Never},
		{"a least rate", 1, 1, 1 << 32},
		{"too long", 1 << 40, 1, model.Never},
		{"without an end", model.Forever, 2 * model.One, model.Never},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := work.Of(c.whole, 0)
			if c.end != 0 || c.whole > 0 {
				require.True(t, w.SetRate(0, c.rate))
			}
			require.Equal(t, c.end, w.End())
			if c.end != model.Never {
				require.Equal(t, c.whole, w.Done(c.end))
			}
		})
	}
}

// TestPause: a pause, and one that is ahead, shift the end and are no time worked.
func TestPause(t *testing.T) {
	w := work.Of(10*sec, 5*at)
	require.Equal(t, 15*at, w.End())
	require.True(t, w.SetRate(2*at, half), "before it begins")
	require.Equal(t, 25*at, w.End())
	require.Zero(t, w.Done(5*at))
	w.Pause(9*at, 19*at)
	require.Equal(t, 19*at, w.Resumes())
	require.Equal(t, 35*at, w.End())
	require.True(t, w.SetRate(12*at, 2*model.One), "while it rests")
	require.Equal(t, 23*at, w.End())
	require.Equal(t, 2*sec, w.Done(19*at))
	require.Equal(t, 4*sec, w.Took(19*at))
	require.Equal(t, 4*sec, w.Done(20*at))
	require.Equal(t, 5*sec, w.Took(20*at))
}

func TestEndless(t *testing.T) {
	w := work.Of(10*sec, 0)
	w.SetRate(4*at, half)
	w.SetEndless()
	require.Equal(t, model.Never, w.End())
	require.Equal(t, 52*sec, w.Done(100*at))
}

// history is a sequence of rates, each from an instant on.
type history struct {
	begin model.Time
	whole model.Duration
	at    []model.Time
	rate  []model.Fixed
}

func drawHistory(rt *rapid.T) (h history) {
	h.begin = model.Time(rapid.Int64Range(0, 1<<30).Draw(rt, "begin"))
	h.whole = model.Duration(rapid.Int64Range(0, 1<<rapid.IntRange(0, 42).Draw(rt, "bits")).Draw(rt, "whole"))
	now := h.begin
	for range rapid.IntRange(0, 30).Draw(rt, "changes") {
		now += model.Time(rapid.Int64Range(0, max(1, int64(h.whole)/4)).Draw(rt, "after"))
		h.at = append(h.at, now)
		h.rate = append(h.rate, rapid.OneOf(
			rapid.SampledFrom([]model.Fixed{0, 1, third, half, model.One, 2 * model.One}),
			rapid.Custom(func(rt *rapid.T) model.Fixed { return model.Fixed(rapid.Int64Range(0, 1<<36).Draw(rt, "rate")) }),
		).Draw(rt, "rate"))
	}
	return h
}

func rat(x int64) *big.Rat { return new(big.Rat).SetInt64(x) }

// speed is a rate as a fraction.
func speed(r model.Fixed) *big.Rat { return big.NewRat(int64(r), int64(model.One)) }

// exact is the end as a fraction, nil when it never comes.
func (h *history) exact() *big.Rat {
	left, since, rate := rat(int64(h.whole)), rat(int64(h.begin)), speed(model.One)
	for i := 0; ; i++ {
		var end *big.Rat
		if rate.Sign() > 0 {
			end = new(big.Rat).Quo(left, rate)
			end.Add(end, since)
		} else if left.Sign() == 0 {
			end = since
		}
		if i == len(h.at) || end != nil && roundHalfUp(end).Cmp(big.NewInt(int64(h.at[i]))) <= 0 {
			return end
		}
		now := rat(int64(h.at[i]))
		done := new(big.Rat).Mul(new(big.Rat).Sub(now, since), rate)
		left = new(big.Rat).Sub(left, done)
		since, rate = now, speed(h.rate[i])
	}
}

// roundHalfUp is floor(x + 1/2).
func roundHalfUp(x *big.Rat) *big.Int {
	y := new(big.Rat).Add(x, big.NewRat(1, 2))
	return new(big.Int).Div(y.Num(), y.Denom())
}

// run plays h, and settles the work at other instants too where asked is set.
func (h *history) run(asked []model.Time) work.Work {
	w := work.Of(h.whole, h.begin)
	for i, now := range h.at {
		for _, t := range asked {
			if (i == 0 || t >= h.at[i-1]) && t < now && t < w.End() {
				w.Pause(t, max(t, w.Resumes()))
			}
		}
		w.SetRate(now, h.rate[i])
	}
	return w
}

// TestRatesConserveWork: whatever the rates were, the end is that of exact fractions,
// rounded half up, and the work done by then is all of it.
func TestRatesConserveWork(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := drawHistory(rt)
		w := h.run(nil)
		want := h.exact()
		if want == nil || !roundHalfUp(want).IsInt64() {
			require.Equal(rt, model.Never, w.End())
			return
		}
		require.Equal(rt, roundHalfUp(want).Int64(), int64(w.End()))
		require.Equal(rt, h.whole, w.Done(w.End()))
		if t := w.End() - 1; len(h.at) == 0 || t >= h.at[len(h.at)-1] {
			require.LessOrEqual(rt, w.Done(t), h.whole)
		}
	})
}

// TestSettlingChangesNothing: an interval that is split at any instants comes to the same,
// to the last bit.
func TestSettlingChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := drawHistory(rt)
		var asked []model.Time
		now := h.begin
		for range rapid.IntRange(0, 40).Draw(rt, "looks") {
			now += model.Time(rapid.Int64Range(0, max(1, int64(h.whole)/4)).Draw(rt, "later"))
			asked = append(asked, now)
		}
		whole, split := h.run(nil), h.run(asked)
		require.Equal(rt, whole.End(), split.End())
		last := h.begin
		for _, t := range append(append([]model.Time(nil), asked...), h.at...) {
			last = max(last, t)
		}
		require.Equal(rt, whole.Done(last), split.Done(last))
	})
}
