package metric

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"orrery/scheduler/model"
	"orrery/sim/record/column"
)

// ComputeParts reduces the jobs and the series of a finished run to a table for
// each of several parts of it, which may overlap: the jobs submitted in the part,
// whenever they left, and the state of the system from its begin to its end. All
// numbers are of the window Steady, as those of one run over that part alone would
// be; metrics of the window All alone are missing. The bounds of the parts must be
// among Config.Marks, and the run must have come that far or have nothing left to do. Cost and memory are those
// of Compute, and some 10 kB a part.
func ComputeParts(jobs column.Scanner, s *Series, parts []Span) ([]Table, error) {
	s.catchUp()
	if s.cur.BusyUnits == 0 && s.cur.QueuedJobs == 0 { // what lies behind an empty end adds nothing but the power of idle nodes
		if n := len(s.cfg.Marks); n > 0 && s.cfg.Power != nil {
			s.advance(max(s.seen, s.cfg.Marks[n-1]))
		}
		s.passMarks(model.Never)
	}
	in := &keyBudget{left: keptKeys}
	windows := make([]*reduction, len(parts))
	for i, p := range parts {
		r, err := s.part(p, in)
		if err != nil {
			return nil, err
		}
		windows[i] = r
	}
	at, demand := newCells(parts), newDemands(parts)
	err := s.firstPass(jobs, func(o *observation) {
		in := at.holding(model.Time(o.submit))
		for _, i := range in {
			windows[i].add(o)
		}
		demand.add(o, in)
		if !o.ended {
			return
		}
		for _, i := range at.holding(model.Time(o.end)) {
			windows[i].endedIn++
		}
	})
	if err != nil {
		return nil, err
	}
	demand.close()
	for _, r := range windows {
		r.site.closeCells()
	}
	for more := narrow(windows); more; more = narrow(windows) {
		if err := s.nextPass(jobs, windows); err != nil {
			return nil, err
		}
	}
	out := make([]Table, len(parts))
	for i, r := range windows {
		out[i] = Table{Schema: TableSchema, Verdict: Unknown}
		if r.started > 0 {
			out[i].Verdict = s.verdict(&demand.list[i])
		}
		if q, ok := s.quartersOf(parts[i].From, parts[i].To); ok && r.started > 0 {
			r.growth = new(big.Rat).Sub(q[3], q[0])
		}
		out[i].Metrics, out[i].Groups = r.metrics(), r.groups()
	}
	return out, nil
}

// part is the reduction of a part of the run, with what the series knows of it.
func (s *Series) part(p Span, in *keyBudget) (*reduction, error) {
	from, ok := s.markAt(p.From)
	to, reached := s.markAt(p.To)
	if !ok || !reached || p.To <= p.From {
		return nil, fmt.Errorf("metric: measuring the part from %s to %s, whose bounds are not two marks that the run has reached, one after the other", p.From, p.To)
	}
	r := newReduction(Steady, in)
	r.power = s.cfg.Power
	r.open, r.from, r.to, r.units = true, int64(p.From), int64(p.To)-1, s.cfg.Units
	a, b := &s.marks[from], &s.marks[to]
	over := b.total.minus(&a.total)
	over.queuedMax = 0
	for k := from + 1; k <= to; k++ {
		over.queuedMax = max(over.queuedMax, s.marks[k].max)
	}
	r.close(over, int64(p.From), int64(p.To))
	if s.cfg.Site == nil {
		return r, nil
	}
	r.site = newSiteSums(s.cfg.Site, in)
	held := make([]held, len(b.held))
	for i := range held {
		held[i] = b.held[i].minus(a.held[i])
	}
	r.site.hold(held)
	if s.services != nil {
		r.serve(within(s.services, p.From, p.To))
	}
	return r, nil
}

// markAt is the place of a mark that was passed.
func (s *Series) markAt(t model.Time) (int, bool) {
	return slices.BinarySearchFunc(s.marks, t, func(m mark, t model.Time) int { return cmp.Compare(m.at, t) })
}

// MarksOf are the bounds of parts, ascending, each once: what Config.Marks must
// have for them.
func MarksOf(parts []Span) []model.Time {
	var out []model.Time
	for _, p := range parts {
		out = append(out, p.From, p.To)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// cells are the stretches between the bounds of parts, with the parts that hold
// each.
type cells struct {
	bounds []model.Time // of cell i: from bounds[i-1], up to before bounds[i]
	parts  [][]int
}

func newCells(parts []Span) *cells {
	c := &cells{bounds: MarksOf(parts)}
	c.parts = make([][]int, len(c.bounds)+1)
	for i, p := range parts {
		from, _ := slices.BinarySearch(c.bounds, p.From)
		to, _ := slices.BinarySearch(c.bounds, p.To)
		for k := from + 1; k <= to; k++ {
			c.parts[k] = append(c.parts[k], i)
		}
	}
	return c
}

// holding are the parts that hold an instant.
func (c *cells) holding(t model.Time) []int {
	i, found := slices.BinarySearch(c.bounds, t)
	if found {
		i++
	}
	return c.parts[i]
}
