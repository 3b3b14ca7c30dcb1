package sim

import (
	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/watch"
	"orrery/sim/world/translate"
)

// watcher checks the invariants on the log and on the records of a run.
type watcher interface {
	drive.Recorder
	record.Sink
	Finish(watch.End)
	Seen() *watch.Report
}

// watchedSink hands the records to a watcher as well.
type watchedSink struct {
	record.Sink
	w watcher
}

func (s watchedSink) Job(r *model.JobRecord) {
	s.w.Job(r)
	s.Sink.Job(r)
}

func (s watchedSink) Attempt(r *model.AttemptRecord) {
	s.w.Attempt(r)
	s.Sink.Attempt(r)
}

// watcher is the one for what r replays.
func (r *run) watcher() watcher {
	if p := r.plan.Site; p != nil {
		return r.siteWatcher(p)
	}
	s := &r.plan.Spec
	cfg := watch.PlainConfig{
		Units: r.plan.World.Cluster.Units, Overrun: s.Overrun == "extend", Backfill: r.plan.Core.Backfill.String(), Begin: r.plan.Warm.From(0),
	}
	oneCore := s.Cluster.Procs > 0
	prompt := s.QuorumLatency == 0 && s.QuorumJitter == 0
	cfg.Prompt = oneCore && prompt && s.Cycle == 0
	cfg.FCFS = oneCore && prompt && !cfg.Overrun && r.plan.Order == drive.Batch && r.plan.Core.Order.String() == "fcfs"
	if oneCore && cfg.Prompt && !cfg.Overrun && r.plan.Order == drive.Batch && r.plan.Core.Backfill == order.Conservative && r.plan.Core.Depth == 0 {
		cfg.Reserved = func(ref model.Ref) model.Time { return r.core.(reserver).Reserved(ref) }
	}
	return watch.NewPlain(cfg)
}

// reserver is a core that says when it means to start a job.
type reserver interface {
	Reserved(ref model.Ref) model.Time
}

func (r *run) siteWatcher(p *plan.Site) watcher {
	w := &p.World
	cfg := watch.Config{
		Site: p.Core.Site, Shared: p.Core.Shared, Overrun: p.Core.Extend, Records: true, Begin: r.plan.Warm.From(0),
		Slack:  w.StartDelay + w.Exit.KillGrace + w.Visible,
		Ledger: func(t model.TenantID, now model.Time) (node, gpu model.Duration) { return r.core.Consumed(t, now) },
		First:  func(v model.VClusterID) (model.Ref, uint64, bool) { return r.core.FirstBlocked(v) },
		Aside:  r.aside,
	}
	for i := range p.Core.Policies {
		q := &p.Core.Policies[i]
		policy := watch.Policy{Easy: q.Backfill == order.Easy, Punctual: q.Punctual(), Preempts: q.Preempts, MaxVictims: q.Preemption.MaxVictims, NearCompletion: q.Preemption.NearCompletion}
		if q.Ranking == site.ByOrder {
			policy.Order = watch.OrderOf(q.Order.String())
		}
		cfg.Policies = append(cfg.Policies, policy)
	}
	return watch.New(cfg)
}

// aside are the jobs that wait and are in no queue.
func (r *run) aside() map[model.JobID]bool {
	out := map[model.JobID]bool{}
	for _, x := range r.core.Queue(r.res.Last, nil) {
		if x.Position == 0 && !x.Proposed {
			out[x.Job] = true
		}
	}
	return out
}

// dropped is the number of rows that a rule dropped.
func (r *Result) dropped() int64 {
	c := &r.Awkward.Count
	return r.LeftOut + c[translate.RuleNoProcessors] + c[translate.RuleImpossible] + c[translate.RuleNeverRan] + c[translate.RuleNeverCame] + c[translate.RuleLeftBefore]
}

// watchFact tells a fact to all that follow the log beside the fingerprint.
func (r *run) watchFact(now model.Time, f *model.Fact) {
	if r.measure != nil {
		r.measure.fact(f)
	}
	if r.site != nil {
		r.site.fact(now, f)
	}
	if r.services != nil {
		r.takings.Fact(now, f)
		r.services.Fact(now, f)
	}
	for _, o := range r.observers {
		o.Fact(now, f)
	}
}
