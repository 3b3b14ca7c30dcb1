package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"

	"gonum.org/v1/gonum/stat"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/search"
	"orrery/sim/task"
	"orrery/tools/wholelog"
	"orrery/traces"
	"orrery/traces/transform"
)

// What is looked at.
const (
	slowdown = "bounded_slowdown_mean"
	byArea   = "area_weighted_wait"
)

// space is what is searched.
var space = search.Space{
	{Name: "weights", Kind: search.Simplex, Parts: []string{"priority", "wait_time", "fair_share", "topology", "conformance"}},
	{Name: "reference_wait", Kind: search.Real, Low: 300, High: 7 * 24 * 3600, Log: true},
	{Name: "backfill", Kind: search.Choice, Choices: []string{"easy", "first-fit"}},
}

// bench replays points on the windows of a log.
type bench struct {
	runner  *task.Runner
	base    *profiles.Cluster
	tables  plan.Tables
	hash    string
	windows []task.Window
	jobs    int64

	mu    sync.Mutex
	known map[outing]reading
	kept  *os.File // what is known, for another run; or nil
}

// outing is a point, as it is written, on a window.
type outing struct {
	point  string
	window int
}

// reading is what came of it; NaN where a metric has no value.
type reading struct{ slowdown, byArea float64 }

func newBench(path string, procs int, o options) (*bench, error) {
	set, err := read(path)
	if err != nil {
		return nil, err
	}
	b := &bench{runner: task.NewRunner(nil), known: map[outing]reading{}}
	m, err := b.runner.Add(set)
	if err != nil {
		return nil, err
	}
	b.hash, b.jobs = m.Info().Hash, m.Info().Rows
	if b.tables, err = m.Open(); err != nil {
		return nil, err
	}
	spans, err := set.Spans(o.length, o.windows)
	if err != nil {
		return nil, err
	}
	for _, s := range spans {
		b.windows = append(b.windows, task.Window{Begin: s.Begin, End: s.End, Lead: new(model.Duration), Warm: true, Follow: plan.DefaultFollow})
	}
	if b.base, err = profiles.ParseCluster("", site(procs)); err != nil {
		return nil, err
	}
	return b, b.recall(o.replays)
}

// kept is a line of the file of replays: a window of a log, a point and what came
// of it; nothing where the metrics have no value.
type kept struct {
	Log, Point string
	Begin, End model.Time
	Reading    []float64 `json:",omitempty"`
}

// recall takes what is known of the log from a file, which is left open for more.
func (b *bench) recall(path string) error {
	if path == "" {
		return nil
	}
	var err error
	if b.kept, err = os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
		return err
	}
	lines := json.NewDecoder(b.kept)
	for {
		var k kept
		if err := lines.Decode(&k); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w: remove the file", path, err)
		}
		for i, w := range b.windows {
			if k.Log == b.hash && k.Begin == w.Begin && k.End == w.End {
				r := reading{math.NaN(), math.NaN()}
				if len(k.Reading) == 2 {
					r = reading{k.Reading[0], k.Reading[1]}
				}
				b.known[outing{k.Point, i}] = r
			}
		}
	}
}

// keep notes what came of a point on a window.
func (b *bench) keep(at outing, r reading) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known[at] = r
	if b.kept == nil {
		return nil
	}
	w := b.windows[at.window]
	k := kept{Log: b.hash, Point: at.point, Begin: w.Begin, End: w.End}
	if !math.IsNaN(r.slowdown + r.byArea) {
		k.Reading = []float64{r.slowdown, r.byArea}
	}
	return json.NewEncoder(b.kept).Encode(k)
}

// read is a log in memory, its jobs with a tenant by their user and a class by the
// time they ask for.
func read(path string) (*transform.Set, error) {
	set, err := wholelog.Read(path)
	if err != nil {
		return nil, err
	}
	var t traces.Tables
	for j, err := range set.Rows() {
		if err != nil {
			return nil, err
		}
		dressed := *j
		h := fnv.New64a()
		fmt.Fprint(h, j.User)
		dressed.Tenant = fmt.Sprint("t", h.Sum64()>>8%tenants)
		dressed.Class = traces.Some(classOf(j.Walltime))
		t.Jobs = append(t.Jobs, dressed)
	}
	return transform.FromTables(set.Name, set.Meta, t)
}

const tenants = 8

// classOf is higher for jobs that ask for less, as queues by length have it.
func classOf(asked traces.Opt[model.Duration]) int32 {
	switch {
	case asked.OK && asked.V <= model.Hour:
		return 7
	case asked.OK && asked.V <= 4*model.Hour:
		return 5
	case asked.OK && asked.V <= 12*model.Hour:
		return 3
	}
	return 1
}

