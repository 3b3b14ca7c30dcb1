package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler"
	"orrery/scheduler/drive"
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

		without := inProcess(t, "verify", "--facts", dir)
		require.Equal(t, got.stdout, without.stdout, "the run says where its log is: %s", without.stderr)

		whole, err := os.ReadFile(filepath.Join(dir, "facts.parquet"))
		require.NoError(t, err)
		sealed, err := os.ReadFile(filepath.Join(dir, record.FileRun))
		require.NoError(t, err)
		cutLog(t, dir)
		got = inProcess(t, "verify", "--facts", dir, settings[0])
		require.Equal(t, exitInput, got.code, got.stdout)
		require.Contains(t, got.stderr, "facts.parquet: found content with the SHA-256")
		require.NoError(t, os.WriteFile(filepath.Join(dir, record.FileRun), unsealed(t, sealed), 0o600))
		got = inProcess(t, "verify", "--facts", dir, settings[0])
		require.Equal(t, exitInput, got.code, got.stdout)
		require.Contains(t, got.stderr, "was cut off or changed")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "facts.parquet"), whole, 0o600))

		moveNode(t, dir)
		got = inProcess(t, "verify", "--facts", dir, settings[0])
		require.Equal(t, exitMismatch, got.code, got.stderr)
		require.Regexp(t, `entry [0-9]+, plan [0-9]+, at .*: the log has ".*propose assign job .*"; a fresh core makes ".*propose assign job `, got.stderr)
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

// cutLog leaves out the second half of the log of a run.
func cutLog(t *testing.T, dir string) {
	t.Helper()
	entries := 0
	for _, err := range record.ReadLog(dir) {
		require.NoError(t, err)
		entries++
	}
	i, cut := 0, false
	rewriteLog(t, dir, func(e *commitlog.Entry) bool {
		i++
		cut = cut || i > entries/2 && e.What == commitlog.Round && e.Round != drive.Answered && e.Round != drive.Unmet
		return !cut
	})
}

// moveNode changes one node, or GPU, of the tenth proposal in the log of a run.
func moveNode(t *testing.T, dir string) {
	t.Helper()
	proposals := 0
	rewriteLog(t, dir, func(e *commitlog.Entry) bool {
		if e.What != commitlog.Proposal {
			return true
		}
		p := &e.Proposal.Placement
		if proposals++; proposals == 10 && len(p.Words) > 0 {
			p.Words[0].Mask ^= 1
		} else if proposals == 10 {
			p.Shares[0].GPUs ^= 3
		}
		return true
	})
}

// rewriteLog writes the log of a run anew, with the entries that are kept as keep has
// changed them.
func rewriteLog(t *testing.T, dir string, keep func(e *commitlog.Entry) bool) {
	t.Helper()
	other := filepath.Join(t.TempDir(), "other")
	run, err := record.Open(dir)
	require.NoError(t, err)
	defer run.Close()
	w, err := record.Create(other, record.Meta{Epoch: run.Epoch(), SpecID: run.SpecID(), Facts: true, Users: func() []string { return nil }})
	require.NoError(t, err)
	log := w.Log()
	for e, err := range record.ReadLog(dir) {
		require.NoError(t, err)
		if !keep(e) {
			continue
		}
		switch e.What {
		case commitlog.Round:
			log.Round(e.Now, e.Round, int(e.Count))
		case commitlog.Fact:
			log.Fact(e.Now, &e.Fact)
		case commitlog.Pass:
			log.Passed(e.Now, &scheduler.Plan{Proposals: make([]model.Proposal, e.Count), Due: e.Due, QuietUntil: e.QuietUntil, Again: e.Again})
		case commitlog.Proposal:
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
}

// unsealed is run.json as it was before it had digests: what is altered behind it is not
// found at once.
func unsealed(t *testing.T, document []byte) []byte {
	t.Helper()
	var tree map[string]any
	require.NoError(t, json.Unmarshal(document, &tree))
	delete(tree, "files")
	delete(tree, "digest")
	tree["schema"] = 1
	text, err := json.Marshal(tree)
	require.NoError(t, err)
	return text
}
