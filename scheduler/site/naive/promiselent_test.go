package naive_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler"
	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/scheduler/site"
)

// Both cores promise the same to jobs that can only start by borrowing, on any cycles, latencies and
// orders of classes, and some of them do borrow.
func TestJobsThatNeedLentNodes(t *testing.T) {
	borrowed := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 16))
		homes := []int{0, 0, 0, 0, 1, 1, -1, 2, 2}[:6+r.IntN(4)]
		w := wakeSite(homes, 4)
		w.latency = []model.Duration{0, 0, model.Second, 3 * model.Second}[r.IntN(4)]
		for v := range w.cfg.Site.VClusters {
			c, p := &w.cfg.Site.VClusters[v], &w.cfg.Policies[v]
			c.Lend, c.Borrow, c.MaxLent = v == 0 || v == 2, true, model.One/2
			p.Cycle = []model.Duration{0, 5 * model.Second, 7 * model.Second}[r.IntN(3)]
			if p.Preempts = r.IntN(4) == 0; r.IntN(2) == 0 {
				p.Ranking = site.ByOrder
			}
		}
		at := 0
		for range 24 {
			at += r.IntN(8)
			v := r.IntN(4)
			nodes := 1 + r.IntN(2)
			if (v == 1 || v == 3) && r.IntN(4) == 0 {
				nodes = 4
			}
			j := w.enqueue(v, at, nodes, 5+r.IntN(40), int32(r.IntN(7)))
			j.Checkpoint = model.CheckpointAuto
			if r.IntN(4) == 0 {
				j.runtime /= 2
			}
		}
		requireAlike(t, w)
		core := &lendsTo{Scheduler: site.New(w.cfg), homes: homes}
		(&naiveStage{w: w, pair: &both{}}).play(core)
		borrowed += core.promised
	}
	if borrowed < 20 {
		t.Errorf("only %d promises of nodes that are at home elsewhere", borrowed)
	}
}

// lendsTo counts the promises of nodes that are at home in other vClusters.
type lendsTo struct {
	drive.Scheduler
	homes    []int
	promised int
}

func (l *lendsTo) Plan(now model.Time) *scheduler.Plan {
	plan := l.Scheduler.Plan(now)
	for i := range plan.Promises {
		if p := &plan.Promises[i]; homed(p, l.homes) {
			l.promised++
		}
	}
	return plan
}

// homed says whether nodes are promised that have a home.
func homed(p *scheduler.Promise, homes []int) bool {
	return slices.ContainsFunc(p.Nodes.Words, func(w model.NodeWord) (has bool) {
		w.Nodes(func(n model.NodeID) bool {
			has = has || homes[n] >= 0
			return true
		})
		return has
	})
}

// TestNoPromiseAtNever: a job that can only start by borrowing is promised nothing while all that could be lent to it is held by a
// service, which no end is predicted of.
func TestNoPromiseAtNever(t *testing.T) {
	w := wakeSite([]int{0, 1, 2}, 3)
	lender, borrower := &w.cfg.Site.VClusters[0], &w.cfg.Site.VClusters[2]
	lender.Lend, lender.MaxLent, borrower.Borrow = true, model.One, true
	servesTo(1)(w.enqueue(0, 0, 1, 30, 5))
	w.enqueue(2, 1, 2, 20, 5)
	requireAlike(t, w)
	core := &lendsTo{Scheduler: site.New(w.cfg), homes: []int{0, 1, 2}}
	(&naiveStage{w: w, pair: &both{}}).play(core)
	require.Zero(t, core.promised)
	require.Contains(t, w.proposals(site.New(w.cfg)), "00:00:30: 2 assign job 1 on [0 2] borrowed")
}
