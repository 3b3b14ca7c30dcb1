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

// demand is the work, in unit·µs, that arrives in a span of a run, and that waits at its
// end.
type demand struct {
	from, to model.Time // both included
	arrived  [arrivalBins]sum
	ran      sum    // the same, of all bins
	units    uint64 // of the jobs that ran
	waiting  sum    // of jobs that ran later
	unknown  uint64 // units of waiting jobs that never ran
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

// wait counts a job that waits at the end of the span.
func (d *demand) wait(o *observation) {
	if o.runtime > 0 {
		d.waiting.addProduct(o.procs, o.runtime)
	} else {
		d.unknown += o.procs
	}
}

// backlog is the work that waits at the end of the span. What never ran counts with the
// mean run time of a unit of the jobs that did.
func (d *demand) backlog() *big.Rat {
	out := new(big.Rat).SetInt(d.waiting.big())
	if d.units > 0 {
		units := new(big.Rat).SetFrac(new(big.Int).SetUint64(d.unknown), new(big.Int).SetUint64(d.units))
		out.Add(out, units.Mul(units, new(big.Rat).SetInt(d.ran.big())))
	}
	return out
}

// variance of the work that arrives in a bin.
func (d *demand) variance() *big.Rat {
	total, squares := new(big.Int), new(big.Int)
	for i := range d.arrived {
		x := d.arrived[i].big()
		total.Add(total, x)
		squares.Add(squares, product(x, x))
	}
	n := big.NewInt(arrivalBins)
	above := squares.Sub(product(squares, n), product(total, total))
	return new(big.Rat).SetFrac(above, big.NewInt(arrivalBins*(arrivalBins-1)))
}

// beyond says whether more work waits at the end than chance explains at a load of 1.
func (d *demand) beyond() bool {
	waits := d.backlog()
	return waits.Sign() > 0 && waits.Mul(waits, waits).Cmp(new(big.Rat).Mul(d.variance(), beyondChance)) > 0
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
// the last half of a span, by the bins that lie in it. Where none does it is not known to.
func (s *Series) undrained(from, to model.Time) bool {
	half, least := from+(to-from)/2, int64(math.MaxInt64)
	b := &s.bins
	for i := range b.n {
		if begin := b.begin(i); begin >= half && begin.Add(b.width) <= to+1 {
			least = min(least, b.least[i])
		}
	}
	return least != math.MaxInt64 && least >= s.cfg.Units
}

// leastJudged is the shortest span that is judged.
const leastJudged = 4 * model.Microsecond

// verdict judges the queue in a span of the run, of which some job started:
//
//   - OVERLOADED: it never drains in the last half of the span, and more work waits at
//     its end than a cluster at a load of exactly 1 comes to by chance. Waits then
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
	list  []demand
	byEnd []*demand // of list, ascending
}

func newDemands(spans []Span) *demands {
	d := &demands{list: make([]demand, len(spans))}
	for i, p := range spans {
		d.list[i].from, d.list[i].to = p.From, p.To-1
		d.byEnd = append(d.byEnd, &d.list[i])
	}
	slices.SortStableFunc(d.byEnd, func(a, b *demand) int { return cmp.Compare(a.to, b.to) })
	return d
}

// add counts a job, which is submitted in some of the spans. It costs a search, and what
// there are of spans that end while it waits.
func (d *demands) add(o *observation, in []int) {
	for _, i := range in {
		d.list[i].arrive(o)
	}
	k, _ := slices.BinarySearchFunc(d.byEnd, model.Time(o.submit), func(d *demand, t model.Time) int { return cmp.Compare(d.to, t) })
	for ; k < len(d.byEnd) && int64(d.byEnd[k].to) < o.leftQueue; k++ {
		d.byEnd[k].wait(o)
	}
}
