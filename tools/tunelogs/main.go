// Command tunelogs tunes logs with the program as its users run it, and holds each
// recommendation against a replay of the whole log: whether it keeps its bounds
// there, and what became of the gain and of the longest wait. Its table stands in
// docs/TUNE.md:
//
//	go build -o bin/orrery ./cmd/orrery
//	go run ./tools/tunelogs -orrery bin/orrery $ORRERY_DATA/traces/swf/*-cln.swf.gz
//
// A name may be followed by =PROCS where the log does not say how large its cluster
// was. It exits with 1 when a recommendation breaks a bound.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/tune"
)

func main() {
	o := options{out: os.Stdout}
	flag.StringVar(&o.orrery, "orrery", "orrery", "the program")
	flag.StringVar(&o.plans, "windows", "80", "numbers of windows of each log, with commas")
	flag.IntVar(&o.seeds, "seeds", 3, "seeds of each plan")
	flag.StringVar(&o.bound, "subject-to", "", "bound of each tune; the default bounds where it is left out")
	flag.Parse()
	broken, err := o.run(context.Background(), flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "tunelogs:", err)
		os.Exit(1)
	}
	if broken > 0 {
		fmt.Fprintf(os.Stderr, "tunelogs: %d recommendations break a bound\n", broken)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	orrery, plans, bound string
	seeds                int
	out                  io.Writer
}

func (o *options) run(ctx context.Context, logs []string) (broken int, err error) {
	if len(logs) == 0 {
		return 0, errors.New("name logs in the Standard Workload Format")
	}
	scratch, err := os.MkdirTemp("", "tunelogs-*")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(scratch)
	head := []string{"log", "windows", "seed", "answer", "whole log", "p", "over replicas", "would find", "longest wait, now", "then", "bound, with its slack", "kept", "loses most", "hours"}
	fmt.Fprintf(o.out, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, name := range logs {
		l := logOf(name)
		for plan := range strings.SplitSeq(o.plans, ",") {
			for seed := 1; seed <= o.seeds; seed++ {
				row, kept, err := o.one(ctx, l, plan, seed, filepath.Join(scratch, fmt.Sprintf("%s-%s-%d", l.name, plan, seed)))
				if err != nil {
					return broken, fmt.Errorf("%s, windows %s, seed %d: %w", l.name, plan, seed, err)
				}
				if !kept {
					broken++
				}
				fmt.Fprintf(o.out, "| %s |\n", strings.Join(row, " | "))
			}
		}
	}
	return broken, nil
}

// log is a log with the flags that say how large its cluster was.
type log struct {
	name string
	args []string
}

func logOf(text string) log {
	path, procs, known := strings.Cut(text, "=")
	l := log{strings.TrimSuffix(filepath.Base(path), ".swf.gz"), []string{path}}
	if known {
		l.args = append(l.args, "--procs", procs)
	}
	return l
}

// one tunes a log, and replays it under what is recommended.
func (o *options) one(ctx context.Context, l log, plan string, seed int, dir string) (row []string, kept bool, err error) {
	args := slices.Concat([]string{"tune"}, l.args, []string{"--out", dir, "--windows", plan, "--seed", fmt.Sprint(seed), "-q", "-o", "json"})
	if o.bound != "" {
		args = append(args, "--subject-to", o.bound)
	}
	text, code, err := o.orreryOut(ctx, filepath.Dir(dir), args)
	if err != nil || code != 0 && code != 5 { // 5: not enough evidence
		return nil, false, errors.Join(err, fmt.Errorf("exit code %d", code))
	}
	var r tune.Report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, false, err
	}
	row = []string{l.name, plan, fmt.Sprint(seed), r.Verdict}
	if r.Verdict != tune.Change {
		row = append(row, r.About, number(r.P), "", percent(float64(r.DetectableGain)))
		return append(row, slices.Repeat([]string{""}, 6)...), true, nil
	}
	row[3] = "change to " + r.About
	if len(r.Equal) > 0 {
		row[3] += " (or " + strings.Join(r.Equal, ", ") + ")"
	}
	f := r.Finalists[slices.IndexFunc(r.Finalists, func(f tune.Finalist) bool { return f.Name == r.About })]
	var now, then table
	flags := slices.Clone(l.args)
	if now, err = o.replay(ctx, dir, flags); err != nil {
		return nil, false, err
	}
	for _, c := range r.Changes {
		flags = append(flags, "--"+c.Key, c.After)
	}
	if then, err = o.replay(ctx, dir, flags); err != nil {
		return nil, false, err
	}
	if err := agree(f.Whole, &now, &then); err != nil {
		return nil, false, err
	}
	objective := r.Goal.Objectives[0].Metric
	kept = true
	bounds := ""
	for i := range r.Bounds {
		b := &r.Bounds[i]
		c := search.Constraint{Metric: b.Metric, Relation: b.Relation, Value: float64(b.Limit)}
		kept = kept && c.Beyond(then.of(b.Metric)) <= 1e-9
		bounds += fmt.Sprintf("%s %s %s ", b.Metric, b.Relation, span(float64(b.Limit)))
	}
	loser, hours := "none", ""
	if len(r.Losers) > 0 {
		loser, hours = r.Losers[0].By+" "+r.Losers[0].Name, fmt.Sprintf("%.0f", r.Losers[0].Hours)
	}
	return append(row,
		percent(then.of(objective)/now.of(objective)-1), number(r.P), percent(-float64(f.Replicas.Mean)), percent(float64(r.DetectableGain)), span(now.of("wait_max")), span(then.of("wait_max")),
		strings.TrimSpace(bounds), map[bool]string{true: "yes", false: "NO"}[kept], loser, hours), kept, nil
}

