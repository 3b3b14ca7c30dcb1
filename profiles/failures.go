package profiles

import (
	"fmt"
	"slices"

	"orrery/scheduler/model"
)

// Failures are drawn by the seed of a replay.
type Failures struct {
	MTBF         model.Duration  `yaml:"mtbf" zero:"never" default:"never" min:"1m" unit:"span" doc:"mean time that one node works before it breaks"`
	Law          string          `yaml:"law" of:"exponential,weibull" default:"exponential" when:"failures.mtbf!=never" doc:"of that time"`
	Shape        float64         `yaml:"shape" default:"0.7" min:"0.3" max:"10" when:"failures.mtbf!=never,failures.law=weibull" unit:"number" doc:"of the Weibull law: below 1 nodes break most often soon after a repair, above 1 by wear"`
	MTTR         model.Duration  `yaml:"mttr" default:"4h" min:"1s" when:"failures.mtbf!=never,failures.repair_median=none" unit:"span" doc:"mean time until it is back"`
	Repair       string          `yaml:"repair" of:"exponential,log-normal" default:"exponential" when:"failures.mtbf!=never" doc:"law of the time until it is back"`
	RepairMedian model.Duration  `yaml:"repair_median" zero:"none" default:"none" min:"1s" when:"failures.mtbf!=never,failures.repair=log-normal" unit:"span" doc:"half of the repairs are shorter; instead of mttr"`
	RepairSigma  float64         `yaml:"repair_sigma" zero:"none" default:"none" min:"0.01" max:"5" when:"failures.mtbf!=never,failures.repair=log-normal" unit:"number" doc:"deviation of the natural logarithm of the time; needed with log-normal"`
	Shared       []SharedFailure `yaml:"shared" doc:"what takes several nodes down at once when it breaks"`
	DriftMTBF    model.Duration  `yaml:"drift_mtbf" zero:"never" default:"never" min:"1m" unit:"span" doc:"mean of the exponential time until the fingerprint of one node differs from that of its group"`
	DriftCheck   model.Duration  `yaml:"drift_check" default:"6h" min:"1m" max:"30d" when:"failures.drift_mtbf!=never" unit:"span" doc:"between two checks of a node; the one that finds it drains the node, and jobs there go on"`
	DriftRepair  model.Duration  `yaml:"drift_repair" zero:"none" default:"none" min:"1s" when:"failures.drift_mtbf!=never" unit:"span" doc:"mean of the exponential time from that check until the node is as it was and takes work again; needed with drift_mtbf"`
	AgentMTBF    model.Duration  `yaml:"agent_mtbf" zero:"never" default:"never" min:"1m" unit:"span" doc:"mean of the exponential time until the agent of a node that works falls silent; with agents.heartbeat"`
	AgentMTTR    model.Duration  `yaml:"agent_mttr" zero:"none" default:"none" min:"1s" when:"failures.agent_mtbf!=never" unit:"span" doc:"mean of the exponential time until it answers again; needed with agent_mtbf"`
	Slow         float64         `yaml:"slow" default:"0" min:"0" max:"1" unit:"probability" doc:"that a checkpoint takes slow_by times as long"`
	SlowBy       int64           `yaml:"slow_by" default:"10" min:"1" max:"1000000" when:"failures.slow!=0" unit:"factor" doc:"see slow"`
	Unresponsive float64         `yaml:"unresponsive" default:"0" min:"0" max:"1" unit:"probability" doc:"that a victim does not answer"`
	Partial      float64         `yaml:"partial" default:"0" min:"0" max:"1" unit:"probability" doc:"that a node fails to write its part of a checkpoint"`
	Defers       float64         `yaml:"defers" default:"0" min:"0" max:"1" unit:"probability" doc:"that a victim asks to be left alone for a while"`
}

// SharedFailure is a switch, a feed of power or the like, or one of them for each group.
type SharedFailure struct {
	Of          string         `yaml:"of" of:"group,nodes" default:"group" doc:"one part for each dragonfly group, or one for all the nodes together"`
	Nodes       Nodes          `yaml:"nodes" default:"all" doc:"that need it: groups, names, or all"`
	MTBF        model.Duration `yaml:"mtbf" zero:"none" default:"none" min:"1m" unit:"span" doc:"mean time that one such part works before it breaks; exponential"`
	MTTR        model.Duration `yaml:"mttr" default:"4h" min:"1s" unit:"span" doc:"mean time until its nodes are back"`
	RepairSigma float64        `yaml:"repair_sigma" zero:"none" default:"none" min:"0.01" max:"5" unit:"number" doc:"deviation of the natural logarithm of a log-normal time until they are back; without it the time is exponential"`
}

// Heartbeat is when the scheduler learns that a node has broken.
type Heartbeat struct {
	DownAfter     model.Duration `yaml:"down_after" zero:"at-once" default:"at-once" min:"1s" max:"1h" unit:"span" doc:"since the failure of a node until it counts as down and its jobs have failed; until then they hold their nodes and do nothing"`
	DegradedAfter model.Duration `yaml:"degraded_after" default:"30s" min:"0s" max:"1h" when:"agents.heartbeat.down_after!=at-once" unit:"span" doc:"since the failure until nothing starts on the node"`
}

// mostShared bounds the entries of failures.shared, and mostSharedNodes the nodes of all of
// them together.
const (
	mostShared      = 256
	mostSharedNodes = 1 << 26
)

