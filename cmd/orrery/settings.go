package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"orrery/internal/doc"
	"orrery/profiles"
	"orrery/scheduler/order"
	"orrery/sim/plan"
)

// settings are the flags that say what a replay is: those of replay and verify.
type settings struct {
	spec   plan.Spec
	warmup warmup
	site   siteFlags
	// scenario is the path of a file, "" for none.
	scenario string
	flags    *pflag.FlagSet // only the flags below
}

// settingsHelp is the part of the help that replay and verify share.
const settingsHelp = `LOG is a trace bundle, a Parquet table of jobs, or a raw log (SWF), plain or
compressed by gzip or xz; "-" is standard input. A raw log is imported first and
kept in the cache. Without LOG the sample that is part of the program is
replayed, on its own cluster.

The cluster is --procs one-core nodes, or --nodes of --cores-per-node cores and
--gpus-per-node GPUs (shared by jobs unless --exclusive), or what the trace says
the cluster was. Where more than 1 % of the work asks for what the cluster does not
have, the replay is refused, or says so first with --allow-unheeded. With
--profile its queue is ordered by weights, limits and placement as the profile
says (see orrery profiles list); --cluster describes a whole site: groups of
nodes, vClusters with a profile each, tenants, partitions, events.

Units: durations (DUR) are written 90s, 1h30m, 02:30:00 or 1-02:03:04; a bare
number is refused. Processors and nodes are counts.`

// register adds the flags to a verb.
func (s *settings) register(cmd *cobra.Command) {
	s.spec = plan.DefaultSpec()
	s.warmup = warmup{percent: 1}
	f := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	c := &s.spec.Cluster
	f.Int32Var(&c.Procs, "procs", 0, "cluster of `P` one-core nodes")
	f.Int32Var(&c.Nodes, "nodes", 0, "cluster of `N` nodes, with --cores-per-node")
	f.Int32Var(&c.CoresPerNode, "cores-per-node", 0, "`C` cores on each node, with --nodes")
	f.Int32Var(&c.GPUsPerNode, "gpus-per-node", 0, "`G` GPUs on each node, with --nodes and --cores-per-node")
	f.BoolVar(&c.Exclusive, "exclusive", false, "a job has its nodes alone")

	f.Var(orderValue(&s.spec), "order", "order of the queue: "+oneOf(order.Names()))
	f.Var(backfillValue(&s.spec), "backfill", "which jobs may overtake a waiting job: none, first-fit, easy or conservative[:DEPTH]")
	s.spec.EventOrder = "batch"
	f.Var(choice{word: &s.spec.EventOrder, of: []string{"batch", "sequential"}, what: "event order"}, "event-order",
		"events of one instant: all of them and then one pass, or a pass after each")
	f.Var(cycleValue(&s.spec), "cycle", "when the scheduler looks: at every event, or every DUR")
	f.Var(span(&s.spec.Phase, "0s"), "phase", "first pass of the cycle, below --cycle")

	s.spec.Overrun, s.spec.Infeasible = "kill", "reject"
	f.Var(choice{word: &s.spec.Overrun, of: []string{"kill", "extend"}, what: "policy"}, "overrun", "what happens to jobs that outlive their request")
	f.Var(missingValue(&s.spec), "missing-request", "what the scheduler is told of jobs that state no requested time")
	f.Var(choice{word: &s.spec.Infeasible, of: []string{"reject", "error"}, what: "policy"}, "infeasible",
		"jobs that can never run, up to 1 % of the work: refuse them at submission, or refuse the replay")
	f.BoolVar(&s.spec.AllowUnheeded, "allow-unheeded", false, "go on where more than 1 % of the work asks for what the cluster does not have, and say so first")
	f.Var(span(&s.spec.QuorumLatency, "0s"), "quorum-latency", "time from a decision to its commitment, 1h at most")
	f.Var(span(&s.spec.QuorumJitter, "0s"), "quorum-jitter", "added to the latency, uniformly from 0 to DUR (1h at most) by a keyed draw")
	f.Uint64Var(&s.spec.Seed, "seed", 0, "seed `S` of the random draws, with --quorum-jitter")
	f.BoolVar(&s.spec.Feedback, "feedback", false, "jobs that follow others (after_job, think_time) come when these have left, not when the log says")
	f.Var(s.warmup.value(), "warmup", "what the steady window leaves out at the beginning: jobs, a time, or a part of the jobs")
	f.Var(span(&s.spec.Cooldown, "0s"), "cooldown", "what the steady window leaves out before the last submission")
	f.StringVar(&s.scenario, "scenario", "", "`FILE` of changes on the way and of work that is left out (docs/WHATIF.md)")
	s.flags = f
	s.registerSite()
	onlyOnce(f)
	grouped(f, groupCluster, "procs", "nodes", "cores-per-node", "gpus-per-node", "exclusive", "cluster", "profile", "vcluster-of", "runtime")
	grouped(f, groupPolicy, "order", "backfill", "event-order", "cycle", "phase")
	grouped(f, groupJobs, "overrun", "missing-request", "infeasible", "allow-unheeded", "feedback", "scenario")
	grouped(f, groupQuorum, "quorum-latency", "quorum-jitter", "seed")
	grouped(f, groupMeasured, "warmup", "cooldown")
	cmd.Flags().AddFlagSet(f)
	completeFlag(cmd, "profile", completeProfile)
	completeWith(cmd, "runtime", "recorded", "modelled")
	completeWith(cmd, "vcluster-of", append([]string{"all="}, routingColumns...)...)
	completeFlag(cmd, "cluster", wordsOrFiles(profiles.ClusterNames()...))

	completeWith(cmd, "order", order.Names()...)
	completeWith(cmd, "backfill", order.BackfillNames()...)
	completeWith(cmd, "event-order", "batch", "sequential")
	completeWith(cmd, "overrun", "kill", "extend")
	completeWith(cmd, "missing-request", "infinite", "recorded", "default:")
	completeWith(cmd, "infeasible", "reject", "error")
}

