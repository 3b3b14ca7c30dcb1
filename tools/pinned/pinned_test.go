package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/hwmodel"
	"orrery/hwmodel/fit"
	"orrery/scheduler/model"
	"orrery/tools/refdata"
)

const (
	allox = "allox-physical.json.gz"
	least = "min_total_duration-physical.json.gz"
)

// Bars, parts of the recorded value.
const (
	makespanBar  = 0.015
	jctMedianBar = 0.02
	jctP90Bar    = 0.06
)

func (p prediction) within() bool {
	return math.Abs(p.MakespanError) <= makespanBar && p.JCTErrorMedian <= jctMedianBar && p.JCTErrorP90 <= jctP90Bar
}

func resultOf(t *testing.T, args ...string) result {
	t.Helper()
	var out, complaints bytes.Buffer
	require.Equal(t, exitOK, run(append(args, "-o", "json"), &out, &complaints), complaints.String())
	var r result
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	return r
}

// TestOnePolicyPredictsTheOther: the cost of restarts, fitted on one run, predicts the other
// within the bars. Without a cost, or with the same cost in each round, it does not.
func TestOnePolicyPredictsTheOther(t *testing.T) {
	dir := refdata.Path(t, "traces", "fidelity", "shockwave-tacc")
	for known, other := range map[string]string{allox: least, least: allox} {
		r := resultOf(t, "--data", dir, "--fit", known, "--predict", other)
		p := r.Predictions[0]
		t.Logf("%s: %+v, from %+v", other, p, r.Fit)
		require.True(t, p.within(), "%+v", p)
		require.InDelta(t, 1, r.Fit.C1, 0.1)
		require.LessOrEqual(t, r.Fit.FLow, r.Fit.F)
		require.GreaterOrEqual(t, r.Fit.FHigh, r.Fit.F)

		runs, err := readRuns(dir, []string{known, other})
		require.NoError(t, err)
		none := predict(runs[other], bestFinal(runs[known], hwmodel.Restart{}))
		fixed := predict(runs[other], sameEachRound(runs[known]))
		t.Logf("%s: no cost %+v, the same in each round %+v", other, none, fixed)
		require.False(t, none.within(), "no cost: %+v", none)
		require.False(t, fixed.within(), "the same cost in each round: %+v", fixed)
	}
}

// TestBothPoliciesTogether: fitted on both runs, each is met closer than from the other alone.
func TestBothPoliciesTogether(t *testing.T) {
	dir := refdata.Path(t, "traces", "fidelity", "shockwave-tacc")
	for _, p := range resultOf(t, "--data", dir, "--fit", allox+","+least, "--predict", allox+","+least).Predictions {
		require.Less(t, math.Abs(p.MakespanError), 0.005, "%+v", p)
		require.Less(t, p.JCTErrorMedian, 0.01, "%+v", p)
		require.Less(t, p.JCTErrorP90, 0.02, "%+v", p)
	}
	wide := resultOf(t, "--data", dir, "--fit", least, "--predict", allox).Fit
	require.Greater(t, wide.FHigh-wide.FLow, 0.5, "one run does not tell the end of the last round")
}

// distance is the mean distance of completions from the record.
func distance(r record, cost hwmodel.Restart) float64 {
	sum := 0.0
	for j, c := range r.schedule.Replay(cost) {
		sum += math.Abs((c - r.schedule.Completion[j]).Seconds())
	}
	return sum
}

// bestFinal is the cost with the end of the last round that suits the run best.
func bestFinal(r record, cost hwmodel.Restart) hwmodel.Restart {
	best := cost
	for f := -5.0; f <= 5; f += 0.02 {
		cost.Final = f
		if distance(r, cost) < distance(r, best) {
			best = cost
		}
	}
	return best
}

// sameEachRound is the best model whose rounds all take the same.
func sameEachRound(r record) hwmodel.Restart {
	best := bestFinal(r, hwmodel.Restart{})
	for lost := model.Duration(0); lost <= 20*model.Second; lost += model.Second {
		if c := bestFinal(r, hwmodel.Restart{PerRound: lost}); distance(r, c) < distance(r, best) {
			best = c
		}
	}
	return best
}

