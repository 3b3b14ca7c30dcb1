// Package capture has the verbs that bring telemetry of hardware in and fit its model to it: capture and
// calibrate.
package capture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"orrery/capture/archive"
	"orrery/capture/review"
	"orrery/cmd/orrery/internal/cli"
)

// agentName is the program that measures: it links the driver's library, which this one must not.
const agentName = "orrery-agent"

// Verbs are the verbs that measure hardware, and fit its model.
func Verbs(app *cli.App) []*cobra.Command {
	return []*cobra.Command{captureCommand(app), calibrateCommand(app)}
}

func captureCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "capture",
		Short: "Measure GPU nodes, and look into what was measured",
		Long: `Measure the GPUs of real nodes, look into the bundles that come out, merge and
anonymise them. A bundle is a trace with the table telemetry: the verbs of
'orrery trace' work on it.

Exit codes: 0 done, 1 failed, 2 usage, 3 bad input.`,
		Example: `  orrery capture inspect telemetry
  orrery capture merge telemetry --out both.trace`,
	}
	cmd.AddCommand(captureNVMLCommand(app), captureInspectCommand(app), captureMergeCommand(app), captureAnonymiseCommand(app), captureConvertCommand(app), captureJoinCommand(app), captureSensorCommand(app), captureSlurmCommand(app), captureSampleCommand(app))
	return cmd
}

func captureNVMLCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "nvml --out DIR [flags of " + agentName + "]",
		Short: "Measure the NVIDIA GPUs of this node until it is stopped",
		Long: `Start orrery-agent, the program that measures the NVIDIA GPUs of this node
through the library of the driver. It is looked for beside this program, then in
PATH. All flags go to it; 'orrery-agent --help' lists them. The first ones:

  --out DIR        write bundles into DIR
  --interval 1s    take a sample so often
  --mode prod      windows of 30 s; debug: every sample; audit: windows of 10 s
  --inventory      print what the node is made of and its fingerprint, and end

SIGTERM and Ctrl-C write what there is. docs/CAPTURE.md says what is measured, and
has the unit for systemd and the manifests for Kubernetes.

Exit codes: 0 ended, 1 failed (no driver, no orrery-agent), 2 usage,
130 interrupted.`,
		Example: `  orrery capture nvml --out telemetry --for 1s
  orrery capture nvml --inventory`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
				return cmd.Help()
			}
			return runAgent(cmd.Context(), app, args)
		},
	}
}

// runAgent starts the agent and ends as it does.
func runAgent(ctx context.Context, app *cli.App, args []string) error {
	path, err := findAgent()
	if err != nil {
		return err
	}
	agent := exec.CommandContext(ctx, path, args...)
	agent.Stdout, agent.Stderr = app.Stdout, app.Stderr
	agent.Cancel = func() error { return agent.Process.Signal(syscall.SIGTERM) }
	agent.WaitDelay = time.Minute
	err = agent.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return cli.Coded(exit.ExitCode(), nil) // it has said why
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// findAgent looks beside this program and in PATH.
func findAgent() (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), agentName)
		if st, err := os.Stat(beside); err == nil && !st.IsDir() {
			return beside, nil
		}
	}
	path, err := exec.LookPath(agentName)
	if err != nil {
		return "", fmt.Errorf("there is no %s beside this program or in PATH: it measures, since it alone links the driver's library; build it with 'go build ./cmd/%s'", agentName, agentName)
	}
	return path, nil
}

// captured are the bundles that arguments name, some of which hold telemetry.
func captured(args []string) (*archive.Set, error) {
	s, err := bundles(args)
	if err == nil && s.Bundles() == 0 {
		err = cli.BadInput(fmt.Errorf("%s: found no telemetry in any bundle", cli.Quoted(args[0])))
	}
	return s, err
}

// bundles reads those that arguments name.
func bundles(args []string) (*archive.Set, error) {
	found, err := archive.Find(args...)
	if err != nil {
		return nil, cli.BadInput(err)
	}
	if len(found) == 0 {
		return nil, cli.BadInput(fmt.Errorf("%s: found no bundle, want a .trace or a folder of such", cli.Quoted(args[0])))
	}
	s, err := archive.Open(found)
	if err != nil {
		return nil, cli.BadInput(err)
	}
	return s, nil
}

func reviewSource(s *archive.Set) review.Source {
	return review.Source{Nodes: s.Nodes, Events: s.Events, Telemetry: s.Telemetry, Instances: s.Instances}
}
