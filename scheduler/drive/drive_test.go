package drive

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/plain"
)

// ports grant what they are asked, but for the jobs in refuse, and write down
// what passes through them.
type ports struct {
	Unrecorded
	log    []string
	refuse map[model.JobID]int
}

func (p *ports) Submit(_ model.Time, proposals []model.Proposal, dst []model.Fact) []model.Fact {
	for i := range proposals {
		f := model.Fact{Kind: model.FactAssigned, Job: proposals[i].Job, Ref: proposals[i].Ref, Seq: proposals[i].Seq}
		if p.refuse[f.Job] > 0 {
			p.refuse[f.Job]--
			f.Kind, f.Reason = model.FactRefused, model.ReasonNodesTaken
		}
		dst = append(dst, f)
	}
	return dst
}

func (p *ports) Start(_ model.Time, ref model.Ref) {
	p.log = append(p.log, fmt.Sprintf("start %d", ref))
}

func (p *ports) Fact(_ model.Time, f *model.Fact) {
	p.log = append(p.log, fmt.Sprintf("%s %d", f.Kind, f.Job))
}

func (p *ports) Proposed(_ model.Time, q *model.Proposal) {
	p.log = append(p.log, fmt.Sprintf("propose %d on %x", q.Job, q.Placement.Words[0].Mask))
}

func (p *ports) taken() string {
	out := strings.Join(p.log, ", ")
	p.log = nil
	return out
}

func newLoop(events EventOrder, b order.Backfill, procs int32) (*Loop, *ports) {
	p := &ports{refuse: map[model.JobID]int{}}
	core := plain.New(plain.Config{Cluster: model.UniformCluster(procs, 1, true), Backfill: b, Sequential: events == Sequential})
	return &Loop{Core: core, Quorum: p, Agents: p, Record: p, Order: events, PassPerFact: b != order.Conservative}, p
}

func submitted(id int32, at model.Time, units int32, wall model.Duration) model.Fact {
	return model.Fact{Kind: model.FactSubmitted, Job: model.JobID(id), Ref: model.Ref(id), Submit: at, Walltime: wall, Request: model.Request{Units: units}}
}

func ended(id int32, seq uint64) model.Fact {
	return model.Fact{Kind: model.FactEnded, Job: model.JobID(id), Ref: model.Ref(id), Seq: seq}
}

// TestBatchMakesOnePass: all facts of the instant, then one pass.
func TestBatchMakesOnePass(t *testing.T) {
	l, p := newLoop(Batch, order.Easy, 2)
	l.Step(0, []model.Fact{submitted(0, 0, 2, 10), submitted(1, 0, 1, 5)})
	require.Equal(t, "submitted 0, submitted 1, propose 0 on 3, assigned 0, start 0", p.taken())
	l.Step(7, []model.Fact{ended(0, 1), submitted(2, 7, 2, 9)})
	require.Equal(t, "ended 0, submitted 2, propose 1 on 1, assigned 1, start 1", p.taken())
	require.Equal(t, model.Never, l.Due())
}

// TestSequentialPassesAfterEveryFact: a job that ends early keeps its processor
// until its turn, one that ends as requested does not; the quorum is asked at
// the end.
func TestSequentialPassesAfterEveryFact(t *testing.T) {
	for _, c := range []struct {
		name string
		wall model.Duration // of the job that ends at 7
		want string
	}{
		{"as requested", 7, "ended 0, submitted 1, submitted 2, propose 1 on 1, assigned 1, start 1"},
		{"early", 9, "submitted 1, submitted 2, ended 0, propose 1 on 1, assigned 1, start 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, p := newLoop(Sequential, order.Easy, 1)
			l.Step(0, []model.Fact{submitted(0, 0, 1, c.wall)})
			p.taken()
			l.Step(7, []model.Fact{ended(0, 1), submitted(1, 7, 1, 5), submitted(2, 7, 1, 1)})
			require.Equal(t, c.want, p.taken())
		})
	}
}

// TestSequentialEndsComeInStartOrder: the facts come by job, the ends are worked
// off by start.
func TestSequentialEndsComeInStartOrder(t *testing.T) {
	l, p := newLoop(Sequential, order.None, 2)
	l.Step(0, []model.Fact{submitted(1, 0, 1, 50)})
	l.Step(1, []model.Fact{submitted(0, 1, 1, 50)})
	p.taken()
	l.Step(9, []model.Fact{ended(0, 2), ended(1, 1)})
	require.Equal(t, "ended 1, ended 0", p.taken())
}

// TestConservativeIsDue: the start of a reservation is an instant to wake at.
func TestConservativeIsDue(t *testing.T) {
	for _, events := range []EventOrder{Batch, Sequential} {
		l, p := newLoop(events, order.Conservative, 1)
		l.Step(0, []model.Fact{submitted(0, 0, 1, 10), submitted(1, 0, 1, 10)})
		require.Equal(t, model.Time(10), l.Due())
		l.Step(4, []model.Fact{ended(0, 1)})
		require.Contains(t, p.taken(), "propose 1", "compression moves it up")
		require.Equal(t, model.Never, l.Due())
	}
}

// TestRefusalMakesOneMorePass: the job is waiting again and is tried again,
// once at this instant, and again at the next.
func TestRefusalMakesOneMorePass(t *testing.T) {
	for _, events := range []EventOrder{Batch, Sequential} {
		l, p := newLoop(events, order.Easy, 1)
		p.refuse[0] = 3
		l.Step(0, []model.Fact{submitted(0, 0, 1, 10)})
		require.Equal(t, "submitted 0, propose 0 on 1, refused 0, propose 0 on 1, refused 0", p.taken())
		require.Zero(t, l.QuietUntil(), "a cycle tries again at its next tick")
		l.Step(1, nil)
		require.Equal(t, "propose 0 on 1, refused 0, propose 0 on 1, assigned 0, start 0", p.taken())
	}
}

// TestObserveMakesNoPass: under a cycle, facts wait for the tick, and the
// promise of quiet is void once something was observed.
func TestObserveMakesNoPass(t *testing.T) {
	l, p := newLoop(Batch, order.Easy, 1)
	l.Pass(0)
	require.Equal(t, model.Never, l.QuietUntil())
	l.Observe(1, []model.Fact{submitted(0, 1, 1, 10)})
	require.Equal(t, "submitted 0", p.taken())
	require.Zero(t, l.QuietUntil())
	l.Pass(5)
	require.Equal(t, "propose 0 on 1, assigned 0, start 0", p.taken())
}

// observed counts what the core is told.
type observed struct {
	Scheduler
	times int
}

func (o *observed) Observe(now model.Time, facts []model.Fact) {
	o.times++
	o.Scheduler.Observe(now, facts)
}

// TestInstantsWithoutFacts: a step at an instant at which nothing happened asks for a plan and tells
// the core nothing.
func TestInstantsWithoutFacts(t *testing.T) {
	loop, _ := newLoop(Batch, order.Easy, 1)
	core := &observed{Scheduler: loop.Core}
	loop.Core = core
	loop.Step(0, nil)
	require.Zero(t, core.times)
	loop.Step(1, []model.Fact{submitted(0, 1, 1, model.Hour)})
	require.Equal(t, 2, core.times, "of the submission, and of the start")
}
