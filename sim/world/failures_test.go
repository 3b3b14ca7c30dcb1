package world

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/sim/world/translate"
	"orrery/traces"
)

func expect(mean model.Duration) hwmodel.Lifetime {
	return Exponential{hwmodel.Exponential{Expected: mean}}
}

// exactly is the law of what always lasts d.
func exactly(d model.Duration) hwmodel.Lifetime {
	return hwmodel.LogNormalTail{Body: hwmodel.LogNormal{Median: d}, From: d, Share: 1, Tail: []model.Duration{d}}
}

// breaking are nodes that break and are repaired after exponential times.
func breaking(life, repair model.Duration) Faults {
	return Faults{Lives: []hwmodel.Lifetime{expect(life)}, Repair: expect(repair)}
}

func until(t model.Time, f Faults) Faults {
	f.Until = t
	return f
}

// outageOf is a node that was down.
type outageOf struct {
	node     model.NodeID
	from, to model.Time
}

// watchNodes runs a site without jobs until nothing breaks any more, and returns when its
// nodes were down, in the order in which they came back.
func watchNodes(t *testing.T, cfg SiteConfig) (*Site, []outageOf) {
	cfg.Exit = preempt.DefaultConfig()
	require.NoError(t, cfg.Validate())
	s := NewSite(cfg, forget{})
	down := make([]model.Time, len(cfg.Site.Nodes))
	var out []outageOf
	for now := s.Next(); now != model.Never; now = s.Next() {
		for _, f := range s.Take(now, nil) {
			switch f.State {
			case model.Down:
				down[f.Node] = now
			case model.Ready:
				out = append(out, outageOf{f.Node, down[f.Node], now})
			}
		}
		s.Close()
	}
	return s, out
}

// failuresIn is the expected number of failures of n nodes in a span that all begin at work, of
// exponential times: those of a renewal process of two states.
func failuresIn(n, life, repair, span float64) float64 {
	a, b := 1/life, 1/repair
	return n * (a*b/(a+b)*span + a*a/((a+b)*(a+b))*(1-math.Exp(-(a+b)*span)))
}

// TestRateOfLlama3: a training run on 2,048 nodes of 8 GPUs meets as many failures in 54 days
// as reported, and with long repairs as many as the renewal process says.
// Source of the rate: Llama 3, 0.47 unplanned interruptions per 1,000 GPU-days.
func TestRateOfLlama3(t *testing.T) {
	const (
		nodes, gpus, days, seeds = 2048, 8, 54, 100
		perGPU                   = 0.47 / 1000 // in a day
	)
	require.InDelta(t, 416, perGPU*nodes*gpus*days, 0.5)
	life := float64(1 / (perGPU * gpus)) // days
	for _, c := range []struct {
		name         string
		life, repair float64 // days
		want         float64
		misses       bool
	}{
		{"per node", life, 4.0 / 24, 416, false},
		{"wrong: the rate of a GPU for a node", life * gpus, 4.0 / 24, 416, true},
		{"wrong: the rate of 64 GPUs for a node", life / gpus, 4.0 / 24, 416, true},
		{"repairs of 30 days", life, 30, failuresIn(nodes, life, 30, days), false},
		{"wrong: repairs are not counted", life, 1e-5, failuresIn(nodes, life, 30, days), true},
	} {
		total := 0.0
		for seed := range uint64(seeds) {
			f := breaking(model.Duration(c.life*float64(model.Day)), model.Duration(c.repair*float64(model.Day)))
			s, _ := watchNodes(t, SiteConfig{Site: smallSite(nodes), Seed: seed, Faults: until(model.Time(days*model.Day), f)})
			total += float64(s.Meter.NodesLost)
		}
		off := math.Abs(total/seeds/c.want - 1)
		t.Logf("%s: %.1f failures on average, want %.1f", c.name, total/seeds, c.want)
		require.Equal(t, c.misses, off > 0.02, "%s: %v", c.name, total/seeds)
	}
}

