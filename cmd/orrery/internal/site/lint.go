package site

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/settings"
	"orrery/internal/doc"
	"orrery/profiles"
	"orrery/reports/table"
	"orrery/sim/gate"
	"orrery/sim/scaling"
)

// finding is one line of what lint has to say.
type finding struct {
	profiles.Problem
	severity string // error, warning or ok
}

// lintCommand is the verb for files of every kind. profiles lint, as it was called when
// it knew two of them, is another name for it.
func lintCommand(app *cli.App) *cobra.Command {
	var print *cli.Printer
	as := ""
	cmd := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Check profiles, cluster files, experiments, gates, scaling files and scenarios",
		Long: `Check files of every kind; which one a file is, its keys tell: a profile, a cluster
file, an experiment, a gate, a scaling file or a scenario. What has only events that
a cluster file may have too is taken for one: --kind scenario says otherwise. Every
key must exist, apply and be in its range; names must lead somewhere: profiles,
metrics, traces, settings. Bounds must have the units of their metrics. All errors of a file are shown at once, with line, column and how to
mend them. Valid files are searched for settings that have no effect, or one that may
surprise: scores that are never reached, nodes lent that are never borrowed, checks that
can never have enough evidence (warnings).

-o sarif is for code scanning. 'orrery schema' prints what editors check by.

Exit codes: 0 all valid, warnings or none, 2 usage or a file that is not valid,
3 no such file.`,
		Example: `  orrery lint hpc-batch
  orrery lint experiment.yaml multifactor.yaml -o json
  orrery lint experiment.yaml -o sarif
  orrery lint scenario.yaml --kind scenario`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: cli.WordsOrFiles(slices.Concat(profiles.Names(), profiles.ClusterNames())...),
		RunE: func(_ *cobra.Command, args []string) error {
			var all []finding
			for _, path := range args {
				found, err := lint(path, profiles.Kind(as))
				if err != nil {
					return err
				}
				all = append(all, found...)
			}
			return printFindings(app, print, all)
		},
	}
	cmd.Flags().Var(cli.Choice{Word: &as, Of: kindWords(), What: "kind"}, "kind", "`KIND` that all files are of; without it their keys tell")
	cli.CompleteWith(cmd, "kind", kindWords()...)
	print = app.PrintAs(cmd, table.Text, table.JSON, table.Markdown, table.CSV, cli.FormatSARIF)
	return cmd
}

// kindWords are the kinds of files, as people write them.
func kindWords() (out []string) {
	for _, k := range profiles.Kinds() {
		out = append(out, string(k))
	}
	return out
}

// lint checks one file of a kind, which its keys tell where it is "". An error is one that keeps
// the file from being read.
func lint(path string, kind profiles.Kind) ([]finding, error) {
	told := kind != ""
	if !told {
		var err error
		if kind, err = profiles.KindOfFile(path); err != nil {
			return nil, lintError(path, err)
		}
	}
	var err error
	var remarks []profiles.Problem
	switch kind {
	case profiles.KindExperiment:
		remarks, err = lintExperiment(path)
	case profiles.KindGate:
		remarks, err = lintGate(path)
	case profiles.KindScaling:
		err = lintScaling(path)
	default:
		remarks, err = profiles.LintAs(kind, path)
	}
	if kind == profiles.KindCluster && !told && err == nil {
		remarks = append(mayBeScenario(path), remarks...)
	}
	var invalid *profiles.Error
	var found []finding
	switch {
	case err != nil && kind == "" && cli.ContentOf(path) != "":
		return nil, lintError(path, err)
	case errors.As(err, &invalid):
		for _, p := range invalid.Problems {
			found = append(found, finding{p, "error"})
		}
		return found, nil
	case err != nil:
		return nil, lintError(path, err)
	}
	for _, p := range remarks {
		found = append(found, finding{p, "warning"})
	}
	if len(found) == 0 {
		found = append(found, finding{profiles.Problem{File: path, Text: fmt.Sprintf("a valid %s", cmp.Or(kind, profiles.KindProfile))}, "ok"})
	}
	return found, nil
}

// lintError says that a path holds nothing to be checked.
func lintError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return profileError(path, err)
	}
	return cli.OtherContent(path, cli.Coded(cli.ExitUsage, err), "a profile, cluster, experiment, gate, scaling or scenario file", cli.ExitUsage, cli.Written...)
}

// mayBeScenario says that a file that is taken for a cluster file could be a scenario.
func mayBeScenario(path string) []profiles.Problem {
	if !profiles.MayBeScenario(cli.Opening(path)) {
		return nil
	}
	return []profiles.Problem{{File: path, Text: "is taken for a cluster file, and may be a scenario, which has events of the same kinds: check it as one by --kind scenario"}}
}

// lintExperiment checks an experiment and what it names, as far as that shows without
// reading a trace.
func lintExperiment(path string) ([]profiles.Problem, error) {
	e, err := profiles.LoadExperiment(path)
	if err != nil && e == nil {
		return nil, err
	}
	if err := settings.AllFaults(err, e, filepath.Dir(path)); err != nil {
		return nil, err
	}
	return e.Remarks(), nil
}

