// Package record turns what a replay produces into files: it writes the tables
// and documents of a run directory and reads them back as columns, and it
// exports tables as Arrow and CSV. It must not know what the numbers mean:
// formulas live in sim/metric, decisions in the scheduler.
package record

import (
	"strings"

	"orrery/scheduler/model"
	"orrery/sim/record/column"
)

// Columns is a batch of rows of the table jobs.
type Columns = column.Jobs

// AttemptColumns is a batch of rows of the table attempts.
type AttemptColumns = column.Attempts

// Bin is a row of the table series.
type Bin = column.Bin

// VClusterBin is a row of the table vcluster_series.
type VClusterBin = column.VClusterBin

// Group is a row of the tables tenants and vclusters.
type Group = column.Group

// Scanner hands out the rows of the table jobs.
type Scanner = column.Scanner

// Absent marks a missing instant or span in a column; on disk it is null.
const Absent = column.Absent

// Sink takes the results of a replay as they arise. A record is read during
// the call only. Errors are sticky: the calls cannot fail, Flush returns the
// first thing that went wrong, and nothing is stored after it.
type Sink interface {
	// Job takes a job that has left the system.
	Job(*model.JobRecord)
	// Attempt takes an attempt that has ended.
	Attempt(*model.AttemptRecord)
	// Flush hands buffered rows to the file and returns the first error so far.
	Flush() error
}

// Null is a Sink that forgets everything.
type Null struct{}

// Job does nothing.
func (Null) Job(*model.JobRecord) {}

// Attempt does nothing.
func (Null) Attempt(*model.AttemptRecord) {}

// Flush returns nil.
func (Null) Flush() error { return nil }

// Memory is a Sink that keeps the columns, for tests and for metrics without
// files, in the order in which they came: 86 bytes per job, and per attempt 69
// bytes and what its two texts of nodes hold. It is a Scanner over its jobs.
type Memory struct {
	Jobs     Columns
	Attempts AttemptColumns
	text     []byte
	kept     strings.Builder // of texts that are kept, the last part
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{} }

// NewSiteMemory returns an empty Memory that keeps what a site says of its jobs
// too: 138 bytes more per job, and 29 more per attempt.
func NewSiteMemory() *Memory { return &Memory{Jobs: Columns{OfSite: true}} }

// Reset forgets all rows and keeps the space.
func (m *Memory) Reset() {
	m.Jobs = m.Jobs.Slice(0, 0)
	m.Attempts = m.Attempts.Slice(0, 0)
}

// Job appends a row; it allocates only when the columns have to grow.
func (m *Memory) Job(r *model.JobRecord) { m.Jobs.Append(r) }

// Flush returns nil.
func (m *Memory) Flush() error { return nil }

// scanBatch is the number of rows of one batch handed out by Scan.
const scanBatch = 8192

// Scan implements Scanner.
func (m *Memory) Scan(fn func(*Columns) error) error {
	for i := 0; i < m.Jobs.Len(); i += scanBatch {
		c := m.Jobs.Slice(i, min(i+scanBatch, m.Jobs.Len()))
		if err := fn(&c); err != nil {
			return err
		}
	}
	return nil
}

// Attempt appends a row. It allocates when the columns have to grow, and for
// the node texts of many rows at a time.
func (m *Memory) Attempt(r *model.AttemptRecord) {
	m.text = AppendNodes(m.text[:0], &r.Placement)
	nodes := m.keep(m.text)
	m.text = appendShares(m.text[:0], &r.Placement)
	m.Attempts.Append(r, nodes, m.keep(m.text))
}

// keptPart is how many bytes of texts are allocated at a time.
const keptPart = 64 << 10

// keep is a text that stays as it is.
func (m *Memory) keep(text []byte) string {
	if m.kept.Cap()-m.kept.Len() < len(text) {
		m.kept = strings.Builder{}
		m.kept.Grow(max(keptPart, len(text)))
	}
	m.kept.Write(text)
	all := m.kept.String()
	return all[len(all)-len(text):]
}
