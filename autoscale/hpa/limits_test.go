package hpa

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// The highest demand counts, wherever it stands among the metrics.
func TestHighestDemand(t *testing.T) {
	for _, values := range [][2]float64{{0.6, 0.8}, {0.8, 0.6}} {
		cfg := config()
		cfg.Metrics = []Metric{{Kind: ServiceRatio, Target: 0.5}, {Kind: ServiceRatio, Target: 0.5}}
		l := newLoop(t, cfg, 10)
		l.Tell(autoscale.Fact{Kind: autoscale.FactSample, Metric: 1, Entity: autoscale.Whole, Value: values[1]},
			autoscale.Fact{Kind: autoscale.FactSample, Metric: 2, Entity: autoscale.Whole, Value: 9})
		l.step(values[0])
		require.EqualValues(t, 16, l.Size)
	}
	// One that fails beside one that demands what there is changes nothing, and is no fault.
	cfg := config()
	cfg.Metrics = append(cfg.Metrics, Metric{Kind: InvalidMetric})
	l := newLoop(t, cfg, 10)
	require.Equal(t, GuardTolerance, l.step(0.5).Guard)
}

// A limit is named only where it takes something away.
func TestLimits(t *testing.T) {
	cfg := Config{Min: 2, Max: 10, UpFactor: 2, Up: DefaultUp(), Down: Rules{Policies: []ScalingPolicy{{Value: 3, Period: 1}}}}
	for _, c := range []struct {
		current, desired, to int64
		limit                Limit
		plain                int64
		plainLimit           Limit
	}{
		{5, 10, 10, DesiredWithinRange, 10, DesiredWithinRange}, {5, 11, 10, TooManyReplicas, 10, TooManyReplicas},
		{4, 8, 8, DesiredWithinRange, 8, DesiredWithinRange}, {4, 9, 8, ScaleUpLimit, 8, ScaleUpLimit}, {2, 5, 5, DesiredWithinRange, 4, ScaleUpLimit},
		{5, 2, 2, DesiredWithinRange, 2, DesiredWithinRange}, {4, 1, 2, TooFewReplicas, 2, TooFewReplicas}, {6, 2, 3, ScaleDownLimit, 2, DesiredWithinRange},
		{12, 12, 12, DesiredWithinRange, 10, TooManyReplicas}, {1, 1, 1, DesiredWithinRange, 2, TooFewReplicas}, // no change has no limit by behaviours
		{5, 1, 2, TooFewReplicas, 2, TooFewReplicas}, {6, 6, 6, DesiredWithinRange, 6, DesiredWithinRange},
	} {
		n, limit := cfg.Limit(0, c.current, c.desired, nil, nil)
		require.Equal(t, []any{c.to, c.limit}, []any{n, limit}, "%+v", c)
		n, limit = cfg.LimitPlainly(c.current, c.desired)
		require.Equal(t, []any{c.plain, c.plainLimit}, []any{n, limit}, "%+v", c)
	}
}

// Of several policies the one that allows the most counts, or the least, or there is no change.
func TestSelect(t *testing.T) {
	rules := Rules{Policies: []ScalingPolicy{{Value: 3, Period: 1}, {Percent: true, Value: 50, Period: 1}}}
	for s, want := range map[Select][]int64{MaxChange: {1500, 500}, MinChange: {1003, 997}, Disabled: {1000, 1000}} {
		rules.Select = s
		cfg := Config{Max: 9999, Up: rules, Down: rules}
		up, limit := cfg.Limit(0, 1000, 9999, nil, nil)
		require.Equal(t, ScaleUpLimit, limit)
		down, limit := cfg.Limit(0, 1000, 0, nil, nil)
		require.Equal(t, ScaleDownLimit, limit)
		require.Equal(t, want, []int64{up, down}, "%d", s)
	}
}

