package scaling

import (
	"orrery/autoscale"
	"orrery/autoscale/neon"
	"orrery/internal/libm"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/service"
)

// machine lets Neon's agent size a service of a queue as one virtual machine: each replica is
// a compute unit of it, so that the agent resizes the machine where others change the number of
// replicas. The load average is made of the requests in the service, those that wait
// included. Permits are granted up to what the platform gives; the monitor agrees. Memory is
// not looked at.
type machine struct {
	agent *neon.Agent
	unit  autoscale.Resources
	slots float64 // requests that a unit serves at once
	limit int64   // units that the platform gives at most, 0 for any number

	load   float64 // average of one minute
	at     model.Time
	known  bool
	seq    uint64 // of the proposals to the service, which are those to resize the machine
	inner  uint64 // what the agent calls the one in flight
	wanted int64  // units of it
	facts  []autoscale.Fact
	asked  []autoscale.Proposal
	plan   autoscale.Plan
}

func (r *run) neon(p *profiles.ScalingPolicy) error {
	c := neon.Defaults()
	least, most := p.Min, p.Max
	c.Min = autoscale.Resources{CPU: least * c.Unit.CPU, Memory: least * c.Unit.Memory}
	c.Max = autoscale.Resources{CPU: most * c.Unit.CPU, Memory: most * c.Unit.Memory}
	c.LoadTarget = p.Target
	c.Tick = usual(p.Interval, c.Tick)
	c.VMRetry = usual(p.ResizeRetry, c.VMRetry)
	from := max(r.config.Supply.Start, least) // of a check there is no demand
	agent, err := neon.NewAgent(c, autoscale.Resources{CPU: from * c.Unit.CPU, Memory: from * c.Unit.Memory})
	if err != nil {
		return err
	}
	m := &machine{agent: agent, unit: c.Unit, slots: float64(r.config.Slots), limit: r.config.Supply.Limit}
	agent.Observe(0, []autoscale.Fact{{Kind: autoscale.FactEntity, Entity: neon.Monitor, State: autoscale.Ready}})
	const sample = 5 * model.Second // between samples of an agent
	r.config.Scrape.Interval = min(r.config.Scrape.Interval, sample)
	r.see(service.Source{Series: service.Concurrency})
	r.policy = m
	return nil
}

// Observe implements autoscale.Policy.
func (m *machine) Observe(now model.Time, facts []autoscale.Fact) {
	m.facts = m.facts[:0]
	for i := range facts {
		switch f := &facts[i]; {
		case f.Kind == autoscale.FactSample:
			m.sample(f)
		case f.Kind == autoscale.FactResult && f.Seq == m.seq && m.inner != 0:
			out := autoscale.Errored
			if f.Outcome == autoscale.Accepted && f.N == m.wanted {
				out = autoscale.Accepted
			}
			m.facts = append(m.facts, autoscale.Fact{Kind: autoscale.FactResult, Seq: m.inner, Outcome: out})
			m.inner = 0
		}
	}
	m.agent.Observe(now, m.facts)
}

// sample makes the metrics of an agent of the requests in the service.
func (m *machine) sample(f *autoscale.Fact) {
	missing := !f.HasValue()
	if !missing {
		run := f.Value / m.slots * float64(m.unit.CPU) / 1000 // CPUs that they keep busy, or would
		if m.known {
			s := f.At.Sub(m.at).Seconds()
			run += float64((m.load - run) * libm.Exp(-s/60))
		}
		m.load, m.at, m.known = run, f.At, true
	}
	for metric, v := range [...]float64{neon.Load: m.load, neon.MemoryUsage: 0, neon.MemoryCache: 0} {
		m.facts = append(m.facts, autoscale.Fact{Kind: autoscale.FactSample, Metric: autoscale.Metric(metric), Entity: autoscale.Whole, Value: v, At: f.At, Missing: missing})
	}
}

// Plan implements autoscale.Policy. What asks for permits and for the consent of the monitor is
// answered at once, so that what is left is a change of size.
func (m *machine) Plan(now model.Time) *autoscale.Plan {
	m.plan.Reset()
	decision := autoscale.Decision{Entity: autoscale.Whole, Would: autoscale.Proposal{Verb: autoscale.SetReplicas, N: m.units(m.agent.Using())}}
	for answered := true; answered; {
		x := m.agent.Plan(now)
		m.plan.Wake = x.Wake
		m.asked = append(m.asked[:0], x.Proposals...)
		for i := range x.Decisions {
			m.explain(&decision, &x.Decisions[i])
		}
		m.facts = m.facts[:0]
		for _, p := range m.asked {
			switch p.Entity {
			case neon.VM:
				m.seq, m.inner, m.wanted = m.seq+1, p.Seq, m.units(p.Resources)
				decision.Guard, decision.Would = autoscale.GuardNone, autoscale.Proposal{Verb: autoscale.SetReplicas, Seq: m.seq, N: m.wanted}
				m.plan.Proposals = append(m.plan.Proposals, decision.Would)
			case neon.Scheduler:
				m.facts = append(m.facts, autoscale.Fact{Kind: autoscale.FactResult, Seq: p.Seq, Entity: p.Entity, Outcome: autoscale.Accepted, Resources: m.permit(p.Resources)})
			default:
				m.facts = append(m.facts, autoscale.Fact{Kind: autoscale.FactResult, Seq: p.Seq, Entity: p.Entity, Outcome: autoscale.Accepted, Resources: p.Resources})
			}
		}
		answered = len(m.facts) > 0
		m.agent.Observe(now, m.facts)
	}
	m.plan.Decisions = append(m.plan.Decisions, decision)
	return &m.plan
}

// explain takes over the rule of the goal, and what keeps the machine from it.
func (m *machine) explain(to, d *autoscale.Decision) {
	switch d.Entity {
	case autoscale.Whole:
		to.Rule = d.Rule
		if to.Guard = d.Guard; to.Would.Seq == 0 {
			to.Would.N = m.units(d.Would.Resources)
		}
	case neon.VM:
		if !d.Proposed() {
			to.Guard = d.Guard
		}
	}
}

// units is how many make up the resources.
func (m *machine) units(x autoscale.Resources) int64 { return x.CPU / m.unit.CPU }

// permit is what is granted of what is asked for.
func (m *machine) permit(x autoscale.Resources) autoscale.Resources {
	if m.limit == 0 {
		return x
	}
	return autoscale.Resources{CPU: min(x.CPU, m.limit*m.unit.CPU), Memory: min(x.Memory, m.limit*m.unit.Memory)}
}
