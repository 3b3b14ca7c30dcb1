package metric

import (
	"fmt"
	"math/big"

	"orrery/scheduler/model"
)

var (
	bigSecond = big.NewInt(int64(model.Second))
	bigHour   = big.NewInt(int64(model.Hour))
	bigOne    = big.NewInt(one)
)

func undefined(note string) value { return value{note: note} }

// ratio is num/den over count jobs; undefined, with a note, when den is 0.
func ratio(num, den *big.Int, count int64, note, without string) value {
	if den.Sign() == 0 {
		return undefined(without)
	}
	return value{x: quotient(num, den), ok: true, count: count, note: note}
}

func (r *reduction) countAll() value { return countValue(r.submitted) }

func countValue(n int64) value { return value{x: float64(n), ok: true, count: n} }

func countOf(states ...model.JobState) func(*reduction) value {
	return func(r *reduction) value {
		n := int64(0)
		for _, s := range states {
			n += r.outcome[s]
		}
		return countValue(n)
	}
}

// left says how many jobs a metric leaves out.
func left(n int64, why string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "without 1 job that " + why
	}
	return fmt.Sprintf("without %d jobs that %s", n, why)
}

const (
	noneStarted  = "no job started"
	noneFinished = "no job finished"
	noLength     = "the window has no length"
)

func (r *reduction) startedNote() string {
	return r.withWaiting(left(r.submitted-r.started, "never started"))
}

func (r *reduction) finishedNote() string {
	return r.withWaiting(left(r.submitted-r.finished, "did not finish"))
}

// withWaiting adds to a note how many jobs count with their wait so far.
func (r *reduction) withWaiting(note string) string {
	if r.waiting == 0 {
		return note
	}
	if note != "" {
		note += ", "
	}
	return note + fmt.Sprintf("with the wait so far of %d jobs that still waited", r.waiting)
}

func (r *reduction) waitMean() value {
	return ratio(r.wait.total.big(), product(big.NewInt(r.wait.n), bigSecond), r.wait.n, r.startedNote(), noneStarted)
}

func (r *reduction) waitMax() value {
	return r.largest(&r.wait, bigSecond, r.startedNote(), noneStarted)
}

// largest is the largest key over scale.
func (r *reduction) largest(m *moments, scale *big.Int, note, without string) value {
	if m.n == 0 {
		return undefined(without)
	}
	return ratio(new(big.Int).SetUint64(m.max), scale, m.n, note, without)
}

func (r *reduction) waitDeviation() value {
	if r.wait.n == 0 {
		return undefined(noneStarted)
	}
	n, total := big.NewInt(r.wait.n), r.wait.total.big()
	variance := new(big.Int).Sub(product(n, r.squares.big()), product(total, total)) // times n²
	root := new(big.Float).SetPrec(256).SetInt(variance)
	root.Sqrt(root)
	x, _ := root.Quo(root, new(big.Float).SetPrec(256).SetInt(product(n, bigSecond))).Float64()
	return value{x: x, ok: true, count: r.wait.n, note: r.startedNote()}
}

func (r *reduction) waitedFraction() value {
	return ratio(big.NewInt(r.waited), big.NewInt(r.started), r.started, r.startedNote(), noneStarted)
}

func (r *reduction) turnMean() value {
	return ratio(r.turn.total.big(), product(big.NewInt(r.turn.n), bigSecond), r.turn.n, r.finishedNote(), noneFinished)
}

func (r *reduction) turnMax() value {
	return r.largest(&r.turn, bigSecond, r.finishedNote(), noneFinished)
}

func (r *reduction) slowMean() value {
	return ratio(r.slow.total.big(), product(big.NewInt(r.slow.n), bigOne), r.slow.n, r.slowNote(), noneFinished)
}

func (r *reduction) slowMax() value { return r.largest(&r.slow, bigOne, r.slowNote(), noneFinished) }

func (r *reduction) slowNote() string {
	return left(r.submitted-r.slow.n, "did not finish or had runtime 0")
}

