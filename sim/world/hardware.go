package world

import (
	"math"
	"math/bits"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/sim/des"
	"orrery/sim/world/internal/bill"
	"orrery/sim/world/internal/network"
	"orrery/sim/world/internal/power"
)

// Hardware is what a site asks of the model of its hardware, hwmodel.Recorded or hwmodel.Model. It is asked when an
// attempt begins, when its nodes change, and when the power that it may draw does, or what others send over its
// links. Answers depend on the arguments alone, and nothing fails.
type Hardware interface {
	// Place sums up what a job has in a placement, for the other questions.
	Place(j *hwmodel.Job, p *model.Placement, w *hwmodel.Where)
	// Links appends what it sends over the uplinks of its network groups, ascending by group.
	Links(j *hwmodel.Job, p *model.Placement, dst []hwmodel.Link) []hwmodel.Link
	// Speed is how fast work goes on there relative to its record, within the limits that the site and its other jobs
	// set.
	Speed(j *hwmodel.Job, w *hwmodel.Where, within hwmodel.Limits) hwmodel.Speed
	power.Capper
	// Least is the deepest cap, as a part of what the job draws, that Speed knows; One is none.
	Least(j *hwmodel.Job) model.Fixed
	// Bytes is how much its work moves, as far as its class says.
	Bytes(j *hwmodel.Job) hwmodel.Bytes
}

// PowerConfig is how sure powers are, and what happens above a cap.
type PowerConfig = power.Config

// pace is how fast an attempt works, and up to when what follows from that was counted.
type pace struct {
	speed  hwmodel.Speed
	begins model.Time     // of its work, when it draws less until then; else AbsentTime
	billed model.Time     // up to which its energy was counted
	split  model.Duration // of its work, up to which losses were split
}

// effects is what hardware does with jobs: what an attempt draws and sends on its nodes, how fast it works there
// beside the others, and what that has cost.
type effects struct {
	*agenda
	nodes   *nodeStates
	feed    *power.Feed
	prices  *bill.Prices     // of energy; nil where nothing tells what it costs and emits
	network *network.Network // nil where contention is not modelled
	sent    []hwmodel.Link   // space
}

// plugIn says what the attempt under ref draws and sends, once it has its nodes.
func (e *effects) plugIn(ref model.Ref) {
	l := e.jobs.At(ref)
	l.pace = pace{billed: e.now, begins: l.begins, split: l.split}
	w := &l.draws
	*w = power.Load{Ref: ref, Job: &l.hw, Works: w.Works}
	e.cfg.Hardware.Place(&l.hw, e.quorum.Held(ref), &w.Where)
	w.Least = e.cfg.Hardware.Least(&l.hw)
	idle := hwmodel.Watts{Low: l.holds.idle, Value: l.holds.idle, High: l.holds.idle}
	w.Idle = power.Band(l.holds.idle, e.cfg.Power.IdleBand)
	g := &w.Where
	switch beyond := l.holds.power - l.holds.idle; {
	case l.alloc.Power > 0:
		w.Full, w.Source = power.Band(l.holds.power, e.cfg.Power.RowBand).Minus(idle), model.PowerOfRow
	case g.Active.Known && g.Milli > 0:
		w.Full, w.Source = g.Active.Minus(g.Idle.Watts), model.PowerOfClass
	case l.holds.power > 0:
		w.Full, w.Source = hwmodel.Watts{Low: min(0, beyond), Value: beyond, High: max(0, beyond)}, model.PowerOfNodes
	default:
		w.Source = model.PowerUnknown
	}
	l.rec.Source = max(l.rec.Source, w.Source)
	l.bill = e.prices.Open(l.bill)
	// What the nodes draw beyond idle is the draw of their GPUs.
	g.Active = hwmodel.Power{Watts: w.Full.Plus(g.Idle.Watts), Known: w.Source != model.PowerUnknown && w.Full.Value > 0}
	if w.Rests = g.Milli > 0 && g.Held.Known; w.Rests {
		w.Held = g.Held.Minus(g.Idle.Watts)
	}
	e.feed.Connect(w)
	if e.network == nil {
		return
	}
	if e.sent = e.sent[:0]; g.Groups > 1 {
		e.sent = e.cfg.Hardware.Links(&l.hw, e.quorum.Held(ref), e.sent)
	}
	e.network.Join(ref, &l.network, e.sent)
}

// unplug takes what the attempt under ref draws and sends off the site.
func (e *effects) unplug(ref model.Ref) {
	l := e.jobs.At(ref)
	e.bill(l)
	e.splitLoss(l, l.worked(e.now))
	e.feed.Disconnect(&l.draws)
	if e.network != nil {
		e.network.Leave(ref)
	}
}

// begin sets the attempt under ref going at the speed of its hardware.
func (e *effects) begin(ref model.Ref) {
	l := e.jobs.At(ref)
	l.split, l.begins = 0, model.AbsentTime
	e.plugIn(ref)
	if l.draws.Works = l.work.Resumes() <= e.now || !l.draws.Rests; !l.draws.Works {
		l.begins = l.work.Resumes()
	}
	if l.begins != model.AbsentTime && l.begins != model.Never {
		e.events.Push(des.NewEvent(l.begins, des.RankCheckpoint, l.rec.Job, ref))
	}
	e.redraw(l)
	e.setSpeed(ref)
	if e.nodes.standsStill(ref) {
		e.Meter.BrokenStarts++
	}
}

