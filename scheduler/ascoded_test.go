package scheduler_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/score"
)

// codedTwin is the as-coded mode of a site with one vCluster, in the plainest
// way: nodes are looked at one by one, and what is free, used or queued is counted
// anew whenever it is asked.
type codedTwin struct {
	cfg     scheduler.SiteConfig
	jobs    []*codedJob // in the system
	up      []model.NodeState
	limits  []model.Limits
	now     model.Time
	passed  model.Time
	changed bool
	blocked bool // somebody was deferred in the last pass
	second  int  // proposals of second looks so far
	seq     uint64
	plan    scheduler.Plan
}

type codedJob struct {
	model.Allocation
	ref       model.Ref
	nodes     []int // held or proposed
	flying    bool
	withdrawn bool // while in flight
	running   bool
	start     model.Time
	score     model.Fixed
}

func newCodedTwin(cfg scheduler.SiteConfig) *codedTwin {
	s := &codedTwin{cfg: cfg, passed: model.AbsentTime}
	for i := range cfg.Site.Nodes {
		s.up = append(s.up, cfg.Site.Nodes[i].State)
	}
	for i := range cfg.Site.Tenants {
		s.limits = append(s.limits, cfg.Site.Tenants[i].Limits)
	}
	return s
}

func (s *codedTwin) job(ref model.Ref) *codedJob {
	for _, j := range s.jobs {
		if j.ref == ref {
			return j
		}
	}
	return nil
}

// Predicted implements drive.Scheduler.
func (s *codedTwin) Predicted(ref model.Ref) model.Time {
	return s.job(ref).start.Add(s.job(ref).Walltime)
}

// Runs implements drive.Scheduler.
func (s *codedTwin) Runs(ref model.Ref) bool {
	j := s.job(ref)
	return j != nil && j.running
}

// Observe implements drive.Scheduler.
func (s *codedTwin) Observe(now model.Time, facts []model.Fact) {
	s.now = now
	for i := range facts {
		f := &facts[i]
		j := s.job(f.Ref)
		s.changed = s.changed || f.Kind != model.FactAssigned && !(f.Kind == model.FactCancelled && j.flying)
		switch f.Kind {
		case model.FactSubmitted:
			s.jobs = append(s.jobs, &codedJob{Allocation: *f.Alloc, ref: f.Ref})
		case model.FactAssigned:
			j.flying, j.running, j.start = false, true, now
		case model.FactRefused:
			if j.flying, j.nodes = false, nil; j.withdrawn {
				s.gone(j)
			}
		case model.FactEnded:
			s.gone(j)
		case model.FactCancelled:
			if j.withdrawn = j.flying; !j.flying {
				s.gone(j)
			}
		case model.FactNode:
			s.up[f.Node] = f.State
		case model.FactLimits:
			s.limits[f.Tenant] = *f.Limits
		}
	}
}

func (s *codedTwin) gone(j *codedJob) {
	s.jobs = slices.DeleteFunc(s.jobs, func(o *codedJob) bool { return o == j })
}

// Plan implements drive.Scheduler.
func (s *codedTwin) Plan(now model.Time) *scheduler.Plan {
	s.now, s.plan = now, scheduler.Plan{Due: model.Never, QuietUntil: now}
	if p := &s.cfg.Policies[0]; p.Cycle > 0 {
		if since := now - model.Time(p.Phase); since >= 0 && since%model.Time(p.Cycle) == 0 && s.passed != now {
			s.passed = now
			s.pass()
		}
		if len(s.pending()) > 0 {
			s.plan.Due = model.Time(p.Phase)
			for s.plan.Due <= now {
				s.plan.Due = s.plan.Due.Add(p.Cycle)
			}
		}
	} else if s.changed {
		s.changed = false
		if s.pass(); s.changed && len(s.pending()) > 0 {
			s.plan.Due = now
		}
	}
	return &s.plan
}

func (s *codedTwin) pending() (out []*codedJob) {
	for _, j := range s.jobs {
		if !j.flying && !j.running {
			out = append(out, j)
		}
	}
	return out
}

