package scaling

import (
	"encoding/json"
	"math"

	"orrery/sim/stat"
)

// Document is a comparison as programs read it: numbers that are none are null.
type Document struct {
	Name      string           `json:"name"`
	Seeds     int              `json:"seeds"`
	Fluid     bool             `json:"fluid"`
	StepUS    int64            `json:"step_us"`
	LengthUS  int64            `json:"length_us"`
	Requests  float64          `json:"requests"`
	Notes     []string         `json:"notes"`
	Policies  []PolicyDocument `json:"policies"`
	NeedsSum  int64            `json:"needed_replica_steps"` // sum of the needs over the steps, of the first seed
	Confident float64          `json:"confidence"`
	Onset     *OnsetDocument   `json:"onset,omitempty"` // of the shapes step and flash alone
}

// PolicyDocument is one policy in it.
type PolicyDocument struct {
	Name     string            `json:"name"`
	Kind     string            `json:"kind"`
	Start    Range             `json:"start"` // sizes at the beginning, over the seeds and machines
	Won      float64           `json:"won"`
	Measures []MeasureDocument `json:"measures"`
	Rules    []RuleDocument    `json:"rules"` // of the first seed
	Response *ResponseDocument `json:"response,omitempty"`
}

// OnsetDocument is the step that the responses answer.
type OnsetDocument struct {
	AtUS    int64  `json:"at_us"`
	UntilUS int64  `json:"until_us"`
	Before  int64  `json:"need_before"`
	After   int64  `json:"need_after"`
	Reason  string `json:"reason,omitempty"` // why there is none to answer
}

// ResponseDocument is how a policy answered it. Numbers of seeds that did not react are null.
type ResponseDocument struct {
	Reason   string           `json:"reason,omitempty"` // why numbers are null
	Measures []AnswerDocument `json:"measures"`
}

// AnswerDocument is one measure of it, over the seeds that reacted.
type AnswerDocument struct {
	Name  string     `json:"name"`
	Unit  string     `json:"unit"`
	Mean  *float64   `json:"mean"`
	Low   *float64   `json:"low"`
	High  *float64   `json:"high"`
	Seeds []*float64 `json:"seeds"`
}

// MeasureDocument is one measure of a policy.
type MeasureDocument struct {
	Name    string     `json:"name"`
	Unit    string     `json:"unit"`
	Mean    *float64   `json:"mean"` // null where a seed is
	Low     *float64   `json:"low"`
	High    *float64   `json:"high"`
	Seeds   []*float64 `json:"seeds"`
	Against *Against   `json:"against_first,omitempty"`
}

// Against is the paired difference from the first policy.
type Against struct {
	Difference *float64 `json:"difference"`
	Low        *float64 `json:"low"`
	High       *float64 `json:"high"`
	Verdict    string   `json:"verdict"`
}

// RuleDocument is how often a rule fired with a guard.
type RuleDocument struct {
	Rule      string `json:"rule"`
	Guard     string `json:"guard"`
	Proposed  bool   `json:"proposed"`
	Decisions int64  `json:"decisions"`
}

func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func numbers(values []float64) []*float64 {
	out := make([]*float64, len(values))
	for i, v := range values {
		out[i] = number(v)
	}
	return out
}

// Document is the comparison for programs.
func (c *Comparison) Document() Document {
	d := Document{
		Name: c.Name, Seeds: c.Seeds, Fluid: c.Fluid, StepUS: int64(c.Step), LengthUS: int64(c.Length), Requests: c.Requests,
		Notes: append([]string{}, c.Notes...), Confident: stat.Defaults().Confidence,
	}
	if o := c.Onset; o != nil {
		d.Onset = &OnsetDocument{int64(o.At), int64(o.Until), o.Before, o.After, o.Reason}
	}
	for _, n := range c.Needs {
		d.NeedsSum += n
	}
	for i := range c.Policies {
		p := &c.Policies[i]
		x := PolicyDocument{Name: p.Name, Kind: p.Kind, Start: p.Start, Won: p.Won, Rules: []RuleDocument{}}
		for k, m := range c.Measures() {
			y := MeasureDocument{Name: m.Name, Unit: m.Unit, Mean: number(p.Mean[k].Estimate), Low: number(p.Mean[k].Low), High: number(p.Mean[k].High), Seeds: numbers(p.Values[k])}
			if len(p.Against) > 0 {
				a := p.Against[k]
				y.Against = &Against{number(a.Estimate), number(a.Low), number(a.High), p.Verdict(k)}
			}
			x.Measures = append(x.Measures, y)
		}
		for _, r := range p.First.Rules {
			x.Rules = append(x.Rules, RuleDocument{string(r.Rule), string(r.Guard), r.Proposed, r.N})
		}
		if c.Onset != nil {
			x.Response = p.answered()
		}
		d.Policies = append(d.Policies, x)
	}
	return d
}

// answered is how the policy answered the step.
func (p *Policy) answered() *ResponseDocument {
	r := &ResponseDocument{Reason: p.Unanswered}
	for k, m := range ResponseMeasures() {
		a := AnswerDocument{Name: m.Name, Unit: m.Unit, Seeds: p.Answers[k].Seeds}
		if i := p.Answers[k].Mean; i != nil {
			a.Mean, a.Low, a.High = number(i.Estimate), number(i.Low), number(i.High)
		}
		r.Measures = append(r.Measures, a)
	}
	return r
}

// JSON is the document as a file has it.
func (c *Comparison) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(c.Document(), "", "  ")
	return append(text, '\n'), err
}
