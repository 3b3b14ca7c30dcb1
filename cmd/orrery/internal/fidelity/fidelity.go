// Package fidelity is the verb fidelity: a replay beside the record of its trace.
package fidelity

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/cmd/orrery/internal/settings"
	report "orrery/reports/fidelity"
	"orrery/reports/page"
	"orrery/reports/table"
	"orrery/scheduler/model"
	record "orrery/sim/fidelity"
)

// fidelityVerb holds the flags of fidelity.
type fidelityVerb struct {
	settings.Flags
	app    *cli.App
	print  *cli.Printer
	draws  int
	step   model.Duration
	report string
	quiet  bool
	force  bool
}

// mostDraws is more than any interval needs.
const mostDraws = 10_000

// Command is the verb fidelity.
func Command(app *cli.App) *cobra.Command {
	v := &fidelityVerb{app: app}
	cmd := &cobra.Command{
		Use:   "fidelity TRACE [RUN...]",
		Short: "Lay a replay beside the record of its trace",
		Long: `Replay a trace whose jobs have recorded starts, and lay the replay beside the record:
mean, median and p95 wait and their errors, rank correlations of waits and starts, how
many of the overtakings come about again, distances of distributions, utilisation and
makespan; the same by partition, size, QOS and user; and what one may conclude from
replays of this site. Of the record a replay is given submissions, run times and
requests, and no start or end.

Each figure is the mean over --draws replays, with the 2.5 % and 97.5 % points of the
draws as _low and _high: in each, submissions lie elsewhere within the step of the
clock of the record (whole seconds in sacct), keyed by --seed.

Further RUNs are records of the same jobs on the same site: how far these are from one
another is beside how far the replay is from them. Jobs are matched by name where
every job has a name of its own, else by their position in the order of submission.

docs/FIDELITY.md defines every figure. --report draws a page into DIR (fidelity).

` + settings.Help + `

Exit codes: 0 compared, 1 failed, 2 usage (also runs of different jobs), 3 bad input,
5 the trace records no start to compare with, 130 interrupted.`,
		Example: `  orrery fidelity month.trace --cluster mine.yaml
  orrery fidelity month.trace log.swf.gz --procs 8 --report --force
  orrery fidelity log.swf.gz --order fcfs --backfill none --draws 100 -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: v.run,
	}
	v.Register(cmd)
	v.print = app.PrintFlag(cmd)
	app.LogFlags(cmd)
	f := cmd.Flags()
	f.IntVar(&v.draws, "draws", 24, "`N` replays, each with submissions elsewhere within the step of the clock")
	f.StringVar(&v.Flags.Site.Agents, "agents", "", "`FILE` whose section agents replaces keys of that of the cluster file")
	f.Var(cli.Span(&v.step, "of the record"), "resolution", "step of the clock of the record; where it is left out, the coarsest of 1s, 1ms and 1µs that fits all its instants")
	f.StringVar(&v.report, "report", "", "write a page with the figures and a verdict into `DIR`")
	f.Lookup("report").NoOptDefVal = "fidelity"
	f.Lookup("seed").Usage = "seed `S` of the draws"
	cli.ForceFlag(cmd, &v.force)
	f.BoolVarP(&v.quiet, "quiet", "q", false, "no progress, no remarks, no table: only -o json, csv or markdown print")
	cli.Grouped(f, cli.GroupEvidence, "draws", "resolution")
	cli.Grouped(f, cli.GroupCluster, "agents")
	cli.OnlyOnce(f)
	return cmd
}

func (v *fidelityVerb) run(cmd *cobra.Command, args []string) error {
	switch {
	case v.draws < 1 || v.draws > mostDraws:
		return cli.Usagef("--draws %d: want 1 to %d, 24 as a rule", v.draws, mostDraws)
	case v.step == 0 && cmd.Flags().Changed("resolution"):
		return cli.Usagef("--resolution 0s: want a span above 0")
	case v.Flags.Site.Agents != "" && v.Flags.Site.File == "":
		return cli.Usagef("--agents goes with --cluster: it is the cluster file that has agents")
	}
	if v.report != "" {
		if err := cli.MayHold("--report", v.report, page.FileHTML, v.force); err != nil {
			return err
		}
	}
	r := &record.Replays{Draws: v.draws, Seed: v.Flags.Spec.Seed}
	v.Flags.Spec.Seed = 0
	var records []*record.Record
	for i, path := range args {
		one, err := v.open(cmd.Context(), path, r, i == 0)
		if err != nil {
			return err
		}
		records = append(records, one)
	}
	if err := record.SameWorkload(records); err != nil {
		return cli.Coded(cli.ExitUsage, err)
	}
	bar := v.app.Progress("replaying", "draws", v.quiet)
	draws, err := r.Run(cmd.Context(), runtime.GOMAXPROCS(0), func(done int) { bar.Draw(int64(done), int64(v.draws), "") })
	bar.Done()
	if err != nil {
		return err
	}
	found, err := record.Compare(cmd.Context(), records, draws, runtime.GOMAXPROCS(0))
	if none := (*record.NothingRecordedError)(nil); errors.As(err, &none) {
		return cli.Coded(cli.ExitEvidence, err)
	}
	if err != nil {
		return err
	}
	found.Seed, found.Spec = r.Seed, r.Spec.ID()
	if v.report != "" {
		if err := report.Write(v.report, found, v.app.Made()); err != nil {
			return err
		}
	}
	return v.show(found)
}

// open reads the record of a trace; of the first it takes what is replayed as well.
func (v *fidelityVerb) open(ctx context.Context, path string, into *record.Replays, first bool) (*record.Record, error) {
	t, err := logfile.OpenLog(ctx, v.app, []string{path}, v.quiet)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	logfile.Remark(v.app, t, v.quiet)
	set, err := logfile.HoldBundle(t.Table, t.About.Name)
	if err != nil {
		return nil, err
	}
	found, err := record.ReadRecord(set, v.step)
	if err != nil {
		return nil, cli.BadInput(err)
	}
	found.Hash = t.About.Hash
	if _, jobs := found.MeanWait(); jobs == 0 {
		return nil, cli.Coded(cli.ExitEvidence, &record.NothingRecordedError{Trace: t.Label})
	}
	if !first {
		return found, nil
	}
	into.Set, into.Resolution = set, found.Resolution
	into.Spec, err = v.Bound(t)
	return found, err
}

// show prints the report in the form that was asked for.
func (v *fidelityVerb) show(r *record.Report) error {
	if v.report != "" && !v.quiet {
		v.app.Say("orrery: the page is %s", filepath.Join(v.report, page.FileHTML))
	}
	switch {
	case v.print.JSON():
		return v.print.Document(r)
	case v.print.ForPrograms():
		return v.print.Table(report.Table(r))
	case v.quiet && v.print.Format == string(table.Text):
		return nil
	}
	for _, text := range r.Unheeded {
		v.print.Paragraph("UNHEEDED: " + text)
	}
	v.print.Paragraph(report.Lead(r))
	fmt.Fprintln(v.app.Stdout)
	if err := v.print.Table(report.Table(r)); err != nil {
		return err
	}
	for _, note := range r.All.Notes {
		v.print.Paragraph("No value: " + note + ".")
	}
	fmt.Fprintln(v.app.Stdout)
	v.print.Paragraph(report.About(r))
	for _, g := range report.Groups(r) {
		if err := v.print.Section("By "+g.Of, g.Table); err != nil {
			return err
		}
	}
	if s := r.Spread; s != nil {
		if err := v.print.Section("Between real runs", report.PairTable(s)); err != nil {
			return err
		}
		v.print.Paragraph(report.AboutSpread(s))
		if err := v.print.Section("The replay beside each real run", report.AgainstTable(s)); err != nil {
			return err
		}
	}
	if err := v.print.Section("What may be concluded", report.ConclusionTable(r)); err != nil {
		return err
	}
	v.print.Paragraph(report.Assumed)
	return nil
}