// pass is the pass of the as-coded mode: sort, place, look again before the first
// that was deferred.
func (s *codedTwin) pass() {
	queue := s.pending()
	if len(queue) == 0 {
		s.blocked = false
		return
	}
	for _, j := range queue {
		j.score = s.score(j)
	}
	slices.SortFunc(queue, func(a, b *codedJob) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.Job, b.Job)) })
	var deferred []*codedJob
	for _, j := range queue {
		if s.place(j) {
			deferred = append(deferred, j)
		}
	}
	was := s.blocked
	if s.blocked = len(deferred) > 0; !s.blocked {
		s.changed = s.changed || was // nobody waits any more: all look again
		return
	}
	start := s.release(int(deferred[0].NodesMin))
	for _, j := range deferred[1:] {
		if start != model.Never && j.Walltime != model.Forever && s.now.Add(j.Walltime) <= start {
			before := len(s.plan.Proposals)
			s.place(j)
			s.second += len(s.plan.Proposals) - before
		}
	}
}

// place proposes j where it finds nodes, and says whether it is to be deferred:
// when it is not held by a limit, but by nodes.
func (s *codedTwin) place(j *codedJob) (deferred bool) {
	if !s.within(j, int(j.NodesMin)) {
		return false
	}
	nodes := s.choose(j)
	switch {
	case nodes == nil:
		return true
	case !s.within(j, len(nodes)):
		return false
	}
	j.nodes, j.flying = nodes, true
	slices.Sort(j.nodes)
	s.seq++
	c := naiveChoice{nodes: j.nodes}
	s.plan.Proposals = append(s.plan.Proposals, model.Proposal{Kind: model.ProposeAssign, Job: j.Job, Ref: j.ref, Seq: s.seq, Placement: c.placement()})
	return false
}

// within says whether the hard limits leave room for j on n nodes.
func (s *codedTwin) within(j *codedJob, n int) bool {
	if j.Tenant < 0 {
		return true
	}
	nodes, jobs := n, 1
	for _, o := range s.jobs {
		if o.Tenant == j.Tenant && len(o.nodes) > 0 {
			nodes, jobs = nodes+len(o.nodes), jobs+1
		}
	}
	l := s.limits[j.Tenant]
	return (l.MaxNodes == 0 || nodes <= int(l.MaxNodes)) && (l.MaxConcurrent == 0 || jobs <= int(l.MaxConcurrent))
}

// free says whether nobody holds node n and it is Ready.
func (s *codedTwin) free(n int) bool {
	return s.up[n] == model.Ready && !slices.ContainsFunc(s.jobs, func(o *codedJob) bool { return slices.Contains(o.nodes, n) })
}

// choose finds nodes for j, or nil.
func (s *codedTwin) choose(j *codedJob) []int {
	var may []int
	for n := range s.up {
		if s.free(n) && s.cfg.Site.Constraints[j.Constraint].Holds(model.NodeID(n), &s.cfg.Site.Nodes[n]) {
			may = append(may, n)
		}
	}
	if len(may) < int(j.NodesMin) {
		return nil
	}
	size := min(max(len(may), int(j.NodesMin)), int(j.NodesMax))
	prints := s.split(may, int(s.cfg.Site.Fingerprints)+1, func(n *model.Node) int32 {
		if n.Fingerprint < 0 {
			return s.cfg.Site.Fingerprints // all the unknown, last
		}
		return n.Fingerprint
	})
	best := largestOf(prints, func(int) bool { return true })
	switch {
	case len(prints[best]) >= size:
		if j.IsSensitive() && best == int(s.cfg.Site.Fingerprints) {
			return nil // which the quorum would refuse
		}
		return prints[best][:size]
	case j.IsSensitive():
		return nil
	case j.Topology == model.Any:
		return may[:size]
	}
	groups := s.split(may, len(s.cfg.Site.Groups), func(n *model.Node) int32 { return n.Group })
	if j.Topology == model.Spread {
		return spreadAsCoded(groups, size)
	}
	return s.tight(groups, size)
}

// split deals nodes to bins, in order.
func (s *codedTwin) split(nodes []int, bins int, of func(*model.Node) int32) [][]int {
	out := make([][]int, bins)
	for _, n := range nodes {
		b := of(&s.cfg.Site.Nodes[n])
		out[b] = append(out[b], n)
	}
	return out
}

