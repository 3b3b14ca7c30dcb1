package translate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/world/internal/worldtest"
	"orrery/traces"
)

const (
	sec = model.Second
	at  = model.Time(sec)
)

var (
	smallSite = worldtest.Site
	row       = worldtest.Row
	batchOf   = worldtest.Batch
)

// namedSite has two of everything that rows name. n0 and n1 have 4 GPUs of one
// type and 8 CPUs, n2 has 2 of another and 16 CPUs, n3 has none.
func namedSite() *model.Site {
	s := smallSite(4)
	s.VClusters = append(s.VClusters, model.VCluster{Name: "ml"})
	s.QOS = []model.QOS{{Name: "normal", Class: -1}, {Name: "urgent", Class: 9}}
	s.Partitions = []model.Partition{{Name: "small"}, {Name: "large"}}
	s.Reservations = []model.Reservation{{Name: "course"}}
	s.Nodes[0].Features, s.Nodes[1].Features = []string{"ib", "nvme"}, []string{"nvme"}
	s.Nodes[2].GPUs, s.Nodes[2].GPUType, s.Nodes[2].CPUs = 2, 1, 16
	s.Nodes[3].GPUs, s.Nodes[3].GPUType = 0, -1
	return s
}

var gpuTypes = []string{"GH200", "A100"}

// translate turns one row into an allocation.
func translate(t *testing.T, rows Rows, change func(*traces.Job)) (*model.Site, RuleSet, model.Allocation, error) {
	t.Helper()
	site := namedSite()
	rows.File, rows.GPUTypes = "log", gpuTypes
	var a model.Allocation
	met, ok, err := NewSite(site, &rows).Allocation(batchOf(row(77, 10*at, change)), 0, &a)
	require.Equal(t, err == nil && !met.Has(RuleNoProcessors), ok)
	return site, met, a, err
}

// set is the set of these rules.
func set(rules ...Rule) (s RuleSet) {
	for _, r := range rules {
		s.Add(r)
	}
	return s
}

