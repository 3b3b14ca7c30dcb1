package sim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// kindsOfCluster are clusters that have some of what rows may ask for.
var kindsOfCluster = []struct {
	name string
	spec func(t *testing.T) plan.Spec
	has  string // letters of what it gives: see wishes
}{
	{"processors", func(*testing.T) plan.Spec {
		return plan.Spec{Semantics: plan.Semantics, Cluster: plan.ClusterSpec{Procs: 512}}
	}, "p"},
	{"nodes", func(*testing.T) plan.Spec {
		return plan.Spec{Semantics: plan.Semantics, Cluster: plan.ClusterSpec{Nodes: 16, CoresPerNode: 32}}
	}, "p"},
	{"nodes with GPUs", func(*testing.T) plan.Spec {
		return plan.Spec{Semantics: plan.Semantics, Cluster: plan.ClusterSpec{Nodes: 16, CoresPerNode: 32, GPUsPerNode: 4}}
	}, "pgs"},
	{"whole nodes with GPUs", func(*testing.T) plan.Spec {
		return plan.Spec{Semantics: plan.Semantics, Cluster: plan.ClusterSpec{Nodes: 16, CoresPerNode: 32, GPUsPerNode: 4, Exclusive: true}}
	}, "pg"},
	{"a site of CPUs", func(t *testing.T) plan.Spec {
		return fileSpec(t, "node_types: [{name: n, cpus: 32, features: [big]}]\ngroups: [{name: a, nodes: 16, type: n}]\n")
	}, "pfn"},
	{"a site of whole GPU nodes", func(t *testing.T) plan.Spec {
		return fileSpec(t, "node_types: [{name: n, cpus: 32, gpus: 4, gpu: x, features: [big]}, {name: m, cpus: 32, gpus: 4, gpu: y}]\ngroups: [{name: a, nodes: 8, type: n}, {name: b, nodes: 8, type: m}]\n")
	}, "pgtfn"},
	{"a site of shared GPU nodes", func(t *testing.T) plan.Spec {
		return fileSpec(t, "sharing: resources\nnode_types: [{name: n, cpus: 32, gpus: 4, gpu: x, features: [big]}, {name: m, cpus: 32, gpus: 4, gpu: y}]\ngroups: [{name: a, nodes: 8, type: n}, {name: b, nodes: 8, type: m}]\n")
	}, "pgstfn"},
}

// wishes are what rows may ask for, by letter; i tells rows apart.
var wishes = []struct {
	letter   string
	resource string
	row      func(j *traces.Job, i int)
}{
	{"p", "processors", func(*traces.Job, int) {}},
	{"g", "GPUs", func(j *traces.Job, _ int) { j.GPUsPerNode = traces.Some[int32](2) }},
	{"s", "shares of a GPU", func(j *traces.Job, _ int) { j.GPUMilli = traces.Some[int32](400) }},
	{"t", "GPUs of different types", func(j *traces.Job, i int) {
		j.GPUsPerNode, j.GPUType = traces.Some[int32](1), []string{"x", "y"}[i%2]
	}},
	{"f", "node features", func(j *traces.Job, _ int) { j.Features = "big" }},
	{"n", "nodes by name", func(j *traces.Job, _ int) { j.NodeInclude = "a-1" }},
}

// fileSpec is a spec of the site that a cluster file describes.
func fileSpec(t *testing.T, text string) plan.Spec {
	t.Helper()
	c, err := profiles.ParseCluster("test", []byte(text))
	require.NoError(t, err)
	return plan.Spec{Semantics: plan.Semantics, Site: c.JSON()}
}

// TestNothingIsSilentlyIgnored: on each kind of cluster, what rows ask for and it lacks refuses
// the replay, unless that is allowed and then told; what it has is honoured.
func TestNothingIsSilentlyIgnored(t *testing.T) {
	for _, c := range kindsOfCluster {
		for _, w := range wishes {
			t.Run(c.name+", "+w.resource, func(t *testing.T) {
				open := asking(t, w.row)
				spec := c.spec(t)
				res, err := Run(t.Context(), spec, open, Options{})
				if strings.Contains(c.has, w.letter) {
					require.NoError(t, err)
					require.Empty(t, res.Unheeded)
					return
				}
				var unheeded *plan.UnheededError
				require.ErrorAs(t, err, &unheeded)
				spec.AllowUnheeded = true
				res, err = Run(t.Context(), spec, open, Options{})
				require.NoError(t, err)
				require.NotEmpty(t, res.Unheeded)
				require.True(t, res.Spec.AllowUnheeded)
				require.Equal(t, plan.Spec{Semantics: spec.Semantics, Cluster: spec.Cluster, Site: spec.Site}.ID(), spec.ID(), "it says whether there is a result, not which")
				for _, u := range res.Unheeded {
					require.EqualValues(t, 10, u.Jobs)
					require.NotEmpty(t, u.Mend)
				}
			})
		}
	}
}

