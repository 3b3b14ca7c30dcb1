package profiles

import (
	"math/big"
	"strings"

	"orrery/scheduler/model"
	"orrery/scheduler/score"
)

// remarks says what of a valid profile has no effect or one that may surprise,
// in the order of the file.
func (p *Profile) remarks() []Problem {
	all := problems{src: p.src}
	note := func(key, format string, args ...any) { all.add(join(p.base, key), format, args...) }
	if p.Order == "score" && (p.src == nil || p.src.has(join(p.base, "weights"))) {
		p.remarkWeights(note)
	}
	if p.Order == "score" && p.MinScore != nil {
		p.remarkMinScore(note)
	}
	if p.Order == "multifactor" {
		m := p.Multifactor
		if m.Age == 0 && m.FairShare == 0 && m.JobSize == 0 && m.Partition == 0 && m.QOS == 0 && m.Assoc == 0 && m.TRES == (TRES{}) {
			note("multifactor", "all its weights are 0: what jobs state of themselves alone orders them")
		}
	}
	const deep = 1000
	if p.Backfill == "conservative" && p.Depth > deep {
		note("depth", "%d blocked jobs hold reservations: every pass plans them all, and tuning guides advise 10 to 50", p.Depth)
	}
	if p.Backfill == "conservative" && p.Depth == 0 && p.BFMaxJobTest == 0 {
		note("backfill", "every blocked job holds a reservation: on long queues a pass is slow, and depth: 20 is nearly as good")
	}
	if p.Preemption.Enabled && p.Preemption.NearCompletion >= model.Hour {
		note("preemption.near_completion", "work with %s left is spared: few victims remain where jobs are short", formatSpan(p.Preemption.NearCompletion))
	}
	if p.Backfill == "conservative" {
		p.remarkBackfill(note)
	}
	if p.Order == "score" || p.Order == "multifactor" {
		p.remarkAccounts(note)
	}
	return all.sorted()
}

// remarkBackfill looks for bounds that others make void.
func (p *Profile) remarkBackfill(note func(key, format string, args ...any)) {
	if p.BFInterval > 0 && p.Cycle > 0 && p.BFInterval <= p.Cycle {
		note("bf_interval", "passes are made every %s, so %s between two is no bound: give more than the cycle, or leave it out", formatSpan(p.Cycle), formatSpan(p.BFInterval))
	}
	if p.BFMaxJobTest > 0 && p.Depth > p.BFMaxJobTest {
		note("depth", "a pass looks at %d jobs only (bf_max_job_test), so there are never %d reservations", p.BFMaxJobTest, p.Depth)
	}
}

// remarkAccounts looks for spans that do not go with the accounting tick.
func (p *Profile) remarkAccounts(note func(key, format string, args ...any)) {
	tick := p.AccountingTick
	if p.Cycle > tick {
		note("cycle", "it is longer than accounting_tick (%s): a job waits up to %s for a pass, and sees no tick in between", formatSpan(tick), formatSpan(p.Cycle))
	}
	switch half := p.Multifactor.HalfLife; {
	case p.Order == "multifactor" && half > 0 && half < tick:
		note("multifactor.half_life", "it is shorter than accounting_tick (%s): each tick forgets more than half of the usage", formatSpan(tick))
	case p.Order == "score" && p.Usage.Rule == "decay" && p.Usage.HalfLife < tick:
		note("usage.half_life", "it is shorter than accounting_tick (%s): each tick forgets more than half of the usage", formatSpan(tick))
	case p.Order == "score" && p.Usage.Rule == "rolling" && p.Usage.Window < tick:
		note("usage.window", "it is shorter than accounting_tick (%s): what lies between is never counted", formatSpan(tick))
	}
}

