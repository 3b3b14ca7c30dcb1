package hosting

import (
	"cmp"
	"slices"

	"orrery/scheduler/model"
)

// Party is a side of a taking: a service of the cluster file, else the jobs of a vCluster or of
// a tenant.
type Party struct {
	Service string
	Group   string // of jobs: their vCluster or tenant; "" for jobs without a tenant
}

// Taking is what one party took from another. Each instant of a node is counted in NodeTime or
// in Borrowed, and there in one Taking of the vClusters and at most one of the tenants.
type Taking struct {
	From, To    Party
	Preemptions int64          // jobs of From that were asked to leave for one of To
	Nodes       int64          // that From gave up for To, and To got
	NodeTime    model.Duration // for which To held these
	Borrowed    model.Duration // node time of To on other nodes, at home with From; 0 of tenants
	Delay       model.Duration // from when jobs of From had left for one of To until they started again
	LostGPU     int64          // µs of GPU time: work of these jobs that was thrown away
}

// Takings adds up from the log who takes what from whom. Cost: the nodes of what changes; memory
// is that of the nodes and of what the jobs in the system hold.
type Takings struct {
	home     []model.VClusterID // of each node, below 0 for none
	services *Services
	jobs     []holder // by ref
	refs     map[model.JobID]model.Ref
	nodes    []nodeAccount
	asked    []proposed // proposals to preempt that are not answered
	before   []model.NodeID
	changes  int64 // of what jobs hold, so far
	byOwner  ledger
	byTenant ledger
}

// sides are the numbers of a party in both ledgers: services first.
type sides struct{ owner, tenant int32 }

// holder is a job in the system.
type holder struct {
	job      model.JobID
	vcluster model.VClusterID
	is       sides
	nodes    []model.NodeID // that it holds
	got      int64          // number of the change at which it got nodes last
	leaves   bool           // asked to leave, and still on its nodes
	away     bool           // has left for another, and did not start again
	left     model.Time     // when it did
	cause    sides          // for whom it leaves or has left
	causeJob model.JobID
}

// nodeAccount is what is known of a node: for whom it was given up last, and for whom it counts.
type nodeAccount struct {
	given bool
	from  sides
	by    model.JobID // for which it was given up; below 0 for any of its home
	at    int64       // number of the change that gave it up

	counts   bool
	borrowed bool
	holder   model.Ref
	of       [2]*Taking // in both ledgers; the second may be nil
	since    model.Time
}

// proposed is a proposal to preempt.
type proposed struct {
	seq      uint64
	cause    sides
	causeJob model.JobID
}

// ledger holds the takings among parties.
type ledger struct {
	parties []Party
	at      map[[2]int32]*Taking
	pairs   [][2]int32 // of which there are takings
}

func newLedger(services []hosted, groups []string) ledger {
	l := ledger{at: map[[2]int32]*Taking{}}
	for i := range services {
		l.parties = append(l.parties, Party{Service: services[i].cfg.Name})
	}
	for _, g := range groups {
		l.parties = append(l.parties, Party{Group: g})
	}
	return l
}

// between is the taking of to from from.
func (l *ledger) between(from, to int32) *Taking {
	t := l.at[[2]int32{from, to}]
	if t == nil {
		t = &Taking{From: l.parties[from], To: l.parties[to]}
		l.at[[2]int32{from, to}] = t
		l.pairs = append(l.pairs, [2]int32{from, to})
	}
	return t
}

