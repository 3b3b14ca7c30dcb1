// Package about has the verbs and pages of help about the program itself: version, doctor, cache and the topics.
package about

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/internal/disk"
	"orrery/internal/doc"
	"orrery/reports/plot"
	"orrery/reports/table"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/sweep"
	"orrery/traces"
)

// programVersion is what version -o json prints.
type programVersion struct {
	Version       string `json:"version"`
	Source        string `json:"source"`             // where the version comes from
	Revision      string `json:"revision,omitempty"` // the commit, with +changes where there were some
	Semantics     int    `json:"semantics"`
	TraceSchema   int    `json:"trace_schema"`
	RunSchema     int    `json:"run_schema"`
	MetricsSchema int    `json:"metrics_schema"`
	Go            string `json:"go"`
	System        string `json:"system"`
}

func aboutProgram() programVersion {
	return programVersion{cli.Version(), cli.VersionSource(), cli.Revision(), plan.Semantics, traces.SchemaVersion, record.RunVersion, metric.TableSchema, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
}

// Verbs are the verbs about the program, its cache and its surroundings.
func Verbs(app *cli.App) []*cobra.Command {
	return []*cobra.Command{doctorCommand(app), cacheCommand(app), versionCommand(app)}
}

func versionCommand(app *cli.App) *cobra.Command {
	var print *cli.Printer
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program, its formats and its semantics",
		Long: `Print the version of the program, the commit it was built from, and the numbers
that say what it reads and writes. Results of different semantics may schedule
differently and are never mixed. All numbers count from 1.

Exit codes: 0 printed, 2 usage.`,
		Example: `  orrery version
  orrery version -o json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			if print.JSON() {
				return print.Document(aboutProgram())
			}
			t := doc.New("what", "value")
			t.Row("orrery", cli.Version())
			t.Row("version from", cli.VersionSource())
			t.Row("revision", doc.Quantity(cmp.Or(cli.Revision(), "unknown"), cli.Revision()))
			t.Row("semantics", plan.Semantics)
			t.Row("trace schema", traces.SchemaVersion)
			t.Row("run schema", record.RunVersion)
			t.Row("metrics schema", metric.TableSchema)
			t.Row("go", runtime.Version())
			t.Row("system", runtime.GOOS+"/"+runtime.GOARCH)
			return print.Table(t)
		},
	}
	print = app.PrintFlag(cmd)
	return cmd
}

func cacheCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Show or clean the cache of imported logs",
		Long: `Look at the cache of imported logs, which is orrery/imports in the cache directory of
the user ($XDG_CACHE_HOME). It may be removed at any time: logs are imported again.

Exit codes: 0 done, else those of the verbs below.`,
		Example: `  orrery cache info
  orrery cache clean --all`,
	}
	cmd.AddCommand(cacheInfoCommand(app), cacheCleanCommand(app))
	return cmd
}

func cacheInfoCommand(app *cli.App) *cobra.Command {
	var print *cli.Printer
	cmd := &cobra.Command{
		Use:   "info",
		Short: "Count the imports in the cache",
		Long: `Count the imports in the cache, their bytes, and what killed processes have left.

Exit codes: 0 counted, 1 failed, 2 usage.`,
		Example:           "  orrery cache info\n  orrery cache info -o json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			c, err := logfile.LookIntoCache(time.Now(), true)
			if err != nil {
				return err
			}
			t := doc.New("what", "value")
			t.Row("directory", c.Dir)
			t.Row("imports", len(c.Imports))
			t.Row("bytes", doc.Quantity(plot.Count(c.Bytes), c.Bytes))
			t.Row("left by killed processes", len(c.Litter))
			return print.Table(t)
		},
	}
	print = app.PrintFlag(cmd)
	return cmd
}

func cacheCleanCommand(app *cli.App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove what killed processes have left in the cache, or all of it",
		Long: `Remove half-written imports that have not changed for an hour, with --all all
imports too. What a process reads at this moment stays readable to it.

Exit codes: 0 removed, 1 failed, 2 usage.`,
		Example:           "  orrery cache clean\n  orrery cache clean --all",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			c, err := logfile.LookIntoCache(time.Now(), all)
			if err != nil {
				return err
			}
			gone := append(c.Litter, c.Imports...)
			for _, path := range gone {
				if err := disk.Delete(path); err != nil {
					return err
				}
			}
			app.Say("removed %s of %s", table.Counted(len(gone), "import"), c.Dir)
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "remove all imports")
	return cmd
}

// doctorVerb holds the flags of doctor.
type doctorVerb struct {
	app    *cli.App
	print  *cli.Printer
	study  string
	via    string
	answer string // folder in which this process is the second one
}

func doctorCommand(app *cli.App) *cobra.Command {
	v := &doctorVerb{app: app}
	cmd := &cobra.Command{
		Use:   "doctor --study DIR",
		Short: "Test whether a file system can hold a study",
		Long: `Test what a study directory needs of the file system under DIR: that a file is
created by one process only, that hard links work and refuse a name that is
taken, that data reaches the disk, that the time of change of a file moves, and
that two processes see what the other writes soon enough. DIR is a study, or the
folder where one is to be made; the test files are removed again.

By default both processes run here. --via starts the second one on another
machine that mounts the same folder, by the words of a command in front of its
command line, such as --via "ssh node2" or --via "srun -w node2". The program
must be there under the same path.

Exit codes: 0 all is well, 1 a study would not be safe there or the test could
not be made, 2 usage, 3 no such folder; 130 interrupted.`,
		Example: `  orrery doctor --study .
  orrery doctor --study study -o json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              v.run,
	}
	v.print = app.PrintFlag(cmd)
	cmd.Flags().StringVar(&v.study, "study", "", "folder `DIR` to test")
	cmd.Flags().StringVar(&v.via, "via", "", "`COMMAND` that starts the second process on another machine")
	cmd.Flags().StringVar(&v.answer, "answer", "", "be the second process in `DIR`")
	_ = cmd.Flags().MarkHidden("answer") // it is defined above
	_ = cmd.MarkFlagDirname("study")
	return cmd
}