// What no window covers any more is replaced, so that the memory stays bounded.
func TestHistory(t *testing.T) {
	h := History{{9, 0}, {8, 10}}
	require.EqualValues(t, 3, h.Stabilize(20, 1, 3, 10, 10))
	require.Equal(t, History{{3, 20}, {8, 10}}, h)
	require.EqualValues(t, 2, h.Stabilize(20, 1, 2, 10, 10)) // 10 is exactly the window, and not yet old
	require.Equal(t, History{{3, 20}, {8, 10}, {2, 20}}, h)
	h = History{{9, 0}}
	require.EqualValues(t, 9, h.StabilizeDown(10, 1, 10))
	require.EqualValues(t, 1, h.StabilizeDown(11, 1, 10))
	require.Equal(t, History{{1, 11}, {1, 10}}, h)
	for _, windows := range [][2]model.Duration{{10, 5}, {5, 10}} { // one is as old as the longer window: not yet old
		h = History{{9, 10}}
		h.Stabilize(20, 1, 3, windows[0], windows[1])
		require.Len(t, h, 2)
	}
	var c Changes
	policies := []ScalingPolicy{{Period: 10}, {Period: 5}}
	for _, at := range []model.Time{0, 10, 11} {
		c.add(Change{1, at}, policies)
	}
	require.Equal(t, Changes{{1, 11}, {1, 10}}, c)
	require.EqualValues(t, 1, c.within(20, 10))
	c = Changes{{1, 11}}
	c.add(Change{1, 12}, nil) // without policies none is looked back to
	require.Equal(t, Changes{{1, 12}}, c)
}

// A demand for what there is that the past holds up is one of the way up.
func TestAble(t *testing.T) {
	cfg := config()
	cfg.Up.Window, cfg.Down.Window = model.Minute, 0
	l := newLoop(t, cfg, 10)
	l.step(0.2) // down to 4 at once
	require.EqualValues(t, 4, l.Size)
	require.Equal(t, GuardStabilized, l.step(0.9).Guard)
	require.Equal(t, ScaleUpStabilized, l.Policy.Last().Able)
	cfg.Down.Window = model.Minute
	l = newLoop(t, cfg, 10)
	l.step(0.2)
	require.Equal(t, ScaleDownStabilized, l.Policy.Last().Able)
}

// A demand for one replica is more than one for none, whichever comes first.
func TestDemandForOne(t *testing.T) {
	for _, values := range [][2]float64{{0.5, 0}, {0, 0.5}} {
		cfg := config()
		cfg.Min, cfg.Metrics = 0, []Metric{{Kind: ServiceRatio, Target: 0.5}, {Kind: ServiceRatio, Target: 0.5}}
		l := newLoop(t, cfg, 1)
		l.Tell(autoscale.Fact{Kind: autoscale.FactSample, Metric: 1, Entity: autoscale.Whole, Value: values[1]})
		require.Equal(t, GuardTolerance, l.step(values[0]).Guard)
		require.EqualValues(t, 1, l.Policy.Last().Raw)
		require.Equal(t, -1, l.Policy.Last().Failed, "no metric did")
	}
}

// A metric that fails leaves those after it their say.
func TestFailingFirst(t *testing.T) {
	cfg := config()
	cfg.Metrics = []Metric{{Kind: InvalidMetric}, {Kind: ServiceRatio, Target: 0.5}}
	l := newLoop(t, cfg, 10)
	l.Tell(autoscale.Fact{Kind: autoscale.FactSample, Metric: 1, Entity: autoscale.Whole, Value: 0.7})
	l.step(none)
	require.EqualValues(t, 14, l.Size)
}

// What holds where nothing is stated.
func TestDefaults(t *testing.T) {
	quarter := 15 * model.Second
	require.Equal(t, Config{
		Tolerance: Tolerances{Up: 0.1, Down: 0.1}, Behaviours: true, DownWindow: 5 * model.Minute, UpFactor: 2, Interval: quarter,
		CPUInit: 5 * model.Minute, ReadyDelay: 2 * quarter, MaxAge: model.Minute,
		Up:   Rules{Policies: []ScalingPolicy{{Value: 4, Period: quarter}, {Percent: true, Value: 100, Period: quarter}}},
		Down: Rules{Window: 5 * model.Minute, Policies: []ScalingPolicy{{Percent: true, Value: 100, Period: quarter}}},
	}, Defaults())
}

