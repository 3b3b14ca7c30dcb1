package advice

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/stat"

	"orrery/scheduler/model/draw"
	"orrery/sim/stat"
)

var testStream = draw.StreamOf("advice.test")

func settings() Settings { return Settings{Stat: stat.Defaults(), Margin: 0.05, Power: 0.8} }

// log is a log of n windows with lognormal levels, under the current policy and under
// candidates: of each the windows are a known part of those of the current policy, with
// lognormal noise.
func log(n int, key uint64, noise float64, parts ...float64) []Candidate {
	source := draw.New(3, testStream, key, uint64(n))
	levels := make([]float64, n)
	for i := range levels {
		levels[i] = math.Exp(0.7 * source.Normal())
	}
	now := Series{levels, gonum.Mean(levels, nil)}
	var out []Candidate
	for _, part := range parts {
		then := make([]float64, n)
		for i := range then {
			then[i] = part * levels[i] * math.Exp(noise*source.Normal())
		}
		out = append(out, Candidate{Now: now, Then: Series{then, gonum.Mean(then, nil)}})
	}
	return out
}

func weigh(t *testing.T, list []Candidate, s Settings) *Evidence {
	t.Helper()
	e, err := Weigh(list, s)
	require.NoError(t, err)
	require.Len(t, e.Findings, len(list))
	return e
}

// TestPlanted: a third less in all windows is better where less is wanted, and worse where
// more is.
func TestPlanted(t *testing.T) {
	list := log(40, 1, 0.2, 1, 2./3, 1.5)
	e := weigh(t, list, settings())
	require.Equal(t, 3, e.Tested)
	require.True(t, e.Dependence >= 0 && e.Dependence <= 0.9)
	same, less, more := e.Findings[0], e.Findings[1], e.Findings[2]
	require.False(t, same.Better || same.Worse)
	require.True(t, less.Better && !less.Worse)
	require.True(t, more.Worse && !more.Better)
	require.InDelta(t, 1./3, less.Gain, 0.06)
	require.InDelta(t, -0.5, more.Gain, 0.1)
	require.Equal(t, []int{1}, e.Passing())

	s := settings()
	s.Maximise = true
	turned := weigh(t, list, s)
	for i, f := range turned.Findings {
		require.Equal(t, f.Better, e.Findings[i].Worse)
		require.Equal(t, f.Worse, e.Findings[i].Better)
		require.Equal(t, f.Gain, -e.Findings[i].Gain)
		require.Equal(t, f.P, e.Findings[i].P)
	}
	require.Equal(t, []int{2}, turned.Passing())
}

// TestContradiction: what is less in most windows, and more in the few that make the sum, is
// neither better nor worse, however small p is.
func TestContradiction(t *testing.T) {
	list := log(40, 2, 0, 1)
	c := &list[0]
	c.Now.Windows, c.Then.Windows = slices.Clone(c.Now.Windows), slices.Clone(c.Then.Windows)
	for i := range c.Then.Windows {
		c.Then.Windows[i] *= 0.8 + 0.01*float64(i%3)
		if i%8 == 0 {
			c.Now.Windows[i] *= 1000
			c.Then.Windows[i] *= 1250 + float64(i)
		}
	}
	f := weigh(t, list, settings()).Findings[0]
	require.LessOrEqual(t, f.P, 0.05)
	require.Negative(t, f.Windows.Estimate)
	require.Positive(t, f.Sums.Estimate)
	require.False(t, f.Better || f.Worse)
}

// TestOneStatistic: of a candidate with nothing in a window there is no mean of logarithms, and
// the sums alone may say that it is better.
func TestOneStatistic(t *testing.T) {
	list := log(40, 3, 0.1, 0.5)
	list[0].Then.Windows[7] = 0
	f := weigh(t, list, settings()).Findings[0]
	require.True(t, math.IsNaN(f.Windows.Estimate))
	require.True(t, f.Better)
}

