// Command bench prints the speed table: for each log the engine's jobs per CPU
// second, the whole program's, its peak memory, the allocations per job and,
// where valgrind is there, the instructions per job.
//
// It measures counted work and CPU time, and takes the best of
// several repetitions, since a busy machine only ever slows a run down. Nothing
// imports it.
//
// Rows of a site replay a log whose jobs have tenants, classes and the like on
// nodes in dragonfly and conformance groups, with all nine factors, EASY and
// budgets. The column schedule is the beginning of the fingerprint: a change that
// is only to be faster leaves it as it was.
//
// A second table is of single passes of a site over queues of 100 to 100,000 jobs,
// made at every cycle though nothing has changed: when a quarter of the jobs would
// fit but are held by the reservation of the best, when some nodes are idle and
// no job fits, and when none is idle.
//
// A third is of a study of drawn profiles on 100,000 jobs and 1,024 nodes, by the
// program with one worker and with two; there alone it is the clock that counts.
//
//	go run ./tools/bench                    # the logs of $ORRERY_DATA, generated ones, passes and a study
//	go run ./tools/bench my.swf.gz:128      # a log and its cluster size
//	go run ./tools/bench -only site         # the rows of sites, and passes
//	go run ./tools/bench -only "site pass"  # passes alone
//	go run ./tools/bench -only study -points 1000
//	go run ./tools/bench -only instant -once 1000000 -n 1
//	go run -trimpath ./tools/bench -n 1 -instructions=false -cpuprofile cmd/orrery/default.pgo -only easy
//
// The last writes what the compiler is told of the hot paths when it builds cmd/orrery;
// go run -pgo=cmd/orrery/default.pgo tells it the same of the engine in here.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"orrery/internal/doc"
	"orrery/reports/table"
)

// load is a log and the cluster it is replayed on.
type load struct {
	name   string
	path   string // "" for a generated one
	procs  int32
	site   *site   // nil for a plain cluster
	jobs   int     // of a generated one
	once   bool    // they are all submitted at one instant
	load   float64 // of a generated one, 0 for the model's own
	bundle string  // once imported
}

// policy is what the table calls the policy of l.
func (l *load) policy(o options) string {
	switch {
	case l.site == nil:
		return o.policy.order + "+" + o.policy.backfill
	case l.site.month:
		return "site of 4 vClusters"
	case l.site.vclusters > 1:
		return fmt.Sprintf("site of %d vClusters, score+easy, %s", l.site.vclusters, l.site.cycle)
	}
	return "site, score+easy, " + l.site.cycle
}

// file is the beginning of the names of l's files.
func (l *load) file() string {
	if l.site == nil {
		return l.name
	}
	return l.name + "-" + l.site.cycle
}

type options struct {
	binary string
	reps   int
	count  bool // instructions, under valgrind
	format table.Format
	policy policy
	only   string // rows
	points int    // profiles of a study
	once   int    // jobs of the rows in which all are submitted at one instant
	cpu    string // file for the profile of the engine
}

type policy struct{ order, backfill string }

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.binary, "binary", "", "the orrery `program` to measure (default: built from this tree)")
	f.IntVar(&o.reps, "n", 5, "repetitions, of which the best counts")
	f.BoolVar(&o.count, "instructions", true, "count instructions per job where valgrind is installed")
	f.StringVar(&o.policy.order, "order", "fcfs", "queue order")
	f.StringVar(&o.policy.backfill, "backfill", "easy", "backfill policy")
	f.StringVar(&o.only, "only", "", "only the `rows` whose log and policy contain this")
	f.IntVar(&o.points, "points", 40, "`profiles` of a study")
	f.IntVar(&o.once, "once", 100_000, "`jobs` of the rows in which all are submitted at one instant")
	f.StringVar(&o.cpu, "cpuprofile", "", "write a CPU profile of the engine on all logs to this `file`")
	format := f.String("o", string(table.Markdown), "table, markdown or json")
	if err := f.Parse(args); err != nil {
		return err
	}
	var err error
	if o.format, err = table.ParseFormat(*format); err != nil {
		return err
	}
	loads, err := choose(f.Args(), o.once)
	if err != nil {
		return err
	}
	loads = slices.DeleteFunc(loads, func(l load) bool { return !strings.Contains(l.name+" "+l.policy(o), o.only) })
	tmp, err := os.MkdirTemp("", "orrery-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if o.binary == "" {
		if o.binary, err = build(tmp, "orrery"); err != nil {
			return err
		}
	}
	wanted := func(rows string) bool { return f.NArg() == 0 && strings.Contains(rows, o.only) }
	for _, t := range []struct {
		wanted  bool
		measure func() (*doc.Table, error)
	}{
		{len(loads) > 0, func() (*doc.Table, error) { return measure(loads, o, tmp) }},
		{wanted(passRows), func() (*doc.Table, error) { return passes(o) }},
		{wanted(studyRows), func() (*doc.Table, error) { return studies(o, tmp) }},
	} {
		if !t.wanted {
			continue
		}
		out, err := t.measure()
		if err != nil {
			return err
		}
		if err := table.Write(os.Stdout, out, o.format, table.Options{}); err != nil {
			return err
		}
	}
	return nil
}

