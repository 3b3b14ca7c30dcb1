package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"orrery/internal/doc"
	"orrery/sim/stat"
	"orrery/sim/workerpool"
)

// selfLog is the part of a log on which the program compares a policy with itself: 80
// days of KTH-SP2.
const (
	selfLog  = "KTH-SP2-1996-2.1-cln.swf.gz"
	selfPart = "window begin=30d end=110d warm=false"
	selfName = "KTH-SP2, days 30 to 110"
)

// cliTable runs orrery compare again and again on two runs of one policy, each side
// with jittered arrivals of its own, with five seeds and a margin of 1 % as usual. It
// counts the comparisons that claim anything in any of their rows.
func cliTable(o *options) (*doc.Table, error) {
	dir, err := os.MkdirTemp("", "coverage")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	program, err := filepath.Abs(o.program)
	if err != nil {
		return nil, err
	}
	log, err := filepath.Abs(o.swf(selfLog))
	if err != nil {
		return nil, err
	}
	orrery := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			if exit.ExitCode() == 5 { // no evidence is an answer
				return out, nil
			}
			err = fmt.Errorf("orrery %q: %w: %s", args, err, exit.Stderr)
		}
		return out, err
	}
	if _, err := orrery("trace", "transform", log, "--out", "log.trace", "--step", selfPart); err != nil {
		return nil, err
	}
	for _, run := range []string{"a", "b"} {
		if _, err := orrery("replay", "log.trace", "--order", "fcfs", "--backfill", "easy", "--out", run, "-q"); err != nil {
			return nil, err
		}
	}
	answers := make([]answer, o.comparisons)
	_, err = workerpool.Each(ctx, o.comparisons, o.workers, nil, func() func(context.Context, int) error {
		return func(_ context.Context, k int) error {
			text, err := orrery("compare", "a", "b", "--noise", "log.trace", "--independent", "--seed", fmt.Sprint(1+2*runsOfASide*k), "--replicas", fmt.Sprint(runsOfASide), "-o", "json")
			if err != nil {
				return err
			}
			return json.Unmarshal(text, &answers[k])
		}
	})
	if err != nil {
		return nil, err
	}
	claims := 0
	for i := range answers {
		if answers[i].claims() {
			claims++
		}
	}
	first := &answers[0].Windows.Rows
	t := doc.New("log", "windows", "comparisons", "rows of each", "claim anything", "claim anything, %")
	t.Row(selfName, fmt.Sprint((*first)[0].Windows), fmt.Sprint(o.comparisons), fmt.Sprint(len(*first)), fmt.Sprint(claims), percent(claims, o.comparisons))
	return t, nil
}

// answer is what of the JSON of orrery compare is read here.
type answer struct {
	Windows struct {
		Rows []struct {
			Verdict string `json:"verdict"`
			Windows int    `json:"windows"`
		} `json:"rows"`
	} `json:"windows"`
}

func (a *answer) claims() bool {
	for _, r := range a.Windows.Rows {
		if slices.Contains([]string{stat.Better.String(), stat.Worse.String(), "differs"}, r.Verdict) {
			return true
		}
	}
	return false
}