// largestOf is the index of the largest of those bins that may be used, the
// lowest of several; -1 when there is none with anything in it.
func largestOf(bins [][]int, may func(int) bool) int {
	best := -1
	for b := range bins {
		if len(bins[b]) > 0 && may(b) && (best < 0 || len(bins[b]) > len(bins[best])) {
			best = b
		}
	}
	return best
}

// spreadAsCoded takes at most the same share of each group that has any.
func spreadAsCoded(groups [][]int, size int) []int {
	k := 0
	for _, g := range groups {
		if len(g) > 0 {
			k++
		}
	}
	each := (size + k - 1) / k
	var out []int
	for _, g := range groups {
		out = append(out, g[:min(each, len(g))]...)
	}
	if len(out) < size {
		return nil
	}
	return out[:size]
}

// tight takes the largest group, then the largest of those that are next to one
// taken, or else the largest left.
func (s *codedTwin) tight(groups [][]int, size int) []int {
	var used []int
	var out []int
	unused := func(g int) bool { return !slices.Contains(used, g) }
	near := func(g int) bool {
		return unused(g) && slices.ContainsFunc(used, func(u int) bool {
			return slices.Contains(s.cfg.Site.Groups[u].Adjacent, int32(g)) || slices.Contains(s.cfg.Site.Groups[g].Adjacent, int32(u))
		})
	}
	for len(out) < size {
		g := largestOf(groups, near)
		if g < 0 {
			g = largestOf(groups, unused)
		}
		used = append(used, g)
		out = append(out, groups[g][:min(size-len(out), len(groups[g]))]...)
	}
	return out
}

// release is when need nodes are free, by the ends of running bounded work within
// a day, if they are not now.
func (s *codedTwin) release(need int) model.Time {
	free := 0
	var ends []*codedJob
	for n := range s.up {
		if s.free(n) {
			free++
		}
	}
	for _, j := range s.jobs {
		if end := j.start.Add(j.Walltime); j.running && j.Kind == model.Bounded && end > s.now && end <= s.now.Add(24*model.Hour) {
			ends = append(ends, j)
		}
	}
	slices.SortFunc(ends, func(a, b *codedJob) int { return cmp.Compare(a.start.Add(a.Walltime), b.start.Add(b.Walltime)) })
	if free >= need {
		return model.Never
	}
	for _, j := range ends {
		if free += len(j.nodes); free >= need {
			return j.start.Add(j.Walltime)
		}
	}
	return model.Never
}

// hours is what j counts for in the backlog.
func (j *codedJob) hours() int64 {
	switch {
	case j.Kind == model.Reactive:
		return int64(j.NodesMin) * int64(j.NodesMin) * 24
	case j.Kind == model.Service || j.Walltime == model.Forever:
		return int64(j.NodesMin) * 24
	}
	return int64(j.NodesMin) * int64(j.Walltime/model.Hour)
}

