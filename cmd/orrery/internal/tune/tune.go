// Package tune is the verb tune: it searches settings for a goal, and its study keeps what was computed.
package tune

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/cmd/orrery/internal/settings"
	"orrery/cmd/orrery/internal/studies"
	"orrery/cmd/orrery/internal/tunepage"
	"orrery/profiles"
	"orrery/reports/page"
	"orrery/reports/study"
	"orrery/reports/table"
	"orrery/sim/record"
	"orrery/sim/search"
	"orrery/sim/task"
	"orrery/sim/tune"
)

// tuneVerb holds the flags of tune.
type tuneVerb struct {
	settings.Flags
	app          *cli.App
	print        *cli.Printer
	by           studies.ExecutorFlags
	opt          tune.Options
	out          string
	vcluster     string
	objectives   []string
	constraints  []string
	windows      string
	margin       string
	noGroupWorse string
	loads        string
	quiet        bool
	owned        bool // the directory is of this tune already
}

// Command is the verb tune.
func Command(app *cli.App) *cobra.Command {
	v := &tuneVerb{app: app, opt: tune.Defaults()}
	cmd := &cobra.Command{
		Use:   "tune [LOG...] --out DIR",
		Short: "Find better settings for a site, and say how sure that is",
		Long: `Look for settings under which the work of LOG would have waited less, and say
what to change, which jobs it serves better and worse, how sure that is and what
it costs: or that the current policy should be kept, when nothing is better. With
several logs one answer is sought that holds on all.

Every candidate is replayed from end to end: on a plain cluster the orders with
each way to backfill, on a site the profiles of the program, the orders, and the
points of a search. What breaks a bound is out. One test holds all others
against the current policy at once, over windows of equal numbers of jobs. What
passes it is replayed again with jittered arrivals. It is recommended where the
gain stays. Who pays is said with it: the groups of jobs that wait longer, those
that lose most hours first.

With --cluster or --profile the settings of the profile are searched, or those
that --vary names; on a plain cluster the orders and ways to backfill are tried.
Of settings it also says which matter: by a screening, by their parts of the
variance, and around the point that is chosen.

DIR gets page.md, report.html, tune.json, and profile.yaml (one for each
vCluster that is tuned) when something is to change; cluster.yaml with all in it
when that is about services (--vary services.NAME.KEY). All runs are kept in
DIR/study: the same command goes on with what an interrupt has left.
DIR/settings.json says which log and which settings it is of; others need a
directory of their own.

` + settings.Help + `

` + studies.ExecutorHelp + `

Exit codes: 0 a recommendation, to change or to keep; 1 failed, 2 usage, 3 bad
input, 5 not enough evidence, 6 some run failed, 130 interrupted.`,
		Example: `  orrery tune --out tuned
  orrery tune --profile default --out weighed --points 10 --trajectories 2 --objective wait_p95 --subject-to "wait_max <= 30d"`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cli.OneFile,
		RunE:              v.run,
	}
	v.Register(cmd)
	v.print = app.PrintAs(cmd, table.Text, table.JSON, table.Markdown)
	v.by.Register(app, cmd)
	v.flags(cmd)
	cli.CompleteWith(cmd, "method", search.Methods()...)
	cli.CompleteFlag(cmd, "vary", cli.CompleteSetting("default", "weights="))
	cli.CompleteFlag(cmd, "objective", cli.CompleteMetric)
	cli.CompleteFlag(cmd, "subject-to", cli.CompleteBound)
	cli.OnlyOnce(cmd.Flags())
	return cmd
}