// TestAllocation: what a row says changes the allocation of a row that says
// nothing.
func TestAllocation(t *testing.T) {
	plain := model.Allocation{
		ID: 77, Submit: 10 * at, Eligible: 10 * at, Walltime: 20 * sec, VCluster: 0, Tenant: -1, User: -1, Account: -1, QOS: -1, Partition: -1,
		Reservation: -1, NodesMin: 1, NodesMax: 1, Class: 5, Checkpoint: model.CheckpointNone, Requeue: model.RequeueOnNodeFailure, MaxRequeue: 3, DataReady: -1, TaskGroup: -1, DAG: -1,
	}
	number := func(n int32) traces.Opt[int32] { return traces.Some(n) }
	size := func(n int64) traces.Opt[int64] { return traces.Some(n) }
	for _, c := range []struct {
		says string
		row  func(*traces.Job)
		want func(*model.Allocation)
	}{
		{"nothing", func(*traces.Job) {}, func(*model.Allocation) {}},
		{"a vCluster", func(j *traces.Job) { j.VCluster = "ml" }, func(a *model.Allocation) { a.VCluster = 1 }},
		{"a tenant", func(j *traces.Job) { j.Tenant = "bob" }, func(a *model.Allocation) { a.Tenant = 1 }},
		{"a partition", func(j *traces.Job) { j.Partition = "large" }, func(a *model.Allocation) { a.Partition = 1 }},
		{"a reservation", func(j *traces.Job) { j.Reservation = "course" }, func(a *model.Allocation) { a.Reservation = 0 }},
		{"a class", func(j *traces.Job) { j.Class = number(0) }, func(a *model.Allocation) { a.Class = 0 }},
		{"a QOS without a class", func(j *traces.Job) { j.QOS, j.Class = "normal", number(2) }, func(a *model.Allocation) { a.QOS, a.Class = 0, 2 }},
		{"a QOS with a class", func(j *traces.Job) { j.QOS, j.Class = "urgent", number(2) }, func(a *model.Allocation) { a.QOS, a.Class = 1, 9 }},
		{"a kind", func(j *traces.Job) { j.Kind = "session" }, func(a *model.Allocation) { a.Kind = model.Session }},
		{"a service without a request", func(j *traces.Job) { j.Kind, j.Walltime = "service", traces.Opt[model.Duration]{} }, func(a *model.Allocation) {
			a.Kind, a.Walltime = model.Service, model.Forever
		}},
		{"a range", func(j *traces.Job) { j.NodesMin, j.NodesMax = number(2), number(5) }, func(a *model.Allocation) { a.NodesMin, a.NodesMax = 2, 5 }},
		{"a range backwards", func(j *traces.Job) { j.NodesMin, j.NodesMax = number(2), number(1) }, func(a *model.Allocation) { a.NodesMin, a.NodesMax = 2, 2 }},
		{"a topology", func(j *traces.Job) { j.Topology = "spread" }, func(a *model.Allocation) { a.Topology = model.Spread }},
		{"checkpoints of the system", func(j *traces.Job) { j.Checkpoint = "auto" }, func(a *model.Allocation) { a.Checkpoint = model.CheckpointAuto }},
		{"no checkpoints", func(j *traces.Job) { j.Checkpoint, j.CkptBytes = "none", size(9) }, func(a *model.Allocation) {
			a.Checkpoint, a.CkptBytes = model.CheckpointNone, 9
		}},
		{"a requeue policy", func(j *traces.Job) { j.Requeue, j.RequeueMax = "always", number(7) }, func(a *model.Allocation) {
			a.Requeue, a.MaxRequeue = model.RequeueAlways, 7
		}},
		{"a requeue policy in other letters", func(j *traces.Job) { j.Requeue = "On_Node_Failure" }, func(*model.Allocation) {}},
		{"that it is sensitive", func(j *traces.Job) { j.Sensitive = traces.Some(true) }, func(a *model.Allocation) { a.Sensitive = true }},
		{"demands", func(j *traces.Job) { j.Power, j.IODemand, j.SiteFactor = size(1), size(2), size(-3) }, func(a *model.Allocation) {
			a.Power, a.IODemand, a.Priority = 1, 2, -3
		}},
		{"where its data is", func(j *traces.Job) { j.Mounts = `{"cold":1,"hot":3}` }, func(a *model.Allocation) { a.DataReady = model.One / 4 * 3 }},
		{"a task group", func(j *traces.Job) { j.Group, j.Index, j.MaxConcurrent = "g", number(4), number(2) }, func(a *model.Allocation) {
			a.TaskGroup, a.Index, a.MaxConcurrent = 0, 4, 2
		}},
		{"an account and a workflow", func(j *traces.Job) { j.Account, j.DAG = "x", "w" }, func(a *model.Allocation) { a.Account, a.DAG = 0, 0 }},
		{"its nice", func(j *traces.Job) { j.SiteFactor, j.Nice = size(10), number(-5) }, func(a *model.Allocation) { a.Priority, a.Nice = 10, -5 }},
		{"its nice alone", func(j *traces.Job) { j.Nice = number(7) }, func(a *model.Allocation) { a.Nice = 7 }},
		{"that it is on hold", func(j *traces.Job) { j.Hold = traces.Some(true) }, func(a *model.Allocation) { a.Hold = true }},
		{"until when it is on hold", func(j *traces.Job) { j.Hold, j.Released = traces.Some(true), traces.Some(11*at) }, func(a *model.Allocation) { a.Hold = true }},
		{"a hold that is lifted at once", func(j *traces.Job) { j.Hold, j.Released = traces.Some(true), traces.Some(10*at) }, func(*model.Allocation) {}},
		{"that it is on no hold", func(j *traces.Job) { j.Hold = traces.Some(false) }, func(*model.Allocation) {}},
		{"when it is eligible", func(j *traces.Job) { j.Eligible = traces.Some(15 * at) }, func(a *model.Allocation) { a.Eligible = 15 * at }},
	} {
		t.Run(c.says, func(t *testing.T) {
			_, _, got, err := translate(t, Rows{}, func(j *traces.Job) { j.Checkpoint = ""; c.row(j) })
			require.NoError(t, err)
			want := plain
			c.want(&want)
			require.Equal(t, want, got)
		})
	}
}

// TestNodesOfProcessors: the largest node of the site has 16 CPUs.
func TestNodesOfProcessors(t *testing.T) {
	for _, c := range []struct {
		requested, allocated int32
		nodes                int32
		rules                []Rule
	}{
		{16, 0, 1, nil},
		{17, 0, 2, []Rule{RuleRoundedUp}},
		{160, 3, 10, nil},
		{0, 32, 2, []Rule{RuleUsesAllocated}},
		{0, 1, 1, []Rule{RuleUsesAllocated, RuleRoundedUp}},
		{0, 0, 0, []Rule{RuleNoProcessors}},
	} {
		_, met, a, err := translate(t, Rows{}, func(j *traces.Job) {
			j.NodesMin, j.ProcsRequested, j.ProcsAllocated = traces.Opt[int32]{}, traces.Some(c.requested), traces.Some(c.allocated)
			j.VCluster = "batch"
		})
		require.NoError(t, err)
		require.Equal(t, max(c.nodes, 0), max(a.NodesMin, 0))
		require.Equal(t, set(c.rules...), met, "%+v", c)
	}
}

