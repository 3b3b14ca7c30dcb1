package app_test

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
)

// TestOneRuleForOutput: on every verb -o is a format and --out a path.
func TestOneRuleForOutput(t *testing.T) {
	clitest.EveryVerb(func(cmd *cobra.Command, words []string) {
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
		got := clitest.Run(t, append(words, "-o", "some/month.trace")...)
		require.Equal(t, cli.ExitUsage, got.Code, "%s: %s", name, got.Stderr)
		want := "redirect standard output"
		if cmd.Flags().Lookup("out") != nil {
			want = "--out "
		}
		if writes := cmd.Annotations[cli.WritesKey]; writes != "" {
			want = writes
		}
		require.Contains(t, got.Stderr, want, name)
	})
}
