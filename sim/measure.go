package sim

import (
	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/rundir"
)

// metricConfig says what is measured of a run over so many rows, the last of which is
// submitted at last.
func metricConfig(p *plan.Resolved, rows int64, last model.Time, opt *Options) metric.Config {
	cfg := metric.Config{
		Units: p.World.Cluster.Total(), WarmupJobs: p.Spec.WarmupJobs, Warmup: p.Spec.Warmup, Cooldown: p.Spec.Cooldown, LastSubmit: last,
		Marks: metric.MarksOf(opt.Parts),
	}
	switch m := p.Spec.Measure; {
	case m != nil:
		cfg.Measured = &metric.Span{From: m.From, To: m.To}
	case cfg.WarmupJobs == plan.NoWarmup:
		cfg.WarmupJobs = 0
	case cfg.WarmupJobs == 0 && cfg.Warmup == 0 && !p.Warm.OK: // a warm start needs no more warming up
		cfg.WarmupJobs = rows / 100
	}
	if p.Site != nil {
		cfg.Site = siteMetrics(p.Site, opt.Decisions != nil && opt.Explain == nil)
		if e := p.Site.Energy; e != nil {
			cfg.Power = &e.PowerConfig
		}
	}
	return cfg
}

// measure follows the jobs that a run is about until they have left.
type measure struct {
	plan.Measure
	inside int64 // of them, in the system; services and sessions left out
}

// holds says whether a job is measured and waited for.
func (m *measure) holds(submit model.Time, kind model.Kind) bool {
	return submit >= m.From && submit < m.To && kind == model.Bounded
}

// fact counts the jobs that come.
func (m *measure) fact(f *model.Fact) {
	if f.Kind != model.FactSubmitted {
		return
	}
	submit, kind := f.Submit, model.Bounded
	if f.Alloc != nil {
		submit, kind = f.Alloc.Submit, f.Alloc.Kind
	}
	if m.holds(submit, kind) {
		m.inside++
	}
}

// left counts the jobs that leave. Those that were refused at submission have not
// been counted.
func (m *measure) left(records []model.JobRecord) {
	for i := range records {
		if r := &records[i]; r.State != model.Rejected && m.holds(r.Submit, r.Kind) {
			m.inside--
		}
	}
}

// over says that the next instant, now, need not be replayed. A nil measure is
// never over.
func (m *measure) over(now model.Time) bool {
	return m != nil && now >= m.To && (m.inside == 0 || now > m.To.Add(m.Follow))
}

// stop is the instant at which the run stops, whose last one was at last: the
// limit, where jobs are left that will not be waited for any longer.
func (m *measure) stop(last model.Time) model.Time {
	if m.inside > 0 {
		return m.To.Add(m.Follow)
	}
	return last
}

// consequences are what the hardware has done.
func (r *run) consequences() {
	c := &r.sited.Consequences
	r.res.Hardware = rundir.HardwareOf(c)
	if e := r.plan.Site.Energy; e != nil {
		r.res.Power = &rundir.Power{
			Sources: rundir.SourcesOf(c), JobPower: e.JobPower, Overhead: e.Overhead, Currency: e.Currency, OverCapUS: c.OverCap,
		}
		r.res.Power.SetPUE(&e.PUE)
	}
}