// TestConstraints: which nodes a row may use, and what of each it takes.
func TestConstraints(t *testing.T) {
	gpus := func(n int32) func(*traces.Job) {
		return func(j *traces.Job) { j.GPUsPerNode = traces.Some(n) }
	}
	for _, c := range []struct {
		says   string
		shared bool
		row    func(*traces.Job)
		nodes  string
		takes  int32 // GPUs of each, 0 for whole nodes
	}{
		{"nothing", false, func(*traces.Job) {}, "0123", 0},
		{"a GPU type", false, func(j *traces.Job) { j.GPUType = "A100" }, "2", 0},
		{"a feature", false, func(j *traces.Job) { j.Features = "nvme" }, "01", 0},
		{"features", false, func(j *traces.Job) { j.Features = "nvme&ib" }, "0", 0},
		{"one of two features", false, func(j *traces.Job) { j.Features = "ib|nvme" }, "01", 0},
		{"one of two features, one of them unknown", false, func(j *traces.Job) { j.Features = "ib|x" }, "0", 0},
		{"an unknown feature", false, func(j *traces.Job) { j.Features = "x" }, "", 0},
		{"a feature beside an unknown one", false, func(j *traces.Job) { j.Features = "ib&x" }, "", 0},
		{"one of two unknown features", false, func(j *traces.Job) { j.Features = "x|y" }, "", 0},
		{"a group of features and another", false, func(j *traces.Job) { j.Features = "(ib|nvme)&nvme" }, "01", 0},
		{"features from left to right", false, func(j *traces.Job) { j.Features = "nvme|x & ib" }, "0", 0},
		{"features within groups", false, func(j *traces.Job) { j.Features = "nvme&((x|ib)|y)" }, "0", 0},
		{"one feature for all nodes", false, func(j *traces.Job) { j.Features = "[ib|nvme]" }, "01", 0},
		{"a feature of one node", false, func(j *traces.Job) { j.Features = "ib*1" }, "0", 0},
		{"a feature of more nodes than it has", false, func(j *traces.Job) { j.Features = "nvme*2" }, "", 0},
		{"a feature of two nodes", false, func(j *traces.Job) { j.Features, j.NodesMin = "nvme*2", traces.Some[int32](2) }, "01", 0},
		{"a feature of more nodes than have it", false, func(j *traces.Job) { j.Features, j.NodesMin = "nvme*3", traces.Some[int32](3) }, "", 0},
		{"features of nodes of two kinds", false, func(j *traces.Job) { j.Features, j.NodesMin = "[ib*1&(nvme)*1]", traces.Some[int32](2) }, "01", 0},
		{"features of nodes of two kinds, one unknown", false, func(j *traces.Job) { j.Features, j.NodesMin = "[ib*1&x*1]", traces.Some[int32](2) }, "", 0},
		{"a feature that must not be there", false, func(j *traces.Job) { j.Features = "!ib" }, "", 0},
		{"features that are not understood", false, func(j *traces.Job) { j.Features = "(ib|nvme" }, "", 0},
		{"features that end early", false, func(j *traces.Job) { j.Features = "ib|" }, "", 0},
		{"features of no nodes", false, func(j *traces.Job) { j.Features = "ib*0" }, "", 0},
		{"features in too many groups", false, func(j *traces.Job) { j.Features = strings.Repeat("(", 1000) + "ib" + strings.Repeat(")", 1000) }, "", 0},
		{"one memory or a feature", false, func(j *traces.Job) { j.Features = "unified_memory|ib" }, "0", 0},
		{"a node that is not there", false, func(j *traces.Job) { j.NodeInclude = "n1,x" }, "", 0},
		{"nodes that are not understood", false, func(j *traces.Job) { j.NodeInclude = "n[1-" }, "", 0},
		{"not a node that is not there", false, func(j *traces.Job) { j.NodeExclude = "n1,x" }, "023", 0},
		{"an unknown partition", false, func(j *traces.Job) { j.Partition = "x,y" }, "", 0},
		{"an unknown partition and a node", false, func(j *traces.Job) { j.Partition, j.NodeInclude = "x", "n1" }, "", 0},
		{"an unknown vCluster", false, func(j *traces.Job) { j.VCluster = "x" }, "", 0},
		{"an unknown QOS", false, func(j *traces.Job) { j.QOS = "x" }, "", 0},
		{"an unknown reservation", false, func(j *traces.Job) { j.Reservation = "x" }, "", 0},
		{"an unknown tenant", false, func(j *traces.Job) { j.Tenant = "x" }, "", 0},
		{"one of two features of some nodes", false, func(j *traces.Job) { j.Features, j.NodeInclude = "ib|nvme", "n1,n3" }, "1", 0},
		{"processors on each node", false, func(j *traces.Job) { j.CPUsPerNode = traces.Some[int32](9) }, "2", 0},
		{"more memory than there is", false, func(j *traces.Job) { j.MemPerNode = traces.Some[int64](1001) }, "", 0},
		{"GPU memory", false, func(j *traces.Job) { j.GPUMem = traces.Some[int64](25) }, "0123", 0},
		{"some nodes", false, func(j *traces.Job) { j.NodeInclude = "n1,n3" }, "13", 0},
		{"no such nodes", false, func(j *traces.Job) { j.NodeExclude = "n1 n3" }, "02", 0},
		{"GPUs on whole nodes", false, gpus(3), "01", 0},
		{"GPUs on some whole nodes", false, func(j *traces.Job) { gpus(2)(j); j.NodeInclude = "n2,n3" }, "2", 0},
		{"GPUs of shared nodes", true, gpus(3), "01", 3},
		{"GPUs of shared nodes for itself", true, func(j *traces.Job) { gpus(2)(j); j.Exclusive = traces.Some(true) }, "012", 0},
		{"one memory", false, func(j *traces.Job) { j.Features = "unified_memory" }, "", 0},
	} {
		t.Run(c.says, func(t *testing.T) {
			site, _, a, err := translate(t, Rows{Shared: c.shared}, c.row)
			require.NoError(t, err)
			got := ""
			for i := range site.Nodes {
				if site.Constraints[a.Constraint].Holds(model.NodeID(i), &site.Nodes[i]) {
					got += fmt.Sprint(i)
				}
			}
			require.Equal(t, c.nodes, got)
			require.Equal(t, c.takes, a.GPUs)
		})
	}
}

