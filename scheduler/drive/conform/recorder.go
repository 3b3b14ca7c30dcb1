package conform

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler"
	"orrery/scheduler/drive"
	"orrery/scheduler/model"
)

// Recorder runs the contract of a recorder: it changes nothing of what it is handed, keeps
// nothing of it beyond the call, and takes empty rounds and passes. make is a new recorder
// each time, and what it has made of the log in the end, to be compared.
func Recorder(t *testing.T, make func(t *testing.T) (r drive.Recorder, result func() any)) {
	t.Helper()
	kept, result := make(t)
	tell(t, kept, func() {})
	want := result()

	scribbled, result := make(t)
	var log logged
	tell(t, &also{scribbled, &log}, log.scribble)
	require.Equal(t, want, result(), "it keeps what is valid during the call alone")
}

// also tells two recorders.
type also struct{ first, second drive.Recorder }

func (a *also) Round(now model.Time, r drive.Round, n int) {
	a.first.Round(now, r, n)
	a.second.Round(now, r, n)
}

func (a *also) Fact(now model.Time, f *model.Fact) {
	a.first.Fact(now, f)
	a.second.Fact(now, f)
}

func (a *also) Passed(now model.Time, p *scheduler.Plan) {
	a.first.Passed(now, p)
	a.second.Passed(now, p)
}

func (a *also) Proposed(now model.Time, p *model.Proposal) {
	a.first.Proposed(now, p)
	a.second.Proposed(now, p)
}

// logged overwrites what the last call was handed.
type logged struct {
	drive.Unrecorded
	fact     *model.Fact
	proposal *model.Proposal
}

func (l *logged) Fact(_ model.Time, f *model.Fact)         { l.fact = f }
func (l *logged) Proposed(_ model.Time, p *model.Proposal) { l.proposal = p }

func (l *logged) scribble() {
	if f := l.fact; f != nil {
		if f.Placement != nil {
			overwrite(f.Placement)
		}
		if f.Alloc != nil {
			*f.Alloc = model.Allocation{Job: -7}
		}
		if f.Constraint != nil {
			*f.Constraint = model.Constraint{CPUs: -7}
		}
		if f.Limits != nil {
			*f.Limits = model.Limits{MaxNodes: -7}
		}
		*f, l.fact = model.Fact{Job: -7}, nil
	}
	if p := l.proposal; p != nil {
		overwrite(&p.Placement)
		*p, l.proposal = model.Proposal{Job: -7}, nil
	}
}

func overwrite(p *model.Placement) {
	for i := range p.Words {
		p.Words[i] = model.NodeWord{Word: 3, Mask: 1}
	}
	for i := range p.Shares {
		p.Shares[i] = model.NodeShare{Node: 9}
	}
}

// tell hands a small log of two jobs on four nodes to a recorder; after is called when a
// call is over.
func tell(t *testing.T, r drive.Recorder, after func()) {
	t.Helper()
	const minute = model.Time(model.Minute)
	fact := func(now model.Time, f model.Fact) {
		before := f
		if f.Placement != nil {
			p := *f.Placement
			p.Words = slices.Clone(p.Words)
			f.Placement = &p
		}
		if f.Alloc != nil {
			a := *f.Alloc
			f.Alloc = &a
		}
		r.Fact(now, &f)
		if before.Alloc != nil && f.Alloc != nil {
			require.Equal(t, *before.Alloc, *f.Alloc, "it changes what it is handed")
		}
		require.Equal(t, before.Job, f.Job)
		after()
	}
	proposed := func(now model.Time, p model.Proposal) {
		before := slices.Clone(p.Placement.Words)
		r.Proposed(now, &p)
		require.Equal(t, before, p.Placement.Words)
		after()
	}
	submitted := func(job model.JobID, n int32) model.Fact {
		return model.Fact{
			Kind: model.FactSubmitted, Job: job, Ref: model.Ref(job), Walltime: model.Minute,
			Request: model.Request{Layout: model.PerNode, Nodes: n, PerNode: 1, Units: n},
			Alloc: &model.Allocation{
				Job: job, ID: int64(job) + 1, Walltime: model.Minute, NodesMin: n, NodesMax: n, Tenant: -1, QOS: -1, Partition: -1, Reservation: -1,
				User: -1, Account: -1, TaskGroup: -1, DAG: -1, DataReady: -1,
			},
			Constraint: &model.Constraint{GPUType: -1},
		}
	}
	on := func(mask uint64) model.Placement { return model.Placement{Words: []model.NodeWord{{Mask: mask}}} }
	start := func(now model.Time, job model.JobID, seq uint64, n int32, mask uint64) {
		p := on(mask)
		r.Passed(now, &scheduler.Plan{Proposals: make([]model.Proposal, 1), Due: model.Never, QuietUntil: model.Never})
		proposed(now, model.Proposal{Kind: model.ProposeAssign, Seq: seq, Job: job, Ref: model.Ref(job), Request: submitted(job, n).Request, Placement: on(mask)})
		r.Round(now, drive.Answered, 1)
		fact(now, model.Fact{Kind: model.FactAssigned, Job: job, Ref: model.Ref(job), Seq: seq, Placement: &p})
	}
	r.Round(0, drive.Stepped, 2)
	fact(0, submitted(0, 3))
	fact(0, submitted(1, 2))
	start(0, 0, 1, 3, 0b0111)
	r.Round(30*minute/60, drive.Asked, 0)
	r.Passed(30*minute/60, &scheduler.Plan{Due: model.Never, QuietUntil: model.Never})
	r.Round(minute, drive.Stepped, 1)
	fact(minute, model.Fact{Kind: model.FactEnded, Job: 0, Ref: 0, Seq: 1, Outcome: model.Completed})
	start(minute, 1, 2, 2, 0b0011)
	r.Round(2*minute, drive.Stepped, 1)
	fact(2*minute, model.Fact{Kind: model.FactEnded, Job: 1, Ref: 1, Seq: 2, Outcome: model.Completed})
	r.Passed(2*minute, &scheduler.Plan{Due: model.Never, QuietUntil: model.Never})
}
