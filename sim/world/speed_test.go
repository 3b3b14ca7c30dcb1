package world

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/sim/world/translate"
	"orrery/traces"
)

func timedOut(j *traces.Job) { j.ExitState = "TIMEOUT" }

func extend(c *SiteConfig) { c.Rows.Policy.Overrun = translate.Extend }

// TestSlowedTwice: 40 s at speed 1, 20 s at half of it, and the 50 s of work that are left
// at a third.
func TestSlowedTwice(t *testing.T) {
	p := play(t, SiteConfig{Site: smallSite(1)}, batchOf(row(1, 0, runs(100*sec), walltime(300*sec))), speeds(40, 1, 1, 2), speeds(60, 1, 1, 3))
	require.Equal(t, []string{"0s submitted 1", "0s assigned 1", "210s ended 1 COMPLETED"}, p.log)
	r := &p.sink.jobs[0]
	require.Equal(t, 210*at, r.End)
	require.Equal(t, 100*sec, r.Runtime, "the work at speed 1")
	require.Equal(t, 100*sec, p.sink.attempts[0].Kept)
	require.Zero(t, p.world.events.Len(), "the ends of before are overtaken, and gone")
}

// TestSpeeds tells of jobs that do not work at speed 1.
func TestSpeeds(t *testing.T) {
	for _, c := range []tale{
		{
			name: "its walltime is time, which a slowed job may reach", nodes: 1,
			rows:   []traces.Job{row(1, 0, runs(100*sec), walltime(120*sec))},
			orders: []order{speeds(40, 1, 1, 2)},
			log: `0s submitted 1
			      0s assigned 1
			      120s ended 1 TIMEOUT WALLTIME_LIMIT`,
			attempts: `1 0-120 TIMEOUT +80 -0`,
		},
		{
			// The end of before would have been at 120 s as well, and comes first by its rank.
			name: "one that comes to reach its walltime ends behind those that end by themselves", nodes: 2,
			config: func(c *SiteConfig) { grace(c); c.Exit.KillGrace = 0 },
			rows:   []traces.Job{row(1, 0, runs(100*sec), walltime(120*sec)), row(2, 0, runs(120*sec), walltime(120*sec))},
			orders: []order{speeds(10, 1, 9, 11), speeds(40, 1, 1, 2)},
			log: `0s submitted 1
			      0s submitted 2
			      0s assigned 1
			      0s assigned 2
			      120s ended 2 COMPLETED
			      120s ended 1 TIMEOUT WALLTIME_LIMIT`,
			attempts: `2 0-120 COMPLETED +120 -0
			           1 0-120 TIMEOUT +74 -0`,
		},
		{
			name: "a faster one ends sooner, and one that stands still goes on", nodes: 2,
			rows:   []traces.Job{row(1, 0, runs(100*sec), walltime(120*sec)), row(2, 0, runs(30*sec), walltime(120*sec))},
			orders: []order{speeds(10, 2, 0, 1), speeds(40, 1, 2, 1), speeds(50, 2, 1, 1)},
			log: `0s submitted 1
			      0s submitted 2
			      0s assigned 1
			      0s assigned 2
			      70s ended 1 COMPLETED
			      70s ended 2 COMPLETED`,
			attempts: `1 0-70 COMPLETED +100 -0
			           2 0-70 COMPLETED +30 -0`,
		},
		{
			name: "what crashed in the log crashes when its work is done", nodes: 1,
			rows:   []traces.Job{row(1, 0, failed, neverRequeued)},
			orders: []order{speeds(6, 1, 1, 2)},
			log: `0s submitted 1
			      0s assigned 1
			      14s ended 1 FAILED`,
			attempts: `1 0-14 FAILED +0 -10`,
		},
		{
			name: "as recorded at speed 1: at its walltime of the log", nodes: 1,
			rows:   []traces.Job{row(1, 0, runs(50*sec), walltime(100*sec), timedOut)},
			orders: []order{speeds(10, 1, 1, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      50s ended 1 TIMEOUT WALLTIME_LIMIT`,
			attempts: `1 0-50 TIMEOUT +50 -0`,
		},
		{
			name: "at another speed until its walltime, slower, faster, and back at 1", nodes: 3,
			rows: []traces.Job{
				row(1, 0, runs(50*sec), walltime(100*sec), timedOut), row(2, 0, runs(50*sec), walltime(100*sec), timedOut),
				row(3, 0, runs(50*sec), walltime(100*sec), timedOut),
			},
			orders: []order{speeds(10, 1, 1, 2), speeds(20, 2, 2, 1), speeds(20, 3, 1, 2), speeds(30, 3, 1, 1)},
			log: `0s submitted 1
			      0s submitted 2
			      0s submitted 3
			      0s assigned 1
			      0s assigned 2
			      0s assigned 3
			      100s ended 1 TIMEOUT WALLTIME_LIMIT
			      100s ended 2 TIMEOUT WALLTIME_LIMIT
			      100s ended 3 TIMEOUT WALLTIME_LIMIT`,
			attempts: `1 0-100 TIMEOUT +55 -0
			           2 0-100 TIMEOUT +180 -0
			           3 0-100 TIMEOUT +95 -0`,
		},
		{
			name: "without a walltime that is kept, its work is what the log says", nodes: 1, config: extend,
			rows:   []traces.Job{row(1, 0, runs(50*sec), walltime(100*sec), timedOut)},
			orders: []order{speeds(10, 1, 1, 4)},
			log: `0s submitted 1
			      0s assigned 1
			      170s ended 1 TIMEOUT WALLTIME_LIMIT`,
			attempts: `1 0-170 TIMEOUT +50 -0`,
		},
		{
			name: "before its work begins", nodes: 1, config: func(c *SiteConfig) { c.StartDelay = 5 * sec },
			rows:   []traces.Job{row(1, 0, walltime(30*sec))},
			orders: []order{speeds(2, 1, 1, 2)},
			log: `0s submitted 1
			      0s assigned 1
			      25s ended 1 COMPLETED`,
			attempts: `1 0-25 COMPLETED +10 -0`,
		},
		{
			// 10 s of work and 40 s at half speed are saved: 30 s of work, which took 50 s of
			// its request. It reads for 10 s, and has 69 s for the 70 s of work left: it is told to
			// leave at 149 s, and is done within the grace.
			name: "a suspended job has left of its request what its saved work took", nodes: 1, config: grace,
			rows:   []traces.Job{row(1, 0, runs(100*sec), walltime(119*sec)), row(2, 50*at, class(9))},
			orders: []order{speeds(10, 1, 1, 2), preemptAt(50, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      50s submitted 2
			      50s preempted 1 PREEMPTED
			      60s suspended 1
			      60s assigned 2
			      70s ended 2 COMPLETED
			      70s assigned 1
			      150s ended 1 TIMEOUT WALLTIME_LIMIT`,
			attempts: `1 0-60 SUSPENDED +30 -0
			           2 60-70 COMPLETED +10 -0
			           1 70-150 TIMEOUT +70 -0`,
		},
		{
			name: "what writes the checkpoint with which it leaves works no more", nodes: 1, config: grace,
			rows:   []traces.Job{row(1, 0, runs(100*sec), walltime(300*sec)), row(2, 50*at, class(9))},
			orders: []order{preemptAt(50, 2, 1), speeds(55, 1, 9, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      50s submitted 2
			      50s preempted 1 PREEMPTED
			      60s suspended 1
			      60s assigned 2
			      70s ended 2 COMPLETED
			      70s assigned 1
			      130s ended 1 COMPLETED`,
			attempts: `1 0-60 SUSPENDED +50 -0
			           2 60-70 COMPLETED +10 -0
			           1 70-130 COMPLETED +50 -0`,
		},
		{
			// TERM at 5 s, KILL at 35 s: at speed 4 its work is done before.
			name: "a victim that gets faster is done before it is killed", nodes: 1, config: grace,
			rows:   []traces.Job{row(1, 0, runs(50*sec), walltime(60*sec), none), row(2, 5*at, class(9))},
			orders: []order{preemptAt(5, 2, 1), speeds(10, 1, 4, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      5s submitted 2
			      5s preempted 1 PREEMPTED
			      20s ended 1 COMPLETED
			      20s assigned 2
			      30s ended 2 COMPLETED`,
			attempts: `1 0-20 COMPLETED +50 -0
			           2 20-30 COMPLETED +10 -0`,
		},
		{
			// The look at 100 s would have come too late. 75 s are saved then; 15 s are left,
			// for which it takes 30 s.
			name: "a slowed job comes to write a checkpoint", nodes: 1, config: keeps(preempt.YoungInterval, 500*sec),
			rows:   []traces.Job{row(1, 0, manual, runs(90*sec), walltime(400*sec))},
			orders: []order{speeds(50, 1, 1, 2), speeds(105, 1, 1, 2)},
			log: `0s submitted 1
			      0s assigned 1
			      110s checkpointed 1
			      140s ended 1 COMPLETED`,
			attempts: `1 0-140 COMPLETED +90 -0`,
		},
		{
			name: "one that stands still does not", nodes: 1, config: both(keeps(preempt.YoungInterval, 500*sec), extend),
			rows:   []traces.Job{row(1, 0, manual, runs(90*sec), walltime(400*sec))},
			orders: []order{speeds(50, 1, 0, 1), speeds(5000, 1, 1, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      5010s checkpointed 1
			      5050s ended 1 COMPLETED`,
			attempts: `1 0-5050 COMPLETED +90 -0`,
		},
		{
			name: "a faster one does not", nodes: 1, config: keeps(preempt.YoungInterval, 500*sec),
			rows:   []traces.Job{row(1, 0, manual, runs(130*sec), walltime(400*sec))},
			orders: []order{speeds(50, 1, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      90s ended 1 COMPLETED`,
			attempts: `1 0-90 COMPLETED +130 -0`,
		},
		{
			// 60 s of work are safe at 100 s and 10 s are lost. The next attempt begins at
			// speed 1, works from 140 s on, and writes at 240 s and 350 s.
			name: "a job that is requeued begins at speed 1", nodes: 2, config: keeps(preempt.YoungInterval, 500*sec),
			rows:    []traces.Job{row(1, 0, manual, runs(300*sec), walltime(400*sec))},
			orders:  []order{speeds(20, 1, 1, 2)},
			changes: []translate.Change{fails(130, 0)},
			log: `0s submitted 1
			      0s assigned 1
			      110s checkpointed 1
			      130s node n0 DOWN
			      130s requeued 1 NODE_FAILURE
			      130s assigned 1
			      250s checkpointed 1
			      360s checkpointed 1
			      400s ended 1 COMPLETED`,
			attempts: `1 0-130 FAILED +60 -10
			           1 130-400 COMPLETED +240 -0`,
		},
		{
			name: "a service ends when it did, whatever its speed", nodes: 1, config: func(c *SiteConfig) { c.Rows.Horizon = 30 * at },
			rows:   []traces.Job{row(1, 0, ends(nil))},
			orders: []order{speeds(10, 1, 1, 2)},
			log: `0s submitted 1
			      0s assigned 1
			      30s ended 1 COMPLETED`,
			attempts: `1 0-30 COMPLETED +20 -0`,
		},
	} {
		t.Run(c.name, c.tell)
	}
}

// TestUnrated: where the speed of the record is not known the rate is 1, and the job is
// counted, once.
func TestUnrated(t *testing.T) {
	unknown := func(s model.Time, id int64) order {
		return order{at: s * at, kind: setsSpeed, id: id, here: model.One / 2}
	}
	p := play(t, SiteConfig{Site: smallSite(3)}, batchOf(row(1, 0), row(2, 0), row(3, 0)), unknown(2, 1), unknown(3, 1), unknown(4, 2), speeds(5, 3, 1, 2))
	require.Equal(t, []string{"10s ended 1 COMPLETED", "10s ended 2 COMPLETED", "15s ended 3 COMPLETED"}, p.log[6:])
	require.Equal(t, int64(2), p.world.Meter.Unrated)

	s := newSingle(t, func(*SiteConfig) {}, row(1, 0))
	f := s.submit(0)
	require.Panics(t, func() { s.SetSpeed(0, f.Ref, model.One, model.One) }, "it waits")
}

// TestRelativeSpeed: the rate is relative to the record, in whatever unit.
func TestRelativeSpeed(t *testing.T) {
	p := play(t, SiteConfig{Site: smallSite(1)}, batchOf(row(1, 0)), order{at: 0, kind: setsSpeed, id: 1, here: 900, recorded: 1800},
		order{at: 4 * at, kind: setsSpeed, id: 1, here: 900, recorded: 1800}, order{at: 6 * at, kind: setsSpeed, id: 1, here: 3600, recorded: 1800})
	require.Equal(t, 8500*model.Time(model.Millisecond), p.sink.jobs[0].End, "4 s, 1 s of work in 2 s, and 5 s of work at twice the speed in 2.5 s")
}

// TestSpeedAfterAWarmStart: what ran before is work done at the speed of the record.
func TestSpeedAfterAWarmStart(t *testing.T) {
	s := newSingle(t, func(c *SiteConfig) { c.Rows.Warm = translate.Warm(traces.Some(100 * at)) }, row(1, 70*at, runs(120*sec), walltime(130*sec)))
	s.rows.Start[0] = 70 * at
	f := s.submit(0)
	require.True(t, s.Resumes(f.Ref))
	s.Warming(true)
	require.Equal(t, model.FactAssigned, s.propose(100*at, model.Proposal{Job: f.Job, Ref: f.Ref, Placement: whole(1)}).Kind)
	s.Warming(false)
	require.Equal(t, 190*at, s.Next())
	s.SetSpeed(110*at, f.Ref, model.One/2, model.One)
	require.Equal(t, 190*at, s.Next(), "the end of before, overtaken")
	require.Empty(t, s.Take(190*at, nil))
	require.Equal(t, 230*at, s.Next(), "its walltime, of which 30 s were over, and the grace")
	require.Equal(t, model.Timeout, s.Take(230*at, nil)[0].Outcome)
	s.Close()
	require.Equal(t, 100*sec, s.sink.jobs[0].Runtime, "30 s of before, 10 s, and 120 s at half speed")
}

// TestRequeueAfterAWarmStart: a requeue grants the whole request again, whatever of it was
// over at the warm start, as the core learns from the submission.
func TestRequeueAfterAWarmStart(t *testing.T) {
	s := newSingle(t, func(c *SiteConfig) {
		c.Rows.Warm = translate.Warm(traces.Some(100 * at))
		c.Exit.KillGrace, c.Changes = 0, []translate.Change{fails(110, 0)}
	}, row(1, 60*at, runs(300*sec), walltime(100*sec)))
	s.rows.Start[0] = 60 * at
	f := s.submit(0)
	require.Equal(t, [...]model.Duration{100 * sec, 60 * sec}, [...]model.Duration{f.Walltime, f.Alloc.Walltime})
	s.propose(100*at, model.Proposal{Job: f.Job, Ref: f.Ref, Placement: whole(1)})
	facts := s.Take(110*at, nil)
	require.Equal(t, model.FactRequeued, facts[1].Kind)
	s.propose(110*at, model.Proposal{Seq: 1, Job: f.Job, Ref: f.Ref, Placement: whole(2)})
	require.Equal(t, 160*at, s.Next(), "the end of before")
	require.Empty(t, s.Take(160*at, nil))
	require.Equal(t, 210*at, s.Next())
	require.Equal(t, model.Timeout, s.Take(210*at, nil)[0].Outcome)
}

// exactJob is a job alone on its node, by exact fractions.
type exactJob struct {
	row     traces.Job
	limit   model.Duration // Forever where no walltime is kept
	changes []order
}

// ends is when the job leaves its node, how, and the work that it has done by then.
func (w *exactJob) ends(begin, opens model.Time, grace model.Duration) (end model.Time, timeout bool, done *big.Rat) {
	expiry := opens.Add(w.limit)
	whole := new(big.Rat).SetInt64(int64(w.row.Runtime.V))
	done = new(big.Rat)
	since, rate := opens, big.NewRat(1, 1)
	timedOut := w.row.ExitState == "TIMEOUT"
	// Done at t, and when all of it would be.
	at := func(t model.Time) *big.Rat {
		d := new(big.Rat).SetInt64(max(0, int64(t-since)))
		return d.Add(d.Mul(d, rate), done)
	}
	finish := func() model.Time {
		if timedOut && whole == nil {
			return expiry
		}
		left := new(big.Rat).Sub(whole, done)
		if rate.Sign() == 0 && left.Sign() > 0 {
			return model.Never
		}
		if left.Sign() <= 0 {
			return since
		}
		left.Quo(left, rate)
		left.Add(left, big.NewRat(1, 2))
		return since + model.Time(new(big.Int).Div(left.Num(), left.Denom()).Int64())
	}
	leaves := func() model.Time {
		if f := finish(); f <= expiry {
			return f
		}
		return min(finish(), expiry.Add(grace))
	}
	for _, c := range w.changes {
		if c.at < begin || c.at >= leaves() {
			continue
		}
		next := big.NewRat(int64(c.here), int64(model.One))
		if next.Cmp(rate) == 0 || finish() <= c.at {
			continue
		}
		done = at(c.at)
		since, rate = max(since, c.at), next
		if timedOut && w.limit != model.Forever && c.at <= expiry {
			whole = nil
		}
	}
	end = leaves()
	if whole != nil && finish() <= end {
		return end, timedOut || end > expiry, whole
	}
	return end, true, at(end)
}

// TestSpeedsAgainstFractions: in the world jobs whose speed changes at any instants end at
// the microsecond at which exact fractions have them end, with that work done.
func TestSpeedsAgainstFractions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := SiteConfig{Exit: preempt.DefaultConfig()}
		cfg.Exit.KillGrace = model.Duration(rapid.Int64Range(0, int64(9*sec)).Draw(rt, "grace"))
		cfg.StartDelay = model.Duration(rapid.Int64Range(0, int64(3*sec)).Draw(rt, "start delay"))
		if rapid.Bool().Draw(rt, "extend") {
			extend(&cfg)
		}
		n := rapid.IntRange(1, 6).Draw(rt, "jobs")
		cfg.Site = smallSite(n)
		var rows []traces.Job
		exact := map[int64]*exactJob{}
		for i := range n {
			w := &exactJob{row: row(int64(i), model.Time(i), runs(model.Duration(rapid.Int64Range(0, int64(60*sec)).Draw(rt, "runtime"))),
				walltime(model.Duration(rapid.Int64Range(0, int64(90*sec)).Draw(rt, "walltime"))))}
			w.row.ExitState = rapid.SampledFrom([]string{"", "", "TIMEOUT", "CANCELLED"}).Draw(rt, "exit")
			if w.limit = w.row.Walltime.V; cfg.Rows.Policy.Overrun == translate.Extend {
				w.limit = model.Forever
			}
			rows, exact[w.row.ID] = append(rows, w.row), w
		}
		var orders []order
		now := model.Time(10)
		for range rapid.IntRange(0, 40).Draw(rt, "changes") {
			now += model.Time(rapid.Int64Range(0, 1<<rapid.IntRange(0, 24).Draw(rt, "bits")).Draw(rt, "gap"))
			o := order{at: now, kind: setsSpeed, id: rapid.Int64Range(0, int64(n)-1).Draw(rt, "job"), recorded: model.One}
			o.here = rapid.OneOf(rapid.SampledFrom([]model.Fixed{0, model.One / 3, model.One, model.One}),
				rapid.Custom(func(rt *rapid.T) model.Fixed { return model.Fixed(rapid.Int64Range(0, 4<<32).Draw(rt, "speed")) })).Draw(rt, "speed")
			orders = append(orders, o)
			exact[o.id].changes = append(exact[o.id].changes, o)
		}
		for i := range n { // so that all leave
			orders = append(orders, order{at: now, kind: setsSpeed, id: int64(i), here: model.One, recorded: model.One})
			exact[int64(i)].changes = append(exact[int64(i)].changes, orders[len(orders)-1])
		}
		p := play(rt, cfg, batchOf(rows...), orders...)
		require.Len(rt, p.sink.jobs, n)
		for i := range p.sink.jobs {
			r := &p.sink.jobs[i]
			begin := model.Time(r.ID)
			end, timeout, done := exact[r.ID].ends(begin, begin.Add(cfg.StartDelay), cfg.Exit.KillGrace)
			require.Equal(rt, int64(end), int64(r.End), "job %d", r.ID)
			require.Equal(rt, timeout, r.State == model.Timeout, "job %d", r.ID)
			require.Equal(rt, new(big.Int).Div(done.Num(), done.Denom()).Int64(), int64(r.Runtime), "job %d", r.ID)
		}
	})
}
