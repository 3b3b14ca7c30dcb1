package waiting

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/place"
	"orrery/scheduler/score"
)

// crowd is a queue in which many jobs differ by little, and what is true of them.
type crowd struct {
	t       *testing.T
	rng     *rand.Rand
	q       Queue
	terms   Terms
	weights score.Weights
	group   int32 // the largest conformance group
	held    map[model.Ref]bool
	now     model.Time

	stands  int // times that the leader stood for its list
	changed int // times that another was the best later
}

// newCrowd is a crowd without jobs. Two of its three tenants are beyond their budgets: their penalties
// bring scores nearer to each other, down to equal ones.
func newCrowd(t *testing.T, seed uint64) *crowd {
	const nodes = 16
	c := &crowd{t: t, rng: rand.New(rand.NewPCG(seed, 9)), group: int32(seed%7) * 2, held: map[model.Ref]bool{}}
	st := &model.Site{Constraints: []model.Constraint{{GPUType: -1}}, VClusters: []model.VCluster{{}}, Groups: []model.Group{{}}, Fingerprints: 1}
	for range nodes {
		st.Nodes = append(st.Nodes, model.Node{Home: -1, State: model.Ready})
	}
	for i := range c.weights {
		c.weights[i] = model.One / 9
	}
	space := place.NewSpace(st)
	c.q = New(Config{Weights: &c.weights, Reference: model.Hour, Nodes: nodes, Bounded: true}, space.NewFree(), space.Class(nil))
	c.terms = Terms{
		FairShare: make([]model.Fixed, 3),
		Penalty:   []model.Fixed{model.One, model.One / 2, model.One / 10},
		Inverse:   []model.Fixed{model.One, 2 * model.One, 10 * model.One},
	}
	return c
}

// score is the whole of it, in the plainest way.
func (c *crowd) score(j *QueueEntry) model.Fixed {
	f9 := model.One
	if c.group < j.Need {
		f9 = score.ConformanceOf(c.group, j.Need)
	}
	sum := j.Static + c.q.Term(j.Submit, c.now) + c.weights[score.Conformance].Mul(f9)
	if p := c.terms.Penalty[j.Tenant]; p != model.One {
		return p.Mul(sum)
	}
	return sum
}

// before says whether a comes before b.
func (c *crowd) before(a, b *QueueEntry) bool {
	x, y := c.score(a), c.score(b)
	return a.Tier > b.Tier || a.Tier == b.Tier && (x > y || x == y && a.Job < b.Job)
}

// naiveBest is the best job that no limit holds, by a look at each.
func (c *crowd) naiveBest() int32 {
	best := int32(-1)
	for i := range c.q.Jobs {
		if j := &c.q.Jobs[i]; !c.held[j.Ref] && (best < 0 || c.before(j, &c.q.Jobs[best])) {
			best = int32(i)
		}
	}
	return best
}

// best is what Examine finds, beginning at the promising job or not.
func (c *crowd) best() int32 {
	var b Bounds
	b.Set(&c.q, c.now, c.now.Add(10*model.Minute), &c.terms, func(place.ClassID) int32 { return c.group })
	lead, seen := NoLeader, []model.Ref(nil)
	examine := func(at int32) (held bool) {
		j := &c.q.Jobs[at]
		if lead.At >= 0 && !c.before(j, &c.q.Jobs[lead.At]) {
			return false
		}
		if c.held[j.Ref] {
			return true
		}
		lead = Leader{At: at, Tier: j.Tier, Key: c.score(j)}
		return false
	}
	if ref := b.Promising(); ref >= 0 && c.rng.IntN(2) == 0 {
		seen = append(seen, ref)
		examine(c.q.At(ref))
	}
	b.Examine(&lead, seen, examine)
	if lead.At < 0 {
		return -1
	}
	best := lead
	margin := model.Fixed(c.rng.Int64N(int64(model.One)/20)) * model.Fixed(c.rng.IntN(2))
	before := func(at int32) bool { return c.before(&c.q.Jobs[at], &c.q.Jobs[best.At]) }
	found := b.Contenders(nil, best, margin, before)
	require.False(c.t, slices.ContainsFunc(found, func(ref model.Ref) bool { return before(c.q.At(ref)) }))
	if j := &c.q.Jobs[best.At]; c.terms.Penalty[j.Tenant] == model.One {
		if l := c.listOf(j); l.even() {
			require.False(c.t, slices.ContainsFunc(found, func(ref model.Ref) bool { return c.listOf(c.q.Row(ref)) == l }), "the leader stands for its list")
			c.stands++
		}
	}
	c.checkContenders(&b, best, margin, found)

	if c.rng.IntN(2) == 0 { // what is known is the best, as it mostly is
		seen = []model.Ref{c.q.Jobs[best.At].Ref}
	} else {
		lead = NoLeader
		seen = nil
	}
	found = b.ExamineWithContenders(&lead, seen, margin, examine)
	require.Equal(c.t, best, lead)
	c.checkContenders(&b, best, margin, slices.DeleteFunc(found, func(ref model.Ref) bool { return before(c.q.At(ref)) }))
	return lead.At
}

