package metric

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// arrivalBins is into how many bins of equal length arriving work is counted.
const arrivalBins = 20

// The work that waits at the end is beyond what a cluster at a load of exactly 1 comes to
// in 19 of 20 logs when its square is above this many variances of the work of a bin:
// that is the 95 % point of reflected Brownian motion, 1.96·σ·√20, squared.
var beyondChance = big.NewRat(196*196*arrivalBins, 100*100)

// demand is the work, in unit·µs, that arrives in a span of a run, and that waits at both
// of its ends. Services are left out, for they run as long as they are wanted.
type demand struct {
	from, to   model.Time // both included
	arrived    [arrivalBins]sum
	ran        sum    // the same, of all bins
	units      uint64 // of the jobs that ran
	begin, end backlog
}

// backlog is the work that waits at an instant.
type backlog struct {
	work    sum // of jobs that ran later
	unknown sum // units of those that never did
}

func (w *backlog) add(o *observation) {
	if o.runtime > 0 {
		w.work.addProduct(o.procs, o.runtime)
	} else {
		w.unknown.add(o.procs)
	}
}

// arrive counts a job that is submitted in the span.
func (d *demand) arrive(o *observation) {
	if o.runtime == 0 {
		return
	}
	hi, lo := bits.Mul64(uint64(o.submit-int64(d.from)), arrivalBins)
	k, _ := bits.Div64(hi, lo, uint64(d.to-d.from)+1)
	d.arrived[k].addProduct(o.procs, o.runtime)
	d.ran.addProduct(o.procs, o.runtime)
	d.units += o.procs
}

// workOf is a backlog in unit·µs. What never ran counts with the mean run time of a unit
// of the jobs of the span that did.
func (d *demand) workOf(w *backlog) *big.Rat {
	out := new(big.Rat).SetInt(w.work.big())
	if d.units > 0 {
		units := new(big.Rat).SetFrac(w.unknown.big(), new(big.Int).SetUint64(d.units))
		out.Add(out, units.Mul(units, new(big.Rat).SetInt(d.ran.big())))
	}
	return out
}

// lags is over how many bins the dependence of arrivals is looked at.
const lags = 2

// variance of the work that arrives in a bin, or where that is more, the long-run one,
// that of a sum over many bins by their number: with the covariances γ of bins that are k
// apart, γ₀ + 2·(⅔·γ₁ + ⅓·γ₂) (Bartlett's weights, Newey and West 1987). Days of much work
// come in rows, and then a sum over them varies more than single days say.
func (d *demand) variance() *big.Rat {
	n, total := big.NewInt(arrivalBins), d.ran.big()
	var above [arrivalBins]*big.Int // of the mean, times n
	for i := range above {
		above[i] = new(big.Int).Sub(product(d.arrived[i].big(), n), total)
	}
	covariance := func(k int) *big.Int {
		out := new(big.Int)
		for i := k; i < arrivalBins; i++ {
			out.Add(out, product(above[i], above[i-k]))
		}
		return out
	}
	single := product(covariance(0), big.NewInt(lags+1))
	long := new(big.Int).Set(single)
	for k := 1; k <= lags; k++ {
		long.Add(long, product(covariance(k), big.NewInt(2*int64(lags+1-k))))
	}
	if long.Cmp(single) < 0 {
		long = single
	}
	return new(big.Rat).SetFrac(long, big.NewInt((lags+1)*arrivalBins*arrivalBins*(arrivalBins-1)))
}

// beyond says whether the work that waits has grown by more than chance explains at a
// load of 1.
func (d *demand) beyond() bool {
	grown := d.workOf(&d.end)
	grown.Sub(grown, d.workOf(&d.begin))
	return grown.Sign() > 0 && grown.Mul(grown, grown).Cmp(new(big.Rat).Mul(d.variance(), beyondChance)) > 0
}

// submissions is the span from the first submission to the last, or the part of the
// trace that the run is about.
func (s *Series) submissions() []Span {
	switch {
	case s.cfg.Measured != nil:
		return []Span{*s.cfg.Measured}
	case s.first == model.AbsentTime:
		return nil
	}
	return []Span{{s.first, s.lastSubmit + 1}}
}