// TestOneOddName: on each kind of cluster, one of many rows that names what is not there leaves
// the others as they are: its job is rejected, or its name is ignored by a cluster that was given
// as a size and cannot say what its nodes have.
func TestOneOddName(t *testing.T) {
	for _, c := range kindsOfCluster {
		for name, odd := range map[string]func(j *traces.Job){
			"a feature":    func(j *traces.Job) { j.Features = "haswell" },
			"alternatives": func(j *traces.Job) { j.Features = "[haswell*1&knl*2]" },
			"a node":       func(j *traces.Job) { j.NodeInclude = "nid001" },
			"no node":      func(j *traces.Job) { j.NodeExclude = "nid001" },
			"a partition":  func(j *traces.Job) { j.Partition = "old" },
			"words":        func(j *traces.Job) { j.Features, j.NodeInclude = "((", "n[1-" },
		} {
			t.Run(c.name+", "+name, func(t *testing.T) {
				open := many(t, 200, func(j *traces.Job, i int) {
					if i == 77 {
						odd(j)
					}
				})
				res, err := Run(t.Context(), c.spec(t), open, Options{})
				require.NoError(t, err)
				want := int64(0)
				if strings.Contains(c.has, "f") && name != "no node" && name != "a partition" {
					want = 1
				}
				require.Equal(t, want, res.Awkward.Count[translate.RuleNotInCluster])
				require.Equal(t, want, res.Awkward.Count[translate.RuleTooLarge])
			})
		}
	}
}

// TestLackingNamesAreTold: where many rows name what is not there the replay is refused, and says
// what it is.
func TestLackingNamesAreTold(t *testing.T) {
	open := many(t, 10, func(j *traces.Job, i int) { j.Features, j.NodeInclude = "big&knl", []string{"", "x"}[i%2] })
	spec := fileSpec(t, "node_types: [{name: n, cpus: 32, features: [big]}]\ngroups: [{name: a, nodes: 16, type: n}]\n")
	_, err := Run(t.Context(), spec, open, Options{})
	var unheeded *plan.UnheededError
	require.ErrorAs(t, err, &unheeded)
	require.ErrorContains(t, err, "10 of 10 jobs (100 % of the work) can never run on this cluster and are rejected: features knl, which no node has; nodes x, which the cluster does not have")
	require.ErrorContains(t, err, "add them under node_types or groups in the cluster file")
	spec.AllowUnheeded = true
	res, err := Run(t.Context(), spec, open, Options{})
	require.NoError(t, err)
	require.Len(t, res.Unheeded, 1)
}

// TestGPUsAreHonoured: of two jobs that want all GPUs of two nodes and few of their processors
// one waits for the other, and a job of processors alone does not.
func TestGPUsAreHonoured(t *testing.T) {
	for _, exclusive := range []bool{false, true} {
		open := asking(t, func(j *traces.Job, i int) {
			if j.NodesMin, j.GPUsPerNode = traces.Some[int32](2), traces.Some[int32](4); i == 2 {
				j.GPUsPerNode = traces.Opt[int32]{}
			}
		})
		waits := map[int64]model.Duration{}
		spec := plan.Spec{Semantics: plan.Semantics, Cluster: plan.ClusterSpec{Nodes: 2, CoresPerNode: 64, GPUsPerNode: 4, Exclusive: exclusive}, Backfill: "first-fit"}
		sink := record.NewSiteMemory()
		_, err := Run(t.Context(), spec, open, Options{Sink: sink})
		require.NoError(t, err)
		for i, id := range sink.Jobs.ID {
			waits[id] = model.Duration(sink.Jobs.Start[i] - sink.Jobs.Submit[i])
		}
		require.Less(t, waits[1], model.Second)
		require.Greater(t, waits[2], 59*model.Minute)
		if !exclusive {
			require.Less(t, waits[3], model.Second)
		}
	}
}

// asking is a trace of ten jobs of an hour and four processors that ask for something beside.
func asking(t *testing.T, row func(j *traces.Job, i int)) func() (traces.Source, error) {
	t.Helper()
	return many(t, 10, row)
}

// many is asking of any number of jobs.
func many(t *testing.T, jobsInAll int, row func(j *traces.Job, i int)) func() (traces.Source, error) {
	t.Helper()
	var jobs []traces.Job
	for i := range jobsInAll {
		j := traces.Job{
			ID: int64(i + 1), Submit: model.Time(i), Runtime: traces.Some(model.Hour), Walltime: traces.Some(2 * model.Hour),
			NodesMin: traces.Some[int32](1), CPUsPerNode: traces.Some[int32](4), ProcsRequested: traces.Some[int32](4),
		}
		row(&j, i)
		jobs = append(jobs, j)
	}
	m, err := traces.NewMemory("log", traces.Meta{Sorted: true}, traces.Tables{Jobs: jobs})
	require.NoError(t, err)
	return func() (traces.Source, error) { return m.Open() }
}
