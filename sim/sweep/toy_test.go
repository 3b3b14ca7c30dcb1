package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// toy is the spec of a task that does nothing useful.
type toy struct {
	N      int    `json:"n"`
	Rounds int    `json:"rounds,omitempty"` // of hashing, 300,000 or so per 100 ms
	MS     int    `json:"ms,omitempty"`     // of sleep
	Fail   string `json:"fail,omitempty"`   // "always", "panic", "transient", "exit", "odd"
}

// runToy computes a toy. Only the failure "odd" makes it something other than a
// function of its spec.
func runToy(ctx context.Context, spec []byte) ([]byte, error) {
	var t toy
	if err := json.Unmarshal(spec, &t); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Duration(t.MS) * time.Millisecond):
	}
	switch t.Fail {
	case "always":
		return nil, errors.New("this task always fails")
	case "panic":
		panic("this task panics")
	case "transient":
		return nil, fmt.Errorf("this place is bad: %w", syscall.EIO)
	case "exit":
		os.Exit(7)
	case "odd":
		return fmt.Appendf(nil, "%d\n", time.Now().UnixNano()), nil
	}
	return t.result(spec), nil
}

// result is what a toy that does not fail comes to.
func (t toy) result(spec []byte) []byte {
	sum := sha256.Sum256(spec)
	for range t.Rounds {
		sum = sha256.Sum256(sum[:])
	}
	return fmt.Appendf(nil, "{\"n\": %d, \"sum\": \"%x\"}\n", t.N, sum)
}

func toyWorker() Run { return runToy }

func (t toy) spec() []byte {
	b, err := json.Marshal(t)
	if err != nil {
		panic(err)
	}
	return b
}

// toys are n specs that differ.
func toys(n int, like toy) [][]byte {
	specs := make([][]byte, n)
	for i := range specs {
		like.N = i
		specs[i] = like.spec()
	}
	return specs
}

const toyBinary = "b1"

// study creates a study with these specs.
func study(t testing.TB, lease time.Duration, specs ...[]byte) *Study {
	t.Helper()
	dir := t.TempDir()
	outlived(t, dir)
	s, err := Create(dir, Options{Binary: toyBinary, Lease: lease})
	require.NoError(t, err)
	_, added, err := s.Add(specs)
	require.NoError(t, err)
	require.Equal(t, len(specs), added)
	return s
}

// reopen is the study as another process sees it.
func reopened(t testing.TB, s *Study) *Study {
	t.Helper()
	again, err := Open(s.Dir(), s.head.Binary)
	require.NoError(t, err)
	return again
}

// sequential is what the tasks come to, one after the other, without a study and
// without sleep.
func sequential(t testing.TB, specs [][]byte) map[Digest]string {
	t.Helper()
	want := map[Digest]string{}
	for _, spec := range specs {
		var each toy
		require.NoError(t, json.Unmarshal(spec, &each))
		want[DigestOf(spec)] = string(each.result(spec))
	}
	return want
}

// requireWhole asks for every result, equal to the sequential run, and for none
// committed twice.
func requireWhole(t testing.TB, s *Study, specs [][]byte) Status {
	t.Helper()
	require.NoError(t, s.Verdict())
	for d, want := range sequential(t, specs) {
		result, failed, err := s.Outcome(d)
		require.NoError(t, err)
		require.Nil(t, failed)
		require.Equal(t, want, string(result))
	}
	for n, times := range commits(t, s) {
		require.LessOrEqual(t, times, 1, "task %d", n)
	}
	st, err := s.Status()
	require.NoError(t, err)
	require.Equal(t, s.Len(), st.Results)
	require.Zero(t, st.Remaining)
	require.Zero(t, st.FaultyTasks)
	return st
}

// commits counts the commits of each task in all journals.
func commits(t testing.TB, s *Study) map[int]int {
	return notes(t, s, noteCommit)
}

// notes counts the records of a kind by task.
func notes(t testing.TB, s *Study, kind string) map[int]int {
	t.Helper()
	count := map[int]int{}
	list, err := os.ReadDir(s.path(journalDir))
	require.NoError(t, err)
	for _, e := range list {
		_, err := s.readNotes(s.path(journalDir, e.Name()), 0, func(n note, _ bool) {
			if n.Kind == kind && n.Task != nil {
				count[*n.Task]++
			}
		})
		require.NoError(t, err)
	}
	return count
}
