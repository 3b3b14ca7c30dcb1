package metric

import (
	"math"
	"math/bits"

	"orrery/scheduler/model"
	"orrery/sim/record/column"
)

// Slowdowns are kept as unsigned fixed point with fractionBits bits after the
// point, rounded half up: their sums are exact integers and their order is
// total. The rounding is below 5e-7 for each job, and so for every mean and
// percentile. Values of 2^44 and more saturate.
const (
	fractionBits = 20
	one          = 1 << fractionBits
)

// bound is the runtime below which bounded slowdowns take a job as this long.
const bound = uint64(10 * model.Second)

// fixed is num/den in fixed point; den must not be zero.
func fixed(num, den uint64) uint64 {
	hi, lo := bits.Mul64(num, one)
	lo, c := bits.Add64(lo, den/2, 0)
	hi += c
	if hi >= den {
		return math.MaxUint64
	}
	q, _ := bits.Div64(hi, lo, den)
	return q
}

// boundedSlowdown is max(1, response/max(runtime, 10 s)) in fixed point.
func boundedSlowdown(response, runtime uint64) uint64 {
	return max(one, fixed(response, max(runtime, bound)))
}

// perProcessorSlowdown is max(1, response/(procs·max(runtime, 10 s))).
func perProcessorSlowdown(response, runtime, procs uint64) uint64 {
	hi, den := bits.Mul64(max(runtime, bound), procs)
	if hi != 0 {
		return one // longer than any response
	}
	return max(one, fixed(response, den))
}

// quantity is what a percentile can be asked of.
type quantity int

const (
	qWait quantity = iota
	qTurnaround
	qSlowdown
	qBounded
	quantities
)

// observation is a job as the reductions see it.
type observation struct {
	submit, end int64
	leftQueue   int64 // for the first time; math.MaxInt64 of one that still waits
	state       model.JobState
	started     bool // has a wait
	waiting     bool // its wait is that until the run stopped
	finished    bool // has a turnaround
	ended       bool // by itself, or at its walltime
	runtime     uint64
	user        int32              // in the first pass only
	procs       uint64             // in the first pass only
	slowed      bool               // finished after some time: has a slowdown
	key         [quantities]uint64 // valid where started, finished or slowed

	// unfinished says that jobs which had not left when the run stopped count: with
	// their wait so far, and as if they ran from then, or from their start, for as
	// long as they do.
	unfinished bool

	site                    bool // what follows is set
	service                 bool // it runs for as long as it is wanted; in the first pass only
	vcluster, tenant, class int32
	own                     held // in the first pass only, as what follows
	preemptions, requeues   int64
	again                   bool // it has run before
}

// keyColumns are what observe needs.
const keyColumns = column.Submit | column.Start | column.End | column.Runtime | column.State

// observe reads row i of a batch. What is valid in the first pass only keeps its
// values.
func (o *observation) observe(c *column.Jobs, i int) {
	submit, start, end, runtime := c.Submit[i], c.Start[i], c.End[i], uint64(c.Runtime[i])
	o.submit, o.end, o.state, o.runtime = submit, end, model.JobState(c.State[i]), runtime
	o.started, o.waiting = start != column.Absent, false
	switch o.leftQueue = start; {
	case o.started:
	case o.state.Terminal():
		o.leftQueue = end
	default:
		o.leftQueue = math.MaxInt64
	}
	o.ended = o.started && (o.state == model.Completed || o.state == model.Timeout)
	o.finished = o.ended
	if o.unfinished && !o.state.Terminal() {
		o.started, o.waiting, o.finished = true, start == column.Absent, runtime > 0
		if o.waiting {
			start = end
		}
		end = int64(model.Time(start).Add(model.Duration(c.Runtime[i])))
	}
	o.slowed = o.finished && runtime > 0
	if !o.started {
		return
	}
	o.key[qWait] = uint64(start - submit)
	if !o.finished {
		return
	}
	response := uint64(end - submit)
	o.key[qTurnaround] = response
	if o.slowed {
		o.key[qSlowdown] = fixed(response, runtime)
	}
	if runtime >= bound {
		o.key[qBounded] = max(one, o.key[qSlowdown])
	} else {
		o.key[qBounded] = boundedSlowdown(response, runtime)
	}
}
