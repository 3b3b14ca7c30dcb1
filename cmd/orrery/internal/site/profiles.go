package site

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/internal/doc"
	"orrery/profiles"
	"orrery/reports/table"
)

func profilesCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profiles",
		Short: "List, show and compare profiles",
		Long: `A profile says how a vCluster is scheduled: the weights of the nine factors, or
another order of the queue, backfilling, cycle, preemption. Some are part of the
program; others are files. A PROFILE is a name from the list, or a path.

Exit codes: 0 done, 1 failed, 2 usage or a profile that is not valid, 3 no such
file.`,
		Example: `  orrery profiles list
  orrery profiles diff hpc-batch service`,
	}
	cmd.AddCommand(profilesListCommand(app), profilesShowCommand(app), profilesDiffCommand(app),
		fromSlurmCommand(app), toSlurmCommand(app))
	for _, verb := range cmd.Commands() {
		cli.OnlyOnce(verb.Flags())
	}
	lint := lintCommand(app) // as it was called when it knew profiles and cluster files alone
	lint.Hidden = true
	cmd.AddCommand(lint)
	return cmd
}

// profileNames completes the names of profiles, and files.
func profileNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return profiles.Names(), cobra.ShellCompDirectiveDefault
}

// loadProfile reads a profile that the user named.
func loadProfile(name string) (profiles.Profile, error) {
	p, err := profiles.Load(name)
	return p, profileError(name, err)
}

// profileError says how bad an error of a file that people write is: one that
// is not there is bad input, one that says something wrong is bad usage.
func profileError(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return cli.NoFile(name, name, "the path of a file, or one of "+cli.OneOf(profiles.Names()), slices.Concat(profiles.Names(), profiles.ClusterNames())...)
	}
	return cli.OtherContent(name, cli.Coded(cli.ExitUsage, err), "a profile file", cli.ExitUsage, cli.Written...)
}

func profilesListCommand(app *cli.App) *cobra.Command {
	var print *cli.Printer
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the profiles that are part of the program",
		Long: `List the profiles that are part of the program, what each is for, and where its
numbers come from.

Exit codes: 0 printed, 2 usage.`,
		Example: `  orrery profiles list
  orrery profiles list -o markdown`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			rows := doc.New("name", "source", "description")
			for _, name := range profiles.Names() {
				p, err := profiles.Load(name)
				if err != nil {
					return err
				}
				rows.Row(p.Name, p.Source, p.Description)
			}
			return print.Table(rows)
		},
	}
	print = app.PrintFlag(cmd)
	return cmd
}

// shown is a profile, or a cluster file that is part of the program, as text.
func shown(name, format string) ([]byte, error) {
	yaml, full := []byte(nil), []byte(nil)
	if kind, err := profiles.KindOfFile(name); err == nil && kind == profiles.KindCluster {
		c, err := profiles.LoadCluster(name)
		if err != nil {
			return nil, profileError(name, err)
		}
		yaml, full = c.YAML(), c.FullJSON()
	} else {
		p, err := loadProfile(name)
		if err != nil {
			return nil, err
		}
		yaml, full = p.YAML(), p.FullJSON()
	}
	if format == "json" {
		return append(full, '\n'), nil
	}
	return yaml, nil
}

func profilesShowCommand(app *cli.App) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "show PROFILE",
		Short: "Print a profile with every default",
		Long: `Print a profile with every key that applies to it, those at their default too,
as a file that can be edited and used in its place. What each key means is in
docs/PROFILE-FORMAT.md. A cluster file, such as month, that of orrery synth site, is
printed likewise.

Exit codes: 0 printed, 2 usage or not valid, 3 no such file.`,
		Example: `  orrery profiles show hpc-batch
  orrery profiles show month
  orrery profiles show service -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.FirstWordOrFile(slices.Concat(profiles.Names(), profiles.ClusterNames())...),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := shown(args[0], format)
			if err != nil {
				return err
			}
			_, err = app.Stdout.Write(text)
			return err
		},
	}
	cli.FormatFlag(cmd, &format, "yaml", "json")
	return cmd
}

func profilesDiffCommand(app *cli.App) *cobra.Command {
	var print *cli.Printer
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show where two profiles differ",
		Long: `Print the keys in which two profiles differ: + applies to B only, - to A only,
~ is another value. Weights are shown as scores see them, divided by their sum
(as written in as-coded mode), so a change of their scale is no difference; nor
are names and remarks.

Exit codes: 0 printed, differences or none, 2 usage or not valid, 3 no such file.`,
		Example: `  orrery profiles diff hpc-batch ml-training
  orrery profiles diff default service -o json`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: profileNames,
		RunE: func(_ *cobra.Command, args []string) error {
			a, err := loadProfile(args[0])
			if err != nil {
				return err
			}
			b, err := loadProfile(args[1])
			if err != nil {
				return err
			}
			return printDiff(app, print, &a, &b)
		},
	}
	print = app.PrintFlag(cmd)
	return cmd
}

func printDiff(app *cli.App, print *cli.Printer, a, b *profiles.Profile) error {
	found := profiles.Diff(a, b)
	if print.Format != string(table.Text) {
		rows := doc.New("sign", "key", "before", "after", "unit")
		for _, d := range found {
			rows.Row(d.Sign(), d.Key, doc.Cell{Text: d.Before, JSON: d.BeforeValue}, doc.Cell{Text: d.After, JSON: d.AfterValue}, d.Unit)
		}
		return print.Table(rows)
	}
	width := 0
	for _, d := range found {
		width = max(width, len(d.Key))
	}
	fmt.Fprintf(cli.Escaped(app.Stdout), "--- %s\n+++ %s\n", a.Name, b.Name)
	for _, d := range found {
		text := d.Before + " -> " + d.After
		switch d.Sign() {
		case "+":
			text = d.After
		case "-":
			text = d.Before
		}
		fmt.Fprintf(cli.Escaped(app.Stdout), "%s %-*s  %s\n", d.Sign(), width, d.Key, text)
	}
	if len(found) == 0 {
		fmt.Fprintln(app.Stdout, "no difference that a schedule could show")
	}
	return nil
}
