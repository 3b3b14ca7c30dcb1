package sim

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/record"
	"orrery/traces"
)

// submittedJob is a job of these tests: nodes for so many seconds, submitted at an
// instant, with what else the row says.
type submittedJob struct {
	submit, runtime int64
	nodes           int32
	user            int32
	cancel          int64
	job             traces.Job
}

// starts replays jobs at a site and returns the second at which each started, -1
// for those that never did.
func starts(t *testing.T, site string, jobs []submittedJob) []int64 {
	t.Helper()
	out, _ := replayJobs(t, site, nil, jobs)
	return out
}

// replayJobs is starts amid events of the trace; a job of a negative runtime has
// none. It also says how the replay came out.
func replayJobs(t *testing.T, site string, events []traces.Event, jobs []submittedJob) ([]int64, *Result) {
	t.Helper()
	sink, res := recordJobs(t, site, events, jobs)
	out := make([]int64, len(jobs))
	for i := range out {
		out[i] = -1
	}
	for i, id := range sink.Jobs.ID {
		if s := sink.Jobs.Start[i]; s >= 0 {
			out[id-1] = s / 1e6
		}
	}
	return out, res
}

// recordJobs replays jobs at a site whose agents take no time, watched, and returns
// their records.
func recordJobs(t *testing.T, site string, events []traces.Event, jobs []submittedJob) (*record.Memory, *Result) {
	t.Helper()
	m := &memory{size: 2, info: traces.Info{Name: "asks", Hash: "asks", Sorted: true}, events: events}
	m.all.Attr = &traces.Attributes{}
	for _, j := range jobs {
		ran := j.runtime
		if j.cancel > 0 {
			ran = -1 // the log knows no run of a job that was withdrawn
		}
		m.add(row{submit: j.submit, runtime: ran, walltime: j.runtime, procs: j.nodes, nodes: j.nodes, cancel: j.cancel})
		m.all.User[m.all.Len()-1] = j.user
		job := j.job
		m.all.Attr.AppendJob(&job)
	}
	sink := record.NewSiteMemory()
	res, err := Run(context.Background(), siteOf(t, "agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}\n"+site), m.open, Options{Sink: sink, Watch: true})
	require.NoError(t, err)
	require.Empty(t, res.Watch.Breaches)
	return sink, res
}

const loneNode = `groups: [{name: a, nodes: 1}]
`

// multi is a vCluster that orders by Slurm's priority of these weights.
func multi(weights string) string {
	return "vclusters: [{name: v, home: all, profile: {order: multifactor, accounting_tick: 10s, multifactor: {" + weights + "}}}]\n"
}

// long keeps all nodes of a site until 100 s, so that what comes meanwhile is
// in order.
func long(nodes int32) submittedJob { return submittedJob{0, 100, nodes, 9, 0, traces.Job{}} }

