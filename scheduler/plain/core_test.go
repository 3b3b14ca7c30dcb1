package plain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/plain"
)

// machine drives a core by hand on processors: everything in seconds, every proposal is granted at
// once, and jobs end when told.
type machine struct {
	*plain.Core
	t    *testing.T
	jobs []model.Fact
}

func newMachine(t *testing.T, procs int32, by order.Order, fill order.Backfill) *machine {
	return &machine{plain.New(plain.Config{Cluster: model.UniformCluster(procs, 1, true), Order: by, Backfill: fill}), t, nil}
}

func at(seconds int64) model.Time { return model.Time(seconds * int64(model.Second)) }

// submit brings jobs of so many processors and seconds, each numbered by those before it.
func (m *machine) submit(now int64, jobs ...[2]int32) {
	for _, j := range jobs {
		n := len(m.jobs)
		f := model.Fact{
			Kind: model.FactSubmitted, Job: model.JobID(n), Ref: model.Ref(n), Submit: at(now), Walltime: model.Duration(j[1]) * model.Second,
			Request: model.Request{Units: j[0]},
		}
		m.jobs = append(m.jobs, f)
		m.Observe(at(now), []model.Fact{f})
	}
}

func (m *machine) end(now int64, jobs ...model.Ref) {
	for _, j := range jobs {
		m.Observe(at(now), []model.Fact{{Kind: model.FactEnded, Job: model.JobID(j), Ref: j, Outcome: model.Completed}})
	}
}

// starts are the jobs that a pass starts.
func (m *machine) starts(now int64) (refs []model.Ref) {
	var facts []model.Fact
	for _, p := range m.Plan(at(now)).Proposals {
		refs = append(refs, p.Ref)
		facts = append(facts, model.Fact{Kind: model.FactAssigned, Job: p.Job, Ref: p.Ref, Seq: p.Seq, Placement: &p.Placement})
	}
	m.Observe(at(now), facts)
	return refs
}

func jobs(refs ...model.Ref) []model.Ref { return refs }

// Of ten processors eight are busy until 100 s, and a job of nine waits. Behind it come one of two that
// would end at 101 s, one of two that ends at 100 s, and one of one. Two processors are free.
func TestBackfilling(t *testing.T) {
	for _, c := range []struct {
		fill order.Backfill
		want []model.Ref
	}{
		{order.None, nil},
		{order.FirstFit, jobs(2)},
		{order.Easy, jobs(3)},
		{order.Conservative, jobs(3)},
	} {
		m := newMachine(t, 10, order.FCFS, c.fill)
		m.submit(0, [2]int32{8, 100})
		require.Equal(t, jobs(0), m.starts(0))
		m.submit(1, [2]int32{9, 50}, [2]int32{2, 100}, [2]int32{2, 99}, [2]int32{1, 10})
		require.Equal(t, c.want, m.starts(1), "%v", c.fill)
	}
}

// The head of the queue leaves one processor of ten over: jobs that run longer than it waits may have
// that one, once.
func TestEasyGivesWhatTheHeadLeaves(t *testing.T) {
	m := newMachine(t, 10, order.FCFS, order.Easy)
	m.submit(0, [2]int32{8, 100})
	require.Equal(t, jobs(0), m.starts(0))
	m.submit(1, [2]int32{9, 50}, [2]int32{1, 1000}, [2]int32{1, 1000}, [2]int32{1, 99})
	require.Equal(t, jobs(2, 4), m.starts(1))
	m.end(100, 0, 4)
	require.Equal(t, jobs(1), m.starts(100))
}

// Jobs that have started leave the queue, wherever they stood; the others stay in their order.
func TestQueueKeepsItsOrder(t *testing.T) {
	m := newMachine(t, 10, order.FCFS, order.FirstFit)
	m.submit(0, [2]int32{10, 100}, [2]int32{6, 10}, [2]int32{5, 10}, [2]int32{4, 10}, [2]int32{7, 10}, [2]int32{1, 10}, [2]int32{3, 10})
	require.Equal(t, jobs(0), m.starts(0))
	require.EqualValues(t, 1, m.Least())
	m.end(10, 0)
	require.Equal(t, jobs(1, 3), m.starts(10), "the first, and the first that fits beside it")
	m.end(20, 3)
	require.Equal(t, jobs(5, 6), m.starts(20))
	require.EqualValues(t, 5, m.Least())
	m.end(30, 1, 5, 6)
	require.Equal(t, jobs(2), m.starts(30))
	m.Observe(at(31), []model.Fact{{Kind: model.FactCancelled, Job: 4, Ref: 4}})
	require.Zero(t, m.Least())
	m.end(40, 2)
	require.Empty(t, m.starts(40))
}

// Orders decide among those that wait.
func TestQueueGoesByTheOrder(t *testing.T) {
	for by, want := range map[order.Order][]model.Ref{
		order.FCFS: jobs(1, 2, 3), order.SJF: jobs(3, 1, 2), order.LJF: jobs(2, 1, 3), order.SQF: jobs(2, 3, 1),
	} {
		m := newMachine(t, 10, by, order.None)
		m.submit(0, [2]int32{10, 100})
		require.Equal(t, jobs(0), m.starts(0))
		m.submit(1, [2]int32{5, 20}, [2]int32{2, 30}, [2]int32{3, 10})
		m.end(2, 0)
		require.Equal(t, want, m.starts(2), "%v", by)
	}
}

