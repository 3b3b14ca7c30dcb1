package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"orrery/internal/doc"
)

// passRows is what -only looks for when the table of passes is asked for.
const passRows = "site pass"

// passCost is what a pass over a queue takes.
type passCost struct {
	state  string // what keeps the waiting jobs from starting
	queue  int64  // jobs that wait
	ns     float64
	allocs int64
}

// passes measures the passes of a site by the benchmark of package scheduler,
// which builds the queues. It takes the best of several repetitions.
func passes(o options) (*doc.Table, error) {
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", "^BenchmarkSitePass$", "-benchtime", "300x", "-count", strconv.Itoa(o.reps), "./scheduler/site")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go test -bench SitePass ./scheduler: %w\n%s", err, out)
	}
	costs, err := parsePasses(string(out))
	if err != nil {
		return nil, err
	}
	t := doc.New("pass of a site", "jobs waiting", "CPU µs", "CPU ns/job waiting", "allocations")
	for _, c := range costs {
		t.Row(c.state, c.queue, doc.Float(c.ns/1000, 1), doc.Float(c.ns/float64(c.queue), 1), c.allocs)
	}
	return t, nil
}

var passLine = regexp.MustCompile(`^BenchmarkSitePass/([\w-]+)/queue=(\d+)(?:-\d+)?\s.*\s([\d.]+) cpu-ns/op\s.*\s(\d+) allocs/op`)

// parsePasses reads what go test printed, in its order; of several lines of a
// benchmark the least counts.
func parsePasses(out string) ([]passCost, error) {
	var costs []passCost
	at := map[string]int{}
	for line := range strings.Lines(out) {
		m := passLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		c := passCost{state: strings.ReplaceAll(m[1], "-", " ")}
		c.queue, _ = strconv.ParseInt(m[2], 10, 64)
		c.ns, _ = strconv.ParseFloat(m[3], 64)
		c.allocs, _ = strconv.ParseInt(m[4], 10, 64)
		key := m[1] + m[2]
		i, met := at[key]
		if !met {
			at[key] = len(costs)
			costs = append(costs, c)
			continue
		}
		costs[i].ns, costs[i].allocs = min(costs[i].ns, c.ns), min(costs[i].allocs, c.allocs)
	}
	if len(costs) == 0 {
		return nil, fmt.Errorf("go test -bench SitePass ./scheduler printed no pass; expected lines with queue=, cpu-ns/op and allocs/op:\n%s", out)
	}
	return costs, nil
}