// TestInterned: rows that ask for the same get one constraint, whatever the
// spelling of their texts in the source is.
func TestInterned(t *testing.T) {
	site := namedSite()
	tr := NewSite(site, &Rows{GPUTypes: gpuTypes})
	b := batchOf(row(1, 0), row(2, 0, func(j *traces.Job) { j.Features = "ib" }), row(3, 0), row(4, 0, func(j *traces.Job) { j.Features = "ib" }))
	var ids []model.ConstraintID
	for i := range b.Len() {
		var a model.Allocation
		_, _, err := tr.Allocation(b, i, &a)
		require.NoError(t, err)
		ids = append(ids, a.Constraint)
	}
	require.Equal(t, []model.ConstraintID{0, 1, 0, 1}, ids)
	require.Len(t, site.Constraints, 2)
	var a model.Allocation
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _, _ = tr.Allocation(b, 1, &a) }))
}

// TestManyInterned: each of more sets of constraints than are kept at hand has an id
// of its own, and keeps it.
func TestManyInterned(t *testing.T) {
	site := namedSite()
	tr := NewSite(site, &Rows{GPUTypes: gpuTypes})
	var rows []traces.Job
	for i := range int64(5) {
		for k := range int64(5 * recentSets) {
			rows = append(rows, row(i, 0, func(j *traces.Job) {
				j.MemPerNode, j.GPUMem = traces.Some(k/9), traces.Some(k%3)
				if k%9 > 2 {
					j.CPUsPerNode = traces.Some(int32(k % 9 / 3))
				}
			}))
		}
	}
	b := batchOf(rows...)
	met := map[constraintKey]model.ConstraintID{}
	for i := range b.Len() {
		key := constraintKey{cpus: max(b.CPUsPerNode[i], 0), gpuMemory: b.Attr.GPUMem[i], memory: b.Attr.MemPerNode[i]}
		if _, ok := met[key]; !ok {
			met[key] = model.ConstraintID(len(met))
		}
		var a model.Allocation
		_, _, err := tr.Allocation(b, i, &a)
		require.NoError(t, err)
		require.Equal(t, met[key], a.Constraint)
		c := site.Constraints[a.Constraint]
		require.Equal(t, key, constraintKey{cpus: c.CPUs, gpuMemory: c.GPUMemory, memory: c.Memory})
	}
	require.Len(t, site.Constraints, 5*recentSets)
}

