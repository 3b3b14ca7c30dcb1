// Command advicerates measures how often the advice of orrery tune is wrong, and how small
// a gain it finds. It replays logs under one policy many times with jittered arrivals, and
// lets the code of sim/advice decide on draws from these replicas: the policy against itself,
// and against itself with every bounded slowdown lowered by a known part. It prints the tables
// of docs/STATISTICS.md. Draws are keyed: the same numbers come out on any number of workers.
//
//	go run ./tools/advicerates -keep /tmp/replicas
//	go run ./tools/advicerates -keep /tmp/replicas -only KTH -draws 500
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"orrery/internal/doc"
	"orrery/reports/table"
)

// options are the flags.
type options struct {
	data, keep, only string
	windows          []int
	replicas         int // of a log
	draws, plants    int
	workers          int
}

// log is a log with the size of its cluster.
type log struct {
	name, file string
	procs      int32
	missing    string // what stands in for requested times: plan.Spec.MissingRequest
}

var logs = []log{
	{"KTH-SP2", "KTH-SP2-1996-2.1-cln.swf.gz", 100, ""},
	{"SDSC-SP2", "SDSC-SP2-1998-4.2-cln.swf.gz", 128, ""},
	{"lublin_256", "lublin_256.swf.gz", 256, "recorded"}, // it has none, and endless ones leave nothing to be backfilled
	{"Theta, January 2023", "theta-2023-jan-validation-dadyownes.swf.gz", 4392, ""},
}

// gains are the parts by which one candidate is better: by nothing first.
var gains = []float64{0, 0.05, 0.10}

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "advicerates:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	f := flag.NewFlagSet("advicerates", flag.ContinueOnError)
	f.StringVar(&o.data, "data", cmp.Or(os.Getenv("ORRERY_DATA"), filepath.Join("..", "shared")), "`folder` with traces/swf")
	f.StringVar(&o.keep, "keep", "", "`folder` that replicas are written to, and read from where they are there")
	f.StringVar(&o.only, "only", "", "only the `logs` whose name contains this")
	windows := f.String("windows", "80,40", "numbers of windows, parts of 80")
	f.IntVar(&o.replicas, "replicas", 200, "replicas of a log that draws are made from")
	f.IntVar(&o.draws, "draws", 125, "draws of the policy against itself, of each log and number of windows")
	f.IntVar(&o.plants, "plants", 100, "draws with a planted gain, of each log, number of windows and gain")
	f.IntVar(&o.workers, "workers", runtime.NumCPU(), "replays and draws at a time")
	if err := f.Parse(args); err != nil {
		return err
	}
	for text := range strings.SplitSeq(*windows, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || mostWindows%n != 0 {
			return fmt.Errorf("-windows %s: give parts of %d, such as 80,40", *windows, mostWindows)
		}
		o.windows = append(o.windows, n)
	}
	if o.replicas < mostDrawn {
		return fmt.Errorf("-replicas %d: a draw takes up to %d", o.replicas, mostDrawn)
	}
	return o.print(ctx, out)
}

// print measures one log after the other, and prints both tables at the end.
func (o *options) print(ctx context.Context, out io.Writer) error {
	nothing := doc.New("log", "SD of one replay, %", "windows", "draws", "claim anything, %", "say better, %", "recommend, %")
	planted := doc.New("log", "SD of one replay, %", "gain", "windows", "draws", "has replicas, %", "found, %", "recommended, %", "recommend another, %")
	for _, l := range logs {
		if !strings.Contains(l.name, o.only) {
			continue
		}
		pool, err := o.pool(ctx, l)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		sd := fmt.Sprintf("%.1f", 100*pool.sd())
		for _, n := range o.windows {
			for _, gain := range gains {
				times := o.plants
				if gain == 0 {
					times = o.draws
				}
				if times == 0 {
					continue
				}
				r, err := o.rates(ctx, pool.merged(n), gain, times)
				if err != nil {
					return fmt.Errorf("%s: %w", l.name, err)
				}
				if gain == 0 {
					nothing.Row(l.name, sd, n, times, r.percent(outcome.claims), r.percent(outcome.saysBetter), r.percent(outcome.recommends))
					continue
				}
				planted.Row(l.name, sd, fmt.Sprintf("%.0f %%", 100*gain), n, times,
					r.percent(outcome.replicated), r.percent(outcome.found), r.percent(outcome.recommended), r.percent(outcome.recommendsAnother))
			}
		}
		fmt.Fprintf(os.Stderr, "%s is done\n", l.name)
	}
	for _, t := range []*doc.Table{nothing, planted} {
		if err := table.Write(out, t, table.Markdown, table.Options{}); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	return nil
}

// percent is how many outcomes are of a kind.
func (r rates) percent(is func(outcome) bool) string {
	n := len(slices.DeleteFunc(slices.Clone(r), func(x outcome) bool { return !is(x) }))
	return fmt.Sprintf("%.1f", 100*float64(n)/float64(len(r)))
}
