package waiting

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/internal/queue"
	"orrery/scheduler/model"
	"orrery/scheduler/place"
	"orrery/scheduler/score"
)

// room lets jobs through by their need and time, and those of odd refs alone; such that borrow have one node more. Each that is found
// may take of it.
type room struct {
	q     *Queue
	room  queue.Room
	keyOf func(*QueueEntry) model.Fixed
}

func (r *room) Room(_ int32, borrows bool) queue.Room {
	in := r.room
	if borrows {
		in.Free++
	}
	return in
}
func (r *room) MayStart(at int32) bool     { return r.q.Jobs[at].Ref%2 == 1 }
func (r *room) Key(at int32) model.Fixed   { return r.keyOf(&r.q.Jobs[at]) }
func (r *room) Before(a, b model.Ref) bool { return r.q.Row(a).Job < r.q.Row(b).Job }
func (r *room) fits(j *QueueEntry) bool {
	in := r.Room(j.Size, j.Borrows)
	return j.Need <= in.Free && (j.Left <= in.Limit || j.Need <= in.Extra)
}

// TestSeeker: whatever has joined, left and waited, in lists of some jobs or many, the jobs that
// there is room for come in the order of their tiers and scores, and those that leave in between and room that
// shrinks change nothing about the others. Parked are none but jobs that ask for the same as the one, and for longer than the
// limit, and none whose turn is after the release.
func TestSeeker(t *testing.T) {
	const nodes, tenants = 64, 3
	space, free := machine(nodes)
	weights := score.Weights{score.Wait: model.One / 2, score.Conformance: model.One / 4}
	rapid.Check(t, func(t *rapid.T) {
		q := New(Config{Weights: &weights, Reference: model.Hour, Nodes: nodes, Bounded: true}, free, space.Class(nil))
		terms := Terms{FairShare: make([]model.Fixed, tenants), Penalty: []model.Fixed{model.One, model.One / 2, model.One}, Inverse: []model.Fixed{model.One, 2 * model.One, model.One}}
		now := model.Time(0)
		burst := rapid.SampledFrom([]model.Ref{50, 1000}).Draw(t, "submitted at once")
		blurs := model.Fixed(rapid.SampledFrom([]int64{0, 1, 20}).Draw(t, "apart in the last places"))
		needs := rapid.SampledFrom([]int32{4, nodes}).Draw(t, "needs")
		kinds := rapid.SampledFrom([]int32{1, 1, 5}).Draw(t, "kinds")
		for ref := range model.Ref(rapid.SampledFrom([]int{20, 200, 1000}).Draw(t, "jobs")) {
			if ref%burst == 0 {
				now = now.Add(model.Duration(rapid.Int64Range(0, int64(3*model.Day)).Draw(t, "later")))
			}
			q.Add(QueueEntry{
				Static: model.Fixed(rapid.Int64Range(0, 40).Draw(t, "static"))*model.One/160 + blurs*model.Fixed(ref%3), Need: 1 + int32(ref)*7%needs,
				Left: model.Duration(ref*13%100) * model.Minute, Tenant: int32(ref) % tenants, Tier: int32(ref) / 3 % 2, Alike: int32(ref) % kinds, Borrows: ref%7 == 0, Ref: ref, Job: 1000 - model.JobID(ref), Submit: now,
			}, 1, now)
		}
		now = now.Add(model.Duration(rapid.Int64Range(0, int64(20*model.Day)).Draw(t, "waited")))
		group := rapid.Int32Range(1, nodes).Draw(t, "group")
		var b Bounds
		b.Set(&q, now, now.Add(10*model.Minute), &terms, func(place.ClassID) int32 { return group })
		keyOf := func(j *QueueEntry) model.Fixed {
			f9 := model.One
			if group < j.Need {
				f9 = score.ConformanceOf(group, j.Need)
			}
			return terms.Penalty[j.Tenant].Mul(j.Static + q.Term(j.Submit, now) + weights[score.Conformance].Mul(f9))
		}
		r := room{q: &q, keyOf: keyOf, room: queue.Room{Free: rapid.Int32Range(0, nodes).Draw(t, "free"), Limit: model.Duration(rapid.Int64Range(0, 100).Draw(t, "limit")) * model.Minute}}
		r.room.Extra = rapid.Int32Range(0, r.room.Free).Draw(t, "extra")
		naive := slices.Clone(q.Jobs)
		slices.SortFunc(naive, func(a, b QueueEntry) int {
			return cmp.Or(cmp.Compare(b.Tier, a.Tier), cmp.Compare(keyOf(&b), keyOf(&a)), cmp.Compare(a.Job, b.Job))
		})
		var s Seeker
		s.Start(&b, &r)
		last := -1
		type park struct {
			tenant, alike int32
			limit         model.Duration
		}
		var parked []park
		found := func(j *QueueEntry) bool { // it is to be, though it may also be where it is parked
			return r.fits(j) && j.Ref%2 == 1 &&
				!slices.ContainsFunc(parked, func(p park) bool { return j.Tenant == p.tenant && j.Alike == p.alike && j.Left > p.limit })
		}
		for c, ok := s.Next(); ok; c, ok = s.Next() {
			i := slices.IndexFunc(naive, func(j QueueEntry) bool { return j.Ref == c.Ref })
			require.Greater(t, i, last, "in order, and once")
			require.True(t, r.MayStart(q.At(c.Ref)))
			for _, j := range naive[last+1 : i] {
				require.False(t, found(&j), "left out %d", j.Ref)
			}
			require.EqualValues(t, keyOf(&naive[i]), c.Key)
			last = i
			switch j := &naive[i]; rapid.SampledFrom([]string{"starts", "stays", "parks"}).Draw(t, "what") {
			case "starts":
				r.room.Free = max(r.room.Free-1, 0)
				r.room.Extra = min(r.room.Extra, r.room.Free)
				q.Remove(c.Ref)
				s.Release(c.Tier, model.Fixed(c.Key), j.Job)
				parked = nil
			case "parks":
				limit := model.Duration(rapid.Int64Range(0, 100).Draw(t, "parked above")) * model.Minute
				s.Park(c.Ref, limit)
				parked = append(parked, park{j.Tenant, j.Alike, limit})
			}
		}
		for _, j := range naive[last+1:] {
			require.False(t, found(&j), "left out %d", j.Ref)
		}
	})
}

