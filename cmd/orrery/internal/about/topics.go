package about

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/formats"
	"orrery/cmd/orrery/internal/gate"
	"orrery/internal/doc"
	"orrery/internal/spelling"
	"orrery/reports/table"
	"orrery/sim/record"
	"orrery/traces"
)

// Topics are pages of help that belong to no verb.
func Topics(app *cli.App) []*cobra.Command {
	return []*cobra.Command{
		topic("exit-codes", "What the exit codes mean", exitCodesPage),
		topic("metrics", "What is measured, by which formula", func() string { return metricsPage(app) }),
		topic("formats", "What is read and written", func() string { return formatsPage(app) }),
		topic("environment", "Environment variables, files and signals", environmentPage),
	}
}

// topic is a command that only has help. Its text is made when it is asked for.
func topic(name, short string, page func() string) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprint(cmd.OutOrStdout(), page()) })
	return cmd
}

// HelpCommand is cobra's, but a topic that does not exist is a usage error.
func HelpCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB | TOPIC | METRIC]",
		Short: "Help about a verb, a topic or a metric",
		Long: `Print the help of a verb or a topic (exit-codes, metrics, formats, environment), or
the definition of a metric: its unit, formula, edge cases and source.

Exit codes: 0 printed, 2 no such verb, topic or metric.`,
		Example: `  orrery help replay
  orrery help exit-codes
  orrery help wait_p95`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			found, _, err := cmd.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, c := range found.Commands() {
				names = append(names, c.Name()+"\t"+c.Short)
			}
			if len(args) == 0 {
				names = append(names, cli.MetricNames()...)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) == 0 {
				found.InitDefaultHelpFlag()
				return found.Help()
			}
			if page := metricPage(args[0]); page != "" && len(args) == 1 {
				_, err := fmt.Fprint(app.Stdout, page)
				return err
			}
			text := fmt.Sprintf("no help on %q", strings.Join(args, " "))
			names := cli.MetricNames()
			for _, c := range cmd.Root().Commands() {
				names = append(names, c.Name())
			}
			return cli.Usagef("%s%s", text, spelling.Hint(args[0], names))
		},
	}
}

func exitCodesPage() string {
	var b strings.Builder
	b.WriteString("Exit codes\n\n")
	for _, c := range cli.ExitCodes {
		fmt.Fprintf(&b, "  %3d  %s\n", c.Code, c.Meaning)
	}
	b.WriteString(`
Errors go to standard error: what is wrong, where, what was found, what was
expected, and how to mend it. Standard output carries results only.

Of two ends the program has no say. Where it gets no more memory (ulimit -v, a
computer without any left), the Go runtime ends it, with code 2, a line that begins
with "fatal error:" and a stack; or the system kills it, which a shell calls 137. What
it had begun is then still there, under hidden names or in the folder for temporary
files, and the same command replaces or passes over it.
`)
	return b.String()
}

// pageTable writes a table of a page as wide as the terminal.
func pageTable(app *cli.App, t *doc.Table) string {
	var b strings.Builder
	if err := table.Write(&b, t, table.Text, table.Options{Width: app.Screen(app.Stdout).Width}); err != nil {
		panic(err) // a strings.Builder takes everything
	}
	return b.String()
}

func formatsPage(app *cli.App) string {
	var b strings.Builder
	fmt.Fprintf(&b, `What is read and written

Traces. A bundle is a directory NAME.trace of Parquet tables, those of which there
are rows: jobs, deps, nodes, tenants, events, prices, load, telemetry and mig. One
Parquet table of jobs is a trace too. Raw files, plain or compressed by gzip or xz, are
recognised by content: logs in the Standard Workload Format (SWF) and the formats that
'orrery import --help' lists. Schema version %d.

Columns of the table jobs (? may be null):

`, traces.SchemaVersion)
	t := doc.New("column", "type", "unit", "meaning")
	for _, c := range traces.JobColumns() {
		name := c.Name
		if c.Optional {
			name += "?"
		}
		t.Row(name, c.Type, c.Unit, c.Doc)
	}
	b.WriteString(pageTable(app, t))
	fmt.Fprintf(&b, `
Runs. A directory with the tables %s as NAME.parquet,
of a site also %s, and the documents
  %s      what was run: spec, hashes, versions, fingerprint, verdict
  %s  what was measured
  %s     what it cost, in things that can be counted
  %s     where and how fast; the only file that differs between equal runs
report.html, summary.md and figures are drawn by 'orrery report'. Times are
microseconds, UTC. Schema version %d.

Studies. A directory of the tasks and results of 'orrery sweep', in which workers
on several machines may be at work; docs/STUDY-FORMAT.md and EXPERIMENT-FORMAT.md.

Schedules, for 'orrery compare --schedule': CSV with a header row and the columns
job_id and start, in seconds since the epoch of the trace; submit, end and procs
may be there too.
`, strings.Join([]string{record.TableJobs, record.TableAttempts, record.TableSeries, record.TableFacts}, ", "),
		strings.Join([]string{record.TableTenants, record.TableVClusters, record.TableShares, record.TableDecisions, record.TablePower}, ", "),
		record.FileRun, record.FileMetrics, record.FileWork, record.FileHost, record.RunVersion)
	b.WriteString(`
Versions. Files of other versions that are read come with a warning, the others are
refused; both say what changed since then and which command writes the file anew.
Imports that another version kept in the cache are made anew. Files that people write
have no version: a key that is gone is refused with what to write instead.

`)
	versions := doc.New("version of", "written", "read", "where it stands")
	for _, f := range formats.AllFormats {
		versions.Row(f.Name, f.Now, f.Reads(), f.Key)
	}
	b.WriteString(pageTable(app, versions))
	return b.String()
}

func environmentPage() string {
	names := []struct{ name, what string }{
		{"NO_COLOR", "when not empty, tables have no colours"},
		{gate.SummaryVariable, "orrery gate appends its report to this file, as Markdown; GitHub Actions sets it"},
		{"TERM", "dumb: no colours, progress by lines as in a log"},
		{"XDG_STATE_HOME", "orrery tune counts in orrery/looks.jsonl below it (without it, below ~/.local/state) how often each log was tuned; no result depends on it"},
		{"XDG_CACHE_HOME", "raw logs that were imported are kept in orrery below it (without it, below the user's cache directory); safe to remove at any time"},
		{"TMPDIR", "where an import goes when the cache cannot be written, and the two runs of verify"},
		{"GOMAXPROCS, GOMEMLIMIT, GOGC", "limits of the Go runtime; no result depends on them"},
	}
	slices.SortStableFunc(names, func(a, b struct{ name, what string }) int { return strings.Compare(a.name, b.name) })
	var b strings.Builder
	b.WriteString("Environment\n\n")
	for _, n := range names {
		fmt.Fprintf(&b, "  %s\n      %s\n", n.name, n.what)
	}
	b.WriteString(`
No variable changes a result: settings are flags only, and --print-config shows
where each comes from.

Signals. The first interrupt (Ctrl-C) or termination stops the work, removes what
is half-written and exits with 130; the second aborts at once.

Orrery opens no network connection and sends no data anywhere.
`)
	return b.String()
}
