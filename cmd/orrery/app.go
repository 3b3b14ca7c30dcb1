package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"orrery/internal/doc"
	"orrery/internal/spelling"
	"orrery/profiles"
)

// Main is the program with everything it takes from its surroundings, so that a
// test can run it in its own process.
type Main struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	// Executable is the program that verify starts twice; "" is the running one.
	Executable string

	args  []string // of this run
	logs  logFlags // of the verb, where it reads raw logs
	trust []int    // the owners whose files in a study are read too
}

// newMain is Main in the process it runs in.
func newMain() *Main {
	return &Main{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
}

// Run runs the program with the arguments after its name and returns the exit
// code. A cancelled ctx ends it cleanly with code 130.
func (m *Main) Run(ctx context.Context, args []string) (code int) {
	defer func() {
		// The runtime's own exit code for a panic is that of a usage error.
		if p := recover(); p != nil {
			fmt.Fprintf(m.Stderr, "orrery: a fault in the program, please report it: %v\n%s", p, debug.Stack())
			code = exitFailed
		}
	}()
	m.args = args
	root, began := m.root()
	root.SetArgs(args)
	out := &printed{w: m.Stdout}
	if f, ok := m.Stdout.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		m.Stdout = out // not all that print a line look whether that went well
		root.SetOut(out)
	}
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil && out.err == nil:
		return exitOK
	case err == nil:
		err = out.err
	case !*began: // cobra refused the arguments before a verb saw them
		err = &codedError{exitUsage, err}
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = &codedError{exitInterrupted, errors.New("interrupted; nothing was left half-written")}
	}
	m.complain(cmd, err)
	return exitCode(err)
}

// printed is an output that remembers how it went.
type printed struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (o *printed) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// complain prints an error with the verb that it comes from. Errors that have
// been said already are empty.
func (m *Main) complain(cmd *cobra.Command, err error) {
	text := strings.TrimRight(err.Error(), "\n")
	if text == "" {
		return
	}
	fmt.Fprintf(m.Stderr, "%s: %s\n", cmd.CommandPath(), doc.Escaped(text, "\n\t"))
	var file *profiles.Error // it says what is wrong with a file, and no flag can mend that
	if exitCode(err) == exitUsage && !errors.As(err, &file) {
		fmt.Fprintf(m.Stderr, "run '%s --help' for its flags and examples\n", cmd.CommandPath())
	}
}

// root builds the tree of verbs. began is set once a verb has been handed its
// arguments, that is when the command line itself is in order.
func (m *Main) root() (root *cobra.Command, began *bool) {
	began = new(bool)
	root = &cobra.Command{
		Use:   "orrery",
		Short: "Replay workload logs through a production cluster scheduler",
		Long: `Orrery replays a captured workload log through the production scheduler core,
with simulated time, and measures the schedule that comes out. The same input
gives the same bytes on every computer.

Start with 'orrery replay': it replays a small sample that is part of the
program. Then name a log of your own.`,
		Example: `  orrery replay
  orrery replay log.swf.gz --procs 100 --out drawn --report
  orrery help exit-codes`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		PersistentPreRun: func(*cobra.Command, []string) {
			*began = true
		},
		RunE: group,
	}
	root.SetOut(m.Stdout)
	root.SetErr(m.Stderr)
	root.SetIn(m.Stdin)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveDefault)
	root.SetFlagErrorFunc(flagError)
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return cmp.Or(oldNames[name], pflag.NormalizedName(name))
	})
	root.SetHelpCommand(m.helpCommand())
	root.AddCommand(
		m.replayCommand(), m.forkCommand(), m.importCommand(), m.traceCommand(), m.synthCommand(),
		m.compareCommand(), m.fidelityCommand(), m.reportCommand(), m.verifyCommand(), m.exportCommand(), m.profilesCommand(), m.clusterCommand(), m.lintCommand(), m.calibrateCommand(), m.checkCommand(), m.schemaCommand(), m.explainCommand(), m.gateCommand(), m.scaleCommand(), m.conformCommand(), m.doctorCommand(), m.cacheCommand(), m.versionCommand(),
		m.captureCommand(), m.sweepCommand(), m.studyCommand(), m.workerCommand(), m.tuneCommand(),
	)
	root.AddCommand(m.topics()...)
	wholeInDigits(root)
	root.SetUsageTemplate(strings.NewReplacer(
		"Additional help topics:", "Help topics:",
		"Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}", "{{flagsInGroups . | trimTrailingWhitespaces}}",
		"{{rpad .CommandPath .CommandPathPadding}} {{.Short}}", "help {{rpad .Name 12}} {{.Short}}",
	).Replace(root.UsageTemplate()))
	return root, began
}

// group is the run of a command that only holds others: without arguments it
// shows its help, and a word that none of them answers to is refused.
func group(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	if word := spelling.Word(args[0], names); word != "" {
		text += ": did you mean " + word + "?"
	}
	return usagef("%s", text)
}

// flagError explains an error of the flag parser and suggests the flag that was
// meant.
func flagError(cmd *cobra.Command, err error) error {
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
		return group(cmd, words) // what the flag belongs to is not there
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1 {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if word := spelling.Word(unknown.GetSpecifiedName(), names); word != "" {
			return usagef("unknown flag --%s: did you mean --%s?", unknown.GetSpecifiedName(), word)
		}
	}
	if errors.As(err, &unknown) && unknown.GetSpecifiedName() == "o" {
		return usagef("this verb has no -o: %s", insteadOf(cmd, "PATH"))
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		why := errors.Unwrap(invalid)
		var number *strconv.NumError
		if errors.As(why, &number) {
			why = errors.New(wanted(invalid.GetFlag().Value.Type(), number))
		}
		return usagef("%s %s: %v", spelled(invalid.GetFlag()), invalid.GetValue(), why)
	}
	return usagef("%v", err)
}

// spelled is a flag as it is best known.
func spelled(f *pflag.Flag) string {
	if f.Shorthand == "o" {
		return "-o"
	}
	return "--" + f.Name
}

// oldNames are names that flags had, which still do.
var oldNames = map[string]pflag.NormalizedName{"print": "format"}

// wanted says which numbers a flag of a type takes.
func wanted(kind string, err *strconv.NumError) string {
	switch {
	case strings.HasPrefix(kind, "float"):
		return "want a number"
	case errors.Is(err, strconv.ErrRange):
		return "want a smaller number"
	case strings.HasPrefix(kind, "uint"):
		return "want a whole number, 0 or more"
	}
	return "want a whole number"
}
