package multifactor

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
)

// site is a small tree: accounts a with a1 and a2 in it, and b, a user in each
// of a1, a2 and b, and one below the root.
func site(t require.TestingT, s Sharing) *Tree {
	tree, err := NewTree([]Association{
		{Parent: -1, Shares: 1, User: true},
		{Parent: -1, Shares: 3}, // a
		{Parent: 1, Shares: 2},  // a1
		{Parent: 2, Shares: 4, User: true},
		{Parent: 1, Shares: 5}, // a2
		{Parent: 4, Shares: 4, User: true},
		{Parent: -1, Shares: 1}, // b
		{Parent: 6, Shares: 4, User: true},
	}, &s)
	require.NoError(t, err)
	return tree
}

func floats(tree *Tree, f func(i int32) model.Fixed) (out []float64) {
	for i := range tree.of {
		out = append(out, f(int32(i)).Float())
	}
	return out
}

// TestClassic: when a user in a1 has used everything, the others of a suffer
// with it, as far as it is theirs.
func TestClassic(t *testing.T) {
	tree := site(t, Sharing{})
	require.Equal(t, []float64{1, 1, 1, 1, 1, 1, 1, 1}, floats(tree, tree.Factor))
	want := []float64{.2, .6, .6 * 2 / 7, .6 * 2 / 7, .6 * 5 / 7, .6 * 5 / 7, .2, .2}
	require.InDeltaSlice(t, want, floats(tree, tree.Shares), 1e-9)

	tree.Use(3, 10, 0)
	tree.Freeze(model.Time(minute))
	require.EqualValues(t, 10*minute, tree.Used(3))
	require.EqualValues(t, 10*minute, tree.Used(1))
	a1 := math.Exp2(-1 / (.6 * 2 / 7))
	// The effective usage of a2 is 0 + (1 - 0) 5/7.
	a2 := math.Exp2(-(5. / 7) / (.6 * 5 / 7))
	require.InDeltaSlice(t, []float64{1, math.Exp2(-1 / .6), a1, a1, a2, a2, 1, 1}, floats(tree, tree.Factor), 1e-9)
	require.InDelta(t, .017538, tree.Factor(3).Float(), 1e-6)
	require.InDelta(t, .314980, tree.Factor(5).Float(), 1e-6)

	damped := site(t, Sharing{Dampening: 5})
	damped.Use(3, 10, 0)
	damped.Freeze(model.Time(minute))
	require.InDelta(t, math.Exp2(-1/(.6*2/7)/5), damped.Factor(3).Float(), 1e-9)
}

// TestNoShares: an association that is promised nothing has no fair share.
func TestNoShares(t *testing.T) {
	for _, ranked := range []bool{false, true} {
		tree, err := NewTree([]Association{{Parent: -1, User: true}, {Parent: -1, Shares: 1, User: true}}, &Sharing{FairTree: ranked})
		require.NoError(t, err)
		want := []float64{0, 1}
		if ranked {
			want[0] = .5 // the last of two
		}
		require.Equal(t, want, floats(tree, tree.Factor))
	}
}

// TestFairTree ranks by level, ties included.
func TestFairTree(t *testing.T) {
	for _, c := range []struct {
		name string
		used [4]int64 // of the users of the root, a1, a2 and b
		want [4]float64
	}{
		{"no usage: all tie", [4]int64{}, [4]float64{1, 1, 1, 1}},
		// a has 3/5 of the shares and all of the usage: last, and a1 last in it.
		{"a1 alone", [4]int64{0, 9, 0, 0}, [4]float64{1, .25, .5, 1}},
		{"the user of the root alone", [4]int64{9, 0, 0, 0}, [4]float64{.25, 1, 1, 1}},
		// Levels: root 1/5 over 4/14, b 1/5 over 1/14, a 3/5 over 9/14; in a: a1 2/7 over 8/9.
		{"all differ", [4]int64{4, 8, 1, 1}, [4]float64{.25, .5, .75, 1}},
		// Root and b are level and come first together; only a2 has the third place.
		{"a user and an account tie", [4]int64{1, 8, 1, 1}, [4]float64{1, .25, .5, 1}},
		// Root, a and b are level: below them a2, 5/7 over 2/3, comes before b's
		// user, 1 over 1, and a1, 2/7 over 1/3; the root's user ties with the first.
		{"a user and two accounts tie", [4]int64{2, 2, 4, 2}, [4]float64{1, .25, 1, .5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := site(t, Sharing{FairTree: true})
			users := []int32{0, 3, 5, 7}
			for k, i := range users {
				tree.Use(i, c.used[k], 0)
			}
			tree.Freeze(1)
			for k, i := range users {
				require.Equal(t, c.want[k], tree.Factor(i).Float(), "user %d", k)
			}
		})
	}
}

