// Package paired compares finished runs of one trace by windows of submission: the
// jobs that started in all of them are divided into windows of equal length, and the
// means of each window go through sim/stat. Runs of a side that replayed the trace
// with jittered arrivals measure the noise.
//
// It must not know where a trace comes from, how a comparison is shown, or what a
// queue that grows without end does to a wait: its callers say which runs have no
// rank.
package paired

import (
	"fmt"
	"slices"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/stat"
)

// Run is one run of a side.
type Run struct {
	// Seed tells the runs of a side apart: 0 is the trace as it is, others are those
	// of the jitter. Runs of both sides with the same seed met the same arrivals.
	Seed int
	Jobs Jobs
}

// Side is a configuration with its runs. The first run is that of the trace as it
// is; of the first side it says to which window each job belongs.
type Side struct {
	Name string
	Runs []Run
}

// Options of a comparison.
type Options struct {
	// Windows is into how many windows the time of submission is divided; 0 is
	// UsualWindows, or fewer where the trace is short.
	Windows int
	Stat    stat.Settings
}

// The number of windows where nothing else is asked for. Windows are no shorter
// than a day, since a queue outlives the hours, and hold enough jobs for a mean.
const (
	UsualWindows   = 20
	leastLength    = model.Day
	leastJobsAmean = 30
)

// Result is a comparison of sides with the first of them.
type Result struct {
	Rows []Row `json:"rows"`
}

// Row is one figure of a side against the first side. Numbers are as they are:
// rounding is the reader's.
type Row struct {
	Run    string `json:"run"`
	Metric string `json:"metric"`
	Unit   string `json:"unit"` // s, or 1
	// First and This are the means over the windows of the first side and of this
	// one; Difference is This minus First, and Relative the same as a part of First.
	First      Range          `json:"first"`
	This       Range          `json:"this"`
	Difference Range          `json:"difference"`
	Relative   Range          `json:"relative"`
	P          metric.Number  `json:"p"`
	Corrected  metric.Number  `json:"p_corrected"` // for all rows of the result
	Windows    int            `json:"windows"`     // with jobs
	Length     model.Duration `json:"window_us"`
	Jobs       int            `json:"jobs"` // that started in all runs of both sides
	Runs       [2]int         `json:"runs"` // of the first side and of this one
	Noise      Noise          `json:"noise"`
	Verdict    string         `json:"verdict"`
	Reason     string         `json:"reason"`

	verdict stat.Verdict
}

// Range is an estimate with its 95 % interval.
type Range struct {
	Estimate metric.Number `json:"estimate"`
	Low      metric.Number `json:"low"`
	High     metric.Number `json:"high"`
}

// Noise is what the replicas say.
type Noise struct {
	Measured stat.Measured `json:"measured"`
	// Error is the standard error of Difference by noise alone, in its unit, and Share
	// the part of the variance that it explains.
	Error metric.Number `json:"error"`
	Share float64       `json:"share"`
}

// The verdicts of rows that sim/stat does not have.
const (
	Differs  = "differs"  // the interval lies beyond 0, and no noise was measured
	Unranked = "unranked" // a run is overloaded
)

// Compare holds each of the other sides against the first. All rows are corrected
// together. It is an error when a side has no run, or when fewer windows than none
// are asked for.
func Compare(first Side, others []Side, o Options) (*Result, error) {
	if o.Windows < 0 {
		return nil, fmt.Errorf("%d windows: want 1 or more, or 0 for the usual number", o.Windows)
	}
	var subjects []stat.Subject
	var rows []Row
	for _, other := range others {
		if len(first.Runs) == 0 || len(other.Runs) == 0 {
			return nil, fmt.Errorf("a comparison of %s and %s: want a run of either side", first.Name, other.Name)
		}
		d := divide(first.Runs, other.Runs, o.Windows)
		for f := range figures {
			pairs, err := stat.Pair(d.observe(first.Runs, f), d.observe(other.Runs, f))
			if err != nil {
				return nil, err
			}
			pairs.Continuous = true
			subjects = append(subjects, stat.Subject{Candidate: other.Name, Metric: figures[f].name, Pairs: pairs})
			rows = append(rows, Row{Unit: figures[f].unit, Length: d.length, Jobs: len(d.ids), Runs: [2]int{len(first.Runs), len(other.Runs)}})
		}
	}
	judged, err := stat.Compare(subjects, o.Stat)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i].fill(&judged[i])
	}
	return &Result{Rows: rows}, nil
}

// fill is what sim/stat says of a row.
func (r *Row) fill(s *stat.Row) {
	r.Run, r.Metric, r.Windows = s.Candidate, s.Metric, s.Windows
	r.First, r.This, r.Difference, r.Relative = rangeOf(s.Baseline), rangeOf(s.CandidateValue), rangeOf(s.Difference), rangeOf(s.Relative)
	r.P, r.Corrected = metric.Number(s.P), metric.Number(s.Corrected)
	r.Noise = Noise{s.Noise.Measured, metric.Number(s.Noise.Error), s.Noise.Share}
	r.verdict, r.Verdict, r.Reason = s.Verdict, s.Verdict.String(), s.Reason
	if r.Claims() && s.Noise.Measured == stat.NoNoise {
		r.Verdict = Differs
	}
}

func rangeOf(i stat.Interval) Range {
	return Range{metric.Number(i.Estimate), metric.Number(i.Low), metric.Number(i.High)}
}

// Claims says whether the row claims a difference, better or worse.
func (r *Row) Claims() bool { return r.verdict == stat.Better || r.verdict == stat.Worse }

// Unrank takes the verdicts off the rows of runs for which has says so: a run is
// overloaded, and its waits say how long the trace is.
func (r *Result) Unrank(has func(run string) bool) {
	for i := range r.Rows {
		if row := &r.Rows[i]; has(row.Run) {
			row.verdict, row.Verdict, row.Reason = stat.NotEnoughEvidence, Unranked, "a run is overloaded"
		}
	}
}

// Measured says whether the noise of any row was measured.
func (r *Result) Measured() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Noise.Measured != stat.NoNoise })
}
