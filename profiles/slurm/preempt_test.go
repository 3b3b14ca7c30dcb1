package slurm

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPreemptMode: Slurm knows no checkpoints, so that a victim of REQUEUE loses its work and waits
// again however often, one of CANCEL ends, and one of SUSPEND goes on.
func TestPreemptMode(t *testing.T) {
	const byQOS = smallConf + "PreemptType=preempt/qos\n"
	for _, c := range []struct {
		name, conf          string
		checkpoint, requeue string
		most                int32
		verdict             Verdict
	}{
		{"none is said", byQOS, "none", "on-node-failure", unlimitedRequeues, ""},
		{"requeue", byQOS + "PreemptMode=REQUEUE\n", "none", "on-node-failure", unlimitedRequeues, Understood},
		{"requeue, by the words of newer versions", byQOS + "PreemptMode=requeue,WITHIN\n", "none", "on-node-failure", unlimitedRequeues, Understood},
		{"jobs are not requeued", byQOS + "PreemptMode=REQUEUE\nJobRequeue=0\n", "none", "never", unlimitedRequeues, Understood},
		{"cancel", byQOS + "PreemptMode=CANCEL\n", "none", "never", unlimitedRequeues, Approximated},
		{"suspend", byQOS + "PreemptMode=SUSPEND,GANG\n", "auto", "on-node-failure", unlimitedRequeues, Approximated},
		{"turns", byQOS + "PreemptMode=GANG\n", "none", "on-node-failure", unlimitedRequeues, Ignored},
		{"no preemption", smallConf + "PreemptMode=OFF\n", "none", "on-node-failure", 3, Understood},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := converted(t, c.conf, "", smallAssoc, false)
			require.NoError(t, err)
			got := &r.Cluster
			require.Equal(t, []any{c.checkpoint, c.requeue, c.most}, []any{got.JobCheckpoint, got.JobRequeue, got.JobRequeueMax})
			if c.verdict == "" {
				return
			}
			i := slices.IndexFunc(r.Notes, func(n Note) bool { return n.Key == "PreemptMode" })
			require.GreaterOrEqual(t, i, 0)
			require.Equal(t, c.verdict, r.Notes[i].Verdict)
		})
	}
	_, err := converted(t, byQOS+"PreemptMode=PAUSE\n", "", smallAssoc, false)
	require.ErrorContains(t, err, "PreemptMode=PAUSE: want OFF, CANCEL")
}
