package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"orrery/internal/disk"
	"orrery/reports/compare"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/traces"
)

// Exit codes. They are part of the interface: scripts and CI rely on them.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInput       = 3
	exitMismatch    = 4
	exitEvidence    = 5
	exitPartial     = 6
	exitInterrupted = 130
)

// exitCodes is what help exit-codes prints.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitOK, "done; a comparison found no difference"},
	{exitFailed, "the run failed: a disk that is full, a file that cannot be written, a fault in the program"},
	{exitUsage, "usage or configuration: an unknown verb or flag, a value out of range, settings that exclude each other"},
	{exitInput, "bad input data: a file that is missing, damaged, not what it claims or holds impossible values"},
	{exitMismatch, "regression or mismatch: the results differ from those they were held against"},
	{exitEvidence, "not enough evidence for a verdict"},
	{exitPartial, "partial: some of several runs failed, the others are there"},
	{exitInterrupted, "interrupted by Ctrl-C or a termination signal; nothing half-written is left"},
}

// codedError is an error with the exit code that it calls for.
type codedError struct {
	code int
	err  error
}

// Error is the text of the error inside; it is empty when everything has been
// said already.
func (e *codedError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap gives the error inside.
func (e *codedError) Unwrap() error { return e.err }

// coded is an error that ends the program with code.
func coded(code int, err error) error { return &codedError{code, err} }

// usagef is an error of what was asked for: a flag, an argument, a setting.
func usagef(format string, args ...any) error {
	return coded(exitUsage, fmt.Errorf(format, args...))
}

// input marks an error met while reading what the user named, so that a missing
// file counts as bad input and not as a failed run.
func input(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return coded(exitInput, err)
}

// exitCode is the exit code that an error calls for.
func exitCode(err error) int {
	var (
		coded     *codedError
		usage     *plan.UsageError
		different *compare.MismatchError
		data      *traces.DataError
		result    *record.DataError
		unheeded  *plan.UnheededError
		room      *disk.TemporaryError
		other     *disk.NotFileError
		owner     *disk.OwnerError
		large     *disk.LargeError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &room), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE): // no file is to blame
		return exitFailed
	case errors.As(err, &usage), errors.As(err, &different):
		return exitUsage
	case errors.As(err, &data), errors.As(err, &result), errors.As(err, &unheeded):
		return exitInput
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &other), errors.As(err, &owner), errors.As(err, &large):
		return exitInput // a pipe, a link, another user's file or a huge one stands where a file should
	}
	return exitFailed
}
