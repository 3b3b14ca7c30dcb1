// Package scaling compares scaling policies on one service: every policy runs with each of
// several seeds under the same demand, and the others are compared with the first, seed by
// seed. It must not know files beyond the decoded scaling file, flags, or how results are
// shown.
package scaling

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"orrery/autoscale"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/metric/elastic"
	"orrery/sim/service"
	"orrery/sim/service/demand"
	"orrery/sim/service/vm"
	"orrery/sim/stat"
)

// Measure is one figure of a run.
type Measure struct {
	Name, Unit string
	Says       string // in words
	Better     stat.Direction
	Unranked   bool // neither more nor less of it is better
}

// Measures are the figures of each run, in the order of Values.
func Measures() []Measure {
	return []Measure{
		{"missed", "%", "requests late or lost", stat.Lower, false},
		{"lost", "%", "requests that got no service", stat.Lower, false},
		{"open", "%", "requests that still waited at the end", stat.Lower, false},
		{"bad_intervals", "%", "steps in which the goal was missed", stat.Lower, false},
		{"latency_p50", "s", "median of what the goal limits", stat.Lower, false},
		{"latency_p95", "s", "95th percentile of it", stat.Lower, false},
		{"latency_p99", "s", "99th percentile of it", stat.Lower, false},
		{"cost", "1", "price times charged hours", stat.Lower, false},
		{"charged", "h", "replica hours charged, with starts and drains", stat.Lower, false},
		{"used", "h", "replica hours that served", stat.Lower, false},
		{"utilisation", "%", "of what served", stat.Higher, false},
		{"theta_under", "%", "mean lack relative to the need", stat.Lower, false},
		{"theta_over", "%", "mean surplus relative to the need", stat.Lower, false},
		{"tau_under", "%", "time with too little", stat.Lower, false},
		{"tau_over", "%", "time with too much", stat.Lower, false},
		{"instability", "%", "steps in which size and need went different ways", stat.Lower, false},
		{"deviation", "%", "distance from perfect elasticity", stat.Lower, false},
		{"jitter", "1/h", "changes of size beyond those of the need", stat.Lower, true},
		{"changes", "1", "changes of size that were made", stat.Lower, false},
		{"reversals", "1", "changes of direction", stat.Lower, false},
	}
}

// valuesOf are the figures of one run.
func valuesOf(o *service.Outcome, v *elastic.Values) []float64 {
	share := func(part, whole float64) float64 {
		if whole == 0 {
			return 0
		}
		return float64(100 * part / whole)
	}
	at := func(p float64) float64 {
		if d, known := o.Latency.Percentile(p); known {
			return d.Seconds()
		}
		return math.NaN()
	}
	return []float64{
		float64(100 * o.Missed()), share(o.Lost(), o.Requests), share(o.Open, o.Requests), share(float64(o.Bad), float64(o.Intervals)), at(0.5), at(0.95), at(0.99),
		o.Cost, o.Charged, o.Used, share(o.Busy, o.Used),
		v.UnderPct, v.OverPct, v.UnderTimePct, v.OverTimePct, v.InstabilityPct, v.DeviationPct, v.JitterPerHour, float64(o.Ups + o.Downs), float64(v.Reversals),
	}
}

// Decision is one of the log: of the first seed, when a change was wanted.
type Decision struct {
	At       model.Time
	Machine  int // from 1, of virtual machines; else 0
	Size     int64
	Rule     autoscale.Rule
	Guard    autoscale.Guard
	Would    string // what was wanted, in words
	Proposed bool
	Repeated int64 // decisions after it that were the same
}

// Policy is what came of one policy.
type Policy struct {
	Name, Kind string
	Start      Range           // sizes that it began with, over the seeds and machines
	Values     [][]float64     // by measure and seed
	Mean       []stat.Interval // by measure, over the seeds
	Against    []stat.Interval // difference from the first policy, by measure; none of the first
	Won        float64         // share of the comparisons with the others, over the five elasticity metrics, that it won

	Answers    []Answer // to the step of the demand, by measure of ResponseMeasures; none without a step
	Unanswered string   // why seeds, or all, have none

	First     service.Outcome // of the first seed, with its timeline
	Machines  *vm.Outcome     // of the first seed on virtual machines, else nil
	Decisions []Decision      // of the first seed
	Left      int64           // decisions that the log has no room for
}

// Range is the least and the most of some numbers.
type Range struct {
	Least int64 `json:"least"`
	Most  int64 `json:"most"`
}

// String is the number, or both.
func (r Range) String() string {
	if r.Least == r.Most {
		return strconv.FormatInt(r.Least, 10)
	}
	return fmt.Sprintf("%d to %d", r.Least, r.Most)
}