// farthest is the largest distance between the distribution of a sample and a law.
func farthest(sample []float64, cdf func(float64) float64) float64 {
	slices.Sort(sample)
	d, n := 0.0, float64(len(sample))
	for i, x := range sample {
		d = max(d, math.Abs(cdf(x)-float64(i)/n), math.Abs(cdf(x)-float64(i+1)/n))
	}
	return d
}

// TestLawsOfNodes: the first life and the first repair of many nodes follow the law that was
// set, and no other. The bound is that of the test of Kolmogorov and Smirnov at 1 %.
func TestLawsOfNodes(t *testing.T) {
	const nodes = 2000
	bound := 1.63 / math.Sqrt(nodes)
	hours := func(d float64) model.Duration { return model.Duration(d * float64(model.Hour)) }
	laws := []struct {
		name string
		law  hwmodel.Lifetime
		cdf  func(float64) float64 // of hours
	}{
		{"exponential", expect(hours(100)), distuv.Exponential{Rate: 0.01}.CDF},
		{"Weibull", hwmodel.WeibullOf(hours(100), 0.7), distuv.Weibull{K: 0.7, Lambda: 100 / math.Gamma(1+1/0.7)}.CDF},
		{"log-normal", hwmodel.LogNormalOf(hours(100), 1.4), distuv.LogNormal{Mu: math.Log(100) - 1.4*1.4/2, Sigma: 1.4}.CDF},
	}
	for i, life := range laws {
		repair := laws[(i+1)%len(laws)]
		_, outages := watchNodes(t, SiteConfig{Site: smallSite(nodes), Seed: 3, Faults: until(model.Time(500*model.Day), Faults{Lives: []hwmodel.Lifetime{life.law}, Repair: repair.law})})
		first := map[model.NodeID]bool{}
		var lives, repairs []float64
		for _, o := range outages {
			if !first[o.node] {
				first[o.node] = true
				lives, repairs = append(lives, o.from.Sub(0).Seconds()/3600), append(repairs, o.to.Sub(o.from).Seconds()/3600)
			}
		}
		require.Len(t, lives, nodes, "each node has broken once at least")
		for j, law := range laws {
			require.Equal(t, j == i, farthest(lives, law.cdf) < bound, "lives that are %s, as %s", life.name, law.name)
			require.Equal(t, law.name == repair.name, farthest(repairs, law.cdf) < bound, "repairs that are %s, as %s", repair.name, law.name)
		}
	}
}

// TestLawOfEachNode: nodes of one type break ten times as often as those of another.
func TestLawOfEachNode(t *testing.T) {
	const nodes = 400
	f := breaking(1000*model.Hour, model.Hour)
	f.Lives = append(f.Lives, expect(100*model.Hour))
	for n := range nodes {
		f.LifeOf = append(f.LifeOf, int32(n%2))
	}
	s, outages := watchNodes(t, SiteConfig{Site: smallSite(nodes), Faults: until(model.Time(1000*model.Hour), f)})
	var of [2]float64
	for _, o := range outages {
		of[o.node%2]++
	}
	require.EqualValues(t, of[0]+of[1], s.Meter.NodesLost)
	require.InDelta(t, failuresIn(nodes/2, 1000, 1, 1000), of[0], 4*math.Sqrt(200))
	require.InDelta(t, failuresIn(nodes/2, 100, 1, 1000), of[1], 4*math.Sqrt(2000))
}

