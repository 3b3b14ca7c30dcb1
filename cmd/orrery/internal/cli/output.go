package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"orrery/internal/doc"
	"orrery/internal/spelling"
	"orrery/reports/plot"
	"orrery/reports/table"
	"orrery/scheduler/model"
	"orrery/sim"
	"orrery/sim/record"
)

// Printer prints tables in the format that -o asks for. Standard output carries
// results only; everything else goes to standard error.
type Printer struct {
	App    *App
	Format string
	wide   bool // text as wide as it is, on any terminal
	safe   bool // CSV in which no text is a formula
	told   bool // that columns are left out
}

// PrintFlag adds the flag for the format of what a verb prints, which is one table.
func (app *App) PrintFlag(cmd *cobra.Command) *Printer {
	return app.PrintAs(cmd, table.Text, table.JSON, table.Markdown, table.CSV)
}

// PrintAs adds the flag with these formats, the first being the default.
func (app *App) PrintAs(cmd *cobra.Command, formats ...table.Format) *Printer {
	p := &Printer{App: app}
	var words []string
	for _, f := range formats {
		words = append(words, string(f))
	}
	FormatFlag(cmd, &p.Format, words...)
	cmd.Flags().BoolVar(&p.wide, "wide", false, "all columns of tables, and no line wrapped, however narrow the terminal")
	if slices.Contains(formats, table.CSV) {
		cmd.Flags().BoolVar(&p.safe, "csv-safe", false, "with -o csv: an apostrophe before text that a spreadsheet would take for a formula")
	}
	return p
}

// FormatFlag adds -o FORMAT to a verb, the first format being the default. On every
// verb -o is how results are printed, and --out the path that is written.
func FormatFlag(cmd *cobra.Command, word *string, formats ...string) {
	*word = formats[0]
	cmd.Flags().VarP(format{Choice{Word: word, Of: formats, What: "format"}, cmd}, "format", "o", "format of the results")
	CompleteWith(cmd, "format", formats...)
}

// format is the value of -o.
type format struct {
	Choice
	cmd *cobra.Command
}

// Set implements pflag.Value. What is no format is likely a path, which goes
// elsewhere.
func (f format) Set(s string) error {
	err := f.Choice.Set(s)
	if err == nil || spelling.Word(strings.ToLower(s), f.Of) != "" {
		return err
	}
	return fmt.Errorf("-o is the format of the results (%s); %s", OneOf(f.Of), InsteadOf(f.cmd, s))
}

// WritesKey is the annotation of a verb that writes where no flag names it: it says
// where.
const WritesKey = "orrery_writes"

// InsteadOf says how a verb writes to a path that was given with -o.
func InsteadOf(cmd *cobra.Command, path string) string {
	if writes := cmd.Annotations[WritesKey]; writes != "" {
		return writes
	}
	if cmd.Flags().Lookup("out") == nil {
		return "this verb writes no file: redirect standard output"
	}
	return "to write to a path use --out " + Quoted(path)
}

// CompleteWith completes the value of a flag with words.
func CompleteWith(cmd *cobra.Command, flag string, words ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag does not exist: a mistake in the verb
	}
}

// JSON says that the output is one JSON document.
func (p *Printer) JSON() bool { return p.Format == string(table.JSON) }

// ForPrograms says that programs read the output: one document or one table.
func (p *Printer) ForPrograms() bool { return p.JSON() || p.Format == string(table.CSV) }

// Table prints t.
func (p *Printer) Table(t *doc.Table) error {
	f, err := table.ParseFormat(p.Format)
	if err != nil {
		return err
	}
	s := p.App.Screen(p.App.Stdout)
	o := table.Options{Width: p.width(), Color: s.color, Safe: p.safe}
	if err := table.Write(p.App.Stdout, t, f, o); err != nil || f != table.Text || p.told {
		return err
	}
	if out := table.LeftOut(t, o.Width); len(out) > 0 {
		p.told = true
		p.App.Say("(too narrow for: %s; --wide shows all)", strings.Join(out, ", "))
	}
	return nil
}

// width is that of the terminal, 0 for no limit.
func (p *Printer) width() int {
	if p.wide {
		return 0
	}
	return p.App.Screen(p.App.Stdout).Width
}

// Paragraph prints text for people, wrapped at the width of the terminal.
func (p *Printer) Paragraph(text string) {
	for _, line := range table.Wrap(text, p.width()) {
		fmt.Fprintln(p.App.Stdout, doc.Escaped(line, "\t"))
	}
}

