package verify_test

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
	"orrery/sim/verify"
)

// TestVerifyCatchesABrokenScheduler builds a copy of the program in which ties
// of the queue fall the wrong way, and asks verify to name the first event at
// which the two part.
func TestVerifyCatchesABrokenScheduler(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	broken := clitest.BrokenBuild(t, "scheduler/order/order.go", "return c < 0\n\t\t}\n\t\treturn a.ID < b.ID", "return c < 0\n\t\t}\n\t\treturn a.ID > b.ID")
	log := clitest.Small(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // not before: the compiler keeps its cache there too

	got := clitest.Run(t, "verify", log, "--order", "sjf", "--against", broken)
	require.Equal(t, cli.ExitMismatch, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, "first diverging event")
	require.Contains(t, got.Stderr, "first process:  at 00:")
	require.Contains(t, got.Stderr, "second process: at 00:")
	require.Contains(t, got.Stdout, "DIFFERS")

	got = clitest.Run(t, "verify", log, "--order", "sjf", "--against", broken, "-o", "json")
	require.Equal(t, cli.ExitMismatch, got.Code)
	var v verify.Verification
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &v))
	require.NotEqual(t, v.Fingerprints[0], v.Fingerprints[1])
	requireFirstWrongTie(t, v.Divergence)
}

// TestVerifyAgainstAnotherVersion: a build of another version that decides the same is no mismatch.
func TestVerifyAgainstAnotherVersion(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	other := clitest.Built(t, "-ldflags", "-X orrery/cmd/orrery/internal/cli.buildVersion=v9.9.9")
	out, err := exec.Command(other, "version").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "v9.9.9")
	got := clitest.Run(t, "verify", clitest.Small(t), "--against", other)
	require.Zero(t, got.Code, got.Stderr)
	require.Regexp(t, `run\.json .* identical`, got.Stdout)
}

// requireFirstWrongTie says what goes wrong first: of two jobs that ask for as
// much time, the copy starts the younger one.
func requireFirstWrongTie(t *testing.T, d *verify.Divergence) {
	t.Helper()
	require.NotNil(t, d)
	right, wrong := d.Sides[0], d.Sides[1]
	require.Equal(t, right.Time, wrong.Time)
	require.Equal(t, "proposal to assign", right.Kind)
	require.Less(t, right.ID, wrong.ID)
	require.Equal(t, int64(right.Job)+1, right.ID)
}
