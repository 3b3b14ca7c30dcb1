// Package site is the scheduler core of a site whose nodes differ and that several
// vClusters share: each has its queue, its policy and its proposals in flight. What it
// does is docs/SCHEDULING.md, from which the naive implementation in its tests is
// written. It does not know who commits a plan or what time it is.
package site

import (
	"math"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/score"
	"orrery/scheduler/site/internal/caps"
	"orrery/scheduler/site/internal/reserve"
	"orrery/scheduler/site/internal/wake"
	"orrery/scheduler/workflow"
)

// New returns the core of an idle site. cfg must be valid.
func New(cfg Config) *Core {
	s := &Core{cfg: cfg, nodeState: newNodeState(cfg.Site), jobTable: jobTable{graph: workflow.New(), noStint: &stint{}, equivalences: equivalences{numbers: map[nodeQuery]int32{}}, nextDue: model.Never}, price: cfg.Price}
	if cfg.Prefer != nil {
		s.prefer = *cfg.Prefer
	}
	s.accounts = newAccounts(&s.cfg) // which keeps what it points at
	s.promises = reserve.NewPromises(len(cfg.Site.Nodes), s.home)
	n := len(cfg.Site.Nodes)
	s.caps.Cap, s.caps.Pool = caps.Usage{Power: cfg.Site.PowerCap, Bandwidth: cfg.Site.Bandwidth}, cfg.Site.SensitivePool
	if cfg.Site.CountIdle {
		s.caps.CountIdle(cfg.Site)
	}
	s.board = wake.NewBoard(len(cfg.Policies), len(cfg.Site.Tenants), len(cfg.Site.QOS))
	s.vclusters = make([]queueState, len(cfg.Policies))
	for i := range s.vclusters {
		qs := &s.vclusters[i]
		*qs = newQueueState(model.VClusterID(i), &cfg.Policies[i], s.ledger.NewCache(len(cfg.Site.Tenants), cfg.Policies[i].Weights[score.FairShare]), s.free, s.space)
	}
	s.buf = newBuffers(s.space, n)
	s.passes = make([]pass, len(s.vclusters))
	for i := range s.vclusters {
		qs := &s.vclusters[i]
		s.passes[i] = newPass(s, qs)
		s.passes[i].rule = ruleOf(&s.passes[i])
		// A promise is of whole nodes: on sites that divide them by amounts, a small share of another would still have room beside it.
		qs.promising = qs.mode.promises && s.unhomed && len(s.vclusters) > 1 && !cfg.Site.Amounts
	}
	return s
}

// Work returns the counters.
func (s *Core) Work() scheduler.Work { return s.work }

// Predicted is the predicted end of the running job under ref.
func (s *Core) Predicted(ref model.Ref) model.Time { return s.jobs[ref].predicted }

// Runs says whether the job under ref is running.
func (s *Core) Runs(ref model.Ref) bool { return s.jobs[ref].phase == running }

// FirstBlocked is the job that none behind it may delay under Easy, as the last pass of
// v found it, and the number of the last proposal before its turn: those of higher
// numbers are of jobs behind it. ok is false when there is none.
func (s *Core) FirstBlocked(v model.VClusterID) (ref model.Ref, since uint64, ok bool) {
	qs := &s.vclusters[v]
	return qs.reservation.Ref, qs.reservation.Since, qs.blocked && qs.reservation.Ref >= 0
}

// LookAgain has a vCluster look at its queue at the next tick of its cycle, or in the next plan where it has none, whatever
// its last pass found out. Cores that tests hold this one against ask for it.
func (s *Core) LookAgain(v model.VClusterID) { s.board.Raise(v, wake.Site) }

// Consumed implements scheduler.Questions.
func (s *Core) Consumed(t model.TenantID, now model.Time) (node, gpu model.Duration) {
	return s.ledger.Consumed(t, now)
}

// Least is the smallest number of units (nodes, or GPUs where they are shared) that a
// waiting job could start on, 0 when no job waits. Its cost is that of the vClusters, and
// of the distinct request sizes where a job has left that could start on so few.
func (s *Core) Least() int32 {
	least := int32(math.MaxInt32)
	for i := range s.vclusters {
		least = min(least, s.vclusters[i].waiting.Least())
	}
	if least == math.MaxInt32 {
		return 0
	}
	return least
}