// choose takes the logs named by the user, or the default ones that are there.
func choose(args []string, once int) ([]load, error) {
	var loads []load
	for _, a := range args {
		path, size, ok := cutLast(a, ":")
		n, err := strconv.ParseInt(size, 10, 32)
		if !ok || err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not LOG:PROCS, for example month.swf.gz:128", a)
		}
		loads = append(loads, load{name: base(path), path: path, procs: int32(n)})
	}
	if len(loads) > 0 {
		return loads, nil
	}
	data := os.Getenv("ORRERY_DATA")
	if data == "" {
		data = filepath.Join("..", "shared")
	}
	const (
		kth   = "KTH-SP2-1996-2.1-cln.swf.gz"
		sdsc  = "SDSC-SP2-1998-4.2-cln.swf.gz"
		theta = "theta-2023-jan-validation-dadyownes.swf.gz"
	)
	for _, l := range []load{
		{path: kth, procs: 100},
		{path: sdsc, procs: 128},
		{path: "CEA-Curie-2011-2.1-cln.swf.gz", procs: 93312},
		{path: kth, procs: 100, site: &site{group: 16, cycle: "30s"}},
		{path: kth, procs: 100, site: &site{group: 16, cycle: "1s"}},
		{path: sdsc, procs: 128, site: &site{group: 20, cycle: "30s"}},
		{path: sdsc, procs: 128, site: &site{group: 20, cycle: "1s"}},
		{path: theta, procs: 4360, site: &site{group: 192, cycle: "30s"}},
		{path: theta, procs: 4360, site: &site{group: 192, cycle: "1s"}},
	} {
		l.name, l.path = base(l.path), filepath.Join(data, "traces", "swf", l.path)
		if _, err := os.Stat(l.path); err == nil {
			loads = append(loads, l)
		} else {
			fmt.Fprintf(os.Stderr, "bench: left out %s: %v\n", l.name, err)
		}
	}
	loads = append(loads, load{name: "lublin-100k", procs: 256, jobs: 100_000})
	for _, nodes := range []int32{1_024, 10_240, 102_400} {
		loads = append(loads, load{name: fmt.Sprintf("lublin-%d", nodes), procs: nodes, jobs: 50_000, load: 0.85, site: &site{group: 256, cycle: "30s"}})
	}
	loads = append(loads, load{name: "month", procs: 1_024, site: &site{month: true}})
	for _, of := range []*site{nil, {group: 64, cycle: "30s", vclusters: 4}} {
		loads = append(loads, load{name: fmt.Sprintf("instant-%gk", float64(once)/1000), procs: 1_024, jobs: once, once: true, site: of})
	}
	return loads, nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func base(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".swf")
	return strings.TrimSuffix(strings.TrimSuffix(name, ".trace"), ".parquet")
}

func build(dir, name string, flags ...string) (string, error) {
	out := filepath.Join(dir, name)
	cmd := exec.Command("go", append(append([]string{"build"}, flags...), "-o", out, "./cmd/orrery")...)
	cmd.Stderr = os.Stderr
	return out, cmd.Run()
}

// countedJobs bounds the logs that are run under valgrind, fifty times slower.
const countedJobs = 30_000

// measure is the table of replays. It runs the programs before the engine: a child process inherits the
// peak memory of the process that starts it, so this one must still be small.
func measure(loads []load, o options, tmp string) (*doc.Table, error) {
	t := doc.New("log", "jobs", "procs", "policy", "engine jobs/CPU s", "program jobs/CPU s", "peak RSS MB", "allocations/job", "instructions/job", "schedule")
	start, err := startUp(o)
	if err != nil {
		return nil, err
	}
	programs := make([]usage, len(loads))
	for i := range loads {
		if err := importLog(&loads[i], o, tmp); err != nil {
			return nil, err
		}
		if programs[i], err = program(loads[i], o, start, tmp); err != nil {
			return nil, err
		}
	}
	stop, err := profile(o.cpu)
	if err != nil {
		return nil, err
	}
	defer stop()
	for i, l := range loads {
		e, err := engine(l, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		instructions := any(nil)
		if o.count && e.jobs <= countedJobs {
			if n, ok, err := instructionsPerJob(e.jobs, l, o, tmp); err != nil {
				return nil, fmt.Errorf("%s: %w", l.name, err)
			} else if ok {
				instructions = n
			}
		}
		p := programs[i]
		t.Row(l.name, e.jobs, int64(l.procs), l.policy(o),
			int64(float64(e.jobs)/e.cpu.Seconds()), int64(float64(e.jobs)/p.cpu.Seconds()),
			doc.Float(float64(p.rss)/(1<<20), 1), doc.Float(e.allocs, 4), instructions, e.schedule)
	}
	return t, nil
}
