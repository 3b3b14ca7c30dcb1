package scheduler_test

import (
	"testing"

	"orrery/scheduler"
	"orrery/scheduler/model"
)

// stand drives a core by hand: every proposal is granted, jobs end when told.
type stand struct {
	*testing.T
	core *scheduler.Site
	jobs []model.Allocation
	plan *scheduler.Plan
}

func newStand(t *testing.T, cfg scheduler.SiteConfig) *stand {
	t.Helper()
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	return &stand{T: t, core: scheduler.NewSite(cfg)}
}

// submit brings a job of one node for an hour, whose id is the number of those
// before it.
func (s *stand) submit(at int64, traits ...func(*model.Allocation)) model.JobID {
	id := model.JobID(len(s.jobs))
	f := errand{submit: at, walltime: 3600, nodes: 1}.fact(int(id))
	for _, trait := range traits {
		trait(f.Alloc)
	}
	f.Walltime, f.Request.Units = f.Alloc.Walltime, f.Alloc.NodesMin
	s.jobs = append(s.jobs, *f.Alloc)
	s.fact(at, f)
	return id
}

// pass lets the core plan at an instant and grants what it proposes; it returns
// the ids of the jobs, in the order of the proposals.
func (s *stand) pass(at int64) []model.JobID {
	s.plan = s.core.Plan(seconds(at))
	var ids []model.JobID
	var facts []model.Fact
	for i := range s.plan.Proposals {
		p := &s.plan.Proposals[i]
		ids = append(ids, p.Job)
		facts = append(facts, model.Fact{Kind: model.FactAssigned, Job: p.Job, Ref: p.Ref, Seq: p.Seq, Placement: &p.Placement})
	}
	s.core.Observe(seconds(at), facts)
	return ids
}

func (s *stand) fact(at int64, f model.Fact) { s.core.Observe(seconds(at), []model.Fact{f}) }

func (s *stand) end(at int64, ids ...model.JobID) {
	for _, id := range ids {
		s.fact(at, model.Fact{Kind: model.FactEnded, Job: id, Ref: model.Ref(id), Outcome: model.Completed})
	}
}

// Traits of jobs.

func of(t model.TenantID) func(*model.Allocation) { return func(a *model.Allocation) { a.Tenant = t } }
func size(n int32) func(*model.Allocation) {
	return func(a *model.Allocation) { a.NodesMin, a.NodesMax = n, n }
}
func upTo(n int32) func(*model.Allocation)  { return func(a *model.Allocation) { a.NodesMax = n } }
func class(c int32) func(*model.Allocation) { return func(a *model.Allocation) { a.Class = c } }
func ckpt(c model.Checkpoint) func(*model.Allocation) {
	return func(a *model.Allocation) { a.Checkpoint = c }
}
func wall(seconds int64) func(*model.Allocation) {
	return func(a *model.Allocation) { a.Walltime = model.Duration(seconds) * model.Second }
}