// list is all of the ledger, in the order of the parties.
func (l *ledger) list() []Taking {
	slices.SortFunc(l.pairs, func(a, b [2]int32) int { //detlint:total a pair is there once
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	var out []Taking
	for _, p := range l.pairs {
		out = append(out, *l.at[p])
	}
	return out
}

// NewTakings follows who takes what beside the services; nil for none. vclusters and tenants are
// the names behind the ids.
func NewTakings(s *Services, site *model.Site, vclusters, tenants []string) *Takings {
	if s == nil {
		return nil
	}
	t := &Takings{
		services: s, refs: map[model.JobID]model.Ref{}, nodes: make([]nodeAccount, len(site.Nodes)),
		byOwner: newLedger(s.list, vclusters), byTenant: newLedger(s.list, append(slices.Clone(tenants), "")),
	}
	for i := range site.Nodes {
		t.home = append(t.home, site.Nodes[i].Home)
	}
	return t
}

// pair are the takings of to from from, in both ledgers; in that of the tenants those alone with
// a service on one side.
func (t *Takings) pair(from, to sides) (of [2]*Taking) {
	of[0] = t.byOwner.between(from.owner, to.owner)
	if n := int32(len(t.services.list)); from.tenant < n || to.tenant < n {
		of[1] = t.byTenant.between(from.tenant, to.tenant)
	}
	return of
}

// add adds to both takings of a pair.
func add(of [2]*Taking, what func(*Taking)) {
	for _, x := range of {
		if x != nil {
			what(x)
		}
	}
}

// Proposed takes in a proposal, before its answer.
func (t *Takings) Proposed(p *model.Proposal) {
	if p.Kind == model.ProposePreempt && p.Victim != p.Ref { // else it is for the sake of no other
		j := &t.jobs[p.Ref]
		t.asked = append(t.asked, proposed{p.Seq, j.is, j.job})
	}
}

// answered takes the proposal of a fact off those without an answer.
func (t *Takings) answered(seq uint64) (p proposed, ok bool) {
	i := slices.IndexFunc(t.asked, func(p proposed) bool { return p.seq == seq })
	if i < 0 {
		return p, false
	}
	p = t.asked[i]
	t.asked = slices.Delete(t.asked, i, i+1)
	return p, true
}

// Fact takes in a fact of the log.
func (t *Takings) Fact(now model.Time, f *model.Fact) {
	switch f.Kind {
	case model.FactSubmitted:
		t.enter(f)
	case model.FactAssigned, model.FactRestored:
		t.back(now, &t.jobs[f.Ref])
		t.hold(now, f)
	case model.FactResized:
		t.hold(now, f)
	case model.FactRefused:
		t.answered(f.Seq)
	case model.FactPreempted:
		if p, ok := t.answered(f.Seq); ok {
			h := &t.jobs[f.Ref]
			h.leaves, h.cause, h.causeJob = true, p.cause, p.causeJob
			add(t.pair(h.is, h.cause), func(x *Taking) { x.Preemptions++ })
		}
	case model.FactSuspended, model.FactRequeued:
		t.leave(now, f.Ref)
	case model.FactEnded, model.FactCancelled:
		t.leave(now, f.Ref)
		t.back(now, &t.jobs[f.Ref])
		delete(t.refs, f.Job)
	}
}

// enter takes in a submission.
func (t *Takings) enter(f *model.Fact) {
	for int(f.Ref) >= len(t.jobs) {
		t.jobs = append(t.jobs, holder{})
	}
	n := int32(len(t.services.list))
	is := sides{n + int32(f.Alloc.VCluster), n + int32(f.Alloc.Tenant)}
	if f.Alloc.Tenant < 0 {
		is.tenant = int32(len(t.byTenant.parties)) - 1
	}
	for i := range t.services.list {
		if t.services.list[i].cfg.Job.Job == f.Job {
			is = sides{int32(i), int32(i)}
		}
	}
	h := &t.jobs[f.Ref]
	*h = holder{job: f.Job, vcluster: f.Alloc.VCluster, is: is, nodes: h.nodes[:0]}
	t.refs[f.Job] = f.Ref
}

// back counts how long a job was away that starts again, or never will.
func (t *Takings) back(now model.Time, h *holder) {
	if h.away {
		h.away = false
		add(t.pair(h.is, h.cause), func(x *Taking) { x.Delay += now.Sub(h.left) })
	}
}

// hold lets a job hold the nodes of a fact from now on, and no others.
func (t *Takings) hold(now model.Time, f *model.Fact) {
	h := &t.jobs[f.Ref]
	t.before = append(t.before[:0], h.nodes...)
	t.changes++
	before := t.before
	h.nodes = h.nodes[:0]
	grown := false
	f.Placement.EachNode(func(n model.NodeID) {
		h.nodes = append(h.nodes, n)
		if _, had := slices.BinarySearch(before, n); !had {
			t.take(now, f.Ref, n)
			grown = true
		}
	})
	slices.Sort(h.nodes)
	for _, n := range before {
		if _, has := slices.BinarySearch(h.nodes, n); has {
			continue
		}
		if t.close(now, f.Ref, n); f.Reason == model.ReasonReclaimed {
			t.give(n, h.is, -1)
		}
	}
	if grown {
		h.got = t.changes
	}
}

// give notes that a node was given up by from for a job, or for any of its home.
func (t *Takings) give(n model.NodeID, from sides, by model.JobID) {
	a := &t.nodes[n]
	a.given, a.from, a.by, a.at = true, from, by, t.changes
}

// take lets a node count for the job under ref, which gets it: as taken where it was given up
// for it, as borrowed where it is at home elsewhere.
func (t *Takings) take(now model.Time, ref model.Ref, n model.NodeID) {
	h, a := &t.jobs[ref], &t.nodes[n]
	taken := a.given && (a.by == h.job && a.at > h.got || a.by < 0 && t.home[n] == h.vcluster)
	if a.by < 0 || taken {
		a.given = false
	}
	switch {
	case taken && !(a.counts && !a.borrowed):
		t.stop(now, a)
		a.of = t.pair(a.from, h.is)
		add(a.of, func(x *Taking) { x.Nodes++ })
	case !a.counts && t.home[n] >= 0 && t.home[n] != h.vcluster:
		a.of = [2]*Taking{t.byOwner.between(int32(len(t.services.list))+int32(t.home[n]), h.is.owner)}
	default:
		return
	}
	a.counts, a.borrowed, a.holder, a.since = true, !taken, ref, now
}

// stop closes what a node counts for.
func (t *Takings) stop(now model.Time, a *nodeAccount) {
	if !a.counts {
		return
	}
	a.counts = false
	add(a.of, func(x *Taking) {
		if a.borrowed {
			x.Borrowed += now.Sub(a.since)
		} else {
			x.NodeTime += now.Sub(a.since)
		}
	})
}

// close closes what a node counts for the job under ref, which has left it.
func (t *Takings) close(now model.Time, ref model.Ref, n model.NodeID) {
	if a := &t.nodes[n]; a.counts && a.holder == ref {
		t.stop(now, a)
	}
}

// leave lets a job leave all its nodes, for another where it was asked to.
func (t *Takings) leave(now model.Time, ref model.Ref) {
	h := &t.jobs[ref]
	t.changes++
	for _, n := range h.nodes {
		if t.close(now, ref, n); h.leaves {
			t.give(n, h.is, h.causeJob)
		}
	}
	h.nodes = h.nodes[:0]
	if h.leaves {
		h.leaves, h.away, h.left = false, true, now
	}
}

// Attempt takes in an attempt that has ended, before the fact that says so.
func (t *Takings) Attempt(r *model.AttemptRecord) {
	ref, ok := t.refs[r.Job]
	if !ok || !t.jobs[ref].leaves {
		return
	}
	h := &t.jobs[ref]
	add(t.pair(h.is, h.cause), func(x *Taking) { x.LostGPU = model.Plus(x.LostGPU, int64(r.Lost)*int64(r.GPUs)) })
}

// Results are the takings at the end of a replay: among services and the jobs of vClusters, and
// those between services and the jobs of tenants.
func (t *Takings) Results(now model.Time) (byOwner, byTenant []Taking) {
	if t == nil {
		return nil, nil
	}
	for i := range t.nodes {
		t.stop(now, &t.nodes[i])
	}
	for i := range t.jobs {
		t.back(now, &t.jobs[i])
	}
	return t.byOwner.list(), t.byTenant.list()
}