// site is the cluster file of a machine: four groups with two fingerprints, and
// tenants whose shares are as 1 to 8.
func site(procs int) []byte {
	var b strings.Builder
	b.WriteString("name: site\nnode_types: [{name: n, cpus: 1}]\nagents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}\ngroups:\n")
	for g := range 4 {
		fmt.Fprintf(&b, "  - {name: g%d, nodes: %d, type: n, fingerprint: fw%d}\n", g, procs*(g+1)/4-procs*g/4, g%2)
	}
	b.WriteString("tenants:\n")
	for t := range tenants {
		fmt.Fprintf(&b, "  - {name: t%d, fair_share: %.3f}\n", t, float64(t+1)/36)
	}
	b.WriteString("vclusters: [{name: all, home: all, profile: {usage: {rule: decay, half_life: 1d}, weights: {wait_time: 1}}}]\n")
	return []byte(b.String())
}

// point is a place in the space, in the words of a cluster file.
type point struct {
	set  []profiles.Assignment
	text string
	spec *plan.Spec // nil until it is replayed
}

func pointOf(values []float64) *point {
	var set []profiles.Assignment
	for i, part := range space[0].Parts {
		set = append(set, profiles.Assignment{Path: "weights." + part, Value: strconv.FormatFloat(values[i], 'f', 6, 64)})
	}
	rest := values[len(space[0].Parts):]
	set = append(set, profiles.Assignment{Path: "reference_wait", Value: fmt.Sprintf("%.0fs", math.Round(rest[0]))},
		profiles.Assignment{Path: "backfill", Value: space[2].Choices[int(rest[1])]})
	return &point{set: set, text: fmt.Sprint(set)}
}

// on is what came of a point on a window; run computes it where nobody has.
func (b *bench) on(ctx context.Context, run task.Run, p *point, window int) (reading, error) {
	at := outing{p.text, window}
	b.mu.Lock()
	r, ok := b.known[at]
	b.mu.Unlock()
	if ok {
		return r, nil
	}
	if p.spec == nil {
		cluster, _, err := b.base.WithApplying(p.set)
		if err != nil {
			return r, err
		}
		if p.spec, err = b.bound(cluster); err != nil {
			return r, err
		}
	}
	r, err := b.replay(ctx, run, p.spec, window, nil)
	if err != nil {
		return r, err
	}
	return r, b.keep(at, r)
}

// bound is the replay of the log on a cluster.
func (b *bench) bound(cluster *profiles.Cluster) (*plan.Spec, error) {
	spec := plan.DefaultSpec()
	spec.Site = cluster.JSON()
	spec, err := spec.Bind(b.tables)
	if err != nil {
		return nil, err
	}
	spec.Trace = b.hash
	return &spec, nil
}

func (b *bench) replay(ctx context.Context, run task.Run, spec *plan.Spec, window int, shake *task.Shake) (reading, error) {
	text, err := run(ctx, task.Task{Spec: *spec, Window: &b.windows[window], Shake: shake}.JSON())
	if err != nil {
		return reading{}, err
	}
	result, err := task.ParseResult(text)
	if err != nil {
		return reading{}, err
	}
	of := func(name string) float64 {
		v, ok := result.Value(name, metric.Steady)
		if !ok {
			return math.NaN()
		}
		return v
	}
	return reading{of(slowdown), of(byArea)}, nil
}

// mean is of what came of something over the windows.
func (b *bench) mean(of func(window int) (reading, error)) (reading, error) {
	var sum reading
	n := float64(len(b.windows))
	for i := range b.windows {
		r, err := of(i)
		if err != nil {
			return sum, err
		}
		sum.slowdown, sum.byArea = sum.slowdown+r.slowdown/n, sum.byArea+r.byArea/n
	}
	return sum, nil
}

// over is the mean of a point over the windows.
func (b *bench) over(ctx context.Context, run task.Run, values []float64) (reading, error) {
	p := pointOf(values)
	return b.mean(func(window int) (reading, error) { return b.on(ctx, run, p, window) })
}

// begin is the mean of what the site begins with.
func (b *bench) begin(ctx context.Context, shake *task.Shake) (reading, error) {
	run := b.runner.Worker()
	spec, err := b.bound(b.base)
	if err != nil {
		return reading{}, err
	}
	return b.mean(func(window int) (reading, error) { return b.replay(ctx, run, spec, window, shake) })
}

// noise is the standard deviation of the slowdown of what the site begins with when
// its arrivals are shaken by up to a minute, as a part of the mean.
func (b *bench) noise(ctx context.Context) (float64, error) {
	var values []float64
	for seed := range 10 {
		r, err := b.begin(ctx, &task.Shake{By: model.Minute, Seed: uint64(seed + 1)})
		if err != nil {
			return 0, err
		}
		values = append(values, r.slowdown)
	}
	mean, deviation := stat.MeanStdDev(values, nil)
	return deviation / mean, nil
}
