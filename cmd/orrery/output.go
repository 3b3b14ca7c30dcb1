package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"orrery/internal/doc"
	"orrery/internal/spelling"
	"orrery/reports/table"
	"orrery/sim/record"
)

// printer prints tables in the format that -o asks for. Standard output carries
// results only; everything else goes to standard error.
type printer struct {
	m      *Main
	format string
	wide   bool // text as wide as it is, on any terminal
	safe   bool // CSV in which no text is a formula
	told   bool // that columns are left out
}

// printFlag adds the flag for the format of what a verb prints, which is one table.
func (m *Main) printFlag(cmd *cobra.Command) *printer {
	return m.printAs(cmd, table.Text, table.JSON, table.Markdown, table.CSV)
}

// printAs adds the flag with these formats, the first being the default.
func (m *Main) printAs(cmd *cobra.Command, formats ...table.Format) *printer {
	p := &printer{m: m}
	var words []string
	for _, f := range formats {
		words = append(words, string(f))
	}
	formatFlag(cmd, &p.format, words...)
	cmd.Flags().BoolVar(&p.wide, "wide", false, "all columns of tables, and no line wrapped, however narrow the terminal")
	if slices.Contains(formats, table.CSV) {
		cmd.Flags().BoolVar(&p.safe, "csv-safe", false, "with -o csv: an apostrophe before text that a spreadsheet would take for a formula")
	}
	return p
}

// formatFlag adds -o FORMAT to a verb, the first format being the default. On every
// verb -o is how results are printed, and --out the path that is written.
func formatFlag(cmd *cobra.Command, word *string, formats ...string) {
	*word = formats[0]
	cmd.Flags().VarP(format{choice{word: word, of: formats, what: "format"}, cmd}, "format", "o", "format of the results")
	completeWith(cmd, "format", formats...)
}

// format is the value of -o.
type format struct {
	choice
	cmd *cobra.Command
}

// Set implements pflag.Value. What is no format is likely a path, which goes
// elsewhere.
func (f format) Set(s string) error {
	err := f.choice.Set(s)
	if err == nil || spelling.Word(strings.ToLower(s), f.of) != "" {
		return err
	}
	return fmt.Errorf("-o is the format of the results (%s); %s", oneOf(f.of), insteadOf(f.cmd, s))
}

// writesKey is the annotation of a verb that writes where no flag names it: it says
// where.
const writesKey = "orrery_writes"

// insteadOf says how a verb writes to a path that was given with -o.
func insteadOf(cmd *cobra.Command, path string) string {
	if writes := cmd.Annotations[writesKey]; writes != "" {
		return writes
	}
	if cmd.Flags().Lookup("out") == nil {
		return "this verb writes no file: redirect standard output"
	}
	return "to write to a path use --out " + quoted(path)
}

func completeWith(cmd *cobra.Command, flag string, words ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag does not exist: a mistake in this package
	}
}

// json says that the output is one JSON document.
func (p *printer) json() bool { return p.format == string(table.JSON) }

// forPrograms says that programs read the output: one document or one table.
func (p *printer) forPrograms() bool { return p.json() || p.format == string(table.CSV) }

// table prints t.
func (p *printer) table(t *doc.Table) error {
	f, err := table.ParseFormat(p.format)
	if err != nil {
		return err
	}
	s := p.m.screen(p.m.Stdout)
	o := table.Options{Width: p.width(), Color: s.color, Safe: p.safe}
	if err := table.Write(p.m.Stdout, t, f, o); err != nil || f != table.Text || p.told {
		return err
	}
	if out := table.LeftOut(t, o.Width); len(out) > 0 {
		p.told = true
		p.m.say("(too narrow for: %s; --wide shows all)", strings.Join(out, ", "))
	}
	return nil
}

// width is that of the terminal, 0 for no limit.
func (p *printer) width() int {
	if p.wide {
		return 0
	}
	return p.m.screen(p.m.Stdout).width
}

// paragraph prints text for people, wrapped at the width of the terminal.
func (p *printer) paragraph(text string) {
	for _, line := range table.Wrap(text, p.width()) {
		fmt.Fprintln(p.m.Stdout, doc.Escaped(line, "\t"))
	}
}

// section prints t under a heading, which JSON output, one document, leaves out. In
// CSV, which is one table, there are no further ones.
func (p *printer) section(heading string, t *doc.Table) error {
	if t.Len() == 0 || p.format == string(table.CSV) {
		return nil
	}
	switch p.format {
	case string(table.Markdown):
		fmt.Fprintf(p.m.Stdout, "\n## %s\n\n", heading)
	case string(table.Text):
		fmt.Fprintf(p.m.Stdout, "\n%s\n", heading)
	}
	return p.table(t)
}

// document prints v as the one JSON document of the output.
func (p *printer) document(v any) error {
	b, err := record.AppendJSON(nil, v)
	if err != nil {
		return err
	}
	_, err = p.m.Stdout.Write(b)
	return err
}

// escaped is an output for people that shows control characters of names and paths as
// escapes.
type escaped struct{ w io.Writer }

// Write implements io.Writer.
func (o escaped) Write(p []byte) (int, error) {
	if _, err := io.WriteString(o.w, doc.Escaped(string(p), "\n\t")); err != nil {
		return 0, err
	}
	return len(p), nil
}

// say prints a remark to standard error.
func (m *Main) say(format string, args ...any) {
	fmt.Fprintln(m.Stderr, doc.Escaped(fmt.Sprintf(format, args...), "\n\t"))
}

// screen is what is known about where text goes. The zero value is a pipe.
type screen struct {
	terminal bool
	width    int // columns, 0 when not known
	color    bool
	ascii    bool
}

// screen looks at w: only a terminal has a width and may have colours, which
// NO_COLOR (when not empty) and TERM=dumb switch off.
func (m *Main) screen(w io.Writer) screen {
	dumb := m.Getenv("TERM") == "dumb"
	s := screen{ascii: dumb}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	s.terminal = true
	s.color = !dumb && m.Getenv("NO_COLOR") == ""
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		s.width = width
	}
	return s
}
