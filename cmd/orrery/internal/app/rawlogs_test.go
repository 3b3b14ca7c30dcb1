package app_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/app"
	"orrery/cmd/orrery/internal/cli"
)

// TestVerbsOfRawLogs: a verb that may read a log as another program wrote it can be told what the
// log does not say.
func TestVerbsOfRawLogs(t *testing.T) {
	root, _ := app.Root((&cli.App{}))
	for _, verb := range []string{
		"import", "replay", "check", "verify", "explain", "compare", "fidelity", "gate", "sweep", "tune", "scale",
		"trace info", "trace head", "trace stats", "trace validate", "trace transform",
	} {
		cmd, rest, err := root.Find(strings.Fields(verb))
		require.NoError(t, err)
		require.Empty(t, rest)
		for _, flag := range []string{"time-zone", "bad-rows", "arrival", "xz-dictionary"} {
			require.NotNil(t, cmd.Flags().Lookup(flag), "%s --%s", verb, flag)
		}
	}
}
