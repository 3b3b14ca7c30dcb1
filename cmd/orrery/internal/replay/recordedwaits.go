package replay

import (
	"errors"
	"fmt"
	"io"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/traces"
)

// replayed is what replay -o json prints: metrics.json, and the waits of the record where it has any.
type replayed struct {
	metric.Table
	Waits *recordedWaits `json:"waits,omitempty"`
}

// recordedWaits are the mean waits of the record and of the replay, side by side.
type recordedWaits struct {
	Recorded float64  `json:"mean_wait_recorded_s"`
	Replayed *float64 `json:"mean_wait_replayed_s"` // nil where no job started
	Jobs     int64    `json:"jobs_recorded"`        // with a recorded start
	Started  int64    `json:"jobs_replayed"`        // that started in the replay
}

// recordedOf reads the mean wait that a log records, nil where it records none.
func recordedOf(open func() (traces.Source, error), m *metric.Table) (*recordedWaits, error) {
	src, err := open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	var r recordedWaits
	b, sum := traces.Batch{Only: []string{"submit", "start"}}, 0.0
	for {
		err := src.Next(&b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for i, start := range b.Start {
			if start != model.AbsentTime {
				r.Jobs++
				sum += float64(max(0, start.Sub(b.Submit[i]))) / float64(model.Second)
			}
		}
	}
	if r.Jobs == 0 {
		return nil, nil //nolint:nilnil // most logs record starts, and one that does not is no error
	}
	r.Recorded = sum / float64(r.Jobs)
	wait, _ := m.Get("wait_mean", metric.All)
	r.Replayed, r.Started = wait.Value, wait.Count
	return &r, nil
}

// words say how far the replay is from the record.
func (r *recordedWaits) words() string {
	text := fmt.Sprintf("by the log, of %d jobs with a start", r.Jobs)
	if r.Replayed != nil && r.Recorded > 0 {
		text += fmt.Sprintf("; the replay is %+.1f %% from it", 100*(*r.Replayed-r.Recorded)/r.Recorded)
	}
	return text + "; see orrery fidelity"
}
