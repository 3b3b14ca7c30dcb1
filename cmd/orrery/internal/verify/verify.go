// Package verify is the verb verify: whether a replay, a run, a study or a sealed file is what it says.
package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/formats"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/cmd/orrery/internal/settings"
	"orrery/internal/disk"
	"orrery/internal/doc"
	"orrery/reports/plot"
	"orrery/reports/table"
	"orrery/sim/record"
	"orrery/sim/verify"
)

// verifyVerb holds the flags of verify.
type verifyVerb struct {
	settings.Flags
	app     *cli.App
	print   *cli.Printer
	against string
	keep    string
	quiet   bool
	force   bool
	watch   bool
	facts   bool
}

// Command is the verb verify.
func Command(app *cli.App) *cobra.Command {
	v := &verifyVerb{app: app}
	cmd := &cobra.Command{
		Use:   "verify [RUN|STUDY|FILE] [LOG]",
		Short: "Replay twice and compare every byte, or check a run or the invariants",
		Long: `Replay the same settings in two processes, the second on one processor, and
compare every byte of the run directories but host.json, and the fingerprints.
When they differ, the first diverging event of the committed log is named, with
what each process did. --against takes another build of orrery for the second
process; the version in run.json, and its digest, may then differ.

Of a run directory RUN, every file is compared with the digest that run.json has of
it, the tables with the spec of the run, and facts.parquet with its fingerprint; with
LOG the run is replayed once more, and has to come to the same decisions.

Of a study directory STUDY, or that of a tune, every file is read and held to its
digest: study.json, the spec and the result of every task, the plan, the traces, the
report, and the runs that study materialize made, to the fingerprints of the results
too. FILE is the baseline of a gate or the report.json of a study. Each file that is
not what was written is named.

--invariants replays once and checks all along what docs/INVARIANTS.md states:
nothing is held twice, no limit is exceeded, no reservation slips, and so on, by
a ledger of its own. RUN is a run directory, whose settings are then replayed on the
LOG that they are for; without it the flags are the settings.

--facts feeds facts.parquet of RUN, which replay writes with --facts, to a fresh
core whose quorum answers from that log, and compares every plan: what a scheduler
does that is started anew in production. The first plan that differs is named.

` + settings.Help + `

Exit codes: 0 identical, or no invariant is broken; 1 failed, 2 usage, 3 bad
input, such as a run or a study that was altered; 4 the runs or plans differ, or an invariant
is broken; 130 interrupted.`,
		Example: `  orrery verify
  orrery verify log.swf.gz --procs 100 --order sjf --backfill easy
  orrery verify log.swf.gz --procs 100 -o json
  orrery verify run log.swf.gz
  orrery verify study
  orrery verify --invariants log.swf.gz --procs 100 --order sjf
  orrery verify --facts run log.swf.gz`,
		Args:              cobra.ArbitraryArgs, // a log may be several files
		ValidArgsFunction: cli.OneFile,
		RunE:              v.run,
	}
	v.Register(cmd)
	v.print = app.PrintAs(cmd, table.Text, table.JSON, table.Markdown)
	cli.ForceFlag(cmd, &v.force)
	app.LogFlags(cmd)
	cmd.Flags().StringVar(&v.against, "against", "", "`PROGRAM` to run as the second process; without it this one")
	cmd.Flags().BoolVar(&v.watch, "invariants", false, "replay once and check the invariants of the schedule")
	cmd.Flags().BoolVar(&v.facts, "facts", false, "feed facts.parquet of RUN to a fresh core and compare every plan")
	cmd.Flags().StringVar(&v.keep, "out", "", "directory `DIR` to keep both runs in, as first and second")
	cmd.Flags().BoolVarP(&v.quiet, "quiet", "q", false, "print nothing when all is well (but -o json)")
	return cmd
}

func (v *verifyVerb) run(cmd *cobra.Command, args []string) error {
	switch {
	case v.watch && v.facts:
		return cli.Usagef("--facts feeds a log to a core, --invariants replays: give one of them")
	case v.watch:
		return v.invariants(cmd.Context(), args)
	case v.facts:
		return v.parity(cmd.Context(), args)
	case len(args) > 0 && formats.IsRun(args[0]):
		return v.stored(cmd.Context(), args)
	case len(args) == 1 && studyIn(args[0]) != "":
		return v.study(cmd.Context(), args[0], studyIn(args[0]))
	case len(args) == 1 && isSealedFile(args[0]):
		return v.sealedFile(args[0])
	}
	if len(args) > 1 {
		return cli.Usagef("found %d arguments, want one LOG, or a RUN and its LOG", len(args))
	}
	if err := v.mayKeep(); err != nil {
		return err
	}
	t, err := logfile.OpenLog(cmd.Context(), v.app, args, v.quiet)
	if err != nil {
		return err
	}
	defer t.Close()
	if _, err := v.Bound(t); err != nil {
		return err
	}
	logfile.Remark(v.app, t, v.quiet)
	programs, err := v.programs()
	if err != nil {
		return err
	}
	scratch, dirs, err := v.directories()
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if err := v.replays(cmd.Context(), t, programs, dirs); err != nil {
		_ = os.Remove(v.keep) // when it is empty: both processes have taken away what they made
		return err
	}
	var semantics []int
	for _, dir := range dirs {
		if r, ok := formats.Recorded(dir); ok {
			semantics = append(semantics, r.Spec.Semantics)
		}
	}
	formats.SeveralSemantics(v.app, semantics)
	var runs [2]verify.Recorded
	for i, dir := range dirs {
		r, err := record.Open(dir)
		if err != nil {
			return err
		}
		defer r.Close()
		runs[i] = verify.Recorded{Files: os.DirFS(dir), Epoch: r.Epoch(), Jobs: r, Log: record.ReadLog(dir)}
	}
	found, err := verify.Compare(runs[0], runs[1], v.against != "")
	if err != nil {
		return err
	}
	return v.show(found)
}

