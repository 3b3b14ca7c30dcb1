// Command pinned replays recorded GPU runs with their decisions pinned: the record says which job
// holds which GPUs in which round, and the model says how long a round takes. It fits the cost of
// restarts on some runs and predicts others with it: makespan, and the completion times of jobs.
//
//	go run ./tools/pinned --data DIR --fit allox-physical.json.gz --predict min_total_duration-physical.json.gz
//	go run ./tools/pinned --data DIR --fit A,B --predict C -o json
//
// DIR holds the runs, POLICY-physical.json.gz, and trace-120-jobs.tsv with the arrivals.
// Exit codes: 0 done, 1 failed, 2 usage, 3 bad input, 5 too few jobs to fit.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"orrery/hwmodel/fit"
)

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitInput  = 3
	exitTooFew = 5
	traceName  = "trace-120-jobs.tsv"
	runExample = "such as allox-physical.json.gz"
)

// inputError is that of a file which cannot be used as it is.
type inputError struct{ error }

// options are the flags.
type options struct {
	data, format string
	fit, predict []string
	freeRound    bool
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, complaints io.Writer) int {
	o, err := parse(args, complaints)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		fmt.Fprintln(complaints, "pinned:", err)
		return exitUsage
	}
	if err := o.print(out); err != nil {
		fmt.Fprintln(complaints, "pinned:", err)
		var input inputError
		switch {
		case errors.As(err, &input):
			return exitInput
		case errors.Is(err, fit.ErrTooFew):
			return exitTooFew
		}
		return exitFailed
	}
	return exitOK
}

func parse(args []string, complaints io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("pinned", flag.ContinueOnError)
	f.SetOutput(complaints)
	f.StringVar(&o.data, "data", "", "`folder` with the runs and "+traceName)
	f.StringVar(&o.format, "o", "table", "`format` of the output: table or json")
	f.BoolVar(&o.freeRound, "fit-round-cost", false, "fit a fixed cost of each round too, which one run does not tell from that of restarts")
	fitted := f.String("fit", "", "`runs` to fit on, separated by commas")
	predicted := f.String("predict", "", "`runs` to predict, separated by commas")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.fit, o.predict = names(*fitted), names(*predicted)
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("found the argument %q, want flags alone", f.Arg(0))
	case o.data == "":
		return o, errors.New("--data is missing: name the folder with the runs and " + traceName)
	case len(o.fit) == 0:
		return o, errors.New("--fit is missing: name runs, " + runExample)
	case len(o.predict) == 0:
		return o, errors.New("--predict is missing: name runs, " + runExample)
	case o.format != "table" && o.format != "json":
		return o, fmt.Errorf("-o %s: found an unknown format, want table or json", o.format)
	}
	for _, name := range append(o.fit[:len(o.fit):len(o.fit)], o.predict...) {
		if filepath.Base(name) != name || name == "." || name == ".." {
			return o, fmt.Errorf("found the run %q, want the name of a file in --data, %s", name, runExample)
		}
	}
	return o, nil
}

func names(list string) (out []string) {
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}
