package compare

import (
	"maps"
	"slices"

	"orrery/internal/doc"
	"orrery/scheduler/model"
	"orrery/sim/record"
)

// waitedFor adds up for what some jobs of a run waited, as its decisions say: by
// job, then by reason, in µs. It is nil when the run recorded none.
func waitedFor(dir string, of map[model.JobID]bool) (map[model.JobID]map[string]int64, error) {
	f, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !f.HasDecisions() {
		return nil, nil
	}
	out := map[model.JobID]map[string]int64{}
	type state struct {
		since model.Time
		why   string
	}
	now := map[model.JobID]state{}
	return out, f.Decisions(func(d *record.Decision) error {
		if !of[d.Job] {
			return nil
		}
		if before, ok := now[d.Job]; ok {
			if out[d.Job] == nil {
				out[d.Job] = map[string]int64{}
			}
			out[d.Job][before.why] += int64(d.Time.Sub(before.since))
		}
		now[d.Job] = state{d.Time, d.Reason.String()}
		return nil
	})
}

// WhyTable says for what the jobs that moved most waited longest in each run. It is
// empty unless both runs recorded decisions, which it reads once. Complaints about
// content are *record.DataError.
func (c *Comparison) WhyTable() (*doc.Table, error) {
	t := doc.New("job", "moved", "waited most in A for", "waited most in B for")
	of := map[model.JobID]bool{}
	for i := range c.Moved {
		of[model.JobID(c.Moved[i].Job)] = true
	}
	a, err := waitedFor(c.A.Dir, of)
	if err != nil || a == nil {
		return t, err
	}
	b, err := waitedFor(c.B.Dir, of)
	if err != nil || b == nil {
		return t, err
	}
	for i := range c.Moved {
		m := &c.Moved[i]
		sign := ""
		if m.Moved() > 0 {
			sign = "+"
		}
		t.Row(m.ID, sign+m.Moved().String(), mostly(a[model.JobID(m.Job)]), mostly(b[model.JobID(m.Job)]))
	}
	return t, nil
}

// mostly is the reason with the most time, the first by name among equals.
func mostly(times map[string]int64) string {
	best := ""
	for _, why := range slices.Sorted(maps.Keys(times)) {
		if times[why] > 0 && (best == "" || times[why] > times[best]) {
			best = why
		}
	}
	if best == "" {
		return "nothing"
	}
	return best + ", " + model.Duration(times[best]).String()
}
