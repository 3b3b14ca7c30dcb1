package sweep

import (
	"bytes"
	"context"
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
)

func TestSlurmScript(t *testing.T) {
	s, err := Create(filepath.Join(t.TempDir(), "50% more"), Options{Binary: toyBinary})
	require.NoError(t, err)
	script, err := Slurm{Command: []string{"/opt/orrery", "worker", s.Dir()}, Options: []string{"--partition=short", "--comment=a b"}}.Script(s, 4)
	require.NoError(t, err)
	require.Equal(t, `#!/bin/bash
#SBATCH --job-name=`+slurmName(s.Dir())+`
#SBATCH --array=0-3
#SBATCH --no-requeue
#SBATCH --open-mode=append
#SBATCH '--output=`+strings.ReplaceAll(s.Dir(), "%", "%%")+`/log/slurm-%A_%a.out'
#SBATCH --signal=B:TERM@60
#SBATCH --partition=short
#SBATCH '--comment=a b'
exec /opt/orrery worker '`+s.Dir()+`'
`, script)
	require.NoError(t, exec.Command("bash", "-n", "-c", script).Run())
}

// fakeSlurm puts commands in front of the path that behave like Slurm's: the
// elements of an array are processes of this machine, whose ids are in a file.
func fakeSlurm(t *testing.T) (dir string) {
	dir = t.TempDir()
	for name, text := range map[string]string{
		"sbatch": `cat >$D/script; echo run >>$D/submitted
n=$(sed -n 's/^#SBATCH --array=0-//p' $D/script)
for i in $(seq 0 $n); do bash $D/script >/dev/null 2>&1 & echo $! >>$D/pids; done
echo "17;cluster"`,
		"squeue":  `[ ! -e $D/down ] || { echo "Unable to contact slurm controller" >&2; exit 1; }; touch $D/pids; for p in $(cat $D/pids); do grep -q '^State:.[^ZX]' /proc/$p/status 2>/dev/null && echo "17_$p RUNNING"; done; exit 0`,
		"scancel": `echo "$*" >>$D/cancelled; case "$*" in *PENDING*) ;; *) kill $(cat $D/pids) 2>/dev/null;; esac; exit 0`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/bash\nD="+dir+"\n"+text+"\n"), 0o755))
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return dir
}

func fakeSlurmExecutor(s *Study, log *bytes.Buffer, workers int) Slurm {
	return Slurm{Workers: workers, Command: []string{"sh", "-c", "exec " + workerLine(s)}, Poll: 20 * time.Millisecond, Log: log}
}

func TestSlurmReplacesLostElements(t *testing.T) {
	dir := fakeSlurm(t)
	specs := toys(100, toy{MS: 10})
	s := study(t, time.Second, specs...)
	var log bytes.Buffer
	x := fakeSlurmExecutor(s, &log, 2)
	crew, err := x.Start(context.Background(), s)
	require.NoError(t, err)
	pids, err := os.ReadFile(filepath.Join(dir, "pids"))
	require.NoError(t, err)
	eventually(t, func() bool { return len(notes(t, s, noteCommit)) > 4 })
	first, err := strconv.Atoi(strings.Fields(string(pids))[0])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))

	// A second process that looks after the study finds the worker that is left.
	second, err := x.Start(context.Background(), s)
	require.NoError(t, err)
	require.NoError(t, crew.Wait(context.Background()))
	require.NoError(t, second.Wait(context.Background()))
	require.NoError(t, second.Stop())
	require.NoError(t, crew.Stop())
	requireWhole(t, s, specs)
	require.Contains(t, log.String(), "submitted 2 workers as Slurm job 17\n")
	require.Contains(t, log.String(), "submitted 1 workers as Slurm job 17\n")
	cancelled, err := os.ReadFile(filepath.Join(dir, "cancelled"))
	require.NoError(t, err)
	require.Contains(t, string(cancelled), "--state=PENDING")
}