// flags adds those that are its own.
func (v *tuneVerb) flags(cmd *cobra.Command) {
	v.app.LogFlags(cmd)
	f := cmd.Flags()
	f.Lookup("seed").Usage = "seed `S` of the search and of the jittered arrivals (default 1)"
	o := &v.opt
	f.StringVar(&v.out, "out", "", "directory `DIR` for what was found, new or of an interrupted tune")
	f.StringVar(&v.vcluster, "vcluster", "", "tune the vCluster `NAME` alone; without it all, alike")
	f.StringArrayVar(&v.objectives, "objective", nil, "`METRIC` to make small or large, or METRIC of KIND NAME, with min: or max: before it where it is not clear; several are traded off, the first decides (default "+tune.DefaultObjective.Metric+")")
	f.StringArrayVar(&v.constraints, "subject-to", nil, "bound `\"METRIC <= VALUE\"` (or >=) on the whole log, of the run or of a group of jobs: \"within_target of class 10 >= 100%\" (vcluster, tenant, class, kind, size, runtime or user); may be given several times (default "+tune.DefaultConstraints+")")
	f.StringArrayVar(&o.Vary, "vary", nil, "setting `PATH=LOW..HIGH` or PATH=A,B,C of the profile, or of a service (services.NAME.policy.KEY, services.NAME.max), to search instead of the default ones; weights (or weights=A,B,C) stands for their shares, and default for the default ones; may be given several times")
	f.Int64Var(&o.Budget, "budget", o.Budget, "`JOBS` that may be replayed in search of something better, counted for each candidate anew; replicas and loads come on top")
	f.IntVar(&o.Trials, "points", o.Trials, "`N` points that the search tries, where the budget lasts")
	f.Var(cli.Choice{Word: &o.Method, Of: search.Methods(), What: "method"}, "method", "method of the search (default by budget and objectives)")
	f.IntVar(&o.Batch, "batch", o.Batch, "`N` points that the search asks for before it looks at results: more keep more workers busy, fewer find more (default 2 for bayes, the method's own for others)")
	f.StringVar(&v.windows, "windows", strconv.Itoa(o.Windows), "`N` windows of equal numbers of jobs over which candidates are compared, or fewer where they would hold too few jobs")
	f.StringVar(&v.margin, "least-gain", percentText(o.Margin), "least gain on the whole log for which a change is recommended, such as `5%`")
	f.StringVar(&v.noGroupWorse, "no-group-worse", "", "bound on the mean wait of each group of jobs with 1 % of the work or more, such as `20%` longer than now (a minute longer is allowed)")
	f.StringVar(&v.loads, "loads", "0.8,0.9,1,1.1", "loads `A,B,...` under which the gain is measured too, as parts of that of the log; none leaves them out")
	f.IntVar(&o.Replicas, "replicas", o.Replicas, "`N` runs with jittered arrivals of the current policy and of each finalist")
	f.Var(cli.Span(&o.JitterBy, o.JitterBy.String()), "jitter", "how far an arrival is moved at most")
	f.Var(cli.Span(&o.JitterBy, o.JitterBy.String()), "shake", "--jitter, as it was called before")
	f.IntVar(&o.Trajectories, "trajectories", o.Trajectories, "`N` trajectories of the screening for settings that do nothing; 0 leaves it out")
	f.IntVar(&o.Points, "sobol", o.Points, "points `N` that Sobol indices may cost, which say how much of the variance each setting explains; 0 leaves them out")
	f.BoolVarP(&v.quiet, "quiet", "q", false, "no progress, no remarks")
	for _, name := range []string{"shake", "warmup", "cooldown"} { // check refuses the last two
		f.Lookup(name).Hidden = true
	}
	cli.Grouped(f, cli.GroupGoal, "objective", "subject-to", "no-group-worse", "least-gain", "vary", "vcluster")
	cli.Grouped(f, cli.GroupSearch, "budget", "points", "method", "batch", "seed")
	cli.Grouped(f, cli.GroupEvidence, "windows", "loads", "replicas", "jitter", "shake")
	cli.Grouped(f, cli.GroupSensitivity, "trajectories", "sobol")
}

// loadsOf reads a list of loads, in thousandths.
func loadsOf(text string) ([]int, error) {
	if text == "none" {
		return nil, nil
	}
	var out []int
	for word := range strings.SplitSeq(text, ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		if err != nil || !(x >= 0.1 && x <= 10) {
			return nil, cli.Usagef("--loads %s: found %q, want numbers from 0.1 to 10 such as 0.8,1,1.2, or none", text, word)
		}
		out = append(out, int(math.Round(1000*x)))
	}
	return out, nil
}

