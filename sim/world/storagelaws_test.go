package world

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
	"orrery/sim/world/internal/storage"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// stager is a job that stages bytes from an instant on, until it is lost.
type stager struct {
	from, lost model.Time
	bytes      int64
	left       *big.Rat // B
	done       *big.Rat // µs, nil when it was lost first
}

// stageAll lets them share a bandwidth by exact fractions, all of them looked at whenever one
// comes, is done or is lost.
func stageAll(jobs []*stager, rate, capacity int64) {
	now := new(big.Rat)
	instant := func(t model.Time) *big.Rat { return new(big.Rat).SetInt64(int64(t)) }
	for _, j := range jobs {
		j.left = new(big.Rat).SetInt64(j.bytes)
	}
	for {
		var active []*stager
		var next *big.Rat
		sooner := func(t *big.Rat) {
			if next == nil || t.Cmp(next) < 0 {
				next = t
			}
		}
		for _, j := range jobs {
			switch {
			case j.done != nil || instant(j.lost).Cmp(now) <= 0:
			case instant(j.from).Cmp(now) > 0:
				sooner(instant(j.from))
			default:
				active = append(active, j)
				sooner(instant(j.lost))
			}
		}
		if next == nil {
			return
		}
		speed := big.NewRat(min(rate*int64(len(active)), capacity), int64(max(1, len(active)))*int64(sec)) // B/µs of each
		for _, j := range active {
			end := new(big.Rat).Quo(j.left, speed)
			sooner(end.Add(end, now))
		}
		d := new(big.Rat).Sub(next, now)
		d.Mul(d, speed)
		for _, j := range active {
			if j.left.Sub(j.left, d); j.left.Sign() == 0 {
				j.done = next
			}
		}
		now = next
	}
}

// TestStagingAgainstFractions: jobs that share storage begin to work when exact fractions have
// them begin, and each byte that was asked for is moved or was left by one that was lost. The
// time that a transfer takes alone is rounded up to the µs, and the end of each to the
// nearest: each may shift the others by as many µs as they are slowed. Without sharing, which
// is the wrong model, that fails.
func TestStagingAgainstFractions(t *testing.T) {
	const lasts = 100_000 * sec
	unshared := 0
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(rt, "jobs")
		rate, capacity := rapid.Int64Range(1, 50).Draw(rt, "rate"), rapid.Int64Range(1, 100).Draw(rt, "capacity")
		cfg := SiteConfig{Site: smallSite(n), Exit: preempt.DefaultConfig(), Storage: &StorageConfig{Bandwidth: capacity, Stage: rate}}
		var rows []traces.Job
		var jobs []*stager
		now := model.Time(0)
		for i := range n {
			now += model.Time(rapid.Int64Range(0, int64(4*sec)).Draw(rt, "gap"))
			j := &stager{from: now, lost: now.Add(lasts), bytes: rapid.Int64Range(0, 1000).Draw(rt, "bytes")}
			jobs = append(jobs, j)
			rows = append(rows, row(int64(i), now, runs(lasts), walltime(10*lasts), neverRequeued, stages(fmt.Sprintf(`{"cold":%d}`, j.bytes))))
		}
		for i, j := range jobs { // the nodes are taken in order
			if rapid.IntRange(0, 3).Draw(rt, "is lost") == 0 {
				j.lost = now + 1 + model.Time(rapid.Int64Range(0, int64(60*sec)).Draw(rt, "lost"))
				cfg.Changes = append(cfg.Changes, translate.Change{At: j.lost, Kind: translate.NodeFails, Node: model.NodeID(i)})
			}
		}
		slices.SortStableFunc(cfg.Changes, func(a, b translate.Change) int { return int(a.At - b.At) })
		p := play(rt, cfg, batchOf(rows...))
		stageAll(jobs, rate, capacity)
		alone := make([]*stager, n)
		asked, left := int64(0), int64(0)
		for i, j := range jobs {
			alone[i] = &stager{from: j.from, lost: j.lost, bytes: j.bytes}
			rest, _ := j.left.Float64()
			asked, left = asked+j.bytes, left+int64(math.Ceil(rest))
		}
		stageAll(alone, rate, math.MaxInt64/2)
		c := p.world.Meter.Transfers[storage.Stage-1]
		require.Equal(rt, asked, c.Asked)
		require.InDelta(rt, asked-left, c.Moved, float64(n), "a byte for each that was lost")
		require.Zero(rt, p.world.transfers.storage.Systems[0].Pool.Len())
		wrong, slack := false, float64(n+1)*(1+float64(int64(n)*rate)/float64(capacity))
		for i := range p.sink.jobs {
			r := &p.sink.jobs[i]
			began, j := r.End.Add(-lasts), jobs[r.ID]
			if j.done == nil {
				require.Equal(rt, j.lost, r.End)
				continue
			}
			if r.State == model.Failed { // it staged all, and then its node failed
				require.Equal(rt, j.lost, r.End)
				began = r.End.Add(-r.Runtime)
			}
			exact, _ := j.done.Float64()
			require.InDelta(rt, exact, float64(began), slack, "job %d", r.ID)
			if alone[r.ID].done != nil {
				naive, _ := alone[r.ID].done.Float64()
				wrong = wrong || math.Abs(naive-float64(began)) > slack
			}
		}
		if wrong {
			unshared++
		}
	})
	require.Positive(t, unshared)
}

