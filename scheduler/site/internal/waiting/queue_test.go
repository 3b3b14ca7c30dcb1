package waiting

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/internal/queue"
	"orrery/scheduler/model"
	"orrery/scheduler/place"
	"orrery/scheduler/score"
)

// machine is the free nodes of a site of equal nodes.
func machine(nodes int) (*place.Space, *place.Free) {
	site := &model.Site{Nodes: make([]model.Node, nodes), Groups: make([]model.Group, 1), Fingerprints: 1}
	space := place.NewSpace(site)
	free := space.NewFree()
	free.SetAllAvailable()
	return space, free
}

// The least need is that of all jobs, of which those of one GPU count for three units on each node.
func TestLeast(t *testing.T) {
	space, free := machine(4)
	units := map[int32]int32{Whole: 1, OneGPU: 3}
	rapid.Check(t, func(t *rapid.T) {
		q := New(Config{Weights: &score.Weights{}, Nodes: 4}, free, space.Class(nil))
		asked := map[model.Ref]int32{}
		for ref := range model.Ref(rapid.IntRange(1, 40).Draw(t, "steps")) {
			j := QueueEntry{Ref: ref, Job: model.JobID(ref), Size: rapid.SampledFrom([]int32{Whole, OneGPU}).Draw(t, "size"), Need: rapid.Int32Range(1, 9).Draw(t, "need"), Gated: rapid.Bool().Draw(t, "gated")}
			q.Add(j, units[j.Size], 0)
			asked[ref] = j.Need * units[j.Size]
			if old := model.Ref(rapid.Int32Range(0, 40).Draw(t, "leaves")); q.Has(old) {
				q.Remove(old)
				delete(asked, old)
			}
			least := int32(math.MaxInt32)
			for _, n := range asked { //detlint:unordered the least of them
				least = min(least, n)
			}
			require.Equal(t, least, q.Least())
		}
	})
}