// countOf reads a number of windows. Two that are added up are taken as their sum: they
// were those to tune on and those to accept on, and none is set aside any more.
func countOf(text string) (int, error) {
	sum := 0
	for word := range strings.SplitSeq(text, "+") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 0 {
			return 0, cli.Usagef("--windows %s: want a number, such as 80", text)
		}
		sum += n
	}
	return sum, nil
}

// partOf reads a part in percent, such as 5%.
func partOf(flag, text string) (float64, error) {
	a, err := profiles.ParseAmount(strings.TrimSpace(text))
	if x := a.Number; err != nil || a.Unit != "%" || !(x >= 0 && x <= 1000) {
		return 0, cli.Usagef("--%s %s: want percent, from 0%% to 1000%%, such as 20%%", flag, text)
	}
	return a.Number / 100, nil
}

// percentText writes a part as partOf reads it.
func percentText(x float64) string { return strconv.FormatFloat(100*x, 'g', -1, 64) + "%" }

// check reads what the flags hold as text.
func (v *tuneVerb) check(cmd *cobra.Command) error {
	if v.out == "" {
		return cli.Usagef("no directory: name it with --out DIR")
	}
	if err := v.by.Check(cmd.Flags()); err != nil {
		return err
	}
	if cmd.Flags().Changed("shake") && !v.quiet {
		v.app.Say("orrery: warning: --shake is called --jitter now: write --jitter in its place")
	}
	for _, name := range []string{"warmup", "cooldown"} {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s goes with replay: tune compares policies on all jobs of the log, from an idle cluster on", name)
		}
	}
	var err error
	if v.opt.Windows, err = countOf(v.windows); err != nil {
		return err
	}
	if v.opt.Margin, err = partOf("least-gain", v.margin); err != nil {
		return err
	}
	if v.noGroupWorse != "" {
		if v.opt.NoGroupWorse, err = partOf("no-group-worse", v.noGroupWorse); err == nil && v.opt.NoGroupWorse == 0 {
			err = cli.Usagef("--no-group-worse 0%%: jittered arrivals alone make some group wait longer: give a part above 0, such as 20%%")
		}
		if err != nil {
			return err
		}
	}
	if v.opt.Loads, err = loadsOf(v.loads); err != nil {
		return err
	}
	for _, text := range v.objectives {
		o, err := studies.ObjectiveOf(text)
		if err != nil {
			return err
		}
		v.opt.Objectives = append(v.opt.Objectives, o)
	}
	for _, text := range v.constraints {
		c, err := studies.ConstraintOf(text)
		if err != nil {
			return err
		}
		v.opt.Constraints = append(v.opt.Constraints, c)
	}
	// The runs of a tune draw nothing but what its seed is for.
	v.opt.Seed, v.Spec.Seed = max(v.Spec.Seed, 1), 0
	return nil
}

func (v *tuneVerb) run(cmd *cobra.Command, args []string) error {
	if err := v.check(cmd); err != nil {
		return err
	}
	ctx := cmd.Context()
	problem, err := v.problem(ctx, args)
	if err != nil {
		return err
	}
	if err := v.mayUse(&problem); err != nil {
		return err
	}
	lab := &lab{v: v, problem: &problem, runner: task.NewRunner(nil)}
	for i := range problem.Traces {
		if _, err := lab.runner.Add(problem.Traces[i].Set); err != nil {
			return cli.BadInput(err)
		}
	}
	v.opt.Evaluate = lab.evaluate
	if !v.quiet {
		v.opt.Stage = func(what string) { v.app.Say("%s", what) }
	}
	report, err := tune.Run(ctx, problem, v.opt)
	err = errors.Join(err, lab.close())
	var usage *tune.UsageError
	switch {
	case errors.Is(err, context.Canceled):
		return cli.Coded(cli.ExitInterrupted, fmt.Errorf("interrupted; what was computed is in %s, and the same command goes on with it", v.out))
	case errors.As(err, &usage):
		return cli.Coded(cli.ExitUsage, err)
	case err != nil:
		return err
	}
	if err := v.write(report, &problem); err != nil {
		return err
	}
	v.remarkLooks(report, &problem)
	return v.show(report, args)
}