// undrained says whether the waiting demand never falls below what the cluster holds in
// the last half of a span: by the bins that lie in it, or where none is so short, by those
// that overlap it.
func (s *Series) undrained(from, to model.Time) bool {
	half, b := from+(to-from)/2, &s.bins
	inside, overlapping := int64(math.MaxInt64), int64(math.MaxInt64)
	for i := int(min(b.index(max(half, b.origin)), maxBins)); i < b.n && b.begin(i) <= to; i++ {
		overlapping = min(overlapping, b.least[i])
		if begin := b.begin(i); begin >= half && begin.Add(b.width) <= to+1 {
			inside = min(inside, b.least[i])
		}
	}
	if inside == math.MaxInt64 {
		inside = overlapping
	}
	return inside != math.MaxInt64 && inside >= s.cfg.Units
}

// leastJudged is the shortest span that is judged.
const leastJudged = 4 * model.Microsecond

// verdict judges the queue in a span of the run in which some job started:
//
//   - OVERLOADED: it never drains in the last half of the span, and the work that waits
//     has grown by more than at a load of exactly 1 comes about by chance. Waits then
//     measure the length of the log.
//   - BACKLOGGED: otherwise, when on average more waits than the cluster holds.
//   - STABLE: otherwise.
//   - UNKNOWN: the span is shorter than leastJudged.
func (s *Series) verdict(d *demand) Verdict {
	if d.to.Sub(d.from) < leastJudged {
		return Unknown
	}
	if s.undrained(d.from, d.to) && d.beyond() {
		return Overloaded
	}
	waits := new(big.Rat).Sub(s.queuedUntil(d.to), s.queuedUntil(d.from))
	if waits.Cmp(new(big.Rat).SetInt(product(big.NewInt(s.cfg.Units), big.NewInt(int64(d.to-d.from))))) > 0 {
		return Backlogged
	}
	return Stable
}

// demands are those of spans, which may overlap.
type demands struct {
	list         []demand
	begins, ends instants
}

func newDemands(spans []Span) *demands {
	d := &demands{list: make([]demand, len(spans))}
	for i, p := range spans {
		d.list[i].from, d.list[i].to = p.From, p.To-1
	}
	d.begins = newInstants(d.list, func(d *demand) model.Time { return d.from - 1 })
	d.ends = newInstants(d.list, func(d *demand) model.Time { return d.to })
	return d
}

// add counts a job, which is submitted in some of the spans. Beside these it costs four
// searches.
func (d *demands) add(o *observation, in []int) {
	if o.service {
		return
	}
	for _, i := range in {
		d.list[i].arrive(o)
	}
	d.begins.waits(o)
	d.ends.waits(o)
}

// close is to come after all jobs.
func (d *demands) close() {
	d.begins.each(func(span int, w backlog) { d.list[span].begin = w })
	d.ends.each(func(span int, w backlog) { d.list[span].end = w })
}

// instants are one of each span, with the work that waits then: each job is added at the
// first instant of its wait, and taken away at the first one behind it.
type instants struct {
	at       []model.Time // ascending
	span     []int
	from, to []backlog
}

func newInstants(spans []demand, of func(*demand) model.Time) instants {
	t := instants{from: make([]backlog, len(spans)), to: make([]backlog, len(spans))}
	for i := range spans {
		t.span = append(t.span, i)
	}
	slices.SortStableFunc(t.span, func(a, b int) int { return cmp.Compare(of(&spans[a]), of(&spans[b])) })
	for _, i := range t.span {
		t.at = append(t.at, of(&spans[i]))
	}
	return t
}

// waits counts a job at the instants from its submission until it leaves the queue.
func (t *instants) waits(o *observation) {
	from, _ := slices.BinarySearch(t.at, model.Time(o.submit))
	to, _ := slices.BinarySearch(t.at, model.Time(o.leftQueue))
	if from >= to {
		return
	}
	if t.from[from].add(o); to < len(t.at) {
		t.to[to].add(o)
	}
}

// each gives the work that waits at the instant of each span.
func (t *instants) each(visit func(span int, w backlog)) {
	var now backlog
	for k, span := range t.span {
		now.work.join(t.from[k].work)
		now.unknown.join(t.from[k].unknown)
		now.work = now.work.minus(t.to[k].work)
		now.unknown = now.unknown.minus(t.to[k].unknown)
		visit(span, now)
	}
}
