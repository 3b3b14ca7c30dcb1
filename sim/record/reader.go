package record

import (
	"encoding/json"
	"io"

	"orrery/scheduler/model"
)

// Run reads a run directory. It is a Scanner over its jobs.
type Run struct{}

// Open opens a run directory.
func Open(dir string) (*Run, error) { return nil, errUnbuilt }

// Dir is the directory.
func (r *Run) Dir() string { return "" }

// Epoch is the zero of all times handed out, UTC in µs since 1970-01-01.
func (r *Run) Epoch() model.Time { return 0 }

// SpecID is the id of the spec that was run.
func (r *Run) SpecID() string { return "" }

// Rows is the number of jobs.
func (r *Run) Rows() int64 { return 0 }

// Users lists the user names that Columns.User indexes, as far as Scan has
// met them: complete after one full Scan.
func (r *Run) Users() []string { return nil }

// Jobs is the table jobs.
func (r *Run) Jobs() Scanner { return r }

// Scan implements Scanner.
func (r *Run) Scan(fn func(*Columns) error) error { return nil }

// ScanAttempts hands out all attempts in order of ending.
func (r *Run) ScanAttempts(fn func(*AttemptColumns) error) error { return nil }

// Series reads the time bins.
func (r *Run) Series() ([]Bin, error) { return nil, nil }

// Info is run.json as it stands in the directory.
func (r *Run) Info() json.RawMessage { return nil }

// Metrics is metrics.json as it stands in the directory.
func (r *Run) Metrics() (json.RawMessage, error) { return nil, nil }

// Close releases the files.
func (r *Run) Close() error { return nil }

// Tables that can be exported.
const (
	TableJobs     = "jobs"
	TableAttempts = "attempts"
	TableSeries   = "series"
	TableFacts    = "facts"
)

// ExportArrow writes a table of the run directory dir as an uncompressed
// Arrow IPC file.
func ExportArrow(dir, table string, w io.Writer) error { return errUnbuilt }

// ExportCSV writes a table of the run directory dir as CSV with a header row.
func ExportCSV(dir, table string, w io.Writer) error { return errUnbuilt }
