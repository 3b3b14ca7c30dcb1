// Package rundata reads what reports say of a finished run apart from its jobs: what
// run.json and metrics.json say, the state over time, and which nodes a text names.
package rundata

import (
	"path/filepath"

	"orrery/reports/plot"
	"orrery/sim/metric"
	"orrery/sim/record"
)

// Run is a run directory with what it says of itself.
type Run struct {
	Files *record.Run
	About About
	Table metric.Table
	Bins  []record.Bin
}

// ReadMetrics decodes metrics.json.
func ReadMetrics(f *record.Run) (metric.Table, error) {
	raw, err := f.Metrics()
	if err != nil {
		return metric.Table{}, err
	}
	t, err := metric.ParseTable(raw)
	if err != nil {
		return t, Damaged(f, record.FileMetrics, err.Error())
	}
	return t, nil
}

// Damaged is the complaint about a file of a run that contradicts itself.
func Damaged(f *record.Run, file, found string) error {
	return &record.DataError{
		File: filepath.Join(f.Dir(), file), Row: -1, Found: found, Expected: "what the recorder writes", Mend: "replay the trace again to write it anew",
	}
}

// GuessNodes takes the highest node in use for the last of the cluster, for
// runs that do not describe theirs.
func (r *Run) GuessNodes() error {
	last := int32(0)
	top := NewNodeMap(make([]int32, 1<<20))
	err := r.Files.ScanAttempts(func(c *record.AttemptColumns) error {
		for _, text := range c.Nodes {
			if err := top.Each(text, "", func(_, hi, _ int32) error { last = max(last, hi); return nil }); err != nil {
				return Damaged(r.Files, "attempts.parquet", err.Error())
			}
		}
		return nil
	})
	r.About.Units = make([]int32, last+1)
	for i := range r.About.Units {
		r.About.Units[i] = 1
	}
	return err
}

// Clock tells instants of the run as dates, where these are known.
func (r *Run) Clock() plot.Clock {
	return plot.Clock{EpochUS: int64(r.Files.Epoch()), Known: r.About.EpochKnown}
}

// Loads turns the bins into shares and means.
func (r *Run) Loads() []plot.Load {
	out := make([]plot.Load, len(r.Bins))
	units := 0.0
	for _, u := range r.About.Units {
		units += float64(u)
	}
	for i, b := range r.Bins {
		w := float64(b.Width)
		out[i] = plot.Load{StartUS: int64(b.Time), WidthUS: int64(b.Width), QueuedMax: float64(b.QueuedJobsMax)}
		if w > 0 && units > 0 {
			out[i].Busy = float64(b.BusyUnitUS) / w / units
			out[i].Queued = float64(b.QueuedJobUS) / w
		}
	}
	return out
}