func TestSlurmSilentAndBroken(t *testing.T) {
	dir := fakeSlurm(t)
	s := study(t, time.Second, toys(30, toy{MS: 20})...)
	var log bytes.Buffer
	crew, err := fakeSlurmExecutor(s, &log, 2).Start(context.Background(), s)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "down"), nil, 0o600))
	require.NoError(t, crew.Wait(context.Background()), "the workers do not need the controller")
	require.NoError(t, os.Remove(filepath.Join(dir, "down")))
	require.NoError(t, crew.Stop())
	require.Equal(t, 1, strings.Count(log.String(), "no word from Slurm"))

	s = study(t, time.Second, toys(3, toy{})...)
	broken := fakeSlurmExecutor(s, nil, 2)
	broken.Log, broken.Command = nil, []string{"false"}
	err = Complete(context.Background(), broken, s)
	require.ErrorContains(t, err, "3 times in a row workers by Slurm ended and nothing was done")
}

func TestSlurmInterrupted(t *testing.T) {
	dir := fakeSlurm(t)
	s := study(t, time.Hour, toys(100, toy{MS: 50})...)
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	crew, err := fakeSlurmExecutor(s, &log, 2).Start(ctx, s)
	require.NoError(t, err)
	eventually(t, func() bool { return len(notes(t, s, noteCommit)) > 2 })
	cancel()
	require.ErrorIs(t, crew.Wait(ctx), context.Canceled)
	require.NoError(t, crew.Stop())
	cancelled, err := os.ReadFile(filepath.Join(dir, "cancelled"))
	require.NoError(t, err)
	require.Equal(t, "--name="+slurmName(s.Dir())+"\n", string(cancelled))
	eventually(t, func() bool { st, err := s.Status(); return err == nil && st.Claimed == 0 })
}

// realSlurm starts a Slurm of four nodes, where that is asked for.
func realSlurm(t *testing.T) (dir string) {
	t.Helper()
	if os.Getenv("ORRERY_REQUIRE_SLURM") == "" {
		t.Skip("starts the daemons of a Slurm on this machine: bash tools/slurm/ci.sh installs Slurm and runs this test")
	}
	require.Zero(t, os.Getuid(), "a Slurm for tests needs root")
	for _, program := range []string{"slurmctld", "slurmd", "munged"} {
		_, err := exec.LookPath(program)
		require.NoError(t, err, "install Debian's packages slurm-wlm and munge, or run bash tools/slurm/ci.sh")
	}
	dir = t.TempDir()
	up, err := filepath.Abs(filepath.Join("..", "..", "tools", "slurm", "up.sh"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = exec.Command("bash", filepath.Join(filepath.Dir(up), "down.sh"), dir).Run() })
	out, err := exec.Command("bash", up, dir, "4").CombinedOutput()
	require.NoError(t, err, string(out))
	t.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf"))
	return dir
}

// TestRealSlurm runs a study on four nodes. One of them is lost with all that
// runs on it, a worker on another is stopped for longer than its lease and goes
// on. Every result is there, none was committed twice, and the bytes are those of
// the sequential run.
func TestRealSlurm(t *testing.T) {
	dir := realSlurm(t)
	specs := toys(400, toy{MS: 100, Rounds: 100})
	s := study(t, 2*time.Second, specs...)
	require.NoError(t, os.Chmod(filepath.Dir(s.Dir()), 0o755))
	var log bytes.Buffer
	x := Slurm{Workers: 8, Options: []string{"--cpus-per-task=4"}, Command: []string{"sh", "-c", "exec " + workerLine(s)}, Poll: time.Second, Log: &log}
	crew, err := x.Start(context.Background(), s)
	require.NoError(t, err)
	eventually(t, func() bool { return len(notes(t, s, noteCommit)) > 40 })
	began := time.Now()
	killNode(t, dir, "n4")
	stopped := workersOn(t, "n2")
	require.NotEmpty(t, stopped)
	require.NoError(t, syscall.Kill(stopped[0], syscall.SIGSTOP))
	resumed := make(chan string)
	go func() { resumed <- resumeOnceOvertaken(t, s, stopped[0]) }()

	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	require.NoError(t, crew.Wait(ctx), log.String())
	took := time.Since(began)
	late := <-resumed
	require.NotEmpty(t, late, "the stopped worker was never taken for lost")
	require.NoError(t, crew.Stop())
	eventually(t, func() bool { return slices.Contains(kinds(t, s, late), noteClose) })
	t.Log("the stopped worker noted, after it went on:", kinds(t, s, late))
	st := requireWhole(t, s, specs)
	t.Logf("%v | %d tries, %d worker processes | complete %.1f s after the loss\n%s", st, st.Started, st.Writers-1, took.Seconds(), log.String())
	require.GreaterOrEqual(t, st.Lost, 2, "a task of the node and one of the stopped worker")
	require.GreaterOrEqual(t, st.Writers, 9, "the workers, and the process that watches them")

	one := study(t, 0, specs...)
	require.NoError(t, Complete(context.Background(), Local{Workers: 8, NewWorker: toyWorker}, one))
	for n := range one.Len() {
		local, err := os.ReadFile(one.resultPath(one.Digest(n)))
		require.NoError(t, err)
		there, err := os.ReadFile(s.resultPath(s.Digest(n)))
		require.NoError(t, err)
		require.Equal(t, local, there)
	}
}

