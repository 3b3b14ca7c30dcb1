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
// of four nodes and a tenant each time, and what it has made of the log in the end, to be
// compared.
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

// owned is a fact with copies of all that it points at.
func owned(f model.Fact) model.Fact {
	if f.Placement != nil {
		f.Placement = copied(f.Placement)
	}
	if f.Alloc != nil {
		a := *f.Alloc
		f.Alloc = &a
	}
	if f.Constraint != nil {
		c := *f.Constraint
		f.Constraint = &c
	}
	if f.Limits != nil {
		l := *f.Limits
		f.Limits = &l
	}
	return f
}

func copied(p *model.Placement) *model.Placement {
	return &model.Placement{Words: slices.Clone(p.Words), Shares: slices.Clone(p.Shares)}
}

// tell hands a small log to a recorder: two jobs on four nodes, and one fact of each kind
// that points at something or changes the site. after is called when a call is over.
func tell(t *testing.T, r drive.Recorder, after func()) {
	t.Helper()
	const minute = model.Time(model.Minute)
	fact := func(now model.Time, f model.Fact) {
		before := owned(f)
		f = owned(f)
		r.Fact(now, &f)
		require.Equal(t, before, f, "it changes what it is handed")
		after()
	}
	proposed := func(now model.Time, p model.Proposal) {
		before := p
		before.Placement = *copied(&p.Placement)
		r.Proposed(now, &p)
		require.Equal(t, before, p, "it changes what it is handed")
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
	r.Round(minute+1, drive.Stepped, 6)
	past := submitted(2, 1)
	past.Kind, past.At = model.FactUsageBegan, 0
	fact(minute+1, past)
	past.Kind, past.At = model.FactUsageEnded, minute
	fact(minute+1, past)
	fact(minute+1, model.Fact{Kind: model.FactLimits, Limits: &model.Limits{MaxNodes: 3, FairShare: model.One / 2}})
	fact(minute+1, model.Fact{Kind: model.FactNode, Node: 2, State: model.Drained})
	resized := on(0b1011)
	fact(minute+1, model.Fact{Kind: model.FactResized, Job: 1, Ref: 1, Placement: &resized})
	fact(minute+1, submitted(3, 1))
	shared := model.Placement{Shares: []model.NodeShare{{Node: 3, Units: 1, GPUs: 1}}}
	r.Round(minute+2, drive.Stepped, 1)
	fact(minute+2, model.Fact{Kind: model.FactRestored, Job: 3, Ref: 3, Seq: 1 << 40, Placement: &shared})
	r.Round(2*minute, drive.Stepped, 2)
	fact(2*minute, model.Fact{Kind: model.FactEnded, Job: 3, Ref: 3, Seq: 1 << 40, Outcome: model.Completed})
	fact(2*minute, model.Fact{Kind: model.FactEnded, Job: 1, Ref: 1, Seq: 2, Outcome: model.Completed})
	r.Passed(2*minute, &scheduler.Plan{Due: model.Never, QuietUntil: model.Never})
}
