package naive_test

import (
	"fmt"
	"testing"

	"orrery/scheduler"
	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site"

	"pgregory.net/rapid"
)

// TestOldestPromiseIsKept: as long as jobs leave when they are predicted to, or before, and
// nothing else happens, the job with the oldest promise starts by the instant that it was
// first promised, or at the next tick of its cycle. Both the core and the naive
// implementation keep that bound, under EASY and conservative backfilling.
func TestOldestPromiseIsKept(t *testing.T) {
	kept := 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawNaive(t, withVClusters|withEasy|withConservative|withCycles)
		for i := range w.cfg.Policies {
			p := &w.cfg.Policies[i]
			p.Ranking, p.Order = site.ByOrder, order.FCFS
			if p.Backfill != order.Conservative {
				p.Backfill, p.Depth = order.Easy, 0
			}
		}
		for i := range w.jobs {
			w.jobs[i].runtime = min(w.jobs[i].runtime, w.jobs[i].Walltime)
		}
		var homes []int
		for i := range w.cfg.Site.Nodes {
			homes = append(homes, int(w.cfg.Site.Nodes[i].Home))
		}
		for name, core := range map[string]drive.Scheduler{"core": site.New(w.cfg), "naive": w.naive()} {
			b := &bounded{Scheduler: core, cfg: &w.cfg, homes: homes, promised: map[model.Ref]model.Time{}}
			(&naiveStage{w: w, pair: &both{}}).play(b)
			if b.late != "" {
				t.Fatalf("%s: %s", name, b.late)
			}
			kept += b.kept
		}
	})
	least := 50
	if testing.Short() {
		least = 5
	}
	if kept < least {
		t.Fatalf("only %d promises were the oldest until they were kept", kept)
	}
}

// bounded watches when jobs start that have the oldest promise of the site.
type bounded struct {
	drive.Scheduler
	cfg      *site.Config
	homes    []int
	list     []model.Ref              // with a promise, oldest first
	promised map[model.Ref]model.Time // what the oldest was promised first
	kept     int
	late     string
}

func (b *bounded) Plan(now model.Time) *scheduler.Plan {
	plan := b.Scheduler.Plan(now)
	proposed := plan.Proposals
	for i := range plan.Promises {
		p := &plan.Promises[i]
		for ; len(proposed) > 0 && proposed[0].Seq <= p.After; proposed = proposed[1:] {
			b.starts(now, &proposed[0])
		}
		b.drop(p.Ref, len(p.Nodes.Words) == 0)
		if len(p.Nodes.Words) > 0 && b.at(p.Ref) < 0 {
			b.list = append(b.list, p.Ref)
		}
		if b.at(p.Ref) == 0 && b.promised[p.Ref] == 0 && !homed(p, b.homes) { // a lender may use what it lends
			b.promised[p.Ref] = p.At
		}
	}
	for i := range proposed {
		b.starts(now, &proposed[i])
	}
	return plan
}

func (b *bounded) at(ref model.Ref) int {
	for i, r := range b.list {
		if r == ref {
			return i
		}
	}
	return -1
}

func (b *bounded) drop(ref model.Ref, ended bool) {
	if i := b.at(ref); i >= 0 && ended {
		b.list = append(b.list[:i], b.list[i+1:]...)
		delete(b.promised, ref)
	}
}

// starts takes note of a start. A vCluster on a cycle may meet the instant one tick late.
func (b *bounded) starts(now model.Time, p *model.Proposal) {
	if at, ok := b.promised[p.Ref]; ok && b.at(p.Ref) == 0 {
		if b.kept++; now > at.Add(b.cfg.Policies[p.VCluster].Cycle) {
			b.late = fmt.Sprintf("job %d was promised nodes at %s and starts at %s", p.Job, at, now)
		}
	}
	b.drop(p.Ref, true)
}
