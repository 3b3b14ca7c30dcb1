package sim

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/traces"
)

// Defects of Lattice that show in the life of a job on a site, on whole replays;
// docs/INVARIANTS.md lists all of them.

// life is a Sink and a Recorder that writes down attempts and changes of nodes.
type life struct {
	drive.Unrecorded
	lines []string
	held  map[int64]model.Holding // by job
}

func (l *life) Flush() error { return nil }
func (l *life) say(now model.Time, text string, v ...any) {
	l.lines = append(l.lines, fmt.Sprintf("%ds ", int64(now)/1e6)+fmt.Sprintf(text, v...))
}
func (l *life) Job(r *model.JobRecord) { l.held[r.ID] = r.Allocated }

func (l *life) Attempt(r *model.AttemptRecord) {
	l.say(r.End, "job %d from %ds %s", r.ID, int64(r.Start)/1e6, r.Outcome)
}

func (l *life) Fact(now model.Time, f *model.Fact) {
	switch f.Kind {
	case model.FactNode:
		l.say(now, "node %d %s", f.Node, f.State)
	case model.FactRefused:
		l.say(now, "job %d refused %s", f.Job+1, f.Reason)
	case model.FactCancelled:
		l.say(now, "job %d cancelled %s", f.Job+1, f.Reason)
	}
}

// told replays jobs, numbered from 1, that come one second after the other, and
// returns what happened.
func told(t *testing.T, site string, edges []traces.Edge, jobs ...traces.Job) *life {
	t.Helper()
	m := &memory{info: traces.Info{Name: "tale", Sorted: true}, size: 10, edges: edges}
	attr := &traces.Attributes{}
	for i := range jobs {
		j := &jobs[i]
		m.add(row{submit: int64(i), runtime: int64(j.Runtime.V / model.Second), walltime: int64(j.Walltime.V / model.Second), nodes: 1})
		attr.AppendJob(j)
	}
	m.all.Attr = attr
	l := &life{held: map[int64]model.Holding{}}
	res, err := Run(context.Background(), siteOf(t, site), m.open, Options{Sink: l, Observer: l})
	require.NoError(t, err)
	require.Zero(t, res.Unfinished)
	return l
}

// lasts is a job of one node that runs so many seconds and asked for so many.
func lasts(runtime, walltime model.Duration) traces.Job {
	return traces.Job{Runtime: traces.Some(runtime * model.Second), Walltime: traces.Some(walltime * model.Second)}
}

const oneNode = `
groups: [{name: a, nodes: 1, fingerprint: x}]
vclusters: [{name: all, home: all, profile: {order: fcfs}}]
agents: {kill_grace: 30s, boot_delay: 0s, checkpoint_bandwidth: 10B/s, restore_bandwidth: 10B/s}
`

// A job that reached its walltime is over when it has left, or its grace has.
func TestDefectD11GraceBeforeTimeout(t *testing.T) {
	require.Equal(t, []string{"27s job 1 from 0s TIMEOUT"}, told(t, oneNode, nil, lasts(27, 20)).lines)
	require.Equal(t, []string{"50s job 1 from 0s TIMEOUT"}, told(t, oneNode, nil, lasts(100, 20)).lines)
}

// A node is drained when nothing is on it, be it writing a checkpoint.
func TestDefectD12DrainWaitsForCheckpoints(t *testing.T) {
	site := `
groups: [{name: a, nodes: 1, fingerprint: x}]
vclusters: [{name: all, home: all, profile: {weights: {priority: 1}, preemption: {enabled: true}}}]
agents: {kill_grace: 30s, boot_delay: 0s, checkpoint_bandwidth: 10B/s, restore_bandwidth: 10B/s}
events:
  - {time: 5s, kind: drain, subject: all}
  - {time: 20s, kind: undrain, subject: all}
`
	low, high := lasts(1000, 2000), lasts(10, 20)
	low.Class, low.CkptBytes, low.Checkpoint, high.Class = traces.Some[int32](1), traces.Some[int64](100), "auto", traces.Some[int32](9)
	require.Equal(t, []string{
		"5s node 0 DRAINING",
		"11s job 1 from 0s SUSPENDED",
		"11s node 0 DRAINED",
		"20s node 0 READY",
		"30s job 2 from 20s COMPLETED",
		"1039s job 1 from 30s COMPLETED",
	}, told(t, site, nil, low, high).lines)
}

// Work of which nothing is heard goes on.
func TestDefectD13SilenceIsNoFailure(t *testing.T) {
	day := model.Duration(86400)
	require.Equal(t, []string{"8640000s job 1 from 0s COMPLETED"}, told(t, oneNode, nil, lasts(100*day, 200*day)).lines)
}

const failing = oneNode + `
events:
  - {time: 10s, kind: down, subject: all}
  - {time: 20s, kind: up, subject: all}
`

// All attempts of a job that was requeued are charged.
func TestDefectD14AllAttemptsAreCharged(t *testing.T) {
	j := lasts(30, 40)
	j.Requeue = "on-node-failure"
	l := told(t, failing, nil, j)
	require.Equal(t, []string{"10s job 1 from 0s FAILED", "10s node 0 DOWN", "20s node 0 READY", "50s job 1 from 20s COMPLETED"}, l.lines)
	require.EqualValues(t, 40*model.Second, l.held[1].Nodes)
}

// A predecessor that failed and is requeued has not failed for those that wait
// for it; one that is not requeued has.
func TestDefectD17RequeuedPredecessors(t *testing.T) {
	edges := []traces.Edge{{Job: 1, On: 0, Condition: model.AfterOK}}
	first := lasts(30, 40)
	first.Requeue = "on-node-failure"
	require.Equal(t, []string{
		"10s job 1 from 0s FAILED", "10s node 0 DOWN", "20s node 0 READY", "50s job 1 from 20s COMPLETED", "60s job 2 from 50s COMPLETED",
	}, told(t, failing, edges, first, lasts(10, 20)).lines)
	first.Requeue = "never"
	require.Equal(t, []string{
		"10s job 1 from 0s FAILED", "10s node 0 DOWN", "10s job 2 cancelled DEPENDENCY_NEVER", "20s node 0 READY",
	}, told(t, failing, edges, first, lasts(10, 20)).lines)
}

// The bound on nodes of sensitive work is met before a proposal: what the quorum
// is bound to refuse is not proposed, least of all again and again.
func TestSensitivePoolIsMetBeforeProposals(t *testing.T) {
	a, b := lasts(2, 20), lasts(2, 20)
	a.Sensitive, b.Sensitive = traces.Some(true), traces.Some(true)
	require.Equal(t, []string{"2s job 1 from 0s COMPLETED", "4s job 2 from 2s COMPLETED"}, told(t, `
groups: [{name: a, nodes: 2, fingerprint: x}]
vclusters: [{name: all, home: all, profile: {order: fcfs}}]
sensitive_pool: 1
agents: {wipe: 0s}
quorum: {latency: 20ms}
`, nil, a, b).lines)
}
