// Package settings turns flags, cluster files and scenarios into the specification of a replay. It must not know
// how a replay goes.
package settings

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/internal/doc"
	"orrery/profiles"
	"orrery/scheduler/order"
	"orrery/sim/plan"
)

// Flags are the flags that say what a replay is: those of replay and verify.
type Flags struct {
	Spec   plan.Spec
	Warmup warmup
	Site   siteFlags
	// scenario is the path of a file, "" for none.
	Scenario string
	Set      *pflag.FlagSet // only the flags below
}

// Help is the part of the help that replay and verify share.
const Help = `LOG is a trace bundle, a Parquet table of jobs, or a raw log (SWF), plain or
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

// Register adds the flags to a verb.
func (s *Flags) Register(cmd *cobra.Command) {
	s.Spec = plan.DefaultSpec()
	s.Warmup = warmup{percent: 1}
	f := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	c := &s.Spec.Cluster
	f.Int32Var(&c.Procs, "procs", 0, "cluster of `P` one-core nodes")
	f.Int32Var(&c.Nodes, "nodes", 0, "cluster of `N` nodes, with --cores-per-node")
	f.Int32Var(&c.CoresPerNode, "cores-per-node", 0, "`C` cores on each node, with --nodes")
	f.Int32Var(&c.GPUsPerNode, "gpus-per-node", 0, "`G` GPUs on each node, with --nodes and --cores-per-node")
	f.BoolVar(&c.Exclusive, "exclusive", false, "a job has its nodes alone")

	f.Var(orderValue(&s.Spec), "order", "order of the queue: "+cli.OneOf(order.Names()))
	f.Var(backfillValue(&s.Spec), "backfill", "which jobs may overtake a waiting job: none, first-fit, easy or conservative[:DEPTH]")
	s.Spec.EventOrder = "batch"
	f.Var(cli.Choice{Word: &s.Spec.EventOrder, Of: []string{"batch", "sequential"}, What: "event order"}, "event-order",
		"events of one instant: all of them and then one pass, or a pass after each")
	f.Var(cycleValue(&s.Spec), "cycle", "when the scheduler looks: at every event, or every DUR")
	f.Var(cli.Span(&s.Spec.Phase, "0s"), "phase", "first pass of the cycle, below --cycle")

	s.Spec.Overrun, s.Spec.Infeasible = "kill", "reject"
	f.Var(cli.Choice{Word: &s.Spec.Overrun, Of: []string{"kill", "extend"}, What: "policy"}, "overrun", "what happens to jobs that outlive their request")
	f.Var(missingValue(&s.Spec), "missing-request", "what the scheduler is told of jobs that state no requested time")
	f.Var(cli.Choice{Word: &s.Spec.Infeasible, Of: []string{"reject", "error"}, What: "policy"}, "infeasible",
		"jobs that can never run, up to 1 % of the work: refuse them at submission, or refuse the replay")
	f.BoolVar(&s.Spec.AllowUnheeded, "allow-unheeded", false, "go on where more than 1 % of the work asks for what the cluster does not have, and say so first")
	f.Var(cli.Span(&s.Spec.QuorumLatency, "0s"), "quorum-latency", "time from a decision to its commitment, 1h at most")
	f.Var(cli.Span(&s.Spec.QuorumJitter, "0s"), "quorum-jitter", "added to the latency, uniformly from 0 to DUR (1h at most) by a keyed draw")
	f.Uint64Var(&s.Spec.Seed, "seed", 0, "seed `S` of the random draws, with --quorum-jitter")
	f.BoolVar(&s.Spec.Feedback, "feedback", false, "jobs that follow others (after_job, think_time) come when these have left, not when the log says")
	f.Var(s.Warmup.value(), "warmup", "what the steady window leaves out at the beginning: jobs, a time, or a part of the jobs")
	f.Var(cli.Span(&s.Spec.Cooldown, "0s"), "cooldown", "what the steady window leaves out before the last submission")
	f.StringVar(&s.Scenario, "scenario", "", "`FILE` of changes on the way and of work that is left out (docs/WHATIF.md)")
	s.Set = f
	s.registerSite()
	cli.OnlyOnce(f)
	cli.Grouped(f, cli.GroupCluster, "procs", "nodes", "cores-per-node", "gpus-per-node", "exclusive", "cluster", "profile", "vcluster-of", "runtime")
	cli.Grouped(f, cli.GroupPolicy, "order", "backfill", "event-order", "cycle", "phase")
	cli.Grouped(f, cli.GroupJobs, "overrun", "missing-request", "infeasible", "allow-unheeded", "feedback", "scenario")
	cli.Grouped(f, cli.GroupQuorum, "quorum-latency", "quorum-jitter", "seed")
	cli.Grouped(f, cli.GroupMeasured, "warmup", "cooldown")
	cmd.Flags().AddFlagSet(f)
	cli.CompleteFlag(cmd, "profile", cli.CompleteProfile)
	cli.CompleteWith(cmd, "runtime", "recorded", "modelled")
	cli.CompleteWith(cmd, "vcluster-of", append([]string{"all="}, routingColumns...)...)
	cli.CompleteFlag(cmd, "cluster", cli.WordsOrFiles(profiles.ClusterNames()...))

	cli.CompleteWith(cmd, "order", order.Names()...)
	cli.CompleteWith(cmd, "backfill", order.BackfillNames()...)
	cli.CompleteWith(cmd, "event-order", "batch", "sequential")
	cli.CompleteWith(cmd, "overrun", "kill", "extend")
	cli.CompleteWith(cmd, "missing-request", "infinite", "recorded", "default:")
	cli.CompleteWith(cmd, "infeasible", "reject", "error")
}

// Bound is the spec for a trace, checked as a whole.
func (s *Flags) Bound(t *logfile.Trace) (plan.Spec, error) {
	// A zero that was typed is not the zero of a flag left out.
	for _, name := range []string{"procs", "nodes", "cores-per-node", "gpus-per-node"} {
		if f := s.Set.Lookup(name); f.Changed && f.Value.String() == "0" {
			return s.Spec, &plan.UsageError{Text: "--" + name + " is 0: want at least 1"}
		}
	}
	spec := s.Spec
	s.Warmup.Enter(&spec, t.About)
	if err := s.enterSite(&spec, t); err != nil {
		return spec, err
	}
	asked, err := loadScenario(s.Scenario)
	if err != nil {
		return spec, err
	}
	if asked != nil {
		spec.Scenario = asked.JSON()
	}
	spec, err = spec.Bind(t)
	if told := asked.Located(err); told != nil {
		return spec, told
	}
	return spec, s.Site.located(err)
}

// Given lists the flags that the user has set, in a form to pass on.
func (s *Flags) Given() []string {
	var out []string
	s.Set.VisitAll(func(f *pflag.Flag) {
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
func (s *Flags) origin(name string) string {
	if s.Set.Changed(name) {
		return "--" + name
	}
	return "default"
}

// clusterOrigin says where the size of the cluster comes from.
func (s *Flags) clusterOrigin(c plan.ClusterSpec, t *logfile.Trace) string {
	switch {
	case s.Set.Changed("procs"):
		return "--procs"
	case s.Set.Changed("nodes"):
		return "--nodes"
	case c.Table:
		return "nodes table of " + t.Label
	}
	return "cluster size stated by " + t.Label
}

// setting is one line of --print-config.
type setting struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`
	Doc    string `json:"doc"`
}

