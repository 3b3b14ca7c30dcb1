package fit

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/hwmodel"
	"orrery/internal/libm"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
)

// boots are delays of nodes: 120 s at the median, one in eight needs a second try.
func boots(seed uint64, n int, limit model.Duration) []Watched {
	return bootWorld{n: n, sigma: 0.2, second: 1.0 / 8}.draw(seed, n, limit)
}

// bootWorld is how long nodes boot.
type bootWorld struct {
	n             int
	sigma, second float64 // of the logarithm, and the share with a second try
	alike         float64 // correlation of boots that follow each other
}

func (w bootWorld) draw(seed uint64, n int, limit model.Duration) (out []Watched) {
	src := draw.New(seed, draw.StreamOf("boots"), uint64(n), 0)
	level := src.Normal()
	for range n {
		level = w.alike*level + math.Sqrt(1-w.alike*w.alike)*src.Normal()
		d := 120 * libm.Exp(w.sigma*level)
		if src.Bool(w.second) {
			d += 300
		}
		x := model.Duration(d * float64(model.Second))
		out = append(out, Watched{min(x, limit), x <= limit})
	}
	return out
}

// TestQuantilesOfDelays: intervals of quantiles hold those of the planted law, whose tail is none
// of the usual ones, in 95 % of records. Wrong are quantiles of the delays that had ended alone,
// those of a log-normal law, and delays as if each were independent of the one before.
func TestQuantilesOfDelays(t *testing.T) {
	t.Parallel()
	for _, w := range []bootWorld{
		{n: 150, sigma: 0.2, second: 1.0 / 8}, {n: 40, sigma: 0.5, second: 0.3}, {n: 400, sigma: 1, second: 0.05}, {n: 200, sigma: 0.5, second: 0, alike: 0.5},
	} {
		all := make([]float64, 0, 200_000)
		for _, d := range w.draw(1<<40, cap(all), model.Forever) {
			all = append(all, float64(d.For))
		}
		slices.Sort(all)
		held, ended, law, apart, refused := covered{}, covered{}, covered{}, covered{}, covered{}
		for seed := range records {
			if w.n > 200 && seed%2 > 0 {
				continue
			}
			sample := w.draw(seed, w.n, model.Forever)
			f, err := Delays(sample)
			require.NoError(t, err)
			times := make([]float64, len(sample))
			for i, d := range sample {
				times[i] = float64(d.For)
			}
			slices.Sort(times)
			for i, q := range f.Quantiles {
				truth := all[int(q.P*float64(len(all)))]
				if q.Time.Known() {
					held.add(fmt.Sprintf("%g %%", 100*q.P), holds(q.Time.Band, truth))
				}
				if i == 1 {
					apart.add("50 %, as if independent", holds(middle(times, "delays").Band, truth))
				}
			}
			truth := all[int(0.9*float64(len(all)))]
			if w.n == 150 {
				require.ErrorContains(t, f.Quantiles[4].Time.Refused, "delay that 99 % stay below: found 150 delays", "want at least 368")
				l := f.Law.Law.(hwmodel.LogNormal)
				law.add("90 % of a log-normal law within a tenth", math.Abs(float64(l.Median)*libm.Exp(1.2816*l.Sigma)/truth-1) < 0.1)
				limited := w.draw(seed, w.n, 300*model.Second)
				f, err = Delays(limited)
				require.NoError(t, err)
				for i, name := range []string{"10 % with a limit", "50 % with a limit"} {
					held.add(name, holds(f.Quantiles[i].Time.Band, all[int(DelayQuantiles[i]*float64(len(all)))]))
				}
				refused.add("90 % refused, as a second try takes longer than the limit", !f.Quantiles[2].Time.Known())
				f, err = Delays(slices.DeleteFunc(limited, func(w Watched) bool { return !w.Ended }))
				require.NoError(t, err)
				ended.add("90 % of the ended ones alone", holds(f.Quantiles[2].Time.Band, truth))
			}
		}
		t.Logf("%+v", w)
		if w.alike > 0 { // far quantiles are less alike than the middle
			held.about(t, 93, 99)
			apart.within(t, 0, 90)
			continue
		}
		held.about(t, 93, 97)
		if w.n == 150 {
			refused.within(t, 95, 100)
			ended.within(t, 0, 50)
			law.within(t, 0, 50)
		}
	}
}

func TestRefusedDelays(t *testing.T) {
	sample := boots(2, 100, 200*model.Second)
	f, err := Delays(sample)
	require.NoError(t, err)
	require.Equal(t, 100, f.N)
	require.Positive(t, f.Unended)
	require.True(t, f.Quantiles[1].Time.Known())
	require.ErrorContains(t, f.Quantiles[3].Time.Refused, "delay that 95 % stay below: found delays that had not ended")
	require.NotErrorIs(t, f.Quantiles[3].Time.Refused, ErrTooFew)
	zeros := []Watched{{0, true}, {0, true}, {0, true}, {0, true}, {0, true}, {0, true}, {1, true}}
	f, err = Delays(zeros)
	require.NoError(t, err, "delays of 0 are legal")
	require.Zero(t, f.Quantiles[1].Time.Value)
	require.False(t, f.Law.Known())
	f, err = Delays(nil)
	require.NoError(t, err)
	require.ErrorIs(t, f.Quantiles[1].Time.Refused, ErrTooFew)
	for _, bad := range []model.Duration{-1, model.Forever, model.AbsentDuration} {
		_, err = Delays([]Watched{{bad, true}})
		require.ErrorContains(t, err, "want times from 0")
	}
}
