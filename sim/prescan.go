package sim

import (
	"context"
	"errors"
	"fmt"
	"io"

	"orrery/scheduler/model"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// InfeasibleError lists jobs that can never run, under the policy error.
type InfeasibleError struct {
	Count int64
	IDs   []int64 // the first few
}

// Error names them.
func (e *InfeasibleError) Error() string {
	return fmt.Sprintf("%d jobs can never run on this cluster (first ids: %d): give a larger cluster, or have them refused at submission (--infeasible reject, or infeasible: reject in an experiment)", e.Count, e.IDs)
}

// prescan reads the trace once: it finds the last submission, the last instant that a row
// of a site tells of and, under the policy error, the jobs that can never run.
func prescan(ctx context.Context, p *plan.Resolved, open func() (traces.Source, error)) (last, horizon model.Time, err error) {
	src, err := open()
	if err != nil {
		return 0, 0, err
	}
	defer src.Close()
	var w stage
	if p.Strict {
		own := p.OwnSite()
		_, w = newStage(&own, Options{Sink: record.Null{}}, src.Users)
	}
	last = model.AbsentTime
	b := newBatch(p)
	switch {
	case w != nil: // it looks at whole rows
	case p.Site != nil:
		b.Only = plan.LastInstantColumns
	default:
		b.Only = []string{"submit"}
	}
	for {
		if err := src.Next(&b); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		for i := range b.Len() {
			last = max(last, b.Submit[i])
			if p.Site != nil {
				horizon = max(horizon, plan.LastInstant(&b, i))
			}
			if w != nil {
				if err := w.inspect(&b, i); err != nil {
					return 0, 0, err
				}
			}
		}
	}
	if w != nil {
		if a := w.awkward(); a.Count[translate.RuleTooLarge] > 0 {
			return 0, 0, &InfeasibleError{a.Count[translate.RuleTooLarge], a.Examples[translate.RuleTooLarge]}
		}
	}
	return last, horizon, nil
}
