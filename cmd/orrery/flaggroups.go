package main

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// Groups of flags, in the order in which help shows them.
const (
	groupCluster     = "Cluster"
	groupLogs        = "Raw logs"
	groupChanges     = "What changes"
	groupPolicy      = "Policy"
	groupJobs        = "Treatment of jobs"
	groupQuorum      = "Decision latency"
	groupMeasured    = "Measured window"
	groupGoal        = "Goal"
	groupSearch      = "Search"
	groupEvidence    = "Windows and noise"
	groupSensitivity = "Sensitivity"
	groupWorkers     = "Workers"
	groupResults     = "Results"
)

var groupOrder = []string{
	groupPoints, groupGoal, groupSearch, groupEvidence, groupSensitivity, groupLogs, groupCluster, groupChanges, groupPolicy, groupJobs, groupQuorum, groupMeasured, groupWorkers, groupResults,
}

// groupKey is the annotation of a flag that names its group.
const groupKey = "orrery_group"

// grouped puts flags of a set into a group of the help.
func grouped(flags *pflag.FlagSet, group string, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, groupKey, []string{group}); err != nil {
			panic(err) // there is no such flag: a mistake in this package
		}
	}
}

// resultFlags are those that are about what a verb prints and writes, on any verb.
var resultFlags = []string{"against", "invariants", "out", "force", "format", "wide", "csv-safe", "all", "report", "facts", "decisions", "print-config", "dry-run", "quiet", "help"}

func init() {
	cobra.AddTemplateFunc("flagsInGroups", flagsInGroups)
}

// flagsInGroups is the help of the flags of a verb: under one heading, or where some
// are in groups, under that of each group.
func flagsInGroups(cmd *cobra.Command) string {
	width := 0
	if f, ok := cmd.OutOrStdout().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		width, _, _ = term.GetSize(int(f.Fd())) // 0 where it is not known
	}
	sets, any := map[string]*pflag.FlagSet{}, false
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		group := ""
		if of := f.Annotations[groupKey]; len(of) > 0 {
			group, any = of[0], true
		} else if slices.Contains(resultFlags, f.Name) {
			group = groupResults
		}
		if sets[group] == nil {
			sets[group] = pflag.NewFlagSet(group, pflag.ContinueOnError)
		}
		sets[group].AddFlag(f)
	})
	if !any {
		return "Flags:\n" + usagesOf(cmd.LocalFlags(), width)
	}
	var b strings.Builder
	if rest := sets[""]; rest != nil {
		b.WriteString("Flags:\n" + usagesOf(rest, width) + "\n")
	}
	for _, group := range groupOrder {
		if s := sets[group]; s != nil {
			b.WriteString(group + ":\n" + usagesOf(s, width) + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func usagesOf(flags *pflag.FlagSet, width int) string {
	var b strings.Builder
	for line := range strings.SplitSeq(flags.FlagUsagesWrapped(width), "\n") {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
