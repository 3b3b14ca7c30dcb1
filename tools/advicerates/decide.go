package main

import (
	"context"
	"slices"

	"orrery/scheduler/model/draw"
	"orrery/sim/advice"
	"orrery/sim/stat"
	"orrery/sim/workerpool"
)

// What a decision of orrery tune takes: candidates (12 orders with 2 kinds of backfilling,
// one of which is the current policy), replicas of the current policy and of each finalist,
// and the least gain that is worth a change.
const (
	candidates = 23
	jittered   = 10
	margin     = 0.05
	mostDrawn  = 1 + candidates + jittered*(1+advice.Finalists) + 2*(advice.Contenders-advice.Finalists)
)

var drawsStream = draw.StreamOf("advicerates.draws")

// outcome is what one decision came to.
type outcome struct {
	evidence  *advice.Evidence
	finalists []int
	kept      []int // to recommend, the best first
}

// rates are the outcomes of many.
type rates []outcome

func (x outcome) saysBetter() bool {
	return slices.ContainsFunc(x.evidence.Findings, func(f advice.Finding) bool { return f.Better })
}

func (x outcome) claims() bool {
	return slices.ContainsFunc(x.evidence.Findings, func(f advice.Finding) bool { return f.Better || f.Worse })
}

func (x outcome) recommends() bool { return len(x.kept) > 0 }

// The candidate with a planted gain is the first.
func (x outcome) replicated() bool        { return slices.Contains(x.finalists, 0) }
func (x outcome) found() bool             { return x.evidence.Findings[0].Better }
func (x outcome) recommended() bool       { return len(x.kept) > 0 && x.kept[0] == 0 }
func (x outcome) recommendsAnother() bool { return len(x.kept) > 0 && x.kept[0] != 0 }

// rates decides again and again, the first candidate better by gain.
func (o *options) rates(ctx context.Context, pool replicas, gain float64, times int) (rates, error) {
	out := make(rates, times)
	_, err := workerpool.Each(ctx, times, o.workers, nil, func() func(context.Context, int) error {
		return func(_ context.Context, k int) (err error) {
			out[k], err = decide(pool, gain, uint64(k))
			return err
		}
	})
	return out, err
}

// decide draws one decision: no replica is in it twice, so that the sides are as independent
// as two schedules of one policy can be. The draws of a key are the same for every gain.
func decide(pool replicas, gain float64, key uint64) (out outcome, err error) {
	order := shuffled(len(pool), key)
	next := func(n int) (list replicas) {
		for _, i := range order[:n] {
			list = append(list, pool[i])
		}
		order = order[n:]
		return list
	}
	set := advice.Settings{Stat: stat.Defaults(), Margin: margin, Power: 0.8}
	set.Stat.Seed = key
	now, singles := next(1+jittered), next(candidates)
	weights := now[0].Jobs // tune weighs windows by the jobs under the current policy
	factor := func(candidate int) float64 {
		if candidate == 0 {
			return 1 - gain
		}
		return 1
	}
	then := make([]replicas, candidates)
	over := func(places []int, replicas int) (list []advice.Candidate, err error) {
		for _, i := range places {
			for len(then[i]) < 1+replicas {
				then[i] = append(then[i], next(1)...)
			}
			list = append(list, advice.Candidate{Now: now[:1+replicas].series(weights, 1), Then: then[i][:1+replicas].series(weights, factor(i))})
		}
		return list, nil
	}
	var all []int
	for i := range candidates {
		then[i], all = singles[i:i+1:i+1], append(all, i)
	}
	list, err := over(all, 0)
	if err != nil {
		return out, err
	}
	if out.evidence, out.finalists, err = advice.WeighInRounds(list, jittered, set, over); err != nil {
		return out, err
	}
	holds := make([]bool, candidates)
	for _, i := range out.finalists {
		holds[i] = set.Holds(set.Replicate(now[1:].wholes(1), then[i][1:].wholes(factor(i))))
	}
	for _, i := range out.evidence.Passing() {
		if holds[i] {
			out.kept = append(out.kept, i)
		}
	}
	return out, nil
}

// shuffled are the numbers below n in an order of their own for each key.
func shuffled(n int, key uint64) []int {
	source := draw.New(1, drawsStream, key, uint64(n))
	order := make([]int, n)
	for i := range order {
		j := int(source.IntN(int64(i + 1)))
		order[i], order[j] = order[j], i
	}
	return order
}

// series is the objective over replicas, multiplied by a factor.
func (p replicas) series(weights []float64, factor float64) advice.Series {
	list := make([]advice.Series, len(p))
	for i, r := range p {
		list[i] = advice.Series{Windows: make([]float64, len(weights)), Whole: r.Whole * factor}
		for k, w := range weights {
			list[i].Windows[k] = r.Values[k] * w * factor
		}
	}
	return advice.Over(list...)
}

// wholes are the objective on the whole log, by replica.
func (p replicas) wholes(factor float64) []float64 {
	out := make([]float64, len(p))
	for i := range p {
		out[i] = p[i].Whole * factor
	}
	return out
}
