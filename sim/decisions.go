package sim

import (
	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/world"
)

// DecisionWriter stores why jobs wait and start. d is valid during the call.
type DecisionWriter interface {
	Decision(d *record.Decision)
}

// siteResults tells the series and the writer of decisions what a site holds and
// why its jobs wait.
type siteResults struct {
	series    *metric.Series
	decisions DecisionWriter // may be nil
	explain   func(model.JobID) bool
	core      scheduler.Questions
	answers   answers
	refused   [model.LastReason + 1]int64 // proposals, by reason
	jobs      []siteJob                   // by model.Ref, of the jobs in the system
	row       record.Decision
	text      []byte
}

// mostRanges is how many ranges of a set of nodes are recorded with a decision; the
// rest is a number.
const mostRanges = 16

// siteJob is what a note does not say of its job.
type siteJob struct {
	id       int64
	job      model.JobID
	vcluster model.VClusterID
	tenant   model.TenantID
}

// siteMetrics is what metrics need to know of the site; reasons says that the
// core explains every job.
func siteMetrics(p *plan.Site, reasons bool) *metric.SiteConfig {
	c := &metric.SiteConfig{VClusters: p.Names.VClusters, Tenants: p.Names.Tenants, Shared: p.World.Rows.Shared, TargetWait: p.Targets, Reasons: reasons}
	for i := range p.Core.Site.Tenants {
		c.Targets = append(c.Targets, p.Core.Site.Tenants[i].FairShare)
	}
	for i := range p.World.Site.Nodes {
		c.GPUs += int64(p.World.Site.Nodes[i].GPUs)
	}
	return c
}

func newSiteResults(series *metric.Series, core scheduler.Questions, opt *Options, vclusters int) *siteResults {
	s := &siteResults{series: series, decisions: opt.Decisions, explain: opt.explain(), core: core}
	if s.decisions != nil {
		s.answers.of = make([]askedOf, vclusters)
	}
	return s
}

// fact follows which jobs are in the system.
func (s *siteResults) fact(now model.Time, f *model.Fact) {
	if s.decisions != nil {
		s.answers.fact(f, s.explain)
	}
	switch f.Kind {
	case model.FactSubmitted:
		for int(f.Ref) >= len(s.jobs) {
			s.jobs = append(s.jobs, siteJob{})
		}
		s.jobs[f.Ref] = siteJob{f.Alloc.ID, f.Job, f.Alloc.VCluster, f.Alloc.Tenant}
	case model.FactAssigned, model.FactRestored, model.FactCancelled, model.FactEnded:
		s.series.WaitsNoMore(now, f.Ref)
	case model.FactRefused:
		s.refused[f.Reason]++
		if j := &s.jobs[f.Ref]; s.decisions != nil && s.explain(j.job) {
			s.row = record.Decision{Time: now, Job: j.job, ID: j.id, Kind: "refused", Reason: f.Reason, Behind: -1, Until: model.AbsentTime, KeptFor: -1, KeptUntil: model.AbsentTime}
			s.decisions.Decision(&s.row)
		}
	case model.FactDemand:
		s.sized(now, "demand", f.Ref, int32(f.Value))
	case model.FactResized:
		s.sized(now, "resize", f.Ref, f.Placement.Nodes())
	case model.FactUnmet:
		s.unmet(now, f)
	}
}

// refusals are the proposals that the quorum refused, by the name of the reason; nil for
// none.
func (s *siteResults) refusals() map[string]int64 {
	var by map[string]int64
	for r, n := range s.refused {
		if n > 0 && by == nil {
			by = map[string]int64{}
		}
		if n > 0 {
			by[model.Reason(r).String()] = n
		}
	}
	return by
}

// sized notes how many nodes a service is to have, or has from now on.
func (s *siteResults) sized(now model.Time, kind string, ref model.Ref, nodes int32) {
	if j := &s.jobs[ref]; s.decisions != nil && s.explain(j.job) {
		s.row = record.Decision{Time: now, Job: j.job, ID: j.id, Kind: kind, Nodes: nodes, Behind: -1, Until: model.AbsentTime, KeptFor: -1, KeptUntil: model.AbsentTime}
		s.decisions.Decision(&s.row)
	}
}

// unmet notes how many nodes a service lacks, and why.
func (s *siteResults) unmet(now model.Time, f *model.Fact) {
	if j := &s.jobs[f.Ref]; s.decisions != nil && s.explain(j.job) {
		s.row = record.Decision{Time: now, Job: j.job, ID: j.id, Kind: "unmet", Reason: f.Reason, Nodes: int32(f.Value), Behind: -1, Until: model.AbsentTime, KeptFor: -1, KeptUntil: model.AbsentTime}
		s.decisions.Decision(&s.row)
	}
}

// passed takes in what a plan says of its passes.
func (s *siteResults) passed(plan *scheduler.Plan) {
	if s != nil && s.decisions != nil {
		s.answers.passed(plan)
	}
}

