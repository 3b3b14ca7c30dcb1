package waiting

import (
	"cmp"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/internal/queue"
	"orrery/scheduler/model"
	"orrery/scheduler/place"
	"orrery/scheduler/score"
)

// TestRows: whatever joins, leaves, is gated or waits so long that the bounds are made anew, every job that is not gated stands in both
// orders of a short queue once, where it belongs, and the last of a request size are those of the smallest needs.
func TestRows(t *testing.T) {
	const tenants, most = 3, 20
	space, free := machine(16)
	weights := score.Weights{score.Wait: model.One / 2}
	rapid.Check(t, func(t *rapid.T) {
		q := New(Config{Weights: &weights, Reference: model.Hour, Nodes: 16, Bounded: true, Few: math.MaxInt32}, free, space.Class(nil))
		terms := Terms{FairShare: make([]model.Fixed, tenants), Penalty: []model.Fixed{model.One, model.One, model.One}, Inverse: []model.Fixed{model.One, model.One, model.One}}
		now := model.Time(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(model.Duration(rapid.Int64Range(0, 3).Draw(t, "hours")) * model.Hour)
			switch ref := model.Ref(rapid.Int32Range(0, most-1).Draw(t, "ref")); {
			case !q.Has(ref):
				q.Add(Job{
					Static: model.Fixed(rapid.Int64Range(0, 4).Draw(t, "static")) * model.One / 4, Need: rapid.Int32Range(1, 9).Draw(t, "need"), Left: model.Hour,
					Size: rapid.SampledFrom([]int32{Whole, OneGPU}).Draw(t, "size"), Borrows: rapid.Bool().Draw(t, "borrows"), Gated: rapid.Bool().Draw(t, "gated"),
					Tenant: rapid.Int32Range(0, tenants-1).Draw(t, "tenant"), Tier: rapid.Int32Range(0, 1).Draw(t, "tier"), Ref: ref, Job: model.JobID(ref), Submit: now,
				}, 1, now)
			case rapid.Bool().Draw(t, "leaves"):
				q.Remove(ref)
			default:
				q.SetGated(ref, !q.Row(ref).Gated, now)
			}
			var b Bounds
			b.Set(&q, now, now.Add(10*model.Minute), &terms, func(place.ClassID) int32 { return 16 })
			requireInOrder(t, &q)
		}
	})
}

// TestShortAgain: a queue that becomes long and short again and again has its jobs in lists or in rows, but for the gated ones, in the
// order of their bounds as of then: those of lists rise without an entry of a row.
func TestShortAgain(t *testing.T) {
	space, free := machine(8)
	weights := score.Weights{score.Wait: model.One}
	q := New(Config{Weights: &weights, Reference: model.Hour, Nodes: 8, Bounded: true, Few: 8}, free, space.Class(nil))
	now, ref := model.Time(0), model.Ref(0)
	set := func() {
		var b Bounds
		b.Set(&q, now, now, &Terms{FairShare: []model.Fixed{0}, Penalty: []model.Fixed{model.One}, Inverse: []model.Fixed{model.One}}, func(place.ClassID) int32 { return 8 })
	}
	add := func(gated bool) {
		q.Add(Job{Static: model.Fixed(ref%3) * model.One / 4, Need: 1 + int32(ref)%4, Gated: gated, Tier: int32(ref) % 2, Ref: ref, Job: model.JobID(ref), Submit: now}, 1, now)
		ref++
	}
	for range 3 {
		for !q.listed {
			add(false)
		}
		checkLists(t, &q)
		for range 3 {
			now = now.Add(5 * model.Hour)
			set()
			checkLists(t, &q)
		}
		add(true)
		require.True(t, q.listed)
		for len(q.Jobs) > 2 {
			q.Remove(q.Jobs[0].Ref)
		}
		add(true)
		require.False(t, q.listed)
		require.Empty(t, q.lists.live)
		requireInOrder(t, &q)
		now = now.Add(5 * model.Hour)
		set()
		requireInOrder(t, &q)
	}
}

