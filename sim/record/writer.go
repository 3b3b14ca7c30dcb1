package record

import (
	"errors"

	"orrery/scheduler/model"
)

// Meta describes the run whose tables are written.
type Meta struct {
	Epoch  model.Time      // UTC, µs since 1970-01-01: added to every time that is stored
	SpecID string          // of the spec that is run
	Users  func() []string // names by user index, as far as they are known now; nil when the trace has none
	Facts  bool            // keep the log of facts too
}

// Writer writes a run directory; it is a Sink.
type Writer struct{}

var errUnbuilt = errors.New("record: not built yet")

// Create starts a run directory.
func Create(dir string, meta Meta) (*Writer, error) { return nil, errUnbuilt }

// Job implements Sink.
func (w *Writer) Job(*model.JobRecord) {}

// Attempt implements Sink.
func (w *Writer) Attempt(*model.AttemptRecord) {}

// Fact stores entry index of the committed log; p is the placement granted by
// a FactAssigned, nil for the other kinds.
func (w *Writer) Fact(index int64, now model.Time, f *model.Fact, p *model.Placement) {}

// Flush implements Sink.
func (w *Writer) Flush() error { return nil }

// Seal ends the tables jobs, attempts and facts and returns the jobs for
// reading, so that metrics can be computed before the directory appears.
func (w *Writer) Seal() (Scanner, error) { return nil, nil }

// WriteSeries writes series.parquet.
func (w *Writer) WriteSeries(bins []Bin) error { return nil }

// WriteJSON writes a document (run.json, metrics.json, host.json) in canonical
// form.
func (w *Writer) WriteJSON(name string, v any) error { return nil }

// Close makes the run directory appear.
func (w *Writer) Close() error { return nil }

// Abort removes everything written.
func (w *Writer) Abort() {}

// WriteJSON writes v to path in canonical form, beside and renamed.
func WriteJSON(path string, v any) error { return errUnbuilt }
