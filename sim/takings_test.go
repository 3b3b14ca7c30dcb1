package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/hosting"
	"orrery/traces"
)

// seconds is a span.
func seconds(n int64) model.Duration { return model.Duration(n * int64(time.Second/time.Microsecond)) }

// TestTakingsOfLentNodes: beyond its four home nodes the service holds lent ones, from 1080 and
// 1260 s until they are reclaimed at 1500, and from 1680 to its end at 2700 and from 1860 to
// 2640: 420 + 240 + 1020 + 780 s. The job for which two went home holds them for 100 s.
func TestTakingsOfLentNodes(t *testing.T) {
	site := lending + strings.Replace(stepped, "max: 5", "max: 8", 1)
	small := func(at, runs int64, nodes int32) submittedJob {
		return submittedJob{at, runs, nodes, 9, 0, traces.Job{VCluster: "batch"}}
	}
	_, res, _ := loadedRun(t, site, nil, nil, small(0, 2000, 6), small(1500, 100, 2))
	chat, batch := hosting.Party{Service: "chat"}, hosting.Party{Group: "batch"}
	require.Equal(t, []hosting.Taking{
		{From: chat, To: batch, Nodes: 2, NodeTime: seconds(2 * 100)},
		{From: batch, To: chat, Borrowed: seconds(420 + 240 + 1020 + 780)},
	}, res.Takings)
	require.Equal(t, []hosting.Taking{{From: chat, Nodes: 2, NodeTime: seconds(2 * 100)}}, res.TenantTakings, "what is borrowed is of no tenant")
}

// TestTakingsByPreemption: the job of four nodes leaves at 720 s so that the service gets one,
// which it holds to its end at 2700, when the job starts again. The nodes that the service gets
// at 900 and 1080 were free by then.
func TestTakingsByPreemption(t *testing.T) {
	site := "tenants: [{name: x}, {name: y}]\ngroups: [{name: a, nodes: 6}]\nvclusters: [{name: serving, home: all, profile: {order: fcfs, backfill: easy, preemption: {enabled: true}}}]\n" +
		strings.Replace(stepped, "min: 2", "class: 8\n  tenant: y\n  min: 2", 1)
	seen, res, _ := loadedRun(t, site, nil, nil, submittedJob{1, 1400, 4, 9, 0, traces.Job{Tenant: "x", Class: traces.Some(int32(2))}})
	require.Equal(t, []sized{{0, 2, ""}, {720, 3, ""}, {900, 4, ""}, {1080, 5, ""}, {2700, 0, "ended"}}, seen)
	want := hosting.Taking{From: hosting.Party{Group: "serving"}, To: hosting.Party{Service: "chat"}, Preemptions: 1, Nodes: 1, NodeTime: seconds(2700 - 720), Delay: seconds(2700 - 720)}
	require.Equal(t, []hosting.Taking{want}, res.Takings)
	want.From.Group = "x"
	require.Equal(t, []hosting.Taking{want}, res.TenantTakings)
}
