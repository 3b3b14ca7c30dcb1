package record

import (
	"fmt"

	"orrery/scheduler/model"
)

// factorCount is the number of factors of a score.
const factorCount = 9

// Decision is a row of the table decisions: why a job waits from Time on, or
// that it was proposed.
type Decision struct {
	Time   model.Time
	Job    model.JobID
	ID     int64
	Kind   string       // wait, start, preempt, leave, demand, resize or unmet
	Reason model.Reason // ReasonNone when it is proposed
	Behind model.JobID  // the other job, see RESULT-FORMAT.md; -1 for none
	Until  model.Time   // of the reservation in the way; AbsentTime
	Nodes  int32        // proposed, or free of those it may use
	// What it looks for and what there is of it, in nodes; see scheduler.Room.
	Need, Usable, Conform, Grouped, Aside int32
	// Scored says that the job's vCluster orders by score, and that what follows
	// is set.
	Scored  bool
	Score   model.Fixed
	Penalty model.Fixed
	Values  [factorCount]model.Fixed
	Terms   [factorCount]model.Fixed // weight times value
	// Rejected are sets of nodes that it does not start on, as text; see
	// scheduler.Rejection for the places.
	Rejected [RejectedSets]string
	// KeptFor is the job that the last of them is kept for, -1 for none, and
	// KeptUntil the end of the advance reservation that does, AbsentTime for none.
	KeptFor   model.JobID
	KeptUntil model.Time
}

// RejectedSets is how many sets of nodes a decision has, each of another kind.
const RejectedSets = 5

// decisionNumbers are the fractions of a row: score, penalty, values, terms.
const decisionNumbers = 2 + 2*factorCount

// decisionColumns are the columns of decisions.parquet that every version has.
type decisionColumns struct {
	Time    int64    `parquet:"time,delta,timestamp(microsecond)"`
	Job     int32    `parquet:"job,delta"`
	ID      int64    `parquet:"id,delta"`
	Kind    string   `parquet:"kind,dict"`
	Reason  string   `parquet:"reason,optional,dict"`
	Behind  *int32   `parquet:"behind,optional" encoding:"delta"`
	Until   *int64   `parquet:"until,optional,timestamp(microsecond)" encoding:"delta"`
	Nodes   int32    `parquet:"nodes,dict"`
	Need    int32    `parquet:"need,dict"`
	Usable  int32    `parquet:"usable,dict"`
	Conform int32    `parquet:"conform,dict"`
	Grouped int32    `parquet:"grouped,dict"`
	Aside   int32    `parquet:"aside,dict"`
	Score   *float64 `parquet:"score,optional"`
	Penalty *float64 `parquet:"penalty,optional"`
	F1      *float64 `parquet:"f1,optional"`
	F2      *float64 `parquet:"f2,optional"`
	F3      *float64 `parquet:"f3,optional"`
	F4      *float64 `parquet:"f4,optional"`
	F5      *float64 `parquet:"f5,optional"`
	F6      *float64 `parquet:"f6,optional"`
	F7      *float64 `parquet:"f7,optional"`
	F8      *float64 `parquet:"f8,optional"`
	F9      *float64 `parquet:"f9,optional"`
	T1      *float64 `parquet:"t1,optional"`
	T2      *float64 `parquet:"t2,optional"`
	T3      *float64 `parquet:"t3,optional"`
	T4      *float64 `parquet:"t4,optional"`
	T5      *float64 `parquet:"t5,optional"`
	T6      *float64 `parquet:"t6,optional"`
	T7      *float64 `parquet:"t7,optional"`
	T8      *float64 `parquet:"t8,optional"`
	T9      *float64 `parquet:"t9,optional"`
}

// decisionRow is a row of decisions.parquet.
type decisionRow struct {
	decisionColumns
	Chosen        string `parquet:"nodes_chosen,optional"`
	Free          string `parquet:"nodes_free,optional"`
	Alike         string `parquet:"nodes_alike,optional"`
	NodesAdjacent string `parquet:"nodes_near,optional"`
	Kept          string `parquet:"nodes_kept,optional"`
	KeptFor       *int32 `parquet:"kept_for,optional" encoding:"delta"`
	KeptUntil     *int64 `parquet:"kept_until,optional,timestamp(microsecond)" encoding:"delta"`

	behind, keptFor  int32 // what pointers point at
	until, keptUntil int64
}

// numbers are the places of the fractions of a row, as decisionNumbers orders
// them.
func (r *decisionRow) numbers() [decisionNumbers]**float64 {
	return [...]**float64{
		&r.Score, &r.Penalty,
		&r.F1, &r.F2, &r.F3, &r.F4, &r.F5, &r.F6, &r.F7, &r.F8, &r.F9,
		&r.T1, &r.T2, &r.T3, &r.T4, &r.T5, &r.T6, &r.T7, &r.T8, &r.T9,
	}
}

// Decision stores a decision; they must come in order of time. It does nothing
// unless Meta.Decisions is set and the run is of a site.
func (w *Writer) Decision(d *Decision) {
	if w.err != nil || w.decisions == nil {
		return
	}
	i, epoch := len(w.decisions.rows), int64(w.meta.Epoch)
	row := w.decisions.next()
	row.Time, row.Job, row.ID = int64(d.Time)+epoch, int32(d.Job), d.ID
	row.Kind, row.Reason, row.Nodes = d.Kind, d.Reason.String(), d.Nodes
	row.Need, row.Usable, row.Conform, row.Grouped, row.Aside = d.Need, d.Usable, d.Conform, d.Grouped, d.Aside
	row.Behind, row.Until = knownJob(&row.behind, d.Behind), knownTime(&row.until, d.Until, epoch)
	row.Chosen, row.Free, row.Alike, row.NodesAdjacent, row.Kept = d.Rejected[0], d.Rejected[1], d.Rejected[2], d.Rejected[3], d.Rejected[4]
	row.KeptFor, row.KeptUntil = nil, nil
	if row.Kept != "" {
		row.KeptFor, row.KeptUntil = knownJob(&row.keptFor, d.KeptFor), knownTime(&row.keptUntil, d.KeptUntil, epoch)
	}
	to := row.numbers()
	for k := range to {
		*to[k] = nil
	}
	if d.Scored {
		at := &w.numbers[i]
		at[0], at[1] = d.Score.Float(), d.Penalty.Float()
		for k := range factorCount {
			at[2+k], at[2+factorCount+k] = d.Values[k].Float(), d.Terms[k].Float()
		}
		for k := range to {
			*to[k] = &at[k]
		}
	}
	if w.decisions.full() {
		w.keep(w.decisions.spill())
	}
}

// knownJob is a place with the job, nil when there is none.
func knownJob(at *int32, job model.JobID) *int32 {
	if job < 0 {
		return nil
	}
	*at = int32(job)
	return at
}

// knownTime is a place with the absolute time, nil when it is absent.
func knownTime(at *int64, t model.Time, epoch int64) *int64 {
	if t == model.AbsentTime {
		return nil
	}
	*at = int64(t) + epoch
	return at
}

// Decisions hands out the table decisions in the order of the file; fn must
// not keep d. Names of kinds are those of the file.
func (r *Run) Decisions(fn func(d *Decision) error) error {
	return r.scanTable(TableDecisions, func(t *tableFile, v []vector, n int) error {
		var reasons []uint8
		if err := t.codes(&reasons, 4, &v[4], reasonCodes); err != nil {
			return err
		}
		for i := range n {
			d := decisionOf(t, v, reasons, i)
			if err := fn(&d); err != nil {
				return fmt.Errorf("reading decisions: %w", err)
			}
		}
		return nil
	})
}
