package fidelity

import (
	"context"
	"iter"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/workerpool"
	"orrery/traces"
	"orrery/traces/transform"
)

// Replays says which draws of a replay are made.
type Replays struct {
	Spec       plan.Spec // bound to the trace
	Set        *transform.Set
	Resolution model.Duration // of the clock of the record
	Draws      int
	Seed       uint64
}

// What a draw draws. Each has a stream of its own, so that further ones move none of these.
var (
	submissionStream = draw.StreamOf("fidelity: submission within the step of the clock")
	specStream       = draw.StreamOf("fidelity: seed of the replay")
)

// Draw is what a replay came to.
type Draw struct {
	Times    []Times  // by row of the trace
	Unheeded []string // what more of the work asked for than a replay may leave unmet, a sentence each
}

// Run makes the draws, several at a time; they are by number. They depend on the seed and the number of the
// draw alone. tell is told how many are done; nil is told nothing. 16 bytes a job and draw are kept.
func (r *Replays) Run(ctx context.Context, workers int, tell func(done int)) ([]Draw, error) {
	jobs, err := r.unscheduled()
	if err != nil {
		return nil, err
	}
	out := make([]Draw, r.Draws)
	_, err = workerpool.Each(ctx, r.Draws, workers, tell, func() func(context.Context, int) error {
		return func(ctx context.Context, k int) (err error) {
			out[k], err = r.one(ctx, k, jobs)
			return err
		}
	})
	return out, err
}

// unscheduled are the rows without what the policy of the site made of them: each that ran is written as one
// that started when it was submitted. A replay then cannot take a start or an end of the record for its own,
// and still finds how long a job ran. What a warm start goes by is kept: those jobs run or wait when the trace
// begins.
func (r *Replays) unscheduled() ([]traces.Job, error) {
	var out []traces.Job
	warm := r.Set.Meta.WarmStart
	for row, err := range r.Set.Rows() {
		if err != nil {
			return nil, err
		}
		j := *row
		if j.Start.OK && j.Runtime.OK && !(warm.OK && j.Submit < warm.V) {
			j.Start = traces.Some(j.Submit)
			j.End = traces.Some(j.Submit.Add(j.Runtime.V))
		}
		j.Priority = traces.Opt[int64]{}
		out = append(out, j)
	}
	return out, nil
}

// specOf is the spec of a draw. What a site's scheduler has of hidden state, such as the phase of its
// backfill cycle when the trace begins, is drawn from the seed of the spec: it is the one place where the
// number of a draw reaches a replay. A plain cluster whose quorum answers at once draws nothing.
func (r *Replays) specOf(k int) plan.Spec {
	spec := r.Spec
	if len(spec.Site) > 0 || spec.QuorumJitter > 0 {
		spec.Seed = draw.At(r.Seed, specStream, uint64(k), 0, 0)
	}
	return spec
}

// one makes draw k.
func (r *Replays) one(ctx context.Context, k int, jobs []traces.Job) (Draw, error) {
	set := *r.Set
	drawn := r.submitted(k, jobs)
	set.Rows = func() iter.Seq2[*traces.Job, error] {
		return func(yield func(*traces.Job, error) bool) {
			for i := range drawn {
				if !yield(&drawn[i], nil) {
					return
				}
			}
		}
	}
	trace, err := set.Collect()
	if err != nil {
		return Draw{}, err
	}
	sink := &starts{times: slices.Repeat([]Times{{model.AbsentTime, model.AbsentTime}}, len(jobs))}
	res, err := sim.Run(ctx, r.specOf(k), trace.Open, sim.Options{Sink: sink})
	if err != nil {
		return Draw{}, err
	}
	return Draw{sink.times, res.UnheededWords()}, nil
}

// submitted moves each submission to an instant that the clock of the record would have shown as the
// recorded one: uniformly within its step. Jobs of one step keep their order.
func (r *Replays) submitted(k int, jobs []traces.Job) []traces.Job {
	out := slices.Clone(jobs)
	if r.Resolution <= model.Microsecond {
		return out
	}
	warm := r.Set.Meta.WarmStart
	for i := 0; i < len(out); {
		n := i
		for n < len(out) && out[n].Submit == out[i].Submit {
			n++
		}
		if warm.OK && out[i].Submit < warm.V {
			i = n
			continue
		}
		by := make([]model.Duration, n-i)
		for j := range by {
			src := draw.New(r.Seed, submissionStream, uint64(i+j), uint64(k))
			by[j] = model.Duration(src.IntN(int64(r.Resolution)))
		}
		slices.Sort(by)
		for j := range by {
			later(&out[i+j], by[j])
		}
		i = n
	}
	return out
}

// later moves a job with all that the row says of when it is submitted and withdrawn.
func later(j *traces.Job, by model.Duration) {
	j.Submit = j.Submit.Add(by)
	for _, at := range [...]*traces.Opt[model.Time]{&j.Start, &j.End, &j.Eligible, &j.CancelledAt, &j.Released, &j.Deadline} {
		if at.OK {
			at.V = at.V.Add(by)
		}
	}
}

// starts is a sink that keeps when the jobs of the trace started and ended.
type starts struct{ times []Times }

// Job implements record.Sink. Jobs of services are no rows of the trace.
func (s *starts) Job(r *model.JobRecord) {
	if r.Job >= 0 && int(r.Job) < len(s.times) {
		s.times[r.Job] = Times{r.Start, r.End}
	}
}

// Attempt implements record.Sink.
func (*starts) Attempt(*model.AttemptRecord) {}

// Flush implements record.Sink.
func (*starts) Flush() error { return nil }

var _ record.Sink = (*starts)(nil)