// inOrder is a log with the lines of one second in alphabetical order.
func inOrder(log []string) []string {
	out := slices.Clone(log)
	slices.SortStableFunc(out, func(a, b string) int {
		x, _, _ := strings.Cut(a, " ")
		y, _, _ := strings.Cut(b, " ")
		if len(x) != len(y) {
			return len(x) - len(y)
		}
		return strings.Compare(a, b)
	})
	return out
}

// TestAmpleStorageChangesNothing: whatever goes wrong, storage that has enough for all
// transfers leads to what no storage does: each takes its size ÷ its rate. With little of it
// that fails.
func TestAmpleStorageChangesNothing(t *testing.T) {
	moved, differ := int64(0), 0
	rapid.Check(t, func(rt *rapid.T) {
		cfg, rows, orders := chaos(rt)
		without, with, scarce := cfg(), cfg(), cfg()
		without.Storage, with.Storage, scarce.Storage = nil, &StorageConfig{Bandwidth: 1 << 50}, &StorageConfig{Bandwidth: 1}
		a, b, c := play(rt, without, rows, orders...), play(rt, with, rows, orders...), play(rt, scarce, rows, orders...)
		require.Equal(rt, inOrder(a.log), inOrder(b.log))
		if !slices.Equal(inOrder(a.log), inOrder(c.log)) {
			differ++
		}
		require.Equal(rt, a.sink.jobs, b.sink.jobs)
		counts := b.world.Meter.SiteCounts
		for _, k := range counts.Transfers {
			require.InDelta(rt, k.Alone, k.Time, float64(2*k.Begun), "%s", k.Kind)
			moved += k.Moved
		}
		counts.Transfers = nil
		require.Equal(rt, a.world.Meter.SiteCounts, counts)
	})
	require.Positive(t, moved)
	require.Positive(t, differ)
}

// TestWasteOfTwoParts: a job that copies its checkpoint every T for C, writes the copy for D
// and reads it for R, and meets failures at a rate λ, keeps of its time
//
//	λ·T·exp(-λ(R+D))·q ÷ (1-q), q = exp(-λ(T+C))
//
// as the k-th copy is safe once R + k(T+C) + D have gone by without a failure. A model in
// which the copy is safe at once and one in which the job stands still until it is written
// miss by more than the test allows.
func TestWasteOfTwoParts(t *testing.T) {
	const mtbf, c, d, r = 2000.0, 2.0, 80.0, 10.0 // s
	every := math.Sqrt(2 * c * mtbf)
	keptOf := func(stop, behind float64) float64 {
		q := math.Exp(-(every + stop) / mtbf)
		return every / mtbf * math.Exp(-(r+behind)/mtbf) * q / (1 - q)
	}
	cfg := SiteConfig{Site: smallSite(1), Seed: 3, Faults: breaking(mtbf*sec, 1)}
	keeps(preempt.YoungInterval, mtbf*sec)(&cfg)
	cfg.Exit.KillGrace, cfg.ReadBandwidth, cfg.Storage = 0, 80, &StorageConfig{Bandwidth: 1000, Stop: 400}
	const work = 20_000_000 * sec
	cfg.Faults.Until = 4 * model.Time(work)
	p := play(t, cfg, batchOf(row(1, 0, manual, alwaysRequeued, runs(work), walltime(100*work), func(j *traces.Job) {
		j.CkptBytes, j.RequeueMax = traces.Some[int64](800), traces.Some[int32](1_000_000)
	})))
	require.Equal(t, model.Completed, p.sink.jobs[0].State)
	got := float64(work) / float64(p.sink.jobs[0].End)
	failures := float64(p.sink.jobs[0].Requeues)
	half := 2.576 * got / math.Sqrt(failures) // kept work between failures is nearly exponential
	t.Logf("kept %.4f ± %.4f of its time over %.0f failures; formula %.4f, safe at once %.4f, standing still %.4f",
		got, half, failures, keptOf(c, d), keptOf(c, 0), keptOf(c+d, 0))
	require.InDelta(t, keptOf(c, d), got, half)
	require.Greater(t, math.Abs(keptOf(c, 0)-got), half, "safe at once")
	require.Greater(t, math.Abs(keptOf(c+d, 0)-got), half, "standing still")
}
