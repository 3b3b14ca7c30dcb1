package transform

import (
	"iter"
	"strconv"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/traces"
)

// jitter moves each submission by a small random span: a result that does not
// survive that is an accident of the log (Tsafrir and Feitelson, Instability in
// parallel job scheduling simulation, IPDPS 2006). The span is uniform in whole
// µs from -by to by, drawn by seed and job id. Jobs of a warm start stay.
type jitter struct {
	by   model.Duration
	seed uint64
}

// The name of the stream is older than that of the step: seeds draw what they did.
var jitterStream = draw.StreamOf("shake of a submission")

func newJitter(p *params) step {
	s := jitter{by: p.span("by", model.Minute), seed: p.seed()}
	if s.by > 365*model.Day {
		p.fail("by=%s: a perturbation is small, at most a year", s.by)
	}
	return s
}

// Jitter is the step of that name, for noise floors: the same jobs, each
// submission moved by up to by.
func (s *Set) Jitter(by model.Duration, seed uint64) (*Set, error) {
	return s.Apply(Recipe{{Name: "jitter", Args: []Arg{{"by", "=", spanText(by)}, {"seed", "=", strconv.FormatUint(seed, 10)}}}}, nil)
}

func (s jitter) apply(in *Set, a *Account, _ Opener) (*Set, error) {
	if err := in.needsJobs("jitter"); err != nil {
		return nil, err
	}
	out := *in
	instants, _ := timeFields()
	floor := model.Time(0)
	if in.Meta.WarmStart.OK {
		floor = in.Meta.WarmStart.V
	}
	moved := in.edit(a, func(j *traces.Job) bool {
		if j.Submit < floor {
			return true
		}
		src := draw.New(s.seed, jitterStream, uint64(j.ID), 0)
		by := model.Duration(src.IntN(2*int64(s.by)+1)) - s.by
		id := j.ID
		if to := j.Submit.Add(by); to < floor {
			by = floor.Sub(j.Submit)
			a.change("submission held at the beginning", id)
		}
		move(instants, j, by)
		if by != 0 {
			a.change("submission jittered", id)
		}
		return true
	})
	out.Rows = func() iter.Seq2[*traces.Job, error] { return reorder(moved(), s.by) }
	return &out, nil
}
