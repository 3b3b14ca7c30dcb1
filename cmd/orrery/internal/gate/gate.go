// Package gate is the verb gate, which holds runs to a baseline.
package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/formats"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/cmd/orrery/internal/settings"
	"orrery/internal/disk"
	"orrery/internal/doc"
	"orrery/profiles"
	"orrery/reports/page"
	"orrery/reports/table"
	"orrery/sim/gate"
	"orrery/sim/plan"
)

// builtinGate is the word for the gate that is part of the program.
const builtinGate = "builtin"

// gateVerb holds the flags of gate.
type gateVerb struct {
	app      *cli.App
	print    *cli.Printer
	workers  int
	junit    string
	markdown string
	baseline string
	update   bool
	by       gate.Provenance
	write    string
	quiet    bool
	force    bool
	opener   logfile.Opener // of traces
}

// Command is the verb gate.
func Command(app *cli.App) *cobra.Command {
	v := &gateVerb{app: app}
	cmd := &cobra.Command{
		Use:   "gate FILE | gate " + builtinGate,
		Short: "Check that a change makes no schedule worse",
		Long: `Replay the runs of a gate file and check what it asks for: the same schedule as
the stored baseline (exact), metrics within a tolerance of it (banded), a run
not worse than another over windows, with a one-sided bound (paired), the work
that a run costs in things that can be counted (counted), and assertions: limits
of metrics (bound), shares of tenants (balance), a queue that does not grow
without end (steady), work that is left alone (thrash). docs/GATE-FORMAT.md has
every key.

The word ` + builtinGate + ` stands for the gate that is part of the program: six situations
that a scheduler has to master, on generated workloads. --out copies its files
into a directory, to be changed; then nothing is run. With --baseline FILE it
also checks that each run schedules as in that baseline, and costs no more work.

-o sarif is for code scanning. Where $GITHUB_STEP_SUMMARY is set, the report is
appended to that file as Markdown.

A paired check on a trace compares 20 windows of it, with a margin of 3 %. Both
sides are replayed with jittered arrivals, with as many seeds as the noise
between them asks for; a check says how small a regression it finds in 8 of 10
cases, "(finds 2.5 %)", unless both sides scheduled alike.

--update-baseline stores what the runs come to, with the reason, beside the gate
file or in --baseline, and says how small a regression will be found. A baseline
that is there is replaced with --force; without it the runs that would change
are named. Runs that come out as before keep their old reason. The outcome does
not depend on --workers.

Exit codes: 0 all checks hold, 1 failed, 2 usage (a gate file that is wrong
too), 3 bad input, 4 a regression, 5 no regression, but the evidence does not
suffice, 130 interrupted.`,
		Example: `  orrery gate builtin
  orrery gate builtin --baseline own.json --update-baseline --reason "version 1" --force
  orrery gate builtin --out mygate
  orrery gate mygate/gate.yaml --update-baseline --reason "the first baseline" --by ci
  orrery gate mygate/gate.yaml --junit gate.xml --markdown gate.md -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.FirstWordOrFile(builtinGate),
		RunE:              v.run,
	}
	app.LogFlags(cmd)
	f := cmd.Flags()
	f.IntVar(&v.workers, "workers", runtime.GOMAXPROCS(0), "`N` replays at a time")
	f.StringVar(&v.junit, "junit", "", "`FILE` to write as JUnit XML too")
	f.StringVar(&v.markdown, "markdown", "", "`FILE` to write as a comment for a pull request too")
	f.StringVar(&v.baseline, "baseline", "", "`FILE` of the baseline, instead of the one that the gate file names")
	f.BoolVar(&v.update, "update-baseline", false, "store what the runs come to as the baseline, with --reason")
	f.StringVar(&v.by.Reason, "reason", "", "`TEXT` that says why the baseline changes; it is stored")
	f.StringVar(&v.by.By, "by", "", "`NAME` of the person who changes the baseline; without it the user of git, or of the system")
	f.StringVar(&v.write, "out", "", "directory `DIR` to copy the files of the gate of the program into")
	f.BoolVarP(&v.quiet, "quiet", "q", false, "no progress, and no table when all checks hold")
	cli.ForceFlag(cmd, &v.force)
	v.print = app.PrintAs(cmd, table.Text, table.JSON, table.Markdown, table.CSV, cli.FormatSARIF)
	cli.Grouped(f, cli.GroupWorkers, "workers")
	cli.Grouped(f, cli.GroupResults, "junit", "markdown", "baseline", "update-baseline", "reason", "by")
	cli.OnlyOnce(f)
	return cmd
}

func (v *gateVerb) run(cmd *cobra.Command, args []string) error {
	if err := v.check(args[0]); err != nil {
		return err
	}
	if v.write != "" {
		return v.copyOut()
	}
	g, files, err := v.open(args[0])
	if err != nil {
		return err
	}
	v.opener = logfile.Opener{App: v.app, Quiet: true}
	defer v.opener.Close()
	path := v.baselinePath(args[0], g)
	if err := v.mayWriteFiles(); err != nil {
		return err
	}
	before, err := v.stored(path, args[0], g)
	if err != nil {
		return err
	}
	bar := v.app.Progress("replaying", "runs", v.quiet)
	o := gate.Options{Workers: v.workers, Baseline: before, Progress: func(done, all int) {
		bar.Draw(int64(done), int64(all), "")
	}}
	if v.update { // its seeds are chosen anew
		o.Baseline = nil
	}
	evidence, err := gate.Run(cmd.Context(), g, files, o)
	bar.Done()
	if err != nil {
		return cli.WrongFile(err)
	}
	if v.update {
		if before, err = v.store(cmd.Context(), path, evidence, before); err != nil {
			return err
		}
	}
	report, err := evidence.Judge(before)
	if err != nil {
		return cli.WrongFile(err)
	}
	if err := v.summarise(report); err != nil {
		return err
	}
	file := args[0]
	if file == builtinGate {
		file = ""
	}
	if err := v.show(report, g, file); err != nil {
		return err
	}
	return verdictOf(report)
}

// check refuses flags that do not apply to each other.
func (v *gateVerb) check(file string) error {
	switch {
	case v.workers < 1:
		return cli.Usagef("--workers is %d: want at least 1", v.workers)
	case v.update && strings.TrimSpace(v.by.Reason) == "":
		return cli.Usagef("--update-baseline needs --reason TEXT: it is stored with the baseline")
	case !v.update && v.by.Reason != "":
		return cli.Usagef("--reason goes with --update-baseline")
	case !v.update && v.by.By != "":
		return cli.Usagef("--by goes with --update-baseline")
	case v.write != "" && file != builtinGate:
		return cli.Usagef("--out copies the gate of the program: name it, gate %s --out %s", builtinGate, v.write)
	case v.update && file == builtinGate && v.baseline == "":
		return cli.Usagef("the gate of the program has no folder to keep a baseline in: name a file with --baseline FILE")
	}
	return nil
}

// mayWriteFiles refuses files that are there already. What a baseline would lose is
// known once the runs are made.
func (v *gateVerb) mayWriteFiles() error {
	for _, file := range []struct{ flag, path string }{{"--junit", v.junit}, {"--markdown", v.markdown}} {
		if err := cli.MayWrite(file.flag, file.path, v.force); err != nil {
			return err
		}
	}
	return nil
}

// open reads the gate file.
func (v *gateVerb) open(file string) (*profiles.Gate, gate.Files, error) {
	if file == builtinGate {
		text, err := fs.ReadFile(gate.Builtin(), gate.BuiltinFile)
		if err != nil {
			return nil, nil, err
		}
		g, err := profiles.ParseGate(gate.BuiltinFile, text)
		if err == nil && v.baseline != "" {
			gate.HoldToBaseline(g)
		}
		return g, ownFiles{}, err
	}
	g, err := profiles.LoadGate(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, cli.NoFile(file, file, "a gate file, or the word "+builtinGate, builtinGate)
	}
	if err != nil {
		return nil, nil, cli.OtherContent(file, cli.WrongFile(err), "a gate file", cli.ExitUsage, cli.Written...)
	}
	return g, &settings.BesideFiles{Dir: filepath.Dir(file), Opener: &v.opener}, nil
}

// baselinePath is where the baseline is stored, "" for nowhere.
func (v *gateVerb) baselinePath(file string, g *profiles.Gate) string {
	switch {
	case v.baseline != "":
		return v.baseline
	case file == builtinGate:
		return ""
	case g.Baseline != "":
		return cli.Beside(filepath.Dir(file), g.Baseline)
	}
	return strings.TrimSuffix(file, filepath.Ext(file)) + ".baseline.json"
}

// stored reads the baseline of a gate file; nil where there is none, or where one of a
// version that is not read is to be replaced.
func (v *gateVerb) stored(path, file string, g *profiles.Gate) (*gate.Baseline, error) {
	if path == "" {
		return nil, nil
	}
	text, err := disk.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if gate.NeedsBaseline(g) && !v.update && !v.quiet {
			v.app.Say("orrery: there is no baseline %s: make it with --update-baseline --reason TEXT", path)
		}
		return nil, nil
	}
	if err != nil {
		return nil, cli.BadInput(err)
	}
	b, err := gate.ParseBaseline(text)
	var other *gate.VersionError
	switch {
	case errors.As(err, &other) && v.update && v.force:
		v.remark("%s", strings.TrimPrefix(formats.BaselineFormat.Warning(path, other.Found, "this is done now"), "orrery: "))
		return nil, nil
	case errors.As(err, &other):
		return nil, formats.BaselineFormat.Refusal(path, other.Found, v.baselineAnew(file))
	case err != nil:
		return nil, cli.BadInput(fmt.Errorf("%s: %w", path, err))
	case v.update:
		return b, nil
	}
	if text := formats.BaselineFormat.Warning(path, b.Schema, v.baselineAnew(file)); text != "" && !v.quiet {
		v.app.Say("%s", text)
	}
	if b.Semantics > 0 && b.Semantics != plan.Semantics && !v.quiet {
		v.app.Say("%s", formats.SemanticsFormat.Warning(path, b.Semantics, v.baselineAnew(file)))
	}
	return b, nil
}

// baselineAnew is the command that stores the baseline of a gate file anew.
func (v *gateVerb) baselineAnew(file string) string {
	words := []string{"orrery", "gate", cli.Quoted(file)}
	if v.baseline != "" {
		words = append(words, "--baseline", cli.Quoted(v.baseline))
	}
	reason := fmt.Sprintf("schema %d, semantics %d", gate.BaselineSchema, plan.Semantics)
	return strings.Join(append(words, "--update-baseline", "--reason", cli.Quoted(reason), "--force"), " ")
}

// store writes a new baseline, whole or not at all.
func (v *gateVerb) store(ctx context.Context, path string, e *gate.Evidence, before *gate.Baseline) (*gate.Baseline, error) {
	after, changed, err := e.Update(before, provenance(ctx, v.app, v.by, filepath.Dir(path)))
	if err != nil {
		return nil, cli.WrongFile(err)
	}
	for i := range after.Runs {
		for k := range after.Runs[i].Sight {
			v.remark("%s", &after.Runs[i].Sight[k])
		}
	}
	same := before != nil && before.Schema == after.Schema && before.Semantics == after.Semantics && len(before.Runs) == len(after.Runs)
	if len(changed) == 0 && same {
		v.remark("the baseline %s is unchanged", path)
		return after, nil
	}
	if before != nil && !v.force {
		return nil, cli.Usagef("--update-baseline would replace %s (changed runs: %s): give --force to replace it", path, changedRuns(changed))
	}
	err = v.app.Create(path, func(w io.Writer) error {
		_, err := w.Write(after.JSON())
		return err
	})
	if err == nil {
		v.remark("wrote the baseline %s; changed runs: %s", path, changedRuns(changed))
	}
	return after, err
}

func changedRuns(names []string) string {
	return cmp.Or(strings.Join(names, ", "), "none, but some are gone or its version is another")
}

func (v *gateVerb) remark(format string, args ...any) {
	if !v.quiet {
		v.app.Say("orrery: "+format, args...)
	}
}

// show prints the report, and writes its files. file is the gate file, "" of that of
// the program.
func (v *gateVerb) show(r *gate.Report, g *profiles.Gate, file string) error {
	for _, file := range []struct {
		path  string
		write func(io.Writer) error
	}{{v.junit, r.WriteJUnit}, {v.markdown, pageOf(r.Page())}} {
		if file.path == "" {
			continue
		}
		if err := v.app.Create(file.path, file.write); err != nil {
			return err
		}
	}
	place := func(kind string, i int) (int, int) { return g.Place(fmt.Sprintf("%s[%d]", kind, i)) }
	switch {
	case v.print.JSON():
		return v.print.Document(r)
	case v.print.Format == string(cli.FormatSARIF):
		return v.print.SARIF(gateResults(r, file, place))
	case v.quiet && r.Verdict == gate.Holds:
		return nil
	}
	for _, text := range r.Unheeded() {
		v.app.Say("UNHEEDED: %s", text)
	}
	tone := map[gate.Verdict]doc.Tone{gate.Holds: doc.Good, gate.Regression: doc.Bad, gate.Undecided: doc.Faint}
	t := doc.New("kind", "check", "verdict", "found", "want", "why")
	for _, f := range r.Checks {
		why := f.Why
		if f.Verdict == gate.Holds {
			why = findsText(&f)
		}
		t.Row(f.Kind, f.Check, doc.Cell{Text: string(f.Verdict), JSON: string(f.Verdict), Tone: tone[f.Verdict]}, f.Found, f.Want, why)
	}
	return v.print.Table(t)
}

// findsText says how small a regression a check finds that holds, "" where that is not
// known.
func findsText(f *gate.Finding) string {
	i := slices.IndexFunc(f.Numbers, func(q gate.Quantity) bool { return q.Name == "detectable" && q.Value != nil })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("(finds %.1f %%)", 100**f.Numbers[i].Value)
}

// pageOf writes a document as Markdown.
func pageOf(d *doc.Document) func(io.Writer) error {
	return func(w io.Writer) error { return page.Comment(w, d) }
}

// SummaryVariable names the file that GitHub Actions shows as the summary of a job.
const SummaryVariable = "GITHUB_STEP_SUMMARY"

// summarise appends the report as Markdown to the summary of a workflow's job, where
// there is one.
func (v *gateVerb) summarise(r *gate.Report) error {
	path := v.app.Getenv(SummaryVariable)
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("appending to the summary that $%s names: %w", SummaryVariable, err)
	}
	err = page.Comment(f, r.Page())
	if st, known := f.Stat(); err == nil && known == nil && st.Mode().IsRegular() { // else there is nothing to sync
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("appending to the summary that $%s names: %w", SummaryVariable, err)
	}
	return nil
}

// verdictOf is the exit code of a report.
func verdictOf(r *gate.Report) error {
	switch r.Verdict {
	case gate.Regression:
		return cli.Coded(cli.ExitMismatch, fmt.Errorf("%d of %s found a regression", r.Count(gate.Regression), table.Counted(len(r.Checks), "check")))
	case gate.Undecided:
		return cli.Coded(cli.ExitEvidence, fmt.Errorf("the evidence does not suffice for %d of %s", r.Count(gate.Undecided), table.Counted(len(r.Checks), "check")))
	}
	return nil
}