// TestQueue holds a queue against a plain list of its jobs: rows are found by their
// ref, what fits is what asks for no more than is free and is not gated, the least request is the
// smallest, and no bound is below the score that a job which is not gated has until then.
func TestQueue(t *testing.T) {
	const nodes, tenants = 16, 3
	space, free := machine(nodes)
	weights := score.Weights{score.Wait: model.One / 2, score.Conformance: model.One / 4, score.FairShare: model.One / 4}
	rapid.Check(t, func(t *rapid.T) {
		q := New(Config{Weights: &weights, Reference: model.Hour, Nodes: nodes, Bounded: true}, free, space.Class(nil))
		naive := map[model.Ref]QueueEntry{}
		now := model.Time(0)
		for ref := range model.Ref(rapid.IntRange(1, 60).Draw(t, "steps")) {
			now = now.Add(model.Duration(rapid.Int64Range(0, int64(model.Hour)).Draw(t, "later")))
			if old := model.Ref(rapid.Int32Range(0, 60).Draw(t, "leaves")); q.Has(old) {
				q.Remove(old)
				delete(naive, old)
			}
			j := QueueEntry{
				Static: model.Fixed(rapid.Int64Range(0, int64(model.One)/4).Draw(t, "static")), Need: rapid.Int32Range(1, 2*nodes).Draw(t, "need"),
				Tenant: rapid.Int32Range(0, tenants-1).Draw(t, "tenant"), Ref: ref, Job: model.JobID(ref), Submit: now, Size: Whole,
				Borrows: rapid.Bool().Draw(t, "borrows"),
			}
			j.Gated = rapid.Bool().Draw(t, "gated")
			q.Add(j, 1, now)
			naive[ref] = j
			if old := model.Ref(rapid.Int32Range(0, 60).Draw(t, "turns")); q.Has(old) {
				turned := naive[old]
				turned.Gated = !turned.Gated
				q.SetGated(old, turned.Gated, now)
				naive[old] = turned
			}

			least, lacking, fits, gated := int32(math.MaxInt32), int32(math.MaxInt32), 0, []model.Ref(nil)
			for r, j := range naive { //detlint:unordered sums and tests of each
				require.Equal(t, j.Need, q.Row(r).Need)
				least = min(least, j.Need)
				switch {
				case j.Gated:
					gated = append(gated, r)
				case j.Need <= nodes:
					fits++
				case j.Borrows:
					lacking = min(lacking, j.Need-nodes)
				}
			}
			require.Equal(t, lacking, q.LeastLacking())
			borrowed := rapid.Int32Range(0, nodes).Draw(t, "borrowed")
			require.Equal(t, fits > 0 || lacking <= borrowed, q.AnyFits(borrowed, nil))
			require.ElementsMatch(t, gated, q.GatedJobs(nil))
			require.Len(t, q.Jobs, len(naive))
			require.Equal(t, least, q.Least())
			require.Equal(t, fits > 0, q.AnyFits(0, nil))
			looked := 0
			require.False(t, q.AnyFits(0, func(j *QueueEntry) bool {
				looked++
				return naive[j.Ref].Need > nodes || naive[j.Ref].Gated
			}))
			require.Equal(t, fits, looked)

			terms := Terms{FairShare: make([]model.Fixed, tenants), Penalty: make([]model.Fixed, tenants), Inverse: make([]model.Fixed, tenants)}
			for i := range tenants {
				terms.FairShare[i] = model.Fixed(rapid.Int64Range(0, int64(model.One)/4).Draw(t, "share"))
				terms.Penalty[i] = rapid.SampledFrom([]model.Fixed{model.One, model.One / 2, model.One / 20}).Draw(t, "penalty")
				terms.Inverse[i] = model.Ratio(int64(model.One), int64(terms.Penalty[i]))
			}
			until := now.Add(10 * model.Minute)
			var b Bounds
			b.Set(&q, now, until, &terms, func(place.ClassID) int32 { return nodes })
			scoreAt := func(j *QueueEntry, at model.Time) model.Fixed {
				f9 := model.One
				if nodes < j.Need {
					f9 = score.ConformanceOf(nodes, j.Need)
				}
				sum := j.Static + terms.FairShare[j.Tenant] + q.Term(j.Submit, at) + weights[score.Conformance].Mul(f9)
				return terms.Penalty[j.Tenant].Mul(sum)
			}
			best := model.Fixed(-1)
			for i := range q.Jobs {
				if q.Jobs[i].Gated {
					continue
				}
				require.GreaterOrEqual(t, b.scoreAt(&q.Jobs[i], until), scoreAt(&q.Jobs[i], until))
				best = max(best, scoreAt(&q.Jobs[i], now))
			}
			if ref := b.Promising(); ref >= 0 {
				require.False(t, q.Row(ref).Gated)
			}
			lead := NoLeader
			b.Examine(&lead, nil, func(at int32) bool {
				require.False(t, q.Jobs[at].Gated)
				key := scoreAt(&q.Jobs[at], now)
				if key > lead.Key {
					lead = Leader{At: at, Tier: q.Jobs[at].Tier, Key: key}
				}
				return false
			})
			require.Equal(t, best, lead.Key, "the best is among those examined")
		}
	})
}

// TestGatedAlone: no search finds gated jobs, whatever the penalties, where there are no others.
func TestGatedAlone(t *testing.T) {
	space, free := machine(8)
	weights := score.Weights{score.Wait: model.One}
	for _, penalty := range []model.Fixed{model.One, model.One / 2, 1} {
		q := New(Config{Weights: &weights, Reference: model.Hour, Nodes: 8, Bounded: true}, free, space.Class(nil))
		for ref := range model.Ref(3) {
			q.Add(QueueEntry{Need: 1, Gated: true, Ref: ref, Job: model.JobID(ref)}, 1, 0)
		}
		terms := Terms{FairShare: []model.Fixed{model.One}, Penalty: []model.Fixed{penalty}, Inverse: []model.Fixed{model.Ratio(int64(model.One), int64(penalty))}}
		var b Bounds
		b.Set(&q, 0, 0, &terms, func(place.ClassID) int32 { return 8 })
		require.EqualValues(t, -1, b.Promising())
		lead := NoLeader
		b.Examine(&lead, nil, func(int32) bool {
			t.Error("examined a gated job")
			return false
		})
		require.Empty(t, b.Contenders(nil, lead, 0, func(int32) bool { return false }))
		var s Seeker
		s.Start(&b, &room{q: &q, room: queue.Room{Free: 8, Extra: 8, Limit: model.Forever}, keyOf: func(*QueueEntry) model.Fixed { return 0 }})
		_, found := s.Next()
		require.False(t, found)
		require.False(t, q.AnyFits(8, nil))
		require.EqualValues(t, math.MaxInt32, q.LeastLacking())
		require.EqualValues(t, 1, q.Least())
	}
}