func (v *doctorVerb) run(cmd *cobra.Command, _ []string) error {
	if v.answer != "" {
		return sweep.AnswerExamination(v.answer, v.app.Stdin, v.app.Stdout)
	}
	if v.study == "" {
		return cli.Usagef("found no folder to test, want --study DIR")
	}
	if info, err := os.Stat(v.study); err != nil {
		return cli.BadInput(err)
	} else if !info.IsDir() {
		return cli.BadInput(fmt.Errorf("%s is a file, want a folder", v.study))
	}
	x := sweep.Examination{Dir: v.study, Peer: append(strings.Fields(v.via), program(v.app), "doctor", "--answer")}
	if s, err := sweep.Open(v.study, ""); err == nil {
		x.Lease = s.Lease()
	}
	found, err := sweep.Examine(cmd.Context(), x)
	if err != nil {
		return err
	}
	return v.show(found)
}

// show prints the findings; one that is bad is an error.
func (v *doctorVerb) show(found []sweep.Finding) error {
	t := doc.New("test", "verdict", "found", "needed because")
	bad := 0
	for _, f := range found {
		tone := map[sweep.FindingVerdict]doc.Tone{sweep.FindingGood: doc.Good, sweep.FindingBad: doc.Bad}[f.Verdict]
		t.Row(f.Test, doc.Cell{Text: string(f.Verdict), JSON: strings.ToLower(string(f.Verdict)), Tone: tone}, f.Found, f.Why)
		if f.Verdict == sweep.FindingBad {
			bad++
		}
	}
	if err := v.print.Table(t); err != nil {
		return err
	}
	if bad > 0 {
		return cli.Coded(cli.ExitFailed, errors.New("a study would not be safe in "+v.study+": use another file system, or one machine"))
	}
	return nil
}

// program is the path of the executable that other processes are started with.
func program(app *cli.App) string {
	if app.Executable != "" {
		return app.Executable
	}
	if path, err := os.Executable(); err == nil {
		return path
	}
	return "orrery"
}