// TestUnknownNames: what can not be a row of any site is an error, which names the row, the
// column and what there is.
func TestUnknownNames(t *testing.T) {
	for _, c := range []struct {
		row  func(*traces.Job)
		want string
	}{
		{func(j *traces.Job) { j.Topology = "x" }, `log: row 1, column topology: found "x", expected tight, spread, any`},
		{func(j *traces.Job) { j.Requeue = "x" }, `column requeue: found "x", expected never, on-node-failure, always`},
		{func(j *traces.Job) { j.Mounts = "x" }, `column mounts: found "x", expected a JSON object of bytes by storage tier`},
		{func(j *traces.Job) { j.Class = traces.Some[int32](11) }, `column class: found 11, expected a class from 0 to 10`},
	} {
		_, _, _, err := translate(t, Rows{}, c.row)
		require.ErrorContains(t, err, c.want)
		var data *traces.DataError
		require.ErrorAs(t, err, &data)
	}
}

// TestLacking: one row that names what the site does not have leaves all others as they are,
// is counted, and its names are told with what helps.
func TestLacking(t *testing.T) {
	for _, c := range []struct {
		row         func(*traces.Job)
		names, mend string
	}{
		{func(j *traces.Job) { j.Features = "nvme&x,y" }, "features x, y, which no node has", "add them under node_types or groups"},
		{func(j *traces.Job) { j.Features = "x|y" }, "features x, y, which no node has", "node_types"},
		{func(j *traces.Job) { j.Features = "(ib" }, `features "(ib" (not understood), which no node has`, "node_types"},
		{func(j *traces.Job) { j.Features = "ib*9" }, "features ib*9, which no node has", "node_types"},
		{func(j *traces.Job) { j.Features = "nvme*2" }, "features nvme*2, which count more nodes than their jobs have", "correct the rows"},
		{func(j *traces.Job) { j.NodeInclude = "n1,x" }, "nodes x, which the cluster does not have", "under groups"},
		{func(j *traces.Job) { j.NodeExclude = "n[1-" }, "nodes \"n[1-\", which are not understood", "correct the rows"},
		{func(j *traces.Job) { j.Partition = "old" }, "partitions old, which the cluster does not have", "under partitions"},
		{func(j *traces.Job) { j.QOS = "old" }, "qualities of service old, which the cluster does not have", "under qos"},
		{func(j *traces.Job) { j.Reservation = "old" }, "reservations old, which the cluster does not have", "under reservations"},
		{func(j *traces.Job) { j.VCluster = "old" }, "vClusters old, which the cluster does not have", "under vclusters"},
	} {
		site := namedSite()
		tr := NewSite(site, &Rows{File: "log", GPUTypes: gpuTypes})
		b := batchOf(row(1, 0), row(2, 0, c.row), row(3, 0))
		var met [3]RuleSet
		for i := range met {
			var a model.Allocation
			var ok bool
			var err error
			met[i], ok, err = tr.Allocation(b, i, &a)
			require.NoError(t, err)
			require.True(t, ok)
		}
		require.Equal(t, [...]bool{false, true, false}, [...]bool{met[0].Has(RuleNotInCluster), met[1].Has(RuleNotInCluster), met[2].Has(RuleNotInCluster)})
		require.Len(t, tr.Lacking(), 1)
		require.Equal(t, c.names, tr.Lacking()[0].String())
		require.Contains(t, tr.Lacking()[0].Mend(), c.mend)
	}
}

// TestFewNamesAreTold: of many names that the site does not have the first few.
func TestFewNamesAreTold(t *testing.T) {
	tr := NewSite(namedSite(), &Rows{})
	var rows []traces.Job
	for i := range int64(9) {
		rows = append(rows, row(i, 0, func(j *traces.Job) { j.Features = fmt.Sprint("x", i) }))
	}
	b := batchOf(rows...)
	for i := range rows {
		_, _, err := tr.Allocation(b, i, &model.Allocation{})
		require.NoError(t, err)
	}
	require.Equal(t, "features x0, x1, x2, x3, x4 and others, which no node has", tr.Lacking()[0].String())
}

// TestFeaturesApproximate: what is asked of some nodes of a job, or of all of them together, is
// honoured for each alone and counted, but for jobs of one node, which get what they ask for.
func TestFeaturesApproximate(t *testing.T) {
	for _, c := range []struct {
		features    string
		nodes       int32
		approximate bool
	}{
		{"[ib|nvme]", 1, false},
		{"[ib|nvme]", 2, true},
		{"(ib|nvme)", 2, false},
		{"[x|nvme]", 2, false},
		{"ib|nvme", 2, false},
		{"ib*1", 1, false},
		{"ib*1", 2, true},
	} {
		_, met, _, err := translate(t, Rows{}, func(j *traces.Job) { j.Features, j.NodesMin = c.features, traces.Some(c.nodes) })
		require.NoError(t, err)
		require.Equal(t, c.approximate, met.Has(RuleFeaturesApproximate), "%+v", c)
	}
}

