package app_test

import (
	"regexp"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
)

// TestManyFlagsAreInGroups: where a verb has more flags than are looked over at once,
// each is under the heading of its group, once.
func TestManyFlagsAreInGroups(t *testing.T) {
	const many = 17
	seen := 0
	clitest.EveryVerb(func(cmd *cobra.Command, _ []string) {
		cmd.InitDefaultHelpFlag()
		n := 0
		cmd.LocalFlags().VisitAll(func(*pflag.Flag) { n++ })
		if n < many {
			return
		}
		seen++
		help := cli.FlagsInGroups(cmd)
		require.NotContains(t, help, "Flags:", cmd.CommandPath())
		require.Contains(t, help, cli.GroupResults+":\n", cmd.CommandPath())
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				lines := regexp.MustCompile(`(?m)^ +(-\w, )?--`+regexp.QuoteMeta(f.Name)+`( |$)`).FindAllString(help, -1)
				require.Len(t, lines, 1, "%s --%s", cmd.CommandPath(), f.Name)
			}
		})
	})
	require.GreaterOrEqual(t, seen, 3, "tune, replay, verify")
}
