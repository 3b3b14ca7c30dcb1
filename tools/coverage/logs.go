package main

import (
	"context"
	"fmt"
	"path/filepath"

	"orrery/internal/doc"
	"orrery/scheduler/model"
	"orrery/sim/paired"
	"orrery/sim/plan"
	"orrery/sim/stat"
	"orrery/sim/task"
)

// logs are those on which a policy is compared with itself: the file and the
// processors of the cluster.
var logs = []struct {
	name, file string
	procs      int32
}{
	{"KTH-SP2", "KTH-SP2-1996-2.1-cln.swf.gz", 100},
	{"SDSC-SP2", "SDSC-SP2-1998-4.2-cln.swf.gz", 128},
}

// policies that are compared with themselves, with EASY backfilling.
var policies = []string{"fcfs", "sjf"}

// ofALog are the numbers of windows that logs are divided into.
var ofALog = []int{8, 12, 20, 40}

// runsOfASide with jittered arrivals, all with seeds of their own.
const runsOfASide = 5

// selfTable says how many of so many comparisons of a policy with itself claim
// anything, by the code of orrery compare: one run of each side, whose noise is not
// measured, and five of each. No margin calls a row the same.
func selfTable(o *options) (*doc.Table, error) {
	head := []string{"log", "policy", "comparisons", "runs of each side"}
	t := doc.New(append(head, heads(ofALog)...)...)
	each := o.comparisons / (len(logs) * len(policies))
	all := [2][]int{make([]int, len(ofALog)), make([]int, len(ofALog))}
	for _, l := range logs {
		runner, spec, err := o.open(l.file, l.procs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		for _, policy := range policies {
			spec.Order = policy
			claims, err := o.withItself(runner, spec, each)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", l.name, err)
			}
			for k, runs := range []int{1, runsOfASide} {
				t.Row(append([]any{l.name, policy, each, runs}, shares(claims[k], each)...)...)
				for i, n := range claims[k] {
					all[k][i] += n
				}
			}
		}
	}
	for k, runs := range []int{1, runsOfASide} {
		n := each * len(logs) * len(policies)
		t.Row(append([]any{"all", "", n, runs}, shares(all[k], n)...)...)
	}
	return t, nil
}

func shares(hits []int, of int) []any {
	out := make([]any, len(hits))
	for i, n := range hits {
		out[i] = percent(n, of)
	}
	return out
}

// swf is the path of a log.
func (o *options) swf(file string) string { return filepath.Join(o.data, "traces", "swf", file) }

// open reads a log, for replays on a plain cluster.
func (o *options) open(file string, procs int32) (*task.Runner, plan.Spec, error) {
	l, err := openWholeLog(o.swf(file))
	if err != nil {
		return nil, plan.Spec{}, err
	}
	spec := plan.DefaultSpec()
	spec.Cluster.Procs = procs
	spec, err = l.bind(spec)
	return l.runner, spec, err
}

// withItself counts the comparisons that claim anything, with one run of each side
// and with several, by number of windows.
func (o *options) withItself(runner *task.Runner, spec plan.Spec, comparisons int) (claims [2][]int, err error) {
	claims = [2][]int{make([]int, len(ofALog)), make([]int, len(ofALog))}
	s := stat.Defaults()
	s.Margin = 0
	for k := range comparisons {
		var list []paired.Replica
		for r := range 2 * runsOfASide {
			list = append(list, paired.Replica{Spec: spec, By: model.Minute, Seed: 1 + k*2*runsOfASide + r})
		}
		runs, err := paired.Replay(context.Background(), runner, list, o.workers, nil)
		if err != nil {
			return claims, err
		}
		for i, n := range ofALog {
			for j, of := range []int{1, runsOfASide} {
				a, b := paired.Side{Name: "a", Runs: runs[:of]}, paired.Side{Name: "b", Runs: runs[runsOfASide : runsOfASide+of]}
				r, err := paired.Compare(a, []paired.Side{b}, paired.Options{Windows: n, Stat: s})
				if err != nil {
					return claims, err
				}
				if anything(r) {
					claims[j][i]++
				}
			}
		}
	}
	return claims, nil
}

func anything(r *paired.Result) bool {
	for i := range r.Rows {
		if r.Rows[i].Claims() {
			return true
		}
	}
	return false
}