func (c *crowd) listOf(j *QueueEntry) *list { return &c.q.lists.all[c.q.listOf(c.q.familyOf(j), j)] }

// checkContenders: whichever job is the best at an instant within the time of the bounds, or so near to the leader now, it is
// the leader or one of the contenders, or comes after one of them in their list. None is there twice.
func (c *crowd) checkContenders(b *Bounds, lead Leader, margin model.Fixed, found []model.Ref) {
	slices.Sort(found)
	require.Equal(c.t, found, slices.Compact(slices.Clone(found)))
	found = append(found, c.q.Jobs[lead.At].Ref)
	stoodFor := func(j *QueueEntry) bool {
		return slices.ContainsFunc(found, func(ref model.Ref) bool {
			o := c.q.Row(ref)
			return o == j || c.listOf(o) == c.listOf(j) && c.before(o, j)
		})
	}
	now := c.now
	for range 3 {
		c.now = now.Add(model.Duration(c.rng.Int64N(int64(b.until.Sub(now)) + 1)))
		best := c.naiveBest()
		require.True(c.t, stoodFor(&c.q.Jobs[best]))
		if best != lead.At {
			c.changed++
		}
	}
	c.now = now
	for i := range c.q.Jobs {
		j := &c.q.Jobs[i]
		if !c.held[j.Ref] && j.Tier == lead.Tier && c.score(j) >= lead.Key-margin {
			require.True(c.t, stoodFor(j))
		}
	}
}

// TestBestAsJobsJoinAndLeave searches again and again while jobs join and leave: those of one instant and
// of several, of families that are set apart and of small ones, some of them held, with terms some units
// apart, in groups that lie further apart. What one search learns of a list holds in the next.
func TestBestAsJobsJoinAndLeave(t *testing.T) {
	searches, stands, changed := 0, 0, 0
	for seed := range uint64(1000) {
		c := newCrowd(t, seed)
		sizes, leaving, onceOnly := 1+c.rng.Int32N(2)*3, 4-2*int(seed%3/2), c.rng.IntN(2) == 0
		tiers, apart, tenants := int32(2), 1+int(seed%4)*3, int32(3)
		if seed%5 > 1 { // one list, even most of the time, with few jobs that may tie
			tiers, apart, tenants, sizes, leaving, onceOnly = 1, 12, 1, 1, 2, true
			c.terms.Penalty[0], c.terms.Inverse[0] = c.terms.Penalty[2], c.terms.Inverse[2]
		}
		ids, submit, ref := c.rng.Perm(3000), model.Time(0), model.Ref(0)
		for range 40 + c.rng.IntN(500)*(1+2*int(seed%2)) {
			if len(c.q.Jobs) > 0 && c.rng.IntN(leaving) == 0 {
				c.q.Remove(c.q.Jobs[c.rng.IntN(len(c.q.Jobs))].Ref)
			} else {
				if !onceOnly {
					submit = c.now
				}
				c.held[ref] = c.rng.IntN(6) == 0
				c.q.Add(QueueEntry{
					Static: model.One/20 + model.Fixed(c.rng.IntN(12)*c.rng.IntN(2)) + model.Fixed(c.rng.IntN(apart)*1000), Need: 1 + c.rng.Int32N(sizes),
					Left: model.Hour, Tenant: c.rng.Int32N(1 + c.rng.Int32N(tenants)), Tier: c.rng.Int32N(tiers), Ref: ref, Job: model.JobID(ids[ref]), Submit: submit,
				}, 1, c.now)
				ref++
			}
			if c.rng.IntN(8) == 0 {
				c.now = c.now.Add(model.Duration(c.rng.Int64N(int64(model.Hour))))
				searches++
				require.Equal(t, c.naiveBest(), c.best(), "crowd %d", seed)
			}
		}
		stands, changed = stands+c.stands, changed+c.changed
	}
	require.Greater(t, searches, 10_000)
	require.Greater(t, stands, 100)
	require.Greater(t, changed, 100)
}
