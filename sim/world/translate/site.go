package translate

import (
	"slices"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/traces"
)

// Rows says what the translation of rows needs beside the site.
type Rows struct {
	File     string   // for error messages
	GPUTypes []string // what model.Node.GPUType indexes
	Policy   Policy
	Warm     Warm // when the replay begins, if not with the first row
	// Horizon is the last instant that a row tells of: until then run services of
	// which the trace does not say how long they ran.
	Horizon model.Time
	// Shared says that jobs share nodes by GPU. A unit is then a GPU, and a node
	// without GPUs one unit; else a unit is a node.
	Shared bool
	// CPUs and Memory are what a job gets of each node that does not say, where nodes are
	// divided by amounts: cores, at least 1 there, and bytes.
	CPUs   int32
	Memory int64
	// SpreadTasks gives a job whose row knows its processors only in all these on any nodes, where nodes are divided by
	// amounts: a task each. NoMemory says that nodes are not divided by memory.
	SpreadTasks, NoMemory bool
	// Unstated is what holds for rows that do not say it, nil for what DefaultUnstated says.
	Unstated *Unstated
	// TellCheckpoint counts the rows that do not say what saves their job's work: where
	// jobs are preempted or write checkpoints as they run, results depend on it.
	TellCheckpoint bool
	// NoFeatures and NoNodeNames say that the cluster was given as a size: it cannot say which
	// features its nodes have, or their names, and what rows ask of these is ignored.
	NoFeatures, NoNodeNames bool
	// IgnoreUnknownTenants takes a tenant that the site does not have for none, and
	// counts the row, instead of rejecting its job.
	IgnoreUnknownTenants bool
	// Route says where jobs go whose rows name no vCluster; nil sends them to the
	// first, which is counted where there are several.
	Route *Route
	// Users are the names that Batch.User indexes, of the source that is read; nil
	// where Route does not need them.
	Users func() []string
	// Hardware reads what rows tell of the hardware; nil reads nothing.
	Hardware *Hardware
	// Dependencies of the trace, nil for none. Edges with a time to think are
	// waited for without it.
	Dependencies *traces.Dependencies
}

// Unstated is what holds for a job whose row does not say what saves its work, after
// which failures it returns to the queue, and how often.
type Unstated struct {
	Checkpoint model.Checkpoint
	Requeue    model.Requeue
	MaxRequeue int32
}

// DefaultUnstated is that nothing saves the work of such a job, and that it returns after
// failures of its nodes, three times. A log that does not mention checkpoints is of a
// system that had none: Lattice's own default, automatic ones, is that of its interface
// for submissions.
func DefaultUnstated() Unstated {
	return Unstated{model.CheckpointNone, model.RequeueOnNodeFailure, 3}
}

// Site turns rows of a trace into jobs of a site, by the site's names. A job of which
// the site does not have a name can never run, see RuleNotInCluster; but where it has no
// tenants, partitions, qualities of service or reservations at all, their names
// count as none. It appends to model.Site.Constraints each distinct set of
// constraints that it meets, before it returns the allocation that has it. Cost per
// row is constant but for the search of its dependencies; texts are looked up once
// each.
type Site struct {
	site      *model.Site
	rows      *Rows
	columns   [traces.TextColumns]column
	sets      map[constraintKey]model.ConstraintID
	recent    [recentSets]recentSet // of sets, where constraintKey.slot says
	feature   []featureSet          // by meaning of the column features
	types     [][]int32             // by meaning of gpu_types
	nodes     []model.NodeSet       // by meaning of node_include and node_exclude
	missing   []bool                // likewise: the site does not have some of them
	node      map[string]model.NodeID
	noNodes   int32 // in nodes, none of them; -1 until it is needed
	lacking   []Lack
	hot       []model.Fixed      // by meaning of mounts: the part on the tier hot
	cold      []int64            // likewise: bytes on the others
	known     []string           // features of any node, ascending
	dependent []uint64           // a bit for each job that waits, is waited for or needs a lock
	unused    []model.Dependency // memory for what jobs wait for
	awaited   []model.JobID      // jobs that others wait for, ascending
	mutexes   []mutex            // ascending by job
	cpus      int32              // of the largest node, at least 1
	units     int32              // of the largest node
	memory    bool               // some node states its memory
	unstated  Unstated
	silent    [traces.TextColumns]int32 // the meanings in a row that states nothing
	filled    filled                    // of the last batch
	routed    routes
}