// effective lists every setting of a bound spec with its origin.
func (s *Flags) effective(spec plan.Spec, t *logfile.Trace) []setting {
	c := spec.Cluster
	if len(spec.Site) > 0 && s.Site.File == "" { // it is made of the flags
		c, _ = s.Spec.Cluster.Resolve(t.About, t.Nodes()) // which has succeeded before
	}
	from := s.clusterOrigin(c, t)
	out := []setting{
		{"semantics", spec.Semantics, "this program", "meaning of the settings; another number may schedule otherwise"},
		{"trace", spec.Trace, t.Label, "SHA-256 of the content of the trace"},
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
		setting{"cluster", cmp.Or(s.Site.File, "none"), s.origin("cluster"), usage(s.Set.Lookup("cluster"))},
		setting{"profile", cmp.Or(strings.Join(s.Site.profiles, " "), "none"), s.origin("profile"), usage(s.Set.Lookup("profile"))},
		setting{"scenario", cmp.Or(s.Scenario, "none"), s.origin("scenario"), usage(s.Set.Lookup("scenario"))},
		setting{"vcluster_of", cmp.Or(s.Set.Lookup("vcluster-of").Value.String(), "none"), s.origin("vcluster-of"), usage(s.Set.Lookup("vcluster-of"))},
		setting{"runtime", cmp.Or(s.Set.Lookup("runtime").Value.String(), "of the cluster file, else recorded"), s.origin("runtime"), usage(s.Set.Lookup("runtime"))})
	out = append(out, setting{"exclusive", c.Exclusive, s.origin("exclusive"), usage(s.Set.Lookup("exclusive"))})
	for _, name := range []string{"order", "backfill", "event-order", "cycle", "phase", "overrun", "missing-request", "infeasible", "allow-unheeded",
		"quorum-latency", "quorum-jitter", "seed", "feedback", "warmup", "cooldown"} {
		f := s.Set.Lookup(name)
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

// PrintConfig prints the effective settings, and runs nothing.
func (s *Flags) PrintConfig(p *cli.Printer, spec plan.Spec, t *logfile.Trace) error {
	list := s.effective(spec, t)
	if p.JSON() {
		return p.Document(configuration{1, spec.ID(), list})
	}
	if p.ForPrograms() {
		t := doc.New("key", "value", "origin", "doc")
		for _, e := range list {
			t.Row(e.Key, doc.Cell{JSON: e.Value}, e.Origin, e.Doc)
		}
		return p.Table(t)
	}
	w := p.App.Stdout
	fmt.Fprintf(w, "# Effective configuration, spec %s\n", spec.ID())
	for _, e := range list {
		fmt.Fprintf(w, "\n# %s (from: %s)\n%s: %v\n", e.Doc, e.Origin, e.Key, e.Value)
	}
	return nil
}