// mayKeep refuses a directory that holds the runs of another verify.
func (v *verifyVerb) mayKeep() error {
	if v.keep == "" {
		return nil
	}
	for _, name := range runNames {
		if err := cli.MayHold("--out", filepath.Join(v.keep, name), record.FileRun, v.force); err != nil {
			return err
		}
	}
	return nil
}

// runNames are the directories of the two runs in that of --out.
var runNames = [2]string{"first", "second"}

// programs are the executables of the two processes.
func (v *verifyVerb) programs() (p [2]string, err error) {
	if p[0] = v.app.Executable; p[0] == "" {
		if p[0], err = os.Executable(); err != nil {
			return p, fmt.Errorf("finding the running program: %w", err)
		}
	}
	if p[1] = v.against; p[1] == "" {
		p[1] = p[0]
		return p, nil
	}
	if p[1], err = exec.LookPath(v.against); err != nil {
		return p, cli.Usagef("--against %s: %w; name a build of orrery", v.against, err)
	}
	return p, nil
}

// directories are where the two runs go, and what is removed in the end.
func (v *verifyVerb) directories() (scratch string, dirs [2]string, err error) {
	if scratch, err = os.MkdirTemp("", "orrery-verify-*"); err != nil {
		return "", dirs, err
	}
	disk.Temporary(scratch)
	parent := scratch
	if v.keep != "" {
		parent = v.keep
	}
	return scratch, [2]string{filepath.Join(parent, runNames[0]), filepath.Join(parent, runNames[1])}, nil
}

// replays runs both processes side by side, and ends both when one fails.
func (v *verifyVerb) replays(ctx context.Context, t *logfile.Trace, programs, dirs [2]string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type end struct {
		which int
		err   error
	}
	ends := make(chan end)
	for i := range programs {
		go func() { ends <- end{i, v.replay(ctx, t, programs[i], dirs[i], i == 1)} }()
	}
	var first error
	for range programs {
		if e := <-ends; e.err != nil && first == nil {
			cancel()
			first = e.err
			if !errors.Is(e.err, context.Canceled) {
				first = fmt.Errorf("the %s process: %w", [2]string{"first", "second"}[e.which], e.err)
			}
		}
	}
	return first
}

// replay runs one process to its end. The exit code of a replay that refuses
// its input is passed on.
func (v *verifyVerb) replay(ctx context.Context, t *logfile.Trace, program, dir string, alone bool) error {
	args := []string{"replay"}
	if !t.Sample {
		args = append(args, t.Path)
	}
	args = append(append(args, v.app.Logs.Given()...), v.Given()...)
	args = append(args, "--facts", "--quiet", "--out", dir)
	if formats.IsRun(dir) { // mayKeep has asked for --force; another build may not know it
		args = append(args, "--force")
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = os.Environ()
	if alone {
		cmd.Env = append(cmd.Env, "GOMAXPROCS=1")
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	runtime.LockOSThread() // the kernel ends the child with the thread that made it
	defer runtime.UnlockOSThread()
	endWithParent(cmd)
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var exit *exec.ExitError
	said := strings.TrimSpace(stderr.String())
	if errors.As(err, &exit) && (exit.ExitCode() == cli.ExitUsage || exit.ExitCode() == cli.ExitInput) {
		return cli.Coded(exit.ExitCode(), errors.New(said))
	}
	return fmt.Errorf("%w: %s", err, said)
}

// show prints what was compared and, when the runs differ, where first.
func (v *verifyVerb) show(found *verify.Verification) error {
	if v.print.JSON() {
		if err := v.print.Document(found); err != nil {
			return err
		}
	}
	if found.Equal() && (v.quiet || v.print.JSON()) {
		return nil
	}
	if !v.print.JSON() {
		if err := v.tables(found); err != nil {
			return err
		}
	}
	if found.Equal() {
		return nil
	}
	text := difference(found)
	if v.keep == "" {
		text += "\nto look closer, keep both runs with --out DIR"
	}
	return cli.Coded(cli.ExitMismatch, errors.New(text))
}

func (v *verifyVerb) tables(found *verify.Verification) error {
	files := doc.New("file", "equal bytes", "result")
	for _, f := range found.Files {
		result := doc.Cell{Text: "identical", JSON: "identical", Tone: doc.Good}
		if !f.Equal {
			result = doc.Cell{Text: "DIFFERS", JSON: "differs", Tone: doc.Bad}
		}
		files.Row(f.Name, doc.Quantity(plot.Count(f.Bytes), f.Bytes), result)
	}
	if err := v.print.Table(files); err != nil {
		return err
	}
	if found.Equal() {
		fmt.Fprintf(v.app.Stdout, "\nidentical in two processes, fingerprint %s\n", found.Fingerprints[0])
	}
	return nil
}

// difference tells what each process did at the first event that differs.
func difference(found *verify.Verification) string {
	d := found.Divergence
	if d == nil {
		return fmt.Sprintf("the runs differ, though their logs of events are equal: fingerprints %s and %s",
			found.Fingerprints[0], found.Fingerprints[1])
	}
	return fmt.Sprintf("the runs differ; first diverging event: number %d of the log\n  first process:  %s\n  second process: %s",
		d.Index, d.Sides[0], d.Sides[1])
}
