package world

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// TestSilentAgents tells of one node whose agent falls silent at 10 s.
func TestSilentAgents(t *testing.T) {
	long := func(j *traces.Job) {
		j.Runtime, j.Walltime = traces.Some(200*sec), traces.Some(300*sec)
		j.Requeue = "never"
	}
	for _, c := range []struct {
		name    string
		length  model.Duration
		want    []string
		outcome model.JobState
		end     model.Time
	}{
		{"shorter than a heartbeat is late", 4 * sec, nil, model.Completed, 200 * at},
		{"nothing starts meanwhile, and the job goes on", 20 * sec, []string{"15s node n0 DEGRADED", "30s node n0 READY"}, model.Completed, 200 * at},
		{"the node counts as down and its job as failed", 100 * sec, []string{"15s node n0 DEGRADED", "70s node n0 DOWN", "110s node n0 READY"}, model.Failed, 70 * at},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := play(t, SiteConfig{Site: smallSite(1), Faults: Faults{
				Silence: Silence{Life: exactly(10 * sec), Length: exactly(c.length)}, Heartbeat: Heartbeat{Degraded: 5 * sec, Down: 60 * sec}, Until: 12 * at,
			}}, batchOf(row(1, 0, long)))
			var states []string
			for _, l := range p.log {
				if l = strings.Join(strings.Fields(l), " "); strings.Contains(l, " node ") {
					states = append(states, l)
				}
			}
			require.Equal(t, c.want, states)
			require.Len(t, p.sink.attempts, 1)
			require.Equal(t, c.outcome, p.sink.attempts[0].Outcome)
			require.Equal(t, c.end, p.sink.attempts[0].End)
			require.EqualValues(t, 1, p.world.Meter.SilentAgents)
		})
	}
}

// TestSilenceNeedsHeartbeats: without them the scheduler could not learn of it.
func TestSilenceNeedsHeartbeats(t *testing.T) {
	cfg := SiteConfig{Site: smallSite(1), Faults: Faults{Silence: Silence{Life: exactly(sec), Length: exactly(sec)}}}
	require.ErrorContains(t, cfg.Validate(), "heartbeats")
}