// rowState is what the translation of one row gathers beside the allocation.
type rowState struct {
	constraintKey
	met     RuleSet
	outcome model.JobState // with which it ended
	routed  bool           // it names its vCluster
}

// NewSite returns a translation for a site. rows must stay as they are.
func NewSite(site *model.Site, rows *Rows) *Site {
	t := &Site{site: site, rows: rows, sets: map[constraintKey]model.ConstraintID{}, cpus: 1, units: 1, noNodes: -1, unstated: DefaultUnstated()}
	if rows.Unstated != nil {
		t.unstated = *rows.Unstated
	}
	t.silent = meansNothing
	t.silent[traces.TextCheckpoint], t.silent[traces.TextRequeue] = int32(t.unstated.Checkpoint), int32(t.unstated.Requeue)
	for i := range site.Nodes {
		n := &site.Nodes[i]
		t.cpus, t.memory = max(t.cpus, n.CPUs, n.GPUs), t.memory || n.Memory > 0
		if len(n.Features) > 0 {
			t.known = append(t.known, n.Features...)
		}
		if rows.Shared {
			t.units = max(t.units, n.GPUs)
		}
	}
	slices.Sort(t.known)
	t.known = slices.Compact(t.known)
	t.setReaders()
	t.setDependencies()
	return t
}

// SiteTruth is what a row tells of its job that the scheduler of a site does not know.
type SiteTruth struct {
	Truth
	Outcome  model.JobState // with which it ends by itself
	Release  model.Time     // from its hold, AbsentTime when that is not lifted
	Hardware hwmodel.Job
	// Input is how many bytes it stages: those that are not on the tier hot.
	Input traces.Opt[int64]
}

// Submission turns row i of b into a, keeping the space of its slices, and the truth
// about its job. ok is false when one of the rules met drops the row; err is a
// *traces.DataError.
func (t *Site) Submission(b *traces.Batch, i int, a *model.Allocation) (j SiteTruth, met RuleSet, ok bool, err error) {
	end := t.ending(b, i)
	if end == RuleImpossible || end == RuleNeverRan {
		return j, 1 << end, false, nil
	}
	outcome, met, ok, err := t.allocation(b, i, a)
	if !ok {
		return j, met, false, err
	}
	j.Runtime, j.Cancel, j.Release, j.Outcome = b.Runtime[i], model.AbsentTime, model.AbsentTime, outcome
	if a.Hold && b.Attr.Released[i] != model.AbsentTime {
		j.Release = t.rows.Warm.From(b.Attr.Released[i])
	}
	if j.Runtime == model.AbsentDuration {
		met.Add(end)
		t.untimed(b, i, &j)
	}
	if j.Runtime == 0 {
		met.Add(RuleZeroRuntime)
	}
	if j.Runtime > a.Walltime {
		met.Add(RuleOverrun)
	}
	if t.rows.Hardware != nil {
		j.Hardware = t.rows.Hardware.job(b, i, a)
	}
	j.Input = t.input(b, i)
	j.Ran = t.rows.Warm.ran(b, i)
	t.rows.Warm.before(b, i, j.Ran, &met)
	return j, met, true, nil
}

// input is how many bytes row i has on other tiers than hot, as far as it says.
func (t *Site) input(b *traces.Batch, i int) traces.Opt[int64] {
	if !states(b.Attr, i, traces.TextMounts) {
		return traces.Opt[int64]{}
	}
	m, err := t.meaning(b, i, traces.TextMounts, -1)
	if err != nil || m < 0 {
		return traces.Opt[int64]{}
	}
	return traces.Some(t.cold[m])
}

