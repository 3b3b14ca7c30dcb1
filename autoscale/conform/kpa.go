package conform

import (
	"orrery/autoscale"
	"orrery/autoscale/kpa"
	"orrery/scheduler/model"
)

func kpaSchemas() []schema {
	return []schema{cases("kpa-scale", checkKPA)}
}

type kpaSpec struct {
	Activation     int64   `json:"activation_scale"`
	MaxDown        float64 `json:"max_down"`
	MaxUp          float64 `json:"max_up"`
	Metric         string  `json:"metric"` // which one it is makes no difference to the sizes
	PanicThreshold float64 `json:"panic_threshold"`
	Reachable      bool    `json:"reachable"`
	Delay          float64 `json:"scale_down_delay_s"`
	StableWindow   float64 `json:"stable_window_s"`
	Target         float64 `json:"target"`
	Burst          float64 `json:"tbc"`
	Total          float64 `json:"total"`
}

// config evaluates at every call and does not let samples age.
func (s *kpaSpec) config() kpa.Config {
	return kpa.Config{
		Target: s.Target, Total: s.Total, BurstCapacity: s.Burst, PanicThreshold: s.PanicThreshold, MaxUp: s.MaxUp, MaxDown: s.MaxDown,
		StableWindow: span(s.StableWindow), DownDelay: span(s.Delay), Activation: s.Activation, Reachable: s.Reachable, MaxAge: model.Forever,
	}
}

type kpaCase struct {
	ID    string    `json:"id"`
	Spec  kpaSpec   `json:"spec"`
	Calls []kpaCall `json:"calls"`
}

type kpaCall struct {
	T         float64  `json:"t"`
	Changed   *kpaSpec `json:"spec_changed_to,omitempty"`
	Stable    *float64 `json:"stable,omitempty"`
	Panic     *float64 `json:"panic,omitempty"`
	Ready     int64    `json:"ready,omitempty"`
	Before    bool     `json:"panicking_before"`
	MaxBefore int64    `json:"max_panic_pods_before"`
	Desired   int64    `json:"desired"`
	Burst     int64    `json:"ebc"`
	Valid     bool     `json:"valid"`
	After     bool     `json:"panicking_after"`
}

func checkKPA(c *kpaCase, t *tally) {
	p, err := kpa.New(c.Spec.config())
	for i := range c.Calls {
		s := &c.Calls[i]
		t.check(i)
		if s.Changed != nil && err == nil {
			err = p.Update(s.Changed.config())
		}
		if err != nil {
			t.fault("spec", err.Error(), "valid")
			return
		}
		now := seconds(s.T)
		p.Restore(now, s.Before, s.MaxBefore)
		p.Observe(now, []autoscale.Fact{
			{Kind: autoscale.FactCount, State: autoscale.Ready, N: s.Ready},
			average(kpa.Stable, s.Stable, now), average(kpa.Panic, s.Panic, now),
		})
		p.Plan(now)
		e := p.Last()
		expect(t, "valid", e.Valid, s.Valid)
		expect(t, "desired", e.Desired, s.Desired)
		expect(t, "ebc", e.Burst, s.Burst)
		expect(t, "panicking_after", e.Panicking, s.After)
	}
}

// average is the sample of a window, null for none.
func average(m autoscale.Metric, v *float64, now model.Time) autoscale.Fact {
	f := autoscale.Fact{Kind: autoscale.FactSample, Metric: m, Entity: autoscale.Whole, At: now, Missing: v == nil}
	if v != nil {
		f.Value = *v
	}
	return f
}
