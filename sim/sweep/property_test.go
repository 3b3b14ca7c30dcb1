package sweep

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
)

// world is a few processes on one study, moved step by step. None of them is
// known to be alive or dead but by its lease, and time passes by turning back
// the time of change of claims.
type world struct {
	study  *Study
	watch  []*observer // one per process
	held   []*held     // of all processes, also those that were taken over
	owner  map[*held]int
	firsts map[int]int  // commits per task that were first
	silent map[int]bool // chunks whose latest claim has run out
}

func newWorld(t *rapid.T, dir string) *world {
	s, err := Create(dir, Options{Binary: toyBinary})
	require.NoError(t, err)
	// 128 specs at once make chunks of two; the last three make one chunk each.
	_, _, err = s.Add(toys(rapid.SampledFrom([]int{3, 130}).Draw(t, "tasks"), toy{}))
	require.NoError(t, err)
	w := &world{study: s, owner: map[*held]int{}, firsts: map[int]int{}, silent: map[int]bool{}}
	for p := range 3 {
		w.watch = append(w.watch, newObserver(s, fmt.Sprint("p", p), origin{Host: fmt.Sprint("host", p)}))
	}
	return w
}

// chunks are the first three, so that processes meet.
func (w *world) chunks() []chunk { return w.study.chunkList()[:3] }

// Claim lets a process try for a chunk. It must get it exactly when the latest
// claim does not hold.
func (w *world) Claim(t *rapid.T) {
	p := rapid.IntRange(0, len(w.watch)-1).Draw(t, "process")
	c := rapid.SampledFrom(w.chunks()).Draw(t, "chunk")
	marks, err := w.study.listClaims()
	require.NoError(t, err)
	g := marks.generation[c.first]
	open := g == 0 || marks.free[c.first] == g
	if !open {
		expired, err := w.watch[p].expired(c.first, g)
		require.NoError(t, err)
		require.Equal(t, w.silent[c.first], expired)
		open = expired
	}
	if !open || marks.done[c.first] {
		return
	}
	h, err := w.study.newClaim(c, g+1, 0, w.watch[p].writer, w.watch[p].origin)
	require.NoError(t, err)
	require.NotNil(t, h)
	again, err := w.study.newClaim(c, g+1, 0, "late", origin{})
	require.NoError(t, err)
	require.Nil(t, again, "one claim per generation")
	w.held, w.owner[h] = append(w.held, h), p
	w.silent[c.first] = false
}

// any draws one of the claims made so far; nil when there is none.
func (w *world) any(t *rapid.T) *held {
	if len(w.held) == 0 {
		return nil
	}
	return rapid.SampledFrom(w.held).Draw(t, "claim")
}

// Silence lets the lease of a claim expire.
func (w *world) Silence(t *rapid.T) {
	h := w.any(t)
	if h == nil {
		return
	}
	long := time.Now().Add(-2 * w.study.Lease())
	require.NoError(t, os.Chtimes(h.path, long, long))
	if over, err := w.study.fenced(h); err == nil && !over {
		w.silent[h.first] = true
	}
}

// Heartbeat renews a claim, in time or too late.
func (w *world) Heartbeat(t *rapid.T) {
	h := w.any(t)
	if h == nil {
		return
	}
	require.NoError(t, w.study.heartbeat(h))
	if over, err := w.study.fenced(h); err == nil && !over {
		w.silent[h.first] = false
	}
}

// Commit lets the holder of a claim, a fenced one too, finish its chunk.
func (w *world) Commit(t *rapid.T) {
	h := w.any(t)
	if h == nil {
		return
	}
	for n := h.first; n < h.first+h.n; n++ {
		landed, err := w.study.commitResult(w.study.Digest(n), fmt.Append(nil, n), fmt.Sprint("p", w.owner[h]))
		require.NoError(t, err)
		require.NotEqual(t, landedDiffers, landed)
		if landed == landedFirst {
			w.firsts[n]++
		}
	}
	require.NoError(t, w.study.markDone(h))
}

// GiveBack frees a claim.
func (w *world) GiveBack(t *rapid.T) {
	if h := w.any(t); h != nil {
		require.NoError(t, w.study.markFree(h.first, h.generation))
	}
}

// Check: what is done has all its results, and each was first once.
func (w *world) Check(t *rapid.T) {
	marks, err := w.study.listClaims()
	require.NoError(t, err)
	for _, c := range w.chunks() {
		for n := c.first; n < c.first+c.n; n++ {
			require.LessOrEqual(t, w.firsts[n], 1, "task %d was committed twice", n)
			if marks.done[c.first] {
				result, _, err := w.study.Outcome(w.study.Digest(n))
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint(n), string(result))
			}
		}
	}
}

// TestProtocol takes random steps of claiming, falling silent, coming back late,
// committing and giving back.
func TestProtocol(t *testing.T) {
	parent := t.TempDir()
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		w := newWorld(t, filepath.Join(parent, fmt.Sprint(round)))
		t.Repeat(map[string]func(*rapid.T){
			"claim": w.Claim, "silence": w.Silence, "heartbeat": w.Heartbeat, "commit": w.Commit, "give back": w.GiveBack, "": w.Check,
		})
	})
}

// TestNamelessClaim: a worker that was killed between making its claim and writing its name
// into it keeps its tasks from others for some seconds, and not for a lease.
func TestNamelessClaim(t *testing.T) {
	s := study(t, time.Hour, toys(4, toy{})...)
	path := s.claimPath(0, 1)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	o := newObserver(s, "o", here())
	expired, err := o.expired(0, 1)
	require.NoError(t, err)
	require.False(t, expired, "it may write its name yet")
	before := time.Now().Add(-2 * nameless)
	require.NoError(t, os.Chtimes(path, before, before))
	expired, err = o.expired(0, 1)
	require.NoError(t, err)
	require.True(t, expired)
}