// checkFailures holds the keys of failures and of what follows them against each other.
func (c *Cluster) checkFailures(k *checker) {
	f, a := &c.Failures, &c.Agents
	if f.MTBF > 0 && f.Repair == "log-normal" && f.RepairSigma == 0 {
		k.add("failures.repair", "found log-normal, and there is no repair_sigma: give it, for example 1.4 as fitted for LANL, see docs/FAILURES.md")
	}
	if h := &a.Heartbeat; h.DownAfter > 0 && h.DegradedAfter > h.DownAfter {
		k.add("agents.heartbeat.degraded_after", "found %s, want at most down_after, %s", formatSpan(h.DegradedAfter), formatSpan(h.DownAfter))
	}
	if a.BootFailure > 0 && a.BootTimeout == 0 {
		k.add("agents.boot_failure", "found %g, and there is no boot_timeout: say after how long a boot counts as failed, for example 10m", a.BootFailure)
	}
	if f.AgentMTBF > 0 && f.AgentMTTR == 0 {
		k.add("failures.agent_mtbf", "found %s, and there is no agent_mttr: say how long agents are silent, for example 2m", formatSpan(f.AgentMTBF))
	}
	if f.AgentMTBF > 0 && a.Heartbeat.DownAfter == 0 {
		k.add("failures.agent_mtbf", "found %s, and agents.heartbeat.down_after is at-once: give it, for example 60s, or the scheduler never misses an agent", formatSpan(f.AgentMTBF))
	}
	if f.DriftMTBF > 0 && f.DriftRepair == 0 {
		k.add("failures.drift_mtbf", "found %s, and there is no drift_repair: say how long it takes until such a node is as it was, for example 4h", formatSpan(f.DriftMTBF))
	}
	if a.PrologueFailure > 0 && a.PrologueRepair == 0 {
		k.add("agents.prologue_failure", "found %g, and there is no prologue_repair: say how long a node stays drained after it, for example 4h", a.PrologueFailure)
	}
	if len(f.Shared) > mostShared {
		k.add("failures.shared", "found %d entries, want at most %d", len(f.Shared), mostShared)
	}
	for i := range f.Shared {
		if at := fmt.Sprintf("failures.shared[%d]", i); f.Shared[i].MTBF == 0 {
			k.add(at, "has no key mtbf: say how long one such part works before it breaks, for example 300d")
		}
	}
}

// SharedPart is what several nodes need.
type SharedPart struct {
	*SharedFailure
	Key   uint64 // of no other part, and the same in each replay
	Nodes []model.NodeID
}

// sharedParts takes over what takes several nodes down at once: of each entry one part, or
// one for each group, in the order of the groups.
func (r *resolver) sharedParts() {
	if n := len(r.c.Failures.Shared) * len(r.site.Nodes); n > mostSharedNodes {
		r.problems.add("failures.shared", "found %d entries for a site of %d nodes, want at most %d", len(r.c.Failures.Shared), len(r.site.Nodes), mostSharedNodes/len(r.site.Nodes))
		return
	}
	for i := range r.c.Failures.Shared {
		f := &r.c.Failures.Shared[i]
		nodes := r.set(fmt.Sprintf("failures.shared[%d].nodes", i), f.Nodes)
		parts := make([]SharedPart, 1)
		if f.Of == "group" {
			parts = make([]SharedPart, len(r.site.Groups))
		}
		for n := range r.site.Nodes {
			if id := model.NodeID(n); nodes != nil && nodes.Has(id) {
				p := &parts[0]
				if f.Of == "group" {
					p = &parts[r.site.Nodes[n].Group]
				}
				p.Nodes = append(p.Nodes, id)
			}
		}
		for j := range parts {
			if p := parts[j]; len(p.Nodes) > 0 {
				p.SharedFailure, p.Key = f, uint64(i)<<32|uint64(j)
				r.site.SharedParts = append(r.site.SharedParts, p)
			}
		}
	}
}

// lives notes the mean time between failures of each node, where types have their own.
func (r *resolver) lives() {
	own := map[string]model.Duration{}
	for i := range r.c.NodeTypes {
		if t := &r.c.NodeTypes[i]; t.MTBF > 0 {
			own[t.Name] = t.MTBF
		}
	}
	if len(own) == 0 {
		return
	}
	r.site.NodeMTBF = make([]model.Duration, len(r.site.Nodes))
	for n, name := range r.types {
		if name == "" && len(r.c.NodeTypes) == 1 { // the one that they are of
			name = r.c.NodeTypes[0].Name
		}
		r.site.NodeMTBF[n] = r.c.Failures.MTBF
		if d, ok := own[name]; ok {
			r.site.NodeMTBF[n] = d
		}
	}
}

// remarkBoot looks for a boot delay that is the default where nodes boot.
func (c *Cluster) remarkBoot(all *problems) {
	boots := func(e Event) bool { return e.Kind == "up" }
	if f := &c.Failures; all.src.has("agents.boot_delay") || f.MTBF == 0 && len(f.Shared) == 0 && !slices.ContainsFunc(c.Events, boots) {
		return
	}
	all.add("agents", "nodes come back %s after a repair, and no boot_delay is given: that is an assumption, and no figure for nodes with GPUs is published", formatSpan(c.Agents.BootDelay))
}
