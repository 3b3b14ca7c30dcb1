// Package service has the verbs of services that policies scale: scale and conform.
package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/profiles"
	"orrery/reports/page"
	scalingpage "orrery/reports/scaling"
	"orrery/reports/table"
	"orrery/scheduler/model"
	"orrery/sim/scaling"
	"orrery/sim/service/demand"
	"orrery/traces/transform"
)

// scaleVerb holds the flags of scale.
type scaleVerb struct {
	app       *cli.App
	print     *cli.Printer
	out       string
	decisions int
	quiet     bool
	force     bool
	opener    logfile.Opener // of traces
}

// Verbs are the verbs of services that are scaled.
func Verbs(app *cli.App) []*cobra.Command {
	return []*cobra.Command{scaleCommand(app), conformCommand(app)}
}

func scaleCommand(app *cli.App) *cobra.Command {
	v := &scaleVerb{app: app}
	cmd := &cobra.Command{
		Use:   "scale FILE",
		Short: "Compare scaling policies on a service that answers back",
		Long: `Run the scaling policies of a scaling file on one service, each with several seeds
under the same demand: the load table of a trace, or one that a shape generates. The
service answers back: what a policy sees depends on how many replicas it has.
docs/SCALING-FORMAT.md has every key, docs/SERVICES.md what is simulated.
With service.kind: machines they are virtual machines that Neon's agents resize, or that
keep their size.

Printed are the misses, latencies, cost and elasticity metrics of each policy as means
over the seeds with how far their 95 % intervals reach; of the shapes step and flash the
reaction time, overshoot and settling time of each; the differences from the first policy,
paired by seed; how often each rule fired and which guard stopped it; and the first
decisions that wanted a change.

--out writes a page with supply over demand and cost over misses, its figures,
decisions.csv and result.json.

Exit codes: 0 done, 1 failed, 2 usage (a scaling file that is wrong too), 3 bad input,
130 interrupted.`,
		Example: `  orrery scale scaling.yaml
  orrery scale scaling.yaml --out scaled
  orrery scale scaling.yaml -o json`,
		Args: cobra.ExactArgs(1),
		RunE: v.run,
	}
	f := cmd.Flags()
	f.StringVar(&v.out, "out", "", "directory `DIR` to write the page, its figures and the results into")
	f.IntVar(&v.decisions, "decisions", 8, "print the first `N` decisions of each policy; 0 for all that were kept")
	f.BoolVarP(&v.quiet, "quiet", "q", false, "print nothing but errors (and -o json, csv or markdown)")
	cli.ForceFlag(cmd, &v.force)
	v.print = app.PrintFlag(cmd)
	app.LogFlags(cmd)
	return cmd
}

// Files of the directory of a comparison, beside the page.
const (
	scaleResult    = "result.json"
	scaleDecisions = "decisions.csv"
)

func (v *scaleVerb) run(cmd *cobra.Command, args []string) error {
	if v.decisions < 0 {
		return cli.Usagef("--decisions is %d: want 0 or more", v.decisions)
	}
	if err := cli.MayHold("--out", v.out, page.FileHTML, v.force); err != nil {
		return err
	}
	s, err := profiles.LoadScaling(args[0])
	if errors.Is(err, fs.ErrNotExist) {
		return cli.NoFile(args[0], args[0], "a scaling file")
	}
	if err != nil {
		return cli.OtherContent(args[0], cli.WrongFile(err), "a scaling file", cli.ExitUsage, append([]string{"a scaling file"}, cli.Written...)...)
	}
	v.opener = logfile.Opener{App: v.app, Quiet: true}
	defer v.opener.Close()
	recorded, err := v.recorded(cmd.Context(), s, filepath.Dir(args[0]))
	if err != nil {
		return cli.WrongFile(err)
	}
	bar := v.app.Progress("simulating", "runs", v.quiet)
	c, err := scaling.Run(cmd.Context(), s, recorded, func(done, all int) { bar.Draw(int64(done), int64(all), "") })
	bar.Done()
	if err != nil {
		return cli.WrongFile(err)
	}
	if err := v.write(c); err != nil {
		return err
	}
	return v.show(c)
}

