package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary be a worker process: with a study in its
// environment it works on it and exits. It can be the second process of an
// examination, too.
func TestMain(m *testing.M) {
	if dir := os.Getenv("ORRERY_TEST_STUDY"); dir != "" {
		os.Exit(beWorker(dir))
	}
	if os.Getenv("ORRERY_TEST_PEER") != "" && len(os.Args) == 2 {
		if err := AnswerExamination(os.Args[1], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func beWorker(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	workers, _ := strconv.Atoi(os.Getenv("ORRERY_TEST_WORKERS"))
	s, err := Open(dir, toyBinary)
	if err == nil {
		var pool Workers
		if pool, err = (Local{Workers: max(workers, 1), NewWorker: toyWorker}).Start(ctx, s); err == nil {
			err = errors.Join(pool.Wait(ctx), pool.Stop())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// process starts a worker process.
func process(t testing.TB, s *Study, workers int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ORRERY_TEST_STUDY="+s.Dir(), fmt.Sprint("ORRERY_TEST_WORKERS=", workers))
	cmd.Stderr = new(bytes.Buffer)
	require.NoError(t, cmd.Start())
	return cmd
}

// workerLine is a worker process as one line of a shell.
func workerLine(s *Study) string {
	return "env ORRERY_TEST_STUDY=" + quoted(s.Dir()) + " " + quoted(os.Args[0])
}

// TestProcessesKilledAndStopped kills workers at random moments, stops others
// past their lease and lets them go on, until everything is done.
func TestProcessesKilledAndStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("takes several seconds of leases")
	}
	specs := toys(600, toy{MS: 10, Rounds: 100})
	s := study(t, 500*time.Millisecond, specs...)
	var all sync.WaitGroup
	for p := range 4 {
		all.Go(func() {
			for round := range 4 {
				cmd := process(t, s, 2)
				time.Sleep(time.Duration(60+(p*37+round*53)%150) * time.Millisecond)
				if p%2 == 0 {
					_ = cmd.Process.Kill()
					_ = cmd.Wait()
					continue
				}
				_ = cmd.Process.Signal(syscall.SIGSTOP)
				time.Sleep(700 * time.Millisecond) // others find its lease run out
				_ = cmd.Process.Signal(syscall.SIGCONT)
				time.Sleep(50 * time.Millisecond)
				_ = cmd.Process.Signal(syscall.SIGTERM)
				err := cmd.Wait()
				if err != nil && err.Error() == "signal: terminated" { // it had not begun to listen to signals
					continue
				}
				if err != nil && !strings.Contains(cmd.Stderr.(*bytes.Buffer).String(), "canceled") {
					t.Error(err, cmd.Stderr)
				}
			}
		})
	}
	all.Wait()
	last := process(t, s, 2)
	require.NoError(t, last.Wait(), last.Stderr)
	st := requireWhole(t, s, specs)
	t.Log(st, "| tries", st.Started, "| processes", st.Writers)
	require.Positive(t, st.Lost)
	require.Less(t, st.Started, len(specs)+100)
}

// TestStoppedWorkerDoesNotCommitTwice: the one task of a stopped worker is done
// by another; when it goes on, its result is not committed, and it takes no
// further task of the claim it has lost.
func TestStoppedWorkerDoesNotCommitTwice(t *testing.T) {
	specs := toys(3, toy{Rounds: 2_000_000}) // it does not look at its context
	s := study(t, MinLease, specs...)
	cmd := process(t, s, 1)
	eventually(t, func() bool { return notes(t, s, noteStart)[0] == 1 })
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	require.NoError(t, Complete(context.Background(), Local{Workers: 2, NewWorker: toyWorker}, s))
	require.Equal(t, 1, notes(t, s, noteCommit)[0])
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	require.NoError(t, cmd.Wait(), cmd.Stderr)
	st := requireWhole(t, s, specs)
	require.Equal(t, 1, st.Duplicates, "its late result was equal and came second")
	require.Equal(t, 1, st.Lost)
}

// TestKilledWorkerOfThisMachine: no lease has to run out for it.
func TestKilledWorkerOfThisMachine(t *testing.T) {
	if here().Start == "" {
		t.Skip("this system does not say when processes started")
	}
	specs := toys(20, toy{MS: 20})
	s := study(t, time.Hour, specs...)
	cmd := process(t, s, 2)
	eventually(t, func() bool { return len(notes(t, s, noteCommit)) > 4 })
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.NoError(t, Complete(context.Background(), Local{Workers: 2, NewWorker: toyWorker}, s))
	st := requireWhole(t, s, specs)
	require.Positive(t, st.Lost)
	require.LessOrEqual(t, st.Started, len(specs)+2*(1+lineLength))
}

// TestPoison is a task that takes its worker down with it. It is tried four
// times and given up, and takes nothing else with it.
func TestPoison(t *testing.T) {
	specs := append(toys(12, toy{MS: 10}), toy{Fail: "exit", MS: 30}.spec())
	s := study(t, MinLease, specs...)
	for range maxAttempts {
		cmd := process(t, s, 1)
		var exit *exec.ExitError
		require.ErrorAs(t, cmd.Wait(), &exit)
		require.Equal(t, 7, exit.ExitCode(), cmd.Stderr)
	}
	last := process(t, s, 1)
	require.NoError(t, last.Wait(), last.Stderr)
	var partial *PartialError
	require.ErrorAs(t, s.Verdict(), &partial)
	require.Equal(t, 1, partial.Quarantined)
	require.Equal(t, 12, partial.First.Number)
	require.Len(t, partial.First.Attempts, maxAttempts)
	require.Equal(t, maxAttempts, notes(t, s, noteStart)[12])
}

// TestInterruptedProcess: a worker that is told to stop gives back its claims.
func TestInterruptedProcess(t *testing.T) {
	s := study(t, time.Hour, toys(50, toy{MS: 20})...)
	cmd := process(t, s, 2)
	eventually(t, func() bool { return len(notes(t, s, noteCommit)) > 4 })
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, cmd.Wait())
	st, err := s.Status()
	require.NoError(t, err)
	require.Zero(t, st.Claimed)
	require.Zero(t, st.Open)
	require.Positive(t, st.Remaining)
}

// outlived has the end of the test wait for processes that have the folder in their command line or their environment: workers that
// others started may still write into it when all is done. Elsewhere than on Linux it does nothing.
func outlived(t testing.TB, dir string) {
	t.Helper()
	t.Cleanup(func() {
		for deadline := time.Now().Add(10 * time.Second); named(dir) && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		}
	})
}

// named says whether such a process runs.
func named(dir string) bool {
	own := fmt.Sprintf("/proc/%d/", os.Getpid())
	for _, of := range []string{"cmdline", "environ"} {
		files, _ := filepath.Glob("/proc/[0-9]*/" + of)
		for _, f := range files {
			if text, _ := os.ReadFile(f); bytes.Contains(text, []byte(dir)) && !strings.HasPrefix(f, own) {
				return true
			}
		}
	}
	return false
}

// eventually waits for what other processes do.
func eventually(t testing.TB, what func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !what(); time.Sleep(5 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "it did not come about in a minute")
	}
}
