package data

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/internal/doc"
	"orrery/traces"
	"orrery/traces/transform"
)

// transformVerb holds the flags of trace transform.
type transformVerb struct {
	logfile.Opener
	print  *cli.Printer
	steps  []string
	recipe string
	force  bool
}

func traceTransformCommand(app *cli.App) *cobra.Command {
	v := &transformVerb{Opener: logfile.Opener{App: app}}
	cmd := &cobra.Command{
		Use:   "transform IN --out OUT",
		Short: "Make a trace out of a trace: windows, other loads, other weeks",
		Long: `Make a trace out of a trace, by steps in the order in which they are given:

  window     begin=30d length=7d warm=true: a part of the time; warm keeps the jobs
             that ran and waited at its beginning, and a replay puts them in place
  filter     user=alice,bob runtime>=1h: jobs of which all conditions hold
  map        column=tenant from=a,b to=c, or take=account: other names
  load       to=0.8 by=interarrival (or users, runtime): offered load of the cluster
  stretch    by=2: all times, with what=arrivals those between submissions
  jitter     by=60s seed=1: small random moves of submissions
  resample   weeks=52 seed=1: other weeks of the same users, with feedback
  merge      with=other.trace: the jobs of other traces as well
  anonymise  other names for people, their work and services
  drop       tables=telemetry: whole tables left out
  event      time=3d kind=down subject=n1,n2: an event more, for studies of what if

--recipe reads the steps from FILE, one on each line, before those of --step. What
each step did to how many rows is printed, and kept in OUT with the steps and a
hash of them and of the content of IN. docs/TRANSFORMS.md has every argument. Times
are counted from the epoch of the trace, as trace head shows them.

Exit codes: 0 written, 1 failed, 2 usage (a recipe that is wrong, and OUT among
what is read), 3 bad input or steps that keep no job, 130 interrupted.`,
		Example: `  orrery trace transform log.swf.gz --out days.trace --step "window length=2d"
  orrery trace transform month.trace --out busy.trace --step "load to=0.9" --step "jitter by=60s seed=7"
  orrery trace transform month.trace --out shared.trace --step anonymise`,
		Args:              inAndOut,
		ValidArgsFunction: cli.OneFile,
		RunE:              v.run,
	}
	app.LogFlags(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&v.steps, "step", nil, "`STEP` to make, with its arguments; may be given several times")
	f.StringVar(&v.recipe, "recipe", "", "`FILE` of steps, one on each line")
	f.BoolVarP(&v.Quiet, "quiet", "q", false, "print nothing but errors (and -o json)")
	cli.ForceFlag(cmd, &v.force)
	v.print = app.PrintFlag(cmd)
	cli.CompleteFlag(cmd, "step", cli.CompleteStep)
	f.StringVar(&v.Out, "out", "", "trace `OUT` to write: NAME.trace or NAME.parquet (required)")
	return cmd
}

// inAndOut takes one trace: where the new one goes is a flag, as for other verbs.
func inAndOut(cmd *cobra.Command, args []string) error {
	if len(args) == 2 {
		return fmt.Errorf("found two arguments, want one: the trace to write is named with --out %s", cli.Quoted(args[1]))
	}
	return cobra.ExactArgs(1)(cmd, args)
}

func (v *transformVerb) run(cmd *cobra.Command, args []string) error {
	in, out := args[0], v.Out
	if err := logfile.CheckTraceName(out); err != nil {
		return err
	}
	if err := cli.Apart(in, out); err != nil {
		return err
	}
	if err := cli.MayWrite("--out", out, v.force); err != nil {
		return err
	}
	recipe, err := v.read()
	if err != nil {
		return err
	}
	defer v.Close()
	set, err := v.Open(cmd.Context(), in)
	if err != nil {
		return err
	}
	made, err := set.Apply(recipe, func(name string) (*transform.Set, error) { return v.Open(cmd.Context(), name) })
	var named *cli.CodedError
	if errors.As(err, &named) { // of a trace that a step names
		return cli.Coded(named.Code, err)
	}
	if err != nil {
		return cli.BadInput(err)
	}
	res, err := v.write(cmd.Context(), made, out)
	if err != nil {
		return err
	}
	return v.show(res, out)
}

// read is the recipe that the flags name.
func (v *transformVerb) read() (transform.Recipe, error) {
	var recipe transform.Recipe
	if v.recipe != "" {
		text, err := cli.ReadText(v.recipe)
		if err != nil {
			return nil, cli.BadInput(err)
		}
		if recipe, err = transform.ParseRecipe(string(text)); err != nil {
			return nil, cli.Usagef("%s: %w", v.recipe, err)
		}
	}
	for _, text := range v.steps {
		s, err := transform.ParseStep(text)
		if err != nil {
			return nil, cli.Usagef("%w", err)
		}
		recipe = append(recipe, s)
	}
	if len(recipe) == 0 {
		return nil, cli.Usagef("no step: give --step \"window begin=1d length=7d\", for example, or --recipe FILE")
	}
	recipe, remarks := recipe.Renewed()
	if !v.Quiet {
		for _, text := range remarks {
			v.App.Say("orrery: warning: %s", text)
		}
	}
	return recipe, nil
}

func (v *transformVerb) write(ctx context.Context, set *transform.Set, out string) (transform.Result, error) {
	bar := v.App.Progress("writing", "jobs", v.Quiet)
	defer bar.Done()
	res, err := set.Write(out, func(jobs int64) error {
		bar.Draw(jobs, 0, "")
		return ctx.Err()
	})
	var data *traces.DataError
	if errors.As(err, &data) {
		err = cli.BadInput(err)
	}
	return res, err
}

// transformDocument is what is printed as JSON.
type transformDocument struct {
	Trace  string               `json:"trace"`
	Hash   string               `json:"hash"`
	Recipe string               `json:"recipe"`
	Jobs   int64                `json:"jobs"`
	Steps  []*transform.Account `json:"steps"`
}

func (v *transformVerb) show(res transform.Result, out string) error {
	if v.print.JSON() {
		return v.print.Document(transformDocument{out, res.Hash, res.Recipe, res.Jobs, res.Accounts})
	}
	if v.Quiet && !v.print.ForPrograms() {
		return nil
	}
	t := doc.New("step", "jobs", "rule", "count", "first")
	for _, a := range res.Accounts {
		step := a.Step
		if a.Table != "" {
			step += ", of " + a.Table
		}
		t.Row(step, "read", "", a.Read, "")
		for _, r := range a.Dropped {
			t.Row("", "dropped", r.Rule, r.Count, r.Example)
		}
		if a.Added > 0 {
			t.Row("", "added", "", a.Added, "")
		}
		for _, r := range a.Changed {
			t.Row("", "changed", r.Rule, r.Count, r.Example)
		}
		t.Row("", "kept", "", a.Kept, "")
	}
	if err := v.print.Table(t); err != nil {
		return err
	}
	for _, a := range res.Accounts {
		for _, n := range a.Notes {
			v.App.Say("%s: %s", a.Step, n)
		}
	}
	next := "replay"
	if res.Jobs == 0 {
		next = "trace info"
	}
	v.App.Say("Wrote %s\nNext: orrery %s %s", out, next, cli.Quoted(out))
	return nil
}
