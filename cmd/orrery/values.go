package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"orrery/internal/spelling"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/sim/plan"
	"orrery/traces"
)

// parsed is a flag whose text a function turns into fields of a spec. It keeps
// the text, for verify to pass on and for --print-config to show.
type parsed struct {
	text  string
	kind  string // what help shows for the value
	parse func(string) error
}

// newParsed is a flag that reads text at first; kind is what help shows for its value.
func newParsed(text, kind string, parse func(string) error) *parsed {
	return &parsed{text, kind, parse}
}

// Set implements pflag.Value.
func (p *parsed) Set(s string) error {
	s = strings.TrimSpace(s)
	if err := p.parse(s); err != nil {
		return err
	}
	p.text = s
	return nil
}

// String implements pflag.Value.
func (p *parsed) String() string { return p.text }

// Type implements pflag.Value.
func (p *parsed) Type() string { return p.kind }

// span returns a value that reads a duration of at least 0.
func span(d *model.Duration, text string) *parsed {
	return newParsed(text, "DUR", func(s string) (err error) {
		*d, err = parseSpan(s)
		return err
	})

}

// sizeValue returns a value that reads a number of bytes of at least 4 KiB, with its unit.
func sizeValue(n *int64) *parsed {
	return newParsed(fmt.Sprintf("%dMiB", *n>>20), "SIZE", func(s string) error {
		size, err := profiles.ParseBytes(s)
		if err == nil && (size < 4<<10 || size > 4<<30) {
			err = fmt.Errorf("want 4KiB to 4GiB")
		}
		if err == nil {
			*n = int64(size)
		}
		return err
	})

}

func parseSpan(s string) (model.Duration, error) {
	d, err := model.ParseDuration(s)
	if err == nil && (d < 0 || d == model.Forever) {
		err = fmt.Errorf("want a duration that is finite and not negative, such as 90s or 1h30m")
	}
	return d, err
}

// orderValue reads the order of the queue. The alias of an order is the order.
func orderValue(spec *plan.Spec) *parsed {
	return newParsed("fcfs", "ORDER", func(s string) error {
		o, err := order.Parse(s)
		if err != nil {
			return fmt.Errorf("unknown order%s: want %s", spelling.Hint(s, order.Names()), oneOf(order.Names()))
		}
		spec.Order = o.String()
		return nil
	})

}

// backfillValue reads none, first-fit, easy or conservative[:DEPTH].
func backfillValue(spec *plan.Spec) *parsed {
	return newParsed("easy", "RULE", func(s string) error {
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
func cycleValue(spec *plan.Spec) *parsed {
	return newParsed("event", "event|DUR", func(s string) (err error) {
		if s == "event" {
			spec.Cycle = 0
			return nil
		}
		if spec.Cycle, err = parseSpan(s); err == nil && spec.Cycle == 0 {
			err = errors.New("want the word event, or a duration above 0 such as 30s")
		}
		return err
	})

}

// missingValue reads what is told of jobs without a request.
func missingValue(spec *plan.Spec) *parsed {
	return newParsed("infinite", "infinite|recorded|default:DUR", func(s string) (err error) {
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
			if spec.DefaultRequest, err = parseSpan(text); err == nil && spec.DefaultRequest == 0 {
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

func (w *warmup) value() *parsed {
	return newParsed("1%", "N|DUR|PERCENT%", func(s string) (err error) {
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
		if w.span, err = parseSpan(s); err != nil {
			return fmt.Errorf("want a number of jobs, a part of them such as 1%%, or a duration such as 6h")
		}
		return nil
	})

}

// enter writes the warm-up into a spec. The default of 1 % keeps its own
// spelling there, other parts become a number of the trace's jobs.
func (w *warmup) enter(spec *plan.Spec, info traces.Info) {
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
