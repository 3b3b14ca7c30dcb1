package scaling

import (
	"orrery/autoscale/hpa"
	"orrery/profiles"
)

// selects are the words of the file for which of several rates counts.
var selects = map[string]hpa.Select{"max": hpa.MaxChange, "min": hpa.MinChange, "disabled": hpa.Disabled}

// behavior puts what a file says on how fast an HPA may change the size in the place of the
// defaults.
func behavior(c *hpa.Config, p *profiles.ScalingPolicy) {
	b := &p.Behavior
	c.Behaviours, c.UpFactor = b.Enabled, b.UpFactor
	c.DownWindow = usual(p.DownWindow, c.DownWindow)
	rules(&c.Up, &c.Tolerance.Up, &b.ScaleUp)
	rules(&c.Down, &c.Tolerance.Down, &b.ScaleDown)
}

// rules are those of one direction.
func rules(to *hpa.Rules, tolerance *float64, of *profiles.ScalingRules) {
	to.Select = selects[of.Select]
	to.Window, *tolerance = usual(of.Window, to.Window), usual(of.Tolerance, *tolerance)
	if len(of.Policies) == 0 {
		return
	}
	to.Policies = nil
	for _, x := range of.Policies {
		to.Policies = append(to.Policies, hpa.ScalingPolicy{Percent: x.Type == "percent", Value: x.Value, Period: x.Period})
	}
}
