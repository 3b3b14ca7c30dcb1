package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	gonum "gonum.org/v1/gonum/stat"

	"orrery/internal/doc"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim"
	"orrery/sim/gate"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/stat"
	"orrery/sim/task"
	"orrery/sim/workerpool"
)

var gatesStream = draw.StreamOf("coverage.gates")

// gated are the logs of the table of gates, each with changes of policy whose size is
// near 5 % and near 10 %: passes at some interval, not whenever something changed.
var gated = []struct {
	name, file string
	nodes      int32
	replicas   int // of each configuration, that decisions draw from
	cycles     []string
}{
	{"KTH-SP2", "KTH-SP2-1996-2.1-cln.swf.gz", 100, 80, []string{"3m", "5m"}},
	{"SDSC-SP2", "SDSC-SP2-1998-4.2-cln.swf.gz", 128, 140, []string{"80s", "2m"}},
	{"Theta, January 2023", "theta-2023-jan-validation-dadyownes.swf.gz", 4360, 220, nil},
}

// planted are what the waits of a candidate are multiplied by.
var planted = []float64{1, 1.05, 1.10}

// gateFile is the gate that is measured: all is as it is where a file says no more.
const gateFile = `
runs: [{name: now, trace: log}]
paired: [{run: now, of: {metric: bounded_slowdown_mean}}]
`

