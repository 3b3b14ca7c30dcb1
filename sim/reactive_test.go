package sim

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/world"
	"orrery/traces"
)

// demanded is the event that the service of row 1 is to have so many nodes.
func demanded(second int64, nodes int) traces.Event {
	return traces.Event{Time: model.Time(second) * model.Time(model.Second), Kind: "demand", Subject: "1", Value: strconv.Itoa(nodes)}
}

// aService runs for 100 s from 0 on, on one to four nodes.
func aService() submittedJob {
	return submittedJob{0, 100, 1, 9, 0, traces.Job{Kind: "reactive", NodesMax: traces.Some(int32(4))}}
}

// nodeSeconds is what the service of row 1 held in all.
func nodeSeconds(t *testing.T, site string, events []traces.Event, jobs ...submittedJob) (service int64, starts []int64, of *world.SiteCounts) {
	t.Helper()
	sink, res := recordJobs(t, site, events, jobs)
	starts = make([]int64, len(jobs))
	for i, id := range sink.Jobs.ID {
		starts[id-1] = sink.Jobs.Start[i] / 1e6
		if id == 1 {
			service = sink.Jobs.NodeUS[i] / 1e6
		}
	}
	return service, starts, res.SiteCounts
}

const sixNodes = "groups: [{name: a, nodes: 6, fingerprint: x}]\nvclusters: [{name: v, home: all, profile: {order: fcfs}}]\n"

// TestServicesFollowTheirDemand: a service grows into what is free, waits for more, gets
// it before jobs that come after it, and gives back what it is to have no more.
func TestServicesFollowTheirDemand(t *testing.T) {
	held, starts, counts := nodeSeconds(t, sixNodes, []traces.Event{demanded(10, 3), demanded(30, 4), demanded(60, 1)},
		aService(), submittedJob{20, 30, 3, 1, 0, traces.Job{}}, submittedJob{40, 20, 5, 2, 0, traces.Job{}})
	require.EqualValues(t, 10*1+40*3+10*4+40*1, held) // 4 nodes from 50 on, when the first job is over
	require.Equal(t, []int64{0, 20, 60}, starts)
	require.Zero(t, counts.Moot)
	require.EqualValues(t, 3, counts.Resized)
}

// TestDemandIsBroughtIntoTheRange: no demand is beyond nodes_max or below nodes_min, one of before
// the submission counts from there on, and no service follows those of other jobs.
func TestDemandIsBroughtIntoTheRange(t *testing.T) {
	later := aService()
	later.submit = 50
	for _, c := range []struct {
		name       string
		service    submittedJob
		events     []traces.Event
		want, moot int64
	}{
		{"none", aService(), nil, 100, 0},
		{"too many", aService(), []traces.Event{demanded(0, 99)}, 400, 0},
		{"more than there are numbers for", aService(), []traces.Event{{Kind: "demand", Subject: "1", Value: "3000000000"}}, 400, 0},
		{"before it comes", later, []traces.Event{demanded(1, 4), demanded(2, 3)}, 300, 1},
		{"after it has left", aService(), []traces.Event{demanded(100, 3)}, 100, 1},
		{"of a job that is none", aService(), []traces.Event{{Time: 1, Kind: "demand", Subject: "7", Value: "3"}}, 100, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			held, _, counts := nodeSeconds(t, sixNodes, c.events, c.service)
			require.Equal(t, c.want, held)
			require.Equal(t, c.moot, counts.Moot)
		})
	}
}

// TestServicesKeepTheirLimits: the growth of a service counts against the tenant's nodes, and
// follows its limits when they change; as-coded services keep their size.
func TestServicesKeepTheirLimits(t *testing.T) {
	site := "groups: [{name: a, nodes: 6, fingerprint: x}]\ntenants: [{name: t, max_nodes: 3}]\nvclusters: [{name: v, home: all, profile: {order: fcfs}}]\n"
	service := aService()
	service.job.Tenant = "t"
	raised := traces.Event{Time: model.Time(50 * model.Second), Kind: "quota", Subject: "t", Value: `{"max_nodes":4}`}
	held, _, _ := nodeSeconds(t, site, []traces.Event{demanded(0, 4), raised}, service)
	require.EqualValues(t, 50*3+50*4, held)

	coded := "groups: [{name: a, nodes: 6, fingerprint: x}]\nvclusters: [{name: v, home: all, profile: {mode: as-coded}}]\n"
	held, _, _ = nodeSeconds(t, coded, []traces.Event{demanded(50, 2)}, aService())
	require.EqualValues(t, 400, held) // as many as there are, from the start on
}

// TestUnderProvisionedServicesCostLittle: a service that lacks thousands of nodes, and can have none of those that are
// free, has not every number of them tried in every pass. That took minutes, where this takes
// a fraction of a second.
func TestUnderProvisionedServicesCostLittle(t *testing.T) {
	for _, backfill := range []string{"easy", "conservative"} {
		t.Run(backfill, func(t *testing.T) {
			m := &memory{size: 2, info: traces.Info{Name: "services", Hash: "services", Sorted: true}}
			m.events = []traces.Event{{Time: model.Time(2 * model.Second), Kind: "demand", Subject: "3", Value: "5000"}}
			m.all.Attr = &traces.Attributes{}
			add := func(submit, runtime int64, nodes int32, job traces.Job) {
				m.add(row{submit: submit, runtime: runtime, walltime: runtime, procs: nodes, nodes: nodes})
				m.all.Attr.AppendJob(&job)
			}
			add(0, 500_000, 4000, traces.Job{})
			add(1, 3000, 9999, traces.Job{}) // counts on all nodes but one, at 500,000 s
			add(2, 1_000_000, 1, traces.Job{Kind: "reactive", NodesMax: traces.Some(int32(9000))})
			for i := range int64(1000) {
				add(3+i, 50, 2, traces.Job{})
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			site := "groups: [{name: a, nodes: 10000, fingerprint: x}]\nvclusters: [{name: v, home: all, profile: {order: fcfs, backfill: " + backfill + "}}]\n"
			res, err := Run(ctx, siteOf(t, site), m.open, Options{})
			require.NoError(t, err)
			require.EqualValues(t, 1, res.SiteCounts.Resized) // when the job of 9,999 nodes is over
		})
	}
}
