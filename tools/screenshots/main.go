// Command screenshots runs the examples of README.md and takes pictures of the
// pages that they draw, in light and dark, 1400 and 400 pixels wide:
//
//	go run ./tools/screenshots                 # those that the documents show, into docs/images
//	go run ./tools/screenshots -whole DIR      # every page from top to bottom, to look at
//	go run ./tools/screenshots -whole DIR NAME=FILE...  # these pages, which are there
//
// It needs Chromium in PATH (apt-get install chromium) and takes some minutes, most
// of them for the replays. With -work DIR these are kept and not made again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.out, "out", filepath.Join("docs", "images"), "folder for the pictures that the documents show")
	flag.StringVar(&o.whole, "whole", "", "take whole pages into this folder instead")
	flag.StringVar(&o.work, "work", "", "folder for runs and studies, kept; a temporary one without it")
	flag.StringVar(&o.only, "only", "", "take these pages alone: names with commas between them")
	flag.Parse()
	if err := o.run(context.Background(), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

type options struct{ out, whole, work, only string }

// page is one that is looked at, with the commands that draw it: those of README.md
// with what it takes to have a page.
type page struct {
	name string
	file string   // in the work folder
	made []string // commands, run in the work folder in this order
	docs bool     // the documents show it
	over string   // the page whose commands go before
}

// pages are in the order in which their commands build on each other.
var pages = []page{
	{name: "sample", file: "run/report.html", made: []string{"replay --out run --report"}},
	{name: "run", file: "wfp3/report.html", made: []string{
		"synth lublin --out month.trace --jobs 5000 --procs 128 --seed 7",
		"replay month.trace --procs 128 --order fcfs --backfill easy --out easy",
		"replay month.trace --procs 128 --order wfp3 --backfill easy --out wfp3",
		"report wfp3",
	}},
	{name: "compare", over: "run", docs: true, file: "compared/report.html", made: []string{"compare easy wfp3 --noise month.trace --out compared"}},
	{name: "site", docs: true, file: "site/report.html", made: []string{
		"synth site --days 30 --nodes 1024 --load 0.7 --seed 1 --out site.trace",
		"replay site.trace --cluster month --out site --report",
	}},
	{name: "sites-compared", over: "site", file: "fairly/report.html", made: []string{
		"replay site.trace --cluster month --profile hpc=fairness-boost --out fair",
		"compare site fair --out fairly",
	}},
	{name: "tune-kept", over: "run", file: "tuned/report.html", made: []string{"tune month.trace --procs 128 --out tuned"}},
	{name: "tune", over: "run", docs: true, file: "bounded/report.html", made: []string{"tune month.trace --procs 128 --subject-to wait_max<=14d --out bounded"}},
	{name: "tune-site", file: "tuned-site/report.html", made: []string{
		"synth site --days 10 --nodes 64 --load 0.8 --seed 1 --out small.trace",
		"tune small.trace --cluster month --points 24 --out tuned-site",
	}},
	{name: "sweep", over: "run", docs: true, file: "orders/report.html", made: []string{
		"sweep month.trace -P order=fcfs,sjf,saf,wfp3,unicef -P backfill=easy,conservative --windows 12 --out orders --report",
	}},
	{name: "sweep-weights", over: "run", file: "weights/report.html", made: []string{
		"sweep month.trace -P weights.wait_time=1..5:2 -P weights.fair_share=1..5:2 --out weights --report",
	}},
}

func (o *options) run(ctx context.Context, files []string) error {
	if len(files) > 0 {
		var list []page
		for _, f := range files {
			name, file, ok := strings.Cut(f, "=")
			if !ok {
				return fmt.Errorf("%s: want NAME=FILE", f)
			}
			list = append(list, page{name: name, file: file})
		}
		return o.takeAll(ctx, list)
	}
	work := o.work
	if work == "" {
		dir, err := os.MkdirTemp("", "screenshots")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
		work = dir
	}
	work, err := filepath.Abs(work)
	if err != nil {
		return err
	}
	program := filepath.Join(work, "orrery")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return err
	}
	if err := command(ctx, ".", "go", "build", "-o", program, "./cmd/orrery"); err != nil {
		return err
	}
	var list []page
	for _, p := range pages {
		if o.only == "" && (o.whole != "" || p.docs) || strings.Contains(","+o.only+",", ","+p.name+",") {
			list = append(list, p)
		}
	}
	for i := range pages {
		p := &pages[i]
		if !slices.ContainsFunc(list, func(q page) bool { return q.name == p.name || q.over == p.name }) {
			continue
		}
		if err := p.make(ctx, work, program); err != nil {
			return fmt.Errorf("page %s: %w", p.name, err)
		}
	}
	for i := range list {
		list[i].file = filepath.Join(work, list[i].file)
	}
	return o.takeAll(ctx, list)
}

func (o *options) takeAll(ctx context.Context, list []page) error {
	c, err := newCamera(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	for _, p := range list {
		if err := o.take(c, p.file, p.name); err != nil {
			return fmt.Errorf("page %s: %w", p.name, err)
		}
	}
	return nil
}

// exitEvidence is the code of orrery that says that the evidence does not suffice: it
// has drawn its page.
const exitEvidence = 5

// make runs the commands of a page. Logs and runs that are there are kept, and drawn
// anew.
func (p *page) make(ctx context.Context, work, program string) error {
	for _, line := range p.made {
		words := strings.Fields(line)
		if kept(work, words) {
			words = []string{"report", words[slices.Index(words, "--out")+1]}
			if !strings.Contains(line, "--report") {
				continue
			}
		}
		if words[0] == "tune" || words[0] == "sweep" { // of another build, which would be refused
			if err := os.RemoveAll(filepath.Join(work, words[slices.Index(words, "--out")+1])); err != nil {
				return err
			}
		}
		if words[0] == "report" || words[0] == "compare" {
			words = append(words, "--force")
		}
		err := command(ctx, work, program, words...)
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == exitEvidence {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// kept says whether the log or run that a command writes is there.
func kept(work string, words []string) bool {
	i := slices.Index(words, "--out")
	if i < 0 || words[0] != "replay" && words[0] != "synth" {
		return false
	}
	_, err := os.Stat(filepath.Join(work, words[i+1]))
	return err == nil
}

// command runs a program, whose words go to standard error.
func command(ctx context.Context, dir, name string, args ...string) error {
	fmt.Fprintln(os.Stderr, "$", filepath.Base(name), strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	if dir != "." { // a cache of its own: tune counts how often a log was looked at
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", filepath.Base(name), strings.Join(args, " "), err)
	}
	return nil
}
