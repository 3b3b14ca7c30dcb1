package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"orrery/internal/disk"
	"orrery/scheduler/model"
	"orrery/sim/record/column"
)

// NoRun is what is found in a directory that holds no run, in the DataError of Open.
const NoRun = "no " + FileRun

// Run reads a run directory. It is a Scanner over its jobs. It is not safe for
// concurrent use.
type Run struct {
	m    *manifest
	jobs *tableFile
}

// Open opens the run directory dir and checks that it holds a finished run
// whose table jobs has the columns this version reads. Errors about the
// content are a *DataError.
func Open(dir string) (*Run, error) {
	m, err := readManifest(dir)
	if errors.Is(err, os.ErrNotExist) {
		if _, derr := os.Stat(dir); derr != nil {
			var path *os.PathError
			if errors.As(derr, &path) { // the call that failed is nothing to people
				derr = &os.PathError{Op: "opening the run", Path: dir, Err: path.Err}
			}
			return nil, derr
		}
		return nil, &DataError{
			File: dir, Row: -1, Found: NoRun, Expected: "the directory of a finished run",
			Mend: "name a directory written by orrery replay --out, or replay again if that run was cut off",
		}
	}
	if err != nil {
		return nil, fmt.Errorf("opening run: %w", err)
	}
	jobs, err := openTable(m, TableJobs)
	if err != nil {
		return nil, err
	}
	return &Run{m, jobs}, nil
}

// Dir is the directory.
func (r *Run) Dir() string { return r.m.dir }

// Epoch is the zero of all times handed out, UTC in µs since 1970-01-01.
func (r *Run) Epoch() model.Time { return r.jobs.epoch }

// SpecID is the id of the spec that was run.
func (r *Run) SpecID() string { return r.jobs.spec }

// Rows is the number of jobs.
func (r *Run) Rows() int64 { return r.jobs.file.NumRows() }

// Users lists the user names that Columns.User indexes, in order of first
// appearance, as far as Scan has met them: complete after one full Scan.
func (r *Run) Users() []string { return r.jobs.users() }

// Jobs is the table jobs.
func (r *Run) Jobs() Scanner { return r.jobs }

// Scan implements Scanner. Memory is that of one row group.
func (r *Run) Scan(fn func(*Columns) error) error { return r.jobs.Scan(fn) }

// ScanOnly implements column.Selector.
func (r *Run) ScanOnly(want column.Set, fn func(*Columns) error) error {
	return r.jobs.ScanOnly(want, fn)
}

// Info is run.json as it stands in the directory.
func (r *Run) Info() json.RawMessage { return r.m.info }

// ReadInfo is run.json of the run in dir as it stands there, when it has the digest that it
// states. Complaints about it are a *DataError.
func ReadInfo(dir string) (json.RawMessage, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	return m.info, nil
}

// TraceName is what the trace of the run in dir was called, after its file: by host.json, or
// by run.json of an earlier build; "" where neither says. It is no part of the result.
func TraceName(dir string) string {
	var host struct{ Trace string }
	if text, err := disk.ReadFile(filepath.Join(dir, FileHost)); err == nil && json.Unmarshal(text, &host) == nil && host.Trace != "" {
		return host.Trace
	}
	var run struct{ Trace struct{ Name string } }
	if text, err := disk.ReadFile(filepath.Join(dir, FileRun)); err != nil || json.Unmarshal(text, &run) != nil {
		return ""
	}
	return run.Trace.Name
}

// Metrics is metrics.json as it stands in the directory.
func (r *Run) Metrics() (json.RawMessage, error) {
	b, err := r.m.read(FileMetrics)
	if err != nil {
		return nil, fmt.Errorf("reading metrics of run: %w", err)
	}
	return b, nil
}

// Close releases the files.
func (r *Run) Close() error { return r.jobs.Close() }

// ScanAttempts hands out all attempts in the order of the file, batch by
// batch; fn must not keep the slices. Those of a site have the columns of
// AttemptColumns.Site.
func (r *Run) ScanAttempts(fn func(*AttemptColumns) error) error {
	t, err := openTable(r.m, TableAttempts)
	if err != nil {
		return err
	}
	defer t.Close()
	var c AttemptColumns
	return t.scan(nil, func(v []vector, n int) error {
		c.Job, c.ID, c.Attempt = v[0].i32, v[1].i64, v[2].i32
		c.Start, c.End, c.Procs = v[3].i64, v[4].i64, v[6].i32
		c.Nodes, c.Shares = v[7].text, v[8].text
		t.relative(c.Start)
		t.relative(c.End)
		if err := t.codes(&c.Outcome, 5, &v[5], stateCodes); err != nil {
			return err
		}
		if c.OfSite = len(t.fields) > colKept; c.OfSite {
			s := &c.Site
			s.Kept, s.Lost = v[colKept].i64, v[colLost].i64
			s.NodeCount, s.GPUs, s.Borrowed = v[colNodeCount].i32, v[colAttemptGPUs].i32, v[colBorrowed].i32
			if err := t.codes(&s.Reason, colEnded, &v[colEnded], reasonCodes); err != nil {
				return err
			}
		}
		return fn(&c)
	})
}

// Series reads the time bins; a run without the table has none.
func (r *Run) Series() ([]Bin, error) {
	t, err := openTable(r.m, TableSeries)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer t.Close()
	var bins []Bin
	err = t.scan(nil, func(v []vector, n int) error {
		for i := range n {
			bins = append(bins, Bin{
				Time: model.Time(v[0].i64[i]) - t.epoch, Width: model.Duration(v[1].i64[i]),
				BusyUnitUS: v[2].i64[i], QueuedJobUS: v[3].i64[i],
				QueuedUnitUS: v[4].i64[i], RunningJobUS: v[5].i64[i],
				QueuedJobsMax: v[6].i32[i], BusyUnitsMax: v[7].i32[i], QueuedUnitsMax: v[8].i64[i],
				Starts: v[9].i32[i], Ends: v[10].i32[i], Submits: v[11].i32[i],
			})
		}
		return nil
	})
	return bins, err
}

// scanTable hands out all rows of a table that a run need not have.
func (r *Run) scanTable(table string, fn func(t *tableFile, v []vector, n int) error) error {
	t, err := openTable(r.m, table)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer t.Close()
	return t.scan(nil, func(v []vector, n int) error { return fn(t, v, n) })
}

// VClusters and Tenants list the names that Columns.VCluster and
// Columns.Tenant index, as far as Scan has met them.
func (r *Run) VClusters() []string { return r.jobs.wordsAt(colVCluster) }

// Tenants are the names of tenants; see VClusters.
func (r *Run) Tenants() []string { return r.jobs.wordsAt(colTenant) }

// OfSite says whether the run is of a site.
func (r *Run) OfSite() bool { return len(r.jobs.fields) > colVCluster }

func (t *tableFile) wordsAt(i int) []string {
	if i >= len(t.fields) {
		return nil
	}
	return t.words[i].list
}
