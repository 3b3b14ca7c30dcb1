package plan

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/site"
	"orrery/sim/record"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// ignoredColumns are the optional columns of the jobs table that ask something
// of a scheduler and have no effect on a replay. A replay of a trace that fills
// them says so, for its schedule is then not the one the rows asked for.
var ignoredColumns = map[string]string{
	"kind":           "every job is bounded, and ends after its recorded runtime",
	"tenant":         "tenants have no limits and no shares",
	"vcluster":       "all jobs are in one queue",
	"nodes_max":      "the job starts on nodes_min nodes",
	"gpus_per_node":  "the cluster has no GPUs: give --gpus-per-node, or a cluster file",
	"gpu_type":       "any GPU serves the job",
	"gpu_mem":        "any GPU serves the job",
	"mem_per_node":   "memory is not shared out",
	"features":       "any node serves the job",
	"topology":       "the job is placed without regard to groups of nodes",
	"class":          "the queue order alone decides",
	"sensitive":      "the job shares the cluster with any other",
	"checkpoint":     "no job is preempted",
	"requeue":        "no job is requeued",
	"mounts":         "data is on every node",
	"io_demand":      "storage bandwidth is not shared out",
	"power":          "power is not bounded",
	"comm_fraction":  "the runtime does not depend on the placement",
	"group":          "jobs of a group are independent",
	"max_concurrent": "jobs of a group are independent",
	"dag":            "jobs of a workflow are independent",
	"eligible":       "the job may start from its submission on",
	"partition":      "the job may use every node",
	"qos":            "no limits apply",
	"site_factor":    "the queue order alone decides",
	"nice":           "the queue order alone decides",
	"hold":           "the job may start from its submission on",
	"reservation":    "no nodes are set aside",
	"exclusive":      "the cluster says whether nodes are shared",
	"node_include":   "any node serves the job",
	"node_exclude":   "any node serves the job",
	"after_job":      "the job does not wait for another, but with --feedback",
	"gpu_milli":      "GPUs are not shared",
	"gpu_types":      "any GPU serves the job",
	"gpus_total":     "gpus_per_node and nodes_min say how many GPUs a job gets, where the cluster has any",
	"deadline":       "the queue order alone decides",
	"scale_metric":   "no scaling policy is asked",
	"scale_target":   "no scaling policy is asked",
	"think_time":     "the job comes when the log says: --feedback lets it come when the one that it follows has left",
}

// matterOnlyApart are the columns that ask for nothing while all jobs agree:
// real logs often have a single queue or class.
var matterOnlyApart = map[string]bool{"tenant": true, "vcluster": true, "class": true, "partition": true, "qos": true, "site_factor": true, "nice": true}

// ignoredOnSites are the columns that have no effect on a site either; those
// with a name have none where the site says nothing of the kind.
var ignoredOnSites = map[string]func(*site.Config) bool{
	"comm_fraction": func(*site.Config) bool { return true },
	"think_time":    func(*site.Config) bool { return true },
	"deadline":      func(*site.Config) bool { return true },
	"gpus_total":    func(*site.Config) bool { return true },
	"gpu_milli":     func(c *site.Config) bool { return !c.Site.Amounts || c.Slurm() != nil },
	"mem_per_node":  func(c *site.Config) bool { return !statesMemory(c.Site.Nodes) },
	"scale_metric":  func(*site.Config) bool { return true },
	"scale_target":  func(*site.Config) bool { return true },
	"tenant":        func(c *site.Config) bool { return len(c.Site.Tenants) == 0 },
	"vcluster":      func(c *site.Config) bool { return len(c.Site.VClusters) == 1 },
	"partition":     func(c *site.Config) bool { return len(c.Site.Partitions) == 0 },
	"qos":           func(c *site.Config) bool { return len(c.Site.QOS) == 0 },
	"reservation":   func(c *site.Config) bool { return len(c.Site.Reservations) == 0 },
	"site_factor":   noMultifactor,
	"nice":          noMultifactor,
}

// statesMemory says whether it is known how much memory some node has.
func statesMemory(nodes []model.Node) bool {
	return slices.ContainsFunc(nodes, func(n model.Node) bool { return n.Memory > 0 })
}

// noMultifactor says that no vCluster orders by Slurm's priority, which alone looks
// at the points of jobs.
func noMultifactor(c *site.Config) bool {
	return !slices.ContainsFunc(c.Policies, func(p site.Policy) bool { return p.Ranking == site.ByMultifactor })
}

