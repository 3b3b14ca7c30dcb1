package service

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"orrery/autoscale/conform"
	"orrery/cmd/orrery/internal/cli"
	"orrery/internal/disk"
	"orrery/internal/doc"
	"orrery/reports/table"
)

// conformed is the document that conform prints.
type conformed struct {
	Files   []conform.File `json:"files"`
	Cases   int            `json:"cases"`
	Passed  int            `json:"passed"`
	Failed  int            `json:"failed"`
	Skipped int            `json:"skipped"`
	Refused int            `json:"refused"` // files and cases that were not understood
}

func conformCommand(app *cli.App) *cobra.Command {
	var print *cli.Printer
	cmd := &cobra.Command{
		Use:   "conform DIR",
		Short: "Check the scaling policies against recorded cases",
		Long: `Check the scaling policies against files of recorded cases: inputs with the answers
of the systems that the policies follow. DIR holds files of the schema
autoscale-conformance/1, of any number and name; a case may have steps, and each
step is one check. Printed are the checks that passed and failed in each file and
the first step of each case that differs, with what was wanted and what came.

Fields, names and schemas that are not known are refused, and named. A check that is
skipped is printed with the reason.

Exit codes: 0 all checks passed, 2 usage, 3 no such folder, no cases in it, or some
that are refused, 4 a check failed.`,
		Example: `  orrery conform cases
  orrery conform cases -o json`,
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := conformOf(args[0])
			if err != nil {
				return err
			}
			if print.JSON() {
				err = print.Document(c)
			} else {
				err = c.show(app, print)
			}
			if err != nil {
				return err
			}
			return c.verdict()
		},
	}
	print = app.PrintAs(cmd, table.Text, table.JSON, table.Markdown)
	return cmd
}

// conformOf checks the files of a folder in the order of their names.
func conformOf(dir string) (*conformed, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, cli.BadInput(err)
	}
	c := &conformed{Files: []conform.File{}}
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		content, err := disk.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, cli.BadInput(err)
		}
		f, ok := conform.Check(e.Name(), content)
		if !ok {
			continue
		}
		c.Files = append(c.Files, f)
		c.Cases += f.Cases
		c.Passed += f.Passed
		c.Failed += f.Failed
		c.Skipped += f.Skipped
		c.Refused += len(f.Refused)
	}
	if len(c.Files) == 0 {
		return nil, cli.BadInput(fmt.Errorf("%s holds no files of cases: want *.json", dir))
	}
	return c, nil
}

// show prints the counts, and what is not well.
func (c *conformed) show(app *cli.App, print *cli.Printer) error {
	t := doc.New("file", "system", "cases", "passed", "failed", "skipped", "refused")
	for i := range c.Files {
		f := &c.Files[i]
		t.Row(f.Name, f.System, f.Cases, f.Passed, f.Failed, f.Skipped, len(f.Refused))
	}
	t.Row("all", "", c.Cases, c.Passed, c.Failed, c.Skipped, c.Refused)
	if err := print.Table(t); err != nil {
		return err
	}
	say := func(format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		if print.Format == string(table.Markdown) {
			line = table.EscapedMarkdown(line)
		}
		fmt.Fprintln(cli.Escaped(app.Stdout), line)
	}
	for i := range c.Files {
		f := &c.Files[i]
		for _, x := range f.Failures {
			say("%s: %s%s: want %s, got %s", f.Name, placeText(x), x.Field, valueText(x.Want), valueText(x.Got))
		}
		for _, x := range f.Skips {
			say("%s: case %s: %d skipped: %s", f.Name, x.Case, x.Checks, x.Reason)
		}
		for _, x := range f.Refused {
			if x.Case == "" {
				say("%s: refused: %s", f.Name, x.Reason)
				continue
			}
			say("%s: case %s: refused: %s", f.Name, x.Case, x.Reason)
		}
	}
	return nil
}

// placeText is where in a file a difference is; nothing for the file as a whole.
func placeText(x conform.Failure) string {
	switch {
	case x.Case == "":
		return ""
	case x.Step == nil:
		return fmt.Sprintf("case %s: ", x.Case)
	}
	return fmt.Sprintf("case %s, step %d: ", x.Case, *x.Step)
}

// valueText is a value as the files write it.
func valueText(v any) string {
	if v == nil {
		return "null"
	}
	return fmt.Sprint(v)
}

// verdict is the error that the checks call for.
func (c *conformed) verdict() error {
	switch {
	case c.Failed > 0:
		return cli.Coded(cli.ExitMismatch, fmt.Errorf("%d of %d checks failed", c.Failed, c.Failed+c.Passed))
	case c.Refused > 0:
		return cli.BadInput(fmt.Errorf("%d files or cases were refused", c.Refused))
	}
	return nil
}