// ending is the rule that row i meets if it states no runtime or what cannot be,
// numRules else.
func (t *Site) ending(b *traces.Batch, i int) Rule {
	switch {
	case impossible(b, i):
		return RuleImpossible
	case b.Runtime[i] != model.AbsentDuration:
		return numRules
	case t.unbounded(b, i):
		return RuleUntimed
	case b.CancelledAt[i] != model.AbsentTime:
		return RuleWithdrawn
	}
	return RuleNeverRan
}

// untimed settles how a job without a runtime ends: when it was withdrawn or, if
// its kind has no end of its own, when it ended in the log, else with the trace.
func (t *Site) untimed(b *traces.Batch, i int, j *SiteTruth) {
	switch cancel := b.CancelledAt[i]; {
	case cancel != model.AbsentTime:
		j.Cancel, j.Outcome = cancel, model.Cancelled
	case b.Attr.End[i] != model.AbsentTime:
		j.Cancel = b.Attr.End[i]
	default:
		j.Cancel, j.Outcome = t.rows.Horizon, model.Completed
	}
	j.Cancel = max(j.Cancel, t.rows.Warm.From(b.Submit[i]))
}

// RanOn lists the names of the nodes on which row i ran in the log; stated is false
// where it does not say. err is a *traces.DataError: they are not understood.
func (t *Site) RanOn(b *traces.Batch, i int) (names []string, stated bool, err error) {
	if i >= len(b.RanOn) || b.RanOn[i] == "" {
		return nil, false, nil
	}
	names, err = nodesNamed(b.RanOn[i])
	if err != nil {
		return nil, false, t.wrong(b, i, "recorded_nodes", err.Error(), "names of nodes like n[001-004,7],m1, apart by commas or spaces", "correct the row, or leave it empty: the job is then placed where there is room")
	}
	return names, true, nil
}

// Allocation turns row i of b into a, keeping the space of its slices. ok is false
// when one of the rules met drops the row; err is a *traces.DataError.
func (t *Site) Allocation(b *traces.Batch, i int, a *model.Allocation) (met RuleSet, ok bool, err error) {
	_, met, ok, err = t.allocation(b, i, a)
	return met, ok, err
}

// allocation is Allocation, and how the job ended in the log.
func (t *Site) allocation(b *traces.Batch, i int, a *model.Allocation) (outcome model.JobState, met RuleSet, ok bool, err error) {
	deps := a.Deps[:0]
	*a = model.Allocation{} // and field by field, for what is made elsewhere has to be copied
	a.Job, a.ID, a.User = b.First+model.JobID(i), b.ID[i], b.User[i]
	a.Submit, a.Eligible = b.Submit[i], b.Submit[i]
	a.Tenant, a.Account, a.QOS, a.Partition, a.Reservation, a.TaskGroup, a.DAG = -1, -1, -1, -1, -1, -1, -1
	a.Class, a.DataReady = defaultClass, -1
	a.Checkpoint, a.Requeue, a.MaxRequeue = t.unstated.Checkpoint, t.unstated.Requeue, t.unstated.MaxRequeue
	r := rowState{constraintKey: constraintKey{gpuType: -1, features: -1, include: -1, exclude: -1}, outcome: model.Completed}
	if !t.nodesOf(b, i, a, &r.met) {
		return 0, 1 << RuleNoProcessors, false, nil
	}
	if attr := b.Attr; attr != nil && attr.Len() > 0 {
		t.numbers(attr, i, a)
		if err := t.texts(b, i, a, &r); err != nil {
			return 0, 0, false, err
		}
	}
	if len(t.site.VClusters) > 1 && !r.routed {
		t.route(b, i, a, &r)
	}
	if t.rows.TellCheckpoint && !states(b.Attr, i, traces.TextCheckpoint) {
		r.met.Add(RuleNoCheckpoint)
	}
	a.NodesMax = max(a.NodesMax, a.NodesMin)
	if a.QOS >= 0 && t.site.QOS[a.QOS].Class >= 0 {
		a.Class = t.site.QOS[a.QOS].Class
	}
	if a.Class < 0 || a.Class > model.SensitiveClass {
		return 0, 0, false, t.wrong(b, i, "class", number(int64(a.Class)), "a class from 0 to 10", "correct the row")
	}
	a.Walltime = t.walltime(b, i, a.Kind, &r.met)
	t.share(b, i, a, &r.constraintKey)
	a.Constraint = t.intern(&r.constraintKey)
	a.Deps = t.appendDependencies(a, deps)
	if len(a.Deps) == 0 && b.Attr != nil && b.Attr.Len() > 0 && b.Attr.Eligible[i] > a.Eligible {
		a.Eligible = b.Attr.Eligible[i]
		r.met.Add(RuleEligibleLater)
	}
	return r.outcome, r.met, true, nil
}

