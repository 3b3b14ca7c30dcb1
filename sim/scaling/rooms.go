package scaling

import (
	"math"

	"orrery/autoscale/maestro"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/service"
)

// triggers are the kinds of triggers by the words of the file, with the series that they go
// by: the utilisation is the share of their slots that the rooms use, and a session takes its
// slot's share of what its room requests. CPU is a rate, and memory as it is at the scrape.
var triggers = map[string]struct {
	kind   maestro.Kind
	source *service.Source // nil for what the counts of rooms say
}{
	"room":   {kind: maestro.KindRoom},
	"legacy": {kind: maestro.KindLegacy},
	"cpu":    {maestro.KindCPU, &service.Source{Series: service.Utilization, Metric: maestro.CPU}},
	"memory": {maestro.KindMemory, &service.Source{Series: service.Utilization, Metric: maestro.Memory, Gauge: true}},
}

func (r *run) maestro(p *profiles.ScalingPolicy, seed uint64) (err error) {
	c := maestro.Defaults()
	c.Min, c.Max, c.Seed, c.Period, c.MaxScaleUp = p.Min, p.Max, seed, usual(p.Interval, c.Period), p.MaxScaleUp
	c.LargerWindow, c.Panic = p.LargerWindow, p.PanicRooms > 0
	by := triggers[p.Trigger]
	t := maestro.DefaultTrigger()
	t.Kind, t.Time, t.Threshold, t.Usage, t.Limit, t.Delta = by.kind, p.Time, percent(p.Share), percent(p.Target), percent(p.Limit), p.Delta
	down := t
	down.Usage, down.Time, down.Delta = percent(usual(p.DownThreshold, 0.5)), usual(p.DownTime, p.Time), -p.Delta
	const cooldown = 10 * model.Minute
	c.Up = maestro.Direction{Triggers: []maestro.Trigger{t}, Cooldown: usual(p.Cooldown, model.Minute), Delta: p.PanicRooms}
	c.Down = maestro.Direction{Triggers: []maestro.Trigger{down}, Cooldown: usual(p.DownCooldown, cooldown)}
	if by.source != nil {
		r.see(*by.source)
	}
	r.policy, err = maestro.New(c)
	return err
}

func percent(share float64) int64 { return int64(math.Round(float64(100 * share))) }

func (r *run) maestro10(p *profiles.ScalingPolicy) (err error) {
	c := maestro.V10Defaults()
	c.Min, c.Max, c.ReadyTarget, c.DownCooldown = p.Min, p.Max, p.ReadyTarget, usual(p.DownCooldown, c.DownCooldown)
	if p.Buffer != nil {
		c.ReadyTarget, c.Buffer = 0, *p.Buffer
	}
	c.MaxMatches, c.Period = r.config.Slots, usual(p.Interval, c.Period)
	r.see(service.Source{Series: service.Running, Metric: maestro.RunningMatches}, service.Source{Series: service.Free, Metric: maestro.FreeMatches})
	r.policy, err = maestro.NewV10(c)
	return err
}
