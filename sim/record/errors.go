package record

import (
	"fmt"
	"strings"
)

// DataError says that a file of a run directory is not what it should be.
// Every complaint about the content of a file is one; failures of the
// operating system are passed on as they are.
type DataError struct {
	File     string // path
	Column   string // "" when the file as a whole is meant
	Row      int64  // from 0, -1 when no row is meant
	Found    string
	Expected string
	Mend     string // what to do about it
	Schema   string // of a table of another schema than the one that is read, that which it has
}

// Error names the place, what was found, what was expected and the mend.
func (e *DataError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Column != "" {
		fmt.Fprintf(&b, ": column %s", e.Column)
	}
	if e.Row >= 0 {
		fmt.Fprintf(&b, ": row %d", e.Row)
	}
	fmt.Fprintf(&b, ": found %s", e.Found)
	if e.Expected != "" {
		fmt.Fprintf(&b, ", expected %s", e.Expected)
	}
	if e.Mend != "" {
		fmt.Fprintf(&b, "; %s", e.Mend)
	}
	return b.String()
}

const mendReplay = MendReplay

// MendReplay ends the Mend of each complaint that another replay mends.
const MendReplay = "replay the trace again to write it anew"

// damaged is the complaint about bytes that cannot be decoded.
func damaged(file string, cause any) *DataError {
	return &DataError{
		File: file, Row: -1,
		Found:    fmt.Sprintf("damaged content (%v)", cause),
		Expected: "a Parquet table as the recorder wrote it",
		Mend:     mendReplay,
	}
}

// guard runs fn and turns a panic in it into a DataError: parquet-go panics
// on some malformed files. Only decoding may run under it, never the caller's
// code.
func guard(file string, fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = damaged(file, p)
		}
	}()
	return fn()
}
