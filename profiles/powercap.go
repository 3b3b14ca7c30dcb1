package profiles

import (
	"fmt"
	"reflect"
	"slices"

	"orrery/scheduler/model"
)

// checkPowerCap checks what keeps power_cap, and what it counts.
func (c *Cluster) checkPowerCap(k *checker) {
	capped := c.PowerCap > 0 || slices.ContainsFunc(c.Events, func(e Event) bool { return e.Kind == "power_cap" })
	if c.OverPowerCap != "delay" && !capped {
		k.add("over_power_cap", "found %s, and there is no power_cap to keep: give one", c.OverPowerCap)
	}
	if c.PowerCapScope != "site" {
		return
	}
	switch {
	case !capped:
		k.add("power_cap_scope", "found site, and there is no power_cap that idle nodes could count against: give one")
	case c.OverPowerCap == "slow":
		k.add("power_cap_scope", "found site with over_power_cap: slow, which goes by all that the site draws: leave it out")
	}
	for i := range c.NodeTypes {
		if t := &c.NodeTypes[i]; t.IdlePower == 0 {
			k.add(fmt.Sprintf("node_types[%d].name", i), "the type %s states no idle_power, and power_cap_scope: site counts idle nodes: give it, or power_cap_scope: jobs", t.Name)
		}
	}
}

// idlePowers finds a node that would count as drawing nothing while it is idle: it has no type, as
// types are checked by themselves.
func (r *resolver) idlePowers() {
	if !r.site.CountIdle {
		return
	}
	n := slices.IndexFunc(r.site.Nodes, func(n model.Node) bool { return n.IdlePower == 0 })
	if n < 0 {
		return
	}
	group := r.site.Groups[r.site.Nodes[n].Group].Name
	path, of := "groups", "the table of nodes"
	if len(r.c.rows) == 0 {
		i := slices.IndexFunc(r.c.Groups, func(g Group) bool { return g.Name == group && g.Type == r.types[n] })
		path, of = fmt.Sprintf("groups[%d]", i), "the group "+group
	}
	what := "has no type"
	if t := r.types[n]; t != "" {
		what = fmt.Sprintf("is of the type %s, which is not under node_types", t)
	}
	r.problems.add(path, "node %s of %s %s, so nothing states its idle_power, and power_cap_scope: site counts idle nodes: give it a type with idle_power, or power_cap_scope: jobs", r.site.Nodes[n].Name, of, what)
}

// Cramped says in words that a cap on power leaves no job room beside idle nodes that count against
// it; "" where it leaves some, or is none.
func (s *Site) Cramped(cap int64) string {
	if cap <= 0 || !s.CountIdle {
		return ""
	}
	idle, growth := s.IdlePower()
	words := formatSize(reflect.ValueOf(Power(idle)))
	switch {
	case cap <= idle:
		return "is no more than idle nodes draw (" + words + "), which count: no job starts that draws more than its nodes do without it"
	case !s.Shared && cap-idle < growth:
		return fmt.Sprintf("leaves %s beside what idle nodes draw (%s), which count, and a node at work draws %s more at least: no job starts that does not state less", formatSize(reflect.ValueOf(Power(cap-idle))), words, formatSize(reflect.ValueOf(Power(growth))))
	}
	return ""
}

// remarkPower says what a cap on power leaves out, and where it leaves nothing to jobs.
func (c *Cluster) remarkPower(all *problems, site *Site) {
	if site == nil || c.OverPowerCap == "slow" {
		return
	}
	if c.PowerCapScope == "jobs" {
		if idle, _ := site.IdlePower(); c.PowerCap > 0 && idle > 0 {
			all.add("power_cap", "counts the nodes of running jobs: idle ones draw up to %s beside it; with power_cap_scope: site they count", formatSize(reflect.ValueOf(Power(idle))))
		}
		return
	}
	if why := site.Cramped(int64(c.PowerCap)); why != "" {
		all.add("power_cap", "%s", why)
	}
	for i := range c.Events {
		if e := &c.Events[i]; e.Kind != "power_cap" {
			continue
		} else if v, _, err := e.read(); err == nil {
			if why := site.Cramped(v.Int()); why != "" {
				all.add(fmt.Sprintf("events[%d]", i), "from then on the power_cap %s", why)
			}
		}
	}
}
