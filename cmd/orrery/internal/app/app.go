// Package app puts the verbs together and runs them: the command line, errors and their exit codes, interrupts.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"orrery/cmd/orrery/internal/about"
	"orrery/cmd/orrery/internal/capture"
	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/data"
	"orrery/cmd/orrery/internal/explain"
	"orrery/cmd/orrery/internal/fidelity"
	"orrery/cmd/orrery/internal/fork"
	"orrery/cmd/orrery/internal/gate"
	"orrery/cmd/orrery/internal/replay"
	"orrery/cmd/orrery/internal/results"
	"orrery/cmd/orrery/internal/service"
	"orrery/cmd/orrery/internal/site"
	"orrery/cmd/orrery/internal/studies"
	"orrery/cmd/orrery/internal/tune"
	"orrery/cmd/orrery/internal/verify"
	"orrery/internal/doc"
	"orrery/internal/spelling"
	"orrery/profiles"
)

// Run runs the program with the arguments after its name and returns the exit
// code. A cancelled ctx ends it cleanly with code 130.
func Run(ctx context.Context, app *cli.App, args []string) (code int) {
	defer func() {
		// The runtime's own exit code for a panic is that of a usage error.
		if p := recover(); p != nil {
			fmt.Fprintf(app.Stderr, "orrery: a fault in the program, please report it: %v\n%s", p, debug.Stack())
			code = cli.ExitFailed
		}
	}()
	app.Args = args
	root, began := Root(app)
	root.SetArgs(args)
	out := &printed{w: app.Stdout}
	if f, ok := app.Stdout.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		app.Stdout = out // not all that print a line look whether that went well
		root.SetOut(out)
	}
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil && out.err == nil:
		return cli.ExitOK
	case err == nil:
		err = out.err
	case !*began: // cobra refused the arguments before a verb saw them
		err = cli.Coded(cli.ExitUsage, err)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = cli.Coded(cli.ExitInterrupted, errors.New("interrupted; nothing was left half-written"))
	}
	complain(app, cmd, err)
	return cli.ExitCode(err)
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
func complain(app *cli.App, cmd *cobra.Command, err error) {
	text := strings.TrimRight(err.Error(), "\n")
	if text == "" {
		return
	}
	fmt.Fprintf(app.Stderr, "%s: %s\n", cmd.CommandPath(), doc.Escaped(text, "\n\t"))
	var file *profiles.Error // it says what is wrong with a file, and no flag can mend that
	if cli.ExitCode(err) == cli.ExitUsage && !errors.As(err, &file) {
		fmt.Fprintf(app.Stderr, "run '%s --help' for its flags and examples\n", cmd.CommandPath())
	}
}

// Root builds the tree of verbs. began is set once a verb has been handed its
// arguments, that is when the command line itself is in order.
func Root(app *cli.App) (root *cobra.Command, began *bool) {
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
	}
	root.SetOut(app.Stdout)
	root.SetErr(app.Stderr)
	root.SetIn(app.Stdin)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveDefault)
	root.SetFlagErrorFunc(flagError)
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return cmp.Or(oldNames[name], pflag.NormalizedName(name))
	})
	root.SetHelpCommand(about.HelpCommand(app))
	root.AddCommand(replay.Command(app), fork.Command(app), fidelity.Command(app), explain.Command(app), verify.Command(app), gate.Command(app), tune.Command(app))
	for _, verbs := range [][]*cobra.Command{
		results.Verbs(app), data.Verbs(app), site.Verbs(app), service.Verbs(app), studies.Verbs(app), capture.Verbs(app), about.Verbs(app), about.Topics(app),
	} {
		root.AddCommand(verbs...)
	}
	settle(root)
	root.SetUsageTemplate(strings.NewReplacer(
		"Additional help topics:", "Help topics:",
		"Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}", "{{flagsInGroups . | trimTrailingWhitespaces}}",
		"{{rpad .CommandPath .CommandPathPadding}} {{.Short}}", "help {{rpad .Name 12}} {{.Short}}",
	).Replace(root.UsageTemplate()))
	return root, began
}

// flagError explains an error of the flag parser and suggests the flag that was
// meant.
func flagError(cmd *cobra.Command, err error) error {
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
		return cli.Group(cmd, words) // what the flag belongs to is not there
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1 {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if word := spelling.Word(unknown.GetSpecifiedName(), names); word != "" {
			return cli.Usagef("unknown flag --%s: did you mean --%s?", unknown.GetSpecifiedName(), word)
		}
	}
	if errors.As(err, &unknown) && unknown.GetSpecifiedName() == "o" {
		return cli.Usagef("this verb has no -o: %s", cli.InsteadOf(cmd, "PATH"))
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		why := errors.Unwrap(invalid)
		var number *strconv.NumError
		if errors.As(why, &number) {
			why = errors.New(wanted(invalid.GetFlag().Value.Type(), number))
		}
		return cli.Usagef("%s %s: %v", spelled(invalid.GetFlag()), invalid.GetValue(), why)
	}
	return cli.Usagef("%v", err)
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

// digits is a flag of a whole number, which is written as in files: the library of flags
// would take 010 for 8 and 0x10 for 16.
type digits struct{ pflag.Value }

var inDigits = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// Set implements pflag.Value.
func (d digits) Set(text string) error {
	if hint := profiles.InDigits(text); hint != "" && !inDigits.MatchString(text) {
		return errors.New("want a whole number" + hint)
	}
	return d.Value.Set(text)
}

// settle holds the flags of whole numbers of a command, and of those below it, to digits, and has a
// command that only holds others show its help.
func settle(cmd *cobra.Command) {
	if cmd.HasSubCommands() && cmd.RunE == nil {
		cmd.RunE = cli.Group
	}
	for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		set.VisitAll(func(f *pflag.Flag) {
			kind := strings.TrimRight(strings.TrimPrefix(f.Value.Type(), "u"), "0123456789") // of lists each number is decimal
			if _, done := f.Value.(digits); !done && kind == "int" {
				f.Value = digits{f.Value}
			}
		})
	}
	for _, c := range cmd.Commands() {
		settle(c)
	}
}
