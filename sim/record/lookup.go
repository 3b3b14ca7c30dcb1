package record

import (
	"math"
	"os"
	"path/filepath"

	"orrery/scheduler/model"
)

// Attempt is a row of the table attempts, with all that a site says of it; what a
// run does not record is zero. Times are since the epoch.
type Attempt struct {
	Job        model.JobID
	ID         int64
	Attempt    int32 // from 1
	Start, End model.Time
	Outcome    model.JobState
	Units      int32
	Nodes      string // ranges of node numbers
	Kept, Lost model.Duration
	Reason     model.Reason
	NodeCount  int32
	GPUs       int32
	Borrowed   int32
}

// Places of columns in siteAttemptRow.
const (
	colKept        = 9
	colLost        = 10
	colEnded       = 11
	colNodeCount   = 12
	colAttemptGPUs = 13
	colBorrowed    = 14
)

// Attempts hands out the attempts of the jobs that want accepts, in the order of
// the file. Cost: the whole table is read.
func (r *Run) Attempts(want func(model.JobID) bool, fn func(Attempt) error) error {
	var outcomes, reasons []uint8
	return r.scanTable(TableAttempts, func(t *tableFile, v []vector, n int) error {
		if err := t.codes(&outcomes, 5, &v[5], stateCodes); err != nil {
			return err
		}
		site := len(t.fields) > colKept
		if site {
			if err := t.codes(&reasons, colEnded, &v[colEnded], reasonCodes); err != nil {
				return err
			}
		}
		for i := range n {
			if !want(model.JobID(v[0].i32[i])) {
				continue
			}
			a := Attempt{
				Job: model.JobID(v[0].i32[i]), ID: v[1].i64[i], Attempt: v[2].i32[i],
				Start: model.Time(v[3].i64[i]) - t.epoch, End: model.Time(v[4].i64[i]) - t.epoch,
				Outcome: model.JobState(outcomes[i]), Units: v[6].i32[i], Nodes: v[7].text[i],
			}
			if site {
				a.Kept, a.Lost = model.Duration(v[colKept].i64[i]), model.Duration(v[colLost].i64[i])
				a.Reason, a.NodeCount = model.Reason(reasons[i]), v[colNodeCount].i32[i]
				a.GPUs, a.Borrowed = v[colAttemptGPUs].i32[i], v[colBorrowed].i32[i]
			}
			if err := fn(a); err != nil {
				return err
			}
		}
		return nil
	})
}

// HasDecisions says whether the run recorded why jobs wait.
func (r *Run) HasDecisions() bool {
	_, err := os.Stat(filepath.Join(r.m.dir, TableDecisions+".parquet"))
	return err == nil
}

// decisionOf is row i of the table decisions.
func decisionOf(t *tableFile, v []vector, reasons []uint8, i int) Decision {
	d := Decision{
		Time: model.Time(v[0].i64[i]) - t.epoch, Job: model.JobID(v[1].i32[i]), ID: v[2].i64[i],
		Kind: t.words[3].list[v[3].i32[i]], Reason: model.Reason(reasons[i]), Behind: -1, Until: model.AbsentTime, Nodes: v[7].i32[i],
		Need: v[8].i32[i], Usable: v[9].i32[i], Conform: v[10].i32[i], Grouped: v[11].i32[i], Aside: v[12].i32[i],
	}
	if b := v[5].i32[i]; b != math.MinInt32 {
		d.Behind = model.JobID(b)
	}
	if u := v[6].i64[i]; u != Absent {
		d.Until = model.Time(u) - t.epoch
	}
	d.KeptFor, d.KeptUntil = -1, model.AbsentTime
	if at := len(schemas[TableDecisions].Fields()); len(t.fields) > at {
		for k := range RejectedSets {
			d.Rejected[k] = v[at+k].text[i]
		}
		if b := v[at+RejectedSets].i32[i]; b != math.MinInt32 {
			d.KeptFor = model.JobID(b)
		}
		if u := v[at+RejectedSets+1].i64[i]; u != Absent {
			d.KeptUntil = model.Time(u) - t.epoch
		}
	}
	if d.Scored = !math.IsNaN(v[13].f64[i]); d.Scored {
		d.Score, d.Penalty = model.FixedOf(v[13].f64[i]), model.FixedOf(v[14].f64[i])
		for k := range factorCount {
			d.Values[k], d.Terms[k] = model.FixedOf(v[15+k].f64[i]), model.FixedOf(v[15+factorCount+k].f64[i])
		}
	}
	return d
}
