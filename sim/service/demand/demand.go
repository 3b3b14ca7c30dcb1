// Package demand is what comes from outside to a service: requests, matches or sessions,
// as they were recorded or as a generator makes them. It never depends on what the service
// can do. It must not know services, their size or policies.
package demand

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"orrery/scheduler/model"
)

// Segment is a span of equal demand: from At to the next one, or to the end.
type Segment struct {
	At   model.Time
	Rate float64 // arrivals per second
	Request
}

// Request is what one arrival is in the mean, as far as it is known; 0 where the service
// says it.
type Request struct {
	Work    model.Duration // on one slot of a replica at speed 1
	WorkCV  float64        // coefficient of variation of that; 0 with a Work is as recorded
	In, Out float64        // tokens read and generated
}

// Single is one arrival, or several at one instant, that were recorded by themselves.
type Single struct {
	At model.Time
	N  int64
	Request
}

// Demand is all that arrives. Segments and singles ascend in time.
type Demand struct {
	Segments []Segment
	Singles  []Single
	Initial  float64    // present at the start already
	End      model.Time // of the last segment, and of the measurement
	Notes    []string   // what was assumed or changed, for the result
}

// validate says what is wrong.
func (d *Demand) validate() error {
	for i := range d.Segments {
		s := &d.Segments[i]
		if !(s.Rate >= 0) || math.IsInf(s.Rate, 0) || s.At < 0 || i > 0 && s.At <= d.Segments[i-1].At {
			return fmt.Errorf("demand %d at %v with %v arrivals per second: want a rate of 0 or more at increasing instants", i, s.At, s.Rate)
		}
	}
	if !slices.IsSortedFunc(d.Singles, func(a, b Single) int { return cmp.Compare(a.At, b.At) }) {
		return fmt.Errorf("single arrivals do not ascend in time")
	}
	if d.End <= 0 {
		return fmt.Errorf("demand ends at %v: want a later instant than its beginning", d.End)
	}
	return nil
}

// Check says what is wrong with a demand.
func (d *Demand) Check() error { return d.validate() }

// Rates are the mean rate in each of the steps up to the end, in arrivals per second, and
// what a request is in it: what needs are computed from. Singles of a step count together.
func (d *Demand) Rates(step model.Duration) []Segment {
	n := int((int64(d.End) + int64(step) - 1) / int64(step))
	out := make([]Segment, n)
	seg, one := 0, 0
	for i := range out {
		from := model.Time(i) * model.Time(step)
		to := min(from.Add(step), d.End)
		out[i].At = from
		width := to.Sub(from).Seconds()
		for k := seg; k < len(d.Segments) && d.Segments[k].At < to; k++ {
			end := d.End
			if k+1 < len(d.Segments) {
				end = d.Segments[k+1].At
			}
			if end <= from {
				seg = k
				continue
			}
			part := min(end, to).Sub(max(d.Segments[k].At, from)).Seconds()
			out[i].Rate += float64(d.Segments[k].Rate * part / width)
			out[i].Request = d.Segments[k].Request
		}
		count, told, in, generated := 0.0, 0.0, 0.0, 0.0
		for ; one < len(d.Singles) && d.Singles[one].At < to; one++ {
			s := &d.Singles[one]
			k := float64(s.N)
			if count += k; s.In > 0 || s.Out > 0 { // of others it is not known
				told, in, generated = told+k, in+float64(k*s.In), generated+float64(k*s.Out)
			}
			out[i].Request = s.Request
		}
		if count > 0 {
			out[i].Rate += count / width
			out[i].In, out[i].Out = 0, 0
			if told > 0 {
				out[i].In, out[i].Out = in/told, generated/told
			}
		}
	}
	return out
}

// Scaled is the demand with so many times the arrivals. Singles, which are whole, are
// scaled by whole numbers alone.
func (d *Demand) Scaled(factor float64) (*Demand, error) {
	if !(factor > 0) || math.IsInf(factor, 0) {
		return nil, fmt.Errorf("scale %v: want more than 0", factor)
	}
	if len(d.Singles) > 0 && factor != math.Trunc(factor) {
		return nil, fmt.Errorf("scale %v: single requests are multiplied by whole numbers only", factor)
	}
	out := *d
	out.Segments, out.Singles = slices.Clone(d.Segments), slices.Clone(d.Singles)
	for i := range out.Segments {
		out.Segments[i].Rate = float64(factor * out.Segments[i].Rate)
	}
	for i := range out.Singles {
		out.Singles[i].N *= int64(factor)
	}
	out.Initial = float64(factor * d.Initial)
	out.Notes = append(slices.Clone(d.Notes), fmt.Sprintf("arrivals are multiplied by %v", factor))
	return &out, nil
}

// Window is the part of the demand within a span, with its beginning as the new zero.
func (d *Demand) Window(from model.Time, length model.Duration) (*Demand, error) {
	to := d.End
	if length > 0 {
		to = min(to, from.Add(length))
	}
	if from < 0 || to <= from {
		return nil, fmt.Errorf("a window from %v for %v: the demand ends at %v", from, length, d.End)
	}
	out := &Demand{End: to - from, Notes: slices.Clone(d.Notes), Initial: d.Initial}
	for i, s := range d.Segments {
		end := d.End
		if i+1 < len(d.Segments) {
			end = d.Segments[i+1].At
		}
		if end <= from || s.At >= to {
			continue
		}
		s.At = max(s.At, from) - from
		out.Segments = append(out.Segments, s)
	}
	for _, s := range d.Singles {
		if s.At >= from && s.At < to {
			s.At -= from
			out.Singles = append(out.Singles, s)
		}
	}
	if from > 0 && d.Initial > 0 { // those present then are, in the mean, those that came within a lifetime
		out.Initial = 0
		if len(out.Segments) > 0 {
			out.Initial = float64(out.Segments[0].Rate * out.Segments[0].Work.Seconds())
		}
	}
	return out, nil
}
