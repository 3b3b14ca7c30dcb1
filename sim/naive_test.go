package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"orrery/scheduler/model"
	"orrery/scheduler/order/ordertest"
	"orrery/sim/plan"
)

// The naive implementation is a second scheduler and a second world, written from the
// specification and from nothing else, in the plainest way: jobs and nodes are
// objects, the queue is sorted as a whole at every pass, nodes are looked at
// one by one, and everything predicted is computed anew from the list of
// running jobs. It is slow, and short enough to be believed. The tests hold the
// production core against it.

// naiveJob is a job and all that happens to it.
type naiveJob struct {
	id       int
	submit   model.Time
	runtime  model.Duration // absent: never ran in the log
	walltime model.Duration // Forever: none stated
	leaves   model.Time     // when a job that never ran was withdrawn

	units          int32 // asked for
	nodes, perNode int32 // PerNode shape when nodes > 0

	state     model.JobState
	inFlight  bool
	withdrawn bool           // while a proposal was in flight
	held      map[int]int32  // node -> units, running or in flight
	order     int            // of starting
	start     model.Time     // of the run
	predicted model.Time     // end, in the eyes of the scheduler
	returned  bool           // its nodes count as free although it has not ended
	end       model.Time     // of the run or of the wait
	nodeSet   string         // of the last attempt
	key       ordertest.Key  // in the order of the queue
	slot      model.Time     // start of the reservation, AbsentTime for none
	waited    bool           // outside the window of conservative
	outcome   model.JobState // of the run
}

// naiveEvent is a future fact.
type naiveEvent struct {
	at   model.Time
	rank int // end, answer, withdrawal, submission
	job  *naiveJob
}

const (
	naiveEnd = iota
	naiveAnswer
	naiveWithdrawal
	naiveSubmission
)

// naive is the world and the scheduler.
type naive struct {
	spec      plan.Spec
	whole     bool
	units     []int32     // of each node
	free      []int32     // of them, by node
	vacant    int32       // in all
	jobs      []*naiveJob // all that were submitted
	events    []naiveEvent
	arrivals  []naiveEvent // submissions to come, in order
	now       model.Time
	starts    int
	waiting   []*naiveJob // in order of submission
	running   []*naiveJob // in flight included
	compress  bool        // capacity came free earlier than predicted
	log       []string
	keys      *ordertest.Keys
	undecided int         // neighbours in a queue of which the core may have either first
	proposals []*naiveJob // of this pass
	idle      bool        // the last pass proposed nothing
	slips     int         // reservations that moved to a later instant
}

func (w *naive) note(kind string, j *naiveJob) {
	w.log = append(w.log, fmt.Sprintf("%d %s %d", w.now, kind, j.id))
}

// run replays rows to the end.
func (w *naive) run() {
	for {
		t := model.Never
		if len(w.arrivals) > 0 {
			t = w.arrivals[0].at
		}
		for _, e := range w.events {
			t = min(t, e.at)
		}
		if w.spec.Cycle > 0 {
			if len(w.waiting) > 0 && (t != model.Never || !w.idle || w.due() != model.Never) {
				t = min(t, w.tickAfter(w.now))
			}
		} else {
			t = min(t, w.due())
		}
		if t == model.Never {
			return
		}
		w.now = t
		for len(w.arrivals) > 0 && w.arrivals[0].at == t {
			w.events, w.arrivals = append(w.events, w.arrivals[0]), w.arrivals[1:]
		}
		w.instant()
	}
}

// tickAfter is the first tick after t.
func (w *naive) tickAfter(t model.Time) model.Time {
	tick := model.Time(w.spec.Phase)
	if t >= tick {
		k := (t - tick) / model.Time(w.spec.Cycle)
		tick += (k + 1) * model.Time(w.spec.Cycle)
	}
	return tick
}

func (w *naive) isTick(t model.Time) bool {
	since := t - model.Time(w.spec.Phase)
	return since >= 0 && since%model.Time(w.spec.Cycle) == 0
}

// instant handles everything that happens now, round by round.
func (w *naive) instant() {
	for round := 0; ; round++ {
		facts := w.take()
		if round > 0 && len(facts) == 0 {
			return
		}
		switch {
		case w.spec.EventOrder == "sequential":
			w.sequential(facts)
		case w.spec.Cycle > 0:
			w.observe(facts)
			if round == 0 && w.isTick(w.now) {
				w.pass()
			}
		case w.observe(facts) || w.due() == w.now:
			w.pass()
		}
	}
}

// take removes the events of now that exist at this moment, in their order.
func (w *naive) take() []naiveEvent {
	var out, rest []naiveEvent
	for _, e := range w.events {
		if e.at == w.now {
			out = append(out, e)
		} else {
			rest = append(rest, e)
		}
	}
	w.events = rest
	slices.SortStableFunc(out, func(a, b naiveEvent) int {
		return cmp.Or(a.rank-b.rank, expiry(a)-expiry(b), a.job.id-b.job.id)
	})
	return out
}

// expiry is 1 for the end of a job that is killed at its request: completions
// come first.
func expiry(e naiveEvent) int {
	if e.rank == naiveEnd && e.job.outcome == model.Timeout {
		return 1
	}
	return 0
}

func (w *naive) observe(facts []naiveEvent) (any bool) {
	for _, e := range facts {
		any = w.fact(e) || any
	}
	return any
}

