package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"orrery/hwmodel/fit"
	"orrery/scheduler/model"
)

// Limits of what is read: the runs known have 1 MB, 200 rounds and 120 jobs.
const (
	mostBytes   = 32 << 20
	mostLine    = 1 << 20
	mostJobs    = 10_000
	mostSeconds = 10 * 365 * 86_400
	hour        = 3600
)

// runFile is a run as it is recorded. What is missing is nil.
type runFile struct {
	Policy   *string            `json:"policy"`
	RoundS   *float64           `json:"round_s"`
	Rounds   []map[string][]int `json:"rounds"`
	JCTS     []float64          `json:"jct_s"`
	Makespan *float64           `json:"makespan_s"`
}

// record is a run that was read and checked.
type record struct {
	file, policy string
	schedule     fit.Schedule
	// hourAdded says that the recorded makespan ends before the last job, and that an hour was
	// added to it: the run crossed a change of daylight saving time.
	hourAdded bool
	// lastS is the recorded completion of the last job, makespanS the recorded makespan, in s.
	lastS, makespanS float64
}

func bad(file, format string, args ...any) error {
	return inputError{fmt.Errorf("%s: %w", file, fmt.Errorf(format, args...))}
}

// readRun reads a run, whose jobs arrive as the trace says.
func readRun(dir, name string, arrivals []float64) (record, error) {
	path := filepath.Join(dir, name)
	var raw runFile
	if err := decode(path, &raw); err != nil {
		return record{}, err
	}
	var missing []string
	for _, m := range []struct {
		key    string
		absent bool
	}{{"policy", raw.Policy == nil}, {"round_s", raw.RoundS == nil}, {"rounds", len(raw.Rounds) == 0}, {"jct_s", len(raw.JCTS) == 0}, {"makespan_s", raw.Makespan == nil}} {
		if m.absent {
			missing = append(missing, m.key)
		}
	}
	if len(missing) > 0 {
		return record{}, bad(path, "%s missing or empty: want a run with policy, round_s, rounds, jct_s and makespan_s", strings.Join(missing, ", "))
	}
	if len(raw.JCTS) != len(arrivals) {
		return record{}, bad(path, "found %d values of jct_s, want one for each of the %d jobs of %s", len(raw.JCTS), len(arrivals), traceName)
	}
	return raw.record(path, name, arrivals)
}

func (raw *runFile) record(path, name string, arrivals []float64) (record, error) {
	r := record{file: name, policy: *raw.Policy, makespanS: *raw.Makespan}
	for what, x := range map[string]float64{"round_s": *raw.RoundS, "makespan_s": *raw.Makespan} { //detlint:ordered each is checked by itself, and one message is as good as the other
		if !(x > 0 && x <= mostSeconds) {
			return record{}, bad(path, "%s: found %v, want positive seconds", what, x)
		}
	}
	r.schedule.Length, r.schedule.Makespan = duration(*raw.RoundS), duration(*raw.Makespan)
	for j, jct := range raw.JCTS {
		if !(jct > 0 && jct <= mostSeconds) {
			return record{}, bad(path, "jct_s of job %d: found %v, want positive seconds", j, jct)
		}
		r.schedule.Arrival = append(r.schedule.Arrival, duration(arrivals[j]))
		r.schedule.Completion = append(r.schedule.Completion, duration(arrivals[j]+jct))
		r.lastS = max(r.lastS, arrivals[j]+jct)
	}
	if r.makespanS < r.lastS {
		r.hourAdded = true
		r.makespanS += hour
		r.schedule.Makespan = duration(r.makespanS)
	}
	if r.makespanS < r.lastS {
		return record{}, bad(path, "makespan_s: found %v, want at least %.0f, when the last job completes: an hour of daylight saving does not explain it", *raw.Makespan, r.lastS)
	}
	for i, round := range raw.Rounds {
		held, err := heldIn(round, len(arrivals))
		if err != nil {
			return record{}, bad(path, "rounds, item %d: %w", i, err)
		}
		r.schedule.Rounds = append(r.schedule.Rounds, held)
	}
	if err := r.schedule.Validate(); err != nil {
		return record{}, bad(path, "%w: the file may be cut short", err)
	}
	return r, nil
}

