package naive_test

import (
	"cmp"
	"math/big"
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/site"
)

// naiveCoded is the as-coded mode of a site with one vCluster, in the plainest
// way: nodes are looked at one by one, and what is free, used or queued is counted
// anew whenever it is asked.
type naiveCoded struct {
	cfg     site.Config
	jobs    []*codedJob // in the system
	up      []model.NodeState
	limits  []model.Limits
	power   int64
	band    int64
	pool    int32
	now     model.Time
	passed  model.Time
	changed bool
	second  int // proposals of second looks so far
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

func newNaiveCoded(cfg site.Config) *naiveCoded {
	s := &naiveCoded{cfg: cfg, passed: model.AbsentTime, power: cfg.Site.PowerCap, band: cfg.Site.Bandwidth, pool: cfg.Site.SensitivePool}
	for i := range cfg.Site.Nodes {
		s.up = append(s.up, cfg.Site.Nodes[i].State)
	}
	for i := range cfg.Site.Tenants {
		s.limits = append(s.limits, cfg.Site.Tenants[i].Limits)
	}
	return s
}

func (s *naiveCoded) job(ref model.Ref) *codedJob {
	for _, j := range s.jobs {
		if j.ref == ref {
			return j
		}
	}
	return nil
}

// Predicted implements drive.Scheduler.
func (s *naiveCoded) Predicted(ref model.Ref) model.Time {
	return s.job(ref).start.Add(s.job(ref).Walltime)
}

// Runs implements drive.Scheduler.
func (s *naiveCoded) Runs(ref model.Ref) bool {
	j := s.job(ref)
	return j != nil && j.running
}

// Observe implements drive.Scheduler.
func (s *naiveCoded) Observe(now model.Time, facts []model.Fact) {
	s.now = now
	for i := range facts {
		f := &facts[i]
		j := s.job(f.Ref)
		s.changed = s.changed || f.Kind != model.FactAssigned && !(f.Kind == model.FactCancelled && j.flying) &&
			!(f.Kind == model.FactDemand && j.Kind != model.Reactive)
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
		case model.FactPower:
			s.power = f.Value
		case model.FactBandwidth:
			s.band = f.Value
		case model.FactSensitivePool:
			s.pool = int32(f.Value)
		}
	}
}

func (s *naiveCoded) gone(j *codedJob) {
	s.jobs = slices.DeleteFunc(s.jobs, func(o *codedJob) bool { return o == j })
}

// Plan implements drive.Scheduler.
func (s *naiveCoded) Plan(now model.Time) *scheduler.Plan {
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
		s.pass()
	}
	return &s.plan
}

func (s *naiveCoded) pending() (out []*codedJob) {
	for _, j := range s.jobs {
		if !j.flying && !j.running {
			out = append(out, j)
		}
	}
	return out
}

