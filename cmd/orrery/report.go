package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"orrery/internal/doc"
	"orrery/reports"
	"orrery/reports/page"
	"orrery/reports/study"
)

func (m *Main) reportCommand() *cobra.Command {
	var (
		print *printer
		o     reports.Options
		quiet bool
		force bool
	)
	cmd := &cobra.Command{
		Use:   "report DIR | report STUDY.json",
		Short: "Draw the report of a run or a study: one HTML page and figures",
		Long: `Draw the run in DIR: report.html (one page that opens without a network),
summary.md and figures as SVG and PNG, all written into DIR. The bytes depend on
the run alone. Times on figures carry their units: s, min, h, d.

With a file, or a DIR that holds report.json and no run, draw that study of a
sweep, a search or a tuning: report.html with a table, parallel coordinates and
trade-offs to look into, and figures, written beside the file.

Exit codes: 0 drawn, 1 failed, 2 usage, 3 bad input (DIR is no run, or damaged).`,
		Example: `  orrery report run
  orrery report run --title "Before the change" -o json --force
  orrery report study/report.json --force`,
		Annotations:       map[string]string{writesKey: "the report is " + page.FileHTML + " in the directory that is drawn"},
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: oneDirectory,
		RunE: func(_ *cobra.Command, args []string) error {
			dir, study := args[0], study.In(args[0])
			var err error
			if study != "" {
				dir = filepath.Dir(study)
			}
			if err := mayHold("", dir, page.FileHTML, force); err != nil {
				return err
			}
			if study != "" {
				err = m.drawStudy(study, o.Title)
			} else if err = m.mayRead(quiet, dir); err == nil {
				err = reports.Write(dir, o)
			}
			if err != nil {
				return readError(err)
			}
			if quiet && !print.forPrograms() {
				return nil
			}
			t := doc.New("file", "what")
			t.Row(filepath.Join(dir, page.FileHTML), "the report, for a browser")
			if study == "" {
				t.Row(filepath.Join(dir, reports.FileMarkdown), "the same in short, as Markdown")
			}
			t.Row(filepath.Join(dir, page.DirFigures), "its figures as SVG and PNG")
			return print.table(t)
		},
	}
	cmd.Flags().StringVar(&o.Title, "title", "", "heading `TEXT` of the report; without it the name of the trace or study")
	cmd.Flags().IntVar(&o.MostJobs, "most-jobs", 0, "`N` allocations to embed one by one, more are summed by pixel; 0 is 100,000")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing but errors (and -o json)")
	forceFlag(cmd, &force)
	print = m.printFlag(cmd)
	return cmd
}

// drawStudy draws the study in a file beside it.
func (m *Main) drawStudy(path, title string) error {
	if v, known := schemaOf(path); known {
		anew := "orrery study table " + quoted(filepath.Dir(path)) + " --report, or the tune that made it"
		if err := pageFormat.refusal(path, v, anew); err != nil {
			return err
		}
		if text := pageFormat.warning(path, v, anew); text != "" {
			m.say("%s", text)
		}
	}
	s, err := study.Read(path)
	if err != nil {
		return err
	}
	if title != "" {
		s.Name = title
	}
	made, err := study.ReadMade(filepath.Dir(path))
	if err != nil {
		return err
	}
	return study.Write(filepath.Dir(path), s, made)
}

// oneDirectory completes the first argument with directories.
func oneDirectory(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}