// heldIn are the jobs of a round in the order of their numbers.
func heldIn(round map[string][]int, jobs int) (out []fit.Held, err error) {
	holder := map[int]int{}
	for key, gpus := range round { //detlint:ordered it is sorted below, and an error names one of several
		job, err := strconv.Atoi(key)
		if err != nil || job < 0 || job >= jobs {
			return nil, fmt.Errorf("found job %q, want a number from 0 to %d", key, jobs-1)
		}
		gpus = slices.Sorted(slices.Values(gpus))
		if len(gpus) == 0 || gpus[0] < 0 || len(slices.Compact(slices.Clone(gpus))) != len(gpus) {
			return nil, fmt.Errorf("job %d: found the GPUs %v, want different numbers from 0 on", job, gpus)
		}
		for _, g := range gpus {
			if other, taken := holder[g]; taken {
				return nil, fmt.Errorf("found GPU %d with the jobs %d and %d, want one", g, min(job, other), max(job, other))
			}
			holder[g] = job
		}
		out = append(out, fit.Held{Job: job, GPUs: gpus})
	}
	slices.SortStableFunc(out, func(a, b fit.Held) int { return a.Job - b.Job })
	return out, nil
}

// decode reads a compressed JSON file whole.
func decode(path string, into any) error {
	f, err := os.Open(path)
	if err != nil {
		return inputError{err}
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return bad(path, "found no gzip data, want a compressed JSON file: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(z, mostBytes+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return bad(path, "cut short after %d bytes of JSON: get the file again", len(text))
	case err != nil:
		return bad(path, "damaged: %w", err)
	case len(text) > mostBytes:
		return bad(path, "found more than %d MiB, want a run", mostBytes>>20)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return bad(path, "%w: want one JSON object of a run", err)
	}
	return nil
}

// readArrivals are the arrivals of the trace by job, in s.
func readArrivals(dir string) ([]float64, error) {
	path := filepath.Join(dir, traceName)
	f, err := os.Open(path)
	if err != nil {
		return nil, inputError{err}
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, mostLine)
	var out []float64
	job, arrival := -1, -1
	for n := 1; lines.Scan(); n++ {
		cells := strings.Split(strings.TrimRight(lines.Text(), "\r"), "\t")
		if n == 1 {
			if job, arrival = slices.Index(cells, "job"), slices.Index(cells, "arrival_s"); job < 0 || arrival < 0 {
				return nil, bad(path, "line 1: found the columns %s, want job and arrival_s among them", strings.Join(cells, ", "))
			}
			continue
		}
		if len(cells) <= max(job, arrival) {
			return nil, bad(path, "line %d: found %d columns, want as many as in line 1: the file may be cut short", n, len(cells))
		}
		if cells[job] != strconv.Itoa(len(out)) || len(out) >= mostJobs {
			return nil, bad(path, "line %d: found job %q, want %d: jobs are numbered from 0, up to %d", n, cells[job], len(out), mostJobs)
		}
		x, err := strconv.ParseFloat(cells[arrival], 64)
		if err != nil || !(x >= 0 && x <= mostSeconds) {
			return nil, bad(path, "line %d: found arrival_s %q, want seconds from 0 on", n, cells[arrival])
		}
		out = append(out, x)
	}
	switch {
	case lines.Err() != nil:
		return nil, bad(path, "%w", lines.Err())
	case len(out) == 0:
		return nil, bad(path, "found no jobs, want a header and a line for each job")
	}
	return out, nil
}

// readRuns reads the runs of all names, each once.
func readRuns(dir string, all []string) (map[string]record, error) {
	arrivals, err := readArrivals(dir)
	if err != nil {
		return nil, err
	}
	out := map[string]record{}
	for _, name := range all {
		if _, read := out[name]; read {
			continue
		}
		if out[name], err = readRun(dir, name, arrivals); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sortedNames are the names of the runs that were read.
func sortedNames(runs map[string]record) []string { return slices.Sorted(maps.Keys(runs)) }

func duration(seconds float64) model.Duration {
	return model.Duration(math.Round(seconds * float64(model.Second)))
}
