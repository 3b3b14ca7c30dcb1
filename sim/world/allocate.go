package world

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/traces"
)

// Rows says what a translator needs beside the site.
type Rows struct {
	File     string   // for error messages
	GPUTypes []string // what model.Node.GPUType indexes
	Policy   Policy
	// Shared says that jobs share nodes by GPU. A unit is then a GPU, and a node
	// without GPUs one unit; else a unit is a node.
	Shared bool
	// Strangers takes a tenant that the site does not have for none, and counts
	// the row, instead of refusing it.
	Strangers bool
	// Route says where jobs go whose rows name no vCluster; nil sends them to the
	// first, which is counted where there are several.
	Route *Route
	// Users are the names that Batch.User indexes, of the source that is read; nil
	// where Route does not ask for them.
	Users func() []string
	// Dependencies of the trace, nil for none. Edges with a time to think are
	// waited for without it.
	Dependencies *traces.Dependencies
}

// Translator turns rows of a trace into allocations by the names of a site. A
// name that the site does not have is an error that says which it has; but where
// it has no tenants, partitions, qualities of service or reservations at all,
// their names count as none. It
// appends to Site.Constraints each distinct set of constraints that it meets,
// before the allocation that has it is handed out. Cost per row is constant
// but for the search of its dependencies; texts are looked up once each.
type Translator struct {
	site    *model.Site
	rows    Rows
	awkward *Awkward
	words   [traces.TextColumns]vocabulary
	sets    map[constraintKey]model.ConstraintID
	recent  [recentSets]recentSet // of sets, where constraintKey.slot says
	feature [][]string            // by meaning of the column features
	nodes   []model.NodeSet       // by meaning of node_include and node_exclude
	hot     []model.Fixed         // by meaning of mounts
	known   []string              // features of any node, ascending
	bound   []uint64              // a bit for each job that waits, is waited for or needs a lock
	waited  []model.JobID         // jobs that others wait for, ascending
	mutexes []mutex               // ascending by job
	cpus    int32                 // of the largest node, at least 1
	units   int32                 // of the largest node
	heard   hearing               // of the last batch
	routed  routes
	outcome model.JobState // with which the row ended that was translated last
	named   bool           // the row translated last names its vCluster
}

// constraintKey is a set of constraints by meaning.
type constraintKey struct {
	gpuType, cpus, gpus        int32
	features, include, exclude int32
	gpuMemory, memory          int64
}

// recentSets is how many sets of constraints are looked up without a map: most
// traces have few, and a power of two says where each is kept.
const recentSets = 64

// recentSet is one of these; the zero value is none.
type recentSet struct {
	constraintKey
	after model.ConstraintID // the id and 1
}

// slot is the index of k in Translator.recent, where another may be.
func (k *constraintKey) slot() uint64 {
	ids := uint64(uint32(k.gpuType)) + uint64(uint32(k.features))<<8 + uint64(uint32(k.include))<<16 + uint64(uint32(k.exclude))<<24
	sizes := uint64(uint32(k.cpus)) + uint64(uint32(k.gpus))<<32 + uint64(k.memory) + uint64(k.gpuMemory)<<1
	const golden = 0x9e3779b97f4a7c15 // spreads what differs over the bits on top
	return (ids*golden + sizes) * golden >> 58
}

// mutex says that a job needs the lock of a name.
type mutex struct {
	job  model.JobID
	name int32
}

// NewTranslator returns a translator that counts awkward rows in awkward.
func NewTranslator(site *model.Site, rows Rows, awkward *Awkward) *Translator {
	t := &Translator{site: site, rows: rows, awkward: awkward, sets: map[constraintKey]model.ConstraintID{}, cpus: 1, units: 1}
	for i := range site.Nodes {
		n := &site.Nodes[i]
		t.cpus = max(t.cpus, n.CPUs, n.GPUs)
		if len(n.Features) > 0 {
			t.known = append(t.known, n.Features...)
		}
		if rows.Shared {
			t.units = max(t.units, n.GPUs)
		}
	}
	slices.Sort(t.known)
	t.known = slices.Compact(t.known)
	t.speak()
	t.resolve()
	return t
}