// TestHalfLife: usage halves in a half-life, from the end of its period on.
func TestHalfLife(t *testing.T) {
	tree := site(t, Sharing{HalfLife: day})
	tree.Use(3, 1000, 0)
	tree.Use(3, -1000, model.Time(5*minute))
	tree.Freeze(model.Time(5*minute + 30*day))
	require.InDelta(t, 1000*float64(5*minute)*math.Exp2(-30-5./1440), float64(tree.Used(3)), 9000)
	tree = site(t, Sharing{HalfLife: model.Forever})
	tree.Use(3, 1000, 0)
	tree.Use(3, -1000, model.Time(5*minute))
	tree.Freeze(model.Time(300 * day))
	require.EqualValues(t, 5000*minute, tree.Used(3))
	require.EqualValues(t, 10*minute, tree.nextTick(model.Time(5*minute)))
	require.EqualValues(t, 0, tree.nextTick(-1))
}

// TestIdleForMillennia: periods in which nothing is left to decay are passed over at once, and
// the next one ends where it would have.
func TestIdleForMillennia(t *testing.T) {
	late := model.Time(200_000 * 365 * model.Day).Add(3 * minute / 2)
	for _, used := range []int64{0, 10} {
		tree := site(t, Sharing{})
		tree.Use(3, used, 0)
		tree.Use(3, -used, model.Time(minute))
		tree.Freeze(late)
		require.Zero(t, tree.Used(3))
		require.Equal(t, tree.nextTick(late), tree.next)
		tree.Use(3, 10, late)
		tree.Freeze(late.Add(minute))
		require.EqualValues(t, 10*minute, tree.Used(3))
	}
}

// TestBadTrees says what is wrong with a list.
func TestBadTrees(t *testing.T) {
	for want, list := range map[string][]Association{
		"association 0 has the parent 0: name one that stands before it, or -1 for the root":  {{Parent: 0}},
		"association 0 has the parent -2: name one that stands before it, or -1 for the root": {{Parent: -2}},
		"association 1 has the parent 0, which is a user: name an account":                    {{Parent: -1, User: true}, {}},
		"association 0 has -1 shares: give 0 to 2147483647":                                   {{Parent: -1, Shares: -1}},
	} {
		_, err := NewTree(list, &Sharing{})
		require.EqualError(t, err, want)
	}
}

// naive is the same tree in real numbers: a list of stretches of use, weighed
// by their age in whole periods.
type naive struct {
	list   []Association
	share  Sharing
	user   []int32
	amount []int64
	from   []model.Time
	to     []model.Time
}

func (n *naive) used(i int32, now model.Time) (sum float64) {
	for k, u := range n.user {
		if !n.within(u, i) {
			continue
		}
		for at := n.from[k]; at < n.to[k]; {
			end := min(n.to[k], (at/model.Time(n.share.Period)+1)*model.Time(n.share.Period))
			periods := now/model.Time(n.share.Period) - at/model.Time(n.share.Period)
			age := float64(periods) * float64(n.share.Period) / float64(n.share.HalfLife)
			sum += float64(n.amount[k]) * float64(end-at) * math.Exp2(-age)
			at = end
		}
	}
	return sum
}

func (n *naive) within(u, i int32) bool {
	for u >= 0 && u != i {
		u = n.list[u].Parent
	}
	return u == i
}

func (n *naive) shares(i int32) float64 {
	if i < 0 {
		return 1
	}
	return n.shares(n.list[i].Parent) * n.fraction(i)
}

func (n *naive) fraction(i int32) float64 {
	var sum int64
	for _, a := range n.list {
		if a.Parent == n.list[i].Parent {
			sum += a.Shares
		}
	}
	return float64(n.list[i].Shares) / float64(sum)
}

func (n *naive) effective(i int32, all float64, now model.Time) float64 {
	if all == 0 {
		return 0
	}
	own := n.used(i, now) / all
	if p := n.list[i].Parent; p >= 0 {
		own += (n.effective(p, all, now) - own) * n.fraction(i)
	}
	return own
}

// TestTreeAgainstReals compares usage and classic factors with real numbers,
// and checks what the ranking promises.
func TestTreeAgainstReals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := naive{share: Sharing{
			Period:   model.Second * model.Duration(rapid.IntRange(1, 9).Draw(t, "period")),
			HalfLife: model.Second * model.Duration(rapid.IntRange(5, 90).Draw(t, "half-life")),
		}}
		users := n.grow(t)
		classic, err := NewTree(n.list, &n.share)
		require.NoError(t, err)
		n.share.FairTree = true
		ranked, err := NewTree(n.list, &n.share)
		require.NoError(t, err)
		var now model.Time
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			u := rapid.SampledFrom(users).Draw(t, "user")
			amount := rapid.Int64Range(1e5, 5e6).Draw(t, "amount")
			later := now.Add(model.Duration(rapid.Int64Range(0, 3e7).Draw(t, "later")))
			for _, tree := range []*Tree{classic, ranked} {
				tree.Use(u, amount, now)
				tree.Use(u, -amount, later)
			}
			n.user, n.amount = append(n.user, u), append(n.amount, amount)
			n.from, n.to = append(n.from, now), append(n.to, later)
			now = later
		}
		classic.Freeze(now)
		ranked.Freeze(now)
		n.compare(t, classic, now)
		n.promises(t, ranked, users)
	})
}

