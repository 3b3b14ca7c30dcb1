package sweep

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLocalGivesWhatOneAfterTheOtherGives(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		specs := toys(150, toy{Rounds: 10})
		s := study(t, 0, specs...)
		require.NoError(t, Complete(context.Background(), Local{Workers: workers, NewWorker: toyWorker}, s))
		st := requireWhole(t, s, specs)
		require.Equal(t, len(specs), st.Started)
		require.Zero(t, st.Open)

		again := reopened(t, s)
		require.NoError(t, Complete(context.Background(), Local{Workers: workers, NewWorker: toyWorker}, again))
		require.Equal(t, len(specs), requireWhole(t, again, specs).Started, "nothing is computed again")

		more := toys(170, toy{Rounds: 10})
		_, added, err := again.Add(more)
		require.NoError(t, err)
		require.Equal(t, 20, added)
		require.NoError(t, Complete(context.Background(), Local{Workers: workers, NewWorker: toyWorker}, again))
		require.Equal(t, len(more), requireWhole(t, again, more).Started, "only what is new")
	}
}

// TestWorkersGoOnWhileSpecsAreAdded is how a search uses a study.
func TestWorkersGoOnWhileSpecsAreAdded(t *testing.T) {
	s := study(t, 0)
	var made atomic.Int32
	pool, err := Local{Workers: 2, NewWorker: func() Run { made.Add(1); return runToy }}.Start(context.Background(), s)
	require.NoError(t, err)
	require.NoError(t, pool.Wait(context.Background()), "nothing to do is done")
	began := time.Now()
	for generation := 1; generation <= 20; generation++ {
		_, _, err := s.Add(toys(8*generation, toy{}))
		require.NoError(t, err)
		require.NoError(t, pool.Wait(context.Background()))
		require.NoError(t, s.Verdict())
	}
	t.Logf("20 batches of 8 took %v", time.Since(began))
	require.NoError(t, pool.Stop())
	require.EqualValues(t, 2, made.Load(), "each worker keeps its state")
	requireWhole(t, s, toys(160, toy{}))
}

func TestFailures(t *testing.T) {
	specs := append(toys(20, toy{}), toy{Fail: "always"}.spec(), toy{Fail: "panic"}.spec(), toy{Fail: "transient"}.spec())
	s := study(t, MinLease, specs...)
	require.NoError(t, Complete(context.Background(), Local{Workers: 2, NewWorker: toyWorker}, s))
	var partial *PartialError
	require.ErrorAs(t, s.Verdict(), &partial)
	require.Equal(t, 2, partial.Failed)
	require.Equal(t, 1, partial.Quarantined)
	require.Contains(t, partial.Error(), "2 of 23 tasks")
	require.Contains(t, partial.Error(), "task 20: this task always fails")

	st, err := s.Status()
	require.NoError(t, err)
	require.Equal(t, 20, st.Results)
	require.Equal(t, 4, st.Retried, "once and three times again")
	require.Equal(t, 1, notes(t, s, noteStart)[20], "a failure of the task is not tried again")
	require.Equal(t, "23 tasks: 20 results, 2 failed, 1 given up", st.String())
	_, failed, err := s.Outcome(DigestOf(specs[22]))
	require.NoError(t, err)
	require.Len(t, failed.Attempts, 4)
	require.Equal(t, "this place is bad: input/output error", failed.Attempts[0].Error)
	_, failed, err = s.Outcome(DigestOf(specs[21]))
	require.NoError(t, err)
	require.Equal(t, "panic: this task panics", failed.Error)
	require.Equal(t, "remove "+s.failurePath(DigestOf(specs[21]))+" to have the task computed again", s.Remedy(DigestOf(specs[21])))
	require.Contains(t, s.Remedy(DigestOf(specs[0])), s.resultPath(DigestOf(specs[0])))

	t.Run("what was given up is tried anew when its file is removed", func(t *testing.T) {
		require.NoError(t, os.Remove(s.failurePath(DigestOf(specs[22]))))
		well := func() Run {
			return func(context.Context, []byte) ([]byte, error) { return []byte("well"), nil }
		}
		require.NoError(t, Complete(context.Background(), Local{Workers: 1, NewWorker: well}, s))
		result, _, err := s.Outcome(DigestOf(specs[22]))
		require.NoError(t, err)
		require.Equal(t, "well", string(result))
	})
}