// planted is a run of 12 jobs, one after the other on one GPU each, whose rounds take what the
// cost says.
func planted(t *testing.T, cost hwmodel.Restart) (arrivals []float64, file map[string]any) {
	t.Helper()
	s := fit.Schedule{Length: 120 * model.Second}
	var rounds []map[string][]int
	for j := range 12 {
		arrivals = append(arrivals, float64(50*j))
		s.Arrival = append(s.Arrival, duration(arrivals[j]))
	}
	for r := range 30 {
		round := map[string][]int{}
		var held []fit.Held
		for g := range 1 + r%5 {
			j := (r*r + g) % 12
			round[fmt.Sprint(j)] = []int{g}
			held = append(held, fit.Held{Job: j, GPUs: []int{g}})
		}
		rounds, s.Rounds = append(rounds, round), append(s.Rounds, held)
	}
	jct, last := []float64{}, 0.0
	for j, c := range s.Replay(cost) {
		jct = append(jct, c.Seconds()-arrivals[j])
		last = max(last, c.Seconds())
	}
	return arrivals, map[string]any{"policy": "planted", "round_s": 120, "rounds": rounds, "jct_s": jct, "makespan_s": last + 10}
}

// folder writes a run and its trace.
func folder(t *testing.T, arrivals []float64, file any) string {
	t.Helper()
	dir := t.TempDir()
	text := "job\tarrival_s\n"
	for j, a := range arrivals {
		text += fmt.Sprintf("%d\t%v\n", j, a)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, traceName), []byte(text), 0o600))
	body, ok := file.([]byte)
	if !ok {
		plain, err := json.Marshal(file)
		require.NoError(t, err)
		body = packed(t, plain)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run.json.gz"), body, 0o600))
	return dir
}

