package sim

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/sim/commitlog"
	"orrery/sim/plan"
	"orrery/sim/verify"
	"orrery/traces"
)

// log keeps the entries of a run.
type log struct{ entries []commitlog.Entry }

func (l *log) recorder() *commitlog.Recorder {
	return &commitlog.Recorder{Entry: func(e *commitlog.Entry) { l.entries = append(l.entries, e.Clone()) }}
}

// first hands out the first n entries.
func (l *log) first(n int) iter.Seq2[*commitlog.Entry, error] {
	return func(yield func(*commitlog.Entry, error) bool) {
		for i := range l.entries[:n] {
			if !yield(&l.entries[i], nil) {
				return
			}
		}
	}
}

// fresh feeds the first n entries to a fresh core of p.
func (l *log) fresh(t testing.TB, p *plan.Resolved, n int) *verify.Parity {
	t.Helper()
	found, err := verify.Facts(t.Context(), p, 1<<16, l.first(n))
	require.NoError(t, err)
	return found
}

// same checks that a fresh core makes every plan of the log; and that one that was fed up
// to the middle and thrown away leaves nothing behind: the next one, fed from the start,
// makes the same next plan.
func (l *log) same(t testing.TB, spec plan.Spec, open func() (traces.Source, error), fingerprint string) {
	t.Helper()
	prep, err := plan.Prepare(spec)
	require.NoError(t, err)
	src, err := open()
	require.NoError(t, err)
	defer src.Close()
	p, err := prep.Resolve(src)
	require.NoError(t, err)
	if middle := slices.IndexFunc(l.entries[len(l.entries)/2:], begins); middle > 0 {
		require.Nil(t, l.fresh(t, &p, len(l.entries)/2+middle).Differs, "a core that is thrown away")
	}
	found := l.fresh(t, &p, len(l.entries))
	if found.Differs != nil {
		t.Fatal(found.Differs)
	}
	require.Equal(t, fingerprint, found.Fingerprint)
	whole, err := verify.Digest(l.first(len(l.entries)))
	require.NoError(t, err)
	require.Equal(t, fingerprint, whole)
}

// begins says whether the loop is asked for something by an entry.
func begins(e commitlog.Entry) bool {
	return e.What == commitlog.Round && e.Round != drive.Answered && e.Round != drive.Unmet
}

// altered is the log with entry i changed.
func (l *log) altered(i int, change func(e *commitlog.Entry)) *log {
	other := &log{slices.Clone(l.entries)}
	other.entries[i] = l.entries[i].Clone()
	change(&other.entries[i])
	return other
}

// TestAlteredPlanIsCaught: one node of one proposal, whichever it is, and an entry that is
// missing.
func TestAlteredPlanIsCaught(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		w := drawSite(longBytes(seed))
		m, spec := w.memory(), w.spec(t)
		var l log
		_, err := Run(t.Context(), spec, m.open, Options{Log: l.recorder()})
		require.NoError(t, err)
		prep, err := plan.Prepare(spec)
		require.NoError(t, err)
		src, err := m.open()
		require.NoError(t, err)
		p, err := prep.Resolve(src)
		require.NoError(t, err)
		passes := int64(0)
		for i := range l.entries {
			e := &l.entries[i]
			if e.What == commitlog.Pass {
				passes++
			}
			if e.What != commitlog.Proposal || e.Proposal.Kind != model.ProposeAssign {
				continue
			}
			bad := l.altered(i, func(e *commitlog.Entry) {
				if p := &e.Proposal.Placement; len(p.Words) > 0 {
					p.Words[0].Mask ^= 1
				} else {
					p.Shares[0].GPUs ^= 1
				}
			})
			d := bad.fresh(t, &p, len(bad.entries)).Differs
			require.NotNil(t, d, "seed %d, entry %d", seed, i)
			require.EqualValues(t, i, d.Index)
			require.Equal(t, passes, d.Plan)
			require.NotEqual(t, d.InLog, d.InCore, fmt.Sprint(d))
			break
		}
		last := slices.IndexFunc(l.entries, func(e commitlog.Entry) bool { return e.What == commitlog.Pass })
		gone := &log{slices.Delete(slices.Clone(l.entries), last, last+1)}
		require.NotNil(t, gone.fresh(t, &p, len(gone.entries)).Differs, "a pass less")
	}
}

// TestLogThatContradictsItself is refused, and does not panic.
func TestLogThatContradictsItself(t *testing.T) {
	w := drawSite(longBytes(3))
	m, spec := w.memory(), w.spec(t)
	var l log
	_, err := Run(t.Context(), spec, m.open, Options{Log: l.recorder()})
	require.NoError(t, err)
	prep, err := plan.Prepare(spec)
	require.NoError(t, err)
	src, err := m.open()
	require.NoError(t, err)
	p, err := prep.Resolve(src)
	require.NoError(t, err)
	submitted := slices.IndexFunc(l.entries, func(e commitlog.Entry) bool { return e.What == commitlog.Fact && e.Fact.Kind == model.FactSubmitted })
	for what, change := range map[string]func(f *model.Fact){
		"an end of a job that does not run": func(f *model.Fact) { f.Kind = model.FactEnded },
		"a handle beyond all jobs":          func(f *model.Fact) { f.Ref = 1 << 30 },
		"a constraint beyond all":           func(f *model.Fact) { f.Alloc.Constraint = 1 << 30 },
		"an unknown vCluster":               func(f *model.Fact) { f.Alloc.VCluster = 99 },
		"no allocation":                     func(f *model.Fact) { f.Alloc = nil },
	} {
		bad := l.altered(submitted, func(e *commitlog.Entry) { change(&e.Fact) })
		_, err := verify.Facts(t.Context(), &p, 1<<16, bad.first(len(bad.entries)))
		var refused *verify.LogError
		var failed *verify.CoreError
		require.True(t, errors.As(err, &refused) || errors.As(err, &failed), "%s: %v", what, err)
	}
	bad := l.altered(submitted-1, func(e *commitlog.Entry) { e.Count = 1 << 30 })
	_, err = verify.Facts(t.Context(), &p, 1<<16, bad.first(len(bad.entries)))
	require.ErrorContains(t, err, "in a round of")
}