// TestNoNames: a cluster that was given as a size ignores features and names of nodes.
func TestNoNames(t *testing.T) {
	site, met, a, err := translate(t, Rows{NoFeatures: true, NoNodeNames: true}, func(j *traces.Job) {
		j.VCluster, j.Features, j.NodeInclude, j.NodeExclude = "batch", "x&[", "n1", "n[0-"
	})
	require.NoError(t, err)
	require.Zero(t, met)
	require.Equal(t, model.Constraint{GPUType: -1}, site.Constraints[a.Constraint])
}

// TestRoute: rows that name no vCluster go where routing says, and are counted by how
// that was found out; rows that name one are left alone.
func TestRoute(t *testing.T) {
	by := func(c traces.TextColumn, otherwise model.VClusterID) *Route {
		return &Route{Column: c, To: map[string]model.VClusterID{"small": 1, "carol": 1}, Otherwise: otherwise}
	}
	users := func() []string { return worldtest.Users }
	for _, c := range []struct {
		says  string
		route *Route
		row   func(*traces.Job)
		to    model.VClusterID
		rules RuleSet
	}{
		{"nothing, and nothing is said of it", nil, func(*traces.Job) {}, 0, set(RuleFirstVCluster)},
		{"a vCluster", by(traces.TextPartition, 1), func(j *traces.Job) { j.VCluster, j.Partition = "batch", "small" }, 0, 0},
		{"a partition with a vCluster", by(traces.TextPartition, -1), func(j *traces.Job) { j.Partition = "small" }, 1, set(RuleRouted)},
		{"a partition without one", by(traces.TextPartition, 0), func(j *traces.Job) { j.Partition = "large" }, 0, set(RuleRoutedRest)},
		{"no partition", by(traces.TextPartition, 1), func(*traces.Job) {}, 1, set(RuleRoutedRest)},
		{"nothing, and all go to one", &Route{Column: traces.TextColumns, Otherwise: 1}, func(*traces.Job) {}, 1, set(RuleRoutedRest)},
		{"a user", &Route{Column: traces.TextColumns, ByUser: true, To: by(0, 0).To, Otherwise: -1}, func(j *traces.Job) { j.User = "carol" }, 1, set(RuleRouted)},
	} {
		t.Run(c.says, func(t *testing.T) {
			_, met, a, err := translate(t, Rows{Route: c.route, Users: users}, c.row)
			require.NoError(t, err)
			require.Equal(t, c.to, a.VCluster)
			require.Equal(t, c.rules, met)
		})
	}
	for partition, want := range map[string]string{"large": "rows of partition large, for which routing has no vCluster", "": "rows of no partition, for which routing has no vCluster"} {
		tr := NewSite(namedSite(), &Rows{Route: by(traces.TextPartition, -1)})
		met, _, err := tr.Allocation(batchOf(row(1, 0, func(j *traces.Job) { j.Partition = partition })), 0, &model.Allocation{})
		require.NoError(t, err)
		require.True(t, met.Has(RuleNotInCluster))
		require.Equal(t, want, tr.Lacking()[0].String())
	}
}

// TestNamesThatCountAsNone: tenants that the site does not have, where that is
// allowed, and names of what it has none of.
func TestNamesThatCountAsNone(t *testing.T) {
	_, met, a, err := translate(t, Rows{IgnoreUnknownTenants: true}, func(j *traces.Job) { j.Tenant = "x" })
	require.NoError(t, err)
	require.Equal(t, model.TenantID(-1), a.Tenant)
	require.True(t, met.Has(RuleUnknownName))

	tr := NewSite(&model.Site{Nodes: smallSite(1).Nodes, VClusters: []model.VCluster{{Name: "all"}}}, &Rows{})
	met, _, err = tr.Allocation(batchOf(row(1, 0, func(j *traces.Job) { j.Tenant, j.Partition, j.QOS, j.Reservation = "x", "x", "x", "x" })), 0, &a)
	require.NoError(t, err)
	require.Equal(t, [...]int32{-1, -1, -1, -1}, [...]int32{int32(a.Tenant), int32(a.Partition), int32(a.QOS), int32(a.Reservation)})
	require.Equal(t, set(RuleUnknownName), met)
}