// score is the sum of the factors with weights as given, times the penalty.
func (s *codedTwin) score(j *codedJob) model.Fixed {
	var queued, running, busy, mine, nodeTime, gpuTime, ready int64
	prints := map[int32]int32{}
	most := int32(0)
	for n := range s.up {
		if s.up[n] == model.Ready {
			ready++
		}
		if s.free(n) {
			f := max(-1, s.cfg.Site.Nodes[n].Fingerprint)
			prints[f]++
			most = max(most, prints[f])
		}
	}
	for _, o := range s.jobs {
		switch n := int64(len(o.nodes)); {
		case o.running:
			running += o.hours()
			if busy += n; o.Tenant == j.Tenant {
				mine += n
				if ran := int64(s.now - o.start); ran <= int64(s.cfg.Quota.Window) {
					nodeTime += n * ran
					for _, h := range o.nodes {
						if s.up[h] == model.Ready {
							gpuTime += int64(s.cfg.Site.Nodes[h].GPUs) * ran
						} else {
							gpuTime += ran
						}
					}
				}
			}
		case !o.flying:
			queued += o.hours()
		}
	}
	v := score.Values{
		score.Priority:    model.Ratio(int64(j.Class), 10),
		score.Wait:        score.WaitOf((s.now-j.Submit).Sub(0)/model.Second*model.Second, s.cfg.Policies[0].Reference),
		score.FairShare:   model.One / 2,
		score.Topology:    score.CodedTopologyOf(j.NodesMin, int32(max(1, len(s.cfg.Site.Groups))), -1, false),
		score.Data:        model.One / 2,
		score.Backlog:     min(model.One, model.Ratio(queued, max(1, running))),
		score.Energy:      model.One / 2,
		score.Checkpoint:  []model.Fixed{model.Ratio(1, 6), model.Ratio(1, 11), 0}[j.Checkpoint],
		score.Conformance: model.Ratio(int64(most), int64(j.NodesMin)),
	}
	penalty := model.One
	if j.Tenant >= 0 {
		l := s.limits[j.Tenant]
		if ready = max(1, ready); l.FairShare > 0 {
			v[score.FairShare] = score.CodedFairShareOf(l.FairShare, max(0, l.Burst-model.One), model.Ratio(mine, ready), model.Ratio(busy, ready))
		}
		penalty = score.Penalty(max(naiveRatio(nodeTime, int64(l.NodeBudget)), naiveRatio(gpuTime, int64(l.GPUBudget))))
	}
	sum := model.Fixed(0)
	for f, w := range s.cfg.Policies[0].Weights {
		sum += w.Mul(v[f])
	}
	return penalty.Mul(sum)
}

// drawCoded draws a world for the as-coded mode with raw weights.
func drawCoded(t *rapid.T, with naiveFeature) *naiveWorld {
	w := drawNaive(t, with&^withLanes)
	p := &w.cfg.Policies[0]
	*p = scheduler.Policy{AsCoded: true, Ranking: scheduler.ByScore, Reference: p.Reference, Cycle: p.Cycle, Phase: p.Phase}
	var raw [score.NumFactors]float64
	for f := range raw {
		raw[f] = float64(rapid.IntRange(0, 20).Draw(t, "weight")) / 10
	}
	raw[rapid.IntRange(0, 8).Draw(t, "some")] += .1
	var err error
	p.Weights, err = score.Raw(raw)
	require.NoError(t, err)
	for i := range w.cfg.Site.Nodes {
		w.cfg.Site.Nodes[i].GPUs = int32(rapid.IntRange(0, 4).Draw(t, "GPUs"))
	}
	for i := range w.jobs {
		j := &w.jobs[i]
		if j.Walltime < 1000*model.Second && rapid.IntRange(0, 3).Draw(t, "long") == 0 {
			j.Walltime += model.Duration(rapid.SampledFrom([]int{1, 2, 23, 24, 30}).Draw(t, "hours")) * model.Hour
		}
		if j.NodesMin == j.NodesMax && rapid.IntRange(0, 4).Draw(t, "endless") == 0 {
			j.Kind = rapid.SampledFrom([]model.Kind{model.Service, model.Reactive, model.Session}).Draw(t, "kind")
			if j.Kind != model.Session {
				j.Walltime = model.Forever
			}
		}
	}
	return w
}

// The as-coded mode proposes what its twin proposes.
func TestCodedIsItsTwin(t *testing.T) {
	for _, c := range []struct {
		name string
		with naiveFeature
	}{
		{"plain", 0},
		{"groups", withGroups},
		{"sensitive", withGroups | withSensitive},
		{"ranges", withGroups | withRanges},
		{"limits", withLimits | withRanges},
		{"node states", withGroups | withNodeStates},
		{"cycles", withGroups | withCycles},
		{"conflicts", withLimits | withRanges | withConflicts | withCancels},
		{"all", withGroups | withSensitive | withRanges | withLimits | withNodeStates | withCycles | withConflicts | withCancels | withConstraints | withRankings},
	} {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := drawCoded(t, c.with)
				require.NoError(t, w.cfg.Validate())
				require.Empty(t, w.run(scheduler.NewSite(w.cfg), newCodedTwin(w.cfg)))
			})
		})
	}
}

