package site_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/score"
	"orrery/scheduler/site"
)

// With min_score they hold jobs back: when energy is dear, or while little is
// queued.
func TestBacklogAndEnergyHoldWithMinScore(t *testing.T) {
	for _, c := range []struct {
		name    string
		factor  score.Factor
		price   float64
		running bool // as much as is queued
		starts  int
	}{
		{"cheap", score.Energy, .1, false, 1},
		{"dear", score.Energy, .9, false, 0},
		{"much queued", score.Backlog, .5, true, 1},
		{"nothing runs", score.Backlog, .5, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, weight := range []model.Fixed{0, model.One} {
				p := site.Policy{Ranking: site.ByScore, Reference: model.Hour, Backfill: order.Easy, MinScore: model.One / 2}
				p.Weights[c.factor] = weight
				cfg := alike(2, p)
				cfg.Price = model.FixedOf(c.price)
				cfg.Site.VClusters = append(cfg.Site.VClusters, model.VCluster{Name: "other"})
				cfg.Policies = append(cfg.Policies, fcfs(order.Easy))
				s := newStand(t, cfg)
				if c.running {
					s.submit(0, func(a *model.Allocation) { a.VCluster = 1 })
					s.pass(0)
				}
				s.submit(1)
				if weight == 0 {
					require.Empty(t, s.pass(1))
				} else {
					require.Len(t, s.pass(1), c.starts)
				}
			}
		})
	}
}

// It does for a range that asked for more at first: of 1 and 5 free nodes in two
// groups, six cannot be had evenly, but of what another leaves, two can. The first
// deferred job, of eight nodes, waits for the six that are busy: if they are
// bounded work whose end is foreseen within a day.
func TestCodedBackfillFiresForRanges(t *testing.T) {
	for _, c := range []struct {
		name string
		busy int64 // requested s
		kind model.Kind
		want []model.JobID
	}{
		{"soon enough", 7200, model.Bounded, ids(3, 2)},
		{"before the range is over", 3600, model.Bounded, ids(3)},
		{"as late as can be foreseen", 86401, model.Bounded, ids(3, 2)},
		{"too late", 86402, model.Bounded, ids(3)},
		{"work without an end", 7200, model.Service, ids(3)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newUneven(t, func(*site.Config) {})
			s.submit(0, size(6), wall(c.busy), func(a *model.Allocation) { a.Kind = c.kind })
			require.Equal(t, ids(0), s.pass(0))
			s.submit(1, size(8), class(9))
			s.submit(1, class(5), func(a *model.Allocation) { a.NodesMin, a.NodesMax, a.Topology = 2, 6, model.Spread })
			s.submit(1, size(4), class(1))
			require.Equal(t, c.want, s.pass(1))
		})
	}
}

// The second look is for a job that lacks nodes. When sensitive work finds as many free as it wants, but not with one
// known fingerprint, it is not known when it could start.
func TestCodedBackfillIsForALackOfNodes(t *testing.T) {
	for wants, want := range map[int32][]model.JobID{2: ids(3), 3: ids(3, 2)} {
		s := newUneven(t, func(cfg *site.Config) {
			for n := range 3 {
				cfg.Site.Nodes[n].Fingerprint = -1
			}
		})
		s.submit(0, size(6), wall(7200))
		require.Equal(t, ids(0), s.pass(0))
		s.submit(1, size(wants), class(9), func(a *model.Allocation) { a.Sensitive = true })
		s.submit(1, class(5), func(a *model.Allocation) { a.NodesMin, a.NodesMax, a.Topology = 2, 6, model.Spread })
		s.submit(1, size(4), class(1))
		require.Equal(t, want, s.pass(1), "%d of the two that are left", wants)
	}
}

// newUneven is an as-coded site of twelve nodes, of which six are left in groups of one and of
// five when a job has taken the others.
func newUneven(t *testing.T, change func(*site.Config)) *stand {
	p := coded(t)
	p.Weights = score.Weights{score.Priority: model.One}
	cfg := alike(12, p)
	cfg.Site.Groups, cfg.Site.Fingerprints = make([]model.Group, 2), 3
	for n := range cfg.Site.Nodes {
		cfg.Site.Nodes[n].Group, cfg.Site.Nodes[n].Fingerprint = min(1, int32(n)), []int32{0, 1, 0, 1, 0, 1, 2, 2, 2, 2, 2, 2}[n]
	}
	change(&cfg)
	return newStand(t, cfg)
}

// The textbook example: easy fills the two nodes, and without backfilling they
// stay empty.
func TestEasyFillsTheTextbookExample(t *testing.T) {
	require.Equal(t, ids(2), textbook(t, fcfs(order.Easy), 0, 8, 3600))
	require.Empty(t, textbook(t, fcfs(order.None), 0, 8, 3600))
}

// A stream keeps three of four nodes busy or more, and one job needs all four. The
// as-coded mode starts it when the stream is over, though it ranks first. Easy
// starts it when those before it have reached their requests: it is the first
// blocked job from its submission at 31 s on, what runs then asks for 10 s at most,
// and no job may start that delays it. So it has started by 41 s.
func TestEasyBoundsStarvation(t *testing.T) {
	const nodes, stream = 4, 400
	started := func(p site.Policy) (big model.Time) {
		b := &bench{}
		for i := range int64(stream) {
			if len(b.jobs) == 11 {
				b.jobs = append(b.jobs, errand{31, 10, 10, nodes})
			}
			b.jobs = append(b.jobs, errand{3 * i, 10, 10, 1})
		}
		starts := b.run(site.New(alike(nodes, p)))
		require.Len(t, starts, stream+1, "all start in the end")
		for _, line := range starts {
			var at model.Time
			var id int
			_, err := fmt.Sscanf(line, "%d: job %d on", &at, &id)
			require.NoError(t, err)
			if id == 11 {
				big = at
			}
		}
		return big
	}
	wait, err := score.Normalise([score.NumFactors]float64{score.Wait: 1})
	require.NoError(t, err)
	for _, p := range []site.Policy{
		fcfs(order.Easy),
		{Ranking: site.ByScore, Reference: model.Hour, Weights: wait, Backfill: order.Easy},
	} {
		require.LessOrEqual(t, started(p), seconds(41))
	}
	require.Greater(t, started(site.Policy{AsCoded: true, Ranking: site.ByScore, Reference: model.Hour, Weights: wait}), seconds(3*(stream-1)))
}
