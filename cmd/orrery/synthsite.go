package main

import (
	"github.com/spf13/cobra"

	"orrery/traces/synth/site"
)

// siteVerb holds the flags of synth site.
type siteVerb struct {
	synthVerb
	days int32
}

func (m *Main) synthSiteCommand() *cobra.Command {
	v := &siteVerb{synthVerb: synthVerb{m: m, model: modelSite}}
	standard := site.Default(1024)
	cmd := &cobra.Command{
		Use:   "site --out OUT",
		Short: "Generate a month of a site with four vClusters",
		Long: `Generate the workload of a site as a trace, with its nodes, tenants, dependencies
and events. The vClusters:

  hpc        rigid batch jobs on whole nodes of four GPUs (half of the nodes)
  ml         training on nodes of eight GPUs, with ranges of nodes, checkpoints,
             task groups and workflows of 3 to 12 tasks (three eighths)
  service    services without an end, half of which follow a demand that
             changes by the hour, and sessions (a tenth)
  sensitive  a few claims of class 10 (the rest)

The number of jobs follows from the load. The same parameters and seed give the
same bytes. OUT is NAME.trace, a directory of tables; it appears whole or not at
all. --print-config prints every parameter as JSON, spans in microseconds.

Exit codes: 0 generated, 1 failed, 2 usage, 130 interrupted.`,
		Example: `  orrery synth site --out site.trace
  orrery synth site --days 7 --nodes 64 --load 0.8 --seed 7 --out week.trace`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              v.run,
	}
	f := cmd.Flags()
	f.Int32Var(&v.days, "days", standard.Days, "`D` days, the first a Monday")
	f.Int32Var(&v.nodes, "nodes", standard.Nodes, "`N` nodes of all vClusters, 64 or more")
	f.Float64Var(&v.load, "load", standard.Load, "offered load `L`, 1 fills the site")
	f.IntVar(&v.tenants, "tenants", standard.Tenants, "`N` tenants, 2 or more")
	v.commonFlags(cmd, "NAME.trace")
	return cmd
}

func (v *siteVerb) run(cmd *cobra.Command, _ []string) error {
	if err := v.checkOut(); err != nil {
		return err
	}
	p := site.Default(v.nodes)
	p.Days, p.Load, p.Tenants = v.days, v.load, v.tenants
	w, err := site.Generate(p, v.seed)
	if err != nil {
		return usagef("%w", err)
	}
	return v.produce(cmd.Context(), w)
}