// fact changes the state by one event. It returns false for the withdrawal of a
// job that has started: its end is an event of its own.
func (w *naive) fact(e naiveEvent) bool {
	w.idle = false
	j := e.job
	switch e.rank {
	case naiveEnd:
		if !j.returned || w.spec.Backfill == "conservative" {
			w.note("ended", j)
		}
		w.compress = w.compress || w.now < j.predicted
		w.giveBack(j)
		w.running = remove(w.running, j)
		j.state, j.end = j.outcome, w.now
	case naiveAnswer:
		if j.withdrawn {
			w.refuse(j)
			return true
		}
		w.grant(j)
	case naiveWithdrawal:
		if j.state != model.Pending {
			return false
		}
		w.note("cancelled", j)
		j.state, j.end = model.Cancelled, w.now
		if j.inFlight {
			j.withdrawn = true
			return true
		}
		w.waiting = remove(w.waiting, j)
		w.compress = w.compress || j.slot != model.AbsentTime && j.slot != model.Never
	case naiveSubmission:
		w.note("submitted", j)
		w.waiting = append(w.waiting, j)
		if j.runtime == model.AbsentDuration {
			w.events = append(w.events, naiveEvent{max(j.leaves, w.now), naiveWithdrawal, j})
		}
	}
	return true
}

// grant starts j on the nodes it holds.
func (w *naive) grant(j *naiveJob) {
	w.note("assigned", j)
	w.starts++
	j.inFlight, j.order = false, w.starts
	if end := w.planned(w.now.Add(w.length(j))); end != j.predicted {
		// It was predicted to run from the proposal on.
		j.predicted, w.compress = end, true
	}
	j.state, j.start, j.outcome = model.Running, w.now, model.Completed
	var end model.Time
	switch {
	case j.runtime == model.AbsentDuration:
		end, j.outcome = max(j.leaves, w.now), model.Cancelled
		if limit := w.now.Add(j.walltime); w.spec.Overrun != "extend" && limit < end {
			end, j.outcome = limit, model.Timeout
		}
	case w.spec.Overrun != "extend" && j.runtime > j.walltime:
		end, j.outcome = w.now.Add(j.walltime), model.Timeout
	default:
		end = w.now.Add(j.runtime)
	}
	w.events = append(w.events, naiveEvent{end, naiveEnd, j})
}

// propose takes nodes for j and asks the quorum.
func (w *naive) propose(j *naiveJob) {
	j.held = w.choose(j)
	for n, u := range j.held {
		w.free[n] -= u
		w.vacant -= u
	}
	j.nodeSet = nodeText(j.held)
	j.inFlight, j.predicted, j.slot = true, w.planned(w.now.Add(w.length(j))), model.AbsentTime
	w.waiting = remove(w.waiting, j)
	w.running = append(w.running, j)
	w.proposals = append(w.proposals, j)
}

// answer hands the proposals to the quorum and says whether it refused one at
// once.
func (w *naive) answer() (refused bool) {
	proposals := w.proposals
	w.proposals = nil
	for _, j := range proposals {
		w.log = append(w.log, fmt.Sprintf("%d propose %d on%s", w.now, j.id, j.nodeSet))
	}
	for _, j := range proposals {
		switch {
		case w.spec.QuorumLatency > 0:
			w.events = append(w.events, naiveEvent{w.now.Add(w.spec.QuorumLatency), naiveAnswer, j})
		case j.withdrawn:
			w.refuse(j)
			refused = true
		default:
			w.grant(j)
		}
	}
	return refused
}

// refuse is the quorum's answer for a job that was withdrawn meanwhile.
func (w *naive) refuse(j *naiveJob) {
	w.note("refused", j)
	w.compress = w.compress || w.now < j.predicted
	w.giveBack(j)
	w.running = remove(w.running, j)
}

// giveBack frees the nodes of j, unless they count as free already.
func (w *naive) giveBack(j *naiveJob) {
	if j.returned {
		return
	}
	for n, u := range j.held {
		w.free[n] += u
		w.vacant += u
	}
}

// sequential is one round of an instant in the order of pyss. Jobs that end now
// as requested are free at once; then withdrawals, submissions and, in the
// order in which the jobs started, ends are worked off one by one. The quorum
// is asked at the end.
func (w *naive) sequential(facts []naiveEvent) {
	conservative := w.spec.Backfill == "conservative"
	slices.SortStableFunc(facts, func(a, b naiveEvent) int {
		if a.rank == naiveEnd && b.rank == naiveEnd {
			return a.job.order - b.job.order
		}
		return later(a) - later(b)
	})
	for _, e := range facts {
		if j := e.job; e.rank == naiveEnd && (j.predicted == w.now || conservative && j.predicted < w.now) {
			w.giveBack(j)
			if j.returned = true; !conservative {
				w.note("ended", j)
			}
		}
	}
	if conservative && w.postpone() {
		w.plan(true)
	}
	for _, e := range facts {
		if !w.fact(e) {
			continue
		}
		if conservative {
			w.plan(e.rank == naiveEnd)
		} else {
			w.decide()
		}
	}
	if conservative {
		w.decide()
	}
	for w.answer() {
		w.decide()
	}
}

func later(e naiveEvent) int {
	if e.rank == naiveEnd {
		return 1
	}
	return 0
}

func remove(list []*naiveJob, j *naiveJob) []*naiveJob {
	return slices.DeleteFunc(slices.Clone(list), func(x *naiveJob) bool { return x == j })
}

func nodeText(held map[int]int32) string {
	var ids []int
	for n := range held {
		ids = append(ids, n)
	}
	slices.Sort(ids)
	var b strings.Builder
	for _, n := range ids {
		fmt.Fprintf(&b, " %d:%d", n, held[n])
	}
	return b.String()
}
