package verify_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
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
	got := clitest.Run(t, "synth", "gpu", "--out", trace, "--jobs", "60", "--nodes", "4", "--quiet")
	require.Zero(t, got.Code, got.Stderr)
	return cluster, trace
}

// TestGPUChoiceIsPartOfTheFingerprint: a build that picks other GPUs of the same nodes is
// told from this one by what it proposes.
func TestGPUChoiceIsPartOfTheFingerprint(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	broken := clitest.BrokenBuild(t, "scheduler/place/gpus.go", "	return lowestBits(free, n)\n", "	return free &^ lowestBits(free, int32(bits.OnesCount64(free))-n)\n")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	cluster, trace := gpuSite(t)
	got := clitest.Run(t, "verify", trace, "--cluster", cluster, "--vcluster-of", "all=v")
	require.Zero(t, got.Code, got.Stderr)
	got = clitest.Run(t, "verify", trace, "--cluster", cluster, "--vcluster-of", "all=v", "--against", broken)
	require.Equal(t, cli.ExitMismatch, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, "first diverging event")
	require.Contains(t, got.Stderr, "proposal to assign")
	require.Regexp(t, `run.json .*DIFFERS`, got.Stdout)
}

// TestVerifyFacts: the log of a run gives the same plans, and one with a node changed, or
// whose file is damaged, is told.
func TestVerifyFacts(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	cluster, trace := gpuSite(t)
	log := clitest.Small(t)
	for _, Flags := range [][]string{
		{log, "--procs", "8", "--order", "sjf"}, {log, "--procs", "8", "--profile", "hpc-batch"}, {trace, "--cluster", cluster, "--vcluster-of", "all=v"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		got := clitest.Run(t, append([]string{"replay", "--out", dir, "--facts", "--quiet"}, Flags...)...)
		require.Zero(t, got.Code, got.Stderr)
		got = clitest.Run(t, "verify", "--facts", dir, Flags[0])
		require.Zero(t, got.Code, got.Stderr)
		require.Regexp(t, `every plan is the same: [0-9,]+ facts, [0-9,]+ passes and [0-9,]+ proposals; fingerprint [0-9a-f]{32}`, got.Stdout)

		without := clitest.Run(t, "verify", "--facts", dir)
		require.Equal(t, got.Stdout, without.Stdout, "the run says where its log is: %s", without.Stderr)

		whole, err := os.ReadFile(filepath.Join(dir, "facts.parquet"))
		require.NoError(t, err)
		sealed, err := os.ReadFile(filepath.Join(dir, record.FileRun))
		require.NoError(t, err)
		cutLog(t, dir)
		got = clitest.Run(t, "verify", "--facts", dir, Flags[0])
		require.Equal(t, cli.ExitInput, got.Code, got.Stdout)
		require.Contains(t, got.Stderr, "facts.parquet: found content with the SHA-256")
		require.NoError(t, os.WriteFile(filepath.Join(dir, record.FileRun), clitest.Unsealed(t, sealed), 0o600))
		got = clitest.Run(t, "verify", "--facts", dir, Flags[0])
		require.Equal(t, cli.ExitInput, got.Code, got.Stdout)
		require.Contains(t, got.Stderr, "was cut off or changed")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "facts.parquet"), whole, 0o600))

		moveNode(t, dir)
		got = clitest.Run(t, "verify", "--facts", dir, Flags[0])
		require.Equal(t, cli.ExitMismatch, got.Code, got.Stderr)
		require.Regexp(t, `entry [0-9]+, plan [0-9]+, at .*: the log has ".*propose assign job .*"; a fresh core makes ".*propose assign job `, got.Stderr)
		got = clitest.Run(t, "verify", "--facts", dir, Flags[0], "-o", "json")
		require.Equal(t, cli.ExitMismatch, got.Code)
		require.Contains(t, got.Stdout, `"differs"`)

		require.NoError(t, os.WriteFile(filepath.Join(dir, "facts.parquet"), []byte("PAR1 and then nothing"), 0o600))
		require.Equal(t, cli.ExitInput, clitest.Run(t, "verify", "--facts", dir, Flags[0]).Code)
		require.NoError(t, os.Remove(filepath.Join(dir, "facts.parquet")))
		got = clitest.Run(t, "verify", "--facts", dir, Flags[0])
		require.Equal(t, cli.ExitInput, got.Code)
		require.Contains(t, got.Stderr, "replay once more with --facts")
	}
	require.Equal(t, cli.ExitUsage, clitest.Run(t, "verify", "--facts", log).Code)
	require.Equal(t, cli.ExitUsage, clitest.Run(t, "verify", "--facts", "--invariants", log).Code)
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
