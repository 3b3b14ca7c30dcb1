package format

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/localtime"
)

// Moment is one of the instants of a row. The zero value is none.
type Moment struct {
	reading localtime.Reading
	clock   *Clock // nil of an instant that is no text
	known   bool
}

// MomentAt is an instant that needs no zone.
func MomentAt(at traces.Opt[model.Time]) Moment {
	return Moment{reading: localtime.Known(at.V), known: at.OK}
}

// Moment reads an instant in words, none when there is none. Rules name what was not plain.
func (c *Clock) Moment(text string) (m Moment, rules []string, needZone, ok bool) {
	r, rules, needZone, ok := c.read(text)
	return Moment{reading: r, clock: c, known: ok}, rules, needZone, ok
}

// Moment is the instant in words of a column, none when there is none.
func (c *Cells) Moment(k int, clock *Clock) Moment {
	if c.Err != nil || !c.Has(k) {
		return Moment{}
	}
	m, rules, needZone, ok := clock.Moment(c.Fields[c.At[k]])
	if !ok {
		c.Err = noInstant(c.Row, c.At[k], needZone)
	}
	for _, rule := range rules {
		c.Repair(rule)
	}
	return m
}

// Is says that the moment is that instant, if it may be.
func (m *Moment) Is(at model.Time) {
	if m.known && slices.Contains(m.reading.At[:m.reading.N], at) && m.reading.How != localtime.Skipped {
		m.reading = localtime.Known(at)
	}
}

// At is the instant, null when there is none.
func (m *Moment) At() traces.Opt[model.Time] {
	return traces.Opt[model.Time]{V: m.reading.Instant(), OK: m.known}
}

// Moments decides the moments of a row, which came one after the other, and answers under which rules. Elapsed, if it is
// known, is the time between the last two, such as start and end. Each clock reads one of them.
func Moments(elapsed traces.Opt[model.Duration], row ...*Moment) (rules []string) {
	open := false
	chain := make([]localtime.Link, 0, 8)
	for i, m := range row {
		if !m.known {
			continue
		}
		link := localtime.Link{Reading: m.reading}
		if i > 0 && i == len(row)-1 && row[i-1].known {
			link.Elapsed, link.Timed = elapsed.V, elapsed.OK
		}
		open = open || m.reading.How != localtime.Plain
		chain = append(chain, link)
	}
	if open {
		localtime.Narrow(chain)
	}
	k := 0
	for _, m := range row {
		if !m.known {
			continue
		}
		if m.clock != nil {
			chain[k].Reading = m.clock.ordered(chain[k].Reading)
		}
		k++
	}
	if !open {
		return nil
	}
	localtime.Narrow(chain)
	localtime.Settle(chain)
	k = 0
	for _, m := range row {
		if !m.known {
			continue
		}
		m.reading = chain[k].Reading
		if rule := m.reading.How.Rule(); rule != "" && !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
		k++
	}
	return rules
}

// Decide decides the moments of the row, see Moments.
func (c *Cells) Decide(elapsed traces.Opt[model.Duration], row ...*Moment) {
	for _, rule := range Moments(elapsed, row...) {
		c.Repair(rule)
	}
}
