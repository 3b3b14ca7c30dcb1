// Command weightlogs says how good the methods of sim/search are at the weights of a
// profile, on logs and at the cost of some whole replays. It searches what orrery tune
// varies of the profile "default", without the points that tune starts from:
//
//	go run ./tools/weightlogs -methods random,sobol,halton,bayes:2 -seeds 5 -truth 1000 \
//	    -replays kth.jsonl $ORRERY_DATA/traces/swf/KTH-SP2-1996-2.1-cln.swf.gz=100
//
// A name may be followed by =PROCS where the log does not say how large its cluster
// was. Replays are kept in the file that -replays names, one a line. A later run with the same
// file makes those that are missing. Its table stands in docs/SEARCH.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"orrery/scheduler/model"
)

func main() {
	o := options{out: os.Stdout, by: model.Minute}
	methods := flag.String("methods", "random,bayes:2", "methods of sim/search, separated by commas; bayes:2 is one in batches of 2; random takes its points from the truth")
	objectives := flag.String("objectives", "bounded_slowdown_mean,wait_mean", "metrics to make small, separated by commas, a search for each")
	weights := flag.String("weights", "", "weights that are searched, separated by commas; all of them where it is left out")
	flag.IntVar(&o.trials, "trials", 50, "whole replays of each search")
	flag.IntVar(&o.seeds, "seeds", 5, "searches of each method and objective")
	flag.IntVar(&o.truth, "truth", 1000, "random points that are replayed to know what is there")
	flag.StringVar(&o.backfill, "backfill", "", "the `rule` to backfill by, easy or conservative; both are searched where it is left out")
	flag.IntVar(&o.leaders, "leaders", 10, "points of the best replays, besides those that searches end with, among which the best known is sought")
	flag.IntVar(&o.replicas, "replicas", 8, "replays with jittered arrivals that tell how good a point is")
	flag.Float64Var(&o.bar, "bar", 3, "regret in percent that a search should keep within; for wait_mean it is 2")
	flag.IntVar(&o.finalists, "finalists", 1, "best points of a search that are replayed with other jittered arrivals; it ends with the best of them")
	flag.StringVar(&o.replays, "replays", "", "`file` that keeps the replays; they are not kept where it is left out")
	flag.IntVar(&o.workers, "workers", 1, "replays at a time")
	flag.Parse()
	o.methods, o.objectives = strings.Split(*methods, ","), strings.Split(*objectives, ",")
	if *weights != "" {
		o.weights = strings.Split(*weights, ",")
	}
	if err := o.run(context.Background(), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "weightlogs:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	methods, objectives, weights            []string
	trials, seeds, truth, leaders, replicas int
	finalists                               int
	workers                                 int
	bar                                     float64 // in percent
	backfill, replays                       string
	by                                      model.Duration // of the jitter
	out                                     io.Writer
}
