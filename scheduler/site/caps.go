package site

import (
	"cmp"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/site/internal/caps"
)

// capLine is what is predicted to be in use of power and bandwidth when: a list of
// spans, each with what is in use throughout it. It goes with the timeline of
// nodes and is empty on a site without caps. Everything but reset costs the spans
// from the first one touched on.
type capLine struct {
	spans []capSpan // ascending; the last one has no end
}

type capSpan struct {
	from model.Time
	used caps.Usage
}

// reset starts anew: so much is in use from now on, for ever. Where there are no
// caps the line stays empty.
func (c *capLine) reset(now model.Time, used caps.Usage, caps bool) {
	c.spans = c.spans[:0]
	if caps {
		c.spans = append(c.spans, capSpan{now, used})
	}
}

// split makes at the beginning of a span, if it lies within the line, and returns
// its index.
func (c *capLine) split(at model.Time) int {
	i, found := slices.BinarySearchFunc(c.spans, at, func(s capSpan, at model.Time) int { return cmp.Compare(s.from, at) })
	if found || i == 0 || at == model.Never {
		return i
	}
	c.spans = slices.Insert(c.spans, i, capSpan{at, c.spans[i-1].used})
	return i
}

// add counts ask in over [from, until), sign times.
func (c *capLine) add(from, until model.Time, ask caps.Usage, sign int64) {
	for i, end := c.split(from), c.split(until); i < end; i++ {
		c.spans[i].used.Power += sign * ask.Power
		c.spans[i].used.Bandwidth += sign * ask.Bandwidth
	}
}

// keepsCaps says whether ask more keeps the caps of l's plan over all of [from,
// until).
func (p *pass) keepsCaps(from, until model.Time, ask caps.Usage) bool {
	spans := p.qs.plans.caps.spans
	for i := range spans {
		ends := i+1 < len(spans) && spans[i+1].from <= from
		if !ends && spans[i].from < until && !p.caps.Cap.Allows(ask, spans[i].used) {
			return false
		}
	}
	return true
}
