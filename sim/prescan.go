package sim

import (
	"context"
	"errors"
	"io"

	"orrery/scheduler/model"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/traces"
)

// scan is what a look at all rows before a replay tells.
type scan struct {
	last     model.Time // submission
	horizon  model.Time // the last instant that a row of a site tells of
	unheeded []plan.Unheeded
	beyond   bool           // which has to be allowed
	held     []plan.Ignored // more at once than there is
	gpus     int64          // rows that ask for GPUs on a cluster without any
}

// prescan reads the trace once. It refuses a replay that would leave too much of what the
// rows ask for unmet: every run comes by here.
//
// With recorded it also looks at what jobs held at once in the log.
func prescan(ctx context.Context, p *plan.Resolved, open func() (traces.Source, error), recorded bool) (s scan, err error) {
	src, err := open()
	if err != nil {
		return s, err
	}
	defer src.Close()
	own := p.OwnSite()
	_, w := newStage(&own, Options{Sink: record.Null{}}, src.Users)
	judge := p.Judge(src.Info())
	var held traces.Peaks
	recorded = recorded && src.Info().Sorted
	s.last = model.AbsentTime
	b := newBatch(p)
	b.Past = nil       // it asks for requests alone
	if p.Site == nil { // a site looks at whole rows
		var attributes bool
		if b.Only, attributes = judge.Columns(); attributes {
			b.Attr = &traces.Attributes{}
		}
	}
	for {
		if err := src.Next(&b); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return s, err
		}
		if err := ctx.Err(); err != nil {
			return s, err
		}
		for i := range b.Len() {
			if p.LeavesOut(b.First + model.JobID(i)) {
				continue
			}
			s.last = max(s.last, b.Submit[i])
			if p.Site != nil {
				s.horizon = max(s.horizon, plan.LastInstant(&b, i))
			}
			tooLarge, err := w.inspect(&b, i)
			if err != nil {
				return s, err
			}
			judge.Row(&b, i, tooLarge)
			if start, ran := b.Start[i], b.Runtime[i]; recorded && start != model.AbsentTime && ran != model.AbsentDuration {
				held.Add(b.Submit[i], start, start.Add(ran), b.Held(i))
			}
		}
	}
	held.Finish()
	s.held = p.Beyond(&held)
	s.gpus = judge.IgnoredGPUs()
	if s.unheeded, s.beyond = judge.Unheeded(w.lacking()); s.beyond && !p.Spec.AllowUnheeded {
		return s, &plan.UnheededError{Trace: src.Info().Name, Strict: p.Strict, Found: s.unheeded}
	}
	return s, nil
}
