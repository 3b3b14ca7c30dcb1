package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

// usage of one finished process.
type usage struct {
	cpu time.Duration
	rss int64 // bytes
}

// best runs a command several times and keeps the least CPU time and the
// largest memory.
func best(reps int, name string, args ...string) (usage, error) {
	u := usage{cpu: 1 << 62}
	for range reps {
		cmd := exec.Command(name, args...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return u, fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
		}
		r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			return u, errors.New("this system does not say what a process used")
		}
		u.cpu = min(u.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		u.rss = max(u.rss, r.Maxrss*1024)
	}
	return u, nil
}

// startUp is what the program costs before it does anything.
func startUp(o options) (time.Duration, error) {
	u, err := best(o.reps, o.binary, "version")
	return u.cpu, err
}

// importLog makes the bundle of a log, or generates one.
func importLog(l *load, o options, tmp string) error {
	procs := strconv.Itoa(int(l.procs))
	l.bundle = filepath.Join(tmp, l.file()+".parquet")
	args := []string{"import", l.path, "--out", l.bundle, "--quiet"}
	switch {
	case l.site != nil && l.site.month:
		l.bundle, l.site.cluster = filepath.Join(tmp, l.name+".trace"), "month"
		args = []string{"synth", "site", "--out", l.bundle, "--nodes", procs, "--quiet"}
	case l.once:
		if err := writeInstant(l.bundle, l.jobs); err != nil || l.site == nil {
			return err
		}
		return l.site.furnish(l, tmp)
	case l.path == "":
		args = []string{"synth", "--out", l.bundle, "--jobs", strconv.Itoa(l.jobs), "--procs", procs, "--quiet"}
		if l.load > 0 {
			args = append(args, "--load", strconv.FormatFloat(l.load, 'g', -1, 64))
		}
	}
	if _, err := best(1, o.binary, args...); err != nil || l.site == nil || l.site.month {
		return err
	}
	return l.site.furnish(l, tmp)
}

func replayArgs(l load, o options, dir string) []string {
	args := []string{"replay", l.bundle, "--out", dir, "--force", "--quiet"} // of several replays the last one stays
	if l.site != nil {
		return append(args, "--cluster", l.site.cluster)
	}
	return append(args, "--procs", strconv.Itoa(int(l.procs)), "--order", o.policy.order, "--backfill", o.policy.backfill)
}

// program replays a bundle into a run directory, less the start-up.
func program(l load, o options, start time.Duration, tmp string) (usage, error) {
	u, err := best(o.reps, o.binary, replayArgs(l, o, filepath.Join(tmp, "run-"+l.file()))...)
	u.cpu -= start
	return u, err
}

var collected = regexp.MustCompile(`Collected : (\d+)`)

// instructionsPerJob counts the whole program's instructions under callgrind,
// less those of its start-up. ok is false where valgrind is not installed.
func instructionsPerJob(jobs int64, l load, o options, tmp string) (perJob int64, ok bool, err error) {
	if _, err := exec.LookPath("valgrind"); errors.Is(err, exec.ErrNotFound) {
		return 0, false, nil
	} else if err != nil {
		return 0, false, err
	}
	binary := filepath.Join(tmp, "orrery-valgrind")
	if _, err := os.Stat(binary); err != nil {
		if binary, err = build(tmp, "orrery-valgrind", "-tags", "valgrind"); err != nil {
			return 0, false, err
		}
	}
	all, err := instructions(binary, replayArgs(l, o, filepath.Join(tmp, "counted-"+l.file()))...)
	if err != nil {
		return 0, false, err
	}
	start, err := instructions(binary, "version")
	return (all - start) / jobs, true, err
}

func instructions(binary string, args ...string) (int64, error) {
	cmd := exec.Command("valgrind", append([]string{"--tool=callgrind", "--callgrind-out-file=/dev/null", binary}, args...)...)
	// Callgrind does not survive the signals of Go's preemption.
	cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("valgrind: %w\n%s", err, out)
	}
	m := collected.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("valgrind did not say how many instructions it counted:\n%s", out)
	}
	return strconv.ParseInt(string(m[1]), 10, 64)
}