// TestLists: whatever joins and leaves, each tenant's list has its waiting jobs of a tier, the highest bound
// first, and the lists with jobs are the live ones.
func TestLists(t *testing.T) {
	const tenants = 4
	space, free := machine(8)
	weights := score.Weights{score.Wait: model.One}
	rapid.Check(t, func(t *rapid.T) {
		q := New(Config{Weights: &weights, Reference: model.Hour, Nodes: 8, Bounded: true}, free, space.Class(nil))
		for ref := range model.Ref(rapid.IntRange(1, 80).Draw(t, "steps")) {
			if len(q.Jobs) > 0 && rapid.Bool().Draw(t, "leaves") {
				q.Remove(q.Jobs[rapid.IntRange(0, len(q.Jobs)-1).Draw(t, "which")].Ref)
			} else {
				q.Add(QueueEntry{
					Static: model.Fixed(rapid.IntRange(0, 5).Draw(t, "static")), Tier: rapid.Int32Range(-1, 1).Draw(t, "tier"), Need: 1, Ref: ref, Job: 100 - model.JobID(ref),
					Tenant: rapid.Int32Range(0, tenants-1).Draw(t, "tenant"), Borrows: rapid.Bool().Draw(t, "borrows"),
				}, 1, 0)
			}
			checkLists(t, &q)
		}
	})
}