// bound is the spec for a trace, checked as a whole.
func (s *settings) bound(t *trace) (plan.Spec, error) {
	// A zero that was typed is not the zero of a flag left out.
	for _, name := range []string{"procs", "nodes", "cores-per-node", "gpus-per-node"} {
		if f := s.flags.Lookup(name); f.Changed && f.Value.String() == "0" {
			return s.spec, &plan.UsageError{Text: "--" + name + " is 0: want at least 1"}
		}
	}
	spec := s.spec
	s.warmup.enter(&spec, t.info)
	if err := s.enterSite(&spec, t); err != nil {
		return spec, err
	}
	asked, err := loadScenario(s.scenario)
	if err != nil {
		return spec, err
	}
	if asked != nil {
		spec.Scenario = asked.JSON()
	}
	spec, err = spec.Bind(t)
	if told := asked.located(err); told != nil {
		return spec, told
	}
	return spec, s.site.located(err)
}

// given lists the flags that the user has set, in a form to pass on.
func (s *settings) given() []string {
	var out []string
	s.flags.VisitAll(func(f *pflag.Flag) {
		if !f.Changed {
			return
		}
		values := []string{f.Value.String()}
		if several, ok := f.Value.(pflag.SliceValue); ok {
			values = several.GetSlice()
		}
		for _, v := range values {
			out = append(out, fmt.Sprintf("--%s=%s", f.Name, v))
		}
	})
	return out
}

// origin says who has set a flag.
func (s *settings) origin(name string) string {
	if s.flags.Changed(name) {
		return "--" + name
	}
	return "default"
}

// clusterOrigin says where the size of the cluster comes from.
func (s *settings) clusterOrigin(c plan.ClusterSpec, t *trace) string {
	switch {
	case s.flags.Changed("procs"):
		return "--procs"
	case s.flags.Changed("nodes"):
		return "--nodes"
	case c.Table:
		return "nodes table of " + t.label
	}
	return "cluster size stated by " + t.label
}

