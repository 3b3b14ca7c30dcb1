package service_test

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
	"orrery/sim/scaling"
)

// One machine from 0.1 to 2 CPUs at 10 min, while the permit server is away from 5 min to 20.
const machineInAnOutage = `demand: {shape: step, base: 0.1, peak: 2, at: 10m, over: 15m, length: 50m}
service: {kind: machines, work: 1s, price: 2}
machines:
  nodes: [{cpus: 16, memory: 64GiB}]
  memory: {base: 300MiB, per_cpu: 1GiB, cache: 2GiB, fill: 50MiB/s}
faults: {outage_from: 5m, outage_length: 15m}
policies: [{kind: fixed, size: 8}, {kind: neon, max: 16, target: 0.9}]
seeds: 1
step: 10m
`

// scaled runs a comparison into a folder, and reads what is there.
func scaled(t *testing.T, text string) (dir string, doc scaling.Document, decisions [][]string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "machines.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	dir = filepath.Join(t.TempDir(), "scaled")
	got := clitest.Run(t, "scale", file, "--out", dir, "--quiet")
	require.Zero(t, got.Code, got.Stderr)
	result, err := os.ReadFile(filepath.Join(dir, "result.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(result, &doc))
	f, err := os.Open(filepath.Join(dir, "decisions.csv"))
	require.NoError(t, err)
	defer f.Close()
	decisions, err = csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	return dir, doc, decisions
}

// mean is that of a measure.
func mean(t *testing.T, p *scaling.PolicyDocument, name string) float64 {
	i := slices.IndexFunc(p.Measures, func(m scaling.MeasureDocument) bool { return m.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	require.NotNil(t, p.Measures[i].Mean, name)
	return *p.Measures[i].Mean
}

// In an outage an agent keeps its size and its permit, and says so in the log; behind it the
// first permit and the resize come at once.
func TestScaleMachinesInAnOutage(t *testing.T) {
	dir, doc, decisions := scaled(t, machineInAnOutage)
	fixed, neon := &doc.Policies[0], &doc.Policies[1]
	require.EqualValues(t, 20+120, mean(t, neon, "unanswered"), "reports each 15 s from 5 min to 10, and requests each 5 s to 20 min")
	require.InDelta(t, 2*8*50.0/60, mean(t, fixed, "cost"), 1e-9)
	require.InDelta(t, (35*1+15*8)/60.0, mean(t, fixed, "needed_hours"), 1e-6, "units: one, and eight for 15 min")
	require.InDelta(t, 100*35*7/155.0, mean(t, fixed, "theta_over"), 1e-4)
	require.Greater(t, mean(t, neon, "throttled"), mean(t, fixed, "throttled"))
	require.Empty(t, fixed.Rules)

	require.Equal(t, []string{"policy", "time", "machine", "size", "rule", "wanted", "guard", "proposed", "repeated"}, decisions[0])
	at := func(time, wanted, guard, proposed string) {
		require.Truef(t, slices.ContainsFunc(decisions, func(row []string) bool {
			return row[0] == "neon" && row[1] == time && row[2] == "1" && row[5] == wanted && row[6] == guard && row[7] == proposed
		}), "%s %s %s in %v", time, wanted, guard, decisions)
	}
	at("00:10:00", "resize to 4 units", "permit", "")
	at("00:10:02", "permit for 4 units", "failed_recently", "")
	at("00:20:00", "permit for 16 units", "", "yes")
	at("00:20:00.01", "resize to 16 units", "", "yes")

	html, err := os.ReadFile(filepath.Join(dir, "report.html"))
	require.NoError(t, err)
	require.Contains(t, string(html), "Supply over demand of nodes")
	require.Contains(t, string(html), "Pressure and migrations")
	again, _, _ := scaled(t, machineInAnOutage)
	for _, name := range []string{"result.json", "decisions.csv", "figures/supply.svg", "figures/pressure.svg"} {
		first, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		second, err := os.ReadFile(filepath.Join(again, name))
		require.NoError(t, err)
		require.Equal(t, first, second, name)
	}
}

// Machines that grow together migrate; one node has to refuse them.
func TestScaleMachinesMigrate(t *testing.T) {
	text := `demand: {shape: step, base: 1, peak: 9, at: 10m, over: 15m, length: 50m, noise: 0.2}
service: {kind: machines, work: 1s}
machines: {count: 4, spread: 0.2, noise: 0.2, nodes: [{count: 2, cpus: 6, memory: 24GiB}], memory: {per_cpu: 1GiB, refuse: 0.2}}
faults: {gap_from: 30m, gap_length: 2m, gaps: 0.02, error: 0.1, restart_at: 35m, restart_length: 20s}
policies:
  - {kind: neon, max: 16, target: 0.9}
  - {name: stay, kind: neon, max: 16, target: 0.9, plugin: {migrate: false}}
seeds: 2
`
	_, doc, decisions := scaled(t, text)
	moves, stays := &doc.Policies[0], &doc.Policies[1]
	require.Positive(t, mean(t, moves, "migrated"))
	require.LessOrEqual(t, mean(t, moves, "migrated")+mean(t, moves, "stayed"), mean(t, moves, "migrations"))
	require.Zero(t, mean(t, stays, "migrations"))
	for _, p := range doc.Policies {
		for _, name := range []string{"partial", "gaps", "resize_failures", "capacity_pressure"} {
			require.Positive(t, mean(t, &p, name), name)
		}
		require.Less(t, mean(t, &p, "granted"), 100.0)
	}
	guards := map[string]bool{}
	for _, row := range decisions {
		guards[row[0]+" "+row[6]] = true
	}
	require.True(t, guards["stay migration_disabled"] && guards["neon metric_unavailable"] && guards["neon not_the_next"], guards)
}

// What is wrong with a file of machines is told by line and column.
func TestBrokenScalingMachines(t *testing.T) {
	for change, says := range map[string]string{
		"service: {kind: machines, work: 1s, price: 2}->service: {kind: machines, slots: 2}":            ":2:34: service.slots: does not apply with service.kind: machines",
		"service: {kind: machines, work: 1s, price: 2}->service: {kind: machines, boot: 2s}":            ":2:33: service.boot: does not apply with service.kind: machines: leave it out",
		"service: {kind: machines, work: 1s, price: 2}->service: {kind: queue}":                         ":4:3: machines: does not apply with service.kind: queue",
		"faults: {outage->faults: {mtbf: 1h, outage":                                                    ":6:16: faults.mtbf: does not apply with service.kind: machines",
		"  nodes: [{cpus: 16, memory: 64GiB}]\n->":                                                      ":4:3: machines: has no nodes: list them",
		"[{cpus: 16, memory: 64GiB}]->[{memory: 64GiB}]":                                                ":4:11: machines.nodes[0]: has no CPUs",
		"[{cpus: 16, memory: 64GiB}]->[{cpus: 16}]":                                                     ":4:11: machines.nodes[0]: has no memory",
		"{cpus: 16,->{count: 0, cpus: 16,":                                                              ":4:19: machines.nodes[0].count: found 0, want 1 to 10000",
		"cpus: 16,->cpus: 1,":                                                                           ":4:10: machines.nodes: no node has room for machine 1 of 1 with the policy fixed",
		"machines:\n->machines:\n  unit_cpus: 0\n":                                                      ":4:14: machines.unit_cpus: found 0, want 0.001 to 1024",
		"base: 300MiB->base: much":                                                                      ":5:18: machines.memory.base: found \"much\"",
		"max: 16,->max: 16, agent: {memory_target: 2},":                                                 "policies[1].agent.memory_target: found 2, want 0.01 to 1",
		"max: 16,->max: 16, plugin: {cpu_watermark: 0},":                                                "policies[1].plugin.cpu_watermark: found 0, want 0.01 to 1",
		"kind: fixed, size: 8->kind: fixed, size: 8, plugin: {migrate: false}":                          "policies[0].plugin: does not apply to kind: fixed, but to neon",
		"kind: fixed, size: 8->kind: hpa":                                                               "policies[0].kind: found hpa, which changes a number of replicas: want neon or fixed",
		"kind: fixed, size: 8->kind: fixed, size: 0":                                                    "policies[0].size: found 0, want 1 or more",
		"max: 16,->max: 16, min: 0,":                                                                    "policies[1].min: found 0, want 1 or more",
		"service: {kind: machines, work: 1s, price: 2}->service: {kind: machines, work: 1s, start: 20}": ":2:44: service.start: found 20, want 1 to 16",
	} {
		from, to, _ := strings.Cut(change, "->")
		text := strings.Replace(machineInAnOutage, from, to, 1)
		require.NotEqual(t, machineInAnOutage, text, change)
		file := filepath.Join(t.TempDir(), "machines.yaml")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		got := clitest.Run(t, "scale", file, "--quiet")
		require.Equal(t, cli.ExitUsage, got.Code, "%s: %s", change, got.Stderr)
		assert.Contains(t, got.Stderr, says, change)
	}
}
