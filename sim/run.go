// Package sim replays a trace: it drives the production scheduler core with simulated
// time against the simulated world, as a plan says. It draws nothing, parses no flags
// and knows no cluster file.
package sim

import (
	"context"
	"errors"

	"orrery/hwmodel"
	"orrery/scheduler"
	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site"
	"orrery/sim/commitlog"
	"orrery/sim/des"
	"orrery/sim/fork"
	"orrery/sim/hosting"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/rundir"
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
	// Log takes the log to keep it; nil does not.
	Log drive.Recorder
	// Decisions takes why the jobs of a site wait and start: all, or those for which Explain is
	// true; nil does not.
	Decisions DecisionWriter
	Explain   func(model.JobID) bool
	// Power takes what the nodes of a site draw, where that is known; nil does not.
	Power PowerWriter
	// Queues takes how the waiting jobs stand when all of the instants QueuesAt, in order, is
	// over; nil does not. An instant
	// behind the end of the run is told with what is left then.
	QueuesAt []model.Time
	Queues   func(at model.Time, waiting []scheduler.Standing)
	// Progress is called now and then with what is done, nil for never.
	Progress func(Progress)
	// EveryCycle makes a pass at every tick of the cycle of a plain cluster, also where the core
	// has said that nothing can change. It is the reference for the skipping.
	EveryCycle bool
	// Core makes the core of a site, nil for site.New.
	Core func(site.Config) fork.Scheduler
	// Recorded looks at what jobs held at once in the log, for Result.Ignored.
	Recorded bool
	// Watch checks the invariants all along; Result.Watch says what was seen.
	Watch bool
	// Parts are those that metric.ComputeParts will be asked for with Result.Series;
	// each lies within the part that the spec measures.
	Parts []metric.Span
}

// Progress of a run.
type Progress struct {
	Now       model.Time
	Submitted int64
	Rows      int64 // of the trace
}

// Result of a run, beside what the sink took.
type Result struct {
	Spec        plan.Spec // with the cluster resolved
	Cluster     model.Cluster
	Fingerprint string
	Awkward     translate.SpecialRows
	State       world.State
	First       model.Time // submission
	Last        model.Time // event
	Unfinished  int64      // jobs that waited or ran when nothing could happen any more
	Work        Work
	Site        *plan.SiteNames   // nil on a plain cluster
	SiteCounts  *world.SiteCounts // likewise
	Hardware    *rundir.Hardware  // nil where run times are those of the record
	Power       *rundir.Power     // nil where no power is known
	Ignored     []plan.Ignored    // what the trace asks for that the run does not heed
	LeftOut     int64             // rows, by the scenario
	// Unheeded is what more of the work asks for than plan.MostUnheeded, where the run goes on
	// all the same: it is told before any figure.
	Unheeded []plan.Unheeded
	Series   *metric.Series
	Services []hosting.Result // of the cluster file
	// Takings are among services and the jobs of vClusters, TenantTakings between services
	// and the jobs of tenants.
	Takings, TenantTakings []hosting.Taking
	Watch                  *watch.Report // nil unless Options.Watch
}

// UnheededWords are Unheeded, a sentence each.
func (r *Result) UnheededWords() []string {
	var out []string
	for i := range r.Unheeded {
		out = append(out, r.Unheeded[i].String())
	}
	return out
}

// Work counts what the run cost, in things that can be counted.
type Work struct {
	Instants uint64 `json:"instants"` // at which something happened
	Cycles   uint64 `json:"cycles"`   // passes made by the clock alone
	Passes   uint64 `json:"passes"`
	Examined uint64 `json:"examined"` // waiting jobs looked at
	Words    uint64 `json:"fingerprint_words"`
}

// Run replays the trace that open yields under spec. open is called a second
// time where the policy needs to know all jobs beforehand. A cancelled ctx ends
// the run with its error; what the sink has taken by then stands.
func Run(ctx context.Context, spec plan.Spec, open func() (traces.Source, error), opt Options) (*Result, error) {
	p, err := plan.Prepare(spec)
	if err != nil {
		return nil, err
	}
	return RunPrepared(ctx, p, open, opt)
}

