package app_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/app"
	"orrery/cmd/orrery/internal/cli"
)

// TestFlagsTakeDigits: no flag of a whole number takes another notation for another number.
func TestFlagsTakeDigits(t *testing.T) {
	root, _ := app.Root((&cli.App{}))
	seen := 0
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if kind := f.Value.Type(); !strings.Contains(kind, "int") || strings.HasSuffix(kind, "Slice") {
				return
			}
			seen++
			for text, want := range map[string]string{
				"010": "write 10 without a leading 0", "0x40": "write 64", "1_00": "write 100", "1e3": "write 1000", "2.0": "write 2", "+5": "write 5", "1,000": "write 1000",
			} {
				before := f.Value.String()
				require.ErrorContains(t, f.Value.Set(text), want, "%s --%s %s", cmd.CommandPath(), f.Name, text)
				require.Equal(t, before, f.Value.String())
			}
			require.Error(t, f.Value.Set("many"))
			require.NoError(t, f.Value.Set("7"))
			require.Equal(t, "7", f.Value.String())
		})
		for _, c := range cmd.Commands() {
			look(c)
		}
	}
	look(root)
	require.Greater(t, seen, 30)
}
