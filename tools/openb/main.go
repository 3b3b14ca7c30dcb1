// Command openb lets the tasks of Alibaba's openb trace arrive one after another, none of
// which ends, until they ask for more GPUs than there are, and prints which part of the GPUs
// is allocated by then under several ways of placing them. That is the experiment of Weng and
// others: Beware of fragmentation: scheduling GPU-sharing workloads with fragmentation
// gradient descent, USENIX ATC 2023. It prints the table of docs/PLACEMENT.md, and draws its
// figure where it is told a file.
//
//	go run ./tools/openb -figure docs/images/openb.png
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"orrery/internal/disk"
	"orrery/internal/doc"
	"orrery/reports/table"
	"orrery/sim/workerpool"
)

// options are the flags.
type options struct {
	nodes, tasks, figure string
	seeds, workers       int
	arrive               float64
}

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "openb:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	dir := filepath.Join(cmp.Or(os.Getenv("ORRERY_DATA"), filepath.Join("..", "shared")), "traces", "gpu", "alibaba-openb-v2023")
	f := flag.NewFlagSet("openb", flag.ContinueOnError)
	f.StringVar(&o.nodes, "nodes", filepath.Join(dir, "openb_node_list_gpu_node.csv"), "`file` with the nodes")
	f.StringVar(&o.tasks, "tasks", filepath.Join(dir, "openb_pod_list_default.csv.gz"), "`file` with the tasks")
	f.StringVar(&o.figure, "figure", "", "draw the curves in this `file`, .png or .svg")
	f.IntVar(&o.seeds, "seeds", 10, "orders of arrival that are drawn")
	f.Float64Var(&o.arrive, "arrive", 1.3, "GPUs that the tasks ask for in all, as a part of those there are")
	f.IntVar(&o.workers, "workers", runtime.NumCPU(), "orders at a time")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.seeds < 1 || o.workers < 1 || !(o.arrive > 0 && o.arrive <= 10) {
		return errors.New("-seeds and -workers are at least 1, and -arrive is more than 0 and at most 10")
	}
	if ext := filepath.Ext(o.figure); o.figure != "" && ext != ".png" && ext != ".svg" {
		return fmt.Errorf("-figure %s: give a file that ends in .png or .svg", o.figure)
	}
	trace, err := readTrace(o.nodes, o.tasks)
	if err != nil {
		return err
	}
	all, err := o.measure(ctx, trace)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d nodes, %d GPUs, %d tasks; %d orders of arrival\n\n", len(trace.site.Nodes), trace.gpus(), len(trace.tasks), o.seeds)
	if err := table.Write(out, tableOf(all), table.Markdown, table.Options{}); err != nil || o.figure == "" {
		return err
	}
	var picture bytes.Buffer
	if err := drawCurves(&picture, all, filepath.Ext(o.figure) == ".svg"); err != nil {
		return err
	}
	return disk.WriteFile(o.figure, picture.Bytes())
}

// curve is what came of one way of placing tasks, by GPUs asked for in hundredths of those
// there are.
type curve struct {
	policy              string
	allocated, unusable []float64 // in percent of all GPUs, mean over the orders
	least, most         []float64 // allocated, of all orders
	refused             float64   // tasks without room, mean over the orders
}

// measure lets the tasks arrive in several orders under each policy.
func (o *options) measure(ctx context.Context, t *trace) ([]curve, error) {
	runs := make([]outcome, o.seeds*len(policies))
	_, err := workerpool.Each(ctx, len(runs), o.workers, nil, func() func(context.Context, int) error {
		return func(ctx context.Context, i int) (err error) {
			runs[i], err = t.arrive(ctx, &policies[i%len(policies)], uint64(i/len(policies)), o.arrive)
			return err
		}
	})
	if err != nil {
		return nil, err
	}
	var all []curve
	for p := range policies {
		c := curve{policy: policies[p].name}
		for seed := range o.seeds {
			c.add(&runs[seed*len(policies)+p], float64(o.seeds))
		}
		all = append(all, c)
	}
	return all, nil
}

// add takes in one order of so many.
func (c *curve) add(r *outcome, orders float64) {
	if c.allocated == nil {
		n := len(r.allocated)
		c.allocated, c.unusable, c.least, c.most = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		copy(c.least, r.allocated)
	}
	c.refused += float64(r.refused) / orders
	for i, v := range r.allocated {
		c.allocated[i] += v / orders
		c.unusable[i] += r.unusable[i] / orders
		c.least[i], c.most[i] = min(c.least[i], v), max(c.most[i], v)
	}
}

// shown are the columns of the table: GPUs asked for, in percent of those there are.
var shown = []int{50, 80, 90, 95, 100, 110, 130}

// tableOf says what part of the GPUs is allocated when tasks have asked for some part of them.
func tableOf(all []curve) *doc.Table {
	header := []string{"placement"}
	for _, p := range shown {
		if p < len(all[0].allocated) {
			header = append(header, fmt.Sprintf("%d %%", p))
		}
	}
	t := doc.New(append(header, "range at the end", "unusable at 90 %", "tasks without room")...)
	for i := range all {
		c := &all[i]
		cells := []any{c.policy}
		for _, p := range shown {
			if p < len(c.allocated) {
				cells = append(cells, doc.Float(c.allocated[p], 1))
			}
		}
		last := len(c.allocated) - 1
		cells = append(cells, fmt.Sprintf("%.1f to %.1f", c.least[last], c.most[last]), doc.Float(c.unusable[min(90, last)], 1), doc.Float(c.refused, 0))
		t.Row(cells...)
	}
	return t
}
