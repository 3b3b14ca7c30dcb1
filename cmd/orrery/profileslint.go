package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"orrery/profiles"
	"orrery/reports/table"
)

// finding is one line of what lint has to say.
type finding struct {
	profiles.Problem
	severity string
}

func (m *Main) profilesLintCommand() *cobra.Command {
	var print *printer
	cmd := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Check profiles and cluster files",
		Long: `Check profiles and cluster files: every key must exist, apply and be in its range;
names must lead somewhere; each node has one home. All errors of a file are shown
at once, with line, column and how to mend them. Valid files are searched for
settings that have no effect, or one that may surprise: scores that nobody
reaches, nodes lent that nobody borrows, shares of more than the whole
(warnings).

Exit codes: 0 all valid, warnings or none, 2 usage or a file that is not valid,
3 no such file.`,
		Example: `  orrery profiles lint hpc-batch
  orrery profiles lint service sensitive -o json`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: profileNames,
		RunE: func(_ *cobra.Command, args []string) error {
			var all []finding
			for _, path := range args {
				found, err := lint(path)
				if err != nil {
					return err
				}
				all = append(all, found...)
			}
			return m.printFindings(print, all)
		},
	}
	print = m.printFlag(cmd)
	return cmd
}

// lint checks one file. An error is one that keeps it from being read.
func lint(path string) ([]finding, error) {
	kind, remarks, err := profiles.Lint(path)
	var invalid *profiles.Error
	var found []finding
	switch {
	case errors.As(err, &invalid):
		for _, p := range invalid.Problems {
			found = append(found, finding{p, "error"})
		}
		return found, nil
	case err != nil:
		return nil, profileError(path, err)
	}
	for _, p := range remarks {
		found = append(found, finding{p, "warning"})
	}
	if len(found) == 0 {
		found = append(found, finding{profiles.Problem{File: path, Text: "a valid " + kind}, "ok"})
	}
	return found, nil
}

// printFindings prints them; one error makes the exit code that of bad usage.
func (m *Main) printFindings(print *printer, all []finding) error {
	errors := 0
	rows := table.New("file", "line", "column", "severity", "key", "what")
	for _, f := range all {
		if f.severity == "error" {
			errors++
		}
		number := func(n int) any {
			if n == 0 {
				return nil
			}
			return n
		}
		rows.Row(f.File, number(f.Line), number(f.Column), f.severity, f.Key, f.Text)
		if print.format == string(table.Text) {
			shown := f.Problem
			shown.Text = ""
			where := strings.TrimSuffix(shown.String(), " ")
			fmt.Fprintf(m.Stdout, "%s %s: %s\n%s", where, f.severity, f.Text, f.Excerpt)
		}
	}
	if print.format != string(table.Text) {
		if err := print.table(rows); err != nil {
			return err
		}
	}
	if errors > 0 {
		return &codedError{exitUsage, nil} // all of it has been said
	}
	return nil
}
