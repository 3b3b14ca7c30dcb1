package world

import (
	"math"
	"math/bits"
	"sort"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/sim/des"
)

// Hardware is what a site asks of the model of its hardware, hwmodel.Recorded or
// hwmodel.Model. It is asked when an attempt begins, when its nodes change, and when the
// power that it may draw does, or what others send over its links. Answers depend on the
// arguments alone, and nothing fails.
type Hardware interface {
	// Place sums up what a job has in a placement, for the other questions.
	Place(j *hwmodel.Job, p *model.Placement, w *hwmodel.Where)
	// Links appends what it sends over the uplinks of its network groups, ascending by group.
	Links(j *hwmodel.Job, p *model.Placement, dst []hwmodel.Link) []hwmodel.Link
	// Speed is how fast work goes on there relative to its record, within the limits that the
	// site and its other jobs set.
	Speed(j *hwmodel.Job, w *hwmodel.Where, within hwmodel.Limits) hwmodel.Speed
	// Cap is to what part of what they draw its GPUs are held, while the site holds each GPU
	// to x of what the job draws; model.One is no cap.
	Cap(j *hwmodel.Job, w *hwmodel.Where, x model.Fixed) model.Fixed
	// Least is the deepest cap, as a part of what the job draws, that Speed knows; One is
	// none.
	Least(j *hwmodel.Job) model.Fixed
	// Bytes is how much its work moves, as far as its class says.
	Bytes(j *hwmodel.Job) hwmodel.Bytes
}

// PowerConfig is how sure powers are, and what happens above a cap.
type PowerConfig struct {
	// IdleBand is by how much the power of idle nodes may be wrong, as a part of it, and
	// RowBand that of rows.
	IdleBand, RowBand model.Fixed
	// Slow holds GPUs back while the site would draw more than its cap. Else the core
	// delays starts by what jobs ask for.
	Slow bool
	// Exceeds says that it is counted without Slow too how long the site draws more than its cap.
	Exceeds bool
	Cap     int64 // W, 0 for none, until a change
	// Tariffs are what energy costs and emits, ascending; none where what the site draws is
	// not known. PUE is that of the facility.
	Tariffs []hwmodel.TariffAt
	PUE     hwmodel.PUE
}

// Consequences are what hardware has done with jobs, in µs of GPU time at work.
type Consequences struct {
	Terms    hwmodel.Terms           // that are switched on
	GPUTime  int64                   // in all
	Classed  int64                   // of jobs in a class
	Modelled int64                   // of jobs of which every term that is switched on was known
	Unknown  [hwmodel.NumTerms]int64 // of jobs of which this one was not
	// Lost is the work that was not done in this time for each term, taken in their order:
	// a term loses what the terms before it have left. Below 0 it has gained.
	Lost [hwmodel.NumTerms]int64
	// Sources is node time held, by what the power of its jobs rests on, µs.
	Sources [model.PowerUnknown + 1]int64
	// OverCap is how long the site drew more than its cap, µs.
	OverCap int64
}

// powered is what an attempt draws, and how fast it is.
type powered struct {
	where  hwmodel.Where
	speed  hwmodel.Speed
	least  model.Fixed // deepest cap at which its throughput is known
	idle   hwmodel.Watts
	full   hwmodel.Watts     // beyond idle at work, without a cap by the site
	held   hwmodel.Watts     // beyond idle while it does not work
	rests  bool              // held is known; else it draws as at work all the time
	drawn  hwmodel.Watts     // beyond idle now
	source model.PowerSource // of full
	works  bool              // it draws as one that works
	begins model.Time        // of its work, when it draws less until then; else AbsentTime
	billed model.Time        // up to which its energy was counted
	split  model.Duration    // of its work, up to which losses were split
	bends  int32             // its place in Site.flexible, from 1; 0 for none
	counts bool              // it is in the sums of Site.held
}

// plugIn says what the attempt under ref draws and how fast it is, once it has its nodes.
func (s *Site) plugIn(ref model.Ref) {
	l := s.jobs.At(ref)
	w := &l.powered
	*w = powered{billed: s.now, begins: w.begins, split: w.split, works: w.works}
	s.hardware.Place(&l.hw, s.quorum.Held(ref), &w.where)
	w.least = s.hardware.Least(&l.hw)
	idle := hwmodel.Watts{Low: l.holds.idle, Value: l.holds.idle, High: l.holds.idle}
	w.idle = s.band(l.holds.idle, s.cfg.Power.IdleBand)
	g := &w.where
	switch beyond := l.holds.power - l.holds.idle; {
	case l.alloc.Power > 0:
		w.full, w.source = s.band(l.holds.power, s.cfg.Power.RowBand).Minus(idle), model.PowerOfRow
	case g.Active.Known && g.Milli > 0:
		w.full, w.source = g.Active.Minus(g.Idle.Watts), model.PowerOfClass
	case l.holds.power > 0:
		w.full, w.source = hwmodel.Watts{Low: min(0, beyond), Value: beyond, High: max(0, beyond)}, model.PowerOfNodes
	default:
		w.source = model.PowerUnknown
	}
	l.rec.Source = max(l.rec.Source, w.source)
	s.openBill(l)
	// What the nodes draw beyond idle is the draw of their GPUs.
	g.Active = hwmodel.Power{Watts: w.full.Plus(g.Idle.Watts), Known: w.source != model.PowerUnknown && w.full.Value > 0}
	if w.rests = g.Milli > 0 && g.Held.Known; w.rests {
		w.held = g.Held.Minus(g.Idle.Watts)
	}
	s.bend(ref, s.cfg.Power.Slow && g.Milli > 0)
	s.joinNetwork(ref)
}

