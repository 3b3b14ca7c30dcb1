package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"orrery/scheduler/model"
	"orrery/sim"
	"orrery/sim/search"
	"orrery/sim/task"
	"orrery/sim/tune"
	"orrery/traces"
	"orrery/traces/importer"
	"orrery/traces/transform"
)

func check(err error) { if err != nil { fmt.Println(err); os.Exit(1) } }

func main() {
	procs := flag.Int("procs", 0, "")
	tu := flag.Int("t", 10, "")
	ac := flag.Int("a", 20, "")
	seed := flag.Uint64("seed", 1, "")
	bound := flag.Float64("bound", 0, "days")
	page := flag.Bool("page", false, "")
	js := flag.String("json", "", "")
	flag.Parse()
	_, op, err := importer.OpenAny(flag.Arg(0), importer.Options{}); check(err)
	b, err := traces.Open(op.Table); check(err)
	set, err := transform.Open(b); check(err)
	set, err = set.Hold(); check(err)
	r := task.NewRunner(nil)
	m, err := r.Add(set); check(err)
	spec := sim.DefaultSpec()
	spec.Cluster.Procs = int32(*procs)
	src, err := m.Open(); check(err)
	spec, err = spec.Bind(src.(sim.Tables)); check(err)
	o := tune.Defaults()
	o.Tuning, o.Acceptance, o.Seed = *tu, *ac, *seed
	if *bound > 0 { o.Constraints = []search.Constraint{{Metric: "wait_max", Relation: search.AtMost, Value: *bound*86400}} }
	o.Evaluate = func(ctx context.Context, ts []task.Task) ([]task.Result, error) { return task.Evaluate(ctx, r, ts, 2) }
	t0 := time.Now()
	o.Stage = func(s string) { fmt.Printf("  [%5.1fs] %s\n", time.Since(t0).Seconds(), s) }
	_ = model.Day
	rep, err := tune.Run(context.Background(), tune.Problem{Traces: []tune.Trace{{Set: set, Spec: spec}}}, o); check(err)
	fmt.Printf("%s (%.1fs, %d runs)\n%s\n  %s\n", flag.Arg(0)[strings.LastIndex(flag.Arg(0), "/")+1:], time.Since(t0).Seconds(), rep.Runs, rep.Title(), strings.Join(rep.Summary(), "\n  "))
	if *page { os.WriteFile("/tmp/page.md", rep.Markdown(), 0o644) }
	if *js != "" { b, _ := json.Marshal(rep); os.WriteFile(*js, b, 0o644) }
}
