package world

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// ends is a service of which the log knows no runtime.
func ends(change func(*traces.Job)) func(*traces.Job) {
	return func(j *traces.Job) {
		j.Kind, j.Runtime, j.Walltime = "service", traces.Opt[model.Duration]{}, traces.Opt[model.Duration]{}
		if change != nil {
			change(j)
		}
	}
}

func outage(from, until model.Time) translate.Outage {
	return translate.Outage{From: from * at, Until: until * at}
}

// TestUntimed: services of which the log does not say how long they ran leave at
// the instant at which they left the log, else when the trace ends.
func TestUntimed(t *testing.T) {
	until := func(c *SiteConfig) { c.Rows.Horizon = 30 * at }
	end := func(s model.Time) func(*traces.Job) {
		return ends(func(j *traces.Job) { j.End = traces.Some(s * at) })
	}
	for _, c := range []tale{
		{
			name: "until the trace ends", nodes: 1, config: until,
			rows: []traces.Job{row(1, 4*at, ends(nil))},
			log: `4s submitted 1
			      4s assigned 1
			      30s ended 1 COMPLETED`,
			attempts: `1 4-30 COMPLETED +26 -0`,
		},
		{
			name: "until its end in the log", nodes: 1, config: until,
			rows: []traces.Job{row(1, 4*at, end(21))},
			log: `4s submitted 1
			      4s assigned 1
			      21s ended 1 COMPLETED`,
			attempts: `1 4-21 COMPLETED +17 -0`,
		},
		{
			// It is not put back into the queue: the log knows of no more.
			name: "until its failure in the log", nodes: 1, config: until,
			rows: []traces.Job{row(1, 4*at, end(21), alwaysRequeued, failed)},
			log: `4s submitted 1
			      4s assigned 1
			      21s ended 1 FAILED`,
			attempts: `1 4-21 FAILED +0 -17`,
		},
		{
			name: "until its owner ends it", nodes: 1, config: until,
			rows: []traces.Job{row(1, 4*at, ends(func(j *traces.Job) { j.End, j.CancelledAt = traces.Some(21*at), traces.Some(7*at) }))},
			log: `4s submitted 1
			      4s assigned 1
			      7s ended 1 CANCELLED CANCELLED`,
			attempts: `1 4-7 CANCELLED +3 -0`,
		},
		{
			name: "a session until its walltime", nodes: 1, config: until,
			rows: []traces.Job{row(1, 4*at, end(25), walltime(10*sec), func(j *traces.Job) { j.Kind = "session" })},
			log: `4s submitted 1
			      4s assigned 1
			      14s ended 1 TIMEOUT WALLTIME_LIMIT`,
			attempts: `1 4-14 TIMEOUT +10 -0`,
		},
		{
			name: "one that has not started by then is withdrawn", nodes: 1, config: until,
			rows: []traces.Job{row(1, 0, runs(40*sec), walltime(50*sec)), row(2, 1*at, end(21)), row(3, 2*at, ends(nil))},
			log: `0s submitted 1
			      0s assigned 1
			      1s submitted 2
			      2s submitted 3
			      21s cancelled 2 CANCELLED
			      30s cancelled 3 CANCELLED
			      40s ended 1 COMPLETED`,
			attempts: `1 0-40 COMPLETED +40 -0`,
		},
		{
			name: "a node fails and it begins anew", nodes: 2, config: until,
			rows:    []traces.Job{row(1, 4*at, ends(nil))},
			changes: []translate.Change{fails(9, 0)},
			log: `4s submitted 1
			      4s assigned 1
			      9s node n0 DOWN
			      9s requeued 1 NODE_FAILURE
			      9s assigned 1
			      30s ended 1 COMPLETED`,
			attempts: `1 4-9 FAILED +0 -5
			           1 9-30 COMPLETED +21 -0`,
		},
	} {
		t.Run(c.name, c.tell)
	}
	s := newSingle(t, until, row(1, 4*at, ends(nil)), row(2, 4*at, end(21)), row(3, 4*at, func(j *traces.Job) { j.Runtime = traces.Opt[model.Duration]{} }))
	s.submit(0)
	s.submit(1)
	_, ok, err := s.submission(s.rows, 2, anything)
	require.NoError(t, err)
	require.False(t, ok)
	require.Equal(t, []int64{1, 2}, s.Special.Examples[translate.RuleUntimed])
	require.Equal(t, []int64{3}, s.Special.Examples[translate.RuleNeverRan])
}

// TestOutage: while the quorum is out nothing is granted, and what was asked for
// meanwhile is answered when it is back, in the order in which it was asked.
func TestOutage(t *testing.T) {
	out := func(spans ...translate.Outage) func(*SiteConfig) { return func(c *SiteConfig) { c.Outages = spans } }
	for _, c := range []tale{
		{
			// The script has asked for n0 for both.
			name: "two wait for its end", nodes: 2, config: out(outage(5, 8)),
			rows: []traces.Job{row(1, 5*at), row(2, 6*at)},
			log: `5s submitted 1
			      6s submitted 2
			      8s assigned 1
			      8s refused 2 NODES_TAKEN
			      8s assigned 2
			      18s ended 1 COMPLETED
			      18s ended 2 COMPLETED`,
			attempts: `1 8-18 COMPLETED +10 -0
			           2 8-18 COMPLETED +10 -0`,
		},
		{
			name: "its end belongs to it no more, and ends are seen during it", nodes: 1, config: out(outage(5, 12)),
			rows: []traces.Job{row(1, 0), row(2, 12*at)},
			log: `0s submitted 1
			      0s assigned 1
			      10s ended 1 COMPLETED
			      12s submitted 2
			      12s assigned 2
			      22s ended 2 COMPLETED`,
			attempts: `1 0-10 COMPLETED +10 -0
			           2 12-22 COMPLETED +10 -0`,
		},
		{
			name: "outages that overlap are one", nodes: 1, config: out(outage(5, 8), outage(6, 7), outage(8, 9)),
			rows: []traces.Job{row(1, 6*at)},
			log: `6s submitted 1
			      9s assigned 1
			      19s ended 1 COMPLETED`,
			attempts: `1 9-19 COMPLETED +10 -0`,
		},
		{
			name: "an answer under way comes when it is over", nodes: 1, config: func(c *SiteConfig) {
				out(outage(5, 8))(c)
				c.Latency = 2 * sec
			},
			rows: []traces.Job{row(1, 4*at), row(2, 20*at)},
			log: `4s submitted 1
			      8s assigned 1
			      18s ended 1 COMPLETED
			      20s submitted 2
			      22s assigned 2
			      32s ended 2 COMPLETED`,
			attempts: `1 8-18 COMPLETED +10 -0
			           2 22-32 COMPLETED +10 -0`,
		},
		{
			name: "who is withdrawn meanwhile is refused", nodes: 1, config: out(outage(5, 8)),
			rows: []traces.Job{row(1, 5*at, ends(func(j *traces.Job) { j.CancelledAt = traces.Some(6 * at) }))},
			log: `5s submitted 1
			      6s cancelled 1 CANCELLED
			      8s refused 1 NOT_PENDING`,
		},
	} {
		t.Run(c.name, c.tell)
	}
	cfg := SiteConfig{Site: smallSite(1), Outages: []translate.Outage{outage(2, 3), outage(1, 4)}}
	require.ErrorContains(t, cfg.Validate(), "outage 1 of the quorum is from")
}