// Section prints t under a heading, which JSON output, one document, leaves out. In
// CSV, which is one table, there are no further ones.
func (p *Printer) Section(heading string, t *doc.Table) error {
	if t.Len() == 0 || p.Format == string(table.CSV) {
		return nil
	}
	switch p.Format {
	case string(table.Markdown):
		fmt.Fprintf(p.App.Stdout, "\n## %s\n\n", heading)
	case string(table.Text):
		fmt.Fprintf(p.App.Stdout, "\n%s\n", heading)
	}
	return p.Table(t)
}

// Document prints v as the one JSON document of the output.
func (p *Printer) Document(v any) error {
	b, err := record.AppendJSON(nil, v)
	if err != nil {
		return err
	}
	_, err = p.App.Stdout.Write(b)
	return err
}

// Escaped is an output for people that shows control characters of names and paths as
// escapes.
func Escaped(w io.Writer) io.Writer { return escaped{w} }

type escaped struct{ w io.Writer }

// Write implements io.Writer.
func (o escaped) Write(p []byte) (int, error) {
	if _, err := io.WriteString(o.w, doc.Escaped(string(p), "\n\t")); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Say prints a remark to standard error.
func (app *App) Say(format string, args ...any) {
	fmt.Fprintln(app.Stderr, doc.Escaped(fmt.Sprintf(format, args...), "\n\t"))
}

// Screen is what is known about where text goes. The zero value is a pipe.
type Screen struct {
	Terminal bool
	Width    int // columns, 0 when not known
	color    bool
	ASCII    bool
}

// Screen looks at w: only a terminal has a width and may have colours, which
// NO_COLOR (when not empty) and TERM=dumb switch off.
func (app *App) Screen(w io.Writer) Screen {
	dumb := app.Getenv("TERM") == "dumb"
	s := Screen{ASCII: dumb}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	s.Terminal = true
	s.color = !dumb && app.Getenv("NO_COLOR") == ""
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		s.Width = width
	}
	return s
}

// Time between two states: on a terminal one line is drawn anew ten times a second;
// elsewhere, as in the log of a batch job, there is a line every half minute.
const (
	progressEvery = 100 * time.Millisecond
	loggedEvery   = 30 * time.Second
)

// Progress says how far a piece of work is: by one line that changes on a terminal, and
// by lines that follow each other elsewhere and on a dumb terminal. A nil progress is
// silent: under --quiet.
type Progress struct {
	w     io.Writer
	lines bool // one after the other
	Every time.Duration
	verb  string
	unit  string // of what is counted
	width int
	clock func() time.Time
	begin time.Time
	drawn time.Time // zero when nothing is on the screen
}

// Progress returns nil under --quiet.
func (app *App) Progress(verb, unit string, quiet bool) *Progress {
	if quiet {
		return nil
	}
	now := time.Now()
	p := &Progress{w: app.Stderr, verb: verb, unit: unit, Every: progressEvery, clock: time.Now, begin: now, drawn: now}
	if s := app.Screen(app.Stderr); s.Terminal && !s.ASCII {
		p.width = s.Width
	} else {
		p.lines, p.Every = true, loggedEvery
	}
	return p
}

// Replay draws the state of a replay.
func (p *Progress) Replay(s sim.Progress) {
	p.Draw(s.Submitted, s.Rows, "at "+(model.Duration(s.Now)/model.Second*model.Second).String())
}

// Draw shows done of all (0 when not known), the rate and the time left,
// at most as often as lines are wanted.
func (p *Progress) Draw(done, all int64, where string) {
	if p == nil {
		return
	}
	now := p.clock()
	if now.Sub(p.drawn) < p.Every {
		return
	}
	p.drawn = now
	line := progressLine(p.verb, p.unit, done, all, now.Sub(p.begin), where)
	if p.lines {
		fmt.Fprintf(p.w, "orrery: %s\n", line)
		return
	}
	if p.width > 0 && len(line) >= p.width {
		line = line[:p.width-1]
	}
	fmt.Fprintf(p.w, "\r%s\x1b[K", line)
}

// progressLine prints the state after a time.
func progressLine(verb, unit string, done, all int64, took time.Duration, where string) string {
	line := verb
	if all > 0 {
		line += fmt.Sprintf(" %3d %%  %s of %s %s", 100*done/all, plot.Count(done), plot.Count(all), unit)
	} else {
		line += fmt.Sprintf(" %s %s", plot.Count(done), unit)
	}
	if s := took.Seconds(); s > 0 && done > 0 {
		rate := float64(done) / s
		line += fmt.Sprintf("  %s/s", plot.Count(int64(rate)))
		if all > done {
			left := time.Duration(float64(all-done) / rate * float64(time.Second))
			line += fmt.Sprintf("  %d:%02d left", int(left.Minutes()), int(left.Seconds())%60)
		}
	}
	if where != "" {
		line += "  " + where
	}
	return line
}

// Done takes the line off the screen.
func (p *Progress) Done() {
	if p != nil && !p.lines && p.drawn != p.begin {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