// TestSeveralPartitions: of partitions apart by commas the first that the site has is taken, and routing goes by the first with a
// vCluster; both are counted.
func TestSeveralPartitions(t *testing.T) {
	for text, want := range map[string]model.PartitionID{"large,small": 1, "x,small,large": 0, "small": 0} {
		_, met, a, err := translate(t, Rows{}, func(j *traces.Job) { j.Partition = text })
		require.NoError(t, err)
		require.Equal(t, want, a.Partition, text)
		require.Equal(t, text != "small", met.Has(RuleFirstPartition), text)
	}
	by := &Route{Column: traces.TextPartition, To: map[string]model.VClusterID{"small": 1}, Otherwise: -1}
	_, met, a, err := translate(t, Rows{Route: by}, func(j *traces.Job) { j.Partition = "large,small" })
	require.NoError(t, err)
	require.Equal(t, model.VClusterID(1), a.VCluster)
	require.True(t, met.Has(RuleRouted))
	_, met, _, err = translate(t, Rows{Route: by}, func(j *traces.Job) { j.Partition = "large,x" })
	require.NoError(t, err)
	require.True(t, met.Has(RuleNotInCluster))
}

// TestWaits: edges become dependencies of the row that waits, and rows that
// mutex edges join share one lock.
//
//	1 after 0, 2 corresponds to 0, 3 - 4 - 6 share a lock
func TestWaits(t *testing.T) {
	d := &traces.Dependencies{Edges: []traces.Edge{
		{Job: 1, On: 0, Condition: model.AfterOK}, {Job: 2, On: 0, Condition: model.AfterCorr}, {Job: 2, On: 1, Condition: model.AfterAny},
		{Job: 4, On: 3, Condition: model.Mutex}, {Job: 6, On: 4, Condition: model.Mutex},
	}}
	tr := NewSite(namedSite(), &Rows{Dependencies: d})
	b := batchOf(row(10, 0), row(11, 0), row(12, 0, func(j *traces.Job) { j.Eligible = traces.Some(99 * at) }), row(13, 0), row(14, 0), row(15, 0), row(16, 0))
	lock := model.Dependency{On: -1, Condition: model.Mutex, Mutex: 3}
	var a model.Allocation
	for i, want := range [][]model.Dependency{
		{}, {{On: 0, Condition: model.AfterOK}}, {{On: 0, Condition: model.AfterCorr}, {On: 1, Condition: model.AfterAny}}, {lock}, {lock}, {}, {lock},
	} {
		_, _, err := tr.Allocation(b, i, &a)
		require.NoError(t, err)
		require.Equal(t, want, append([]model.Dependency{}, a.Deps...), "row %d", i)
		require.Equal(t, i < 2, a.Awaited)
		require.Equal(t, model.Time(0), a.Eligible, "when a job that waits became eligible is an outcome of the log")
	}
}

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		shared bool
		a      model.Allocation
		want   int32
	}{
		{false, model.Allocation{NodesMin: 3}, 3},
		{true, model.Allocation{NodesMin: 3}, 12},
		{true, model.Allocation{NodesMin: 3, GPUs: 2}, 6},
	} {
		require.Equal(t, c.want, NewSite(namedSite(), &Rows{Shared: c.shared}).Units(&c.a))
	}
}