// gatesTable decides again and again, by the code of orrery gate, on replicas that are
// made once: each decision draws its seeds from a pool.
func gatesTable(o *options) (*doc.Table, error) {
	g, err := profiles.ParseGate("gate.yaml", []byte(gateFile))
	if err != nil {
		return nil, err
	}
	rule, err := gate.RuleOf(g, &g.Paired[0])
	if err != nil {
		return nil, err
	}
	t := doc.New("log", "change", "of the mean, %", "gates", "exit 0, %", "exit 4, %", "exit 5, %", "seeds, median", "seeds, most", "found in 8 of 10, %, median")
	for _, l := range gated {
		log, err := o.gatedLog(l.file, l.nodes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		now, err := log.pool("", min(o.pool, l.replicas))
		if err != nil {
			return nil, err
		}
		add := func(change string, of *gates, times int) error {
			d, err := of.decide(rule, times)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", l.name, change, err)
			}
			t.Row(append([]any{l.name, change}, d...)...)
			return nil
		}
		if err := add("none", &gates{a: now[0], b: now[0], same: true}, o.comparisons); err != nil {
			return nil, err
		}
		for i, words := range []string{"other arrivals of the candidate: the schedule is another one", "the same, waits 5 % longer", "the same, waits 10 % longer"} {
			if err := add(words, &gates{a: now[0], b: now[i]}, o.comparisons); err != nil {
				return nil, err
			}
		}
		for _, cycle := range l.cycles {
			then, err := log.pool(cycle, min(o.pool, l.replicas))
			if err != nil {
				return nil, err
			}
			if err := add("passes every "+cycle, &gates{a: now[0], b: then[0]}, o.comparisons); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// gates are decisions on replicas of two sides. With same both have the same seeds;
// otherwise no seed is on both, so that they are as independent as can be.
type gates struct {
	a, b []gate.Replica
	same bool
}

func (g *gates) decide(rule gate.Rule, times int) ([]any, error) {
	var count [3]int
	var seeds, found []float64
	n := min(len(g.a), len(g.b))
	for k := range times {
		source := draw.New(1, gatesStream, uint64(k), uint64(n))
		order := make([]int, n)
		for i := range order {
			j := int(source.IntN(int64(i + 1)))
			order[i], order[j] = order[j], i
		}
		var a, b []gate.Replica
		for i, at := range order {
			switch {
			case g.same:
				a, b = append(a, g.a[at]), append(b, g.b[at])
			case i%2 == 0:
				a = append(a, g.a[at])
			default:
				b = append(b, g.b[at])
			}
		}
		ruling, err := decideOn(rule, a, b)
		if err != nil {
			return nil, err
		}
		count[ruling.Outcome]++
		seeds = append(seeds, float64(ruling.Replicas))
		if stat.Finite(ruling.Detectable) {
			found = append(found, 100*ruling.Detectable)
		}
	}
	slices.Sort(seeds)
	detectable := "all"
	if len(found) > 0 {
		slices.Sort(found)
		detectable = fmt.Sprintf("%.1f", found[len(found)/2])
	}
	return []any{
		fmt.Sprintf("%+.1f", 100*(level20(g.b)/level20(g.a)-1)), fmt.Sprint(times),
		percent(count[stat.Holds], times), percent(count[stat.Violated], times), percent(count[stat.Undecided], times),
		fmt.Sprintf("%.0f", seeds[len(seeds)/2]), fmt.Sprintf("%.0f", seeds[len(seeds)-1]), detectable,
	}, nil
}

// decideOn takes as many of the replicas as the rule wants and as there are.
func decideOn(rule gate.Rule, a, b []gate.Replica) (gate.Ruling, error) {
	rule.Most = min(rule.Most, len(a), len(b))
	n := 0
	for want := rule.Wanted(nil, nil); want > n; want = rule.Wanted(a[:n], b[:n]) {
		n = want
	}
	return rule.Judge(a[:n], b[:n])
}

// level20 is the mean over the windows of all replicas.
func level20(side []gate.Replica) float64 {
	var out []float64
	for i := range side {
		out = append(out, gonum.Mean(side[i].Values, nil))
	}
	return gonum.Mean(out, nil)
}

// gatedLog is a log on its cluster.
type gatedLog struct {
	*wholeLog
	o     *options
	nodes int32
	spans []metric.Span
}

func (o *options) gatedLog(file string, nodes int32) (*gatedLog, error) {
	l, err := openWholeLog(o.swf(file))
	if err != nil {
		return nil, err
	}
	out := &gatedLog{wholeLog: l, o: o, nodes: nodes}
	out.spans, err = task.Divide(l.set, profiles.UsualWindows, 0)
	return out, err
}

// spec is first come first served with EASY backfilling and passes every so often; ""
// is whenever something changed.
func (l *gatedLog) spec(cycle string) (plan.Spec, error) {
	spec := plan.DefaultSpec()
	if cycle != "" {
		cycle = ", cycle: " + cycle
	}
	c, err := profiles.ParseCluster("site.yaml", []byte(fmt.Sprintf(`
agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}
groups: [{name: g, nodes: %d, fingerprint: a}]
vclusters: [{name: v, home: all, profile: {order: fcfs, backfill: easy%s}}]
`, l.nodes, cycle)))
	if err != nil {
		return spec, err
	}
	spec.Site = c.JSON()
	return l.bind(spec)
}

// pool makes so many replicas, with waits multiplied by each of planted.
func (l *gatedLog) pool(cycle string, n int) ([][]gate.Replica, error) {
	spec, err := l.spec(cycle)
	if err != nil {
		return nil, err
	}
	out := make([][]gate.Replica, len(planted))
	for i := range out {
		out[i] = make([]gate.Replica, n)
	}
	_, err = workerpool.Each(context.Background(), n, l.o.workers, nil, func() func(context.Context, int) error {
		sink := &jobsAlone{}
		return func(ctx context.Context, k int) error {
			sink.Reset()
			return l.replica(ctx, spec, k+2, sink, func(i int, r gate.Replica) { out[i][k] = r })
		}
	})
	return out, err
}

// jobsAlone keeps the jobs of a replay, and no attempts.
type jobsAlone struct{ record.Memory }

// Attempt implements record.Sink.
func (*jobsAlone) Attempt(*model.AttemptRecord) {}

func (l *gatedLog) replica(ctx context.Context, spec plan.Spec, seed int, sink *jobsAlone, give func(int, gate.Replica)) error {
	t := task.Task{Spec: spec, Jitter: &task.Jitter{By: model.Minute, Seed: uint64(seed)}}
	m, err := l.runner.Trace(ctx, &t)
	if err != nil {
		return err
	}
	sink.Jobs.OfSite = true
	res, err := sim.Run(ctx, spec, m.Open, sim.Options{Sink: sink})
	if err != nil {
		return err
	}
	table, err := metric.Compute(&sink.Memory, res.Series)
	if err != nil {
		return err
	}
	for i, factor := range planted {
		values, err := l.slowdowns(&sink.Memory, factor)
		if err != nil {
			return err
		}
		give(i, gate.Replica{Seed: seed, Schedule: res.Fingerprint + fmt.Sprint(factor), Overloaded: table.Verdict == metric.Overloaded, Values: values})
	}
	return nil
}

// slowdowns are the mean bounded slowdowns of the windows, with waits that are factor
// times as long.
func (l *gatedLog) slowdowns(jobs record.Scanner, factor float64) ([]float64, error) {
	sums, counts := make([]float64, len(l.spans)), make([]float64, len(l.spans))
	err := jobs.Scan(func(c *record.Columns) error {
		for i, submit := range c.Submit {
			w, in := slices.BinarySearchFunc(l.spans, model.Time(submit), func(s metric.Span, t model.Time) int {
				switch {
				case t < s.From:
					return 1
				case t >= s.To:
					return -1
				}
				return 0
			})
			if st := model.JobState(c.State[i]); !in || st != model.Completed && st != model.Timeout {
				continue
			}
			turn := float64(c.End[i]-submit) + (factor-1)*float64(c.Wait[i])
			sums[w] += math.Max(1, turn/float64(max(c.Runtime[i], int64(10*model.Second))))
			counts[w]++
		}
		return nil
	})
	for w := range sums {
		sums[w] /= counts[w]
	}
	return sums, err
}