// setting is one line of --print-config.
type setting struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`
	Doc    string `json:"doc"`
}

// effective lists every setting of a bound spec with its origin.
func (s *settings) effective(spec plan.Spec, t *trace) []setting {
	c := spec.Cluster
	if len(spec.Site) > 0 && s.site.file == "" { // it is made of the flags
		c, _ = s.spec.Cluster.Resolve(t.info, t.Nodes()) // which has succeeded before
	}
	from := s.clusterOrigin(c, t)
	out := []setting{
		{"semantics", spec.Semantics, "this program", "meaning of the settings; another number may schedule otherwise"},
		{"trace", spec.Trace, t.label, "SHA-256 of the content of the trace"},
	}
	switch {
	case c.Table:
		out = append(out, setting{"nodes", len(t.Nodes()), from, "nodes of the cluster"})
	case c.Procs > 0:
		out = append(out, setting{"procs", c.Procs, from, "one-core nodes of the cluster"})
	default:
		out = append(out,
			setting{"nodes", c.Nodes, s.origin("nodes"), "nodes of the cluster"},
			setting{"cores_per_node", c.CoresPerNode, s.origin("cores-per-node"), "cores of each node"},
			setting{"gpus_per_node", c.GPUsPerNode, s.origin("gpus-per-node"), "GPUs of each node"})
	}
	out = append(out,
		setting{"cluster", cmp.Or(s.site.file, "none"), s.origin("cluster"), usage(s.flags.Lookup("cluster"))},
		setting{"profile", cmp.Or(strings.Join(s.site.profiles, " "), "none"), s.origin("profile"), usage(s.flags.Lookup("profile"))},
		setting{"scenario", cmp.Or(s.scenario, "none"), s.origin("scenario"), usage(s.flags.Lookup("scenario"))},
		setting{"vcluster_of", cmp.Or(s.flags.Lookup("vcluster-of").Value.String(), "none"), s.origin("vcluster-of"), usage(s.flags.Lookup("vcluster-of"))},
		setting{"runtime", cmp.Or(s.flags.Lookup("runtime").Value.String(), "of the cluster file, else recorded"), s.origin("runtime"), usage(s.flags.Lookup("runtime"))})
	out = append(out, setting{"exclusive", c.Exclusive, s.origin("exclusive"), usage(s.flags.Lookup("exclusive"))})
	for _, name := range []string{"order", "backfill", "event-order", "cycle", "phase", "overrun", "missing-request", "infeasible", "allow-unheeded",
		"quorum-latency", "quorum-jitter", "seed", "feedback", "warmup", "cooldown"} {
		f := s.flags.Lookup(name)
		out = append(out, setting{strings.ReplaceAll(name, "-", "_"), typed(f.Value.String()), s.origin(name), usage(f)})
	}
	return out
}

// typed is the value of a flag as JSON has it: a number where it is one without a
// unit, else its text, with its unit.
func typed(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return text
}

// usage is the help of a flag as plain text.
func usage(f *pflag.Flag) string { return strings.ReplaceAll(f.Usage, "`", "") }

// configuration is what --print-config -o json prints.
type configuration struct {
	Schema   int       `json:"schema"`
	SpecID   string    `json:"spec_id"`
	Settings []setting `json:"settings"`
}

// printConfig prints the effective settings, and runs nothing.
func (s *settings) printConfig(p *printer, spec plan.Spec, t *trace) error {
	list := s.effective(spec, t)
	if p.json() {
		return p.document(configuration{1, spec.ID(), list})
	}
	if p.forPrograms() {
		t := doc.New("key", "value", "origin", "doc")
		for _, e := range list {
			t.Row(e.Key, doc.Cell{JSON: e.Value}, e.Origin, e.Doc)
		}
		return p.table(t)
	}
	w := p.m.Stdout
	fmt.Fprintf(w, "# Effective configuration, spec %s\n", spec.ID())
	for _, e := range list {
		fmt.Fprintf(w, "\n# %s (from: %s)\n%s: %v\n", e.Doc, e.Origin, e.Key, e.Value)
	}
	return nil
}