// Ignored counts the rows of a trace that ask for something that a run ignores.
type Ignored struct {
	Rule  string
	Doc   string // in words
	Count int64
}

// Ignored lists what a trace asks for and a run under p, in which rows were awkward as
// counted, did not heed: in the order of the columns.
func (p *Resolved) Ignored(info traces.Info, awkward *translate.SpecialRows) []Ignored {
	var out []Ignored
	site := p.Site
	for _, f := range info.Filled {
		if p.Spec.Feedback && (f.Column == "after_job" || f.Column == "think_time") {
			continue
		}
		rows := f.Rows
		if f.Column == "gpus_per_node" { // many rows state 0 of them
			if rows = p.GPUsIgnored; rows == 0 {
				continue
			}
		}
		if site != nil {
			ignores := ignoredOnSites[f.Column]
			untyped := len(site.World.Rows.GPUTypes) == 0 && (f.Column == "gpu_type" || f.Column == "gpu_types")
			rows := &site.World.Rows
			unnamed := rows.NoFeatures && f.Column == "features" || rows.NoNodeNames && (f.Column == "node_include" || f.Column == "node_exclude")
			if !untyped && !unnamed && (ignores == nil || !ignores(&site.Core)) {
				continue
			}
			if r := site.World.Rows.Route; r != nil && r.Name() == f.Column {
				continue // it says in which vCluster jobs are
			}
		}
		if doc, ok := ignoredColumns[f.Column]; ok && (f.Varies || !matterOnlyApart[f.Column]) {
			out = append(out, Ignored{Rule: "ignored-" + f.Column, Doc: "column " + f.Column + " ignored: " + doc, Count: rows})
		}
	}
	out = append(out, p.ignoredBySite(info, awkward)...)
	if c := &awkward.Count; info.WarmStart.OK && c[translate.RuleRanBefore]+c[translate.RuleWaitedBefore] == 0 {
		out = append(out, Ignored{
			Rule: record.RuleBeginsIdle, Count: info.Rows,
			Doc: "no job of the trace ran or waited at its warm start, as where the log does not say when jobs started: the cluster begins idle, and early waits may come out too short",
		})
	}
	for _, t := range [...]struct {
		rule, doc string
		rows      int
	}{
		{"ignored-events", "table events ignored: the cluster stays as it is", p.events},
		{"ignored-prices", "table prices ignored: the price of energy does not count", p.prices},
	} {
		if t.rows > 0 && site == nil {
			out = append(out, Ignored{Rule: t.rule, Doc: t.doc, Count: int64(t.rows)})
		}
	}
	if info.Deps > 0 && site == nil {
		out = append(out, Ignored{Rule: "ignored-deps", Doc: "table deps ignored: no job waits for another", Count: info.Deps})
	}
	if n := info.Of("load"); n > 0 {
		out = append(out, Ignored{Rule: "ignored-load", Doc: "table load ignored: nothing is asked of services", Count: n})
	}
	return out
}

// ignoredBySite is what a site ignores beside columns of jobs.
func (p *Resolved) ignoredBySite(info traces.Info, awkward *translate.SpecialRows) (out []Ignored) {
	site := p.Site
	if site == nil {
		return nil
	}
	out = site.unstated(info)
	if site.World.Rows.Dependencies != nil {
		for _, l := range site.World.Rows.Dependencies.Left {
			out = append(out, Ignored{Rule: "dependency-" + l.Rule, Doc: "dependency ignored: no job can wait for it (" + l.Example + ")", Count: l.Count})
		}
	}
	if site.early > 0 {
		out = append(out, Ignored{Rule: "reservation-known-early", Doc: "kept: the reservation is known from the beginning of the replay, not from its announcement on", Count: site.early})
	}
	if site.cramped.caps > 0 {
		out = append(out, Ignored{Rule: "power-cap-beside-idle", Doc: "kept: a power_cap of " + site.cramped.text, Count: site.cramped.caps})
	}
	for i, n := range site.unheeded {
		if u := &translate.IgnoredEvents[i]; n > 0 {
			out = append(out, Ignored{Rule: "ignored-event-" + u.Kind, Doc: "events of the trace, without effect: " + u.Why, Count: n})
		}
	}
	known := info.History
	if awkward.Count[translate.RuleLeftBefore] == 0 {
		known = 0 // no row tells of a job, as where the log has no starts
	}
	if n := emptyLedgers(site, known); n > 0 {
		out = append(out, Ignored{Rule: "ledger-begins-empty", Doc: "tenants: what they consumed before the warm start is not known, and counts neither for budgets nor for shares that remember", Count: n})
	}
	return out
}