// started notes the size that a run begins with.
func (p *Policy) started(seed int, n int64) {
	if seed == 0 && p.Start == (Range{}) {
		p.Start = Range{n, n}
	}
	p.Start = Range{min(p.Start.Least, n), max(p.Start.Most, n)}
}

// Comparison is all of it.
type Comparison struct {
	Name        string
	Description string
	Seeds       int
	Fluid       bool
	Step        model.Duration
	Missable    float64 // share of the requests that may be missed
	Length      model.Duration
	Requests    float64 // of the first seed
	Notes       []string
	Needs       []int64   // of the first seed, by step: the smallest size whose steady state meets the goal
	Onset       *Onset    // nil where the demand has no step
	Machines    *Machines // nil where the service has replicas
	Policies    []Policy

	needs []int64 // of the demand that comes last
	last  *demand.Demand
}

// Measures are those of the policies.
func (c *Comparison) Measures() []Measure {
	if c.Machines != nil {
		return MachineMeasures()
	}
	return Measures()
}

// Run compares the policies of a file. recorded is the demand that it names, nil where it
// has a shape. progress is told of each run that is done.
func Run(ctx context.Context, s *profiles.Scaling, recorded *demand.Demand, progress func(done, all int)) (*Comparison, error) {
	if err := Check(s); err != nil {
		return nil, err
	}
	c := &Comparison{Name: s.Name, Description: s.Description, Seeds: int(s.Seeds), Step: s.Step, Missable: 1 - s.Service.Goal.Share}
	if s.Service.Kind == "machines" {
		c.Machines = &Machines{Count: int(s.Machines.Count), Nodes: nodeUnits(&s.Machines)}
	}
	for _, p := range s.Policies {
		c.Policies = append(c.Policies, Policy{Name: p.Name, Kind: p.Kind, Values: make([][]float64, len(c.Measures()))})
	}
	for seed := range int(s.Seeds) {
		d, err := demandOf(s, recorded, uint64(seed+1))
		if err != nil {
			return nil, err
		}
		one, err := c.seed(s, seed, d)
		if err != nil {
			return nil, err
		}
		for i := range s.Policies {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := one(i); err != nil {
				return nil, err
			}
			progress(seed*len(s.Policies)+i+1, int(s.Seeds)*len(s.Policies))
		}
	}
	return c, c.finish()
}

// seed prepares what the policies have in common with a seed, and returns what runs one.
func (c *Comparison) seed(s *profiles.Scaling, seed int, d *demand.Demand) (one func(i int) error, err error) {
	if seed == 0 {
		c.Notes, c.Length = d.Notes, model.Duration(d.End)
	}
	if c.Machines != nil {
		demands, err := divided(s, d, uint64(seed+1))
		return func(i int) error { return c.runMachines(s, i, seed, demands) }, err
	}
	config := configOf(s, d)
	config.Draws.Seed = uint64(seed + 1)
	if d != c.last { // the needs of one recorded demand are those of all seeds
		c.needs, c.last = service.Needs(&config, d), d
		if err := tooLarge(s, &config, d, c.needs); err != nil {
			return nil, err
		}
	}
	if seed == 0 {
		c.Needs, c.Fluid = c.needs, config.Fluid
		if c.Onset, err = onsetOf(s, &config); err != nil {
			return nil, err
		}
	}
	return func(i int) error { return c.one(s, i, seed, d, config, c.needs) }, nil
}

// one runs a policy with a seed.
func (c *Comparison) one(s *profiles.Scaling, i, seed int, d *demand.Demand, config service.Config, needs []int64) error {
	p := &c.Policies[i]
	var watch service.Observer
	if seed == 0 {
		watch = p.log
	}
	config.Supply.Start = start(s, &s.Policies[i], &config.Supply, needs)
	p.started(seed, config.Supply.Start)
	out, err := outcomeOf(s, i, seed, d, config, needs, watch)
	if err != nil {
		return err
	}
	values, err := elastic.Measure(seriesOf(out, needs))
	if err != nil {
		return err
	}
	for k, v := range valuesOf(out, &values) {
		p.Values[k] = append(p.Values[k], v)
	}
	if seed == 0 {
		p.First, c.Requests = *out, out.Requests
	}
	if c.Onset != nil {
		return p.answer(c.Onset, out.Sizes)
	}
	return nil
}