// TestSlurmColumns: each column that Slurm's priority and limits read reaches
// the core. Behind a job that holds everything until 100 s two or more of 50 s
// wait; want is when each starts.
func TestSlurmColumns(t *testing.T) {
	tenants := "tenants: [{name: big, fair_share: 0.9, priority: 1}, {name: little, fair_share: 0.1, priority: 5}]\n"
	of := func(tenant string) traces.Job { return traces.Job{Tenant: tenant} }
	in := func(partition string) traces.Job { return traces.Job{Partition: partition} }
	qos := func(name string) traces.Job { return traces.Job{QOS: name} }
	eligible := func(s int64) traces.Job { return traces.Job{Eligible: traces.Some(model.Time(s * 1e6))} }
	held := func(s int64) traces.Job {
		j := traces.Job{Hold: traces.Some(true)}
		if s >= 0 {
			j.Released = traces.Some(model.Time(s * 1e6))
		}
		return j
	}
	for _, c := range []struct {
		name, site string
		jobs       []submittedJob
		want       []int64
	}{
		{"fair tree: the account that has used less comes first", loneNode + tenants + multi("fairshare: 1000"),
			[]submittedJob{{0, 100, 1, 1, 0, of("big")}, {1, 50, 1, 1, 0, of("big")}, {2, 50, 1, 2, 0, of("little")}}, []int64{0, 150, 100}},
		{"classic: likewise", loneNode + tenants + multi("fairshare: 1000, fair_tree: false"),
			[]submittedJob{{0, 100, 1, 1, 0, of("big")}, {1, 50, 1, 1, 0, of("big")}, {2, 50, 1, 2, 0, of("little")}}, []int64{0, 150, 100}},
		{"of an account, the user who has used less", loneNode + tenants + multi("fairshare: 1000"),
			[]submittedJob{{0, 100, 1, 1, 0, of("big")}, {1, 50, 1, 1, 0, of("big")}, {2, 50, 1, 2, 0, of("big")}}, []int64{0, 150, 100}},
		{"without tenants, the user who has used less", loneNode + multi("fairshare: 1000"),
			[]submittedJob{{0, 100, 1, 1, 0, of("")}, {1, 50, 1, 1, 0, of("")}, {2, 50, 1, 2, 0, of("")}}, []int64{0, 150, 100}},
		{"usage factor: work of this quality is free", loneNode + "qos: [{name: free, usage_factor: 0}, {name: dear}]\n" + multi("fairshare: 1000"),
			[]submittedJob{{0, 100, 1, 1, 0, qos("free")}, {100, 50, 1, 2, 0, qos("dear")}, {101, 50, 1, 2, 0, qos("dear")}, {102, 50, 1, 1, 0, qos("dear")}}, []int64{0, 100, 200, 150}},
		{"half-life: what is long ago counts less", loneNode + multi("fairshare: 1000, half_life: 1m"),
			[]submittedJob{{0, 500, 1, 1, 0, of("")}, {3000, 300, 1, 2, 0, of("")}, {3001, 50, 1, 2, 0, of("")}, {3002, 50, 1, 1, 0, of("")}}, []int64{0, 3000, 3350, 3300}},
		{"no half-life: it counts for ever", loneNode + multi("fairshare: 1000, half_life: none"),
			[]submittedJob{{0, 500, 1, 1, 0, of("")}, {3000, 300, 1, 2, 0, of("")}, {3001, 50, 1, 1, 0, of("")}, {3002, 50, 1, 2, 0, of("")}}, []int64{0, 3000, 3350, 3300}},
		{"association", loneNode + tenants + multi("assoc: 1000"),
			[]submittedJob{long(1), {1, 50, 1, 1, 0, of("big")}, {2, 50, 1, 2, 0, of("little")}}, []int64{0, 150, 100}},
		{"TRES: who asks for more nodes", "groups: [{name: a, nodes: 3}]\n" + multi("tres: {node: 1000}"),
			[]submittedJob{long(3), {1, 50, 2, 1, 0, of("")}, {2, 50, 3, 2, 0, of("")}}, []int64{0, 150, 100}},
		{"points of the site, less nice", loneNode + multi("age: 1"),
			[]submittedJob{long(1), {1, 50, 1, 1, 0, traces.Job{SiteFactor: traces.Some[int64](10)}}, {2, 50, 1, 2, 0, traces.Job{SiteFactor: traces.Some[int64](20)}}}, []int64{0, 150, 100}},
		{"nice: who is nicer comes later", loneNode + multi("age: 100000, max_age: 1000s"),
			[]submittedJob{long(1), {1, 50, 1, 1, 0, traces.Job{Nice: traces.Some[int32](2000)}}, {2, 50, 1, 2, 0, of("")}}, []int64{0, 150, 100}},
		{"nice, where the points of the site do not count", loneNode + multi("age: 100000, max_age: 1000s, site: 0"),
			[]submittedJob{long(1), {1, 50, 1, 1, 0, traces.Job{Nice: traces.Some[int32](2000)}}, {2, 50, 1, 2, 0, of("")}}, []int64{0, 150, 100}},
		{"nice below zero, from an administrator", loneNode + multi("age: 1"),
			[]submittedJob{long(1), {1, 50, 1, 1, 0, of("")}, {2, 50, 1, 2, 0, traces.Job{Nice: traces.Some[int32](-100)}}}, []int64{0, 150, 100}},
		{"on hold until it is released", loneNode + multi("age: 1"),
			[]submittedJob{{0, 50, 1, 1, 0, held(70)}, {1, 50, 1, 1, 0, of("")}}, []int64{70, 1}},
		{"on hold for ever", loneNode + multi("age: 1"),
			[]submittedJob{{0, 50, 1, 1, 0, held(-1)}, {1, 50, 1, 1, 0, of("")}}, []int64{-1, 1}},
		{"withdrawn while on hold", loneNode + multi("age: 1"),
			[]submittedJob{{0, 50, 1, 1, 60, held(70)}, {1, 50, 1, 1, 0, of("")}, {65, 50, 1, 1, 0, of("")}}, []int64{-1, 1, 65}},
		{"on hold behind its eligible time", loneNode + multi("age: 1"),
			[]submittedJob{{0, 50, 1, 1, 0, traces.Job{Hold: traces.Some(true), Released: traces.Some(model.Time(20e6)), Eligible: traces.Some(model.Time(90e6))}}}, []int64{90}},
		{"factor of the partition", loneNode + "partitions: [{name: low, priority: 1}, {name: high, priority: 9}]\n" + multi("partition: 1000"),
			[]submittedJob{long(1), {1, 50, 1, 1, 0, in("low")}, {2, 50, 1, 1, 0, in("high")}}, []int64{0, 150, 100}},
		{"tier of the partition, before any points", loneNode + "partitions: [{name: low, tier: 1, priority: 9}, {name: high, tier: 2, priority: 1}]\n" + multi("partition: 1000"),
			[]submittedJob{long(1), {1, 50, 1, 1, 0, in("low")}, {2, 50, 1, 1, 0, in("high")}}, []int64{0, 150, 100}},
		{"partitions overlap in node 2", "groups: [{name: a, nodes: \"n[1-3]\"}]\npartitions: [{name: l, nodes: \"n[1-2]\"}, {name: r, nodes: \"n[2-3]\"}]\n" + multi("age: 1"),
			[]submittedJob{{0, 100, 2, 1, 0, in("l")}, {1, 50, 2, 1, 0, in("r")}, {2, 50, 1, 1, 0, in("r")}}, []int64{0, 100, 2}},
		{"most nodes of a partition's job in use", "groups: [{name: a, nodes: \"n[1-3]\"}]\npartitions: [{name: p, nodes: \"n[1-2]\"}, {name: down, up: false}]\n" + multi("age: 1"),
			[]submittedJob{{0, 100, 2, 1, 0, in("p")}, {1, 50, 1, 1, 0, in("p")}, {2, 50, 1, 1, 0, in("down")}, {3, 50, 1, 1, 0, in("")}}, []int64{0, 100, -1, 3}},
		{"priority of the quality of service", loneNode + "qos: [{name: low}, {name: high, priority: 7}]\n" + multi("qos: 1000"),
			[]submittedJob{long(1), {1, 50, 1, 1, 0, qos("low")}, {2, 50, 1, 1, 0, qos("high")}}, []int64{0, 150, 100}},
		{"jobs of all of a quality of service", "groups: [{name: a, nodes: 4}]\nqos: [{name: q, group_jobs: 1}]\n" + multi("age: 1"),
			[]submittedJob{{0, 100, 1, 1, 0, qos("q")}, {1, 50, 1, 2, 0, qos("q")}}, []int64{0, 100}},
		{"nodes of all of a quality of service", "groups: [{name: a, nodes: 4}]\nqos: [{name: q, group_nodes: 2}]\n" + multi("age: 1"),
			[]submittedJob{{0, 100, 2, 1, 0, qos("q")}, {1, 50, 1, 2, 0, qos("q")}}, []int64{0, 100}},
		{"jobs of a user", "groups: [{name: a, nodes: 4}]\nqos: [{name: q, user_jobs: 1}]\n" + multi("age: 1"),
			[]submittedJob{{0, 100, 1, 1, 0, qos("q")}, {1, 50, 1, 1, 0, qos("q")}, {2, 50, 1, 2, 0, qos("q")}}, []int64{0, 100, 2}},
		{"nodes of a user", "groups: [{name: a, nodes: 4}]\nqos: [{name: q, user_nodes: 2}]\n" + multi("age: 1"),
			[]submittedJob{{0, 100, 2, 1, 0, qos("q")}, {1, 50, 1, 1, 0, qos("q")}, {2, 50, 2, 2, 0, qos("q")}}, []int64{0, 100, 2}},
		{"nodes of a job", "groups: [{name: a, nodes: 4}]\nqos: [{name: q, max_nodes: 2}]\n" + multi("age: 1"),
			[]submittedJob{{0, 100, 2, 1, 0, qos("q")}, {1, 50, 1, 1, 0, qos("q")}}, []int64{0, 1}},
		{"eligible time", loneNode + multi("age: 1"),
			[]submittedJob{{0, 50, 1, 1, 0, eligible(70)}, {1, 50, 1, 1, 0, of("")}}, []int64{70, 1}},
		{"age counts from the eligible time", loneNode + multi("age: 100000, max_age: 1000s"),
			[]submittedJob{long(1), {1, 50, 1, 1, 0, eligible(80)}, {40, 50, 1, 1, 0, of("")}}, []int64{0, 150, 100}},
		{"the user withdraws it", loneNode + multi("age: 1"),
			[]submittedJob{long(1), {1, 50, 1, 1, 60, of("")}, {2, 50, 1, 1, 0, of("")}}, []int64{0, -1, 100}},
		{"nodes that it must have", "groups: [{name: a, nodes: \"n[1-2]\"}]\n" + multi("age: 1"),
			[]submittedJob{{0, 100, 1, 1, 0, traces.Job{NodeInclude: "n2"}}, {1, 50, 1, 1, 0, traces.Job{NodeInclude: "n2"}}, {2, 50, 1, 1, 0, traces.Job{NodeInclude: "n1"}}}, []int64{0, 100, 2}},
		{"nodes that it must not have", "groups: [{name: a, nodes: \"n[1-2]\"}]\n" + multi("age: 1"),
			[]submittedJob{{0, 100, 1, 1, 0, traces.Job{NodeExclude: "n1"}}, {1, 50, 1, 1, 0, traces.Job{NodeExclude: "n1"}}, {2, 50, 1, 1, 0, traces.Job{NodeExclude: "n2"}}}, []int64{0, 100, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, starts(t, c.site, c.jobs))
		})
	}
}

// TestManyUsers: users that are met while others run find their place in the tree.
func TestManyUsers(t *testing.T) {
	jobs := []submittedJob{long(1)}
	for u := range int32(20) {
		jobs = append(jobs, submittedJob{int64(u) + 1, 10, 1, u, 0, traces.Job{Name: strconv.Itoa(int(u))}})
	}
	got := starts(t, loneNode+multi("fairshare: 1000"), jobs)
	require.Equal(t, int64(290), got[10], "user 9 held the node until 100 s, and comes last")
}