// requireInOrder holds the orders of a short queue against its rows.
func requireInOrder(t require.TestingT, q *Queue) {
	byBound, byNeed, waiting := 0, 0, 0
	for tenant, list := range q.rows.byBound {
		byBound += len(list)
		for i := range list {
			j := q.Row(list[i].ref)
			require.False(t, j.Gated)
			require.Equal(t, tenant, int(j.Tenant))
			require.Equal(t, bounded{j.Static + q.Term(j.Submit, q.rows.until), j.Tier, j.Ref}, list[i])
			if i > 0 {
				p := list[i-1]
				first := cmp.Or(cmp.Compare(p.tier, j.Tier), cmp.Compare(p.bound, list[i].bound), cmp.Compare(j.Ref, p.ref))
				require.Positive(t, first, "%v before %v", p, list[i])
			}
		}
	}
	for size := range q.sizes {
		least := int32(math.MaxInt32)
		for kind, list := range q.sizes[size].asked {
			byNeed += len(list)
			for i, r := range list {
				j := q.Row(r.ref())
				require.False(t, j.Gated)
				require.Equal(t, [2]int{size, kind}, [2]int{int(j.Size), map[bool]int{true: 1}[j.Borrows]})
				require.Equal(t, j.Need, r.need())
				if i > 0 {
					require.Positive(t, cmp.Or(cmp.Compare(list[i-1].need(), j.Need), cmp.Compare(list[i-1].ref(), j.Ref)))
				}
				least = min(least, j.Need)
			}
		}
		require.Equal(t, least, q.sizes[size].leastAsked())
	}
	for i := range q.Jobs {
		if !q.Jobs[i].Gated {
			waiting++
		}
	}
	require.Equal(t, [2]int{waiting, waiting}, [2]int{byBound, byNeed})
}

// shortQueue has the jobs in rows, under terms by which the scores are their static terms, and a node of the largest group adds nothing.
func shortQueue(jobs ...Job) (*Queue, *Bounds) {
	space, free := machine(16)
	q := New(Config{Weights: &score.Weights{}, Reference: model.Hour, Nodes: 16, Bounded: true, Few: Few}, free, space.Class(nil))
	for i, j := range jobs {
		j.Ref, j.Job = model.Ref(i), model.JobID(i)
		q.Add(j, 1, 0)
	}
	ones := []model.Fixed{model.One, model.One}
	b := &Bounds{}
	b.Set(&q, 0, 10*model.Time(model.Minute), &Terms{FairShare: []model.Fixed{0, model.One}, Penalty: ones, Inverse: ones}, func(place.ClassID) int32 { return 16 })
	return &q, b
}

// TestPromisingRow: the row of the highest tier that promises most, with the fair share of its tenant.
func TestPromisingRow(t *testing.T) {
	const one = model.One
	for want, jobs := range map[model.Ref][]Job{ //detlint:unordered each by itself
		2: {{Static: 3 * one}, {Static: one, Tenant: 1}, {Static: 5 * one}},
		1: {{Static: 3 * one}, {Static: 5 * one / 2, Tenant: 1}, {Static: 2 * one}},
		0: {{Static: one, Tier: 2}, {Static: 5 * one}, {Static: 5 * one, Tenant: 1, Tier: 1}},
		3: {{Static: 9 * one}, {Static: 8 * one, Tenant: 1}, {Static: one, Tier: 2}, {Static: one, Tenant: 1, Tier: 2}},
	} {
		_, b := shortQueue(jobs...)
		require.Equal(t, want, b.Promising(), "%v", jobs)
	}
}