// resumeOnceOvertaken lets a stopped process go on once another has computed the
// task that it was at, and returns its writer.
func resumeOnceOvertaken(t *testing.T, s *Study, pid int) (writer string) {
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		list, err := names(s.path(journalDir))
		if err != nil {
			return ""
		}
		for _, name := range list {
			lost := -1
			_, _ = readNotes(s.path(journalDir, name), 0, func(n note) {
				switch {
				case n.Kind == noteLost && strings.Contains(n.Writer, fmt.Sprintf("-%d-", pid)):
					lost, writer = *n.Task, n.Writer
				case n.Kind == noteCommit && *n.Task == lost:
					lost = -2
				}
			})
			if lost == -2 {
				return writer
			}
		}
	}
	return ""
}

// kinds are the last records of a writer.
func kinds(t *testing.T, s *Study, writer string) (all []string) {
	t.Helper()
	_, err := readNotes(s.journalPath(writer), 0, func(n note) { all = append(all, n.Kind) })
	require.NoError(t, err)
	return all[max(0, len(all)-4):]
}

// TestRealSlurmCancelled: Ctrl-C cancels the elements, which give back what they
// had, and a second run goes on from there.
func TestRealSlurmCancelled(t *testing.T) {
	realSlurm(t)
	specs := toys(200, toy{MS: 100})
	s := study(t, time.Hour, specs...) // nobody can wait for a lease to run out
	x := Slurm{Workers: 4, Command: []string{"sh", "-c", "exec " + workerLine(s)}, Poll: 300 * time.Millisecond}
	ctx, cancel := context.WithCancel(context.Background())
	crew, err := x.Start(ctx, s)
	require.NoError(t, err)
	eventually(t, func() bool { return len(notes(t, s, noteCommit)) > 20 })
	cancel()
	require.ErrorIs(t, crew.Wait(ctx), context.Canceled)
	require.NoError(t, crew.Stop())
	eventually(t, func() bool { out, err := exec.Command("squeue", "-h").Output(); return err == nil && len(out) == 0 })
	st, err := s.Status()
	require.NoError(t, err)
	require.Zero(t, st.Claimed, "claims were given back")
	require.Positive(t, st.Remaining)
	require.NoError(t, Complete(context.Background(), x, s))
	requireWhole(t, s, specs)
}

// workersOn are the worker processes that a node of this Slurm runs.
func workersOn(t *testing.T, node string) []int {
	t.Helper()
	var pids []int
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, path := range environs {
		env, err := os.ReadFile(path)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || !bytes.Contains(env, []byte("SLURMD_NODENAME="+node+"\x00")) ||
			!bytes.Contains(env, []byte("ORRERY_TEST_STUDY=")) || !bytes.Contains(env, []byte(os.Getenv("SLURM_CONF"))) {
			continue
		}
		pids = append(pids, pid)
	}
	return pids
}

// killNode ends a node as a power cut would: its daemon, the steps and the
// workers, all at once.
func killNode(t *testing.T, dir, node string) {
	t.Helper()
	pid, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("slurmd-%s.pid", node)))
	require.NoError(t, err)
	daemon, err := strconv.Atoi(strings.TrimSpace(string(pid)))
	require.NoError(t, err)
	victims := workersOn(t, node)
	require.NotEmpty(t, victims, "no worker runs on "+node)
	for _, worker := range victims { // their parents are the steps
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", worker))
		require.NoError(t, err)
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		step, err := strconv.Atoi(fields[1])
		require.NoError(t, err)
		if step > 1 {
			victims = append(victims, step)
		}
	}
	require.NoError(t, syscall.Kill(daemon, syscall.SIGKILL))
	for _, pid := range victims {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