// states says whether row i has a text in column c.
func states(attr *traces.Attributes, i int, c traces.TextColumn) bool {
	return attr != nil && i < len(attr.Text[c]) && attr.Text[c][i] >= 0
}

// defaultClass is the class of rows that do not say.
const defaultClass = 5

// nodesOf says how many nodes row i asks for: those it states, or as many as its
// processors take of the largest node.
func (t *Site) nodesOf(b *traces.Batch, i int, a *model.Allocation, met *RuleSet) bool {
	procs := b.ProcsRequested[i]
	a.NodesMin = b.NodesMin[i]
	if a.NodesMin > 0 && !(procs <= 0 && b.ProcsAllocated[i] > 0 && t.spreads(b, i)) {
		return true
	}
	if procs <= 0 {
		if procs = b.ProcsAllocated[i]; procs <= 0 {
			return false
		}
		met.Add(RuleUsesAllocated)
	}
	if t.spreads(b, i) {
		a.Tasks, a.NodesMin = procs, 1
		return true
	}
	a.NodesMin = (procs-1)/t.cpus + 1
	if procs%t.cpus != 0 {
		met.Add(RuleRoundedUp)
	}
	return true
}

// spreads says whether the processors of row i may be on any nodes: of a row that says nothing of single nodes, and of one that says no
// request at all, whose nodes and processors on each are what was allocated.
func (t *Site) spreads(b *traces.Batch, i int) bool {
	if !t.rows.SpreadTasks || !t.site.Amounts || b.GPUsPerNode[i] > 0 || GPUsInAll(b, i) > 0 || exclusive(b, i) {
		return false
	}
	each, nodes, held := b.CPUsPerNode[i], b.NodesMin[i], b.ProcsAllocated[i]
	return each <= 0 || b.ProcsRequested[i] <= 0 && nodes > 0 && held > 0 && each == (held-1)/nodes+1
}

// walltime is the request of row i. Only bounded work misses one: services end
// when they are cancelled.
func (t *Site) walltime(b *traces.Batch, i int, kind model.Kind, met *RuleSet) model.Duration {
	if kind != model.Bounded && b.Walltime[i] == model.AbsentDuration {
		return model.Forever
	}
	return t.rows.Policy.walltime(b.Walltime[i], b.Runtime[i], met)
}

// unbounded says whether row i is of a kind that has no end of its own.
func (t *Site) unbounded(b *traces.Batch, i int) bool {
	if b.Attr == nil || b.Attr.Len() == 0 {
		return false
	}
	kind, err := t.meaning(b, i, traces.TextKind, int32(model.Bounded))
	return err == nil && model.Kind(kind) != model.Bounded
}

// GPUsInAll are those that row i asks for without saying how many on each node; 0 for none.
func GPUsInAll(b *traces.Batch, i int) int32 {
	if b.GPUsPerNode[i] != traces.Absent || b.Attr == nil || b.Attr.Len() == 0 {
		return 0
	}
	return max(b.Attr.GPUsTotal[i], 0)
}

