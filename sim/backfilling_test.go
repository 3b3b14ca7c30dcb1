package sim

import (
	"slices"

	"orrery/scheduler/model"
)

func sorted(ts []model.Time) []model.Time {
	slices.Sort(ts)
	return slices.Compact(ts)
}

// pass makes one planning pass and hands what it decided to the quorum. A
// refusal known at once makes one more.
func (w *naive) pass() {
	w.decide()
	for w.answer() {
		w.decide()
	}
}

// decide makes one planning pass.
func (w *naive) decide() {
	before := len(w.proposals)
	defer func() { w.idle = len(w.proposals) == before }()
	switch w.spec.Backfill {
	case "none":
		for _, j := range w.queue() {
			if !w.fits(j, w.free) {
				break
			}
			w.propose(j)
		}
	case "first-fit":
		for _, j := range w.queue() {
			if w.fits(j, w.free) {
				w.propose(j)
			}
		}
	case "conservative":
		w.plan(false)
		w.startDue()
	default:
		for w.easy() {
		}
	}
}

// easy makes one EASY pass and says whether it started anything.
func (w *naive) easy() bool {
	before := len(w.proposals)
	queue := w.queue()
	for len(queue) > 0 && w.fits(queue[0], w.free) {
		w.propose(queue[0])
		queue = queue[1:]
	}
	if len(queue) == 0 {
		return len(w.proposals) > before
	}
	head := queue[0]
	shadow, later := w.shadow(head)
	for _, j := range queue[1:] {
		// Every node that a job needs has a unit free at least.
		if w.need(j) > w.vacant || !w.fits(j, w.free) {
			continue
		}
		if w.now.Add(j.walltime) <= shadow {
			w.propose(j)
			continue
		}
		held := w.choose(j)
		rest := slices.Clone(later)
		for n, u := range held {
			rest[n] -= u
		}
		if w.fits(head, rest) {
			w.propose(j)
			later = rest
		}
	}
	return len(w.proposals) > before
}

// Conservative backfilling. Reservations are slots: a job with a slot holds its
// need over [slot, slot+walltime).

// window is the part of the queue that may hold slots.
func (w *naive) window() []*naiveJob {
	queue := w.queue()
	if d := w.spec.Depth; d > 0 && d < len(queue) {
		return queue[:d]
	}
	return queue
}

// plan drops the slots that were missed or are outside the window. Then it
// gives slots to the jobs of the window: to all of them anew when capacity came
// free early or was lost, a slot was missed or a job moved up into the window,
// else to those that have none.
func (w *naive) plan(again bool) {
	again = w.postpone() || w.compress || again
	w.compress = false
	window := w.window()
	for _, j := range w.waiting {
		inside := slices.Contains(window, j)
		missed := j.slot != model.AbsentTime && j.slot < w.now
		again = again || missed || inside && j.waited
		if !inside || missed {
			j.slot = model.AbsentTime
		}
		j.waited = !inside
	}
	for _, j := range window {
		if again || j.slot == model.AbsentTime {
			old := j.slot
			j.slot = model.AbsentTime
			if j.slot = w.earliest(j); old != model.AbsentTime && j.slot > old {
				w.slips++
			}
		}
	}
}

// postpone predicts what is overdue to end one second from now, or at the next tick.
func (w *naive) postpone() (late bool) {
	for _, j := range w.running {
		if j.predicted <= w.now && !j.returned {
			j.predicted, late = w.planned(w.now.Add(model.Second)), true
		}
	}
	return late
}

// length is for how long j is expected to run. Conservative backfilling counts
// a job that asks for no time as overdue from its start.
func (w *naive) length(j *naiveJob) model.Duration {
	if w.spec.Backfill == "conservative" && j.walltime == 0 {
		return model.Second
	}
	return j.walltime
}

// planned is a predicted end as conservative backfilling has it: on a cycle at the tick
// that comes next.
func (w *naive) planned(end model.Time) model.Time {
	if w.spec.Backfill != "conservative" || w.spec.Cycle == 0 || end == model.Never || w.isTick(end) {
		return end
	}
	return w.tickAfter(end)
}

// startDue starts the jobs whose slot has come, as long as that lets others
// move up into the window.
func (w *naive) startDue() {
	for started := true; started; {
		started = false
		for _, j := range w.window() {
			if j.slot == w.now {
				if !w.fits(j, w.free) {
					panic("naive: a slot without capacity")
				}
				w.propose(j)
				started = true
			}
		}
		if started && w.spec.Depth > 0 && w.spec.EventOrder != "sequential" {
			w.plan(false)
		}
	}
}

// due is the next slot.
func (w *naive) due() model.Time {
	due := model.Never
	for _, j := range w.waiting {
		if j.slot != model.AbsentTime {
			due = min(due, j.slot)
		}
	}
	return due
}

// earliest is the first instant from now on at which the need of j is free for
// as long as it asks.
func (w *naive) earliest(j *naiveJob) model.Time {
	candidates := []model.Time{w.now}
	for _, b := range w.holds() {
		candidates = append(candidates, b.until)
	}
	for _, at := range sorted(candidates) {
		if at != model.Never && w.freeThroughout(at, w.planned(at.Add(w.length(j)))) >= w.need(j) {
			return at
		}
	}
	return model.Never
}

// hold is capacity in use over [from, until).
type hold struct {
	from, until model.Time
	need        int32
}

func (w *naive) holds() []hold {
	var out []hold
	for _, j := range w.running {
		if !j.returned {
			out = append(out, hold{w.now, w.predictedEnd(j), w.need(j)})
		}
	}
	for _, j := range w.waiting {
		if j.slot != model.AbsentTime && j.slot != model.Never {
			out = append(out, hold{j.slot, w.planned(j.slot.Add(w.length(j))), w.need(j)})
		}
	}
	return out
}

// freeThroughout is the least free capacity over [from, until), at from at
// least.
func (w *naive) freeThroughout(from, until model.Time) int32 {
	holds := w.holds()
	at := []model.Time{from}
	for _, h := range holds {
		if from < h.from && h.from < until {
			at = append(at, h.from)
		}
	}
	least := w.capacity()
	for _, t := range at {
		free := w.capacity()
		for _, h := range holds {
			if h.from <= t && t < h.until {
				free -= h.need
			}
		}
		least = min(least, free)
	}
	return least
}

func (w *naive) capacity() int32 {
	if w.whole {
		return int32(len(w.units))
	}
	sum := int32(0)
	for _, u := range w.units {
		sum += u
	}
	return sum
}
