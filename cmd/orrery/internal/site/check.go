package site

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/internal/doc"
	"orrery/profiles"
	"orrery/reports/workload"
	"orrery/sim/plan"
	"orrery/traces"
)

func checkCommand(app *cli.App) *cobra.Command {
	var print *cli.Printer
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Say what is odd in inputs, and what it does to results",
		Long: `Look at what a replay is given, before it is run, and say what is odd in it and
what that does to results: traces and raw logs of any format that 'orrery import'
finds by itself (what their import dropped, repaired and assumed; more held at
once than there is, by the log or by the cluster files beside it; jobs that are too large, exceeded or missing requests, gaps, overload),
and profiles, cluster files, experiments, gates, scaling files and scenarios, as
'orrery lint' does.

'orrery doctor' tests folders for studies, and 'orrery trace validate' the
consistency of a trace alone.

Exit codes: 0 looked at, odd or not, 2 usage or a file that is not valid, 3 bad
input.`,
		Example: `  orrery check log.swf.gz hpc-batch
  orrery check log.swf.gz month
  orrery check month.trace -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var all []checked
			invalid := false
			clusters := clustersAmong(args)
			for _, path := range args {
				if kind, err := profiles.KindOfFile(path); err == nil && kind != "" || isProfileName(path) {
					found, err := lint(path, "")
					if err != nil {
						return err
					}
					for _, f := range found {
						invalid = invalid || f.severity == "error"
						if f.severity != "ok" {
							all = append(all, checked{path, workload.Odd{What: f.severity + ": " + f.Text, First: f.Key, Effect: lintEffect(f.severity)}})
						}
					}
					continue
				}
				odd, err := checkTrace(app, cmd, path, clusters)
				if err != nil {
					return err
				}
				for _, o := range odd {
					all = append(all, checked{path, o})
				}
			}
			if err := printChecked(app, print, all); err != nil || !invalid {
				return err
			}
			return cli.Coded(cli.ExitUsage, errors.New("a file is not valid"))
		},
	}
	app.LogFlags(cmd)
	print = app.PrintFlag(cmd)
	return cmd
}

// checked is what is odd in one of the files.
type checked struct {
	File string `json:"file"`
	workload.Odd
}

func lintEffect(severity string) string {
	if severity == "error" {
		return "the file is refused"
	}
	return "see docs/CLUSTER-FORMAT.md and docs/PROFILE-FORMAT.md"
}

func isProfileName(path string) bool {
	for _, name := range append(profiles.Names(), profiles.ClusterNames()...) {
		if name == path {
			return true
		}
	}
	return false
}

// checkTrace imports a log where it is one, and looks at its rows.
// What it holds is compared with the nodes table of the trace, else with what the log states of
// the machine, and with the clusters.
func checkTrace(app *cli.App, cmd *cobra.Command, path string, clusters []workload.Capacity) ([]workload.Odd, error) {
	t, err := logfile.OpenTrace(cmd.Context(), app, []string{path}, false)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	b, err := traces.Open(t.Table)
	if err != nil {
		return nil, cli.BadInput(err)
	}
	defer b.Close()
	var accounts []traces.Report
	var imported traces.Report
	if json.Unmarshal([]byte(b.Meta().Import), &imported) == nil { // a trace that was not imported has none
		accounts = append(accounts, imported)
	}
	if t.About.Rows == 0 {
		return workload.CheckAccounts(accounts...), nil
	}
	s, err := workload.Measure(b, time.UTC)
	if err != nil {
		return nil, cli.BadInput(err)
	}
	held, err := workload.Held(b)
	if err != nil {
		return nil, cli.BadInput(err)
	}
	own := workload.Capacity{By: "the log", Has: traces.Held{int64(t.About.MaxProcs), int64(t.About.MaxNodes)}}
	if len(t.Nodes()) > 0 {
		own = workload.Capacity{By: "the nodes table"}
		for i := range t.Nodes() {
			n := &t.Nodes()[i]
			own.Has.Add(traces.Held{int64(n.CPUs), 1, 1000 * int64(n.GPUs), n.Memory})
		}
	}
	own.Has[1] = 0 // one that jobs share is held once for each of them
	return append(workload.Check(s, accounts...), workload.CheckHeld(t.About, held, append([]workload.Capacity{own}, clusters...)...)...), nil
}

// clustersAmong are the cluster files among the arguments that have nodes of their own.
func clustersAmong(args []string) (out []workload.Capacity) {
	for _, path := range args {
		if kind, err := profiles.KindOfFile(path); slices.Contains(profiles.ClusterNames(), path) || err == nil && kind == profiles.KindCluster {
			c, err := profiles.LoadCluster(path)
			if err != nil { // lint says so
				continue
			}
			if site, err := c.Resolve(); err == nil {
				out = append(out, workload.Capacity{By: path, Has: plan.Holds(site.Nodes, site.Shared)})
			}
		}
	}
	return out
}

func printChecked(app *cli.App, print *cli.Printer, all []checked) error {
	if print.JSON() {
		if all == nil {
			all = []checked{}
		}
		return print.Document(map[string]any{"odd": all})
	}
	t := doc.New("file", "what is odd", "count", "first", "what it does")
	for i := range all {
		c := &all[i]
		count := doc.Cell{}
		if c.Count > 0 {
			count = doc.Int(c.Count)
		}
		t.Row(c.File, c.What, count, c.First, c.Effect)
	}
	if len(all) == 0 {
		app.Say("Nothing odd.")
		return nil
	}
	return print.Table(t)
}