// recorded is the demand of the trace that a file names, nil where it has a shape.
func (v *scaleVerb) recorded(ctx context.Context, s *profiles.Scaling, dir string) (*demand.Demand, error) {
	if s.Demand.Trace == "" {
		return nil, nil
	}
	set, err := v.opener.Open(ctx, cli.Beside(dir, s.Demand.Trace))
	if err != nil {
		return nil, err
	}
	var d *demand.Demand
	if s.Demand.Invert {
		d, err = inverted(s, set)
	} else {
		d, err = loaded(s, set)
	}
	if err != nil {
		return nil, err
	}
	return scaling.Part(s, d)
}

// loaded is the demand of the load table.
func loaded(s *profiles.Scaling, set *transform.Set) (*demand.Demand, error) {
	if set.LoadRows == nil {
		return nil, s.Wrong("demand.trace", "has no load table: want a trace of a service, or invert: true for one with telemetry")
	}
	d, _, err := scaling.Recorded(s, set.LoadRows())
	var wrong *profiles.Error
	if err != nil && !errors.As(err, &wrong) {
		return nil, cli.BadInput(err)
	}
	return d, err
}

// inverted is the demand of the telemetry table: GPUs in use at each instant.
func inverted(s *profiles.Scaling, set *transform.Set) (*demand.Demand, error) {
	if set.TelemetryRows == nil {
		return nil, s.Wrong("demand.invert", "needs a trace with a telemetry table")
	}
	var uses []demand.Use
	first := model.Time(-1)
	for r, err := range set.TelemetryRows() {
		if err != nil {
			return nil, cli.BadInput(err)
		}
		if !r.SMUtil.OK || !r.GPU.OK {
			continue
		}
		if first < 0 {
			first = r.Time
		}
		at := r.Time - first
		if n := len(uses); n == 0 || uses[n-1].At != at {
			uses = append(uses, demand.Use{At: at})
		}
		u := &uses[len(uses)-1]
		u.Share, u.Units = u.Share+min(1, r.SMUtil.V), u.Units+1
	}
	if len(uses) < 2 {
		return nil, s.Wrong("demand.trace", "has utilisations of %s: want two or more", table.Counted(len(uses), "instant"))
	}
	for i := range uses {
		uses[i].Share /= uses[i].Units
	}
	width := uses[len(uses)-1].At.Sub(uses[len(uses)-2].At)
	d, err := demand.Inverted(uses, width, s.Service.Work)
	if err != nil {
		return nil, cli.BadInput(fmt.Errorf("the telemetry table of %s: %w", s.Demand.Trace, err))
	}
	return d, nil
}

// write puts the page and the results into the directory, where one is named.
func (v *scaleVerb) write(c *scaling.Comparison) error {
	if v.out == "" {
		return nil
	}
	text, err := c.JSON()
	if err != nil {
		return err
	}
	decisions := page.File{Name: scaleDecisions, Fill: func(w io.Writer) error {
		return table.Write(w, scalingpage.DecisionTable(c, 0), table.CSV, table.Options{Safe: true})
	}}
	if err := scalingpage.Write(v.out, c, v.app.Made(), decisions, page.File{Name: scaleResult, Fill: cli.Writing(text)}); err != nil {
		return err
	}
	if !v.quiet {
		v.app.Say("orrery: the page is %s", filepath.Join(v.out, page.FileHTML))
	}
	return nil
}

// show prints what came of it.
func (v *scaleVerb) show(c *scaling.Comparison) error {
	if v.print.JSON() {
		return v.print.Document(c.Document())
	}
	if v.quiet && v.print.Format == "table" {
		return nil
	}
	if !v.print.ForPrograms() {
		for _, line := range scalingpage.About(c) {
			v.print.Paragraph(line)
		}
		fmt.Fprintln(v.app.Stdout)
	}
	if err := v.print.Table(scalingpage.PolicyTable(c)); err != nil {
		return err
	}
	if t := scalingpage.ResponseTable(c); t != nil {
		if err := v.print.Section(scalingpage.OnsetText(c), t); err != nil {
			return err
		}
	}
	if err := v.print.Section("Against "+c.Policies[0].Name+", paired over the seeds", scalingpage.AgainstTable(c)); err != nil {
		return err
	}
	if err := v.print.Section("Rules and guards, of the first seed", scalingpage.GuardTable(c)); err != nil {
		return err
	}
	return v.print.Section("Decisions that wanted a change, of the first seed", scalingpage.DecisionTable(c, v.decisions))
}
