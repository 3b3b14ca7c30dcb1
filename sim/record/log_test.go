package record

import (
	"math/rand"
	"reflect"
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/require"

	"orrery/scheduler"
	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/sim/commitlog"
)

// randomEntry is an entry with every field set to whatever it may hold.
func randomEntry(t testing.TB, r *rand.Rand) (e commitlog.Entry) {
	random := func(into any) {
		v, ok := quick.Value(reflect.TypeOf(into).Elem(), r)
		require.True(t, ok)
		reflect.ValueOf(into).Elem().Set(v)
	}
	e.What, e.Now = commitlog.What(r.Intn(5)), model.Time(r.Int63n(1e12))
	switch e.What {
	case commitlog.Round:
		e.Round, e.Count = drive.Round(r.Intn(int(drive.Restored)+1)), r.Int31n(9)
	case commitlog.Pass:
		e.Count, e.Due, e.QuietUntil, e.Again = r.Int31n(9), model.Time(r.Int63()), model.Never, r.Intn(2) == 0
		e.More = r.Intn(2) == 0
	case commitlog.Promise:
		p := &e.Promise
		random(p)
		p.Nodes = *randomPlacement(r)
	case commitlog.Fact:
		f := &e.Fact
		random(f)
		f.Kind, f.Reason = model.FactKind(r.Intn(int(model.FactRestoringEnded)+1)), model.Reason(r.Intn(int(model.LastReason)+1))
		f.Outcome, f.State = model.JobState(r.Intn(int(model.Failed)+1)), model.NodeState(r.Intn(int(model.Wiping)+1))
		f.Placement = nil
		if r.Intn(2) == 0 {
			f.Placement = randomPlacement(r)
		}
	case commitlog.Proposal:
		p := &e.Proposal
		random(p)
		p.Kind, p.Reason = model.ProposalKind(r.Intn(int(model.ProposeRestore)+1)), model.Reason(r.Intn(int(model.LastReason)+1))
		p.Placement = *randomPlacement(r)
	}
	return e
}

func randomPlacement(r *rand.Rand) *model.Placement {
	p, whole := &model.Placement{}, r.Intn(2) == 0
	for n := range model.NodeID(1 + r.Intn(200)) {
		switch {
		case n > 0 && r.Intn(3) > 0:
		case whole:
			if k := len(p.Words); k == 0 || p.Words[k-1].Word != int32(n)/64 {
				p.Words = append(p.Words, model.NodeWord{Word: int32(n) / 64})
			}
			p.Words[len(p.Words)-1].Mask |= 1 << (n % 64)
		default:
			p.Shares = append(p.Shares, model.NodeShare{Node: n, Units: 1 + r.Int31n(2), GPUs: uint64(r.Intn(3)) << 40})
		}
	}
	return p
}

// What is written of the log is read back, every field of it.
func TestLogComesBackWhole(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	var want []commitlog.Entry
	for range 3*batchRows + 7 {
		want = append(want, randomEntry(t, r))
	}
	dir := t.TempDir()
	w, err := Create(dir+"/run", testMeta())
	require.NoError(t, err)
	log := w.Log()
	for i := range want {
		e := &want[i]
		switch e.What {
		case commitlog.Round:
			log.Round(e.Now, e.Round, int(e.Count))
		case commitlog.Fact:
			log.Fact(e.Now, &e.Fact)
		case commitlog.Pass:
			log.Passed(e.Now, &scheduler.Plan{Proposals: make([]model.Proposal, e.Count), Due: e.Due, QuietUntil: e.QuietUntil, Again: e.Again, More: e.More})
		case commitlog.Promise: // of the pass before it, which may be another entry here
			log.(*commitlog.Recorder).Entry(e)
		case commitlog.Proposal:
			log.Proposed(e.Now, &e.Proposal)
		}
	}
	_, err = w.Seal()
	require.NoError(t, err)
	require.NoError(t, w.WriteJSON(FileRun, map[string]any{}))
	require.NoError(t, w.WriteJSON(FileMetrics, map[string]any{}))
	require.NoError(t, w.Close())
	i := 0
	for got, err := range ReadLog(dir + "/run") {
		require.NoError(t, err)
		require.Equal(t, want[i], *got, "entry %d", i)
		i++
	}
	require.Len(t, want, i)
	for _, err := range ReadLog(dir + "/run") {
		require.NoError(t, err)
		break // a reader may stop early
	}
}

// Texts that no log holds are refused with the row, whatever they are.
func TestLogRefusesNonsense(t *testing.T) {
	for _, r := range []logRow{
		{Entry: "gossip"}, {Entry: "round", Kind: "x"}, {Entry: "proposal", Kind: "x"}, {Entry: "fact", Kind: "x"},
		{Entry: "fact", Kind: "ended", Reason: "x"}, {Entry: "fact", Kind: "ended", Outcome: "x"}, {Entry: "fact", Kind: "node", State: "x"},
		{Entry: "proposal", Kind: "assign", Nodes: "3-1"}, {Entry: "proposal", Kind: "assign", Nodes: "0-99999999999"},
		{Entry: "proposal", Kind: "assign", Nodes: "0-9999999"}, {Entry: "proposal", Kind: "assign", Nodes: "x"},
		{Entry: "proposal", Kind: "assign", Nodes: "1", Shares: "2x3"}, {Entry: "proposal", Kind: "assign", Nodes: "1-2", Shares: "2"},
		{Entry: "proposal", Kind: "assign", Nodes: "1", Shares: "1", GPUs: "zz"}, {Entry: "fact", Kind: "limits", Limits: "{"},
	} {
		var e commitlog.Entry
		require.Error(t, r.entry(&e), "%+v", r)
	}
}
