package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"orrery/internal/doc"
	"orrery/scheduler/model"
	"orrery/traces"
)

// studyRows is what -only looks for when the table of studies is asked for.
const studyRows = "study of profiles"

// studied is the study that is measured: profiles whose weights and reference wait are
// drawn, each on a month of a site, as in a search for better ones.
const (
	studiedJobs  = 100_000
	studiedNodes = 1_024
	studiedSpan  = 30 * 24 * time.Hour
)

// experiment is the file of it.
func experiment(trace, cluster string, points int) []byte {
	return fmt.Appendf(nil, `name: weights
traces: [%s]
cluster: %s
design: sobol
points: %d
settings:
  - {path: weights, parts: [wait_time, fair_share, topology, conformance, backlog]}
  - {path: reference_wait, from: 5m, to: 12h, log: true}
objectives: [{metric: wait_p95}]
`, trace, cluster, points)
}

// studies measures whole studies by the program, from reading the trace to the last
// committed result, with one worker and with two. Time is that of the clock: that is
// what workers are for.
func studies(o options, tmp string) (*doc.Table, error) {
	l := load{name: "studied", procs: studiedNodes, jobs: studiedJobs, load: 0.85, site: &site{group: 256, cycle: "30s"}}
	if err := studiedMonth(&l, o, tmp); err != nil {
		return nil, err
	}
	file := filepath.Join(tmp, "experiment.yaml")
	if err := os.WriteFile(file, experiment(l.bundle, l.site.cluster, o.points), 0o600); err != nil {
		return nil, err
	}
	t := doc.New("study", "jobs", "nodes", "profiles", "workers", "wall s", "wall s per 1000 profiles", "against one worker")
	var one float64
	for _, workers := range []int{1, 2} {
		took, err := study(o, file, tmp, workers)
		if err != nil {
			return nil, err
		}
		if workers == 1 {
			one = took
		}
		t.Row("weights", int64(studiedJobs), int64(studiedNodes), int64(o.points), int64(workers), doc.Float(took, 1), doc.Float(took/float64(o.points)*1000, 0), doc.Float(one/took, 2))
	}
	return t, nil
}

// studiedMonth generates the log of l: jobs whose times are all shortened alike until the
// submissions are a month's, which leaves the load as it is.
func studiedMonth(l *load, o options, tmp string) error {
	plain := filepath.Join(tmp, "year.parquet")
	if _, err := best(1, o.binary, "synth", "--out", plain, "--jobs", strconv.Itoa(l.jobs), "--procs", strconv.Itoa(int(l.procs)),
		"--load", strconv.FormatFloat(l.load, 'g', -1, 64), "--quiet"); err != nil {
		return err
	}
	b, err := traces.Open(plain)
	if err != nil {
		return err
	}
	defer b.Close()
	var span model.Duration
	for j, err := range b.Rows() {
		if err != nil {
			return err
		}
		span = max(span, j.Submit.Sub(0))
	}
	l.bundle = filepath.Join(tmp, l.file()+".parquet")
	step := fmt.Sprintf("stretch by=%.6f", studiedSpan.Seconds()/span.Seconds())
	if _, err := best(1, o.binary, "trace", "transform", plain, "--out", l.bundle, "--step", step, "--quiet"); err != nil {
		return err
	}
	return l.site.furnish(l, tmp)
}

// study computes it anew, and returns seconds.
func study(o options, file, tmp string, workers int) (float64, error) {
	dir := filepath.Join(tmp, "study-"+strconv.Itoa(workers))
	cmd := exec.Command(o.binary, "sweep", file, "--out", dir, "--workers", strconv.Itoa(workers), "--quiet")
	begun := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return time.Since(begun).Seconds(), nil
}
