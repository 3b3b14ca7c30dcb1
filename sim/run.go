package sim

import (
	"context"
	"errors"
	"fmt"
	"io"

	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/sim/des"
	"orrery/sim/metric"
	"orrery/sim/record"
	"orrery/sim/watch"
	"orrery/sim/world"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// Options are what a run can be watched and hurried with; none of them changes
// a result.
type Options struct {
	// Sink takes the finished jobs and attempts; nil forgets them.
	Sink record.Sink
	// Observer sees the log and the plans; nil sees nothing.
	Observer drive.Recorder
	// Facts takes the committed log with the placements granted; nil does not.
	Facts FactWriter
	// Decisions takes why the jobs of a site wait and start, which makes the core
	// ask that of every job, or of those for which Explain is true; nil does not.
	Decisions DecisionWriter
	Explain   func(model.JobID) bool
	// Progress is called now and then with what is done, nil for never.
	Progress func(Progress)
	// EveryCycle makes a pass at every tick of the cycle, also where the core
	// has said that nothing can change. It is the referee of the skipping.
	EveryCycle bool
	// Watch checks the invariants all along; Result.Watch says what was seen.
	Watch bool
	// Parts are those that metric.ComputeParts will be asked for with Result.Series;
	// each lies within the part that the spec measures.
	Parts []metric.Span
}

// FactWriter stores the committed log. p is the placement of a FactAssigned and
// nil otherwise; both are valid during the call.
type FactWriter interface {
	Fact(index int64, now model.Time, f *model.Fact, p *model.Placement)
}

// Progress of a run.
type Progress struct {
	Now       model.Time
	Submitted int64
	Rows      int64 // of the trace
}

// Result of a run, beside what the sink took.
type Result struct {
	Spec        Spec // with the cluster resolved
	Cluster     model.Cluster
	Fingerprint string
	Awkward     translate.SpecialRows
	State       world.State
	First       model.Time // submission
	Last        model.Time // event
	Unfinished  int64      // jobs that waited or ran when nothing could happen any more
	Work        Work
	Site        *SiteNames        // nil on a plain cluster
	SiteCounts  *world.SiteCounts // likewise
	site        *sitePlan
	events      int // rows of these tables of the trace
	prices      int
	Series      *metric.Series
	Watch       *watch.Report // nil unless Options.Watch
}

// Work counts what the run cost, in things that can be counted.
type Work struct {
	Instants uint64 `json:"instants"` // at which something happened
	Cycles   uint64 `json:"cycles"`   // passes made by the clock alone
	Passes   uint64 `json:"passes"`
	Examined uint64 `json:"examined"` // waiting jobs looked at
	Words    uint64 `json:"fingerprint_words"`
}

// InfeasibleError lists jobs that can never run, under the policy error.
type InfeasibleError struct {
	Count int64
	IDs   []int64 // the first few
}

// Error names them.
func (e *InfeasibleError) Error() string {
	return fmt.Sprintf("%d jobs can never run on this cluster (first ids: %d): give a larger cluster, or have them refused at submission (--infeasible reject, or infeasible: reject in an experiment)", e.Count, e.IDs)
}

// Run replays the trace that open yields under spec. open is called a second
// time where the policy needs to know all jobs beforehand. A cancelled ctx ends
// the run with its error; what the sink has taken by then stands.
func Run(ctx context.Context, spec Spec, open func() (traces.Source, error), opt Options) (*Result, error) {
	p, err := Prepare(spec)
	if err != nil {
		return nil, err
	}
	return p.Run(ctx, open, opt)
}

// Run is Run under the spec that was prepared. Several may be under way at a time.
func (prep *Prepared) Run(ctx context.Context, open func() (traces.Source, error), opt Options) (*Result, error) {
	src, err := open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	p, err := prep.resolve(src)
	if err != nil {
		return nil, err
	}
	if p.site != nil {
		if p.site.world.Rows.Dependencies, err = dependencies(ctx, src, open); err != nil {
			return nil, err
		}
	}
	last := model.AbsentTime
	breaks := p.site != nil && p.site.world.Faults.MTBF > 0
	if p.strict || p.spec.Cooldown > 0 || breaks || p.site != nil && p.site.untimed(src.Info()) {
		if last, err = prescan(ctx, p, open); err != nil {
			return nil, err
		}
	}
	if breaks { // so that a job that waits for ever does not keep the nodes breaking
		p.site.world.Faults.Until = last
	}
	r, err := newRun(p, src, last, opt)
	if err != nil {
		return nil, err
	}
	if p.spec.Feedback {
		if r.follow, err = follow(ctx, p, open); err != nil {
			return nil, err
		}
	}
	if err := r.replay(ctx); err != nil {
		return nil, err
	}
	return r.finish()
}

// prescan reads the trace once: it finds the last submission, the horizon of a site
// and, under the policy error, the jobs that can never run.
func prescan(ctx context.Context, p plan, open func() (traces.Source, error)) (model.Time, error) {
	src, err := open()
	if err != nil {
		return 0, err
	}
	defer src.Close()
	_, w := p.apart().stage(Options{Sink: record.Null{}}, src.Users)
	last := model.AbsentTime
	b := p.batch()
	for {
		if err := src.Next(&b); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		for i := range b.Len() {
			last = max(last, b.Submit[i])
			if p.site != nil {
				p.site.heard(&b, i)
			}
			if err := w.inspect(&b, i); err != nil {
				return 0, err
			}
		}
	}
	if a := w.awkward(); p.strict && a.Count[translate.RuleTooLarge] > 0 {
		return 0, &InfeasibleError{a.Count[translate.RuleTooLarge], a.Examples[translate.RuleTooLarge]}
	}
	return last, nil
}

// run is a replay under way.
type run struct {
	plan    plan
	opt     Options
	src     traces.Source
	batch   traces.Batch
	pos     int // in batch
	drained bool
	measure *measure    // nil when the run is about the whole trace
	follow  *feedback   // nil when rows come when the log says
	due     []des.Event // of follow, at this instant

	core   engine
	watch  watcher // nil for none
	loop   drive.Loop
	world  stage
	series *metric.Series
	print  des.Fingerprint
	facts  []model.Fact
	// running are the jobs that ran before a warm start, until they are placed.
	running []model.Fact
	resumed bool
	res     Result
	begun   bool
	passed  model.Time // last pass of the cycle
	event   model.Time // the next one of the world, asked for anew when it may be another
	units   int64      // of the cluster
	index   int64      // of the next fact
	// examined is Work.Examined at the last look at the context.
	examined uint64
	site     *siteResults // nil on a plain cluster
	// state and sited are of world; sited is nil on a plain cluster.
	state *world.State
	sited *world.Usage
}

func newRun(p plan, src traces.Source, last model.Time, opt Options) (*run, error) {
	if opt.Sink == nil {
		opt.Sink = record.Null{}
	}
	r := &run{plan: p, opt: opt, src: src, passed: model.AbsentTime}
	if opt.Watch {
		r.watch = r.watcher()
		r.opt.Sink = watchedSink{opt.Sink, r.watch}
	}
	r.res.events, r.res.prices = len(src.Events()), len(src.Prices())
	r.core, r.world = p.stage(r.opt, src.Users)
	r.state = r.world.state()
	if w, ok := r.world.(siteStage); ok {
		r.sited = &w.Usage
	}
	r.batch = p.batch()
	r.res.Spec, r.res.Cluster, r.units = p.spec, p.world.Cluster, p.world.Cluster.Total()
	if p.spec.Measure != nil {
		r.measure = &measure{Measure: *p.spec.Measure}
	}
	var err error
	if r.series, err = metric.NewSeries(p.measured(src.Info().Rows, last, &opt)); err != nil {
		return nil, &UsageError{err.Error()}
	}
	r.loop = drive.Loop{
		Core: r.core, Quorum: r.world, Agents: r.world, Record: r, Order: p.order,
		PassPerFact: p.core.Backfill != order.Conservative,
	}
	if p.site != nil {
		r.site = &siteResults{series: r.series, decisions: opt.Decisions, explain: opt.explain()}
		r.loop.Notes = r.site
	}
	return r, nil
}

// Fact implements drive.Recorder: it rolls the fingerprint on.
func (r *run) Fact(now model.Time, f *model.Fact) {
	rolled := r.print // in registers, and not in memory
	rolled = rolled.With(uint64(now))
	rolled = rolled.With(uint64(f.Kind)<<40 | uint64(f.Reason)<<32 | uint64(uint32(f.Job)))
	if f.Kind == model.FactSubmitted {
		rolled = rolled.With(uint64(f.Walltime))
		rolled = rolled.With(uint64(f.Request.Units)<<32 | uint64(f.Request.Nodes))
	}
	r.print = rolled
	if r.opt.Facts != nil {
		var p *model.Placement
		if f.Kind == model.FactAssigned {
			p = r.world.Held(f.Ref)
		}
		r.opt.Facts.Fact(r.index, now, f, p)
	}
	r.index++
	if r.measure != nil {
		r.measure.fact(f)
	}
	if r.site != nil {
		r.site.fact(now, f)
	}
	if r.watch != nil {
		r.watch.Fact(now, f)
	}
	if r.opt.Observer != nil {
		r.opt.Observer.Fact(now, f)
	}
}

// Proposed implements drive.Recorder.
func (r *run) Proposed(now model.Time, p *model.Proposal) {
	rolled := r.print // as in Fact
	rolled = rolled.With(uint64(now))
	rolled = rolled.With(1<<48 | uint64(uint32(p.Job)))
	for _, w := range p.Placement.Words {
		rolled = rolled.With(uint64(w.Word))
		rolled = rolled.With(w.Mask)
	}
	for _, s := range p.Placement.Shares {
		rolled = rolled.With(uint64(s.Node)<<32 | uint64(s.Units))
	}
	r.print = rolled
	if r.site != nil {
		r.site.proposed(now, p)
	}
	if r.watch != nil {
		r.watch.Proposed(now, p)
	}
	if r.opt.Observer != nil {
		r.opt.Observer.Proposed(now, p)
	}
}

// progressEvery is the number of instants, or of hundreds of waiting jobs
// examined, between two calls of Progress: a few milliseconds either way. How many
// were examined is looked up every workEvery instants, and so is the context.
const (
	progressEvery = 1 << 14
	workEvery     = 1 << 4
)

func (r *run) replay(ctx context.Context) error {
	r.event = r.world.Next()
	for {
		now, err := r.next()
		if err != nil || now == model.Never {
			return err
		}
		if r.measure.over(now) {
			r.res.Last = r.measure.stop(r.res.Last)
			return nil
		}
		if err := r.instant(now); err != nil {
			return err
		}
		if r.res.Work.Instants%workEvery != 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.res.Work.Instants%progressEvery != 0 && r.core.Work().Examined-r.examined < 100*progressEvery {
			continue
		}
		r.examined = r.core.Work().Examined
		if err := r.opt.Sink.Flush(); err != nil {
			return err
		}
		if r.opt.Progress != nil {
			r.opt.Progress(Progress{now, r.state.Submitted, r.src.Info().Rows})
		}
	}
}

// next is the earliest instant at which there is anything to do.
func (r *run) next() (model.Time, error) {
	arrival, err := r.arrival()
	if err != nil {
		return 0, err
	}
	now := min(arrival, r.event)
	if r.follow != nil {
		now = min(now, r.follow.due())
	}
	switch {
	case !r.begun:
		r.begun, r.res.First = true, now
		if n := r.batch.Len(); n > 0 && r.follow == nil { // else none is sure to come as late as that
			r.series.Begin(now, max(now, r.batch.Submit[n-1]))
		}
		return now, nil
	case r.plan.spec.Cycle == 0:
		return min(now, r.loop.Due()), nil
	case r.opt.EveryCycle && now != model.Never:
		return min(now, r.tick(r.res.Last+1)), nil
	case r.state.Waiting == 0:
		return now, nil
	}
	from := max(r.loop.QuietUntil(), r.res.Last)
	if r.passed == from {
		from++
	}
	return min(now, r.tick(from)), nil
}

// tick is the first instant of the cycle at or after t.
func (r *run) tick(t model.Time) model.Time {
	return t.Grid(r.plan.spec.Cycle, r.plan.spec.Phase)
}

// instant handles everything that happens at now, round by round: what is
// created at now for now makes the next round. Under a cycle the pass comes
// once, after the first round.
func (r *run) instant(now model.Time) error {
	r.res.Work.Instants++
	submitted, started, ended := r.state.Submitted, r.state.Started, r.state.Ended
	r.res.Last = now
	for round := 0; ; round++ {
		if round > 0 && r.over(now) {
			break
		}
		if err := r.collect(now); err != nil {
			return err
		}
		if round > 0 && len(r.facts) == 0 {
			r.event = r.world.Next()
			break
		}
		if r.plan.spec.Cycle == 0 {
			// A row that was dropped or rejected is no fact and causes no pass.
			if len(r.facts) > 0 || r.loop.Due() <= now {
				r.loop.Step(now, r.facts)
			}
			continue
		}
		r.loop.Observe(now, r.facts)
		if round == 0 && r.tick(now) == now && (r.opt.EveryCycle || r.loop.QuietUntil() <= now) {
			r.passed = now
			r.res.Work.Cycles++
			r.loop.Pass(now)
		}
	}
	if r.measure != nil {
		r.measure.left(r.world.leavers())
	}
	r.world.Close()
	r.follow.pass()
	r.count(now, r.state.Submitted-submitted, r.state.Started-started, r.state.Ended-ended)
	r.observe(now)
	return nil
}

// over says that no further round at now would find anything: rows follow their
// predecessors or come in order.
func (r *run) over(now model.Time) bool {
	r.event = r.world.Next()
	return r.follow == nil && r.event > now && !r.warms(now)
}

// count tells the series how many jobs came, started and ended at an instant.
func (r *run) count(now model.Time, submitted, started, ended int64) {
	if submitted > 0 {
		r.series.CountSubmit(now, int32(submitted))
	}
	if started > 0 {
		r.series.CountStart(now, int32(started))
	}
	if ended > 0 {
		r.series.CountEnd(now, int32(ended))
	}
}

// observe tells the series what the instant has left behind.
func (r *run) observe(now model.Time) {
	st := r.state
	state := metric.State{BusyUnits: st.BusyUnits, QueuedUnits: st.QueuedUnits, QueuedJobs: st.Waiting, RunningJobs: st.Running}
	if st.Waiting > 0 && st.BusyUnits < r.units {
		state.MinQueuedUnits = r.core.Least()
	}
	if r.sited != nil {
		r.site.observe(now, r.sited)
	}
	r.series.Observe(now, state)
}

func (r *run) finish() (*Result, error) {
	if r.measure != nil { // nothing has changed since the last instant
		r.series.Reach(max(r.res.Last, r.measure.To))
	}
	r.res.State = *r.state
	r.res.Unfinished = r.world.Abandon(r.res.Last)
	if err := r.opt.Sink.Flush(); err != nil {
		return nil, err
	}
	w := r.core.Work()
	r.res.Work.Passes, r.res.Work.Examined, r.res.Work.Words = w.Passes, w.Examined, r.print.Words()
	r.res.Fingerprint = r.print.String()
	r.follow.account(r.world.awkward())
	r.res.Awkward = *r.world.awkward()
	if r.sited != nil {
		r.series.SetEnergy(metric.Energy(r.sited.Energy))
		r.res.SiteCounts = &r.sited.SiteCounts
	}
	if r.watch != nil {
		r.watch.Finish(r.rowsRead(), r.res.dropped(), r.res.Unfinished)
		r.res.Watch = r.watch.Seen()
	}
	r.res.Series, r.res.site = r.series, r.plan.site
	if r.plan.site != nil {
		r.res.Site = &r.plan.site.names
	}
	return &r.res, nil
}
