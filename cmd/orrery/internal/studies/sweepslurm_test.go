package studies_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/clitest"
	"orrery/sim/sweep"
	"orrery/tools/refdata"
)

// TestRealSlurmSweep sweeps a real log on a real Slurm of four nodes, with the
// program as people build it: the elements of the array are orrery worker STUDY.
// One node is lost with all that runs on it, and a worker on another is stopped
// for longer than its lease and goes on. Every result is there, none was committed
// twice, and the bytes are those of a sweep on this machine alone.
func TestRealSlurmSweep(t *testing.T) {
	slurm := realSlurm(t)
	dir := t.TempDir()
	program, file := clitest.Built(t), filepath.Join(dir, "experiment.yaml")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache")) // not before: what go has built is there too
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `traces: [%s]
jitter: {by: 30s, seeds: [1]}
design: sobol
points: 32
settings: [{path: weights, parts: [wait_time, fair_share, backlog]}, {path: reference_wait, from: 5m, to: 12h, log: true}]
`, refdata.Path(t, "traces", "swf", "KTH-SP2-1996-2.1-cln.swf.gz")), 0o600))
	const tasks = 2 * 32

	study := filepath.Join(dir, "study")
	cmd := exec.Command(program, "sweep", file, "--out", study, "--executor", "slurm", "--workers", "8", "--sbatch=--cpus-per-task=4",
		"--lease", "2s", "-o", "json")
	var table, says bytes.Buffer
	cmd.Stdout, cmd.Stderr = &table, &says
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	patiently(t, &says, func() bool { return len(notesOf(study, "commit")) >= 8 })
	began := time.Now()
	killNode(t, slurm, "n4")
	victims := workersOn(t, "n2")
	require.NotEmpty(t, victims, "no worker runs on n2")
	require.NoError(t, syscall.Kill(victims[0], syscall.SIGSTOP))
	late := resumeOnceFenced(t, study, victims[0])
	select {
	case err := <-ended:
		require.NoError(t, err, says.String())
	case <-time.After(2 * time.Minute):
		require.Fail(t, "the sweep does not end", says.String())
	}
	took := time.Since(began)
	patiently(t, &says, func() bool { return slices.ContainsFunc(notesOf(study, "close"), late.sameWriter) })

	s, err := sweep.Open(study, "")
	require.NoError(t, err)
	require.NoError(t, s.Verdict())
	st, err := s.Status()
	require.NoError(t, err)
	t.Logf("%v | %d tries, %d processes | complete %.1f s after the loss | the stopped worker went on and noted %v\n%s",
		st, st.Started, st.Writers, took.Seconds(), last(4, kindsOf(study, late)), says.String())
	require.Equal(t, tasks, st.Results)
	require.GreaterOrEqual(t, st.Lost, 2, "a task of the node and one of the stopped worker")
	require.GreaterOrEqual(t, st.Writers, 9, "the workers, and the process that watches them")
	requireOneCommit(t, study)

	alone := filepath.Join(dir, "alone")
	cmd = exec.Command(program, "sweep", file, "--out", alone, "--workers", "2", "-o", "json")
	want, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, clitest.ResultFiles(t, alone), clitest.ResultFiles(t, study))
	require.Equal(t, string(want), table.String())
}

// realSlurm starts a Slurm of four nodes, where that is asked for.
func realSlurm(t *testing.T) (dir string) {
	t.Helper()
	if os.Getenv("ORRERY_REQUIRE_SLURM") == "" {
		t.Skip("starts the daemons of a Slurm on this machine: bash tools/slurm/ci.sh installs Slurm and runs this test")
	}
	dir = t.TempDir()
	scripts, err := filepath.Abs(filepath.Join("..", "..", "..", "..", "tools", "slurm"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = exec.Command("bash", filepath.Join(scripts, "down.sh"), dir).Run() })
	out, err := exec.Command("bash", filepath.Join(scripts, "up.sh"), dir, "4").CombinedOutput()
	require.NoError(t, err, string(out))
	t.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf"))
	return dir
}