func (r *reduction) boundedMean() value {
	return ratio(r.bounded.total.big(), product(big.NewInt(r.bounded.n), bigOne), r.bounded.n, r.finishedNote(), noneFinished)
}

func (r *reduction) boundedMax() value {
	return r.largest(&r.bounded, bigOne, r.finishedNote(), noneFinished)
}

func (r *reduction) perProcMean() value {
	return ratio(r.perProc.total.big(), product(big.NewInt(r.perProc.n), bigOne), r.perProc.n, r.finishedNote(), noneFinished)
}

func (r *reduction) perProcMax() value {
	return r.largest(&r.perProc, bigOne, r.finishedNote(), noneFinished)
}

// spanPercentile is a percentile of waits or turnarounds, in seconds.
func spanPercentile(q quantity, p int) func(*reduction) value {
	return func(r *reduction) value {
		if q == qWait {
			return r.percentile(q, p, bigSecond, r.startedNote(), noneStarted)
		}
		return r.percentile(q, p, bigSecond, r.finishedNote(), noneFinished)
	}
}

// ratioPercentile is a percentile of slowdowns.
func ratioPercentile(q quantity, p int) func(*reduction) value {
	return func(r *reduction) value {
		if q == qSlowdown {
			return r.percentile(q, p, bigOne, r.slowNote(), noneFinished)
		}
		return r.percentile(q, p, bigOne, r.finishedNote(), noneFinished)
	}
}

// percentile is a percentile of a quantity over scale.
func (r *reduction) percentile(q quantity, p int, scale *big.Int, note, without string) value {
	if r.pick[q].n == 0 {
		return undefined(without)
	}
	return ratio(r.pick[q].percentile(p), scale, r.pick[q].n, note, without)
}

func (r *reduction) weightedWait() value {
	return ratio(r.areaWait.big(), product(r.area.big(), bigSecond), r.finished, r.finishedNote(), "no finished job has any area")
}

func (r *reduction) weightedResponse() value {
	return ratio(r.areaTurn.big(), product(r.area.big(), bigSecond), r.finished, r.finishedNote(), "no finished job has any area")
}

func (r *reduction) makespan() value {
	if r.started == 0 {
		return undefined(noneStarted)
	}
	return ratio(new(big.Int).Sub(big.NewInt(r.lastEnd), big.NewInt(r.firstSubmit)), bigSecond, r.started, "", "")
}

// overWindow is num/(den·length) unless the window is empty.
func (r *reduction) overWindow(num *big.Int, den *big.Int) value {
	if !r.measure {
		return undefined(noLength)
	}
	return ratio(num, product(den, big.NewInt(r.length)), r.submitted, "", noLength)
}

func (r *reduction) windowBegin() value {
	if !r.measure {
		return undefined(noLength)
	}
	return ratio(big.NewInt(r.begin), bigSecond, r.submitted, "", "")
}

func (r *reduction) windowLength() value {
	if !r.measure {
		return undefined(noLength)
	}
	return ratio(big.NewInt(r.length), bigSecond, r.submitted, "", "")
}

func (r *reduction) throughput() value {
	v := r.overWindow(product(big.NewInt(r.endedIn), bigHour), big.NewInt(1))
	v.count = r.endedIn
	return v
}

func (r *reduction) utilisation() value {
	return r.overWindow(r.over.busy.big(), big.NewInt(r.units))
}

func (r *reduction) lossOfCapacity() value {
	return r.overWindow(r.over.lost.big(), big.NewInt(r.units))
}

func (r *reduction) queueMean() value {
	return r.overWindow(r.over.queuedJobs.big(), big.NewInt(1))
}

func (r *reduction) queueMax() value {
	if !r.measure {
		return undefined(noLength)
	}
	return value{x: float64(r.over.queuedMax), ok: true, count: r.submitted}
}

func (r *reduction) queueGrowth() value {
	if r.growth == nil {
		return undefined("measured in the steady window, when that has a length")
	}
	x, _ := new(big.Rat).Quo(r.growth, big.NewRat(r.units, 1)).Float64()
	return value{x: x, ok: true, count: r.submitted}
}