// Every job has a reservation by conservative backfilling. When the first job ends early, all move up
// in their order, and none behind the instant that it was given.
//
//	            0        100      150    160      early, at 60
//	10 procs    |0       |1 (9)   |                |1 (9)   at 60
//	                     |2 (1)          |         |2 (1)   at 60
//	                              |3 (9)           |3 (9)   at 110
func TestConservativeReservations(t *testing.T) {
	m := newMachine(t, 10, order.FCFS, order.Conservative)
	m.submit(0, [2]int32{10, 100})
	require.Equal(t, jobs(0), m.starts(0))
	m.submit(1, [2]int32{9, 50}, [2]int32{1, 60}, [2]int32{9, 50})
	require.Empty(t, m.starts(1))
	for ref, want := range map[model.Ref]int64{1: 100, 2: 100, 3: 150} {
		require.Equal(t, at(want), m.Reserved(ref), "job %d", ref)
	}
	m.end(60, 0)
	require.Equal(t, jobs(1, 2), m.starts(60))
	require.Equal(t, at(110), m.Reserved(3))
	require.Equal(t, at(110), m.Predicted(1))
	require.Equal(t, at(120), m.Predicted(2))
	m.end(110, 1)
	require.Equal(t, jobs(3), m.starts(110))
}

// A job that came later gets a hole before those that wait, if it has left again by then, and what a
// withdrawn job had reserved goes to those behind it.
func TestConservativeHoles(t *testing.T) {
	m := newMachine(t, 10, order.FCFS, order.Conservative)
	m.submit(0, [2]int32{6, 100})
	require.Equal(t, jobs(0), m.starts(0))
	m.submit(1, [2]int32{10, 50}, [2]int32{4, 99}, [2]int32{4, 20})
	require.Equal(t, jobs(2), m.starts(1), "it ends at 100 s, when job 1 begins")
	require.Equal(t, at(150), m.Reserved(3))
	m.Observe(at(2), []model.Fact{{Kind: model.FactCancelled, Job: 1, Ref: 1}})
	require.Empty(t, m.starts(2))
	require.Equal(t, at(100), m.Reserved(3))
}

// On a cycle a job is predicted to leave at a tick, and so reservations begin at ticks: the first that
// waits is the first to start, though no pass comes when the node is left.
func TestConservativeOnACycle(t *testing.T) {
	m := &machine{plain.New(plain.Config{
		Cluster: model.UniformCluster(1, 1, true), Backfill: order.Conservative, Ticks: model.Ticks{Every: model.Minute, Phase: 10 * model.Second},
	}), t, nil}
	m.submit(10, [2]int32{1, 90})
	require.Equal(t, jobs(0), m.starts(10))
	require.Equal(t, at(130), m.Predicted(0))
	m.submit(70, [2]int32{1, 60}, [2]int32{1, 61})
	require.Empty(t, m.starts(70))
	require.Equal(t, at(130), m.Reserved(1))
	require.Equal(t, at(190), m.Reserved(2))
	m.end(100, 0)
	require.Equal(t, jobs(1), m.starts(130))
	m.end(190, 1)
	require.Equal(t, jobs(2), m.starts(190))
	require.Equal(t, at(310), m.Predicted(2))
}

// A pass that comes later than the instant of a reservation gives the job another one.
func TestConservativeLatePass(t *testing.T) {
	m := newMachine(t, 1, order.FCFS, order.Conservative)
	m.submit(0, [2]int32{1, 100})
	require.Equal(t, jobs(0), m.starts(0))
	m.submit(1, [2]int32{1, 50})
	require.Empty(t, m.starts(1))
	m.end(130, 0)
	require.Equal(t, jobs(1), m.starts(130))
}

// The answer to a proposal may come so late that the job was predicted to end later than it then does: what is
// reserved behind it moves up.
func TestConservativeLateAnswer(t *testing.T) {
	m := newMachine(t, 1, order.FCFS, order.Conservative)
	short := model.Fact{Kind: model.FactSubmitted, Walltime: model.Second / 2, Request: model.Request{Units: 1}}
	m.jobs = append(m.jobs, short)
	m.Observe(0, []model.Fact{short})
	p := m.Plan(0).Proposals[0]
	m.submit(1, [2]int32{1, 10})
	require.Empty(t, m.starts(1), "job 0 is in flight, and overdue")
	require.Equal(t, at(2), m.Reserved(1))
	granted := at(1).Add(model.Second / 4)
	m.Observe(granted, []model.Fact{{Kind: model.FactAssigned, Job: 0, Ref: 0, Seq: p.Seq, Placement: &p.Placement}})
	require.Empty(t, m.Plan(granted).Proposals)
	require.Equal(t, granted.Add(model.Second/2), m.Reserved(1))
}
