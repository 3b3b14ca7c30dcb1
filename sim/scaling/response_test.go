package scaling

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/service"
	"orrery/sim/stat"
)

func after(seconds int64) model.Time { return model.Time(model.Duration(seconds) * model.Second) }

// A step at 600 s, after which a lattice adds one at 120, 300 and 480 s, one more than is
// needed then, beside a size that moves the other way.
func TestAnswerByHand(t *testing.T) {
	o := &Onset{At: after(600), Until: after(1800), Before: 2, After: 4}
	var p Policy
	require.NoError(t, p.answer(o, []service.Size{{At: 0, N: 2}, {At: after(720), N: 3}, {At: after(900), N: 4}, {At: after(1080), N: 5}, {At: after(1800), N: 9}}))
	require.NoError(t, p.answer(o, []service.Size{{At: 0, N: 2}, {At: after(700), N: 1}, {At: after(900), N: 2}}))
	require.NoError(t, p.sumUp(o, stat.Defaults()))
	for k, want := range []float64{120, 1, 480} {
		require.Equal(t, want, *p.Answers[k].Seeds[0])
		require.Nil(t, p.Answers[k].Seeds[1])
		require.Equal(t, want, p.Answers[k].Mean.Estimate)
	}
	require.Equal(t, "in 1 of 2 seeds the size never moved in the direction of the step", p.Unanswered)
	var split Policy // of a second, a change is seen at the next sample
	require.NoError(t, split.answer(o, []service.Size{{At: 0, N: 2}, {At: after(720) + 1, N: 3}}))
	require.Equal(t, 121.0, *split.Answers[0].Seeds[0])
	o.Until = o.At.Add(60 * model.Day)
	require.Less(t, len(o.series(nil).Supply), sampled+2, "bounded for long spans")
}

const oneStep = `demand: {shape: step, base: 10, peak: 100, at: 10m, over: 15m, noise: 0.01, length: 40m}
service: {work: 800ms, work_cv: 0, arrival_cv: 0, slots: 10, start: 2, boot: 0s, mode: fluid, goal: {limit: 500ms}}
policies:
  - {kind: lattice, min: 2, max: 5, target: 0.7}
  - {kind: fixed, size: 2}
seeds: 2
`

// The lattice sees the mean of the minute before each scrape: the step a minute late, not at
// once as the gauge in the table of docs/SERVICES.md. It reacts a window of 2 min later, and
// adds one each cooldown of 3 min, to less than is needed. What is fixed does not react, and
// it is told.
func TestAnswers(t *testing.T) {
	c := compare(t, oneStep, nil)
	require.Equal(t, after(600), c.Onset.At)
	require.Equal(t, after(1500), c.Onset.Until)
	require.EqualValues(t, 2, c.Onset.Before)
	require.Greater(t, c.Onset.After, int64(5))
	lattice, fixed := &c.Policies[0], &c.Policies[1]
	for k, want := range []float64{180, 0, 540} {
		require.Equal(t, stat.Interval{Estimate: want, Low: want, High: want, Confidence: 0.95}, *lattice.Answers[k].Mean, ResponseMeasures()[k].Name)
		require.Nil(t, fixed.Answers[k].Mean)
	}
	require.Empty(t, lattice.Unanswered)
	d := c.Document()
	require.Equal(t, int64(600_000_000), d.Onset.AtUS)
	require.Equal(t, 180.0, *d.Policies[0].Response.Measures[0].Mean)
	require.Nil(t, d.Policies[1].Response.Measures[0].Mean)
	require.Equal(t, []*float64{nil, nil}, d.Policies[1].Response.Measures[2].Seeds)
	require.Contains(t, d.Policies[1].Response.Reason, "never moved")
}

// Of a step it is the first, of a flash crowd that it comes; other shapes have none, and where
// there is nothing to answer it is told.
func TestOnset(t *testing.T) {
	at := func(text string) *Onset {
		s, err := profiles.ParseScaling("s.yaml", []byte("demand: {"+text+"}\nservice: {work: 1s, slots: 10}\npolicies: [{kind: fixed, size: 2}]\n"))
		require.NoError(t, err)
		d, err := demandOf(s, nil, 1)
		require.NoError(t, err)
		config := configOf(s, d)
		o, err := onsetOf(s, &config)
		require.NoError(t, err)
		return o
	}
	require.Nil(t, at("shape: ramp, base: 1, peak: 99, at: 10m, over: 10m, length: 1h"))
	up := at("shape: step, base: 1, peak: 99, at: 10m, over: 20m, noise: 0.5, length: 1h")
	require.Equal(t, []model.Time{after(600), after(1800)}, []model.Time{up.At, up.Until})
	require.Less(t, up.Before, up.After)
	down := at("shape: step, base: 99, peak: 1, at: 10m, length: 1h")
	require.Equal(t, Onset{after(600), after(3600), up.After, up.Before, ""}, *down)
	scaled := at("shape: step, base: 1, peak: 99, at: 10m, scale: 2, length: 1h")
	require.Greater(t, scaled.After, up.After)
	// It comes within 3 min from 10m00s on, a third of it with each grain, and is half gone 30 min later.
	flash := at("shape: flash, base: 1, peak: 99, at: 10m, over: 30m, length: 2h")
	require.Equal(t, Onset{after(660), after(600 + 180 + 1800), up.Before, up.After, ""}, *flash)
	require.Contains(t, at("shape: step, base: 1, peak: 99, length: 1h").Reason, "begins with the step")
	require.Contains(t, at("shape: step, base: 1, peak: 99, at: 2h, length: 1h").Reason, "ends before")
	require.Contains(t, at("shape: step, base: 1, peak: 1.1, at: 10m, length: 1h").Reason, "before and after")
}
