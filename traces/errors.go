package traces

import (
	"fmt"
	"strings"
)

// DataError is a complaint about input data: a file that is not what it
// claims, a column of another type, a row that cannot be. Every such complaint
// in this package and in the importers is or wraps one; commands answer it
// with exit code 3.
type DataError struct {
	File     string // as the user named it
	Line     int64  // of a text file, from 1; 0 when none
	Row      int64  // of a table, from 1; 0 when none
	Column   string // "" when none
	Found    string
	Expected string
	Mend     string // what the user can do about it
	Cause    error  // nil when the data itself is the cause
}

// Error reads "FILE: row N, column C: found X, expected Y; MEND".
func (e *DataError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	sep := ": "
	if e.Line > 0 {
		fmt.Fprintf(&b, "%sline %d", sep, e.Line)
		sep = ", "
	}
	if e.Row > 0 {
		fmt.Fprintf(&b, "%srow %d", sep, e.Row)
		sep = ", "
	}
	if e.Column != "" {
		fmt.Fprintf(&b, "%scolumn %s", sep, e.Column)
	}
	sep = ": "
	if e.Found != "" {
		fmt.Fprintf(&b, "%sfound %s", sep, e.Found)
		sep = ", "
	}
	if e.Expected != "" {
		fmt.Fprintf(&b, "%sexpected %s", sep, e.Expected)
	}
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	if e.Mend != "" {
		fmt.Fprintf(&b, "; %s", e.Mend)
	}
	return b.String()
}

// Unwrap gives the cause, if there is one.
func (e *DataError) Unwrap() error { return e.Cause }

// CorruptError says that the bytes of a Parquet file contradict themselves: a
// checksum, a length, a page that cannot be decoded. errors.As finds the
// DataError inside.
type CorruptError struct {
	Data DataError
}

// Error is the text of the DataError inside.
func (e *CorruptError) Error() string { return e.Data.Error() }

// Unwrap gives the DataError inside.
func (e *CorruptError) Unwrap() error { return &e.Data }

func corrupt(file, where string, cause any) *CorruptError {
	err, ok := cause.(error)
	if !ok {
		err = fmt.Errorf("%v", cause)
	}
	return &CorruptError{Data: DataError{
		File: file, Found: "damaged Parquet data " + where, Cause: err,
		Mend: "the file was cut short or altered after it was written: restore it or import the log again",
	}}
}

// guard turns a panic of the Parquet library, which it answers some malformed
// input with, into a CorruptError.
func guard(file, where string, err *error) {
	if p := recover(); p != nil {
		*err = corrupt(file, where, p)
	}
}
