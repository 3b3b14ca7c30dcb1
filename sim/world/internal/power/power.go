// Package power keeps what the nodes of a site and the attempts on them draw, and holds GPUs back while that is more
// than a cap.
package power

import (
	"sort"

	"orrery/hwmodel"
	"orrery/scheduler/model"
)

// Config is how sure powers are, and what happens above a cap.
type Config struct {
	// IdleBand is by how much the power of idle nodes may be wrong, as a part of it, and RowBand that of rows.
	IdleBand, RowBand model.Fixed
	// Slow holds GPUs back while the site would draw more than its cap. Else the core delays starts by what jobs ask
	// for.
	Slow bool
	// Exceeds says that it is counted without Slow too how long the site draws more than its cap.
	Exceeds bool
	Cap     int64 // W, 0 for none, until a change
	// Tariffs are what energy costs and emits, ascending; none where what the site draws is not known. PUE is that of
	// the facility.
	Tariffs []hwmodel.TariffAt
	PUE     hwmodel.PUE
}

// Capper says to what part of what they draw the GPUs of a job are held, while the site holds each GPU to x of what
// the job draws; model.One is no cap.
type Capper interface {
	Cap(j *hwmodel.Job, w *hwmodel.Where, x model.Fixed) model.Fixed
}

// Load is what an attempt draws.
type Load struct {
	Ref    model.Ref
	Job    *hwmodel.Job
	Where  hwmodel.Where
	Least  model.Fixed // deepest cap at which its throughput is known
	Idle   hwmodel.Watts
	Full   hwmodel.Watts     // beyond idle at work, without a cap by the site
	Held   hwmodel.Watts     // beyond idle while it does not work
	Rests  bool              // Held is known; else it draws as at work all the time
	Drawn  hwmodel.Watts     // beyond idle now
	Source model.PowerSource // of Full
	Works  bool              // it draws as one that works
	bends  int32             // its place in Feed.Flexible, from 1; 0 for none
	counts bool              // it is in the sums of Feed.Held
}

// Steps is in how many steps GPUs are held back: clocks have steps, and a change of less moves no job.
const Steps = 64

// Feed is the power of a site.
type Feed struct {
	Cap      int64          // W that the site may draw, 0 for none
	Throttle model.Fixed    // to what part of what they draw GPUs are held, see Balance
	Held     HeldBack       // of the flexible ones
	draw     *hwmodel.Watts // now, idle nodes included
	capper   Capper
	slow     bool
	uneven   bool    // what is drawn has changed since Throttle was found
	Flexible []*Load // that a cap by the site is about
}

// HeldBack is what the attempts that work and can be held back draw beyond idle.
type HeldBack struct {
	drawn int64            // now
	at    [Steps + 1]int64 // at so many steps of the throttle
}

// New is a feed of nothing. What is drawn it keeps in draw.
func New(c *Config, capper Capper, draw *hwmodel.Watts) Feed {
	return Feed{Cap: c.Cap, Throttle: model.One, draw: draw, capper: capper, slow: c.Slow}
}

// Band is a power with its range, of which part may be wrong.
func Band(power int64, part model.Fixed) hwmodel.Watts {
	by := int64(model.Fixed(power).Mul(part))
	return hwmodel.Watts{Low: power - by, Value: power, High: power + by}
}

// SetCap changes the cap.
func (f *Feed) SetCap(watts int64) { f.Cap, f.uneven = watts, f.slow }

// Over says whether more is drawn than the cap.
func (f *Feed) Over() bool { return f.Cap > 0 && f.draw.Value > f.Cap }

// Add adds to what is drawn, or takes off.
func (f *Feed) Add(by hwmodel.Watts) {
	*f.draw = f.draw.Plus(by)
	f.uneven = f.slow
}

// CapOf is to what part of its own draw the site holds w now. What cannot be held so far is held as far as its table
// goes; what has no table is not held, and its speed counts it.
func (f *Feed) CapOf(w *Load) model.Fixed {
	if f.Throttle == model.One || w.Least == model.One {
		return f.Throttle
	}
	return max(f.Throttle, w.Least)
}