// agree holds what tune says of the whole log against the replays of it: they are the
// same runs, so the numbers are the same.
func agree(lines []tune.WholeLine, now, then *table) error {
	for _, l := range lines {
		for _, side := range []struct {
			said metric.Number
			of   *table
		}{{l.Now, now}, {l.Then, then}} {
			if x := side.of.of(l.Metric); !math.IsNaN(x) && x != float64(side.said) {
				return fmt.Errorf("%s is %g from end to end by tune, and %g by replay", l.Metric, float64(side.said), x)
			}
		}
	}
	return nil
}

// table is what orrery replay prints, over all jobs.
type table struct {
	Metrics []struct {
		Name, Window string
		Value        *float64
	}
}

func (t *table) of(name string) float64 {
	for _, m := range t.Metrics {
		if m.Name == name && m.Window == metric.All && m.Value != nil {
			return *m.Value
		}
	}
	return math.NaN()
}

func (o *options) replay(ctx context.Context, dir string, flags []string) (t table, err error) {
	text, code, err := o.orreryOut(ctx, dir, slices.Concat([]string{"replay"}, flags, []string{"-q", "-o", "json"}))
	if err == nil && code != 0 {
		err = fmt.Errorf("the replay of the whole log ends with exit code %d", code)
	}
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(text, &t)
}

// orreryOut runs the program with a ledger of its own, and gives what it prints and
// its exit code.
func (o *options) orreryOut(ctx context.Context, state string, args []string) ([]byte, int, error) {
	cmd := exec.CommandContext(ctx, o.orrery, args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state)
	text, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if code := exit.ExitCode(); code == 5 {
			return text, code, nil
		}
		return text, exit.ExitCode(), fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return text, 0, err
}

func number(n metric.Number) string {
	if !n.Defined() {
		return "–"
	}
	return fmt.Sprintf("%.2g", float64(n))
}

func percent(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf("%+.1f %%", 100*x)
}

func span(seconds float64) string {
	if math.IsNaN(seconds) {
		return "–"
	}
	return (model.Duration(math.Round(seconds)) * model.Second).String()
}
