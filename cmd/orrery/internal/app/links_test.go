package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
)

// TestLinksAreNotFollowed puts a link in the place of each folder that a verb writes into, one
// at a time: what the link leads to stays empty, and the verb says what it found or replaces
// the link.
func TestLinksAreNotFollowed(t *testing.T) {
	log := clitest.Small(t)
	file := clitest.GridFile(t, 1)
	for name, c := range map[string]struct {
		make, again []string
		folders     []string
	}{
		"figures of a study":   {[]string{"sweep", file, "--out", "OUT", "--quiet"}, []string{"study", "table", "OUT", "--report"}, []string{"figures"}},
		"runs of a study":      {[]string{"sweep", file, "--out", "OUT", "--quiet"}, []string{"study", "materialize", "OUT", "0"}, []string{"runs"}},
		"traces of a study":    {nil, []string{"sweep", file, "--out", "OUT", "--quiet"}, []string{"traces"}},
		"folders of a study":   {[]string{"sweep", file, "--out", "OUT", "--quiet"}, []string{"sweep", file, "--out", "OUT", "--quiet"}, []string{"specs", "claims", "journal", "results", "failures"}},
		"figures of a run":     {[]string{"replay", log, "--out", "OUT", "--quiet"}, []string{"report", "OUT"}, []string{"figures"}},
		"a run that comes new": {[]string{"replay", log, "--out", "OUT", "--quiet"}, []string{"replay", log, "--out", "OUT", "--quiet", "--force"}, []string{"figures", "jobs.parquet"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, folder := range c.folders {
				out, outside := filepath.Join(t.TempDir(), "out"), t.TempDir()
				with := func(args []string) []string {
					var given []string
					for _, a := range args {
						if a == "OUT" {
							a = out
						}
						given = append(given, a)
					}
					return given
				}
				if c.make == nil {
					require.NoError(t, os.Mkdir(out, 0o700))
					require.NoError(t, os.Mkdir(filepath.Join(out, "specs"), 0o700)) // as a creation that was cut short
				} else {
					got := clitest.Run(t, with(c.make)...)
					require.Zero(t, got.Code, got.Stderr)
				}
				place := filepath.Join(out, folder)
				require.NoError(t, os.RemoveAll(place))
				require.NoError(t, os.Symlink(outside, place))
				got := clitest.Run(t, with(c.again)...)
				left, err := os.ReadDir(outside)
				require.NoError(t, err)
				require.Empty(t, left, "%s: %s", folder, got.Stderr)
				if got.Code != 0 {
					require.Equal(t, cli.ExitInput, got.Code, got.Stderr)
					require.Contains(t, got.Stderr, "symbolic link")
				} else if st, err := os.Lstat(place); err == nil {
					require.Zero(t, st.Mode()&os.ModeSymlink, "%s: %s", folder, got.Stderr)
				}
			}
		})
	}
}
