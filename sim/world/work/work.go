// Package work is the arithmetic of work that is done at a rate: what is left of it and
// when it is done, and pools whose members share a capacity. All of it is integer, so
// that results are equal on every machine. It knows neither jobs nor hardware, and no
// clock: every instant is an argument.
package work

import "orrery/scheduler/model"

// Work is what an attempt has to do, and how far it has got. An amount of work is stated
// as the time that it takes at speed 1, in µs and 2^-32 of them. It is done at a rate,
// model.One for speed 1, that may change at any instant: what has been done up to then is
// settled without any rounding, so that it does not matter how often that happens. Only
// the end is rounded, half up to the µs. Each call takes constant time.
type Work struct {
	left  amount         // at since
	whole model.Duration // Forever when it has no end
	since model.Time     // from then on it is done at rate; may be ahead
	took  model.Duration // time worked before since
	rate  model.Fixed
}

// Of is work that takes whole at speed 1, and begins at an instant, at that speed. Work
// of Forever has no end.
func Of(whole model.Duration, begin model.Time) Work {
	return Work{left: micros(whole), whole: whole, since: begin, rate: model.One}
}

// End is when it is done at its rate, rounded half up to the µs; Never when it has no end
// or does not go on.
func (w *Work) End() model.Time {
	if w.whole == model.Forever {
		return model.Never
	}
	return w.since.Add(w.left.over(w.rate))
}

// leftAt is what is left at t.
func (w *Work) leftAt(t model.Time) amount {
	if t <= w.since {
		return w.left
	}
	return w.left.sub(product(t.Sub(w.since), w.rate))
}

// Done is the work done by t, at speed 1, rounded down to the µs; all of it from End on.
// t must not lie before the last change of rate.
func (w *Work) Done(t model.Time) model.Duration {
	if w.rate == model.One && w.left == micros(w.whole) { // at speed 1 from its beginning on
		return min(max(0, t.Sub(w.since)), w.whole)
	}
	left := w.leftAt(t)
	if t >= w.since && left.over(w.rate) == 0 { // less than what would move the end
		return w.whole
	}
	return micros(w.whole).sub(left).floor()
}

// Took is the time for which it was worked on by t. At speed 1 that is Done, before the
// End.
func (w *Work) Took(t model.Time) model.Duration { return w.took + max(0, t.Sub(w.since)) }

// settle takes off what has been done by now.
func (w *Work) settle(now model.Time) {
	if now <= w.since {
		return
	}
	w.left = w.leftAt(now)
	w.took += now.Sub(w.since)
	w.since = now
}

// Rate is that at which it is done.
func (w *Work) Rate() model.Fixed { return w.rate }

// SetRate lets the work go on at a rate of 0 or more from now on, or from when it begins.
// It says whether that is a change: it is none for work that is done.
func (w *Work) SetRate(now model.Time, rate model.Fixed) bool {
	if rate == w.rate || now >= w.since && w.End() <= now {
		return false
	}
	w.settle(now)
	w.rate = rate
	return true
}

// Pause stops the work from now to until.
func (w *Work) Pause(now, until model.Time) {
	w.settle(now)
	w.since = until
}

// Resumes is when the work begins, or goes on, if that is ahead of the last change of it.
func (w *Work) Resumes() model.Time { return w.since }

// SetEndless makes it work without an end. What has been done of it stays.
func (w *Work) SetEndless() {
	done := micros(w.whole).sub(w.left)
	w.whole = model.Forever
	w.left = micros(w.whole).sub(done)
}
