package sensor

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"time"

	"orrery/scheduler/model"
)

// grid is a series of power, so that the mean over any time is found at once: its integral at even steps.
type grid struct {
	from    model.Time
	step    float64   // s
	joules  []float64 // from the beginning
	covered []float64 // s that the series covers, from the beginning
	finest  float64   // s, the median step of the series
	gaps    int
}

const (
	finestStep = 0.001 // s
	mostCells  = 2_000_000
	gapSteps   = 5 // of the median one, beyond which there is no power between two samples
)

// newGrid covers the time from to to.
func newGrid(s Series, from, to model.Time) *grid {
	span := to.Sub(from).Seconds()
	g := &grid{from: from, step: max(finestStep, span/mostCells), finest: medianStep(s.Times)}
	n := int(span/g.step) + 2
	g.joules, g.covered = make([]float64, n), make([]float64, n)
	most := model.Duration(max(gapSteps*g.finest, 0.002) * 1e6)
	i := sort.Search(len(s.Times), func(i int) bool { return s.Times[i] > from })
	i = max(i, 1)
	for c := 1; c < n; c++ {
		a, b := from.Add(model.Duration(float64(c-1)*g.step*1e6)), from.Add(model.Duration(float64(c)*g.step*1e6))
		joules, covered := 0.0, 0.0
		for ; i < len(s.Times) && s.Times[i-1] < b; i++ {
			x, y := s.Times[i-1], s.Times[i]
			lo, hi := max(a, x), min(b, y)
			if hi > lo && y.Sub(x) <= most {
				mid := (lo.Sub(x).Seconds() + hi.Sub(x).Seconds()) / 2 / y.Sub(x).Seconds()
				w := s.Watts[i-1] + float64((s.Watts[i]-s.Watts[i-1])*mid)
				joules += float64(w * hi.Sub(lo).Seconds())
				covered += hi.Sub(lo).Seconds()
			} else if hi > lo && x >= a {
				g.gaps++
			}
			if y > b {
				break
			}
		}
		g.joules[c], g.covered[c] = g.joules[c-1]+joules, g.covered[c-1]+covered
	}
	return g
}

// at are the integrals up to an instant.
func (g *grid) at(t model.Time) (joules, covered float64) {
	x := t.Sub(g.from).Seconds() / g.step
	i := int(x)
	if x < 0 {
		return 0, 0
	}
	if i >= len(g.joules)-1 {
		return g.joules[len(g.joules)-1], g.covered[len(g.covered)-1]
	}
	f := x - float64(i)
	return g.joules[i] + float64((g.joules[i+1]-g.joules[i])*f), g.covered[i] + float64((g.covered[i+1]-g.covered[i])*f)
}

// mean is the power over a time, NaN where less than nine tenths of it are covered.
func (g *grid) mean(from, to model.Time) float64 {
	j0, c0 := g.at(from)
	j1, c1 := g.at(to)
	if c := c1 - c0; c > 0 && c >= 0.9*to.Sub(from).Seconds() {
		return (j1 - j0) / c
	}
	return math.NaN()
}

// edges are the instants at which power crosses the middle between its low and high values.
func (g *grid) edges(from, to model.Time) []model.Time {
	step := model.Duration(max(2*g.step, 2*g.finest) * 1e6)
	n := int(min(to.Sub(from)/step, mostCells))
	if n < 2 {
		return nil
	}
	values := make([]float64, 0, n)
	for i := range n {
		at := from.Add(step * model.Duration(i))
		values = append(values, g.mean(at, at.Add(step)))
	}
	finite := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	low, high := quantile(0.05, finite), quantile(0.95, finite)
	if !(high > low) {
		return nil
	}
	var out []model.Time
	state := 0
	for i, v := range values {
		was := state
		switch x := (v - low) / (high - low); {
		case x > 0.6:
			state = 1
		case x < 0.4:
			state = -1
		}
		if was != 0 && state != was {
			out = append(out, from.Add(step*model.Duration(i)))
		}
	}
	return out
}

// squareGrid is 1 while the load is on. What began last ends with the last toggle.
func squareGrid(toggles []model.Time, from, to model.Time) *grid {
	span := to.Sub(from).Seconds()
	g := &grid{from: from, step: max(finestStep, span/mostCells)}
	g.finest = g.step
	n := int(span/g.step) + 2
	g.joules, g.covered = make([]float64, n), make([]float64, n)
	i := 0 // toggles up to the instant
	for c := 1; c < n; c++ {
		at := from.Add(model.Duration(float64(c-1) * g.step * 1e6))
		end := from.Add(model.Duration(float64(c) * g.step * 1e6))
		on := 0.0
		for at < end {
			for i < len(toggles) && toggles[i] <= at {
				i++
			}
			next := end
			if i < len(toggles) {
				next = min(next, toggles[i])
			}
			if i%2 == 1 && i < len(toggles) {
				on += next.Sub(at).Seconds()
			}
			at = next
		}
		g.joules[c], g.covered[c] = g.joules[c-1]+on, g.covered[c-1]+g.step
	}
	return g
}

func quantile(p float64, values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	x := p * float64(len(sorted)-1)
	i := min(int(x), len(sorted)-1)
	j := min(i+1, len(sorted)-1)
	return sorted[i] + float64((sorted[j]-sorted[i])*(x-float64(i)))
}

func median(values []float64) float64 { return quantile(0.5, values) }

func clock(t model.Time) string {
	return time.UnixMicro(int64(t)).UTC().Format("2006-01-02 15:04:05.000")
}

func millis(s float64) string  { return strconv.FormatFloat(s*1000, 'f', 1, 64) }
func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 1, 64) }