// problem is what the arguments ask to tune.
func (v *tuneVerb) problem(ctx context.Context, args []string) (tune.Problem, error) {
	p := tune.Problem{VCluster: v.vcluster, Scenario: v.Scenario}
	if len(args) == 0 {
		args = []string{""}
	}
	for i, log := range args {
		if slices.Contains(args[:i], log) {
			return p, cli.Usagef("the log %s is named twice", log)
		}
		one, cluster, err := v.trace(ctx, log)
		if err != nil {
			return p, err
		}
		if j := slices.IndexFunc(p.Traces, func(t tune.Trace) bool { return t.Spec.Trace == one.Spec.Trace }); j >= 0 {
			return p, cli.Usagef("the logs %s and %s hold the same jobs: name each once", args[j], log)
		}
		if i > 0 && cluster != nil && !bytes.Equal(cluster.JSON(), p.Cluster.JSON()) {
			return p, cli.Usagef("%s and %s are of clusters of other sizes, and one profile is wanted for both: name one with --cluster, or with --nodes", args[0], log)
		}
		p.Traces, p.Cluster = append(p.Traces, one), cluster
	}
	return p, nil
}

// trace opens a log, "" for the sample, with the current policy on it.
func (v *tuneVerb) trace(ctx context.Context, log string) (out tune.Trace, cluster *profiles.Cluster, err error) {
	var args []string
	if log != "" {
		args = append(args, log)
	}
	t, err := logfile.OpenLog(ctx, v.app, args, v.quiet)
	if err != nil {
		return out, nil, err
	}
	defer t.Close()
	logfile.Remark(v.app, t, v.quiet)
	if out.Spec, err = v.Bound(t); err != nil {
		return out, nil, err
	}
	if cluster = v.Site.Read; cluster != nil {
		if len(cluster.VClusters) == 0 {
			cluster.VClusters = []profiles.VCluster{profiles.NewVCluster("default", profiles.Nodes{"all"})}
		}
		if err := cluster.Inline("."); err != nil {
			return out, nil, cli.Coded(cli.ExitUsage, err)
		}
		out.Spec.Site = cluster.JSON()
	}
	out.Set, err = logfile.HoldBundle(t.Table, t.About.Name)
	return out, cluster, err
}

