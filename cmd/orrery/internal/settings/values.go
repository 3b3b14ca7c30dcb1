package settings

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"orrery/cmd/orrery/internal/cli"
	"orrery/internal/spelling"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/sim/plan"
	"orrery/traces"
)

// orderValue reads the order of the queue. The alias of an order is the order.
func orderValue(spec *plan.Spec) *cli.Parsed {
	return cli.NewParsed("fcfs", "ORDER", func(s string) error {
		o, err := order.Parse(s)
		if err != nil {
			return fmt.Errorf("unknown order%s: want %s", spelling.Hint(s, order.Names()), cli.OneOf(order.Names()))
		}
		spec.Order = o.String()
		return nil
	})

}

// backfillValue reads none, first-fit, easy or conservative[:DEPTH].
func backfillValue(spec *plan.Spec) *cli.Parsed {
	return cli.NewParsed("easy", "RULE", func(s string) error {
		name, depth, given := strings.Cut(s, ":")
		b, err := order.ParseBackfill(name)
		if err != nil {
			return fmt.Errorf("unknown rule%s: want none, first-fit, easy or conservative[:DEPTH]", spelling.Hint(name, order.BackfillNames()))
		}
		spec.Backfill, spec.Depth = b.String(), 0
		if !given {
			return nil
		}
		if b != order.Conservative {
			return fmt.Errorf("%s backfilling has no depth: only conservative[:DEPTH] does", b)
		}
		if spec.Depth, err = strconv.Atoi(depth); err != nil || spec.Depth < 1 {
			return fmt.Errorf("want a depth of 1 or more, such as conservative:50; leave it out to reserve for every job")
		}
		return nil
	})

}

// cycleValue reads event or the time between two passes.
func cycleValue(spec *plan.Spec) *cli.Parsed {
	return cli.NewParsed("event", "event|DUR", func(s string) (err error) {
		if s == "event" {
			spec.Cycle = 0
			return nil
		}
		if spec.Cycle, err = cli.ParseSpan(s); err == nil && spec.Cycle == 0 {
			err = errors.New("want the word event, or a duration above 0 such as 30s")
		}
		return err
	})

}

// missingValue reads what is told of jobs without a request.
func missingValue(spec *plan.Spec) *cli.Parsed {
	return cli.NewParsed("infinite", "infinite|recorded|default:DUR", func(s string) (err error) {
		rule, text, given := strings.Cut(s, ":")
		switch rule {
		case "infinite", "recorded":
			if given {
				return fmt.Errorf("%s takes no duration: only default:DUR does", rule)
			}
			spec.MissingRequest, spec.DefaultRequest = rule, 0
			return nil
		case "default":
			spec.MissingRequest = rule
			if spec.DefaultRequest, err = cli.ParseSpan(text); err == nil && spec.DefaultRequest == 0 {
				err = errors.New("want a default above 0, such as default:12h")
			}
			return err
		}
		return fmt.Errorf("unknown rule%s: want infinite, recorded or default:DUR", spelling.Hint(rule, []string{"infinite", "recorded", "default"}))
	})

}

// warmup is the part of a run before its steady window: a number of jobs, a
// part of them in percent, or a duration.
type warmup struct {
	jobs    int64
	percent float64 // of the jobs, when above 0
	span    model.Duration
}

func (w *warmup) value() *cli.Parsed {
	return cli.NewParsed("1%", "N|DUR|PERCENT%", func(s string) (err error) {
		*w = warmup{}
		if text, ok := strings.CutSuffix(s, "%"); ok {
			w.percent, err = strconv.ParseFloat(text, 64)
			if err != nil || !(w.percent >= 0 && w.percent < 100) {
				return errors.New("want 0% or more and less than 100%")
			}
			return nil
		}
		if w.jobs, err = strconv.ParseInt(s, 10, 64); err == nil {
			if w.jobs < 0 {
				return errors.New("want a number of jobs of 0 or more")
			}
			return nil
		}
		w.jobs = 0
		if w.span, err = cli.ParseSpan(s); err != nil {
			return fmt.Errorf("want a number of jobs, a part of them such as 1%%, or a duration such as 6h")
		}
		return nil
	})

}

// Enter writes the warm-up into a spec. The default of 1 % keeps its own
// spelling there, other parts become a number of the trace's jobs.
func (w *warmup) Enter(spec *plan.Spec, info traces.Info) {
	spec.Warmup, spec.WarmupJobs = w.span, w.jobs
	if w.percent == 1 {
		return
	}
	if w.percent > 0 {
		spec.WarmupJobs = int64(float64(info.Rows) * w.percent / 100)
	}
	if spec.WarmupJobs == 0 && w.span == 0 {
		spec.WarmupJobs = plan.NoWarmup
	}
}