func packed(t *testing.T, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(plain)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

// TestPlantedCost: a known cost is found again.
func TestPlantedCost(t *testing.T) {
	for _, want := range []hwmodel.Restart{{}, {PerRestart: 1500 * model.Millisecond, Final: 0.5}, {PerRestart: 800 * model.Millisecond, Final: -1}} {
		arrivals, file := planted(t, want)
		r := resultOf(t, "--data", folder(t, arrivals, file), "--fit", "run.json.gz", "--predict", "run.json.gz")
		require.InDelta(t, want.PerRestart.Seconds(), r.Fit.C1, 0.011)
		require.InDelta(t, want.Final, r.Fit.F, 0.011)
		require.Zero(t, r.Fit.C0)
		require.InDelta(t, 0, r.Predictions[0].JCTErrorP90, 1e-6)
	}
	want := hwmodel.Restart{PerRound: 3 * model.Second, PerRestart: 2 * model.Second, Final: 0.5}
	arrivals, file := planted(t, want)
	r := resultOf(t, "--data", folder(t, arrivals, file), "--fit", "run.json.gz", "--predict", "run.json.gz", "--fit-round-cost")
	require.Equal(t, []float64{3, 2, 0.5}, []float64{r.Fit.C0, r.Fit.C1, r.Fit.F}, "where the number of restarts differs between rounds, both costs are found")
}

// TestDaylightSaving: a makespan that ends before the last job gets an hour, and says so.
func TestDaylightSaving(t *testing.T) {
	arrivals, file := planted(t, hwmodel.Restart{PerRestart: model.Second})
	recorded := file["makespan_s"].(float64)
	for _, c := range []struct {
		makespan float64
		added    bool
		says     string
	}{{recorded, false, "no change of daylight saving time"}, {recorded - 3600, true, "an hour was added"}} {
		file["makespan_s"] = c.makespan
		dir := folder(t, arrivals, file)
		r := resultOf(t, "--data", dir, "--fit", "run.json.gz", "--predict", "run.json.gz")
		require.Equal(t, c.added, r.Daylight[0].HourAdded)
		require.InDelta(t, recorded, r.Daylight[0].Makespan, 1e-6)
		var out bytes.Buffer
		require.Equal(t, exitOK, run([]string{"--data", dir, "--fit", "run.json.gz", "--predict", "run.json.gz"}, &out, &out))
		require.Contains(t, out.String(), c.says)
		require.Contains(t, out.String(), "0.00 (not fitted)")
	}
}

// TestBadInput: what a file lacks is said with its name, and the exit code is 3.
func TestBadInput(t *testing.T) {
	arrivals, good := planted(t, hwmodel.Restart{})
	plain, err := json.Marshal(good)
	require.NoError(t, err)
	with := func(key string, value any) map[string]any {
		out := maps.Clone(good)
		out[key] = value
		if value == nil {
			delete(out, key)
		}
		return out
	}
	whole := packed(t, plain)
	rounds := good["rounds"].([]map[string][]int)
	for _, c := range []struct {
		name string
		file any
		says string
	}{
		{"no policy", with("policy", nil), "policy missing or empty"},
		{"no rounds", with("rounds", nil), "rounds missing or empty"},
		{"two keys", map[string]any{"policy": "x", "round_s": 120, "rounds": rounds}, "jct_s, makespan_s missing or empty"},
		{"a length of 0", with("round_s", 0), "round_s: found 0"},
		{"too few jobs", with("jct_s", []float64{1, 2}), "found 2 values of jct_s, want one for each of the 12 jobs"},
		{"a negative completion", with("jct_s", []float64{1, -2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}), "jct_s of job 1: found -2"},
		{"rounds that are cut off", with("rounds", rounds[:1]), "in no round"},
		{"an unknown job", with("rounds", []map[string][]int{{"12": {0}}}), `rounds, item 0: found job "12", want a number from 0 to 11`},
		{"a GPU twice", with("rounds", []map[string][]int{{"1": {0}, "2": {0}}}), "found GPU 0 with the jobs 1 and 2"},
		{"no GPU", with("rounds", []map[string][]int{{"1": {}}}), "job 1: found the GPUs []"},
		{"a makespan hours too short", with("makespan_s", 10), "an hour of daylight saving does not explain it"},
		{"no gzip", plain, "found no gzip data"},
		{"cut short", whole[:len(whole)/2], "cut short after"},
		{"damaged", append(bytes.Clone(whole[:len(whole)-8]), 1, 2, 3, 4, 5, 6, 7, 8), "damaged"},
		{"no JSON", packed(t, []byte("{")), "want one JSON object of a run"},
		{"another type", packed(t, []byte(`{"policy": 3}`)), "want one JSON object of a run"},
	} {
		var out, complaints bytes.Buffer
		code := run([]string{"--data", folder(t, arrivals, c.file), "--fit", "run.json.gz", "--predict", "run.json.gz"}, &out, &complaints)
		require.Equal(t, exitInput, code, c.name)
		require.Contains(t, complaints.String(), c.says, c.name)
		require.Contains(t, complaints.String(), "run.json.gz", c.name)
		require.Empty(t, out.String(), c.name)
	}
}

func TestBadTrace(t *testing.T) {
	arrivals, good := planted(t, hwmodel.Restart{})
	for _, c := range []struct{ trace, says string }{
		{"", "found no jobs"},
		{"job\tarrival_s\n", "found no jobs"},
		{"job\tstart_s\n0\t1\n", "line 1: found the columns job, start_s, want job and arrival_s"},
		{"job\tarrival_s\n0\n", "line 2: found 1 columns"},
		{"job\tarrival_s\n1\t1\n", `line 2: found job "1", want 0`},
		{"job\tarrival_s\n0\tNaN\n", `line 2: found arrival_s "NaN"`},
		{"job\tarrival_s\n0\t5\n1\t-1\n", `line 3: found arrival_s "-1"`},
	} {
		dir := folder(t, arrivals, good)
		require.NoError(t, os.WriteFile(filepath.Join(dir, traceName), []byte(c.trace), 0o600))
		var out, complaints bytes.Buffer
		require.Equal(t, exitInput, run([]string{"--data", dir, "--fit", "run.json.gz", "--predict", "run.json.gz"}, &out, &complaints), c.trace)
		require.Contains(t, complaints.String(), traceName+": "+c.says)
	}
	var complaints bytes.Buffer
	require.Equal(t, exitInput, run([]string{"--data", t.TempDir(), "--fit", "run.json.gz", "--predict", "run.json.gz"}, &complaints, &complaints))
	require.Contains(t, complaints.String(), traceName)
}

// TestFewJobs: a run that tells nothing of its cost is no bad input.
func TestFewJobs(t *testing.T) {
	dir := folder(t, []float64{0}, map[string]any{"policy": "x", "round_s": 120, "rounds": []map[string][]int{{"0": {0}}}, "jct_s": []float64{60}, "makespan_s": 60})
	var out, complaints bytes.Buffer
	require.Equal(t, exitTooFew, run([]string{"--data", dir, "--fit", "run.json.gz", "--predict", "run.json.gz"}, &out, &complaints))
	require.Contains(t, complaints.String(), "jobs of the runs: found 1, want at least 10")
}

func TestUsage(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"", "--data is missing"},
		{"--data x", "--fit is missing"},
		{"--data x --fit a", "--predict is missing"},
		{"--data x --fit a --predict b -o xml", "want table or json"},
		{"--data x --fit a --predict ../b", `found the run "../b"`},
		{"--data x --fit a --predict b c", `found the argument "c"`},
		{"--unknown", "flag provided but not defined"},
	} {
		var out, complaints bytes.Buffer
		require.Equal(t, exitUsage, run(strings.Fields(c.args), &out, &complaints), c.args)
		require.Contains(t, complaints.String(), c.says)
	}
	var out bytes.Buffer
	require.Equal(t, exitOK, run([]string{"-h"}, &out, &out))
}