// TestSharedParts: the nodes of a part go down at one instant and come back at one, those of
// others do not, and parts break independently.
func TestSharedParts(t *testing.T) {
	cfg := SiteConfig{Site: smallSite(12), Seed: 5, BootDelay: 7 * sec}
	for g := range 3 {
		p := SharedFault{Key: uint64(g), Life: expect(1000 * sec), Repair: expect(100 * sec)}
		for n := range 4 {
			p.Nodes = append(p.Nodes, model.NodeID(4*g+n))
		}
		cfg.Faults.Shared = append(cfg.Faults.Shared, p)
	}
	cfg.Faults.Until = 50_000 * at
	s, outages := watchNodes(t, cfg)
	require.EqualValues(t, 4*s.Meter.SharedFailures, s.Meter.NodesLost)
	require.InDelta(t, failuresIn(3, 1000, 107, 50_000), float64(s.Meter.SharedFailures), 4*math.Sqrt(135))
	of := map[outageOf][]model.NodeID{}
	for _, o := range outages {
		key := outageOf{o.node / 4, o.from, o.to}
		of[key] = append(of[key], o.node%4)
	}
	require.Len(t, of, int(s.Meter.SharedFailures))
	instants := map[model.Time]bool{}
	for key, nodes := range of {
		instants[key.from] = true
		require.Equal(t, []model.NodeID{0, 1, 2, 3}, nodes, "%v", key)
	}
	require.Len(t, instants, len(of), "no two parts break at one instant")
}

// TestFailedBoots: boots that fail prolong outages by a geometric number of timeouts.
func TestFailedBoots(t *testing.T) {
	f := Faults{Lives: []hwmodel.Lifetime{exactly(model.Hour)}, Repair: exactly(10 * sec), BootFails: 0.25, BootTimeout: 60 * sec}
	s, outages := watchNodes(t, SiteConfig{Site: smallSite(50), BootDelay: 5 * sec, Faults: until(model.Time(100*model.Hour), f)})
	var failed [4]float64
	total := int64(0)
	for _, o := range outages {
		beyond := o.to.Sub(o.from) - 15*sec
		require.Zero(t, beyond%(60*sec), "%s", beyond)
		n := int64(beyond / (60 * sec))
		total += n
		failed[min(n, 3)]++
	}
	require.Equal(t, total, s.Meter.FailedBoots)
	n := float64(len(outages))
	require.Greater(t, n, 4000.0)
	for k, p := range []float64{0.75, 0.1875, 0.046875, 0.015625} {
		require.InDelta(t, p, failed[k]/n, 4*math.Sqrt(p*(1-p)/n), "%d boots that fail", k)
	}
}

// TestBootsAfterEvents: a node that the log repairs boots as any other.
func TestBootsAfterEvents(t *testing.T) {
	cfg := SiteConfig{Site: smallSite(60), BootDelay: 5 * sec, Faults: Faults{BootFails: 0.5, BootTimeout: 60 * sec}}
	for n := range cfg.Site.Nodes {
		cfg.Changes = append(cfg.Changes, fails(1, model.NodeID(n)))
	}
	for n := range cfg.Site.Nodes {
		cfg.Changes = append(cfg.Changes, translate.Change{At: 10 * at, Kind: translate.NodeRepaired, Node: model.NodeID(n)})
	}
	s, outages := watchNodes(t, cfg)
	require.Len(t, outages, 60)
	again := int64(0)
	for _, o := range outages {
		again += int64(o.to.Sub(15*at) / (60 * sec))
	}
	require.Equal(t, again, s.Meter.FailedBoots)
	require.InDelta(t, 60, float64(again), 4*math.Sqrt(2*60)) // geometric, of mean 1 and variance 2
}

// silence lets nodes break at 5 s and be known to be down at 11 s.
func silence(c *SiteConfig) {
	c.Faults = Faults{Lives: []hwmodel.Lifetime{exactly(5 * sec)}, Repair: exactly(4 * sec), Until: 6 * at, Heartbeat: Heartbeat{Degraded: 3 * sec, Down: 6 * sec}}
}

// lateSilence lets nodes break at 5 s and be known to be down at 25 s.
func lateSilence(c *SiteConfig) { silence(c); c.Faults.Heartbeat.Down = 20 * sec }