// gpusPerNode are those that row i asks for on each of its nodes: what it states, or else its part
// of those it asks for in all, where it names nodes.
func gpusPerNode(b *traces.Batch, i int) int32 {
	if all := GPUsInAll(b, i); all > 0 && b.NodesMin[i] > 0 {
		return (all-1)/b.NodesMin[i] + 1
	}
	return max(b.GPUsPerNode[i], 0) // a negative number drops the row
}

// share says what of each node the row takes: GPUs where nodes are shared and it
// asks for some without wanting the nodes for itself, where they are divided by amounts
// what it asks for, else whole nodes that have as many.
func (t *Site) share(b *traces.Batch, i int, a *model.Allocation, key *constraintKey) {
	key.cpus = max(b.CPUsPerNode[i], 0)
	gpus := gpusPerNode(b, i)
	if key.gpus = gpus; t.rows.Shared && !exclusive(b, i) {
		if a.GPUs = gpus; t.site.Amounts {
			t.amounts(b, i, a, key)
		}
	}
}

// exclusive says whether row i wants its nodes for itself.
func exclusive(b *traces.Batch, i int) bool {
	return b.Attr != nil && b.Attr.Len() > 0 && b.Attr.Exclusive[i] == 1
}

// amounts is share where nodes are divided by amounts.
func (t *Site) amounts(b *traces.Batch, i int, a *model.Allocation, key *constraintKey) {
	a.CPUs, a.Memory = key.cpus, key.memory
	if t.rows.NoMemory {
		a.Memory = 0
	}
	if a.Tasks > 0 {
		t.spread(a, b.NodesMin[i])
	}
	if a.CPUs == 0 { // the row may know them in all
		procs := b.ProcsRequested[i]
		if procs <= 0 && b.NodesMin[i] <= 0 { // as nodesOf does: what it was allocated is no request else
			procs = b.ProcsAllocated[i]
		}
		if procs > 0 {
			a.CPUs = (procs-1)/a.NodesMin + 1
		}
	}
	if b.Attr != nil && b.Attr.Len() > 0 && a.GPUs <= 1 && !t.rows.SpreadTasks && b.Attr.GPUMilli[i] > 0 && b.Attr.GPUMilli[i] < model.WholeGPU {
		a.GPUs, a.GPUMilli = 0, b.Attr.GPUMilli[i]
	}
	if a.CPUs == 0 {
		a.CPUs = t.rows.CPUs
	}
	if a.Memory == 0 && t.memory && !t.rows.NoMemory {
		a.Memory = t.rows.Memory
	}
	key.cpus, key.gpus, key.memory = 0, 0, 0 // a node that has room has as many
}

// spread has the tasks of a take a processor each, on as many nodes as have room for them. Memory of each of so many nodes is shared out among
// them; where the nodes are not known it is that of a processor already.
func (t *Site) spread(a *model.Allocation, nodes int32) {
	if a.CPUs = 1; nodes > 0 && a.Memory > 0 {
		a.Memory = (a.Memory*int64(nodes)-1)/int64(a.Tasks) + 1
	}
	a.NodesMax = max(a.NodesMax, min(a.Tasks, int32(len(t.site.Nodes))))
}

// numbers takes over what row i states in numbers.
func (t *Site) numbers(attr *traces.Attributes, i int, a *model.Allocation) {
	a.NodesMax = attr.NodesMax[i]
	or(&a.Class, attr.Class[i], traces.Absent)
	or(&a.MaxRequeue, attr.RequeueMax[i], traces.Absent)
	or(&a.Index, attr.Index[i], traces.Absent)
	or(&a.MaxConcurrent, attr.MaxConcurrent[i], traces.Absent)
	or(&a.CkptBytes, attr.CkptBytes[i], traces.Absent64)
	or(&a.IODemand, attr.IODemand[i], traces.Absent64)
	or(&a.Power, attr.Power[i], traces.Absent64)
	or(&a.Priority, attr.SiteFactor[i], traces.Absent64)
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
func (t *Site) Units(a *model.Allocation) int32 {
	per := t.units
	if a.Divides() {
		per = max(a.Cards(), 1)
	}
	return saturate(int64(a.NodesMin) * int64(per))
}
