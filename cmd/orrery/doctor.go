package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"orrery/internal/doc"
	"orrery/sim/sweep"
)

// doctorVerb holds the flags of doctor.
type doctorVerb struct {
	m      *Main
	print  *printer
	study  string
	via    string
	answer string // folder in which this process is the second one
}

func (m *Main) doctorCommand() *cobra.Command {
	v := &doctorVerb{m: m}
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
	v.print = m.printFlag(cmd)
	cmd.Flags().StringVar(&v.study, "study", "", "folder `DIR` to test")
	cmd.Flags().StringVar(&v.via, "via", "", "`COMMAND` that starts the second process on another machine")
	cmd.Flags().StringVar(&v.answer, "answer", "", "be the second process in `DIR`")
	_ = cmd.Flags().MarkHidden("answer") // it is defined above
	_ = cmd.MarkFlagDirname("study")
	return cmd
}

func (v *doctorVerb) run(cmd *cobra.Command, _ []string) error {
	if v.answer != "" {
		return sweep.AnswerExamination(v.answer, v.m.Stdin, v.m.Stdout)
	}
	if v.study == "" {
		return usagef("found no folder to test, want --study DIR")
	}
	if info, err := os.Stat(v.study); err != nil {
		return input(err)
	} else if !info.IsDir() {
		return input(fmt.Errorf("%s is a file, want a folder", v.study))
	}
	x := sweep.Examination{Dir: v.study, Peer: append(strings.Fields(v.via), v.m.program(), "doctor", "--answer")}
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
	if err := v.print.table(t); err != nil {
		return err
	}
	if bad > 0 {
		return coded(exitFailed, errors.New("a study would not be safe in "+v.study+": use another file system, or one machine"))
	}
	return nil
}

// program is the path of the executable that other processes are started with.
func (m *Main) program() string {
	if m.Executable != "" {
		return m.Executable
	}
	if path, err := os.Executable(); err == nil {
		return path
	}
	return "orrery"
}