// Connect enters what w draws on its nodes, which it does not yet.
func (f *Feed) Connect(w *Load) {
	if f.slow && w.Where.Milli > 0 && w.bends == 0 {
		f.Flexible = append(f.Flexible, w)
		w.bends = int32(len(f.Flexible))
	}
}

// Redraw enters what w draws now.
func (f *Feed) Redraw(w *Load) {
	drawn := w.Held
	if w.Works {
		drawn = w.At(f.capper.Cap(w.Job, &w.Where, f.CapOf(w)))
	}
	f.draws(w, drawn, w.Works && w.bends > 0 && w.Least < model.One)
}

// Disconnect takes what w draws off the site.
func (f *Feed) Disconnect(w *Load) {
	f.draws(w, hwmodel.Watts{}, false)
	if w.bends > 0 {
		last := f.Flexible[len(f.Flexible)-1]
		f.Flexible[w.bends-1] = last
		last.bends = w.bends
		f.Flexible = f.Flexible[:len(f.Flexible)-1]
		w.bends = 0
	}
}

// draws says what w draws from now on, and whether it can be held back.
func (f *Feed) draws(w *Load, drawn hwmodel.Watts, yields bool) {
	if w.counts {
		f.Held.drawn -= w.Drawn.Value
	}
	f.Add(drawn.Minus(w.Drawn))
	w.Drawn = drawn
	if f.count(w, yields); yields {
		f.Held.drawn += drawn.Value
	}
}

// count enters what w would draw at each step into the sums of those that can be held back, or takes it out. Cost:
// the steps, where that is a change.
func (f *Feed) count(w *Load, on bool) {
	if on == w.counts {
		return
	}
	w.counts = on
	sign := int64(1)
	if !on {
		sign = -1
	}
	for k := range f.Held.at {
		x := model.Fixed(k) * (model.One / Steps)
		f.Held.at[k] += sign * w.At(f.capper.Cap(w.Job, &w.Where, max(x, w.Least))).Value
	}
}

// At is what w draws beyond idle at work while its GPUs are held to x of what they draw: no less than idle, and no
// less than at work where that is below.
func (w *Load) At(x model.Fixed) hwmodel.Watts {
	if x >= model.One {
		return w.Full
	}
	v, idle := w.Where.Active.Scaled(int64(x), int64(model.One)), &w.Where.Idle
	return hwmodel.Watts{Low: max(v.Low-idle.Low, min(0, w.Full.Low)), Value: max(v.Value-idle.Value, min(0, w.Full.Value)), High: max(v.High-idle.High, min(0, w.Full.High))}
}

// Balance holds the GPUs back so far that the site draws no more than its cap, or lets them go again: all that have a
// table of throughputs under caps to the same part of what they draw, none deeper than its table. It calls set with
// those whose draw and speed follow. Cost: nothing while the site draws less than its cap; else the jobs that can be
// held back.
func (f *Feed) Balance(set func(*Load)) {
	if !f.uneven {
		return
	}
	f.uneven = false
	want := f.throttle()
	if want == f.Throttle {
		return
	}
	flips := want == model.One || f.Throttle == model.One
	f.Throttle = want
	for _, w := range f.Flexible {
		if flips || w.Least < model.One { // the others only count whether there is a cap
			set(w)
		}
	}
	f.uneven = false
}

// throttle is the largest part at which the site draws no more than its cap, in steps; the smallest where none is
// small enough.
func (f *Feed) throttle() model.Fixed {
	if f.Cap == 0 || f.Throttle == model.One && f.draw.Value <= f.Cap {
		return model.One
	}
	fixed := f.draw.Value - f.Held.drawn
	below := sort.Search(Steps-1, func(below int) bool { return fixed+f.Held.at[Steps-below] <= f.Cap })
	return model.Fixed(Steps-below) * (model.One / Steps)
}
