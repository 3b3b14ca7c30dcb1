package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/reports/compare"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/traces"
)

func TestExitCodeOfErrors(t *testing.T) {
	for want, errs := range map[int][]error{
		exitOK:     {nil},
		exitFailed: {errors.New("disk full"), &fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}},
		exitUsage:  {usagef("no"), &plan.UsageError{Text: "no"}, &compare.MismatchError{}},
		exitInput: {input(fs.ErrNotExist), &traces.DataError{}, &traces.CorruptError{}, &record.DataError{},
			&plan.UnheededError{}, readError(&fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist})},
		exitMismatch:    {coded(exitMismatch, errors.New("they differ"))},
		exitInterrupted: {context.Canceled, input(fmt.Errorf("reading: %w", context.Canceled))},
	} {
		for _, err := range errs {
			require.Equal(t, want, exitCode(err), "%v", err)
			if err != nil {
				require.Equal(t, want, exitCode(fmt.Errorf("doing something: %w", err)), "%v, wrapped", err)
			}
		}
	}
}

// TestExitCodesAreListed holds the page of help against the contract.
func TestExitCodesAreListed(t *testing.T) {
	var codes []int
	for _, c := range exitCodes {
		codes = append(codes, c.code)
		require.NotEmpty(t, c.meaning)
	}
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 130}, codes)
}

// TestPanicIsAFailedRun: the runtime would exit with 2, which means usage.
func TestPanicIsAFailedRun(t *testing.T) {
	var stdout, stderr bytes.Buffer
	m := &Main{Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { panic("no environment") }}
	require.Equal(t, exitFailed, m.Run(context.Background(), []string{"version"}))
	require.Contains(t, stderr.String(), "fault in the program")
	require.Contains(t, stderr.String(), "no environment")
}
