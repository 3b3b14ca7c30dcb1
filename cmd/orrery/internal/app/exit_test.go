package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/app"
	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/formats"
	"orrery/reports/compare"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/traces"
)

func TestExitCodeOfErrors(t *testing.T) {
	for want, errs := range map[int][]error{
		cli.ExitOK:     {nil},
		cli.ExitFailed: {errors.New("disk full"), &fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}},
		cli.ExitUsage:  {cli.Usagef("no"), &plan.UsageError{Text: "no"}, &compare.MismatchError{}},
		cli.ExitInput: {cli.BadInput(fs.ErrNotExist), &traces.DataError{}, &traces.CorruptError{}, &record.DataError{},
			&plan.UnheededError{}, formats.ReadError(&fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist})},
		cli.ExitMismatch:    {cli.Coded(cli.ExitMismatch, errors.New("they differ"))},
		cli.ExitInterrupted: {context.Canceled, cli.BadInput(fmt.Errorf("reading: %w", context.Canceled))},
	} {
		for _, err := range errs {
			require.Equal(t, want, cli.ExitCode(err), "%v", err)
			if err != nil {
				require.Equal(t, want, cli.ExitCode(fmt.Errorf("doing something: %w", err)), "%v, wrapped", err)
			}
		}
	}
}

// TestExitCodesAreListed holds the page of help against the contract.
func TestExitCodesAreListed(t *testing.T) {
	var codes []int
	for _, c := range cli.ExitCodes {
		codes = append(codes, c.Code)
		require.NotEmpty(t, c.Meaning)
	}
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 130}, codes)
}

// TestPanicIsAFailedRun: the runtime would exit with 2, which means usage.
func TestPanicIsAFailedRun(t *testing.T) {
	var stdout, stderr bytes.Buffer
	m := &cli.App{Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { panic("no environment") }}
	require.Equal(t, cli.ExitFailed, app.Run(context.Background(), m, []string{"version"}))
	require.Contains(t, stderr.String(), "fault in the program")
	require.Contains(t, stderr.String(), "no environment")
}
