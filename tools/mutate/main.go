// Command mutate changes one line of the code at a time and runs the tests that ought to
// notice. A mutant that no test notices shows what is not tested.
//
//	go run ./tools/mutate                    # 150 mutants of the scheduler, the quorum, the world, the metrics and the scaling policies
//	go run ./tools/mutate -n 20 -seed 2      # others
//	go run ./tools/mutate -only preempt      # of functions whose package or name has this word
//	go run ./tools/mutate -own               # the tests of their own packages alone, in a few minutes
//	go run ./tools/mutate -conditions -only autoscale/ -own -given /dev/null -dies 1
//	                                         # every comparison and every condition of the scaling policies, in a minute
//	go run ./tools/mutate -keep FILE         # adds verdicts to FILE, and tries none that has one there
//	go run ./tools/mutate -list              # names them and runs nothing
//
// Mutants are drawn by a hash of their function and their change, so that adding a line
// elsewhere draws the same ones, and at most three are of one function. Tests are compiled
// on an overlay, once for all mutants, each of which is switched on by an environment
// variable: the working tree is never changed. Tests that never come to the function of a
// mutant are not run for it. A mutant is killed when a test fails, panics, or uses five times
// the CPU that it needs without one; one that does not compile is not counted. Those in
// equivalents.txt change nothing that can be observed, each for the reason given there.
// The exit code is 0 when at least -dies of the others die, 4 when fewer do, and 2 when
// the arguments are wrong.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"time"
)

type options struct {
	n       int
	seed    uint64
	only    string
	list    bool
	workers int
	limit   time.Duration
	dies    float64
	given   string
	own     bool
	// Every change of a condition instead of a draw.
	conditions bool
	keep       string
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 150, "`MUTANTS` to draw, beside those of -given")
	flag.Uint64Var(&o.seed, "seed", 1, "`SEED` of the draw")
	flag.StringVar(&o.only, "only", "", "a `WORD` of the package or the function")
	flag.BoolVar(&o.list, "list", false, "name the mutants and run nothing")
	flag.IntVar(&o.workers, "workers", runtime.NumCPU(), "`MUTANTS` at a time")
	flag.DurationVar(&o.limit, "limit", 10*time.Minute, "`TIME` that the tests of one package may take; by five times the CPU that they need without a mutant they do not end")
	flag.Float64Var(&o.dies, "dies", 0.97, "the `PART` of the mutants that has to die")
	flag.StringVar(&o.given, "given", "tools/mutate/given.txt", "`FILE` of mutants that are always tried")
	flag.BoolVar(&o.own, "own", false, "run the tests of the mutant's own package alone: quick, and what survives may still die elsewhere")
	flag.BoolVar(&o.conditions, "conditions", false, "every change of a comparison, of !, && and ||, and every condition always and never met, instead of a draw")
	flag.StringVar(&o.keep, "keep", "", "`FILE` of verdicts: a run that was stopped goes on from there, as long as neither code nor tests have changed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	code, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(code)
	}
	os.Exit(code)
}

const (
	exitSurvived = 4
	exitUsage    = 2
)

func run(ctx context.Context, o options) (int, error) {
	if flag.NArg() > 0 || o.n < 0 || o.workers < 1 {
		return exitUsage, fmt.Errorf("want flags alone, with -n of 0 or more and -workers of 1 or more; see -help")
	}
	all, err := mutants(".")
	if err != nil {
		return 1, err
	}
	equivalent, err := readEquivalents("tools/mutate/equivalents.txt", all)
	if err != nil {
		return exitUsage, err
	}
	chosen, err := readGiven(o.given, all)
	if err != nil {
		return exitUsage, err
	}
	more := draw(all, o)
	if o.conditions {
		more = conditions(all, o.only)
	}
	for _, m := range more {
		if !slices.Contains(chosen, m) {
			chosen = append(chosen, m)
		}
	}
	if o.own {
		for _, m := range chosen {
			m.tests = m.tests[:1]
		}
	}
	if o.list {
		for _, m := range chosen {
			fmt.Println(m)
		}
		return 0, nil
	}
	r, err := newRunner(o)
	if err != nil {
		return 1, err
	}
	defer r.close()
	known, rest, err := readKept(o.keep, chosen)
	if err != nil {
		return exitUsage, err
	}
	report, err := r.try(ctx, rest, equivalent)
	if err != nil {
		return 1, err
	}
	report.verdicts = append(known, report.verdicts...)
	report.print(os.Stdout)
	if ctx.Err() != nil {
		return 130, ctx.Err()
	}
	if report.part() < o.dies {
		return exitSurvived, nil
	}
	return 0, nil
}