// The use that is told is that of the first metric that demands the most, and of the last
// where none demands any replica. Of metrics without a value the first is told.
func TestWhichMetric(t *testing.T) {
	for _, c := range []struct {
		values [2]float64
		raw    int64
		use    int64
	}{{[2]float64{160, 320}, 16, 16000}, {[2]float64{0, -2}, 0, -200}} {
		cfg := config()
		cfg.Min, cfg.Metrics = 0, []Metric{{Kind: TotalPerPod, Target: 10}, {Kind: TotalPerPod, Target: 20}}
		l := newLoop(t, cfg, 10)
		l.Tell(autoscale.Fact{Kind: autoscale.FactSample, Metric: 1, Entity: autoscale.Whole, Value: c.values[1]})
		l.step(c.values[0])
		require.Equal(t, []int64{c.raw, c.use}, []int64{l.Policy.Last().Raw, l.Policy.Last().Use.Average})
	}
	cfg := config()
	cfg.Metrics = append(cfg.Metrics, Metric{Kind: InvalidMetric})
	l := newLoop(t, cfg, 10)
	l.step(none)
	require.ErrorIs(t, l.Policy.Last().Err, ErrNoMetrics)
	require.Zero(t, l.Policy.Last().Failed)
}

// A total has no pods to scale where none is known; from a size of zero it needs none.
func TestTotalWithoutPods(t *testing.T) {
	for size, want := range map[int64]error{0: nil, 4: ErrNoPods} {
		cfg := config()
		cfg.Min, cfg.Metrics = 0, []Metric{{Kind: Total, Target: 10}}
		l := newLoop(t, cfg, size)
		l.Tell(autoscale.Fact{Kind: autoscale.FactSample, Entity: 7, Value: 1}) // of no pod of the workload
		l.step(20)
		e := l.Policy.Last()
		require.Equal(t, want, e.Err)
		if want != nil {
			require.Equal(t, []int64{0, -1, 4}, []int64{int64(e.Failed), e.Raw, e.Desired})
		} else {
			require.EqualValues(t, 2, e.Raw)
		}
	}
}

// A change that was made by others before its result came is none, and takes the place of
// none that the rules of the other direction still look back to: 7 + the 4 that went within
// 10 minutes + 2 are allowed.
func TestChangeOfNoneIsNotNoted(t *testing.T) {
	cfg := config()
	cfg.Down.Window = 0
	cfg.Up = Rules{Policies: []ScalingPolicy{{Value: 2, Period: 10 * model.Minute}}}
	l := newLoop(t, cfg, 10)
	l.step(0.3)
	require.EqualValues(t, 6, l.Size)
	l.Now, l.Answer = l.Now.Add(model.Minute), 0
	require.EqualValues(t, 7, l.step(0.575).Would.N)
	l.Size = 7
	l.Tell(autoscale.Fact{Kind: autoscale.FactSize, N: 7}, autoscale.Fact{Kind: autoscale.FactResult, Seq: 2, Outcome: autoscale.Accepted, N: 7})
	l.Now, l.Answer = l.Now.Add(model.Minute), autoscale.Accepted
	require.Equal(t, GuardRate, l.step(1).Guard)
	require.EqualValues(t, 13, l.Size, "of the 14 that are demanded")
}

// The same of growth, and what goes takes the place of nothing that was added: the rules of
// shrinking look back for 10 minutes at both, those of growth forget what they do not need.
func TestChangesOfOneDirection(t *testing.T) {
	cfg := config()
	cfg.Max, cfg.Down = 40, Rules{Policies: []ScalingPolicy{{Value: 2, Period: 10 * model.Minute}}}
	grown := func() *loop {
		l := newLoop(t, cfg, 10)
		l.step(0.7)
		require.EqualValues(t, 14, l.Size)
		l.Now = l.Now.Add(model.Minute)
		return l
	}
	l := grown()
	l.Answer = 0
	require.EqualValues(t, 17, l.step(0.6).Would.N)
	l.Tell(autoscale.Fact{Kind: autoscale.FactSize, N: 17}, autoscale.Fact{Kind: autoscale.FactResult, Seq: 2, Outcome: autoscale.Accepted, N: 17})
	l.Size, l.Answer = 17, autoscale.Accepted
	require.Equal(t, GuardRate, l.step(0).Guard)
	require.EqualValues(t, 11, l.Size, "17 less the 4 that were added, less 2")

	l = grown()
	l.step(0.35)
	require.EqualValues(t, 10, l.Size)
	l.Now = l.Now.Add(model.Minute)
	require.Equal(t, GuardRate, l.step(0).Guard)
	require.EqualValues(t, 8, l.Size, "10 less the 4 that were added, and the 4 that went, less 2")
}