// grow makes a tree in which every account has a user.
func (n *naive) grow(t *rapid.T) (users []int32) {
	parents := []int32{-1}
	for i := range int32(rapid.IntRange(1, 5).Draw(t, "accounts")) {
		parent := rapid.SampledFrom(parents).Draw(t, "parent")
		n.list = append(n.list, Association{Parent: parent, Shares: rapid.Int64Range(1, 9).Draw(t, "shares")})
		parents = append(parents, i)
	}
	for _, p := range append(parents, parents...) {
		users = append(users, int32(len(n.list)))
		n.list = append(n.list, Association{Parent: p, Shares: rapid.Int64Range(1, 9).Draw(t, "shares"), User: true})
	}
	return users
}

func (n *naive) compare(t *rapid.T, tree *Tree, now model.Time) {
	var all float64
	for i, a := range n.list {
		want := n.used(int32(i), now)
		require.InDelta(t, want, float64(tree.Used(int32(i))), 1000+1e-9*want)
		if a.Parent < 0 {
			all += want
		}
	}
	for i := range n.list {
		want := math.Exp2(-n.effective(int32(i), all, now) / n.shares(int32(i)))
		require.InDelta(t, want, tree.Factor(int32(i)).Float(), 1e-5)
	}
}

// promises: each user has a rank, the best is first, and of two users the one
// whose branch has the higher level below their common account does not rank
// behind.
func (n *naive) promises(t *rapid.T, tree *Tree, users []int32) {
	var best model.Fixed
	for _, u := range users {
		best = max(best, tree.Factor(u))
		require.Positive(t, tree.Factor(u))
		for _, v := range users {
			a, b := n.branches(u, v)
			la, lb := tree.of[a].level, tree.of[b].level
			if la.whole > lb.whole || la.whole == lb.whole && la.part > lb.part {
				require.GreaterOrEqual(t, tree.Factor(u), tree.Factor(v))
			}
			if a == u && b == v && la == lb {
				require.Equal(t, tree.Factor(u), tree.Factor(v), "siblings of one level tie")
			}
		}
	}
	require.Equal(t, model.One, best)
}

// branches are the children of the first common account of u and v that lead
// to them.
func (n *naive) branches(u, v int32) (a, b int32) {
	for a = u; ; a = n.list[a].Parent {
		for b = v; b >= 0; b = n.list[b].Parent {
			if n.list[a].Parent == n.list[b].Parent {
				return a, b
			}
		}
	}
}

// TestLevels: equal ratios tie, however they are written, and near ones do not.
func TestLevels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fraction := func(name string) (a, b int64) {
			b = rapid.Int64Range(1, 1<<30).Draw(t, name)
			return rapid.Int64Range(1, b).Draw(t, name), b
		}
		s, ofS := fraction("shares")
		u, ofU := fraction("usage")
		k := rapid.Int64Range(1, 1000).Draw(t, "k")
		one := levelOf(one62.of(s, ofS), one62.of(u, ofU))
		require.Equal(t, one, levelOf(one62.of(s*k, ofS*k), one62.of(u*k, ofU*k)))
		exact := float64(s) / float64(ofS) / (float64(u) / float64(ofU))
		require.InEpsilon(t, exact, float64(one.whole)+math.Ldexp(float64(one.part), -64), 1e-9)
	})
	require.Equal(t, level{}, levelOf(0, 0))
	require.Equal(t, unused, levelOf(1, 0))
}

func BenchmarkFreeze(b *testing.B) {
	for _, ranked := range []bool{false, true} {
		var list []Association
		for a := range int32(100) {
			list = append(list, Association{Parent: -1, Shares: int64(a)})
		}
		for u := range int32(1000) {
			list = append(list, Association{Parent: u % 100, Shares: 1, User: true})
		}
		tree, err := NewTree(list, &Sharing{FairTree: ranked})
		require.NoError(b, err)
		for u := range int32(1000) {
			tree.Use(100+u, int64(u), 0)
		}
		name := "classic"
		if ranked {
			name = "fair tree"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var now model.Time
			for range b.N {
				now = tree.nextTick(now)
				tree.Freeze(now)
			}
		})
	}
}
