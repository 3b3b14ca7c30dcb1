package calibrate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/traces"
)

// polledAt is a delay as polls see it that are so far apart.
func polledAt(rng *rand.Rand, truth, apart float64) (least, most int64) {
	phase := rng.Float64() * apart // from the end to the next poll
	seen := int64((truth - phase) / apart)
	if truth < phase {
		return 0, int64(1e6 * phase)
	}
	return int64(1e6 * (phase + float64(seen)*apart)), int64(1e6 * (phase + float64(seen+1)*apart))
}

// completing is a site whose jobs are held beyond their ends.
func completing(n int, apart float64, delay func(*rand.Rand) float64) *planted {
	p := &planted{rng: rand.New(rand.NewPCG(5, 6))}
	for i := range n {
		least, most := polledAt(p.rng, delay(p.rng), apart)
		p.jobs = append(p.jobs, &traces.Job{ID: int64(i + 1), Name: "x", Kind: "bounded", Start: traces.Some(model.Time(i)), Runtime: traces.Some(model.Hour),
			Extra: fmt.Sprintf(`{"%s":%d,"%s":%d}`, capture.CompletingLeast, least, capture.CompletingMost, most)})
	}
	return p
}

func outcomesOf(t *testing.T, p *planted) (text string, by map[string]Outcome) {
	t.Helper()
	c := cluster(t)
	r, err := Of(p.source(t, c))
	require.NoError(t, err)
	out, outcomes, err := r.Into(Merge{File: "site.yaml", Text: []byte(siteText), Cluster: c, Bundles: "cap"})
	require.NoError(t, err)
	by = map[string]Outcome{}
	for _, o := range outcomes {
		by[o.Key] = o
	}
	return string(out), by
}

// TestCompletionDelay: delays that are uniform from 0 are put into the key that means this; others stand beside it with why not, and what polls
// are too far apart for is refused.
func TestCompletionDelay(t *testing.T) {
	uniform := func(rng *rand.Rand) float64 { return 20 * rng.Float64() }
	text, by := outcomesOf(t, completing(300, 1, uniform))
	o := by[CompletionDelay]
	require.True(t, o.Applied, o.Why)
	require.InEpsilon(t, 20e6, o.Finding.Figure.Value, 0.15)
	require.LessOrEqual(t, o.Finding.Figure.Low, 20e6)
	require.GreaterOrEqual(t, o.Finding.Figure.High, 20e6)
	again, err := profiles.ParseCluster("site.yaml", []byte(text))
	require.NoError(t, err)
	require.InEpsilon(t, 20e6, float64(again.Agents.CompletionDelay), 0.15)
	for p, key := range map[float64]string{0.5: "completion delay, 50 %", 0.9: "completion delay, 90 %", 0.95: "completion delay, 95 %"} {
		f := by[key]
		require.False(t, f.Applied)
		require.Contains(t, f.Why, "a quantile of what agents.completion_delay draws")
		require.LessOrEqual(t, f.Finding.Figure.Low, p*20e6, key)
		require.GreaterOrEqual(t, f.Finding.Figure.High, p*20e6, key)
	}
	require.Contains(t, by["completion delay, 99 %"].Why, "368")

	_, by = outcomesOf(t, completing(300, 1, func(rng *rand.Rand) float64 { return 10 + rng.Float64() }))
	require.False(t, by[CompletionDelay].Applied)
	require.Contains(t, by[CompletionDelay].Why, "delays that are uniform from 0")
	require.InEpsilon(t, 10.5e6, by["completion delay, 50 %"].Finding.Figure.Value, 0.05, "an epilogue that takes as long each time")

	_, by = outcomesOf(t, completing(300, 30, func(rng *rand.Rand) float64 { return 2 * rng.Float64() }))
	require.False(t, by[CompletionDelay].Applied)
	require.Contains(t, by[CompletionDelay].Why, "ask Slurm more often")
	_, by = outcomesOf(t, completing(30, 1, uniform))
	require.False(t, by[CompletionDelay].Applied)
	require.Contains(t, by[CompletionDelay].Why, "quantiles at 10 and 90 %")
	p := completing(1, 1, uniform)
	p.jobs[0].Extra = `{"completing_least_us":5,"completing_most_us":4}`
	c := cluster(t)
	_, err = Of(p.source(t, c))
	require.ErrorContains(t, err, "a least that is no more than the most")
	p.jobs[0].Extra = ""
	_, by = outcomesOf(t, p)
	require.Contains(t, by[CompletionDelay].Why, "run orrery capture slurm while the jobs end")
}

// TestBootDelays: those that polls saw are printed with their interval, and never put in; one that has not ended counts as longer.
func TestBootDelays(t *testing.T) {
	plant := func(n, unended int) *planted {
		p := &planted{rng: rand.New(rand.NewPCG(7, 8))}
		add := func(r capture.Record) {
			p.events = append(p.events, r.Event(epoch.Add(model.Duration(len(p.events))*model.Minute), "b1"))
		}
		for range n {
			least, most := polledAt(p.rng, 100+40*p.rng.Float64(), 5)
			add(capture.Record{Record: capture.RecordBoot, Reason: capture.BootPowered, Least: model.Duration(least), Most: model.Duration(most)})
			exact := model.Duration(60e6 * (1 + 0.1*p.rng.Float64()))
			add(capture.Record{Record: capture.RecordBoot, Reason: capture.BootKernel, Least: exact, Most: exact})
		}
		for range unended {
			add(capture.Record{Record: capture.RecordBoot, Reason: capture.BootPowered, Least: 50 * model.Second})
		}
		add(capture.Record{Record: capture.RecordBoot, Reason: capture.BootFailed, Least: 600 * model.Second})
		return p
	}
	text, by := outcomesOf(t, plant(40, 0))
	require.NotContains(t, text, "boot_delay")
	o := by[BootDelay]
	require.False(t, o.Applied)
	require.Contains(t, o.Why, "it would count twice")
	require.InEpsilon(t, 120e6, o.Finding.Figure.Value, 0.1)
	require.LessOrEqual(t, o.Finding.Figure.Low, 120e6)
	require.GreaterOrEqual(t, o.Finding.Figure.High, 120e6)
	require.InEpsilon(t, 63e6, by[KernelBoot].Finding.Figure.Value, 0.05)
	require.InEpsilon(t, 136e6, by["boot delay, 90 %"].Finding.Figure.Value, 0.05)
	require.Contains(t, by["boot delay, 95 %"].Why, "72")

	_, by = outcomesOf(t, plant(40, 40))
	require.Contains(t, by[BootDelay].Why, "had not ended")
	_, by = outcomesOf(t, plant(0, 0))
	require.Contains(t, by[BootDelay].Why, "no node that Slurm had switched on")
	r, err := Of(plant(6, 0).source(t, cluster(t)))
	require.NoError(t, err)
	require.Contains(t, r.Counts, Count{"boots that failed, which no delay has in it", 1})
}