// RunPrepared is Run under a spec that was prepared. Several may be under way at a time.
func RunPrepared(ctx context.Context, prep *plan.Prepared, open func() (traces.Source, error), opt Options) (*Result, error) {
	src, err := open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	p, err := prep.Resolve(src)
	if err != nil {
		return nil, err
	}
	if err := p.Select(ctx, open); err != nil {
		return nil, err
	}
	if p.Site != nil {
		d, err := plan.Dependencies(ctx, src, open)
		if err != nil {
			return nil, err
		}
		p.Site.World.Rows.Dependencies = p.CutDependencies(d)
	}
	breaks := p.Site != nil && p.Site.World.Faults.Breaks()
	seen, err := prescan(ctx, &p, open, opt.Recorded)
	if err != nil {
		return nil, err
	}
	p.Spec.AllowUnheeded, p.GPUsIgnored = seen.beyond, seen.gpus
	if p.Site != nil {
		p.Site.World.Rows.Horizon = seen.horizon
	}
	if breaks { // so that a job that waits for ever does not keep the nodes breaking
		p.Site.World.Faults.Until = seen.last
	}
	r, err := newRun(p, src, seen.last, opt)
	if err != nil {
		return nil, err
	}
	r.res.Unheeded, r.held = seen.unheeded, seen.held
	if p.Spec.Feedback {
		if r.follow, err = follow(ctx, p, open); err != nil {
			return nil, err
		}
	}
	if err := r.replay(ctx); err != nil {
		return nil, err
	}
	return r.finish()
}

// run is a replay under way.
type run struct {
	plan    plan.Resolved
	opt     Options
	src     traces.Source
	batch   traces.Batch
	pos     int // in batch
	drained bool
	measure *measure       // nil when the run is about the whole trace
	follow  *feedback      // nil when rows come when the log says
	due     []des.Event    // of follow, at this instant
	held    []plan.Ignored // in the log, more at once than there is

	core     engine
	later    *fork.Core // where others take over from core, else nil
	tookOver bool       // one has since the last pass
	watch    watcher    // nil for none
	loop     drive.Loop
	world    stage
	series   *metric.Series
	print    commitlog.Digest
	// observers are those of Options, and the watcher.
	observers []drive.Recorder
	watched   bool // anything follows the log beside the fingerprint
	facts     []model.Fact
	// running are the jobs that ran before a warm start, until they are placed.
	running []model.Fact
	resumed bool
	res     Result
	begun   bool
	passed  model.Time // last pass of the cycle
	queues  int        // told so far
	event   model.Time // the next one of the world, asked for anew when it may be another
	units   int64      // of the cluster
	// examined is Work.Examined at the last look at the context.
	examined uint64
	site     *siteResults       // nil on a plain cluster
	services *hosting.Services  // nil for none
	takings  *hosting.Takings   // nil without services
	tariffs  []hwmodel.TariffAt // that are still ahead
	power    *powerLog          // nil for none
	// state and sited are of world; sited is nil on a plain cluster.
	state *world.State
	sited *world.Meter
}

func newRun(p plan.Resolved, src traces.Source, last model.Time, opt Options) (*run, error) {
	switch site := p.Site != nil; {
	case site && opt.EveryCycle:
		return nil, errors.New("sim: Options.EveryCycle is for plain clusters: on a site give Options.Core")
	case !site && opt.Core != nil:
		return nil, errors.New("sim: Options.Core is for sites, and this cluster has none")
	}
	if opt.Sink == nil {
		opt.Sink = record.Null{}
	}
	r := &run{plan: p, opt: opt, src: src, passed: model.AbsentTime}
	if opt.Watch {
		if err := watchable(&p); err != nil {
			return nil, err
		}
		r.watch = r.watcher()
		r.opt.Sink = watchedSink{opt.Sink, r.watch}
	}
	for _, o := range []drive.Recorder{opt.Log, r.watch, opt.Observer} {
		if o != nil {
			r.observers = append(r.observers, o)
		}
	}
	if err := r.host(p.Warm.V); err != nil {
		return nil, err
	}
	r.core, r.world = newStage(&p, r.opt, src.Users)
	r.later, _ = r.core.(*fork.Core)
	r.limit()
	r.state = r.world.state()
	if w, ok := r.world.(siteStage); ok {
		r.sited = &w.Meter
	}
	r.batch = newBatch(&p)
	r.res.Spec, r.res.Cluster, r.units = p.Spec, p.World.Cluster, p.World.Cluster.Total()
	if p.Spec.Measure != nil {
		r.measure = &measure{Measure: *p.Spec.Measure}
	}
	var err error
	if r.series, err = metric.NewSeries(metricConfig(&p, src.Info().Rows, last, &opt)); err != nil {
		return nil, &plan.UsageError{Text: err.Error()}
	}
	if p.Site != nil && p.Site.Energy != nil {
		r.tariffs = p.Site.Energy.Tariffs
		r.power = newPowerLog(opt.Power, &p.Site.World)
	}
	r.loop = drive.Loop{
		Core: r.core, Quorum: r.world, Agents: r.world, Record: r, Order: p.Order,
		PassPerFact: p.Core.Backfill != order.Conservative,
	}
	if p.Site != nil {
		r.site = newSiteResults(r.series, r.core, &opt, len(p.Site.Names.VClusters))
	}
	r.watched = r.measure != nil || r.site != nil || len(r.observers) > 0
	return r, nil
}

