package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/sim/commitlog"
	"orrery/sim/record"
)

// gpuSite is a cluster file whose jobs share nodes by GPU, and a trace for it.
func gpuSite(t *testing.T) (cluster, trace string) {
	t.Helper()
	dir := t.TempDir()
	cluster, trace = filepath.Join(dir, "gpus.yaml"), filepath.Join(dir, "gpus.trace")
	require.NoError(t, os.WriteFile(cluster, []byte(`
sharing: gpus
node_types: [{name: a, gpus: 8, gpu: H100, gpu_memory: 80GB, cpus: 96, memory: 1024GiB}]
groups: [{name: g, nodes: "n[1-4]", type: a}]
vclusters: [{name: v, home: "n[1-4]", profile: {order: fcfs, backfill: easy}}]
`), 0o600))
	got := inProcess(t, "synth", "gpu", "--out", trace, "--jobs", "60", "--nodes", "4", "--quiet")
	require.Zero(t, got.code, got.stderr)
	return cluster, trace
}

// TestGPUChoiceIsPartOfTheFingerprint: a build that picks other GPUs of the same nodes is
// told from this one by what it proposes.
func TestGPUChoiceIsPartOfTheFingerprint(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	broken := brokenBuild(t, "scheduler/place/gpus.go", "	return lowestBits(free, n)\n", "	return free &^ lowestBits(free, int32(bits.OnesCount64(free))-n)\n")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	cluster, trace := gpuSite(t)
	got := inProcess(t, "verify", trace, "--cluster", cluster, "--vcluster-of", "all=v")
	require.Zero(t, got.code, got.stderr)
	got = inProcess(t, "verify", trace, "--cluster", cluster, "--vcluster-of", "all=v", "--against", broken)
	require.Equal(t, exitMismatch, got.code, got.stderr)
	require.Contains(t, got.stderr, "first diverging event")
	require.Contains(t, got.stderr, "proposal to assign")
	require.Regexp(t, `run.json .*DIFFERS`, got.stdout)
}

// TestVerifyFacts: the log of a run gives the same plans, and one with a node changed, or
// whose file is damaged, is told.
func TestVerifyFacts(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	cluster, trace := gpuSite(t)
	log := small(t)
	for _, settings := range [][]string{
		{log, "--procs", "8", "--order", "sjf"}, {log, "--procs", "8", "--profile", "hpc-batch"}, {trace, "--cluster", cluster, "--vcluster-of", "all=v"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		got := inProcess(t, append([]string{"replay", "--out", dir, "--facts", "--quiet"}, settings...)...)
		require.Zero(t, got.code, got.stderr)
		got = inProcess(t, "verify", "--facts", dir, settings[0])
		require.Zero(t, got.code, got.stderr)
		require.Regexp(t, `every plan is the same: [0-9,]+ facts, [0-9,]+ passes and [0-9,]+ proposals; fingerprint [0-9a-f]{32}`, got.stdout)

		want := rewriteLog(t, dir)
		got = inProcess(t, "verify", "--facts", dir, settings[0])
		require.Equal(t, exitMismatch, got.code, got.stderr)
		require.Contains(t, got.stderr, want)
		require.Contains(t, got.stderr, "a fresh core makes at")
		got = inProcess(t, "verify", "--facts", dir, settings[0], "-o", "json")
		require.Equal(t, exitMismatch, got.code)
		require.Contains(t, got.stdout, `"differs"`)

		require.NoError(t, os.WriteFile(filepath.Join(dir, "facts.parquet"), []byte("PAR1 and then nothing"), 0o600))
		require.Equal(t, exitInput, inProcess(t, "verify", "--facts", dir, settings[0]).code)
		require.NoError(t, os.Remove(filepath.Join(dir, "facts.parquet")))
		got = inProcess(t, "verify", "--facts", dir, settings[0])
		require.Equal(t, exitInput, got.code)
		require.Contains(t, got.stderr, "replay once more with --facts")
	}
	require.Equal(t, exitUsage, inProcess(t, "verify", "--facts", log).code)
	require.Equal(t, exitUsage, inProcess(t, "verify", "--facts", "--invariants", log).code)
}

// rewriteLog changes one node, or GPU, of the tenth proposal in the log of a run, and says
// how that is told.
func rewriteLog(t *testing.T, dir string) (place string) {
	t.Helper()
	other := filepath.Join(t.TempDir(), "other")
	run, err := record.Open(dir)
	require.NoError(t, err)
	defer run.Close()
	w, err := record.Create(other, record.Meta{Epoch: run.Epoch(), SpecID: run.SpecID(), Facts: true, Users: func() []string { return nil }})
	require.NoError(t, err)
	log, proposals := w.Log(), 0
	for e, err := range record.ReadLog(dir) {
		require.NoError(t, err)
		switch e.What {
		case commitlog.Round:
			log.Round(e.Now, e.Round, int(e.Count))
		case commitlog.Fact:
			log.Fact(e.Now, &e.Fact)
		case commitlog.Pass:
			log.Passed(e.Now, &scheduler.Plan{Proposals: make([]model.Proposal, e.Count), Due: e.Due, QuietUntil: e.QuietUntil, Again: e.Again})
		case commitlog.Proposal:
			p := &e.Proposal.Placement
			if proposals++; proposals == 10 && len(p.Words) > 0 {
				p.Words[0].Mask ^= 1
			} else if proposals == 10 {
				p.Shares[0].GPUs ^= 3
			}
			log.Proposed(e.Now, &e.Proposal)
		}
	}
	_, err = w.Seal()
	require.NoError(t, err)
	require.NoError(t, w.WriteJSON(record.FileRun, map[string]any{}))
	require.NoError(t, w.WriteJSON(record.FileMetrics, map[string]any{}))
	require.NoError(t, w.Close())
	text, err := os.ReadFile(filepath.Join(other, "facts.parquet"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "facts.parquet"), text, 0o600))
	return "the log has at "
}