func TestTimeoutIsOfThePlace(t *testing.T) {
	s := study(t, MinLease, toy{MS: 60_000}.spec(), toy{}.spec())
	require.NoError(t, Complete(context.Background(), Local{Workers: 1, NewWorker: toyWorker, Timeout: 20 * time.Millisecond}, s))
	var partial *PartialError
	require.ErrorAs(t, s.Verdict(), &partial)
	require.Equal(t, 1, partial.Quarantined)
	path := s.failurePath(s.Digest(0))
	require.ErrorContains(t, partial, "not done after 20ms")
	require.ErrorContains(t, partial, "remove "+path)

	require.NoError(t, os.Remove(path)) // as it says
	quick := func() Run { return func(context.Context, []byte) ([]byte, error) { return []byte("well"), nil } }
	require.NoError(t, Complete(context.Background(), Local{Workers: 1, NewWorker: quick}, s))
	require.NoError(t, s.Verdict())
}

// TestGivenUp: the last word of the tries, which a lost worker does not leave.
func TestGivenUp(t *testing.T) {
	require.Contains(t, givenUp([]Attempt{{Error: "first"}, {Error: "second"}, {}}), "after 3 tries, the last error: second")
	require.Contains(t, givenUp([]Attempt{{}, {}}), "every worker that tried it was lost")
}

// TestInterruptGivesBack stops the workers in the middle and goes on with others.
func TestInterruptGivesBack(t *testing.T) {
	specs := toys(200, toy{MS: 2})
	s := study(t, time.Hour, specs...) // longer than a test: no lease expires
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	require.ErrorIs(t, Complete(ctx, Local{Workers: 3, NewWorker: toyWorker}, s), context.Canceled)
	before, err := s.Status()
	require.NoError(t, err)
	require.Positive(t, before.Remaining)
	require.Zero(t, before.Claimed)
	require.ErrorIs(t, s.Verdict(), ErrNoOutcome)

	require.NoError(t, Complete(context.Background(), Local{Workers: 3, NewWorker: toyWorker}, s))
	after := requireWhole(t, s, specs)
	require.Zero(t, after.Lost)
	require.LessOrEqual(t, after.Started, len(specs)+3, "at most the tasks under way are computed again")
}

// TestOverlappedWorkers lets a worker be taken for lost while it computes: both
// results arrive, one is committed.
func TestOverlappedWorkers(t *testing.T) {
	for name, c := range map[string]struct {
		late  string
		fault bool
	}{"equal": {"r", false}, "different": {"other", true}} {
		t.Run(name, func(t *testing.T) {
			s := study(t, MinLease, toy{}.spec())
			entered, released := make(chan struct{}), make(chan struct{})
			slow := func() Run {
				return func(context.Context, []byte) ([]byte, error) {
					close(entered)
					<-released
					return []byte(c.late), nil
				}
			}
			first, err := Local{Workers: 1, NewWorker: slow}.Start(context.Background(), s)
			require.NoError(t, err)
			<-entered
			silence(first)
			quick := func() Run {
				return func(context.Context, []byte) ([]byte, error) { return []byte("r"), nil }
			}
			require.NoError(t, Complete(context.Background(), Local{Workers: 1, NewWorker: quick}, reopened(t, s)))
			close(released)
			require.NoError(t, first.Wait(context.Background()))
			require.NoError(t, first.Stop())
			result, _, err := s.Outcome(DigestOf(toy{}.spec()))
			require.NoError(t, err)
			require.Equal(t, "r", string(result), "the first stays")
			st, err := s.Status()
			require.NoError(t, err)
			require.Equal(t, 1, st.Lost)
			require.Equal(t, c.fault, st.Faults == 1)
			require.Equal(t, !c.fault, st.Duplicates == 1)
			var fault *FaultError
			require.Equal(t, c.fault, errors.As(s.Verdict(), &fault))
		})
	}
}