// Allocation fills in a from row i of b, keeping the space of its slices. ok is
// false when a rule drops the row; err is a *traces.DataError.
func (t *Translator) Allocation(b *traces.Batch, i int, a *model.Allocation) (ok bool, err error) {
	deps := a.Deps[:0]
	*a = model.Allocation{} // and field by field, for what is made elsewhere has to be copied
	a.Job, a.ID, a.User = b.First+model.JobID(i), b.ID[i], b.User[i]
	a.Submit, a.Eligible = b.Submit[i], b.Submit[i]
	a.Tenant, a.Account, a.QOS, a.Partition, a.Reservation, a.TaskGroup, a.DAG = -1, -1, -1, -1, -1, -1, -1
	a.Class, a.Requeue, a.MaxRequeue, a.DataReady = defaultClass, model.RequeueOnNodeFailure, defaultRequeues, -1
	if !t.nodesOf(b, i, a) {
		t.awkward.note(RuleNoProcessors, a.ID)
		return false, nil
	}
	key := constraintKey{gpuType: -1, features: -1, include: -1, exclude: -1}
	t.outcome, t.named = model.Completed, false
	if attr := b.Attr; attr != nil && attr.Len() > 0 {
		t.numbers(attr, i, a)
		if err := t.texts(b, i, a, &key); err != nil {
			return false, err
		}
	}
	if len(t.site.VClusters) > 1 && !t.named {
		if err := t.route(b, i, a); err != nil {
			return false, err
		}
	}
	a.NodesMax = max(a.NodesMax, a.NodesMin)
	if a.QOS >= 0 && t.site.QOS[a.QOS].Class >= 0 {
		a.Class = t.site.QOS[a.QOS].Class
	}
	if a.Class < 0 || a.Class > model.SensitiveClass {
		return false, t.wrong(b, i, "class", number(int64(a.Class)), "a class from 0 to 10", "correct the row")
	}
	a.Walltime = t.walltime(b, i, a.Kind)
	t.share(b, i, a, &key)
	a.Constraint = t.intern(&key)
	a.Deps = t.waits(a, deps)
	if len(a.Deps) == 0 && b.Attr != nil && b.Attr.Len() > 0 {
		a.Eligible = max(a.Eligible, b.Attr.Eligible[i])
	}
	return true, nil
}

// Defaults of rows that do not say.
const (
	defaultClass    = 5
	defaultRequeues = 3
)

// nodesOf says how many nodes row i asks for: those it states, or as many as its
// processors take of the largest node.
func (t *Translator) nodesOf(b *traces.Batch, i int, a *model.Allocation) bool {
	if a.NodesMin = b.NodesMin[i]; a.NodesMin > 0 {
		return true
	}
	procs := b.ProcsRequested[i]
	if procs <= 0 {
		if procs = b.ProcsAllocated[i]; procs <= 0 {
			return false
		}
		t.awkward.note(RuleUsesAllocated, b.ID[i])
	}
	a.NodesMin = (procs-1)/t.cpus + 1
	if procs%t.cpus != 0 {
		t.awkward.note(RuleRoundedUp, b.ID[i])
	}
	return true
}

// walltime is the request of row i. Only bounded work misses one: services end
// when they are cancelled.
func (t *Translator) walltime(b *traces.Batch, i int, kind model.Kind) model.Duration {
	if kind != model.Bounded && b.Walltime[i] == model.AbsentDuration {
		return model.Forever
	}
	return t.rows.Policy.walltime(b.Walltime[i], b.Runtime[i], b.ID[i], t.awkward)
}

// unbounded says whether row i is of a kind that has no end of its own.
func (t *Translator) unbounded(b *traces.Batch, i int) bool {
	if b.Attr == nil || b.Attr.Len() == 0 {
		return false
	}
	kind, err := t.mean(b, i, traces.TextKind, int32(model.Bounded))
	return err == nil && model.Kind(kind) != model.Bounded
}

