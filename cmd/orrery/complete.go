package main

import (
	"strings"

	"github.com/spf13/cobra"

	"orrery/profiles"
	"orrery/traces/transform"
)

// Completions of words that several verbs take. Where a file may stand for a word, the
// shell completes files too.

func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag does not exist: a mistake in this package
	}
}

// wordsOrFiles completes words that stand for files, and files.
func wordsOrFiles(words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return beginning(words, word), cobra.ShellCompDirectiveDefault
	}
}

// firstWordOrFile completes the first argument alone.
func firstWordOrFile(words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return beginning(words, word), cobra.ShellCompDirectiveDefault
	}
}

func beginning(words []string, with string) (out []string) {
	for _, w := range words {
		if strings.HasPrefix(w, with) {
			out = append(out, w)
		}
	}
	return out
}

// completeMetric completes a metric, behind min: or max: too.
func completeMetric(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	way := ""
	if i := strings.IndexByte(word, ':'); i >= 0 {
		way = word[:i+1]
	}
	var out []string
	for _, name := range metricNames() {
		out = append(out, way+name)
	}
	return beginning(out, word), cobra.ShellCompDirectiveNoFileComp
}

// completeBound completes the metric of a bound, whose relation and value follow.
func completeBound(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	out, _ := completeMetric(cmd, args, word)
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeSetting completes PATH=, with the names in the cluster file that --cluster has,
// and behind it the words that the setting may be.
func completeSetting(also ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		const no = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		base := new(profiles.Cluster)
		if f := cmd.Flags().Lookup("cluster"); f != nil && f.Changed {
			if c, err := profiles.LoadCluster(f.Value.String()); err == nil {
				base = c
			}
		}
		path, _, valued := strings.Cut(word, "=")
		if !valued {
			out := also
			for _, p := range base.SettingPaths() {
				out = append(out, p+"=")
			}
			return beginning(out, word), no
		}
		s, err := base.Setting(path)
		if err != nil {
			return nil, no
		}
		var out []string
		for _, w := range s.Words {
			out = append(out, path+"="+w)
		}
		return beginning(out, word), no
	}
}

// completeStep completes the name of a step of trace transform.
func completeStep(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return beginning(transform.StepNames(), word), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeProfile completes a profile, behind VCLUSTER= too, or a file.
func completeProfile(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	of := ""
	if i := strings.IndexByte(word, '='); i >= 0 {
		of = word[:i+1]
	}
	var out []string
	for _, name := range profiles.Names() {
		out = append(out, of+name)
	}
	return beginning(out, word), cobra.ShellCompDirectiveDefault
}
