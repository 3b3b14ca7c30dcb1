package main

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/metric"
	"orrery/sim/tune"
)

// TestOne tunes a small generated log by the program, and holds the recommendation
// against replays of it.
func TestOne(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and tunes")
	}
	dir := t.TempDir()
	orrery := filepath.Join(dir, "orrery")
	build, err := exec.Command("go", "build", "-o", orrery, "orrery/cmd/orrery").CombinedOutput()
	require.NoError(t, err, "%s", build)
	log := filepath.Join(dir, "log.trace")
	text, err := exec.Command(orrery, "synth", "lublin", "--jobs", "3000", "--procs", "64", "--load", "0.75", "--seed", "4", "--out", log).CombinedOutput()
	require.NoError(t, err, "%s", text)

	var out strings.Builder
	o := options{orrery: orrery, plans: "40", seeds: 1, out: &out}
	broken, err := o.run(context.Background(), []string{log + "=64"})
	require.NoError(t, err, out.String())
	require.Zero(t, broken)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3)
	require.Contains(t, lines[2], "| log.trace | 40 | 1 | ")
	require.Contains(t, lines[2], "| yes |", "something is recommended, so the replays were compared")

	o = options{orrery: "false", plans: "40", seeds: 1, out: io.Discard}
	_, err = o.run(context.Background(), []string{log})
	require.ErrorContains(t, err, "log.trace, windows 40, seed 1")
}

func TestAgree(t *testing.T) {
	x, y := 3.0, 4.0
	of := func(v *float64) *table {
		m := table{}
		m.Metrics = append(m.Metrics, struct {
			Name, Window string
			Value        *float64
		}{"wait_max", metric.All, v})
		return &m
	}
	lines := []tune.WholeLine{{Metric: "wait_max", Now: 3, Then: 4}, {Metric: "unknown to replay", Now: 1, Then: 1}}
	require.NoError(t, agree(lines, of(&x), of(&y)))
	require.ErrorContains(t, agree(lines, of(&x), of(&x)), "wait_max is 4 from end to end by tune, and 3 by replay")
}
