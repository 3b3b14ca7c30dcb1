package slurm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
)

// request is a job of a story: CPUs anywhere unless it says otherwise, for a limit of which it runs so long.
type request struct {
	at         model.Duration
	tasks      int32
	nodes      int32 // whole, instead of tasks
	limit, run model.Duration
	priority   int64 // of the site factor
	tenant     model.TenantID
	qos        model.QOSID // and one; 0 is none
	user       int32
}

const second = model.Second

// cluster is nodes of so many CPUs each.
func cluster(nodes int, cpus int32) *model.Site {
	s := &model.Site{Amounts: true, VClusters: []model.VCluster{{Name: "all"}}, Groups: []model.Group{{}}, Constraints: []model.Constraint{{GPUType: -1}}}
	for range nodes {
		s.Nodes = append(s.Nodes, model.Node{CPUs: cpus, GPUType: -1, Topology: -1})
	}
	return s
}

// exact has the loop turn each second from 0 on, and backfill begin at 10 s, so that instants can be told by hand.
func exact() Options {
	o := Defaults()
	o.LoopPeriod, o.Resolution, o.Window, o.BackfillPhase = second, second, model.Hour, 10*second
	return o
}

// told runs jobs through a core and says when and where each started: "2: 5s n0x4 n1x8".
func told(t *testing.T, cfg Config, jobs []request) string {
	t.Helper()
	require.NoError(t, cfg.Validate())
	c := New(cfg)
	var out []string
	ends := map[model.Time][]model.Ref{}
	allocs := make([]model.Allocation, len(jobs))
	plan := func(now model.Time) model.Time {
		p := c.Plan(now)
		facts := []model.Fact{}
		for _, x := range p.Proposals {
			require.Equal(t, model.ProposeAssign, x.Kind)
			facts = append(facts, model.Fact{Kind: model.FactAssigned, Job: x.Job, Ref: x.Ref, Seq: x.Seq})
			line := fmt.Sprintf("%d: %ds", x.Job, now/model.Time(second))
			for _, h := range x.Placement.Shares {
				line += fmt.Sprintf(" n%dx%d", h.Node, h.CPUs)
			}
			for _, w := range x.Placement.Words {
				line += fmt.Sprintf(" nodes %b", w.Mask)
			}
			out = append(out, line)
			end := now.Add(jobs[x.Job].run)
			ends[end] = append(ends[end], x.Ref)
		}
		due := p.Due
		c.Observe(now, facts)
		return due
	}
	due := model.Never
	for now := model.Time(0); len(out) < len(jobs); now = now.Add(100 * model.Millisecond) {
		require.Less(t, now, model.Time(2*model.Hour), "some jobs never start: %s", strings.Join(out, ", "))
		var facts []model.Fact
		for _, ref := range ends[now] {
			facts = append(facts, model.Fact{Kind: model.FactEnded, Job: model.JobID(ref), Ref: ref, Outcome: model.Completed})
		}
		for i, j := range jobs {
			if model.Time(j.at) != now {
				continue
			}
			a := &allocs[i]
			*a = model.Allocation{Job: model.JobID(i), ID: int64(i), Submit: now, Eligible: now, Walltime: j.limit, Tenant: j.tenant, User: j.user, QOS: j.qos - 1, Partition: -1, Reservation: -1, TaskGroup: -1, DAG: -1, Priority: j.priority, NodesMin: 1, NodesMax: int32(len(cfg.Site.Nodes))}
			if j.nodes > 0 {
				a.NodesMin, a.NodesMax = j.nodes, j.nodes
			} else {
				a.Tasks, a.CPUs = j.tasks, 1
			}
			facts = append(facts, model.Fact{Kind: model.FactSubmitted, Job: a.Job, Ref: model.Ref(i), Submit: now, Walltime: j.limit, Alloc: a, Constraint: &cfg.Site.Constraints[0]})
		}
		if len(facts) > 0 || due <= now {
			c.Observe(now, facts)
			due = plan(now)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func TestStories(t *testing.T) {
	byPoints := &multifactor.Weights{Site: 1}
	noBackfill := func(o Options) Options { o.BackfillInterval = model.Forever; return o }
	for _, c := range []struct {
		name string
		site *model.Site
		o    Options
		jobs []request
		want string
	}{
		{
			// Job 1 has no room at 0 s and stops the pass, although job 2 would fit.
			"the main pass is strict", cluster(1, 8), noBackfill(exact()),
			[]request{{tasks: 6, limit: 60 * second, run: 9500 * model.Millisecond}, {tasks: 4, limit: 60 * second, run: 10 * second}, {tasks: 1, limit: 10 * second, run: 10 * second}},
			"0: 0s n0x6, 1: 10s n0x4, 2: 10s n0x1",
		}, {
			// An end at 4.5 s is seen at the next turn of the loop, at 5 s; the job of 5.2 s waits for batch_sched_delay since then.
			"ends wait for the loop, and passes for each other", cluster(1, 8), noBackfill(exact()),
			[]request{{tasks: 8, limit: 60 * second, run: 4500 * model.Millisecond}, {tasks: 8, limit: 60 * second, run: 600 * model.Millisecond}, {at: 5200 * model.Millisecond, tasks: 8, limit: 60 * second, run: second}},
			"0: 0s n0x8, 1: 5s n0x8, 2: 8s n0x8",
		}, {
			// Job 2 is over before job 1 can start, and backfill starts it at its first cycle, at 10 s.
			"backfill starts what delays none", cluster(1, 8), exact(),
			[]request{{tasks: 6, limit: 120 * second, run: 120 * second}, {tasks: 4, limit: 60 * second, run: 10 * second}, {tasks: 2, limit: 60 * second, run: 10 * second}},
			"0: 0s n0x6, 1: 120s n0x4, 2: 10s n0x2",
		}, {
			// Job 1 is planned on the whole node at 120 s, though it takes 3 of its CPUs: job 2, which runs longer, waits beside an idle CPU.
			"a planned job closes whole nodes", cluster(1, 8), exact(),
			[]request{{tasks: 6, limit: 120 * second, run: 120 * second}, {tasks: 3, limit: 60 * second, run: 10 * second}, {tasks: 1, limit: 200 * second, run: 10 * second}},
			"0: 0s n0x6, 1: 120s n0x3, 2: 120s n0x1",
		}, {
			// The end of job 0 at 61 s begins a group to 120 s, which takes in that of job 1 at 100 s: job 2 is planned then, and
			// job 3 may run until 90 s although it is in the way of what job 2 could have had at 61 s.
			"ends are taken off in groups", cluster(2, 8), exact(),
			[]request{{tasks: 7, limit: 61 * second, run: 61 * second}, {tasks: 8, limit: 100 * second, run: 100 * second}, {tasks: 8, limit: 60 * second, run: 10 * second}, {tasks: 1, limit: 80 * second, run: 5 * second}},
			"0: 0s n0x7, 1: 0s n1x8, 2: 63s n0x8, 3: 10s n0x1",
		}, {
			// 12 tasks have 8 CPUs of the first node and 4 of the second; 3 more fit into what is left there.
			"tasks are spread by best fit", cluster(3, 8), exact(),
			[]request{{tasks: 12, limit: 60 * second, run: 50 * second}, {tasks: 3, limit: 60 * second, run: 50 * second}, {tasks: 4, limit: 60 * second, run: 50 * second}},
			"0: 0s n0x8 n1x4, 1: 0s n1x3, 2: 0s n2x4",
		}, {
			// Job 3 waits for batch_sched_delay since the pass of 10 s, which the end of job 1 asked for and which found no job.
			"whole nodes are of one run of neighbours", cluster(6, 8), exact(),
			[]request{{nodes: 1, limit: 60 * second, run: 50 * second}, {nodes: 2, limit: 60 * second, run: 10 * second}, {nodes: 3, limit: 60 * second, run: 50 * second}, {at: 11 * second, nodes: 2, limit: 60 * second, run: second}},
			"0: 0s nodes 1, 1: 0s nodes 110, 2: 0s nodes 111000, 3: 13s nodes 110",
		}, {
			// The job of most points is first, though it was submitted last. The pass of 3 s finds no room, and the next one that the end at 3.5 s asks for is made 3 s later.
			"priority decides", cluster(1, 8), exact(),
			[]request{{tasks: 8, limit: 60 * second, run: 3500 * model.Millisecond}, {at: second, tasks: 8, limit: 60 * second, run: second, priority: 5}, {at: 2 * second, tasks: 8, limit: 60 * second, run: second, priority: 9}},
			"0: 0s n0x8, 1: 9s n0x8, 2: 6s n0x8",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.jobs {
				c.jobs[i].tenant = -1
			}
			require.Equal(t, c.want, told(t, Config{Site: c.site, Options: c.o, Weights: byPoints}, c.jobs))
		})
	}
}
