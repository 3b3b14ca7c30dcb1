package scaling

import (
	"fmt"
	"math"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/metric/elastic"
	"orrery/sim/service"
	"orrery/sim/service/demand"
	"orrery/sim/stat"
)

// Onset is the step of a demand that policies answer: of a step its first one, of a flash
// crowd that it comes. Noise is left out of it.
type Onset struct {
	At, Until     model.Time // Until the demand is back by half
	Before, After int64      // needs
	Reason        string     // why there is nothing to answer
}

// Answer is one measure of the responses.
type Answer struct {
	Seeds []*float64     // nil where the size did not react
	Mean  *stat.Interval // over the others; nil without one
}

// ResponseMeasures are the measures of the response to a step.
func ResponseMeasures() []Measure {
	return []Measure{
		{"reaction", "s", "until the size moves in the direction of the step", stat.Lower, false},
		{"overshoot", "replicas", "most beyond the new need", stat.Lower, false},
		{"settling", "s", "until the size stays where it ends", stat.Lower, false},
	}
}

// onsetOf is the step of the demand of a file; nil where its shape has none.
func onsetOf(s *profiles.Scaling, c *service.Config) (*Onset, error) {
	if shape := s.Demand.Shape; shape != "step" && shape != "flash" {
		return nil, nil
	}
	plain := *s
	plain.Demand.Noise = 0
	d, err := demandOf(&plain, nil, 0)
	if err != nil {
		return nil, err
	}
	base, peak := float64(s.Demand.Base*s.Demand.Scale), 0 // of the segments
	for i := range d.Segments {
		if math.Abs(d.Segments[i].Rate-base) > math.Abs(d.Segments[peak].Rate-base) {
			peak = i
		}
	}
	if d.Segments[0].Rate != base {
		return &Onset{Reason: "the demand begins with the step: want at of more than 0"}, nil
	}
	if peak == 0 {
		return &Onset{Reason: "the demand ends before its step, or the step has no height"}, nil
	}
	o := &Onset{At: d.Segments[1].At, Until: d.End}
	height := d.Segments[peak].Rate - base
	for _, x := range d.Segments[peak:] {
		if math.Abs(x.Rate-base) <= math.Abs(height)/2 {
			o.Until = x.At
			break
		}
	}
	two := &demand.Demand{Segments: []demand.Segment{{Rate: base}, {At: model.Time(c.Step), Rate: d.Segments[peak].Rate}}, End: model.Time(2 * c.Step)}
	needs := service.Needs(c, two)
	if o.Before, o.After = needs[0], needs[1]; o.Before == o.After {
		o.Reason = fmt.Sprintf("the need is %d before and after the step", o.Before)
	}
	return o, nil
}

// sampled bounds the samples of a response: beyond it they are farther apart than a second.
const sampled = 100_000

// series are the need and the size that serves: one sample of before the step, then one for
// each second from it on.
func (o *Onset) series(sizes []service.Size) elastic.Series {
	length := o.Until.Sub(o.At)
	step := model.Second * ((length-1)/(sampled*model.Second) + 1)
	n := 1 + int((length+step-1)/step)
	s := elastic.Series{Step: step, Demand: make([]float64, n), Supply: make([]float64, n)}
	next, size := 0, int64(0)
	for i := range n {
		until, need := o.At-1, o.Before
		if i > 0 {
			until, need = o.At.Add(model.Duration(i-1)*step), o.After
		}
		for next < len(sizes) && sizes[next].At <= until {
			size = sizes[next].N
			next++
		}
		s.Demand[i], s.Supply[i] = float64(need), float64(size)
	}
	return s
}

// answer adds how a run answered the step.
func (p *Policy) answer(o *Onset, sizes []service.Size) error {
	if p.Answers == nil {
		p.Answers = make([]Answer, len(ResponseMeasures()))
	}
	values := make([]*float64, len(p.Answers))
	if o.Reason == "" {
		r, err := elastic.Respond(o.series(sizes), 1)
		if err != nil {
			return err
		}
		if r.Reaction != elastic.Never {
			reaction, settling := r.Reaction.Seconds(), r.Settling.Seconds()
			values = []*float64{&reaction, &r.Overshoot, &settling}
		}
	}
	for k := range p.Answers {
		p.Answers[k].Seeds = append(p.Answers[k].Seeds, values[k])
	}
	return nil
}

// sumUp computes the means over the seeds that reacted, and says why others have none.
func (p *Policy) sumUp(o *Onset, settings stat.Settings) error {
	silent := 0
	for k := range p.Answers {
		a := &p.Answers[k]
		var values []float64
		for _, v := range a.Seeds {
			if v != nil {
				values = append(values, *v)
			}
		}
		if silent = len(a.Seeds) - len(values); len(values) == 0 {
			continue
		}
		mean, err := settings.Independent(values)
		if err != nil {
			return err
		}
		a.Mean = &mean
	}
	switch seeds := len(p.Answers[0].Seeds); {
	case o.Reason != "":
		p.Unanswered = o.Reason
	case silent == seeds:
		p.Unanswered = "the size never moved in the direction of the step"
	case silent > 0:
		p.Unanswered = fmt.Sprintf("in %d of %d seeds the size never moved in the direction of the step", silent, seeds)
	}
	return nil
}