// lintScaling checks a scaling file, and that each of its policies can be made.
func lintScaling(path string) error {
	s, err := profiles.LoadScaling(path)
	if err != nil {
		return err
	}
	return scaling.Check(s)
}

// lintGate checks a gate and what it names, as far as that shows without a replay.
func lintGate(path string) ([]profiles.Problem, error) {
	g, err := profiles.LoadGate(path)
	if err != nil {
		return nil, err
	}
	looks := []error{gate.Check(g)}
	files := &settings.BesideFiles{Dir: filepath.Dir(path)}
	for i := range g.Runs {
		r, at := &g.Runs[i], fmt.Sprintf("runs[%d]", i)
		if r.Trace != "" {
			if missing := lacks(cli.Beside(files.Dir, r.Trace)); missing != "" {
				looks = append(looks, g.Wrong(at+".trace", "%s", missing))
			}
		}
		if r.Scenario != "" && r.Scenario != profiles.NoScenario {
			if _, err := files.Scenario(r.Scenario); err != nil {
				looks = append(looks, located(g, at+".scenario", err))
			}
		}
		if r.Cluster == "" {
			continue
		}
		if _, err := files.Cluster(r.Cluster, r.Profile); err != nil {
			looks = append(looks, located(g, at+".cluster", err))
		}
	}
	if err := profiles.Joined(looks...); err != nil {
		return nil, err
	}
	return gate.Remarks(g), nil
}

// printFindings prints them; one error makes the exit code that of bad usage.
func printFindings(app *cli.App, print *cli.Printer, all []finding) error {
	wrong := 0
	rows := doc.New("file", "line", "column", "severity", "key", "what")
	for _, f := range all {
		if f.severity == "error" {
			wrong++
		}
		number := func(n int) any {
			if n == 0 {
				return nil
			}
			return n
		}
		rows.Row(f.File, number(f.Line), number(f.Column), f.severity, f.Key, f.Text)
		if print.Format == string(table.Text) {
			shown := f.Problem
			shown.Text = ""
			where := strings.TrimSuffix(shown.String(), " ")
			fmt.Fprintf(cli.Escaped(app.Stdout), "%s %s: %s\n%s", where, f.severity, f.Text, f.Excerpt)
		}
	}
	switch print.Format {
	case string(table.Text):
	case string(cli.FormatSARIF):
		if err := print.SARIF(lintResults(all)); err != nil {
			return err
		}
	default:
		if err := print.Table(rows); err != nil {
			return err
		}
	}
	if wrong > 0 {
		return cli.Coded(cli.ExitUsage, nil) // all of it has been said
	}
	return nil
}

// located is an error about the file that a key names: that of the file itself where it
// names its places, else that of the key.
func located(g *profiles.Gate, key string, err error) error {
	var own *profiles.Error
	if errors.As(err, &own) {
		return own
	}
	return g.Wrong(key, "%v", err)
}

// lacks says that there is nothing at a path, "" where there is.
func lacks(path string) string {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return fmt.Sprintf("%s: there is no such file%s: check the path", path, cli.Meant(path, cli.SampleLog))
}

// lintResults are the errors and warnings of lint.
func lintResults(all []finding) (out []cli.SARIFResult) {
	for _, f := range all {
		rule := map[string]string{"error": "invalid", "warning": "remark"}[f.severity]
		if rule == "" {
			continue
		}
		text := f.Text
		if f.Key != "" {
			text = f.Key + ": " + text
		}
		out = append(out, cli.NewSARIFResult(rule, f.severity, text, f.File, f.Line, f.Column))
	}
	return out
}

func schemaCommand(app *cli.App) *cobra.Command {
	var out string
	var force bool
	kinds := kindWords()
	cmd := &cobra.Command{
		Use:   "schema FILE-KIND",
		Short: "Print the JSON Schema of a kind of file, for editors",
		Long: `Print the JSON Schema (draft 2020-12) of a kind of file: cluster, profile, experiment,
gate, scaling or scenario, with what each key means, its unit, its range, its default
and the words that it may be. Editors that know YAML schemas complete and check files by it: begin a file
with

    # yaml-language-server: $schema=cluster.schema.json

What keys ask of each other is in words only: 'orrery lint' checks that too.

Exit codes: 0 printed, 1 failed, 2 no such kind of file.`,
		Example: `  orrery schema cluster --out cluster.schema.json
  orrery schema experiment`,
		Args:              oneKind(kinds),
		ValidArgsFunction: cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := profiles.JSONSchema(profiles.Kind(args[0]))
			if err != nil {
				return cli.Usagef("%v", err)
			}
			if err := cli.MayWrite("--out", out, force); err != nil {
				return err
			}
			return app.Create(out, cli.Writing(text))
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to write; standard output without it")
	cli.ForceFlag(cmd, &force)
	return cmd
}

// oneKind wants one word, a kind of file.
func oneKind(kinds []string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s given: want one kind of file, %s", table.Counted(len(args), "word"), cli.OneOf(kinds))
		}
		return nil
	}
}