// TestOut: what is out is not tested, and changes nothing of what is found of others.
func TestOut(t *testing.T) {
	list := log(40, 4, 0.3, 0.9, 0.4, 1)
	list[1].Out = true
	list[1].Then.Windows[3] = math.NaN() // nor is it looked at
	e := weigh(t, list, settings())
	require.Equal(t, 2, e.Tested)
	out := e.Findings[1]
	require.True(t, math.IsNaN(out.P) && math.IsNaN(out.Windows.T) && math.IsNaN(out.Sums.T))
	require.False(t, out.Better || out.Worse)
	require.InDelta(t, 0.6, out.Gain, 0.1, "its gain is told all the same")
	alone := weigh(t, []Candidate{list[0], list[2]}, settings())
	require.Equal(t, alone.Findings, []Finding{e.Findings[0], e.Findings[2]})
	require.NotContains(t, e.Promising(3), 1)

	list[0].Out, list[2].Out = true, true
	e = weigh(t, list, settings())
	require.Zero(t, e.Tested)
	require.True(t, math.IsNaN(e.Dependence))
	require.Empty(t, e.Promising(3))
	require.True(t, math.IsNaN(e.Detectable(0)))
	require.True(t, math.IsInf(e.WindowsFor(0), 1))

	_, err := Weigh(log(5, 1, 0.1, 1), settings())
	require.ErrorContains(t, err, "advice: stat: 5 windows")
}

// TestNoWhole: a candidate without a gain on the whole log is none to choose, and the test of
// its windows stands.
func TestNoWhole(t *testing.T) {
	list := log(40, 5, 0.2, 0.5, 0.5, 0.5, 0.6)
	list[0].Now.Whole = 0
	list[1].Now.Whole = math.NaN()
	list[2].Then.Whole = math.NaN()
	e := weigh(t, list, settings())
	for i, f := range e.Findings[:3] {
		require.True(t, math.IsNaN(f.Gain), "candidate %d", i)
		require.True(t, f.Better, "candidate %d", i)
	}
	require.Equal(t, []int{3}, e.Passing())
	require.Equal(t, []int{3}, e.Promising(4))
	require.Equal(t, []int{3}, e.Ranked(func(int) bool { return true }))
	s := settings()
	require.InDelta(t, 1.5, s.Gain(-2, -5), 1e-15, "of a number below 0 the part is one of its size")
}

// TestRanked: by gain, and in the order given where gains are equal.
func TestRanked(t *testing.T) {
	gains := []float64{0.1, 0.3, math.NaN(), 0.3, -0.2, 0.1}
	e := &Evidence{set: settings()}
	for _, g := range gains {
		e.Findings = append(e.Findings, Finding{Gain: g})
	}
	require.Equal(t, []int{1, 3, 0, 5, 4}, e.Ranked(func(int) bool { return true }))
	require.Equal(t, []int{3, 5}, e.Ranked(func(i int) bool { return i == 3 || i == 5 }))
	require.Empty(t, e.Ranked(func(int) bool { return false }))
}

// TestPromising: those that pass by their gain, then the others that both statistics together
// speak for, whatever the gain and p of one replay.
func TestPromising(t *testing.T) {
	found := func(gain, p, windows, sums float64, better bool) Finding {
		return Finding{Gain: gain, P: p, Windows: stat.JointMean{T: windows}, Sums: stat.JointMean{T: sums}, Better: better}
	}
	nan := math.NaN()
	findings := []Finding{
		found(0.02, 0.01, -4, -4, true), // better, and not worth a change
		found(0.10, 0.90, -1, -1, false),
		found(0.06, 0.04, -3, -3, true),
		found(0.05, 0.01, -4, -4, true),    // the margin itself is enough
		found(0.40, nan, nan, nan, false),  // not tested
		found(0.50, 0.01, 5, -4, false),    // its statistics together speak against it
		found(0.08, 0.90, -2, 0, false),    // as strong as another that gains more
		found(0.03, 0.60, nan, -2, false),  // by the one statistic that there is
		found(0.01, 1, nan, nan, false),    // by neither
		found(-0.01, 0.50, -2, -2, false),  // gains nothing in this replay
		found(0.00, 1, 0, 0, false),        // is the current policy
		found(nan, 0.01, -3, -3, true),     // has no gain
		found(-0.10, 0.01, 4, 4, false),    // is worse
		found(0.04, 0.70, -1.5, -1, false), // gains less and is told more surely
	}
	e := &Evidence{set: settings(), Findings: findings}
	require.Equal(t, []int{2, 3}, e.Passing())
	want := []int{2, 3, 0, 7, 9, 13, 1, 6}
	require.Equal(t, want, e.Promising(20))
	for n := range want {
		require.Equal(t, want[:n], e.Promising(n))
	}

	for i := range findings {
		findings[i].Windows.T, findings[i].Sums.T = -findings[i].Windows.T, -findings[i].Sums.T
	}
	e.set.Maximise = true
	require.Equal(t, want, e.Promising(20), "the same where more is wanted")
}