// band is a power with its range.
func (s *Site) band(power int64, part model.Fixed) hwmodel.Watts {
	by := int64(model.Fixed(power).Mul(part))
	return hwmodel.Watts{Low: power - by, Value: power, High: power + by}
}

// begin sets the attempt under ref going at the speed of its hardware.
func (s *Site) begin(ref model.Ref) {
	l := s.jobs.At(ref)
	w := &l.powered
	w.split, w.begins = 0, model.AbsentTime
	s.plugIn(ref)
	if w.works = l.work.Resumes() <= s.now || !w.rests; !w.works {
		w.begins = l.work.Resumes()
	}
	if w.begins != model.AbsentTime && w.begins != model.Never {
		s.events.Push(des.NewEvent(w.begins, des.RankCheckpoint, l.rec.Job, ref))
	}
	s.redraw(l)
	s.setSpeed(ref)
	if s.standsStill(ref) {
		s.Meter.BrokenStarts++
	}
}

// setSpeed asks at what speed the attempt under ref works now.
func (s *Site) setSpeed(ref model.Ref) {
	l := s.jobs.At(ref)
	if s.Meter.Consequences.Terms == 0 && s.silences == 0 && l.work.Rate() == model.One { // every job works as recorded
		return
	}
	s.splitLoss(l, l.worked(s.now))
	l.speed = s.hardware.Speed(&l.hw, &l.where, hwmodel.Limits{Cap: s.capOf(l), Network: l.network.times()})
	if ofRecord := s.Meter.Consequences.Terms & (1<<hwmodel.ByType | 1<<hwmodel.ByPlacement); ofRecord != 0 && l.speed.Unknown&ofRecord == ofRecord {
		s.countUnrated(l) // what is not relative to the record counts all the same
	}
	s.SetSpeed(s.now, ref, l.speed.Rate(), model.One)
}

// capOf is to what part of its own draw the site holds l now. What cannot be held so far is
// held as far as its table goes; what has no table is not held, and Speed counts it.
func (s *Site) capOf(l *siteJob) model.Fixed {
	if s.throttle == model.One || l.least == model.One {
		return s.throttle
	}
	return max(s.throttle, l.least)
}

// setWorks says whether l draws as a job that works from now on.
func (s *Site) setWorks(l *siteJob, works bool) {
	if l.works != works && (works || l.rests) {
		l.works = works
		s.redraw(l)
	}
}

// redraw enters what l draws now.
func (s *Site) redraw(l *siteJob) {
	w := &l.powered
	s.bill(l)
	drawn := w.held
	if w.works {
		drawn = w.at(s.hardware.Cap(&l.hw, &w.where, s.capOf(l)))
	}
	s.draws(l, drawn, w.works && w.bends > 0 && w.least < model.One)
}

// draws says what l draws from now on, and whether it can be held back.
func (s *Site) draws(l *siteJob, drawn hwmodel.Watts, yields bool) {
	w := &l.powered
	if w.counts {
		s.held.drawn -= w.drawn.Value
	}
	s.drawMore(drawn.Minus(w.drawn))
	w.drawn = drawn
	if s.count(l, yields); yields {
		s.held.drawn += drawn.Value
	}
}

// drawMore adds to what the site draws, or takes off.
func (s *Site) drawMore(by hwmodel.Watts) {
	s.Meter.Draw = s.Meter.Draw.Plus(by)
	s.uneven = s.cfg.Power.Slow
}

// at is what it draws beyond idle at work while its GPUs are held to x of what they draw: no
// less than idle, and no less than at work where that is below.
func (w *powered) at(x model.Fixed) hwmodel.Watts {
	if x >= model.One {
		return w.full
	}
	v, idle := w.where.Active.Scaled(int64(x), int64(model.One)), &w.where.Idle
	return hwmodel.Watts{Low: max(v.Low-idle.Low, min(0, w.full.Low)), Value: max(v.Value-idle.Value, min(0, w.full.Value)), High: max(v.High-idle.High, min(0, w.full.High))}
}

// unplug takes what l draws off the site.
func (s *Site) unplug(ref model.Ref) {
	l := s.jobs.At(ref)
	s.bill(l)
	s.splitLoss(l, l.worked(s.now))
	s.draws(l, hwmodel.Watts{}, false)
	s.bend(ref, false)
	s.leaveNetwork(ref)
}

