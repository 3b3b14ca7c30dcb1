package future

import (
	"cmp"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/site/internal/caps"
)

// capLine is what is predicted to be in use of power and bandwidth when: a list of
// spans, each with what is in use throughout it. It is empty on a site without caps.
// Everything but reset costs the spans from the first one touched on.
type capLine struct {
	cap   caps.Usage
	spans []capSpan // ascending; the last one has no end
}

type capSpan struct {
	from model.Time
	used caps.Usage
}

// reset starts anew: so much is in use from now on, for ever.
func (c *capLine) reset(now model.Time, s *caps.State) {
	c.cap, c.spans = s.Cap, c.spans[:0]
	if s.Cap != (caps.Usage{}) {
		c.spans = append(c.spans, capSpan{now, s.Used})
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

// add counts more in over [from, until).
func (c *capLine) add(from, until model.Time, more caps.Usage) {
	for i, end := c.split(from), c.split(until); i < end; i++ {
		c.spans[i].used = c.spans[i].used.Plus(more)
	}
}

// fits says whether the caps leave room for more over all of [from, until).
func (c *capLine) fits(from, until model.Time, more caps.Usage) bool {
	for i := range c.spans {
		ends := i+1 < len(c.spans) && c.spans[i+1].from <= from
		if !ends && c.spans[i].from < until && !c.cap.Allows(more, c.spans[i].used) {
			return false
		}
	}
	return true
}
