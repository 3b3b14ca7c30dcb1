package world

import (
	"fmt"
	"testing"

	"orrery/scheduler/model"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// TestLivesOfMisfortune tells of what goes wrong with victims and nodes, and of jobs that
// are not bounded.
func TestLivesOfMisfortune(t *testing.T) {
	for _, c := range []tale{
		{
			name: "a victim does not answer, and is killed", nodes: 1,
			config: func(c *SiteConfig) { grace(c); c.Faults.Unresponsive = 1 },
			rows:   []traces.Job{row(1, 0, runs(1000*sec), walltime(2000*sec)), row(2, 5*at, class(9))},
			orders: []order{preemptAt(5, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s preempted 1 PREEMPTED
			      635s requeued 1 PREEMPTED
			      635s assigned 2
			      645s ended 2 COMPLETED
			      645s assigned 1
			      1645s ended 1 COMPLETED`,
			attempts: `1 0-635 FAILED +0 -635
			           2 635-645 COMPLETED +10 -0
			           1 645-1645 COMPLETED +1000 -0`,
		},
		{
			// Three deferrals of 300 s, then it writes.
			name: "a victim asks for time as often as it may", nodes: 1,
			config: func(c *SiteConfig) { grace(c); c.Faults.Defers = 1 },
			rows:   []traces.Job{row(1, 0, runs(1000*sec), walltime(2000*sec)), row(2, 5*at, class(9))},
			orders: []order{preemptAt(5, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s preempted 1 PREEMPTED
			      915s suspended 1
			      915s assigned 2
			      925s ended 2 COMPLETED
			      925s assigned 1
			      1030s ended 1 COMPLETED`,
			attempts: `1 0-915 SUSPENDED +905 -0
			           2 915-925 COMPLETED +10 -0
			           1 925-1030 COMPLETED +95 -0`,
		},
		{
			name: "a node fails to write its part", nodes: 1,
			config: func(c *SiteConfig) { grace(c); c.Faults.Partial = 1 },
			rows:   []traces.Job{row(1, 0), row(2, 5*at, class(9))},
			orders: []order{preemptAt(5, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s preempted 1 PREEMPTED
			      15s requeued 1 PREEMPTED
			      15s assigned 2
			      25s ended 2 COMPLETED
			      25s assigned 1
			      35s ended 1 COMPLETED`,
			attempts: `1 0-15 FAILED +0 -5
			           2 15-25 COMPLETED +10 -0
			           1 25-35 COMPLETED +10 -0`,
		},
		{
			// 100 times 10 s are more than 600 s and the extension by 300 s.
			name: "a checkpoint is too slow for its extension", nodes: 1,
			config: func(c *SiteConfig) { grace(c); c.Faults.Slow, c.Faults.SlowBy = 1, 100 },
			rows:   []traces.Job{row(1, 0, walltime(2000*sec)), row(2, 5*at, class(9))},
			orders: []order{preemptAt(5, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s preempted 1 PREEMPTED
			      935s requeued 1 PREEMPTED
			      935s assigned 2
			      945s ended 2 COMPLETED
			      945s assigned 1
			      955s ended 1 COMPLETED`,
			attempts: `1 0-935 FAILED +0 -5
			           2 935-945 COMPLETED +10 -0
			           1 945-955 COMPLETED +10 -0`,
		},
		{
			// Work begins 3 s after the nodes are granted, and the requested time with
			// it. A node that was down boots for 7 s.
			name: "starts and boots take time", nodes: 1,
			config:  func(c *SiteConfig) { c.StartDelay, c.BootDelay = 3*sec, 7*sec },
			rows:    []traces.Job{row(1, 0, runs(20*sec))},
			changes: []translate.Change{fails(5, 0), {At: 10 * at, Kind: translate.NodeRepaired}},
			log: `0s submitted 1
			      0s assigned 1
			      5s node n0 DOWN
			      5s requeued 1 NODE_FAILURE
			      17s node n0 READY
			      17s assigned 1
			      40s ended 1 COMPLETED`,
			attempts: `1 0-5 FAILED +0 -2
			           1 17-40 COMPLETED +20 -0`,
		},
		{
			name: "a node that fails while it is drained comes back drained", nodes: 1,
			rows: []traces.Job{row(1, 0)},
			changes: []translate.Change{
				{At: 2 * at, Kind: translate.NodeDrains}, fails(4, 0), {At: 20 * at, Kind: translate.NodeRepaired}, {At: 21 * at, Kind: translate.NodeRepaired}, {At: 30 * at, Kind: translate.NodeUndrained},
			},
			log: `0s submitted 1
			      0s assigned 1
			      2s node n0 DRAINING
			      4s node n0 DOWN
			      4s requeued 1 NODE_FAILURE
			      20s node n0 DRAINED
			      30s node n0 READY
			      30s assigned 1
			      40s ended 1 COMPLETED`,
			attempts: `1 0-4 FAILED +0 -4
			           1 30-40 COMPLETED +10 -0`,
		},
		{
			name: "a service ends when its owner ends it", nodes: 1, config: grace,
			rows: []traces.Job{row(1, 0, runs(100*sec), func(j *traces.Job) {
				j.Kind, j.ExitState, j.Walltime = "service", "CANCELLED by 7", traces.Opt[model.Duration]{}
			})},
			log: `0s submitted 1
			      0s assigned 1
			      100s ended 1 CANCELLED CANCELLED`,
			attempts: `1 0-100 CANCELLED +100 -0`,
		},
		{
			name: "a job that never ran in the log is withdrawn while it waits", nodes: 1,
			rows: []traces.Job{row(1, 0), row(2, 1*at, func(j *traces.Job) {
				j.Runtime, j.CancelledAt = traces.Opt[model.Duration]{}, traces.Some(4*at)
			})},
			log: `0s submitted 1
			      0s assigned 1
			      1s submitted 2
			      4s cancelled 2 CANCELLED
			      10s ended 1 COMPLETED`,
			attempts: `1 0-10 COMPLETED +10 -0`,
		},
		{
			// The hint waits for the grace of the vCluster that borrowed.
			name: "a borrower has its grace", nodes: 1,
			config: func(c *SiteConfig) {
				grace(c)
				c.Site.VClusters[0].Grace = 60 * sec
				c.Site.VClusters = append(c.Site.VClusters, model.VCluster{Name: "home"})
				c.Site.VClusters[0].Borrow, c.Site.VClusters[1].Lend, c.Site.VClusters[1].MaxLent = true, true, model.One
				c.Site.Nodes[0].Home = 1
			},
			rows:   []traces.Job{row(1, 0, runs(100*sec), walltime(200*sec)), row(2, 5*at, func(j *traces.Job) { j.VCluster = "home" })},
			orders: []order{preemptAt(5, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s preempted 1 RECLAIMED
			      75s suspended 1
			      75s assigned 2
			      85s ended 2 COMPLETED
			      85s assigned 1
			      130s ended 1 COMPLETED`,
			attempts: `1 0-75 SUSPENDED +65 -0
			           2 75-85 COMPLETED +10 -0
			           1 85-130 COMPLETED +35 -0`,
		},
		graceOfQOS("the grace of a borrower is that of its vCluster where its QOS has less", 20*sec, 75),
		graceOfQOS("the grace of a borrower is that of its QOS where that is more", 90*sec, 105),
	} {
		t.Run(c.name, c.tell)
	}
}

// graceOfQOS is the story of a borrower whose vCluster grants it 60 s and whose QOS grants another
// grace. It is told to go at 5 s, writes when its grace is over, and has left 10 s later.
func graceOfQOS(name string, qos model.Duration, leaves model.Time) tale {
	return tale{
		name: name, nodes: 1,
		config: func(c *SiteConfig) {
			grace(c)
			c.Site.QOS = []model.QOS{{Name: "long", Class: -1, PreemptGrace: qos}}
			c.Site.VClusters[0].Grace = 60 * sec
			c.Site.VClusters = append(c.Site.VClusters, model.VCluster{Name: "home"})
			c.Site.VClusters[0].Borrow, c.Site.VClusters[1].Lend, c.Site.VClusters[1].MaxLent = true, true, model.One
			c.Site.Nodes[0].Home = 1
		},
		rows: []traces.Job{
			row(1, 0, runs(200*sec), walltime(400*sec), func(j *traces.Job) { j.QOS = "long" }),
			row(2, 5*at, func(j *traces.Job) { j.VCluster = "home" }),
		},
		orders: []order{preemptAt(5, 2, 1)},
		log: fmt.Sprintf(`0s submitted 1
		      0s assigned 1
		      5s submitted 2
		      5s preempted 1 RECLAIMED
		      %ds suspended 1
		      %ds assigned 2
		      %ds ended 2 COMPLETED
		      %ds assigned 1
		      230s ended 1 COMPLETED`, leaves, leaves, leaves+10, leaves+10),
		attempts: fmt.Sprintf(`1 0-%d SUSPENDED +%d -0
		           2 %d-%d COMPLETED +10 -0
		           1 %d-230 COMPLETED +%d -0`, leaves, leaves-10, leaves, leaves+10, leaves+10, 200-(leaves-10)),
	}
}