// checkLists holds the lists against the jobs of the queue, but for the gated ones.
func checkLists(t require.TestingT, q *Queue) {
	type kind struct {
		tenant, tier int32
		borrows      bool
		class        int // of needs, where the family is set apart
	}
	kindOf := func(j *QueueEntry) kind {
		k := kind{tenant: j.Tenant, tier: j.Tier, borrows: j.Borrows}
		if q.familyOf(j).apart {
			k.class = min(queue.Class(j.Need), queue.Class(q.cfg.Nodes))
		}
		return k
	}
	want := map[kind][]rank{}
	for i := range q.Jobs {
		if j := &q.Jobs[i]; !j.Gated {
			want[kindOf(j)] = append(want[kindOf(j)], rankOf(j))
		}
	}
	require.Len(t, q.lists.live, len(want))
	for place, id := range q.lists.live {
		l := &q.lists.all[id]
		require.EqualValues(t, place, l.live)
		var got []rank
		for i := range l.jobs.Blocks() {
			for _, e := range l.jobs.Block(i) {
				got = append(got, rankOf(q.Row(e.Ref)))
				require.EqualValues(t, got[len(got)-1].bound, e.Key)
			}
		}
		require.NotEmpty(t, got)
		first := q.Row(got[0].ref)
		require.Equal(t, []any{first.Tenant, first.Tier, first.Size, first.Borrows}, []any{l.tenant, l.tier, l.size, l.borrows})
		list := want[kindOf(first)]
		slices.SortFunc(list, func(a, b rank) int {
			return cmp.Or(int(b.bound-a.bound), int(a.job-b.job))
		})
		require.Equal(t, list, got)
	}
}

// TestSetApart: of a family of many jobs those of every tier get a list for each class of needs, whether there were jobs of
// the tier before, are some or are none.
func TestSetApart(t *testing.T) {
	const nodes = 64
	space, free := machine(nodes)
	weights := score.Weights{score.Wait: model.One}
	for _, tiers := range [][]int32{{2}, {1, 2}, {2, 3, 1}} {
		q := New(Config{Weights: &weights, Reference: model.Hour, Nodes: nodes, Bounded: true}, free, space.Class(nil))
		ref := model.Ref(0)
		add := func(tenant, tier int32) model.Ref {
			q.Add(QueueEntry{Need: 1 + int32(ref)%(2*nodes), Tier: tier, Tenant: tenant, Ref: ref, Job: model.JobID(ref)}, 1, 0)
			ref++
			return ref - 1
		}
		for tier := range int32(4) {
			add(1, tier) // of another tenant
		}
		q.Remove(add(0, 0)) // none of this tier is left
		for range 2 {
			for i := range 2 * many {
				add(0, tiers[i%len(tiers)])
			}
			require.True(t, q.familyOf(q.Row(ref-1)).apart)
			checkLists(t, &q)
			for _, left := range []int{10, 0} {
				for len(q.Jobs) > left {
					q.Remove(q.Jobs[len(q.Jobs)/2].Ref)
				}
				checkLists(t, &q)
			}
		}
	}
}

// TestReleaseInALowerTier: jobs that are parked have had their turn when one of a lower tier starts.
func TestReleaseInALowerTier(t *testing.T) {
	space, free := machine(8)
	weights := score.Weights{score.Wait: model.One}
	for _, tier := range []int32{0, 2} {
		q := New(Config{Weights: &weights, Reference: model.Hour, Nodes: 8, Bounded: true}, free, space.Class(nil))
		for ref := range model.Ref(4) {
			q.Add(QueueEntry{Static: (40 - 10*min(model.Fixed(ref), 2)) << 10, Need: 1, Left: model.Hour, Tenant: 1, Tier: 2, Ref: 2*ref + 1, Job: model.JobID(ref)}, 1, 0)
		}
		q.Add(QueueEntry{Static: 35 << 10, Need: 1, Left: model.Hour, Tenant: 2, Tier: tier, Ref: 9, Job: 9}, 1, 0)
		one := []model.Fixed{model.One, model.One, model.One}
		var b Bounds
		b.Set(&q, 0, 0, &Terms{FairShare: make([]model.Fixed, 3), Penalty: one, Inverse: one}, func(place.ClassID) int32 { return 8 })
		var s Seeker
		s.Start(&b, &room{q: &q, keyOf: func(j *QueueEntry) model.Fixed { return j.Static }, room: queue.Room{Free: 8, Limit: model.Day}})
		c, ok := s.Next()
		require.True(t, ok)
		require.EqualValues(t, 1, c.Ref)
		s.Park(c.Ref, 0)
		c, ok = s.Next()
		require.True(t, ok)
		require.EqualValues(t, 9, c.Ref)
		q.Remove(9)
		s.Release(c.Tier, model.Fixed(c.Key), 9)
		_, ok = s.Next()
		require.Equal(t, tier == 2, ok)
	}
}