// TestShares: what rows say becomes a share where nodes are divided by amounts.
func TestShares(t *testing.T) {
	some := func(n int32) traces.Opt[int32] { return traces.Some(n) }
	for _, c := range []struct {
		name string
		row  func(*traces.Job)
		want model.Allocation
		on   int // nodes that meet its constraint
	}{
		{"nothing", func(*traces.Job) {}, model.Allocation{Amounts: model.Amounts{CPUs: 2, Memory: 7}}, 4},
		{"CPUs and memory", func(j *traces.Job) { j.CPUsPerNode, j.MemPerNode = some(3), traces.Some[int64](9) },
			model.Allocation{Amounts: model.Amounts{CPUs: 3, Memory: 9}}, 4},
		{"a whole GPU", func(j *traces.Job) { j.GPUsPerNode, j.GPUMilli = some(1), some(1000) },
			model.Allocation{GPUs: 1, Amounts: model.Amounts{CPUs: 2, Memory: 7}}, 4},
		{"thousandths", func(j *traces.Job) { j.GPUsPerNode, j.GPUMilli = some(1), some(460) },
			model.Allocation{Amounts: model.Amounts{CPUs: 2, Memory: 7, GPUMilli: 460}}, 4},
		{"several GPUs are whole", func(j *traces.Job) { j.GPUsPerNode, j.GPUMilli = some(2), some(460) },
			model.Allocation{GPUs: 2, Amounts: model.Amounts{CPUs: 2, Memory: 7}}, 4},
		{"the nodes for itself", func(j *traces.Job) { j.GPUsPerNode, j.Exclusive = some(1), traces.Some(true) }, model.Allocation{}, 3},
		{"either GPU", func(j *traces.Job) { j.GPUTypes = "A100|T4" }, model.Allocation{Amounts: model.Amounts{CPUs: 2, Memory: 7}}, 1},
		{"any GPU", func(j *traces.Job) { j.GPUTypes = "A100|GH200" }, model.Allocation{Amounts: model.Amounts{CPUs: 2, Memory: 7}}, 3},
	} {
		site := namedSite()
		site.Amounts = true
		rows := Rows{File: "log", GPUTypes: gpuTypes, Shared: true, CPUs: 2, Memory: 7}
		var a model.Allocation
		_, ok, err := NewSite(site, &rows).Allocation(batchOf(row(77, 10*at, c.row)), 0, &a)
		require.NoError(t, err, c.name)
		require.True(t, ok, c.name)
		require.Equal(t, [2]any{c.want.GPUs, c.want.Amounts}, [2]any{a.GPUs, a.Amounts}, c.name)
		on := 0
		for i := range site.Nodes {
			if site.Constraints[a.Constraint].Holds(model.NodeID(i), &site.Nodes[i]) {
				on++
			}
		}
		require.Equal(t, c.on, on, c.name)
	}
}

// TestTypesThatNoNodeHas: a job that asks for them can never run, and the row is no error.
func TestTypesThatNoNodeHas(t *testing.T) {
	for _, says := range []func(*traces.Job){
		func(j *traces.Job) { j.GPUTypes = "T4|V100" },
		func(j *traces.Job) { j.GPUType = "T4" },
		func(j *traces.Job) { j.GPUType, j.GPUTypes = "T4", "A100|GH200" },
	} {
		site, rows, a := namedSite(), Rows{File: "log", GPUTypes: gpuTypes}, model.Allocation{}
		_, ok, err := NewSite(site, &rows).Allocation(batchOf(row(77, 10*at, says)), 0, &a)
		require.NoError(t, err)
		require.True(t, ok)
		for i := range site.Nodes {
			require.False(t, site.Constraints[a.Constraint].Holds(model.NodeID(i), &site.Nodes[i]))
		}
	}
}

// TestMemoryOfNodesThatStateNone is not known, and bounds no job; processors that a row knows in
// all are divided among its nodes.
func TestMemoryOfNodesThatStateNone(t *testing.T) {
	site := namedSite()
	site.Amounts = true
	for i := range site.Nodes {
		site.Nodes[i].Memory = 0
	}
	rows, a := Rows{File: "log", GPUTypes: gpuTypes, Shared: true, CPUs: 2, Memory: 7}, model.Allocation{}
	_, ok, err := NewSite(site, &rows).Allocation(batchOf(row(77, 10*at, func(j *traces.Job) {
		j.MemPerNode, j.NodesMin, j.ProcsRequested = traces.Some[int64](1<<40), traces.Some[int32](2), traces.Some[int32](7)
		j.CPUsPerNode = traces.Opt[int32]{}
	})), 0, &a)
	require.NoError(t, err)
	require.True(t, ok)
	require.Zero(t, a.Memory)
	require.EqualValues(t, 4, a.CPUs)
}

func TestExitStates(t *testing.T) {
	for text, want := range map[string]model.JobState{
		"COMPLETED": model.Completed, "": model.Completed, "PARTIAL": model.Completed, "NODE_FAIL": model.Completed, "PREEMPTED": model.Completed,
		"FAILED": model.Failed, "failed": model.Failed, "OUT_OF_MEMORY": model.Failed, "TIMEOUT": model.Timeout, "CANCELLED by 1000": model.Cancelled,
	} {
		tr := NewSite(namedSite(), &Rows{})
		var a model.Allocation
		b := batchOf(row(1, 0, func(j *traces.Job) { j.ExitState = text }), row(2, 0))
		got, _, _, err := tr.allocation(b, 0, &a)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
		got, _, _, err = tr.allocation(b, 1, &a)
		require.NoError(t, err)
		require.Equal(t, model.Completed, got, "of a row that does not say, after %s", text)
		_, _, _, err = tr.allocation(b, 0, &a)
		require.NoError(t, err)
		b.Attr = nil
		got, _, _, err = tr.allocation(b, 1, &a)
		require.NoError(t, err)
		require.Equal(t, model.Completed, got, "without attributes, after %s", text)
	}
}
