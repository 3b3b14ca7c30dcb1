package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

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
	m         *Main
	print     *printer
	out       string
	decisions int
	quiet     bool
	force     bool
	opener    opener // of traces
}

// serviceVerbs are the verbs of services that are scaled.
func serviceVerbs(m *Main) []*cobra.Command {
	return []*cobra.Command{m.scaleCommand(), m.conformCommand()}
}

func (m *Main) scaleCommand() *cobra.Command {
	v := &scaleVerb{m: m}
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
	forceFlag(cmd, &v.force)
	v.print = m.printFlag(cmd)
	m.logFlags(cmd)
	return cmd
}

// Files of the directory of a comparison, beside the page.
const (
	scaleResult    = "result.json"
	scaleDecisions = "decisions.csv"
)

func (v *scaleVerb) run(cmd *cobra.Command, args []string) error {
	if v.decisions < 0 {
		return usagef("--decisions is %d: want 0 or more", v.decisions)
	}
	if err := mayHold("--out", v.out, page.FileHTML, v.force); err != nil {
		return err
	}
	s, err := profiles.LoadScaling(args[0])
	if errors.Is(err, fs.ErrNotExist) {
		return noFile(args[0], args[0], "a scaling file")
	}
	if err != nil {
		return otherContent(args[0], wrongFile(err), "a scaling file", exitUsage, append([]string{"a scaling file"}, written...)...)
	}
	v.opener = opener{m: v.m, quiet: true}
	defer v.opener.close()
	recorded, err := v.recorded(cmd.Context(), s, filepath.Dir(args[0]))
	if err != nil {
		return wrongFile(err)
	}
	bar := v.m.progress("simulating", "runs", v.quiet)
	c, err := scaling.Run(cmd.Context(), s, recorded, func(done, all int) { bar.draw(int64(done), int64(all), "") })
	bar.done()
	if err != nil {
		return wrongFile(err)
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
	set, err := v.opener.open(ctx, beside(dir, s.Demand.Trace))
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
		return nil, input(err)
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
			return nil, input(err)
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
		return nil, input(fmt.Errorf("the telemetry table of %s: %w", s.Demand.Trace, err))
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
	if err := scalingpage.Write(v.out, c, v.m.made(), decisions, page.File{Name: scaleResult, Fill: writing(text)}); err != nil {
		return err
	}
	if !v.quiet {
		v.m.say("orrery: the page is %s", filepath.Join(v.out, page.FileHTML))
	}
	return nil
}

// show prints what came of it.
func (v *scaleVerb) show(c *scaling.Comparison) error {
	if v.print.json() {
		return v.print.document(c.Document())
	}
	if v.quiet && v.print.format == "table" {
		return nil
	}
	if !v.print.forPrograms() {
		for _, line := range scalingpage.About(c) {
			v.print.paragraph(line)
		}
		fmt.Fprintln(v.m.Stdout)
	}
	if err := v.print.table(scalingpage.PolicyTable(c)); err != nil {
		return err
	}
	if t := scalingpage.ResponseTable(c); t != nil {
		if err := v.print.section(scalingpage.OnsetText(c), t); err != nil {
			return err
		}
	}
	if err := v.print.section("Against "+c.Policies[0].Name+", paired over the seeds", scalingpage.AgainstTable(c)); err != nil {
		return err
	}
	if err := v.print.section("Rules and guards, of the first seed", scalingpage.GuardTable(c)); err != nil {
		return err
	}
	return v.print.section("Decisions that wanted a change, of the first seed", scalingpage.DecisionTable(c, v.decisions))
}