// TestDetectable plants the gain that the test says it would have found with a probability of
// 0.8, and counts how many are found.
func TestDetectable(t *testing.T) {
	for _, maximise := range []bool{false, true} {
		s := settings()
		s.Maximise = maximise
		const runs = 60
		found := 0
		for k := range uint64(runs) {
			s.Stat.Seed = k
			list := log(40, 100+k, 0.3, 1, 1, 1)
			c := &list[1]
			gain := weigh(t, list, s).Detectable(1)
			require.True(t, gain > 0.05 && gain < 0.5, "%g", gain)
			factor := 1 - gain
			if maximise {
				factor = 1 + gain
			}
			for i := range c.Then.Windows {
				c.Then.Windows[i] *= factor
			}
			if weigh(t, list, s).Findings[1].Better {
				found++
			}
		}
		require.GreaterOrEqual(t, found, runs*65/100, "maximise %v", maximise)
		require.LessOrEqual(t, found, runs*93/100, "maximise %v: a gain that is always found is no least one", maximise)
	}
}

// TestWindowsFor: as many windows as the test says find the gain with a probability of 0.8 or
// more, and a third of them do not. It is more as windows are taken to depend on each other a
// little more than they seem to, and as chance reaches less with more windows.
func TestWindowsFor(t *testing.T) {
	s := settings()
	const part, noise = 0.9, 0.3
	var said []float64
	for k := range uint64(41) {
		said = append(said, weigh(t, log(60, 500+k, noise, part), s).WindowsFor(0))
	}
	slices.Sort(said)
	n := int(said[len(said)/2])
	require.True(t, n > 60 && n < 200, "%d windows", n)
	const runs = 60
	for _, c := range []struct{ windows, least, most int }{{n, runs * 8 / 10, runs}, {n / 3, 0, runs * 6 / 10}} {
		found := 0
		for k := range uint64(runs) {
			s.Stat.Seed = k
			if weigh(t, log(c.windows, 900+k, noise, part), s).Findings[0].Better {
				found++
			}
		}
		require.True(t, c.least <= found && found <= c.most, "%d windows find it %d times", c.windows, found)
	}
}

// TestNothingToFind: what does not differ says nothing of what could be found, and what is
// worse is shown better by no number of windows.
func TestNothingToFind(t *testing.T) {
	list := log(40, 6, 0.1, 1.3)
	list = append(list, Candidate{Now: list[0].Now, Then: list[0].Now})
	e := weigh(t, list, settings())
	require.True(t, math.IsNaN(e.Detectable(1)))
	require.True(t, math.IsInf(e.WindowsFor(1), 1))
	require.True(t, math.IsInf(e.WindowsFor(0), 1))
	require.Positive(t, e.Detectable(0))
	require.Equal(t, 1.0, e.Findings[1].P)
	require.Zero(t, e.Findings[1].Gain)
}

