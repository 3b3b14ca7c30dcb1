package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// TestRowsWithoutCheckpoints: a row that does not say what saves the work of its job is of one
// that loses it, begins anew as often as it is preempted, and is counted; the cluster file
// says otherwise.
func TestRowsWithoutCheckpoints(t *testing.T) {
	const base = "groups: [{name: a, nodes: 1}]\nqos: [{name: low, class: 1}, {name: high, class: 2, preempts: [low]}]\n" +
		"vclusters: [{name: v, home: all, profile: {order: fcfs, preemption: {enabled: true, near_completion: 0s}}}]\n"
	of := func(qos, checkpoint string) traces.Job { return traces.Job{QOS: qos, Checkpoint: checkpoint} }
	for _, c := range []struct {
		name, site, column string
		ends               int64 // when the victim has ended, in s
		silent             int64 // rows counted
		state              string
	}{
		{"nothing is said", base, "", 2000, 3, "COMPLETED"},
		{"the rows say none", base, "none", 2000, 0, "COMPLETED"},
		{"the rows say automatic", base, "auto", 1200, 0, "COMPLETED"},
		{"the cluster file says automatic", base + "job_checkpoint: auto\n", "", 1200, 3, "COMPLETED"},
		{"the rows say more than the cluster file", base + "job_checkpoint: auto\n", "none", 2000, 0, "COMPLETED"},
		{"jobs are not requeued", base + "job_requeue: never\n", "", 500, 3, "FAILED"},
		{"jobs are requeued once", base + "job_requeue_max: 1\n", "", 900, 3, "FAILED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The victim of 1000 s is preempted at 500 s, and at 900 s when it has run for 300 s more.
			jobs := []submittedJob{
				{0, 1000, 1, 1, 0, of("low", c.column)}, {500, 100, 1, 2, 0, of("high", c.column)}, {900, 100, 1, 2, 0, of("high", c.column)},
			}
			sink, res := recordJobs(t, c.site, nil, jobs)
			require.Equal(t, c.silent, res.Awkward.Count[translate.RuleNoCheckpoint])
			for i, id := range sink.Jobs.ID {
				if id == 1 {
					require.Equal(t, c.state, model.JobState(sink.Jobs.State[i]).String())
					require.InDelta(t, c.ends, sink.Jobs.End[i]/1e6, 0)
				}
			}
		})
	}
}
