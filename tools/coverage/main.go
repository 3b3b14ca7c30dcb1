// Command coverage measures what sim/stat promises: how often its intervals hold
// the truth, how often tables claim something where nothing differs, how likely a
// change of a given size is claimed, and the same of checks on fixed windows. It
// prints tables in Markdown and can write them into docs/STATISTICS.md. Draws are
// keyed: the same numbers come out on any number of workers.
//
// With -logs it replays real logs instead: a policy is compared with itself, each
// side with jittered arrivals of its own, by the code of orrery compare. Nothing
// imports the program. With -gates it says how often a gate passes, finds a regression
// or does not know, on real logs too. With -program it runs orrery compare itself.
//
//	go run ./tools/coverage                                   # a few minutes on two cores
//	go run ./tools/coverage -only "coverage of the mean" -series 2000
//	go run ./tools/coverage -doc docs/STATISTICS.md           # rewrites its tables
//	go run ./tools/coverage -logs -doc docs/STATISTICS.md     # and the one of real logs
//	go run ./tools/coverage -gates -doc docs/STATISTICS.md    # and the one of gates
//	go run ./tools/coverage -program ./orrery -doc docs/STATISTICS.md
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
	"strings"

	"orrery/internal/doc"
	"orrery/reports/table"
	"orrery/sim/workerpool"
)

// options are the flags.
type options struct {
	series  int // a cell
	workers int
	only    string
	doc     string

	program string // orrery, compared through its command line
	gates   bool
	pool    int // replicas that decisions draw from

	logs        bool
	data        string // folder of the logs
	comparisons int    // of a policy with itself
}

// part is one table.
type part struct {
	name  string // in the marker of the document
	print func(o *options) (*doc.Table, error)
}

var parts = []part{
	{"coverage of the mean", meanTable},
	{"coverage of the ratio", ratioTable},
	{"false claims", claimsTable},
	{"power", powerTable},
	{"not worse on fixed windows", fixedTable},
	{"not worse on random windows", randomTable},
}

// ofLogs is the table of -logs.
var ofLogs = []part{{"a policy with itself", selfTable}}

// ofProgram is the table of -program.
var ofProgram = []part{{"a policy with itself by the program", cliTable}}

// ofGates is the table of -gates.
var ofGates = []part{{"gates", gatesTable}}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	var o options
	f := flag.NewFlagSet("coverage", flag.ContinueOnError)
	f.IntVar(&o.series, "series", 20000, "simulated series of each cell")
	f.IntVar(&o.workers, "workers", runtime.NumCPU(), "cells at a time")
	f.StringVar(&o.only, "only", "", "only the `tables` whose name contains this")
	f.StringVar(&o.doc, "doc", "", "write the tables between their markers in this `file`")
	f.BoolVar(&o.logs, "logs", false, "compare policies with themselves on real logs")
	f.StringVar(&o.data, "data", cmp.Or(os.Getenv("ORRERY_DATA"), filepath.Join("..", "shared")), "`folder` with traces/swf")
	f.IntVar(&o.comparisons, "comparisons", 500, "comparisons of -logs and -program, and gates of each row of -gates")
	f.StringVar(&o.program, "program", "", "compare a policy with itself by this `file`, the program")
	f.BoolVar(&o.gates, "gates", false, "decide by orrery gate on real logs")
	f.IntVar(&o.pool, "pool", 1000, "most replicas of a log that the decisions of -gates draw from")
	if err := f.Parse(args); err != nil {
		return err
	}
	list := parts
	if o.logs {
		list = ofLogs
	}
	if o.gates {
		list = ofGates
	}
	if o.program != "" {
		list = ofProgram
	}
	for _, p := range list {
		if !strings.Contains(p.name, o.only) {
			continue
		}
		text, err := o.markdown(p)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n\n%s\n", p.name, text); err != nil {
			return err
		}
		if err := o.write(p.name, text); err != nil {
			return err
		}
	}
	return nil
}

// markdown is the table of a part.
func (o *options) markdown(p part) (string, error) {
	t, err := p.print(o)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.name, err)
	}
	var b strings.Builder
	err = table.Write(&b, t, table.Markdown, table.Options{})
	return b.String(), err
}

const endMarker = "<!-- end -->"

func beginMarker(name string) string {
	return "<!-- measured: " + name + ", by go run ./tools/coverage -doc docs/STATISTICS.md -->"
}

// write puts a table between its markers in the document, if there is one.
func (o *options) write(name, text string) error {
	if o.doc == "" {
		return nil
	}
	b, err := os.ReadFile(o.doc)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(b), beginMarker(name))
	_, after, ended := strings.Cut(rest, endMarker)
	if !found || !ended {
		return fmt.Errorf("%s has no %s ... %s", o.doc, beginMarker(name), endMarker)
	}
	return os.WriteFile(o.doc, []byte(before+beginMarker(name)+"\n\n"+text+"\n"+endMarker+after), 0o644)
}

// fill measures the cells of a table, several at a time: of(row, column) for each.
func (o *options) fill(rows, columns int, of func(row, column int) (string, error)) ([][]any, error) {
	out := make([][]any, rows)
	for r := range out {
		out[r] = make([]any, columns)
	}
	_, err := workerpool.Each(context.Background(), rows*columns, o.workers, nil, func() func(context.Context, int) error {
		return func(_ context.Context, i int) error {
			text, err := of(i/columns, i%columns)
			out[i/columns][i%columns] = text
			return err
		}
	})
	return out, err
}

// percent is a share in per cent with one digit.
func percent(hits, of int) string { return fmt.Sprintf("%.1f", 100*float64(hits)/float64(of)) }