// TestRowsThatAreLookedAt: a search looks at those alone that may come first, and at all of them.
func TestRowsThatAreLookedAt(t *testing.T) {
	const one = model.One
	jobs := []Job{
		{Static: 9 * one}, {Static: 7 * one}, {Static: 5 * one}, {Static: 3 * one}, {Static: 99 * one, Tier: -1}, {Static: one, Tier: 1},
		{Static: 6 * one, Tenant: 1}, {Static: 4 * one, Tenant: 1}, {Static: 2 * one, Tenant: 1},
	}
	q, b := shortQueue(jobs...)
	for _, c := range []struct {
		lead   Leader
		margin model.Fixed
		want   []model.Ref
	}{
		{Leader{At: 0, Key: 9 * one}, 0, []model.Ref{0, 5}},
		{Leader{At: 0, Key: 9 * one}, 2 * one, []model.Ref{0, 1, 5, 6}},
		{Leader{At: 2, Key: 5 * one}, 0, []model.Ref{0, 1, 2, 5, 6, 7}},
		{Leader{At: 5, Tier: 1, Key: one}, 0, []model.Ref{5}},
	} {
		var looked []model.Ref
		lead := c.lead
		b.search(&lead, c.margin, 0, func(at int32) bool {
			looked = append(looked, q.Jobs[at].Ref)
			return false
		})
		require.ElementsMatch(t, c.want, looked, "%v", c)
	}
	looks, lead := 0, NoLeader // the highest floor counts from then on
	b.search(&lead, 0, 0, func(at int32) bool {
		looks++
		if j := &q.Jobs[at]; j.Tier > lead.Tier || j.Tier == lead.Tier && j.Static > lead.Key {
			lead = Leader{At: at, Tier: j.Tier, Key: j.Static}
		}
		return false
	})
	require.Equal(t, [2]int{int(lead.At), looks}, [2]int{5, 1})
}

// doorway has so much room for those that may borrow, and for the others.
type doorway struct {
	*Queue
	rooms [2]queue.Room
	asked []model.Ref
}

func (d *doorway) Room(_ int32, borrows bool) queue.Room {
	if borrows {
		return d.rooms[1]
	}
	return d.rooms[0]
}

func (d *doorway) MayStart(at int32) bool {
	d.asked = append(d.asked, d.Jobs[at].Ref)
	return true
}

func (d *doorway) Key(at int32) model.Fixed   { return d.Jobs[at].Static }
func (d *doorway) Before(a, b model.Ref) bool { return d.Row(a).Job < d.Row(b).Job }

// TestRowsThatThereIsRoomFor: of a short queue those alone are found that there is room for at the beginning and when it is their turn.
func TestRowsThatThereIsRoomFor(t *testing.T) {
	const h = model.Hour
	q, b := shortQueue(
		Job{Static: 1, Need: 3, Left: h}, Job{Static: 2, Need: 4, Left: h}, Job{Static: 3, Need: 2, Left: 2 * h}, Job{Static: 4, Need: 1, Left: 2 * h},
		Job{Static: 5, Need: 5, Left: h, Borrows: true}, Job{Static: 6, Need: 6, Left: h, Borrows: true}, Job{Static: 7, Need: 1, Left: 9 * h, Borrows: true, Size: OneGPU},
		Job{Static: 8, Need: 4, Left: h, Gated: true},
	)
	d := &doorway{Queue: q, rooms: [2]queue.Room{{Free: 4, Extra: 1, Limit: h}, {Free: 5, Extra: 5, Limit: model.Forever}}}
	var s Seeker
	s.Start(b, d)
	require.ElementsMatch(t, []model.Ref{0, 1, 3, 4, 6}, d.asked)
	var found []model.Ref
	for c, ok := s.Next(); ok; c, ok = s.Next() {
		require.Equal(t, q.At(c.Ref), c.At)
		if found = append(found, c.Ref); c.Ref == 4 {
			d.rooms[0].Free = 3
		}
	}
	require.Equal(t, []model.Ref{6, 4, 3, 0}, found, "no room is left for the one of four nodes")
}
