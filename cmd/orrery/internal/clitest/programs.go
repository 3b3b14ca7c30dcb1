package clitest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/app"
	"orrery/cmd/orrery/internal/cli"
)

// Outcome is what a run of the program in this process left behind.
type Outcome struct {
	Code           int
	Stdout, Stderr string
}

// Run runs the program as a user would, without a process.
func Run(t testing.TB, args ...string) Outcome {
	t.Helper()
	program, err := exec.LookPath("orrery") // Main has put it there
	require.NoError(t, err)
	var stdout, stderr bytes.Buffer
	m := &cli.App{Stdin: strings.NewReader(SmallLog()), Stdout: &stdout, Stderr: &stderr, Getenv: os.Getenv, Executable: program}
	return Outcome{app.Run(context.Background(), m, args), stdout.String(), stderr.String()}
}