func (p *Profile) remarkWeights(note func(key, format string, args ...any)) {
	sum := new(big.Rat)
	for _, w := range p.Weights.vector() {
		sum.Add(sum, decimal(w))
	}
	if p.Mode == "documented" && sum.Cmp(big.NewRat(1, 1)) != 0 {
		text := strings.TrimRight(strings.TrimRight(sum.FloatString(6), "0"), ".")
		note("weights", "their sum is %s: they are divided by it", text)
	}
	if p.MinScore == nil {
		for _, w := range []struct {
			key   string
			value float64
		}{{"backlog", p.Weights.Backlog}, {"energy", p.Weights.Energy}} {
			if w.value > 0 && (w.key != "energy" || p.Energy != "expected") {
				note("weights."+w.key, "the factor is equal for all jobs of a pass: without min_score it changes no order, unless a tenant is over its budget")
			}
		}
	}
	if p.Mode == "documented" && p.alike() {
		note("weights", "the factors that have one are equal for all jobs of a pass: the queue is in the order of arrival, unless a tenant is over its budget")
	}
}

// alike says whether only factors count that are the same for all jobs.
func (p *Profile) alike() bool {
	w := p.Weights
	w.Backlog = 0
	if p.Energy != "expected" {
		w.Energy = 0
	}
	return w == Weights{}
}

// remarkMinScore holds min_score against what the weights let a job reach: the
// factor wait_time grows without end, all others are at most 1.
func (p *Profile) remarkMinScore(note func(key, format string, args ...any)) {
	w, err := p.scoreWeights()
	if err != nil {
		return // which is an error of its own
	}
	others := model.Fixed(0)
	for f, x := range w {
		if score.Factor(f) != score.Wait {
			others += x
		}
	}
	least := model.FixedOf(*p.MinScore)
	if least <= others {
		return
	}
	wait := model.Forever
	if x := w[score.Wait]; x > 0 {
		wait = score.WaitUntil(model.Ratio(int64(least-others), int64(x)), p.ReferenceWait)
	}
	switch {
	case wait == model.Forever:
		note("min_score", "%g is above what scores reach (%.3g with all factors at 1): no job will ever start", *p.MinScore, others.Float())
	case wait > model.Day:
		note("min_score", "even with all other factors at 1 a job reaches %g only when it has waited %s", *p.MinScore, formatSpan(wait/model.Minute*model.Minute))
	}
}

// sorted is everything noted, in the order of the file.
func (p *problems) sorted() []Problem {
	if p.err() == nil {
		return nil
	}
	return p.list
}

// Lint reads a profile, a cluster file or a scenario, one of the program by its name, and says
// what is wrong or remarkable about it. err is an *Error where the file is not valid, or says
// why it cannot be read; remarks are made of valid files alone.
func Lint(nameOrPath string) (kind Kind, remarks []Problem, err error) {
	kind, err = KindOfFile(nameOrPath)
	if err != nil {
		return "", nil, err
	}
	if kind != KindCluster && kind != KindScenario {
		kind = KindProfile
	}
	remarks, err = LintAs(kind, nameOrPath)
	return kind, remarks, err
}

// LintAs is Lint where the kind is known: a profile, a cluster file or a scenario.
func LintAs(kind Kind, nameOrPath string) ([]Problem, error) {
	switch kind {
	case KindCluster:
		return lintCluster(nameOrPath)
	case KindScenario:
		s, err := LoadScenario(nameOrPath)
		if err != nil {
			return nil, err
		}
		return s.Remarks(), nil
	}
	p, err := Load(nameOrPath)
	if err != nil {
		return nil, err
	}
	if p.src != nil && len(p.src.at) == 0 {
		return []Problem{{File: nameOrPath, Text: "found no key in it: as a profile it has every default; see orrery profiles show"}}, nil
	}
	return p.remarks(), nil
}

func lintCluster(nameOrPath string) ([]Problem, error) {
	c, err := LoadCluster(nameOrPath)
	var site *Site
	if err == nil && len(c.Groups) > 0 {
		site, err = c.Resolve()
	}
	if err != nil {
		return nil, err
	}
	return c.remarks(site), nil
}
