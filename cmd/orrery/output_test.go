package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// everyVerb calls visit with each command that can be run, and the words that call it.
func everyVerb(visit func(cmd *cobra.Command, words []string)) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.HasParent() && cmd.Runnable() {
			visit(cmd, strings.Fields(cmd.CommandPath())[1:])
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	root, _ := newMain().root()
	walk(root)
}

// TestOneRuleForOutput: on every verb -o is a format and --out a path.
func TestOneRuleForOutput(t *testing.T) {
	everyVerb(func(cmd *cobra.Command, words []string) {
		name := cmd.CommandPath()
		if cmd.DisableFlagParsing {
			return // another program reads its flags
		}
		if f := cmd.Flags().ShorthandLookup("o"); f != nil {
			require.Equal(t, "format", f.Name, name)
		}
		if f := cmd.Flags().Lookup("out"); f != nil {
			require.Empty(t, f.Shorthand, name)
		}
		got := inProcess(t, append(words, "-o", "some/month.trace")...)
		require.Equal(t, exitUsage, got.code, "%s: %s", name, got.stderr)
		want := "redirect standard output"
		if cmd.Flags().Lookup("out") != nil {
			want = "--out "
		}
		if writes := cmd.Annotations[writesKey]; writes != "" {
			want = writes
		}
		require.Contains(t, got.stderr, want, name)
	})
}
