// Command windowbias measures how far figures of windows of a log lie from those of
// the whole log, for several orders of the queue and several ways to replay windows.
// Its table stands in docs/STATISTICS.md:
//
//	go run ./tools/windowbias $ORRERY_DATA/traces/swf/*-cln.swf.gz
//
// The figure is the mean bounded slowdown against that under FCFS, both with EASY.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/task"
	"orrery/tools/wholelog"
)

// orders of the queue; the first is what the others are held against.
var orders = []string{"fcfs", "sjf", "saf", "wfp3", "unicef"}

// name of the figure.
const figure = "bounded_slowdown_mean"

func main() {
	windows := flag.Int("windows", 30, "windows of each log")
	replicas := flag.Int("replicas", 5, "runs with arrivals jittered by a minute that measure the noise")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, flag.Args(), *windows, *replicas); err != nil {
		fmt.Fprintln(os.Stderr, "windowbias:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, logs []string, windows, replicas int) error {
	if len(logs) == 0 {
		return errors.New("name logs in the Standard Workload Format that say how large their cluster was")
	}
	var all []comparison
	for _, log := range logs {
		list, err := compare(ctx, log, windows, replicas)
		if err != nil {
			return fmt.Errorf("%s: %w", log, err)
		}
		all = append(all, list...)
	}
	show(out, all)
	return nil
}

// comparison is an order on a log: its change against FCFS, as a part of it.
type comparison struct {
	log, order string
	whole      float64 // over all jobs of the log
	noise      float64 // twice the standard deviation of whole over jittered replicas
	windows    float64 // over the jobs of all windows, which are parts of one replay
	// The rest are over the jobs of all windows as well; first what the one replay of
	// the whole log says of them.
	alone [len(ways)]float64
	// tuning and same are over the jobs of the first third of the windows: from a run
	// that stops once they have left, and from the replay of the whole log.
	tuning, same float64
}

// ways to replay each window by itself.
var ways = [...]struct {
	name string
	lead model.Duration
}{
	{"from the state of the log", 0},
	{"after a lead of 14 d", 14 * model.Day},
	{"after a lead of 90 d", 90 * model.Day},
}

// subject is a log that is replayed under the orders.
type subject struct {
	runner  *task.Runner
	spec    plan.Spec
	windows []metric.Span
}

func open(log string, windows int) (*subject, error) {
	l, err := wholelog.Open(log)
	if err != nil {
		return nil, err
	}
	s := &subject{runner: l.Runner}
	if s.spec, err = l.Bind(plan.DefaultSpec()); err != nil {
		return nil, err
	}
	spans, err := task.Divide(l.Set, windows, 0)
	if err != nil {
		return nil, err
	}
	jobs, err := task.Submitted(l.Set, spans)
	for i, n := range jobs {
		if n >= task.LeastJobs {
			s.windows = append(s.windows, spans[i])
		}
	}
	return s, err
}

func compare(ctx context.Context, log string, windows, replicas int) ([]comparison, error) {
	s, err := open(log, windows)
	if err != nil {
		return nil, err
	}
	var tasks []task.Task
	for _, order := range orders {
		tasks = append(tasks, s.tasks(order, replicas)...)
	}
	results, err := task.Evaluate(ctx, s.runner, tasks, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	each := len(tasks) / len(orders)
	base := s.read(results[:each], replicas)
	var out []comparison
	for i, order := range orders[1:] {
		out = append(out, s.read(results[(i+1)*each:(i+2)*each], replicas).against(base, strings.TrimSuffix(filepath.Base(log), ".swf.gz"), order))
	}
	return out, nil
}

// tasks of an order: the whole log with its windows as parts, replicas of it, the
// tuning windows, and each window by itself in each way.
func (s *subject) tasks(order string, replicas int) []task.Task {
	spec := s.spec
	spec.Order, spec.WarmupJobs = order, plan.NoWarmup
	out := []task.Task{{Spec: spec, Parts: s.windows}}
	for r := range replicas {
		out = append(out, task.Task{Spec: spec, Shake: &task.Shake{By: model.Minute, Seed: uint64(r) + 1}})
	}
	spec.WarmupJobs = 0
	out = append(out, task.Task{Spec: spec, Window: task.Around(s.tuning(), plan.DefaultFollow), Parts: s.tuning()})
	for _, way := range ways {
		for _, w := range s.windows {
			out = append(out, task.Task{Spec: spec, Window: &task.Window{Begin: w.From, End: w.To, Lead: &way.lead, Warm: true, Follow: plan.DefaultFollow}})
		}
	}
	return out
}

func (s *subject) tuning() []metric.Span { return s.windows[:len(s.windows)/3] }

// levels are the figures of an order.
type levels struct {
	whole, windows, tuning, same float64
	replicas                     []float64
	alone                        [len(ways)]float64
}

func (s *subject) read(results []task.Result, replicas int) levels {
	var l levels
	l.whole, _ = results[0].Value(figure, metric.All)
	l.windows, l.same = mean(results[0].Parts), mean(results[0].Parts[:len(s.tuning())])
	for _, r := range results[1 : 1+replicas] {
		x, _ := r.Value(figure, metric.All)
		l.replicas = append(l.replicas, x)
	}
	l.tuning = mean(results[1+replicas].Parts)
	rest := results[2+replicas:]
	for i := range ways {
		var parts []task.Figures
		for _, r := range rest[i*len(s.windows) : (i+1)*len(s.windows)] {
			parts = append(parts, r.Figures)
		}
		l.alone[i] = mean(parts)
	}
	return l
}

// mean over the jobs of windows.
func mean(windows []task.Figures) float64 {
	sum, n := 0.0, 0.0
	for i := range windows {
		if x, ok := windows[i].Value(figure, metric.Steady); ok {
			jobs := float64(windows[i].Metrics[figure].CountSteady)
			sum, n = sum+jobs*x, n+jobs
		}
	}
	return sum / n
}

// against turns levels into changes.
func (l levels) against(base levels, log, order string) comparison {
	c := comparison{
		log: log, order: order, whole: l.whole/base.whole - 1, windows: l.windows/base.windows - 1, tuning: l.tuning/base.tuning - 1, same: l.same/base.same - 1,
	}
	for i := range ways {
		c.alone[i] = l.alone[i]/base.alone[i] - 1
	}
	sum, squares, n := 0.0, 0.0, float64(len(l.replicas))
	for r, x := range l.replicas {
		change := x/base.replicas[r] - 1
		sum, squares = sum+change, squares+change*change
	}
	c.noise = 2 * math.Sqrt(max(0, (squares-sum*sum/n)/(n-1)))
	return c
}

// show prints the table and what it says in all.
func show(out io.Writer, all []comparison) {
	head := []string{"log", "order", "whole log", "noise", "windows of one replay", "tuning windows", "the same jobs, whole log"}
	for _, w := range ways {
		head = append(head, "each "+w.name)
	}
	fmt.Fprintf(out, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	counts := make([]verdict, 1+len(ways))
	var tuning verdict
	for _, c := range all {
		row := []string{c.log, c.order, percent(c.whole), fmt.Sprintf("±%.1f %%", 100*c.noise), percent(c.windows), percent(c.tuning), percent(c.same)}
		counts[0].add(c.windows, c.whole, c.noise)
		tuning.add(c.tuning, c.same, c.noise)
		for i, x := range c.alone {
			row = append(row, percent(x))
			counts[1+i].add(x, c.windows, c.noise)
		}
		fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
	}
	fmt.Fprintf(out, "\n| windows | held against | same sign, of those beyond the noise | within 25 %% of it, or within the noise |\n|---|---|---|---|\n")
	fmt.Fprintf(out, "| windows of one replay | whole log | %s |\n| tuning windows | the same jobs, whole log | %s |\n", counts[0].String(), tuning.String())
	for i, w := range ways {
		fmt.Fprintf(out, "| each %s | the same jobs, whole log | %s |\n", w.name, counts[1+i].String())
	}
}

// verdict counts how often figures of windows agree with what they stand for.
type verdict struct{ cells, beyond, sign, size int }

func (v *verdict) add(x, truth, noise float64) {
	v.cells++
	if math.Abs(truth) > noise {
		v.beyond++
		if x*truth > 0 {
			v.sign++
		}
	}
	if math.Abs(x-truth) <= max(0.25*math.Abs(truth), noise) {
		v.size++
	}
}

func (v *verdict) String() string {
	return fmt.Sprintf("%d of %d | %d of %d", v.sign, v.beyond, v.size, v.cells)
}

func percent(x float64) string { return fmt.Sprintf("%+.1f %%", 100*x) }
