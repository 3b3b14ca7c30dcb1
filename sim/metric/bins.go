package metric

import (
	"math"
	"math/bits"

	"orrery/scheduler/model"
	"orrery/sim/record/column"
)

// maxBins bounds the series table and the memory of a Series.
const maxBins = 8192

// bins are consecutive time bins of one width, counted from the first call.
// When the run outgrows them, neighbours merge and the width doubles; the sums
// are integers, so the result is the same as if the larger width had been used
// from the start.
type bins struct {
	origin model.Time
	width  model.Duration // a power of two seconds
	n      int            // bins begun
	bin    [maxBins]column.Bin
	least  [maxBins]int64 // queued units at the least, math.MaxInt64 before any state

	// The bin that was looked at last, and its place in time, for the next look is
	// mostly at the same.
	last        int
	from, until model.Time

	// seen has every bit that was set in a state integrated so far.
	seen uint64

	// Of a site: what each vCluster holds now, and its bins, those of one time
	// side by side.
	cur    []holder
	shares []shareBin
}

// at returns the bin that holds t, widening until there is one.
func (b *bins) at(t model.Time) *column.Bin {
	if t < b.from || t >= b.until {
		b.find(t)
	}
	return &b.bin[b.last]
}

// find looks at the bin that holds t.
func (b *bins) find(t model.Time) {
	b.reach(t)
	i := b.index(t)
	for ; b.n <= int(i); b.n++ {
		b.least[b.n] = math.MaxInt64
	}
	b.last, b.from = int(i), b.begin(int(i))
	b.until = b.from.Add(b.width)
}

// index is the number of the bin that holds t, if there were so many. The distance of two
// instants may be as large as an unsigned number.
func (b *bins) index(t model.Time) uint64 { return uint64(t-b.origin) / uint64(b.width) }

// begin is where a bin begins.
func (b *bins) begin(i int) model.Time { return b.origin + model.Time(uint64(i)*uint64(b.width)) }

// reach widens the bins until they hold t.
func (b *bins) reach(t model.Time) {
	for b.index(t) >= maxBins {
		b.merge()
	}
}

// integrate adds the state st over [from, to).
func (b *bins) integrate(from, to model.Time, st *State) {
	b.seen |= uint64(st.BusyUnits) | uint64(st.QueuedJobs) | uint64(st.QueuedUnits) | uint64(st.RunningJobs)
	if to > b.until {
		b.reach(to - 1) // widens first, so that no bin is walked twice
	}
	for from < to {
		c := b.at(from)
		end := min(to, b.until)
		d := uint64(end - from)
		if hi, lo := bits.Mul64(b.seen, uint64(b.width)); hi == 0 && lo <= math.MaxInt64 { // no sum of a bin can saturate
			c.BusyUnitUS += st.BusyUnits * int64(d)
			c.QueuedJobUS += int64(st.QueuedJobs) * int64(d)
			c.QueuedUnitUS += st.QueuedUnits * int64(d)
			c.RunningJobUS += int64(st.RunningJobs) * int64(d)
		} else {
			accrue(&c.BusyUnitUS, uint64(st.BusyUnits), d)
			accrue(&c.QueuedJobUS, uint64(st.QueuedJobs), d)
			accrue(&c.QueuedUnitUS, uint64(st.QueuedUnits), d)
			accrue(&c.RunningJobUS, uint64(st.RunningJobs), d)
		}
		c.QueuedJobsMax = max(c.QueuedJobsMax, st.QueuedJobs)
		c.BusyUnitsMax = max(c.BusyUnitsMax, int32(st.BusyUnits))
		c.QueuedUnitsMax = max(c.QueuedUnitsMax, st.QueuedUnits)
		b.least[b.last] = min(b.least[b.last], st.QueuedUnits)
		b.hold(b.last, model.Duration(min(d, math.MaxInt64)))
		from = end
	}
}

// accrue adds x·y to *sum, saturating: sums of non-negative numbers that
// saturate still do not depend on the order or the grouping.
func accrue(sum *int64, x, y uint64) {
	hi, lo := bits.Mul64(x, y)
	if hi != 0 || lo > math.MaxInt64 {
		lo = math.MaxInt64
	}
	*sum = model.Plus(*sum, int64(lo))
}

// merge halves the number of bins and doubles their width. Bins that have not begun are
// empty, and there are so many that the last that has begun has a neighbour.
func (b *bins) merge() {
	for i := 0; i < b.n; i += 2 {
		b.bin[i/2] = joined(&b.bin[i], &b.bin[i+1])
		if b.least[i/2] = b.least[i]; i+1 < b.n {
			b.least[i/2] = min(b.least[i], b.least[i+1])
		}
	}
	half := (b.n + 1) / 2
	b.mergeShares(half)
	clear(b.bin[half:b.n])
	b.n, b.width = half, 2*b.width
	b.from, b.until = 0, 0
}

// joined is the bin that covers a and its right neighbour c.
func joined(a, c *column.Bin) column.Bin {
	return column.Bin{
		BusyUnitUS:     model.Plus(a.BusyUnitUS, c.BusyUnitUS),
		QueuedJobUS:    model.Plus(a.QueuedJobUS, c.QueuedJobUS),
		QueuedUnitUS:   model.Plus(a.QueuedUnitUS, c.QueuedUnitUS),
		RunningJobUS:   model.Plus(a.RunningJobUS, c.RunningJobUS),
		QueuedUnitsMax: max(a.QueuedUnitsMax, c.QueuedUnitsMax),
		QueuedJobsMax:  max(a.QueuedJobsMax, c.QueuedJobsMax),
		BusyUnitsMax:   max(a.BusyUnitsMax, c.BusyUnitsMax),
		Starts:         a.Starts + c.Starts,
		Ends:           a.Ends + c.Ends,
		Submits:        a.Submits + c.Submits,
	}
}

// copy returns the bins with their places in time.
func (b *bins) copy() []column.Bin {
	out := make([]column.Bin, b.n)
	for i := range out {
		out[i] = b.bin[i]
		out[i].Time = b.begin(i)
		out[i].Width = b.width
	}
	return out
}