// share says what of each node the row takes: GPUs where nodes are shared and it
// asks for some without wanting the nodes for itself, else whole nodes that have
// as many.
func (t *Translator) share(b *traces.Batch, i int, a *model.Allocation, key *constraintKey) {
	key.cpus = max(b.CPUsPerNode[i], 0)
	gpus := max(b.GPUsPerNode[i], 0) // a negative number drops the row
	exclusive := b.Attr != nil && b.Attr.Len() > 0 && b.Attr.Exclusive[i] == 1
	if key.gpus = gpus; t.rows.Shared && gpus > 0 && !exclusive {
		a.GPUs = gpus
	}
}

// numbers takes over what row i states in numbers.
func (t *Translator) numbers(attr *traces.Attributes, i int, a *model.Allocation) {
	a.NodesMax = attr.NodesMax[i]
	or(&a.Class, attr.Class[i], traces.Absent)
	or(&a.MaxRequeue, attr.RequeueMax[i], traces.Absent)
	or(&a.Index, attr.Index[i], traces.Absent)
	or(&a.MaxConcurrent, attr.MaxConcurrent[i], traces.Absent)
	or(&a.CkptBytes, attr.CkptBytes[i], traces.Absent64)
	or(&a.IODemand, attr.IODemand[i], traces.Absent64)
	or(&a.Power, attr.Power[i], traces.Absent64)
	or(&a.Priority, attr.Priority[i], traces.Absent64)
	if nice := attr.Nice[i]; nice != traces.Absent {
		a.Nice = int64(nice)
	}
	a.Sensitive = attr.Sensitive[i] == 1
	a.Hold = attr.Hold[i] == 1 && (attr.Released[i] == model.AbsentTime || attr.Released[i] > a.Submit)
}

// or sets dst to x unless x is absent.
func or[T int32 | int64](dst *T, x, absent T) {
	if x != absent {
		*dst = x
	}
}

// Units is what a counts as in the units of Rows.Shared.
func (t *Translator) Units(a *model.Allocation) int32 {
	per := a.GPUs
	if per == 0 {
		per = t.units
	}
	return saturate(int64(a.NodesMin) * int64(per))
}

// waits appends what a waits for to deps.
func (t *Translator) waits(a *model.Allocation, deps []model.Dependency) []model.Dependency {
	if w := int(a.Job >> 6); w >= len(t.bound) || t.bound[w]>>(a.Job&63)&1 == 0 {
		return deps
	}
	for _, e := range t.rows.Dependencies.Of(a.Job) {
		if e.Condition != model.Mutex {
			deps = append(deps, model.Dependency{On: e.On, Condition: e.Condition})
		}
	}
	if i, ok := slices.BinarySearchFunc(t.mutexes, a.Job, func(m mutex, job model.JobID) int { return int(m.job) - int(job) }); ok {
		deps = append(deps, model.Dependency{On: -1, Condition: model.Mutex, Mutex: t.mutexes[i].name})
	}
	_, a.Awaited = slices.BinarySearch(t.waited, a.Job)
	return deps
}

// resolve finds out who has to do with dependencies at all, who is waited for, and
// which jobs share a lock: those that mutex edges join, under the lowest row of them
// as its name.
func (t *Translator) resolve() {
	if t.rows.Dependencies == nil {
		return
	}
	root := map[model.JobID]model.JobID{}
	find := func(j model.JobID) model.JobID {
		for {
			up, ok := root[j]
			if !ok || up == j {
				return j
			}
			j = up
		}
	}
	var jobs []model.JobID
	for _, e := range t.rows.Dependencies.Edges {
		t.binds(e.Job)
		t.binds(e.On)
		if e.Condition != model.Mutex {
			t.waited = append(t.waited, e.On)
			continue
		}
		jobs = append(jobs, e.Job, e.On)
		a, b := find(e.Job), find(e.On)
		root[max(a, b)] = min(a, b)
	}
	slices.Sort(t.waited)
	t.waited = slices.Compact(t.waited)
	slices.Sort(jobs)
	for _, j := range slices.Compact(jobs) {
		t.mutexes = append(t.mutexes, mutex{j, int32(find(j))})
	}
}

// binds marks a job that has to do with dependencies.
func (t *Translator) binds(job model.JobID) {
	for int(job>>6) >= len(t.bound) {
		t.bound = append(t.bound, 0)
	}
	t.bound[job>>6] |= 1 << (job & 63)
}