// outcomeOf runs the service of a file with policy i, from the size that config says.
func outcomeOf(s *profiles.Scaling, i, seed int, d *demand.Demand, config service.Config, needs []int64, watch service.Observer) (out *service.Outcome, err error) {
	if p := &s.Policies[i]; ownFleet(p) {
		if out, err = fleet(p, &config, d, watch); err != nil {
			err = s.Wrong(fmt.Sprintf("policies[%d]", i), "%v", err)
		}
		return out, err
	}
	r, err := build(s, i, config, needs, uint64(seed+1))
	if err != nil {
		return nil, err
	}
	sim, err := service.New(r.config, d, r.policy, watch)
	if err == nil {
		out, err = sim.Run()
	}
	if err != nil {
		return nil, s.Wrong("service", "%v", err)
	}
	return out, nil
}

// seriesOf are the need and the supply at the steps.
func seriesOf(o *service.Outcome, needs []int64) elastic.Series {
	n := min(len(o.Timeline), len(needs))
	s := elastic.Series{Step: o.Step, Demand: make([]float64, n), Supply: make([]float64, n)}
	for i := range n {
		s.Demand[i], s.Supply[i] = float64(needs[i]), float64(o.Timeline[i].Supply)
	}
	return s
}

// mostLogged bounds the log of decisions.
const mostLogged = 5000

// log keeps a decision that wanted a change, once for as long as it stays the same.
func (p *Policy) log(now model.Time, d *autoscale.Decision, size int64) {
	if d.Would.Verb == autoscale.Stay || d.Would.Verb == autoscale.SetReplicas && d.Would.N == size {
		return
	}
	x := Decision{At: now, Size: size, Rule: d.Rule, Guard: d.Guard, Would: wanted(&d.Would, size), Proposed: d.Proposed()}
	if n := len(p.Decisions); n > 0 && !x.Proposed {
		if last := &p.Decisions[n-1]; last.Size == x.Size && last.Rule == x.Rule && last.Guard == x.Guard && last.Would == x.Would && !last.Proposed {
			last.Repeated++
			return
		}
	}
	if len(p.Decisions) == mostLogged {
		p.Left++
		return
	}
	p.Decisions = append(p.Decisions, x)
}

// finish computes means, intervals and comparisons.
func (c *Comparison) finish() error {
	settings := stat.Defaults()
	for i := range c.Policies {
		p := &c.Policies[i]
		for k := range p.Values {
			mean, err := settings.Independent(p.Values[k])
			if err != nil {
				return err
			}
			p.Mean = append(p.Mean, mean)
			if i == 0 {
				continue
			}
			differences := make([]float64, len(p.Values[k]))
			for seed, v := range p.Values[k] {
				differences[seed] = v - c.Policies[0].Values[k][seed]
			}
			against, err := settings.Independent(differences)
			if err != nil {
				return err
			}
			p.Against = append(p.Against, against)
		}
		if c.Onset != nil {
			if err := p.sumUp(c.Onset, settings); err != nil {
				return err
			}
		}
	}
	c.pairs()
	return nil
}

// pairs counts the comparisons that each policy wins: ties count half.
func (c *Comparison) pairs() {
	if len(c.Policies) < 2 {
		return
	}
	names := map[string]bool{"theta_under": true, "theta_over": true, "tau_under": true, "tau_over": true, "instability": true}
	for i := range c.Policies {
		won, all := 0.0, 0.0
		for k, m := range c.Measures() {
			if !names[m.Name] {
				continue
			}
			for j := range c.Policies {
				if i == j {
					continue
				}
				all++
				switch a, b := c.Policies[i].Mean[k].Estimate, c.Policies[j].Mean[k].Estimate; {
				case a < b:
					won++
				case a == b:
					won += 0.5
				}
			}
		}
		c.Policies[i].Won = won / all
	}
}

// measures are those of the policy.
func (p *Policy) measures() []Measure {
	if p.Machines != nil {
		return MachineMeasures()
	}
	return Measures()
}

// Verdict says whether a policy is better than the first by a measure: "better", "worse",
// "no difference" where all seeds agree, "no evidence", or "not known" where a seed has no
// such figure.
func (p *Policy) Verdict(k int) string {
	if k >= len(p.Against) {
		return ""
	}
	d, m := p.Against[k], p.measures()[k]
	gain := m.Better.Gain(d.Estimate)
	switch {
	case m.Unranked:
		return ""
	case math.IsNaN(d.Estimate):
		return "not known"
	case math.IsNaN(d.Low):
		return "one seed: not known"
	case d.Low == 0 && d.High == 0:
		return "no difference"
	case d.Low <= 0 && d.High >= 0:
		return "no evidence"
	case gain > 0:
		return "better"
	}
	return "worse"
}