// TestWeighInRounds: of many candidates that differ by noise one is better by 10 %. Ten get two
// replicas, three of them all, and the better one is found, which it is not by single replays.
func TestWeighInRounds(t *testing.T) {
	const n, many, better = 30, 14, 4
	over := func(i, replicas int) Candidate {
		var now, then []Series
		for r := range replicas + 1 {
			part := 1.0
			if i == better {
				part = 0.9
			}
			c := log(n, 2000, 0, 1)[0]
			source := draw.New(4, testStream, uint64(i), uint64(r))
			for k := range c.Then.Windows {
				c.Then.Windows[k] *= part * math.Exp(0.25*source.Normal()-0.25*0.25/2) // of mean 1
			}
			c.Then.Whole = gonum.Mean(c.Then.Windows, nil)
			now, then = append(now, c.Now), append(then, c.Then)
		}
		return Candidate{Now: Over(now...), Then: Over(then...)}
	}
	var list []Candidate
	for i := range many {
		list = append(list, over(i, 0))
	}
	asked := map[int][]int{}
	e, finalists, err := WeighInRounds(list, 10, settings(), func(places []int, replicas int) (out []Candidate, err error) {
		asked[replicas] = append(asked[replicas], places...)
		for _, i := range places {
			out = append(out, over(i, replicas))
		}
		return out, nil
	})
	require.NoError(t, err)
	first := weigh(t, list, settings())
	require.False(t, first.Findings[better].Better)
	require.Equal(t, first.Promising(10), asked[2])
	require.Equal(t, finalists, asked[10])
	require.Len(t, asked, 2)
	require.Len(t, finalists, Finalists)
	require.Equal(t, better, finalists[0])
	require.True(t, e.Findings[better].Better)
	require.Equal(t, []int{better}, e.Passing())
	for i := range list {
		require.Equal(t, over(i, 0), list[i], "what is given stays")
	}
	require.Equal(t, many, e.Tested)

	_, _, err = WeighInRounds(list, 10, settings(), func([]int, int) ([]Candidate, error) { return nil, errors.New("no replica") })
	require.ErrorContains(t, err, "no replica")
	for i := range list {
		list[i].Out = true
	}
	e, finalists, err = WeighInRounds(list, 10, settings(), nil)
	require.NoError(t, err)
	require.Zero(t, e.Tested)
	require.Empty(t, finalists, "what is out gets no replicas")
}

// TestReplicate by hand: gains of 10, 20 and 30 % have an SD of 10 %, and t of 2 degrees of
// freedom is 4.3027.
func TestReplicate(t *testing.T) {
	s := settings()
	now, then := []float64{10, 20, 100}, []float64{9, 16, 70}
	r := s.Replicate(now, then)
	require.Equal(t, 3, r.Replicas)
	require.InDelta(t, 0.2, r.Mean, 1e-12)
	require.InDelta(t, 0.1, r.SD, 1e-12)
	half := 4.302653 * 0.1 / math.Sqrt(3)
	require.InDelta(t, 0.2-half, r.Low, 1e-6)
	require.InDelta(t, 0.2+half, r.High, 1e-6)
	require.True(t, s.Holds(r))
	s.Maximise = true
	back := s.Replicate(now, then)
	require.InDelta(t, -0.2, back.Mean, 1e-12)
	require.InDelta(t, -r.High, back.Low, 1e-12)
	require.False(t, s.Holds(back))
	require.True(t, s.Holds(Replication{Mean: 0.05}), "the margin itself is enough")
	require.False(t, s.Holds(s.Replicate([]float64{0, 0}, []float64{1, 1})), "there is no part of nothing")
}

func TestOver(t *testing.T) {
	a, b := Series{[]float64{1, 2}, 10}, Series{[]float64{3, 6}, 20}
	require.Equal(t, Series{[]float64{2, 4}, 10}, Over(a, b))
	require.Equal(t, a, Over(a))
	require.Equal(t, []float64{1, 2}, a.Windows, "what it is made of stays")
}

// TestOverReplicasWithoutAValue: what a replica does not say counts for nothing.
func TestOverReplicasWithoutAValue(t *testing.T) {
	none := math.NaN()
	got := Over(Series{Windows: []float64{2, 3, none}, Whole: 5}, Series{Windows: []float64{4, none, 1}, Whole: 7}, Series{Windows: []float64{6, 5, 1}})
	require.Equal(t, []float64{4, 4}, got.Windows[:2])
	require.True(t, math.IsNaN(got.Windows[2]), "the log as it is has none")
	require.EqualValues(t, 5, got.Whole)
}
