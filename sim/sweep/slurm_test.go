package sweep

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
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
	script, err := Slurm{Command: []string{"/opt/orrery", "worker", s.Dir()}, Options: []string{"--partition=short", "--comment=a b"}}.Script(s.Dir(), 4)
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
	outlived(t, dir)
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
	pool, err := x.Start(context.Background(), s)
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
	require.NoError(t, pool.Wait(context.Background()))
	require.NoError(t, second.Wait(context.Background()))
	require.NoError(t, second.Stop())
	require.NoError(t, pool.Stop())
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
	pool, err := fakeSlurmExecutor(s, &log, 2).Start(context.Background(), s)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "down"), nil, 0o600))
	require.NoError(t, pool.Wait(context.Background()), "the workers do not need the controller")
	require.NoError(t, os.Remove(filepath.Join(dir, "down")))
	require.NoError(t, pool.Stop())
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
	pool, err := fakeSlurmExecutor(s, &log, 2).Start(ctx, s)
	require.NoError(t, err)
	eventually(t, func() bool { return len(notes(t, s, noteCommit)) > 2 })
	cancel()
	require.ErrorIs(t, pool.Wait(ctx), context.Canceled)
	require.NoError(t, pool.Stop())
	cancelled, err := os.ReadFile(filepath.Join(dir, "cancelled"))
	require.NoError(t, err)
	require.Equal(t, "--name="+slurmName(s.Dir())+"\n", string(cancelled))
	eventually(t, func() bool { st, err := s.Status(); return err == nil && st.Claimed == 0 })
}

// realSlurm starts a Slurm of four nodes, where that is asked for.
func realSlurm(t *testing.T) {
	t.Helper()
	if os.Getenv("ORRERY_REQUIRE_SLURM") == "" {
		t.Skip("starts the daemons of a Slurm on this machine: bash tools/slurm/ci.sh installs Slurm and runs this test")
	}
	require.Zero(t, os.Getuid(), "a Slurm for tests needs root")
	for _, program := range []string{"slurmctld", "slurmd", "munged"} {
		_, err := exec.LookPath(program)
		require.NoError(t, err, "install Debian's packages slurm-wlm and munge, or run bash tools/slurm/ci.sh")
	}
	dir := t.TempDir()
	up, err := filepath.Abs(filepath.Join("..", "..", "tools", "slurm", "up.sh"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = exec.Command("bash", filepath.Join(filepath.Dir(up), "down.sh"), dir).Run() })
	out, err := exec.Command("bash", up, dir, "4").CombinedOutput()
	require.NoError(t, err, string(out))
	t.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf"))
}

// TestRealSlurmCancelled: on a Slurm whose nodes all live (the program's own test,
// TestRealSlurmSweep, loses one), Ctrl-C cancels the elements, which give back what they
// had, and a second run goes on from there.
func TestRealSlurmCancelled(t *testing.T) {
	realSlurm(t)
	specs := toys(200, toy{MS: 100})
	s := study(t, time.Hour, specs...) // longer than a test: no lease expires
	x := Slurm{Workers: 4, Command: []string{"sh", "-c", "exec " + workerLine(s)}, Poll: 300 * time.Millisecond}
	ctx, cancel := context.WithCancel(context.Background())
	pool, err := x.Start(ctx, s)
	require.NoError(t, err)
	eventually(t, func() bool { return len(notes(t, s, noteCommit)) > 20 })
	cancel()
	require.ErrorIs(t, pool.Wait(ctx), context.Canceled)
	require.NoError(t, pool.Stop())
	eventually(t, func() bool { out, err := exec.Command("squeue", "-h").Output(); return err == nil && len(out) == 0 })
	st, err := s.Status()
	require.NoError(t, err)
	require.Zero(t, st.Claimed, "claims were given back")
	require.Positive(t, st.Remaining)
	require.NoError(t, Complete(context.Background(), x, s))
	requireWhole(t, s, specs)
}