// over records why jobs wait when an instant is over, where the answer has changed.
func (s *siteResults) over(now model.Time) {
	if s == nil || s.decisions == nil {
		return
	}
	for _, ref := range s.answers.restored {
		s.starts(now, ref)
	}
	s.answers.restored = s.answers.restored[:0]
	for v := range s.answers.of {
		s.overIn(now, &s.answers.of[v])
	}
}

// overIn is over for the jobs of a vCluster.
func (s *siteResults) overIn(now model.Time, v *askedOf) {
	if !v.changed {
		return
	}
	s.answers.memory = s.core.Answers(v.jobs, now, v.passed, s.answers.memory[:0])
	for i, ref := range v.jobs {
		a := &s.answers.memory[i]
		waits, victims := s.answers.last[ref].changes(a, v.passed)
		if waits {
			n := s.core.Why(ref, now)
			s.note(now, &n, "wait")
		}
		if victims {
			j := &s.jobs[ref]
			s.row = record.Decision{Time: now, Job: j.job, ID: j.id, Kind: a.NoVictims.String(), Reason: a.Reason, Behind: -1, Until: model.AbsentTime, KeptFor: -1, KeptUntil: model.AbsentTime}
			s.decisions.Decision(&s.row)
		}
	}
	v.changed, v.passed = false, false
}

// starts records the start of a job that is proposed, or that goes on where it ran before.
func (s *siteResults) starts(now model.Time, ref model.Ref) {
	s.answers.last[ref].begins(true)
	n := s.core.Why(ref, now)
	s.note(now, &n, "start")
}

// note records why a job waits, or that it starts.
func (s *siteResults) note(now model.Time, n *scheduler.Note, kind string) {
	j := &s.jobs[n.Ref]
	s.series.Waits(now, n.Ref, j.vcluster, j.tenant, n.Reason)
	s.row = record.Decision{
		Time: now, Job: n.Job, ID: j.id, Kind: kind, Reason: n.Reason, Behind: n.Behind, Until: n.Until, Nodes: n.Nodes,
		Need: n.Need, Usable: n.Usable, Conform: n.Conform, Grouped: n.Grouped, Aside: n.Aside,
		Scored: n.Scored, Score: n.Score.Score, Penalty: n.Score.Penalty,
	}
	for i := range n.Score.Factors {
		s.row.Values[i], s.row.Terms[i] = n.Score.Factors[i].Value, n.Score.Factors[i].Term
	}
	s.reject(n)
	s.decisions.Decision(&s.row)
}

// reject puts the sets of nodes of a note into the row.
func (s *siteResults) reject(n *scheduler.Note) {
	s.row.KeptFor, s.row.KeptUntil = -1, model.AbsentTime
	for i := range n.Rejected {
		r := &n.Rejected[i]
		s.text = record.AppendNodes(s.text[:0], &r.Nodes)
		s.row.Rejected[r.Why] = record.Shorten(string(s.text), mostRanges)
		if r.Why == scheduler.RejectedKept {
			s.row.KeptFor, s.row.KeptUntil = r.Keeper, r.Until
		}
	}
}

// proposed notes which job is to start, and which is asked to leave nodes for which, on both sides.
func (s *siteResults) proposed(now model.Time, p *model.Proposal) {
	switch {
	case s.decisions == nil:
		return
	case p.Kind == model.ProposeAssign && s.answers.wants(p.Ref):
		s.starts(now, p.Ref)
		return
	case p.Kind != model.ProposePreempt:
		return
	}
	cause, victim := &s.jobs[p.Ref], &s.jobs[p.Victim]
	if cause == victim { // it is for the sake of no other
		s.asked(now, "leave", victim, victim, p.Reason)
		return
	}
	s.asked(now, "preempt", cause, victim, p.Reason)
	s.asked(now, "leave", victim, cause, p.Reason)
}

func (s *siteResults) asked(now model.Time, kind string, of, other *siteJob, r model.Reason) {
	if !s.explain(of.job) {
		return
	}
	s.row = record.Decision{Time: now, Job: of.job, ID: of.id, Kind: kind, Reason: r, Behind: other.job, Until: model.AbsentTime, KeptFor: -1, KeptUntil: model.AbsentTime}
	s.decisions.Decision(&s.row)
}

// observe notes what each vCluster and tenant holds after an instant, where it may have changed.
func (s *siteResults) observe(now model.Time, st *world.Meter) {
	for _, share := range st.Touched {
		h := st.Untouch(share)
		s.series.Hold(now, int(share), metric.Holding{Nodes: h.Nodes, GPUs: h.GPUs, Milli: h.Milli, Borrowed: h.Borrowed, Lent: h.Lent, Waiting: int64(h.Waiting)})
	}
	st.Touched = st.Touched[:0]
}