// TestCodedOrdersTheExampleTrace has a core start the six jobs of the example
// trace of rm-replay at once, under its four vectors of weights as they are. What
// they weigh of data and conformance is the same for all here, as the mode knows
// nothing of the first and the second is switched off; the rows are the printed
// factors.
func TestCodedOrdersTheExampleTrace(t *testing.T) {
	type trait = func(*model.Allocation)
	type example struct {
		name   string
		submit int64 // the pass is at 5000
		traits []trait
		row    [score.NumFactors]float64
	}
	jobs := []example{
		{"preprocess", 1000, []trait{of(0), size(2), class(5), ckpt(model.CheckpointNone)}, [...]float64{.5, .747214, .666667, .675, .5, .5, .5, 0, 0}},
		{"pipeline", 1050, []trait{of(3), size(1), class(2), ckpt(model.CheckpointManual)}, [...]float64{.2, .740614, 0, .575, .5, .5, .5, .090909, 0}},
		{"training", 1100, []trait{of(0), size(16), class(8), ckpt(model.CheckpointAuto)}, [...]float64{.8, .733969, .666667, .15, .5, .5, .5, .166667, 0}},
		{"simulation", 1200, []trait{of(1), size(8), class(3), ckpt(model.CheckpointAuto)}, [...]float64{.3, .720546, 0, .5, .5, .5, .5, .166667, 0}},
		{"inference", 1300, []trait{of(2), size(4), class(7), ckpt(model.CheckpointNone)}, [...]float64{.7, .706941, .666667, .675, .5, .5, .5, 0, 0}},
		{"benchmark", 1400, []trait{of(4), size(32), class(1), ckpt(model.CheckpointNone)}, [...]float64{.1, .693147, 1, .15, .5, .5, .5, 0, 0}},
	}
	for _, c := range []struct {
		name    string
		weights [score.NumFactors]float64
		want    []string // nil: by the rows alone
	}{
		{"default", [...]float64{.2, .2, .2, .15, .1, .05, 0, 0, 0}, []string{"inference", "preprocess", "training", "benchmark", "simulation", "pipeline"}},
		{"baseline", [...]float64{1, .8, .7, .6, .5, .4, .3, .5, 0}, nil},
		{"fairness", [...]float64{.5, 1.5, 2, .6, .5, .4, .1, .5, 0}, nil},
		{"energy", [...]float64{.8, .5, .7, .6, .5, .3, 2, .8, 0}, nil},
	} {
		w, err := score.Raw(c.weights)
		require.NoError(t, err)
		cfg := alike(1000, scheduler.Policy{AsCoded: true, Ranking: scheduler.ByScore, Reference: model.Hour, Weights: w, Cycle: 5000 * model.Second})
		cfg.Site.Groups = make([]model.Group, 4)
		for i, share := range []int64{30, 25, 15, 20, 10} { // ml-team, physics, platform, data-eng, hpc-benchmarks
			cfg.Site.Tenants = append(cfg.Site.Tenants, model.Tenant{Name: fmt.Sprint("t", i), Limits: model.Limits{FairShare: model.Ratio(share, 100)}})
		}
		cfg.Quota.Tenants = cfg.Site.Tenants
		s := newStand(t, cfg)
		for tenant, held := range []int32{100, 400, 50, 350} {
			s.submit(0, of(model.TenantID(tenant)), size(held))
		}
		require.Len(t, s.pass(0), 4)
		for i := range jobs {
			s.submit(jobs[i].submit, jobs[i].traits...)
		}
		var got []string
		for _, id := range s.pass(5000) {
			got = append(got, jobs[id-4].name)
		}
		sum := func(name string) (x float64) {
			i := slices.IndexFunc(jobs, func(e example) bool { return e.name == name })
			for f, v := range jobs[i].row {
				x += v * c.weights[f]
			}
			return x
		}
		want := slices.Clone(got)
		slices.SortFunc(want, func(a, b string) int { return cmp.Compare(sum(b), sum(a)) })
		require.Equal(t, want, got, c.name)
		require.Len(t, got, len(jobs))
		if c.want != nil {
			require.Equal(t, c.want, got)
		}
	}
}