// Round implements drive.Recorder.
func (r *run) Round(now model.Time, round drive.Round, n int) {
	r.print.Round(now, n)
	for _, o := range r.observers {
		o.Round(now, round, n)
	}
}

// Fact implements drive.Recorder: it rolls the fingerprint on.
func (r *run) Fact(now model.Time, f *model.Fact) {
	if r.print.Fact(f); r.watched {
		r.watchFact(now, f)
	}
}

// Passed implements drive.Recorder.
func (r *run) Passed(now model.Time, p *scheduler.Plan) {
	if len(p.Proposals)+len(p.Promises) > 0 {
		r.print.Passed(now, p)
	}
	r.site.passed(p)
	for _, o := range r.observers {
		o.Passed(now, p)
	}
}

// Proposed implements drive.Recorder.
func (r *run) Proposed(now model.Time, p *model.Proposal) {
	r.print.Proposal(p)
	if r.site != nil {
		r.site.proposed(now, p)
	}
	if r.takings != nil {
		r.takings.Proposed(p)
	}
	for _, o := range r.observers {
		o.Proposed(now, p)
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
		if err != nil {
			return err
		}
		if r.tellQueues(now); now == model.Never {
			return nil
		}
		if r.measure.over(now) {
			r.res.Last = r.measure.stop(r.res.Last)
			r.tellQueues(model.Never)
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
	if r.services != nil {
		now = r.untilServices(now)
	}
	if r.begun && (now != model.Never || r.state.Waiting > 0) { // else there is nothing for another core to decide
		now = min(now, r.later.Next())
	}
	switch {
	case !r.begun:
		r.begun, r.res.First = true, now
		if n := r.batch.Len(); n > 0 && r.follow == nil { // else none is sure to come as late as that
			r.series.Begin(now, max(now, r.batch.Submit[n-1]))
		}
		return now, nil
	case r.plan.Spec.Cycle == 0:
		return min(now, r.loop.Due()), nil
	case r.opt.EveryCycle && now != model.Never:
		return min(now, r.tick(r.res.Last+1)), nil
	case r.state.Waiting == 0:
		return now, nil
	}
	from := max(r.quietUntil(), r.res.Last)
	if r.passed == from {
		from++
	}
	return min(now, r.tick(from)), nil
}

// instant handles everything that happens at now, round by round: what is
// created at now for now makes the next round. Under a cycle the pass comes
// once, after the first round.
func (r *run) instant(now model.Time) error {
	r.res.Work.Instants++
	r.reprice(now)
	takesOver := r.later.Reach(now)
	r.tookOver = r.tookOver || takesOver
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
			if r.event = r.world.Next(); r.event > now { // else a job that goes on faster is done now
				break
			}
			continue
		}
		if r.plan.Spec.Cycle == 0 {
			// A row that was dropped or rejected, and that no other waits for, is no fact and causes no pass.
			if len(r.facts) > 0 || r.loop.Due() <= now || takesOver {
				r.loop.Step(now, r.facts)
			}
			continue
		}
		r.loop.Observe(now, r.facts)
		if round == 0 && r.tick(now) == now && (r.opt.EveryCycle || r.quietUntil() <= now) {
			r.passed, r.tookOver = now, false
			r.res.Work.Cycles++
			r.loop.Pass(now)
		}
	}
	if r.measure != nil {
		r.measure.left(r.world.leavers())
	}
	r.world.Close()
	r.site.over(now)
	r.follow.pass()
	r.count(now, r.state.Submitted-submitted, r.state.Started-started, r.state.Ended-ended)
	r.observe(now)
	return nil
}

func (r *run) finish() (*Result, error) {
	r.reachEnd()
	r.power.finish()
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
		counts := r.sited.SiteCounts
		r.res.SiteCounts = &counts
		r.res.SiteCounts.Refused = r.site.refusals()
		r.consequences()
	}
	if r.watch != nil {
		r.watch.Finish(watch.End{
			Rows: r.rowsRead() + r.services.Submissions(), Dropped: r.res.dropped(), Unfinished: r.res.Unfinished,
			Whole: r.drained && r.res.Awkward.Count[translate.RuleNeverCame] == 0,
		})
		r.res.Watch = r.watch.Seen()
	}
	r.res.Services = r.services.Results(r.res.Last)
	r.res.Takings, r.res.TenantTakings = r.takings.Results(r.res.Last)
	r.series.SetServices(measuredServices(r.res.Services))
	r.res.Series, r.res.Ignored = r.series, append(r.plan.Ignored(r.src.Info(), r.world.awkward()), r.held...)
	r.res.LeftOut = int64(len(r.plan.Left))
	if r.plan.Site != nil {
		r.res.Site = &r.plan.Site.Names
	}
	res := r.res // of which nothing holds on to r: its memory is free for what comes next
	return &res, nil
}
