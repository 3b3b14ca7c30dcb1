package backfill

import (
	"sort"

	"orrery/scheduler/model"
)

// Profile is the predicted free capacity over time: a step function with
// free[i] available from at[i] until at[i+1], the last step lasting for ever.
// Neighbouring steps differ. Costs grow with the number of steps, which is at
// most twice the jobs that run or hold a reservation.
type Profile struct {
	at   []model.Time
	free []int32
}

// Reset makes the profile of an idle cluster.
func (p *Profile) Reset(now model.Time, total int32) {
	p.at = append(p.at[:0], now)
	p.free = append(p.free[:0], total)
}

// Forget drops the steps that lie wholly before now.
func (p *Profile) Forget(now model.Time) {
	i := p.step(now)
	if i <= 0 {
		return
	}
	p.at = p.at[:copy(p.at, p.at[i:])]
	p.free = p.free[:copy(p.free, p.free[i:])]
}

// Earliest returns the first instant from now on at which need stays free for
// the whole of d, or Never.
func (p *Profile) Earliest(now model.Time, need int32, d model.Duration) model.Time {
	start := model.Never
	for i := max(p.step(now), 0); i < len(p.at); i++ {
		if p.free[i] < need {
			start = model.Never
			continue
		}
		if start == model.Never {
			start = max(p.at[i], now)
		}
		if i+1 == len(p.at) || p.at[i+1] >= start.Add(d) {
			return start
		}
	}
	return model.Never
}

// Sooner is Earliest for a job that holds need over the d from slot on, as if it
// did not: the first instant before slot from which need is free throughout,
// else slot. The profile must not be negative anywhere in its hold.
func (p *Profile) Sooner(now, slot model.Time, need int32, d model.Duration) model.Time {
	end := slot.Add(d)
	start := model.Never
	for i := max(p.step(now), 0); i < len(p.at); i++ {
		at := p.at[i]
		if start == model.Never && at >= slot {
			return slot
		}
		if p.free[i] < need && (at < slot || at >= end) {
			if at >= end || i+1 == len(p.at) || p.at[i+1] > slot {
				return slot // before slot there is no room, and there is no way around it
			}
			start = model.Never
			continue
		}
		if start == model.Never {
			start = max(at, now)
		}
		if i+1 == len(p.at) || p.at[i+1] >= start.Add(d) {
			return start
		}
	}
	return slot
}

// Add changes the free capacity by delta over [from, until).
func (p *Profile) Add(from, until model.Time, delta int32) {
	if from >= until {
		return
	}
	i := p.cut(from)
	j := len(p.at)
	if until != model.Never {
		j = p.cut(until)
	}
	for k := i; k < j; k++ {
		p.free[k] += delta
	}
	p.join(j)
	p.join(i)
}

// step is the index of the step that holds t, or -1 before the first.
func (p *Profile) step(t model.Time) int {
	return sort.Search(len(p.at), func(i int) bool { return p.at[i] > t }) - 1
}

// cut makes a step begin at t and returns its index.
func (p *Profile) cut(t model.Time) int {
	i := p.step(t)
	if i >= 0 && p.at[i] == t {
		return i
	}
	if i < 0 {
		panic("backfill: change of the past")
	}
	i++
	p.at = append(p.at, 0)
	p.free = append(p.free, 0)
	copy(p.at[i+1:], p.at[i:])
	copy(p.free[i+1:], p.free[i:])
	p.at[i], p.free[i] = t, p.free[i-1]
	return i
}

// join merges step i into the one before when they are equal.
func (p *Profile) join(i int) {
	if i <= 0 || i >= len(p.at) || p.free[i] != p.free[i-1] {
		return
	}
	p.at = append(p.at[:i], p.at[i+1:]...)
	p.free = append(p.free[:i], p.free[i+1:]...)
}
