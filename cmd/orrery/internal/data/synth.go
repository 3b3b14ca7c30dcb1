package data

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/internal/doc"
	"orrery/reports/plot"
	"orrery/traces/synth"
	"orrery/traces/synth/site"
)

// Models of workloads, as results name them.
const (
	modelLublin  = "lublin"
	modelClasses = "lublin-classes"
	modelGPU     = "gpu"
	modelSite    = "site"
)

// synthVerb holds the flags of synth. Those that are not given leave the
// model's own values.
type synthVerb struct {
	app   *cli.App
	print *cli.Printer
	out   string
	model string
	jobs  int64
	seed  uint64
	quiet bool
	force bool
	only  bool // the parameters

	classes          bool
	procs, nodes     int32
	load, skew       float64
	startHour, users int
	tenants          int
	services         float64
}

func synthCommand(app *cli.App) *cobra.Command {
	v := &synthVerb{app: app, model: modelLublin}
	cmd := &cobra.Command{
		Use:   "synth [MODEL] --out OUT",
		Short: "Generate a workload from a published model",
		Long: `Generate a workload as a trace. The models:

  lublin  rigid parallel jobs of an HPC cluster (Lublin and Feitelson 2003)
  gpu     a cluster of nodes with eight GPUs, tenants and services
  site    a month of a site with four vClusters, workflows and services

Without one, 'orrery synth' is 'orrery synth lublin' and takes its flags. The same
parameters and seed give the same bytes.

Exit codes: 0 generated, 1 failed, 2 usage, 130 interrupted.`,
		Example: `  orrery synth lublin --jobs 1000 --procs 128 --seed 7 --out lublin.trace
  orrery synth gpu --jobs 500 --nodes 16 --out cluster.trace
  orrery synth site --days 2 --nodes 64 --out sited.trace
  orrery synth --jobs 1000 --procs 128 --seed 7 --out small.trace`,
		Args:              group0,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              v.run,
	}
	v.lublinFlags(cmd)
	cmd.AddCommand(synthLublinCommand(app), synthGPUCommand(app), synthSiteCommand(app))
	return cmd
}

// group0 takes no arguments: a word is a model that there is not.
func group0(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return cli.Group(cmd, args)
}

func synthLublinCommand(app *cli.App) *cobra.Command {
	v := &synthVerb{app: app, model: modelLublin}
	cmd := &cobra.Command{
		Use:   "lublin --out OUT",
		Short: "Generate rigid parallel jobs by the model of Lublin and Feitelson",
		Long: `Generate a workload of rigid parallel jobs by the model of Lublin and Feitelson
(JPDC 63(11), 2003); with --classes batch and interactive jobs are told apart.

OUT is NAME.trace, a directory of tables, or NAME.parquet, the table of jobs alone;
it appears whole or not at all. The defaults of the model are its authors';
--print-config prints every parameter as JSON, spans in microseconds.

Exit codes: 0 generated, 1 failed, 2 usage, 130 interrupted.`,
		Example: `  orrery synth lublin --out plain.trace --jobs 1000 --procs 128 --seed 7
  orrery synth lublin --classes --out busy.parquet --jobs 500 --procs 256 --load 0.9
  orrery synth lublin --print-config --jobs 10`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              v.run,
	}
	v.lublinFlags(cmd)
	return cmd
}

// lublinFlags adds the flags of the model lublin.
func (v *synthVerb) lublinFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&v.classes, "classes", false, "tell batch and interactive jobs apart")
	v.jobFlags(cmd)
	f.Int32Var(&v.procs, "procs", 128, "`P` processors of the cluster")
	f.IntVar(&v.users, "users", 0, "`N` users")
	f.Float64Var(&v.skew, "user-skew", 0, "exponent `E` of the Zipf law of jobs over users")
	v.commonFlags(cmd, "NAME.trace or NAME.parquet")
}

func synthGPUCommand(app *cli.App) *cobra.Command {
	v := &synthVerb{app: app, model: modelGPU}
	cmd := &cobra.Command{
		Use:   "gpu --out OUT",
		Short: "Generate jobs of a cluster of GPU nodes",
		Long: `Generate the workload of a cluster of nodes with eight GPUs each: jobs of tenants
that ask for GPUs, and services.

OUT is NAME.trace, a directory of tables (there is one of nodes); it appears whole or
not at all. --print-config prints every parameter as JSON, spans in microseconds.

Exit codes: 0 generated, 1 failed, 2 usage, 130 interrupted.`,
		Example: `  orrery synth gpu --out gpus.trace --jobs 500 --nodes 16
  orrery synth gpu --print-config --jobs 10 --nodes 4`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              v.run,
	}
	f := cmd.Flags()
	v.jobFlags(cmd)
	f.Int32Var(&v.nodes, "nodes", 16, "`N` nodes with eight GPUs each")
	f.IntVar(&v.tenants, "tenants", 0, "`N` tenants")
	f.Float64Var(&v.services, "service-share", 0, "share `X` of the rows that are services, 0 to 1")
	v.commonFlags(cmd, "NAME.trace")
	return cmd
}

// jobFlags adds the flags of models that make a number of jobs.
func (v *synthVerb) jobFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Int64Var(&v.jobs, "jobs", 10_000, "`N` jobs")
	f.Float64Var(&v.load, "load", 0, "offered load `L`, 1 fills the cluster; without it the model's own")
	f.IntVar(&v.startHour, "start-hour", 0, "hour `H` of the day at which the trace starts, 0 to 23")
}