// ofNode lets node n alone break.
func ofNode(n model.NodeID) func(*SiteConfig) {
	return func(c *SiteConfig) {
		silence(c)
		f := &c.Faults
		f.Shared = []SharedFault{{Nodes: []model.NodeID{n}, Life: f.Lives[0], Repair: f.Repair}}
		f.Lives, f.Repair = nil, nil
	}
}

// TestLivesOfBrokenNodes tells of parts that several nodes need, and of failures that are
// known late.
func TestLivesOfBrokenNodes(t *testing.T) {
	for _, c := range []tale{
		{
			name: "a shared part takes a job down once", nodes: 3,
			config: func(c *SiteConfig) {
				c.Faults = Faults{Until: 6 * at, Shared: []SharedFault{{Nodes: []model.NodeID{0, 1}, Life: exactly(5 * sec), Repair: exactly(10 * sec)}}}
			},
			rows: []traces.Job{row(1, 0, nodes(2)), row(2, 0)},
			log: `0s submitted 1
			      0s submitted 2
			      0s assigned 1
			      0s assigned 2
			      5s node n0 DOWN
			      5s node n1 DOWN
			      5s requeued 1 NODE_FAILURE
			      10s ended 2 COMPLETED
			      15s node n0 READY
			      15s node n1 READY
			      15s assigned 1
			      25s ended 1 COMPLETED`,
			attempts: `1 0-5 FAILED +0 -5
			           2 0-10 COMPLETED +10 -0
			           1 15-25 COMPLETED +10 -0`,
		},
		{
			name: "of several failures at a time the last repair counts", nodes: 1,
			config: func(c *SiteConfig) {
				c.Faults = Faults{Until: 8 * at, Lives: []hwmodel.Lifetime{exactly(5 * sec)}, Repair: exactly(4 * sec), Shared: []SharedFault{
					{Key: 1, Nodes: []model.NodeID{0}, Life: exactly(7 * sec), Repair: exactly(30 * sec)},
					{Key: 2, Nodes: []model.NodeID{0}, Life: exactly(8 * sec), Repair: exactly(2 * sec)},
				}}
			},
			rows: []traces.Job{row(1, 20*at)},
			log: `5s node n0 DOWN
			      20s submitted 1
			      37s node n0 READY
			      37s assigned 1
			      47s ended 1 COMPLETED`,
			attempts: `1 37-47 COMPLETED +10 -0`,
		},
		{
			name: "a failure is known when heartbeats have stopped", nodes: 1, config: silence,
			rows: []traces.Job{row(1, 0)},
			log: `0s submitted 1
			      0s assigned 1
			      8s node n0 DEGRADED
			      11s node n0 DOWN
			      11s requeued 1 NODE_FAILURE
			      15s node n0 READY
			      15s assigned 1
			      25s ended 1 COMPLETED`,
			attempts: `1 0-11 FAILED +0 -5
			           1 15-25 COMPLETED +10 -0`,
		},
		{
			name: "a job of two nodes waits for the broken one", nodes: 2, config: ofNode(1),
			rows: []traces.Job{row(1, 0, nodes(2)), row(2, 1*at)},
			log: `0s submitted 1
			      0s assigned 1
			      1s submitted 2
			      8s node n1 DEGRADED
			      11s node n1 DOWN
			      11s requeued 1 NODE_FAILURE
			      11s assigned 2
			      15s node n1 READY
			      21s ended 2 COMPLETED
			      21s assigned 1
			      31s ended 1 COMPLETED`,
			attempts: `1 0-11 FAILED +0 -5
			           2 11-21 COMPLETED +10 -0
			           1 21-31 COMPLETED +10 -0`,
		},
		{
			name: "what starts on a broken node does nothing", nodes: 2, config: ofNode(0),
			rows: []traces.Job{row(1, 6*at), row(2, 9*at, runs(3*sec))},
			log: `6s submitted 1
			      6s assigned 1
			      8s node n0 DEGRADED
			      9s submitted 2
			      9s assigned 2
			      11s node n0 DOWN
			      11s requeued 1 NODE_FAILURE
			      12s ended 2 COMPLETED
			      12s assigned 1
			      15s node n0 READY
			      22s ended 1 COMPLETED`,
			attempts: `1 6-11 FAILED +0 -0
			           2 9-12 COMPLETED +3 -0
			           1 12-22 COMPLETED +10 -0`,
		},
		{
			name: "its walltime is over before the failure is known", nodes: 1, config: silence,
			rows: []traces.Job{row(1, 0, runs(8*sec), walltime(9*sec))},
			log: `0s submitted 1
			      0s assigned 1
			      8s node n0 DEGRADED
			      9s ended 1 TIMEOUT WALLTIME_LIMIT
			      11s node n0 DOWN
			      15s node n0 READY`,
			attempts: `1 0-9 TIMEOUT +5 -0`,
		},
		{
			name: "a job that has ended and is not known to have is not hit", nodes: 1,
			config: func(c *SiteConfig) { silence(c); c.Visible, c.Seed = 4*sec, 1 },
			rows:   []traces.Job{row(1, 0, runs(4*sec))},
			log: `0s submitted 1
			      0s assigned 1
			      7s ended 1 COMPLETED
			      8s node n0 DEGRADED
			      11s node n0 DOWN
			      15s node n0 READY`,
			attempts: `1 0-7 COMPLETED +4 -0`,
		},
		{
			// It would be whole at 14 s.
			name: "a checkpoint that a victim writes fails with its node", nodes: 1, config: both(grace, lateSilence),
			rows:   []traces.Job{row(1, 0, runs(100*sec), walltime(200*sec)), row(2, 4*at, class(9), runs(2*sec))},
			orders: []order{preemptAt(4, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      4s submitted 2
			      4s preempted 1 PREEMPTED
			      8s node n0 DEGRADED
			      14s requeued 1 PREEMPTED
			      25s node n0 DOWN
			      29s node n0 READY
			      29s assigned 2
			      31s ended 2 COMPLETED
			      31s assigned 1
			      131s ended 1 COMPLETED`,
			attempts: `1 0-14 FAILED +0 -4
			           2 29-31 COMPLETED +2 -0
			           1 31-131 COMPLETED +100 -0`,
		},
		{
			name: "a victim on a broken node does not answer", nodes: 1, config: both(grace, lateSilence),
			rows:   []traces.Job{row(1, 0, runs(100*sec), walltime(200*sec)), row(2, 6*at, class(9), runs(2*sec))},
			orders: []order{preemptAt(6, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      6s submitted 2
			      6s preempted 1 PREEMPTED
			      8s node n0 DEGRADED
			      25s node n0 DOWN
			      25s requeued 1 NODE_FAILURE
			      29s node n0 READY
			      29s assigned 2
			      31s ended 2 COMPLETED
			      31s assigned 1
			      131s ended 1 COMPLETED`,
			attempts: `1 0-25 FAILED +0 -5
			           2 29-31 COMPLETED +2 -0
			           1 31-131 COMPLETED +100 -0`,
		},
		{
			// It writes from 30 s to 40 s.
			name: "a periodic checkpoint fails with its node", nodes: 1,
			config: both(keeps(preempt.YoungInterval, sec), lateSilence, func(c *SiteConfig) { c.Faults.Lives[0], c.Faults.Until = exactly(35*sec), 36*at }),
			rows:   []traces.Job{row(1, 0, manual, runs(60*sec), walltime(200*sec))},
			log: `0s submitted 1
			      0s assigned 1
			      38s node n0 DEGRADED
			      55s node n0 DOWN
			      55s requeued 1 NODE_FAILURE
			      59s node n0 READY
			      59s assigned 1
			      99s checkpointed 1
			      129s ended 1 COMPLETED`,
			attempts: `1 0-55 FAILED +0 -30
			           1 59-129 COMPLETED +60 -0`,
		},
		{
			name: "a node that the log has repaired works", nodes: 1, config: silence,
			changes: []translate.Change{fails(6, 0), {At: 7 * at, Kind: translate.NodeRepaired}},
			log: `6s node n0 DOWN
			      7s node n0 READY`,
		},
		{
			name: "a failure prolongs no outage of the log", nodes: 1,
			config: func(c *SiteConfig) {
				c.BootDelay = 10 * sec
				c.Faults = Faults{Until: 27 * at, Lives: []hwmodel.Lifetime{exactly(26 * sec)}, Repair: exactly(30 * sec), Shared: []SharedFault{
					{Nodes: []model.NodeID{0}, Life: exactly(5 * sec), Repair: exactly(1 * sec)},
				}}
			},
			changes: []translate.Change{fails(20, 0), {At: 24 * at, Kind: translate.NodeRepaired}},
			log: `5s node n0 DOWN
			      16s node n0 READY
			      20s node n0 DOWN
			      34s node n0 READY`,
		},
		{
			name: "a victim whose failure is known first", nodes: 1,
			config: func(c *SiteConfig) { grace(c); silence(c) },
			rows:   []traces.Job{row(1, 0, runs(100*sec), walltime(200*sec)), row(2, 4*at, class(9), runs(2*sec))},
			orders: []order{preemptAt(4, 2, 1)},
			log: `0s submitted 1
			      0s assigned 1
			      4s submitted 2
			      4s preempted 1 PREEMPTED
			      8s node n0 DEGRADED
			      11s node n0 DOWN
			      11s requeued 1 NODE_FAILURE
			      15s node n0 READY
			      15s assigned 2
			      17s ended 2 COMPLETED
			      17s assigned 1
			      117s ended 1 COMPLETED`,
			attempts: `1 0-11 FAILED +0 -4
			           2 15-17 COMPLETED +2 -0
			           1 17-117 COMPLETED +100 -0`,
		},
	} {
		t.Run(c.name, c.tell)
	}
}

// TestFaultsAreKeyed: nodes break and come back at the same instants whatever runs on them
// and in whichever order, and under another seed they do not.
func TestFaultsAreKeyed(t *testing.T) {
	jobs := []traces.Job{row(1, 0, runs(5000*sec), walltime(9000*sec)), row(2, 7*at), row(3, 8*at, nodes(3), runs(9000*sec), walltime(9999*sec))}
	shared := []SharedFault{{Nodes: []model.NodeID{0, 2}, Life: expect(900 * sec), Repair: expect(300 * sec)}}
	for _, c := range []struct {
		name string
		edit func(*Faults)
	}{
		{"exponential", func(*Faults) {}},
		{"Weibull and log-normal", func(f *Faults) {
			f.Lives[0], f.Repair = hwmodel.WeibullOf(1000*sec, 0.7), hwmodel.LogNormalOf(100*sec, 1.4)
		}},
		{"shared", func(f *Faults) { f.Shared = shared }},
		{"known late", func(f *Faults) { f.Shared, f.Heartbeat = shared, Heartbeat{30 * sec, 60 * sec} }},
		{"boots fail", func(f *Faults) { f.Shared, f.BootFails, f.BootTimeout = shared, 0.4, 50*sec }},
	} {
		breaks := func(seed uint64, rows ...traces.Job) (log []string) {
			f := breaking(1000*sec, 100*sec)
			c.edit(&f)
			p := play(t, SiteConfig{Site: smallSite(3), Seed: seed, Faults: until(20_000*at, f)}, batchOf(rows...))
			for _, l := range p.log {
				if strings.HasSuffix(l, "DOWN") || strings.HasSuffix(l, "READY") {
					log = append(log, l)
				}
			}
			require.Equal(t, int64(len(log)/2), p.world.Meter.NodesLost, "everything that breaks is repaired")
			return log
		}
		idle := breaks(7)
		require.Greater(t, len(idle), 20, c.name)
		require.Equal(t, idle, breaks(7, jobs...), c.name)
		slices.Reverse(jobs)
		for i := range jobs {
			jobs[i].Submit = model.Time(i) * at
		}
		require.Equal(t, idle, breaks(7, jobs...), c.name)
		require.NotEqual(t, idle, breaks(8), c.name)
	}
}

// TestBrokenStarts: a start on a node that is broken and not known to be is counted.
func TestBrokenStarts(t *testing.T) {
	for submit, want := range map[model.Time]int64{4: 0, 6: 1, 9: 0} {
		cfg := SiteConfig{Site: smallSite(1)}
		silence(&cfg)
		p := play(t, cfg, batchOf(row(1, submit*at)))
		require.Equal(t, want, p.world.Meter.BrokenStarts, "submitted at %d s", submit)
	}
}

// TestPrologues: a job of n nodes starts with the probability that no prologue fails on any
// of them, and each node that fails one drains until it is mended.
func TestPrologues(t *testing.T) {
	const jobs, wide, fails = 2000, 3, 0.1
	var rows []traces.Job
	for i := range jobs {
		rows = append(rows, row(int64(i), model.Time(i)*100*at, nodes(wide), neverRequeued))
	}
	p := play(t, SiteConfig{Site: smallSite(wide), StartDelay: 2 * sec, Faults: Faults{PrologueFails: fails, Remedy: exactly(20 * sec), Until: model.Never}}, batchOf(rows...))
	failed := 0
	for _, a := range p.sink.attempts {
		if a.Outcome == model.Failed {
			failed++
			require.Equal(t, 2*sec, a.End.Sub(a.Start))
			require.Zero(t, a.Lost)
		}
	}
	share := 1 - math.Pow(1-fails, wide)
	require.InDelta(t, share*jobs, float64(failed), 4*math.Sqrt(share*(1-share)*jobs))
	drained := 0
	for _, l := range p.log {
		if strings.HasSuffix(l, " DRAINED") {
			drained++
		}
	}
	require.EqualValues(t, drained, p.world.Meter.FailedPrologues)
	require.InDelta(t, fails*wide*jobs, float64(drained), 4*math.Sqrt(fails*(1-fails)*wide*jobs))
}

// TestLivesOfPrologues tells of nodes on which a prologue always fails until 5 s.
func TestLivesOfPrologues(t *testing.T) {
	always := func(c *SiteConfig) {
		c.Faults, c.StartDelay = Faults{PrologueFails: 0.999999, Remedy: exactly(20 * sec), Until: 5 * at}, 2*sec
	}
	for _, c := range []tale{
		{
			name: "the job goes back to the queue, and the node is mended", nodes: 1, config: always,
			rows: []traces.Job{row(1, 0)},
			log: `0s submitted 1
			      0s assigned 1
			      2s node n0 DRAINING
			      2s requeued 1 NODE_FAILURE
			      2s node n0 DRAINED
			      22s node n0 READY
			      22s assigned 1
			      34s ended 1 COMPLETED`,
			attempts: `1 0-2 FAILED +0 -0
			           1 22-34 COMPLETED +10 -0`,
		},
		{
			name: "a node that the log drains as well stays drained", nodes: 1, config: always,
			rows:    []traces.Job{row(1, 0)},
			changes: []translate.Change{{At: 4 * at, Kind: translate.NodeDrains}, {At: 40 * at, Kind: translate.NodeUndrained}},
			log: `0s submitted 1
			      0s assigned 1
			      2s node n0 DRAINING
			      2s requeued 1 NODE_FAILURE
			      2s node n0 DRAINED
			      40s node n0 READY
			      40s assigned 1
			      52s ended 1 COMPLETED`,
			attempts: `1 0-2 FAILED +0 -0
			           1 40-52 COMPLETED +10 -0`,
		},
		{
			// The first would be mended at 22 s.
			name: "what the log lets go may fail again", nodes: 1, config: always,
			rows:    []traces.Job{row(1, 0)},
			changes: []translate.Change{{At: 3 * at, Kind: translate.NodeUndrained}},
			log: `0s submitted 1
			      0s assigned 1
			      2s node n0 DRAINING
			      2s requeued 1 NODE_FAILURE
			      2s node n0 DRAINED
			      3s node n0 READY
			      3s assigned 1
			      5s node n0 DRAINING
			      5s requeued 1 NODE_FAILURE
			      5s node n0 DRAINED
			      25s node n0 READY
			      25s assigned 1
			      37s ended 1 COMPLETED`,
			attempts: `1 0-2 FAILED +0 -0
			           1 3-5 FAILED +0 -0
			           1 25-37 COMPLETED +10 -0`,
		},
		{
			name: "a job that has lost its node before is not hit twice", nodes: 2, config: always,
			rows:    []traces.Job{row(1, 0), row(2, 4*at)},
			changes: []translate.Change{fails(1, 0), {At: 30 * at, Kind: translate.NodeRepaired}},
			log: `0s submitted 1
			      0s assigned 1
			      1s node n0 DOWN
			      1s requeued 1 NODE_FAILURE
			      1s assigned 1
			      3s node n1 DRAINING
			      3s requeued 1 NODE_FAILURE
			      3s node n1 DRAINED
			      4s submitted 2
			      23s node n1 READY
			      23s assigned 1
			      30s node n0 READY
			      30s assigned 2
			      35s ended 1 COMPLETED
			      42s ended 2 COMPLETED`,
			attempts: `1 0-1 FAILED +0 -0
			           1 1-3 FAILED +0 -0
			           1 23-35 COMPLETED +10 -0
			           2 30-42 COMPLETED +10 -0`,
		},
	} {
		t.Run(c.name, c.tell)
	}
}

// TestWrongFaults: what a site cannot follow is refused.
func TestWrongFaults(t *testing.T) {
	for _, c := range []struct {
		want string
		edit func(*Faults)
	}{
		{"mean of an exponential lifetime: found 00:00:00", func(f *Faults) { f.Lives[0] = expect(0) }},
		{"no law of repairs", func(f *Faults) { f.Repair = nil }},
		{"laws of 1 nodes, want one for each of 2", func(f *Faults) { f.LifeOf = []int32{0} }},
		{"law 1 of a node, want 0 to 0", func(f *Faults) { f.LifeOf = []int32{0, 1} }},
		{"shared failure 0 is of node 2, want 0 to 1", func(f *Faults) {
			f.Shared = []SharedFault{{Nodes: []model.NodeID{2}, Life: expect(1), Repair: expect(1)}}
		}},
		{"shared failure 0 has no law", func(f *Faults) { f.Shared = []SharedFault{{Repair: expect(1)}} }},
		{"degraded after 00:00:03 and down after 00:00:02", func(f *Faults) { f.Heartbeat = Heartbeat{3 * sec, 2 * sec} }},
		{"prologues fail with probability 1", func(f *Faults) { f.PrologueFails, f.Remedy = 1, expect(1) }},
		{"no law of repairs", func(f *Faults) { f.PrologueFails = 0.5 }},
		{"boots fail with probability 1 after", func(f *Faults) { f.BootFails = 1 }},
	} {
		cfg := SiteConfig{Site: smallSite(2), Faults: breaking(sec, sec), Exit: preempt.DefaultConfig()}
		require.NoError(t, cfg.Validate())
		c.edit(&cfg.Faults)
		require.ErrorContains(t, cfg.Validate(), c.want)
	}
}
