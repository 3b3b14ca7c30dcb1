package cli

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
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitInput       = 3
	ExitMismatch    = 4
	ExitEvidence    = 5
	ExitPartial     = 6
	ExitInterrupted = 130
)

// ExitCodes is what help exit-codes prints.
var ExitCodes = []struct {
	Code    int
	Meaning string
}{
	{ExitOK, "done; a comparison found no difference"},
	{ExitFailed, "the run failed: a disk that is full, a file that cannot be written, a fault in the program"},
	{ExitUsage, "usage or configuration: an unknown verb or flag, a value out of range, settings that exclude each other"},
	{ExitInput, "bad input data: a file that is missing, damaged, not what it claims or holds impossible values"},
	{ExitMismatch, "regression or mismatch: the results differ from those they were held against"},
	{ExitEvidence, "not enough evidence for a verdict"},
	{ExitPartial, "partial: some of several runs failed, the others are there"},
	{ExitInterrupted, "interrupted by Ctrl-C or a termination signal; nothing half-written is left"},
}

// CodedError is an error with the exit code that it calls for.
type CodedError struct {
	Code int
	err  error
}

// Error is the text of the error inside; it is empty when everything has been
// said already.
func (e *CodedError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap gives the error inside.
func (e *CodedError) Unwrap() error { return e.err }

// Coded is an error that ends the program with code.
func Coded(code int, err error) error { return &CodedError{code, err} }

// Usagef is an error of what was asked for: a flag, an argument, a setting.
func Usagef(format string, args ...any) error {
	return Coded(ExitUsage, fmt.Errorf(format, args...))
}

// BadInput marks an error met while reading what the user named, so that a missing
// file counts as bad input and not as a failed run.
func BadInput(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return Coded(ExitInput, err)
}

// ExitCode is the exit code that an error calls for.
func ExitCode(err error) int {
	var (
		coded     *CodedError
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
		return ExitOK
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &room), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE): // no file is to blame
		return ExitFailed
	case errors.As(err, &usage), errors.As(err, &different):
		return ExitUsage
	case errors.As(err, &data), errors.As(err, &result), errors.As(err, &unheeded):
		return ExitInput
	case errors.As(err, &coded):
		return coded.Code
	case errors.As(err, &other), errors.As(err, &owner), errors.As(err, &large):
		return ExitInput // a pipe, a link, another user's file or a huge one stands where a file should
	}
	return ExitFailed
}