// commonFlags adds the flags that every model has.
func (v *synthVerb) commonFlags(cmd *cobra.Command, name string) {
	f := cmd.Flags()
	f.Uint64Var(&v.seed, "seed", 1, "seed `S` of every random draw")
	f.StringVar(&v.out, "out", "", "trace `OUT` to write: "+name+" (required)")
	f.BoolVarP(&v.quiet, "quiet", "q", false, "no progress, and print nothing but errors (and -o json)")
	f.BoolVar(&v.only, "print-config", false, "print the parameters as JSON, and write nothing")
	v.print = v.app.PrintFlag(cmd)
	cli.ForceFlag(cmd, &v.force)
}

func (v *synthVerb) run(cmd *cobra.Command, _ []string) error {
	if v.classes {
		v.model = modelClasses
	}
	if err := v.checkOut(); err != nil {
		return err
	}
	w, err := v.workload(cmd.Flags().Changed)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	return v.produce(cmd.Context(), w)
}

// checkOut refuses an output that cannot hold what the model makes.
func (v *synthVerb) checkOut() error {
	if v.only {
		return nil
	}
	if err := logfile.CheckTraceName(v.out); err != nil {
		return err
	}
	if v.model != modelLublin && v.model != modelClasses && strings.HasSuffix(v.out, ".parquet") {
		return cli.Usagef("--out %s: the model %s makes a table of nodes too, which a single Parquet file cannot hold; name it .trace", v.out, v.model)
	}
	return nil
}

// produce writes the workload, or prints its recipe alone when that is asked for.
func (v *synthVerb) produce(ctx context.Context, w *synth.Workload) error {
	if v.only {
		_, err := fmt.Fprintln(v.app.Stdout, w.Recipe())
		return err
	}
	if err := cli.MayWrite("--out", v.out, v.force); err != nil {
		return err
	}
	hash, err := v.write(ctx, w)
	if err != nil {
		return err
	}
	return v.show(w, hash)
}

// workload sets the parameters that were given on the model's own.
func (v *synthVerb) workload(given func(string) bool) (*synth.Workload, error) {
	if v.model == modelGPU {
		p := synth.DefaultGPU(v.nodes)
		set(&p.Load, v.load, given("load"))
		set(&p.StartHour, v.startHour, given("start-hour"))
		set(&p.Tenants, v.tenants, given("tenants"))
		set(&p.ServiceShare, v.services, given("service-share"))
		return synth.GPU(p, v.jobs, v.seed)
	}
	p := synth.DefaultLublin(v.procs)
	if v.model == modelClasses {
		p = synth.DefaultLublinClasses(v.procs)
	}
	set(&p.Load, v.load, given("load"))
	set(&p.StartHour, v.startHour, given("start-hour"))
	set(&p.Users, v.users, given("users"))
	set(&p.UserSkew, v.skew, given("user-skew"))
	return synth.Lublin(p, v.jobs, v.seed)
}

func set[T any](field *T, v T, given bool) {
	if given {
		*field = v
	}
}

// write writes the workload, and nothing when ctx ends first.
func (v *synthVerb) write(ctx context.Context, w *synth.Workload) (hash string, err error) {
	bar := v.app.Progress("generating", "jobs", v.quiet)
	defer bar.Done()
	return w.Write(v.out, func(made int64) error {
		bar.Draw(made, w.Info().Rows, "")
		return ctx.Err()
	})
}

// synthesised is what synth -o json prints.
type synthesised struct {
	Trace      string `json:"trace"`
	Model      string `json:"model"`
	Jobs       int64  `json:"jobs"`
	Seed       uint64 `json:"seed"`
	Processors int32  `json:"processors"`
	Nodes      int32  `json:"nodes"`
	Hash       string `json:"hash"`
}

// show prints what was made.
func (v *synthVerb) show(w *synth.Workload, hash string) error {
	if v.quiet && !v.print.ForPrograms() {
		return nil
	}
	i := w.Info()
	if v.print.JSON() {
		return v.print.Document(synthesised{v.out, v.model, i.Rows, v.seed, i.MaxProcs, i.MaxNodes, hash})
	}
	t := doc.New("what", "value")
	t.Row("trace", v.out)
	t.Row("model", v.model)
	t.Row("jobs", doc.Quantity(plot.Count(i.Rows), i.Rows))
	t.Row("seed", int64(v.seed))
	t.Row("processors", i.MaxProcs)
	t.Row("nodes", i.MaxNodes)
	t.Row("hash", hash)
	if err := v.print.Table(t); err != nil {
		return err
	}
	site := ""
	if v.model == modelSite {
		site = " --cluster month"
	}
	v.app.Say("Next: orrery replay %s%s", cli.Quoted(v.out), site)
	return nil
}

// siteVerb holds the flags of synth site.
type siteVerb struct {
	synthVerb
	days int32
}

func synthSiteCommand(app *cli.App) *cobra.Command {
	v := &siteVerb{synthVerb: synthVerb{app: app, model: modelSite}}
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
		return cli.Usagef("%w", err)
	}
	return v.produce(cmd.Context(), w)
}