// journalNote is what a line of a journal says of a task.
type journalNote struct {
	Kind   string `json:"kind"`
	Task   int    `json:"task"`
	Writer string `json:"writer"` // which writer it is about
	By     string `json:"-"`      // whose journal it is in
}

func (n journalNote) sameWriter(o journalNote) bool { return n.By == o.By }

// notesOf reads all journals of a study; a last line that is being written is
// passed over. An empty kind stands for all.
func notesOf(study, kind string) []journalNote {
	var all []journalNote
	files, _ := filepath.Glob(filepath.Join(study, "journal", "*.jsonl"))
	for _, path := range files {
		text, _ := os.ReadFile(path)
		for line := range bytes.Lines(text) {
			n := journalNote{By: strings.TrimSuffix(filepath.Base(path), ".jsonl")}
			if json.Unmarshal(line, &n) == nil && (kind == "" || n.Kind == kind) {
				all = append(all, n)
			}
		}
	}
	return all
}

func kindsOf(study string, like journalNote) []string {
	var kinds []string
	for _, n := range notesOf(study, "") {
		if n.sameWriter(like) {
			kinds = append(kinds, n.Kind)
		}
	}
	return kinds
}

func last(n int, of []string) []string { return of[max(0, len(of)-n):] }

// requireOneCommit asks that no journal, and no two together, say twice that the
// result of a task was put in place.
func requireOneCommit(t *testing.T, study string) {
	t.Helper()
	times := map[int]int{}
	for _, n := range notesOf(study, "commit") {
		times[n.Task]++
		require.Equal(t, 1, times[n.Task], "task %d", n.Task)
	}
	require.Empty(t, notesOf(study, "fault"))
}

// patiently waits for something that takes Slurm and its workers some seconds.
func patiently(t *testing.T, says *bytes.Buffer, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(90 * time.Second); !so(); time.Sleep(50 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "it never came: %s", says)
	}
}

// resumeOnceFenced lets a stopped process go on once another has computed the
// task that it was at, and returns a note whose By it is.
func resumeOnceFenced(t *testing.T, study string, pid int) journalNote {
	t.Helper()
	defer func() { require.NoError(t, syscall.Kill(pid, syscall.SIGCONT)) }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		for _, lost := range notesOf(study, "lost") {
			done := func(n journalNote) bool { return n.Task == lost.Task && n.By == lost.By }
			if strings.Contains(lost.Writer, fmt.Sprintf("-%d-", pid)) && slices.ContainsFunc(notesOf(study, "commit"), done) {
				return journalNote{By: lost.Writer}
			}
		}
	}
	require.Fail(t, "the stopped worker was never taken for lost")
	return journalNote{}
}

// workersOn are the processes orrery worker that a node of this Slurm runs.
func workersOn(t *testing.T, node string) []int {
	t.Helper()
	var pids []int
	processes, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, dir := range processes {
		env, _ := os.ReadFile(filepath.Join(dir, "environ")) // one that has ended has none
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if bytes.Contains(env, []byte("SLURMD_NODENAME="+node+"\x00")) && bytes.Contains(env, []byte(os.Getenv("SLURM_CONF"))) &&
			bytes.Contains(line, []byte("/orrery\x00worker\x00")) {
			pid, err := strconv.Atoi(filepath.Base(dir))
			require.NoError(t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

// killNode ends a node as a power cut would: its daemon, the steps and the
// workers, all at once.
func killNode(t *testing.T, slurm, node string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(slurm, "slurmd-"+node+".pid"))
	require.NoError(t, err)
	daemon, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	victims := workersOn(t, node)
	require.NotEmpty(t, victims, "no worker runs on "+node)
	for _, worker := range victims { // their parents are the steps
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", worker))
		require.NoError(t, err)
		step, err := strconv.Atoi(strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[1])
		require.NoError(t, err)
		if step > 1 {
			victims = append(victims, step)
		}
	}
	for _, pid := range append([]int{daemon}, victims...) {
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
}