// write puts what was found into the directory.
func (v *tuneVerb) write(r *tune.Report, p *tune.Problem) error {
	if err := v.claim(p); err != nil { // it is not claimed yet where nothing was computed
		return err
	}
	doc, err := record.AppendJSON(nil, r)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := page.Markdown(&text, r.Page(), nil); err != nil {
		return err
	}
	files := map[string][]byte{"tune.json": doc, "page.md": text.Bytes()}
	for _, p := range r.Profiles() {
		files[v.profileFile(r, p.VCluster)] = p.Profile.YAML()
	}
	if c := r.Cluster(); c != nil {
		files[tunedCluster] = c.YAML()
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := v.app.Create(filepath.Join(v.out, name), cli.Writing(files[name])); err != nil {
			return err
		}
	}
	for _, name := range append(v.profileFiles(p), tunedCluster) {
		if files[name] != nil {
			continue
		}
		if err := os.Remove(filepath.Join(v.out, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err // one of an earlier answer would be taken for a recommendation
		}
	}
	return study.Write(v.out, tunepage.Study(r, v.out), v.app.Made())
}

// tunedCluster is the cluster file to use where services change.
const tunedCluster = "cluster.yaml"

// profileFile is the name of the profile to use in a vCluster.
func (v *tuneVerb) profileFile(r *tune.Report, vcluster string) string {
	if len(r.Profiles()) == 1 {
		return "profile.yaml"
	}
	return "profile-" + vcluster + ".yaml"
}

// profileFiles are all names that a profile to use may have.
func (v *tuneVerb) profileFiles(p *tune.Problem) []string {
	out := []string{"profile.yaml"}
	if p.Cluster != nil {
		for i := range p.Cluster.VClusters {
			out = append(out, "profile-"+p.Cluster.VClusters[i].Name+".yaml")
		}
	}
	return out
}

// mostPayers of each side stand in the table of the terminal.
const mostPayers = 8

// show prints the recommendation.
func (v *tuneVerb) show(r *tune.Report, log []string) error {
	switch v.print.Format {
	case "json":
		if err := v.print.Document(r); err != nil {
			return err
		}
	case "markdown":
		if err := page.Markdown(v.app.Stdout, r.Page(), nil); err != nil {
			return err
		}
	default:
		fmt.Fprintf(v.app.Stdout, "%s\n\n", r.Title())
		for _, s := range r.Unheeded {
			v.print.Paragraph("UNHEEDED: " + s)
		}
		for _, s := range r.Summary() {
			v.print.Paragraph(s)
		}
		what := "What would change"
		if r.Verdict != tune.Change {
			what = "What the best of the others changes"
		}
		if err := v.print.Section(what, r.ChangeTable()); err != nil {
			return err
		}
		if err := v.print.Section("Who pays, and who gains", r.Payers(mostPayers, r.Losers, r.Gainers)); err != nil {
			return err
		}
		if err := v.print.Section("What it costs the scheduler, on the whole log", r.Costs()); err != nil {
			return err
		}
		for i := range r.Sensitivity {
			if err := v.print.Section("Which settings matter to "+r.Sensitivity[i].Metric, r.Sensitivity[i].Table()); err != nil {
				return err
			}
		}
		v.next(r, log)
	}
	if r.Verdict == tune.Unsure {
		return cli.Coded(cli.ExitEvidence, fmt.Errorf("%s: %s", r.Verdict, r.Why))
	}
	return nil
}

// next says what may be done with it.
func (v *tuneVerb) next(r *tune.Report, log []string) {
	fmt.Fprintf(cli.Escaped(v.app.Stdout), "\nreport: %s\n", filepath.Join(v.out, page.FileHTML))
	if r.Verdict != tune.Change {
		return
	}
	words := v.recommended(r)
	for _, name := range log {
		fmt.Fprintf(cli.Escaped(v.app.Stdout), "Next: %s\n", strings.Join(append([]string{"orrery", "replay", cli.Quoted(name)}, words...), " "))
	}
}

// recommended are the flags of a replay under what is recommended: those that were given,
// with the files that were written or the flags that change.
func (v *tuneVerb) recommended(r *tune.Report) (words []string) {
	instead := []string{"--profile", "--seed"} // what is given in their place, or is no setting of a replay here
	switch {
	case r.Cluster() != nil: // it has the profiles and the routing in it
		instead = append(instead, "--cluster", "--vcluster-of")
	case len(r.Profiles()) == 0:
		instead = append(instead, "--order", "--backfill")
	}
	for _, flag := range v.Given() {
		if name, _, _ := strings.Cut(flag, "="); !slices.Contains(instead, name) {
			words = append(words, cli.Quoted(flag))
		}
	}
	file := func(name string) string {
		path := filepath.Join(v.out, name)
		if !filepath.IsAbs(path) {
			path = "./" + path // a file, and no name of one of the program
		}
		return path
	}
	switch {
	case r.Cluster() != nil:
		words = append(words, "--cluster", cli.Quoted(file(tunedCluster)))
	case len(r.Profiles()) == 0:
		for _, c := range r.Changes {
			words = append(words, "--"+c.Key, c.After)
		}
	default:
		for _, p := range r.Profiles() {
			words = append(words, "--profile", cli.Quoted(p.VCluster+"="+file(v.profileFile(r, p.VCluster))))
		}
	}
	return words
}
