package service_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/clitest"
	"orrery/tools/refdata"
)

// TestPublicCases runs the small inputs that were made after faults reported in public
// trackers. Each has a script, run.sh, that ends with 0 where the program does what is right.
// What each is about has tests of its own beside the code; this one holds the whole program
// to all of them, and to those that join the folder later.
func TestPublicCases(t *testing.T) {
	if clitest.UnderRace {
		t.Skip("programs of their own, which the detector does not see")
	}
	scripts, err := filepath.Glob(filepath.Join(refdata.Path(t, "cases"), "*", "run.sh"))
	require.NoError(t, err)
	require.NotEmpty(t, scripts, "the folder of cases has none")
	for _, tool := range []string{"bash", "python3"} {
		_, err := exec.LookPath(tool)
		require.NoError(t, err, "the scripts need it")
	}
	program, err := exec.LookPath("orrery") // TestMain has put it there
	require.NoError(t, err)
	for _, script := range scripts {
		t.Run(filepath.Base(filepath.Dir(script)), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, "bash", script)
			cmd.Env = append(os.Environ(), "ORRERY="+program)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}
