// Command searchcurves holds the methods of sim/search against random search on
// real logs, at equal numbers of trials, for one objective and for two: tables in
// Markdown, and figures of each log with what is reached so far by trial.
//
// Each log is replayed on a site of four dragonfly groups, with eight tenants and
// with classes by requested time, so that five of the nine weights matter. Searched
// are these weights, reference_wait and the backfilling, as orrery tune does (but
// first-fit stands for conservative, which takes ten times as long); what is sought
// is the least mean bounded slowdown over some windows of the log, and that together
// with the wait weighted by area. All methods have the same seeds, and a point that
// two of them try is replayed once; with -replays also when the program is run again.
// Nothing depends on the number of workers. Nothing imports the program.
//
//	go run ./tools/searchcurves -out docs/images            # the three logs of docs/SEARCH.md
//	go run ./tools/searchcurves -seeds 2 -trials 32 -only KTH
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"orrery/scheduler/model"
)

// options are the flags.
type options struct {
	data    string
	out     string
	only    string
	trials  int
	fronts  int // trials with two objectives
	seeds   int
	windows int
	length  model.Duration
	workers int
	replays string
}

// logs are those of the table: a name, the file and the processors of the machine.
var logs = []struct {
	name, file string
	procs      int
}{
	{"KTH-SP2", "KTH-SP2-1996-2.1-cln.swf.gz", 100},
	{"SDSC-SP2", "SDSC-SP2-1998-4.2-cln.swf.gz", 128},
	{"HPC2N", "HPC2N-2002-2.1-cln.swf.gz", 240},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "searchcurves:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	o := options{data: os.Getenv("ORRERY_DATA")}
	if o.data == "" {
		o.data = filepath.Join("..", "shared")
	}
	f := flag.NewFlagSet("searchcurves", flag.ContinueOnError)
	f.StringVar(&o.data, "data", o.data, "`folder` with traces/swf")
	f.StringVar(&o.out, "out", "", "write the figures into this `folder`")
	f.StringVar(&o.only, "only", "", "only the `logs` whose name contains this")
	f.IntVar(&o.trials, "trials", 64, "trials of each search")
	f.IntVar(&o.fronts, "fronts", 128, "trials of each search with two objectives")
	f.IntVar(&o.seeds, "seeds", 24, "searches by each method, 6 at least")
	f.IntVar(&o.windows, "windows", 4, "windows of each log")
	days := f.Int("days", 7, "length of a window")
	f.IntVar(&o.workers, "workers", runtime.NumCPU(), "searches at a time")
	f.StringVar(&o.replays, "replays", "", "keep what came of replays in this `file` and take it from there; remove it when the code or the data change")
	if err := f.Parse(args); err != nil {
		return err
	}
	o.length = model.Duration(*days) * model.Day
	for _, l := range logs {
		if !strings.Contains(l.name, o.only) {
			continue
		}
		b, err := newBench(filepath.Join(o.data, "traces", "swf", l.file), l.procs, o)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		c := contest{bench: b, options: o}
		if err := c.run(context.Background()); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		if err := c.show(os.Stdout, l.name); err != nil {
			return err
		}
	}
	return nil
}
