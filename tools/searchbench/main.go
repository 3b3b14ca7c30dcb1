// Command searchbench holds the methods of sim/search against the results of other
// optimisers on test functions, at equal numbers of trials: tables in Markdown.
//
// The reference are files of what other tools found ($ORRERY_DATA/oracle/search:
// Optuna's samplers, pycma, pymoo, scipy and numpy). The functions, the places of
// their minima and the numbers of trials are the same here, so runs pair by seed.
// A run is judged by its regret, the true value of the point with the best
// observation less the least value; with several objectives by the part of the
// volume it misses. A cell of the table compares medians over the seeds.
//
// With -minima drawn the minima are elsewhere, drawn by seed: for work on a method,
// which must not see the places it is judged by. With -functions other there are
// functions of which the reference has no figures. Neither has rows of other tools
// but those of -with, a file that -out of an earlier run of this program wrote.
//
// With -functions known it measures sensitivity instead, of two functions of which it is
// known.
//
// Nothing depends on the number of workers. Nothing imports the program.
//
//	go run ./tools/searchbench                                      # bayes, 64 trials
//	go run ./tools/searchbench -methods bayes,bayes:2 -doc docs/SEARCH.md
//	go run ./tools/searchbench -functions known -doc docs/SEARCH.md
//	go run ./tools/searchbench -methods cmaes,random -trials 64,256
//	go run ./tools/searchbench -functions fronts -methods nsga2 -trials 64,256,1024
//	go run ./tools/searchbench -functions other -methods bayes,cmaes,random
package main

import (
	"bytes"
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

	"orrery/sim/workerpool"
)

// options are the flags.
type options struct {
	data      string
	functions string
	minima    string
	methods   []string
	trials    []int
	only      string
	seeds     int
	workers   int
	with      string
	out       string
	against   string
	doc       string
}

func main() {
	o, err := parse(os.Args[1:])
	if err == nil {
		err = o.run(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "searchbench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	o := options{data: os.Getenv("ORRERY_DATA")}
	if o.data == "" {
		o.data = filepath.Join("..", "shared")
	}
	f := flag.NewFlagSet("searchbench", flag.ContinueOnError)
	f.StringVar(&o.data, "data", o.data, "`folder` with oracle/search")
	f.StringVar(&o.functions, "functions", "reference", "which functions: reference, other, fronts with several objectives, or known for tables of sensitivity")
	f.StringVar(&o.minima, "minima", "reference", "where the minima are: reference, or drawn")
	methods := f.String("methods", "bayes", "methods of sim/search, separated by commas; bayes:4 is one in batches of 4")
	trials := f.String("trials", "64", "trials of each search, one or several numbers")
	f.StringVar(&o.only, "only", "", "only the `functions` whose name contains this")
	f.IntVar(&o.seeds, "seeds", 15, "searches of each method and function")
	f.IntVar(&o.workers, "workers", runtime.NumCPU(), "searches at a time")
	f.StringVar(&o.with, "with", "", "compare with what an earlier run of this program wrote into this `file`, called before")
	f.StringVar(&o.out, "out", "", "write what each search found into this `file`")
	f.StringVar(&o.against, "against", "", "the `tool` that others are compared with; the default is optuna-gp, pymoo20 for fronts, random for other functions")
	f.StringVar(&o.doc, "doc", "", "write the table between its markers in this `file`")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.methods = strings.Split(*methods, ",")
	for _, word := range strings.Split(*trials, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return o, fmt.Errorf("-trials %s: %q is not a number of trials: give one or several, such as 64,256", *trials, word)
		}
		o.trials = append(o.trials, n)
	}
	for _, word := range o.methods {
		if _, _, err := methodOf(word); err != nil {
			return o, err
		}
	}
	if !slices.Contains([]string{"reference", "other", "fronts", "known"}, o.functions) {
		return o, fmt.Errorf("-functions %s: give reference, other, fronts or known", o.functions)
	}
	if o.minima != "reference" && o.minima != "drawn" {
		return o, fmt.Errorf("-minima %s: give reference or drawn", o.minima)
	}
	if o.against == "" {
		o.against = map[string]string{"reference": "optuna-gp", "fronts": "pymoo20", "other": "random"}[o.functions]
	}
	return o, nil
}

// methodOf reads a method and, behind a colon, its batch.
func methodOf(word string) (method string, batch int, err error) {
	method, number, given := strings.Cut(word, ":")
	if given {
		if batch, err = strconv.Atoi(number); err != nil || batch < 1 {
			return "", 0, fmt.Errorf("-methods: %q is not a method with its batch: give one such as bayes:4", word)
		}
	}
	return method, batch, nil
}

// run writes the table, and puts it into the document if there is one.
func (o options) run(w io.Writer) error {
	var text bytes.Buffer
	var err error
	if o.functions == "known" {
		err = o.sensitivity(&text)
	} else {
		err = o.compare(&text)
	}
	if err != nil {
		return err
	}
	if _, err := w.Write(text.Bytes()); err != nil || o.doc == "" {
		return err
	}
	return printed(o.doc, o.functions, text.String())
}

// printed puts a table between its markers in a document.
func printed(path, functions, text string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	const end = "<!-- end -->"
	begin, after, found := marker(string(b), functions)
	_, rest, ended := strings.Cut(after, end)
	if !found || !ended {
		return fmt.Errorf("%s has no <!-- measured: %s, by ... --> and %s behind it", path, functions, end)
	}
	return os.WriteFile(path, []byte(begin+"\n\n"+text+"\n"+end+rest), 0o644)
}

// marker cuts a document behind the marker of a table.
func marker(text, functions string) (before, after string, found bool) {
	at := strings.Index(text, "<!-- measured: "+functions+", ")
	if at < 0 {
		return "", "", false
	}
	size := strings.Index(text[at:], "-->")
	if size < 0 {
		return "", "", false
	}
	at += size + len("-->")
	return text[:at], text[at:], true
}

// compare does the searches and writes the table.
func (o options) compare(w io.Writer) error {
	found := outcomes{}
	if err := found.others(o); err != nil {
		return err
	}
	pieces, err := o.pieces()
	if err != nil {
		return err
	}
	results := make([]float64, len(pieces))
	_, err = workerpool.Each(context.Background(), len(pieces), o.workers, nil, func() func(context.Context, int) error {
		return func(_ context.Context, i int) (err error) {
			results[i], err = pieces[i].run()
			return err
		}
	})
	if err != nil {
		return err
	}
	var cells []cell
	for i, p := range pieces {
		found.add(p.method, p.at, results[i])
		if !slices.Contains(cells, p.at) {
			cells = append(cells, p.at)
		}
	}
	if o.out != "" {
		if err := found.save(o.out, o.methods, cells); err != nil {
			return err
		}
	}
	return found.show(w, o, cells)
}

// others reads what other tools found, and an earlier run.
func (o outcomes) others(f options) error {
	same := func(tool string) string { return tool }
	file := map[string]string{"reference": "single.csv", "fronts": "multi.csv"}[f.functions]
	if file != "" && f.minima == "reference" {
		if err := o.read(filepath.Join(f.data, "oracle", "search", file), same); err != nil {
			return err
		}
	}
	if f.with == "" {
		return nil
	}
	return o.read(f.with, func(tool string) string { return tool + " before" })
}