// setSpeed asks at what speed the attempt under ref works now.
func (e *effects) setSpeed(ref model.Ref) {
	l := e.jobs.At(ref)
	if e.Meter.Consequences.Terms == 0 && e.nodes.silences == 0 && l.work.Rate() == model.One { // every job works as recorded
		return
	}
	e.splitLoss(l, l.worked(e.now))
	l.speed = e.cfg.Hardware.Speed(&l.hw, &l.draws.Where, hwmodel.Limits{Cap: e.feed.CapOf(&l.draws), Network: l.network.Times()})
	if ofRecord := e.Meter.Consequences.Terms & (1<<hwmodel.ByType | 1<<hwmodel.ByPlacement); ofRecord != 0 && l.speed.Unknown&ofRecord == ofRecord {
		e.countUnrated(l) // what is not relative to the record counts all the same
	}
	e.set(ref, l.speed.Rate(), model.One)
}

// set says at what speed the attempt under ref works from now on, see Site.SetSpeed.
func (e *effects) set(ref model.Ref, here, recorded model.Fixed) {
	l := e.jobs.At(ref)
	if !l.onNodes() {
		panic("world: a speed for a job that is on no nodes")
	}
	rate := model.One
	if recorded > 0 {
		rate = model.Ratio(int64(here), int64(recorded))
	} else {
		e.countUnrated(l)
	}
	if e.nodes.standsStill(ref) {
		e.stall(ref)
		return
	}
	if l.exit.writes || !l.work.SetRate(e.now, rate) {
		return
	}
	expiry := e.expiry(l)
	if l.outcome == model.Timeout && !l.endless && l.truth.Runtime != model.AbsentDuration && expiry != model.Never && e.now <= expiry {
		l.endless = true
		l.work.SetEndless()
	}
	e.retime(ref)
}

// countUnrated counts a job of which it is not known at what speed it was recorded.
func (e *effects) countUnrated(l *siteJob) {
	if !l.unrated {
		l.unrated = true
		e.Meter.Unrated++
	}
}

// stall stops the work of a running job, whose processes wait for those of a node that is broken. A checkpoint that
// is being written fails. The job holds its nodes until the failure is known, or its walltime is over.
func (e *effects) stall(ref model.Ref) {
	l := e.jobs.At(ref)
	if l.exit.writes {
		l.exit.act = preempt.WriteFailed
		return
	}
	l.ckpt.breaks = l.ckpt.writes
	if l.work.SetRate(e.now, 0) {
		e.retime(ref)
	}
}

// setWorks says whether l draws as a job that works from now on.
func (e *effects) setWorks(l *siteJob, works bool) {
	if w := &l.draws; w.Works != works && (works || w.Rests) {
		w.Works = works
		e.redraw(l)
	}
}

// redraw enters what l draws now.
func (e *effects) redraw(l *siteJob) {
	e.bill(l)
	e.feed.Redraw(&l.draws)
}

// holdCap holds the GPUs back so far that the site draws no more than its cap, or lets them go again.
func (e *effects) holdCap() {
	e.feed.Balance(func(w *power.Load) {
		e.redraw(e.jobs.At(w.Ref))
		e.setSpeed(w.Ref)
	})
}

// settle sets the speeds of the attempts that others on their links slow otherwise than before, when all of an
// instant has happened.
func (e *effects) settle() {
	if e.network == nil || e.events.Next() <= e.now {
		return
	}
	for _, ref := range e.network.Settle() {
		e.setSpeed(ref)
	}
}

// advance brings the clock to now, and what is drawn and costs up to then.
func (e *effects) advance(now model.Time) {
	if e.begun && now > e.now && (e.cfg.Power.Slow || e.cfg.Power.Exceeds) && e.feed.Over() {
		e.Meter.Consequences.OverCap = model.Plus(e.Meter.Consequences.OverCap, int64(now.Sub(e.now)))
	}
	if e.prices != nil && (now > e.now || !e.begun) {
		e.prices.Reach(now, e.Meter.Draw.Value)
	}
	e.begun, e.now = true, now
}

// bill counts what l has drawn since that was done last, the idle part of its nodes included.
func (e *effects) bill(l *siteJob) {
	d := e.now.Sub(l.billed)
	if d <= 0 {
		return
	}
	w, j := &l.draws, &l.rec.Energy
	total := w.Idle.Plus(w.Drawn)
	j.Low, j.Value, j.High = billed(j.Low, total.Low, d), billed(j.Value, total.Value, d), billed(j.High, total.High, d)
	e.Meter.Consequences.Sources[w.Source] = model.Plus(e.Meter.Consequences.Sources[w.Source], d.Of(int64(l.holds.nodes)))
	e.prices.Charge(l.bill, &total)
	l.billed = e.now
}

// billed is an energy in mJ and that of a power over d, to the nearest. A power below 0, which the ranges of a job
// and its nodes may come to, is none.
func billed(energy, power int64, d model.Duration) int64 {
	hi, lo := bits.Mul64(uint64(max(power, 0)), uint64(d))
	lo, carry := bits.Add64(lo, 500, 0)
	if hi += carry; hi >= 1000 {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, 1000)
	return model.Plus(energy, int64(min(q, math.MaxInt64)))
}

// splitLoss counts the work of l up to t by what is known of it, and what each term has cost.
func (e *effects) splitLoss(l *siteJob, t model.Time) {
	c := &e.Meter.Consequences
	if c.Terms == 0 {
		return
	}
	took := l.work.Took(t)
	d := took - l.split
	if d <= 0 {
		return
	}
	l.split = took
	gpu := l.holds.gpuTime(d)
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