// bill counts what l has drawn since it was billed last, the idle part of its nodes
// included.
func (s *Site) bill(l *siteJob) {
	d := s.now.Sub(l.billed)
	if d <= 0 {
		return
	}
	total := l.idle.Plus(l.drawn)
	e := &l.rec.Energy
	e.Low, e.Value, e.High = billed(e.Low, total.Low, d), billed(e.Value, total.Value, d), billed(e.High, total.High, d)
	s.Meter.Consequences.Sources[l.source] = model.Plus(s.Meter.Consequences.Sources[l.source], d.Of(int64(l.holds.nodes)))
	s.charge(l, &total)
	l.billed = s.now
}

// billed is an energy in mJ and that of a power over d, to the nearest. A power below 0, which
// the ranges of a job and its nodes may come to, is none.
func billed(energy, power int64, d model.Duration) int64 {
	hi, lo := bits.Mul64(uint64(max(power, 0)), uint64(d))
	lo, carry := bits.Add64(lo, 500, 0)
	if hi += carry; hi >= 1000 {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, 1000)
	return model.Plus(energy, int64(min(q, math.MaxInt64)))
}

// splitLoss counts the work of l up to t by what is known of it, and what each term has
// cost.
func (s *Site) splitLoss(l *siteJob, t model.Time) {
	if s.Meter.Consequences.Terms == 0 {
		return
	}
	took := l.work.Took(t)
	d := took - l.split
	if d <= 0 {
		return
	}
	l.split = took
	c, gpu := &s.Meter.Consequences, l.holds.gpuTime(d)
	c.GPUTime = model.Plus(c.GPUTime, gpu)
	if l.hw.Class > 0 {
		c.Classed = model.Plus(c.Classed, gpu)
	}
	if l.hw.Class > 0 && l.speed.Unknown == 0 {
		c.Modelled = model.Plus(c.Modelled, gpu)
	}
	left := model.One
	for t := range hwmodel.NumTerms {
		if l.speed.Unknown.Has(t) {
			c.Unknown[t] = model.Plus(c.Unknown[t], gpu)
		}
		after := left.Mul(l.speed.By[t])
		c.Lost[t] += model.MulDiv(int64(left-after), gpu, int64(model.One))
		left = after
	}
}

// throttleSteps is in how many steps GPUs are held back: clocks have steps, and a change of
// less moves no job.
const throttleSteps = 64

// holdCap holds the GPUs back so far that the site draws no more than its cap, or lets them
// go again: all that have a table of throughputs under caps to the same part of what they
// draw, none deeper than its table. Cost: nothing while the site draws less than its cap;
// else the jobs that can be held back.
func (s *Site) holdCap() {
	if !s.uneven {
		return
	}
	s.uneven = false
	want := s.throttleFor()
	if want == s.throttle {
		return
	}
	flips := want == model.One || s.throttle == model.One
	s.throttle = want
	for _, ref := range s.flexible {
		if l := s.jobs.At(ref); flips || l.least < model.One { // the others only count whether there is a cap
			s.redraw(l)
			s.setSpeed(ref)
		}
	}
	s.uneven = false
}

// throttleFor is the largest part at which the site draws no more than its cap, in steps;
// the smallest where none is small enough.
func (s *Site) throttleFor() model.Fixed {
	if s.cap == 0 || s.throttle == model.One && s.Meter.Draw.Value <= s.cap {
		return model.One
	}
	fixed := s.Meter.Draw.Value - s.held.drawn
	below := sort.Search(throttleSteps-1, func(below int) bool { return fixed+s.held.at[throttleSteps-below] <= s.cap })
	return model.Fixed(throttleSteps-below) * (model.One / throttleSteps)
}

// heldBack is what the attempts that work and can be held back draw beyond idle.
type heldBack struct {
	drawn int64                    // now
	at    [throttleSteps + 1]int64 // at so many steps of the throttle
}

// count enters what l would draw at each step into the sums of those that can be held back, or
// takes it out. Cost: the steps, where that is a change.
func (s *Site) count(l *siteJob, on bool) {
	w := &l.powered
	if on == w.counts {
		return
	}
	w.counts = on
	sign := int64(1)
	if !on {
		sign = -1
	}
	for k := range s.held.at {
		x := model.Fixed(k) * (model.One / throttleSteps)
		s.held.at[k] += sign * w.at(s.hardware.Cap(&l.hw, &w.where, max(x, w.least))).Value
	}
}

// bend notes that the attempt under ref has GPUs that a cap is about, or that it has left.
func (s *Site) bend(ref model.Ref, on bool) {
	l := s.jobs.At(ref)
	switch {
	case on && l.bends == 0:
		s.flexible = append(s.flexible, ref)
		l.bends = int32(len(s.flexible))
	case !on && l.bends > 0:
		last := s.flexible[len(s.flexible)-1]
		s.flexible[l.bends-1] = last
		s.jobs.At(last).bends = l.bends
		s.flexible = s.flexible[:len(s.flexible)-1]
		l.bends = 0
	}
}