// silence stops the heartbeats, as if its process were stopped.
func silence(c Workers) {
	l := c.(*localWorkers)
	l.claims.mu.Lock()
	defer l.claims.mu.Unlock()
	l.claims.held = map[int]*held{}
}

// TestFailureAgainstResult: a task that fails once and succeeds once is not a
// function either.
func TestFailureAgainstResult(t *testing.T) {
	for _, failsFirst := range []bool{true, false} {
		s := study(t, 0, toy{}.spec())
		d := s.Digest(0)
		fail := func() { _, err := s.commitFailure(Failure{Error: "x", digest: d}, "a"); require.NoError(t, err) }
		if failsFirst {
			fail()
		}
		landed, err := s.commitResult(d, []byte("r"), "b")
		require.NoError(t, err)
		require.Equal(t, failsFirst, landed == landedDiffers)
		if !failsFirst {
			fail()
		}
		var fault *FaultError
		require.ErrorAs(t, s.Verdict(), &fault)
		require.Equal(t, []string{d.String()}, fault.Tasks)
	}
}

// TestMend removes a result behind the back of the study.
func TestMend(t *testing.T) {
	specs := toys(40, toy{})
	s := study(t, time.Hour, specs...)
	require.NoError(t, Complete(context.Background(), Local{Workers: 2, NewWorker: toyWorker}, s))
	require.NoError(t, os.Remove(s.resultPath(s.Digest(17))))
	half := filepath.Join(filepath.Dir(s.resultPath(s.Digest(3))), ".half.w")
	require.NoError(t, os.WriteFile(half, []byte("x"), 0o600))
	old := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(half, old, old))
	require.ErrorIs(t, s.Verdict(), ErrNoOutcome)
	require.NoError(t, Complete(context.Background(), Local{Workers: 2, NewWorker: toyWorker}, s))
	require.NoError(t, s.Verdict())
	require.NoFileExists(t, half)
	require.Equal(t, 2, notes(t, s, noteStart)[17])
	require.Equal(t, 1, notes(t, s, noteStart)[16])
}

// TestManyPools lets crews of one process fall silent, stop and come back at
// random, all on one study.
func TestManyPools(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a few leases")
	}
	specs := toys(400, toy{MS: 5})
	s := study(t, MinLease, specs...)
	var all sync.WaitGroup
	for c := range 6 {
		all.Go(func() {
			mine, err := Open(s.Dir(), toyBinary)
			for round := 0; err == nil && round < 4; round++ {
				var pool Workers
				if pool, err = (Local{Workers: 3, NewWorker: toyWorker}).Start(context.Background(), mine); err != nil {
					break
				}
				limited, cancel := context.WithTimeout(context.Background(), time.Duration(40+(c*7+round*13)%60)*time.Millisecond)
				_ = pool.Wait(limited)
				cancel()
				if (c+round)%2 == 0 {
					silence(pool)
				}
				err = pool.Stop()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.NoError(t, Complete(context.Background(), Local{Workers: 4, NewWorker: toyWorker}, s))
	st := requireWhole(t, s, specs)
	t.Log(st, "started", st.Started)
}

func TestFatalErrorEndsTheWorkers(t *testing.T) {
	s := study(t, 0, toys(64, toy{MS: 1})...)
	require.NoError(t, os.RemoveAll(s.path(resultsDir)))
	require.NoError(t, os.WriteFile(s.path(resultsDir), nil, 0o600))
	pool, err := Local{Workers: 2, NewWorker: toyWorker}.Start(context.Background(), s)
	require.NoError(t, err)
	require.ErrorContains(t, pool.Wait(context.Background()), "committing the result")
	require.NoError(t, pool.Stop())
}