// pass is the pass of the as-coded mode: sort, place, look again before the first
// that was deferred.
func (s *naiveCoded) pass() {
	queue := s.pending()
	if len(queue) == 0 {
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
	if len(deferred) == 0 {
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
// when it is not held by a limit or a cap, but by nodes.
func (s *naiveCoded) place(j *codedJob) (deferred bool) {
	if !s.within(j, int(j.NodesMin)) {
		return false
	}
	may := s.may(j)
	most := min(len(may), int(j.NodesMax))
	if most < int(j.NodesMin) || s.choose(j, may, most) == nil {
		return true
	}
	for size := most; size >= int(j.NodesMin); size-- {
		nodes := s.choose(j, may, size)
		if nodes == nil || !s.within(j, size) || !s.capped(j, nodes) {
			continue
		}
		j.nodes, j.flying = nodes, true
		slices.Sort(j.nodes)
		s.seq++
		c := naiveChoice{nodes: j.nodes}
		s.plan.Proposals = append(s.plan.Proposals, model.Proposal{Kind: model.ProposeAssign, Job: j.Job, Ref: j.ref, Seq: s.seq, Placement: c.placement()})
		return false
	}
	return false
}

// capped says whether j keeps the caps on these nodes. Who asks for nothing breaks
// none.
func (s *naiveCoded) capped(j *codedJob, nodes []int) bool {
	draw := func(o *codedJob, on []int) (watts int64) {
		if o.Power > 0 {
			return o.Power * int64(len(on)) / int64(o.NodesMin)
		}
		for _, n := range on {
			watts += s.cfg.Site.Nodes[n].BusyPower
		}
		return watts
	}
	demand := func(o *codedJob, on []int) int64 { return o.IODemand * int64(len(on)) / int64(o.NodesMin) }
	power, band := draw(j, nodes), demand(j, nodes)
	allPower, allBand := power, band
	for _, o := range s.jobs {
		allPower, allBand = allPower+draw(o, o.nodes), allBand+demand(o, o.nodes)
	}
	if s.cfg.Site.CountIdle {
		for n := range s.cfg.Site.Nodes {
			held := slices.Contains(nodes, n) || slices.ContainsFunc(s.jobs, func(o *codedJob) bool { return slices.Contains(o.nodes, n) })
			if s.up[n] != model.Down && !held {
				allPower += s.cfg.Site.Nodes[n].IdlePower
			}
		}
	}
	return (s.power == 0 || power == 0 || allPower <= s.power) && (s.band == 0 || band == 0 || allBand <= s.band)
}

// within says whether the hard limits leave room for j on n nodes.
func (s *naiveCoded) within(j *codedJob, n int) bool {
	held := n
	for _, o := range s.jobs {
		if o.IsSensitive() {
			held += len(o.nodes)
		}
	}
	if pool := s.pool; pool > 0 && j.IsSensitive() && held > int(pool) {
		return false
	}
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

// free says whether no job holds node n and it is Ready.
func (s *naiveCoded) free(n int) bool {
	return s.up[n] == model.Ready && !slices.ContainsFunc(s.jobs, func(o *codedJob) bool { return slices.Contains(o.nodes, n) })
}

// may are the free nodes that j may use.
func (s *naiveCoded) may(j *codedJob) (may []int) {
	for n := range s.up {
		if s.free(n) && s.cfg.Site.Constraints[j.Constraint].Holds(model.NodeID(n), &s.cfg.Site.Nodes[n]) {
			may = append(may, n)
		}
	}
	return may
}

// choose finds size of these nodes for j, or nil.
func (s *naiveCoded) choose(j *codedJob, may []int, size int) []int {
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
func (s *naiveCoded) split(nodes []int, bins int, of func(*model.Node) int32) [][]int {
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
func (s *naiveCoded) tight(groups [][]int, size int) []int {
	var used []int
	var out []int
	unused := func(g int) bool { return !slices.Contains(used, g) }
	adjacent := func(g int) bool {
		return unused(g) && slices.ContainsFunc(used, func(u int) bool {
			return slices.Contains(s.cfg.Site.Groups[u].Adjacent, int32(g)) || slices.Contains(s.cfg.Site.Groups[g].Adjacent, int32(u))
		})
	}
	for len(out) < size {
		g := largestOf(groups, adjacent)
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
func (s *naiveCoded) release(need int) model.Time {
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
func (s *naiveCoded) score(j *codedJob) model.Fixed {
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
	// f4: groups that hold as many nodes as there are groups, and the locality within nodes, which is
	// not known.
	groups := int64(max(1, len(s.cfg.Site.Groups)))
	inter := model.One - quotient(min((int64(j.NodesMin)+groups-1)/groups, groups), groups)
	beta := int64(7)
	if j.NodesMin == 1 {
		beta = 3
	}
	share, penalty := model.One/2, model.One
	if j.Tenant >= 0 {
		l := s.limits[j.Tenant]
		if ready = max(1, ready); l.FairShare > 0 {
			share = naiveShareOf(l.FairShare, l.Burst, quotient(mine, ready), quotient(busy, ready))
		}
		penalty = naivePenalty(max(naiveRatio(nodeTime, int64(l.NodeBudget)), naiveRatio(gpuTime, int64(l.GPUBudget))))
	}
	v := [...]model.Fixed{
		quotient(int64(j.Class), 10),
		naiveWaitOf(s.now.Sub(j.Submit)/model.Second*model.Second, s.cfg.Policies[0].Reference),
		share,
		nearest(new(big.Rat).Add(new(big.Rat).Mul(big.NewRat(beta, 10), fraction(inter)), big.NewRat(10-beta, 20))),
		model.One / 2,
		min(model.One, quotient(queued, max(1, running))),
		model.One / 2,
		naiveCheckpointOf(j.Checkpoint, 0, 0),
		quotient(int64(most), int64(j.NodesMin)),
	}
	sum := model.Fixed(0)
	for f, w := range s.cfg.Policies[0].Weights {
		sum += product(w, v[f])
	}
	return product(penalty, sum)
}
