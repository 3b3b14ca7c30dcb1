package localtime

import (
	"math"

	"orrery/scheduler/model"
)

// Order finds what the order of a log leaves of local times that occurred twice. Learn is told all of them, from the
// first to the last; Next says then of each, in any order, which is meant. The first fall from one time to the next, in
// an hour that occurred twice, is where clocks were set back: what is before it is of the first hour, what is behind
// it of the second. An order that is broken anywhere decides nothing.
type Order struct {
	// Distinct says that no two times are of one instant, as in a series: a time that comes again is of the second hour.
	Distinct bool

	folds  map[model.Time]*fold
	last   Reading
	lastN  int64
	seen   bool
	broken bool
	repeat bool
}

// fold is an hour that occurred twice: the last time that must be of the first hour, and the first that must be of the
// second, by their numbers.
type fold struct{ first, second int64 }

// Learn takes the time of row n, narrowed by the row where it has others. Numbers of rows ascend.
func (o *Order) Learn(n int64, r Reading) {
	if r.How == Skipped || r.N == 0 {
		return
	}
	if r.fold != 0 {
		f := o.at(r.fold)
		switch {
		case r.N == 2:
			o.repeat = true
		case r.first() < r.fold:
			f.first = max(f.first, n)
		default:
			f.second = min(f.second, n)
		}
	}
	if o.seen {
		o.compare(n, &r)
	}
	o.last, o.lastN, o.seen = r, n, true
}

// compare holds a time to the one before it.
func (o *Order) compare(n int64, r *Reading) {
	late := func(a, b model.Time) bool { return a > b || o.Distinct && a == b } // a cannot come before b
	if o.last.first() > r.last() {
		o.broken = true
		return
	}
	if r.fold != 0 && r.N == 2 && late(o.last.first(), r.first()) {
		f := o.at(r.fold)
		f.second = min(f.second, n)
	}
	if o.last.fold != 0 && o.last.N == 2 && late(o.last.last(), r.last()) {
		f := o.at(o.last.fold)
		f.first = max(f.first, o.lastN)
	}
}

func (o *Order) at(when model.Time) *fold {
	f := o.folds[when]
	if f == nil {
		f = &fold{first: -1, second: math.MaxInt64}
		if o.folds == nil {
			o.folds = map[model.Time]*fold{}
		}
		o.folds[when] = f
	}
	return f
}

// Repeated says whether a time was learned that its row leaves open.
func (o *Order) Repeated() bool { return o.repeat }

// Next is what the order leaves of the time of row n, as it was learned. One that stays open is as it was.
func (o *Order) Next(n int64, r Reading) Reading {
	f := o.folds[r.fold]
	if r.fold == 0 || r.N != 2 || f == nil || o.broken || f.first >= f.second {
		return r
	}
	switch {
	case n <= f.first:
		r.N, r.How = 1, ByOrder
	case n >= f.second:
		r.At[0], r.N, r.How = r.At[1], 1, ByOrder
	}
	return r
}

// Series is Order for times that are at hand. It changes them.
func Series(times []Reading, distinct bool) {
	o := Order{Distinct: distinct}
	for i, r := range times {
		o.Learn(int64(i), r)
	}
	for i, r := range times {
		times[i] = o.Next(int64(i), r)
	}
}
