package preempt

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
)

// board is a cluster of up to 64 nodes on which a pending job wants need nodes
// of one group.
type board struct {
	t      require.TestingT
	free   uint64
	need   int
	groups []uint64
	held   []uint64 // by job
	fits   int      // calls
}

func (b *board) Give(v *Victim) {
	require.Zero(b.t, b.free&b.held[v.Job], "given twice: %d", v.Job)
	b.free |= b.held[v.Job]
}

func (b *board) Take(v *Victim) {
	require.Equal(b.t, b.held[v.Job], b.free&b.held[v.Job], "taken without being given: %d", v.Job)
	b.free &^= b.held[v.Job]
}

func (b *board) Fits() bool {
	b.fits++
	return slices.ContainsFunc(b.groups, func(g uint64) bool { return bits.OnesCount64(b.free&g) >= b.need })
}

// lined gives the victims disjoint nodes of one group, in a row.
func lined(t require.TestingT, free, need int, victims []Victim) *board {
	b := &board{t: t, free: 1<<free - 1, need: need, groups: []uint64{^uint64(0)}, held: make([]uint64, len(victims))}
	at := free
	for i := range victims {
		b.held[victims[i].Job] = (1<<victims[i].Nodes - 1) << at
		at += int(victims[i].Nodes)
	}
	return b
}

// chosen selects for a job of class pending that needs so many nodes of which so
// many are free, and names the jobs that go.
func chosen(t require.TestingT, cfg *Config, trigger Trigger, pending int32, need, free int, victims []Victim) ([]model.JobID, bool) {
	b := lined(t, free, need, victims)
	before := b.free
	got, ok := Select(cfg, trigger, pending, model.Time(2*model.Hour), victims, b, nil)
	require.Equal(t, before, b.free, "the trial is left as it was found")
	if !ok {
		require.Empty(t, got)
	}
	jobs := []model.JobID{}
	for _, i := range got {
		jobs = append(jobs, victims[i].Job)
	}
	return jobs, ok
}

// Which job may preempt which: what every version of the policy agrees on.
func TestClasses(t *testing.T) {
	for _, c := range []struct {
		pending, victim int32
		strict, banded  bool
	}{
		{4, 5, false, false},
		{6, 3, true, true},
		{7, 2, true, true},
		{8, 3, true, true},
		{5, 5, false, false},
		{5, 4, true, false}, // of one band
		{1, 0, true, true},
		{3, 1, true, false},
		{4, 3, true, true},
		{7, 6, true, true},
		{9, 7, true, false},
		{10, 9, true, true},
		{10, 10, false, false},
		{0, 0, false, false},
	} {
		for rule, want := range map[Rule]bool{Strict: c.strict, Banded: c.banded} {
			cfg := DefaultConfig()
			cfg.Rule = rule
			_, ok := chosen(t, &cfg, Priority, c.pending, 1, 0, []Victim{victim(0, c.victim, 1)})
			require.Equal(t, want, ok, "%d over %d, %s", c.pending, c.victim, rule)
		}
	}
}

func TestAdmits(t *testing.T) {
	with := func(change func(*Victim)) Victim {
		v := victim(0, 3, 2)
		change(&v)
		return v
	}
	for _, c := range []struct {
		what    string
		trigger Trigger
		victim  Victim
		ok      bool
	}{
		{"an ordinary job", Priority, with(func(*Victim) {}), true},
		{"not preemptible", Priority, with(func(v *Victim) { v.Preemptible = false }), false},
		{"sensitive", Priority, with(func(v *Victim) { v.Sensitive = true }), false},
		{"on nodes of no use", Priority, with(func(v *Victim) { v.Usable = 0 }), false},
		{"5 minutes before its walltime", Priority, with(func(v *Victim) { v.Elapsed = v.Walltime - 5*model.Minute }), false},
		{"a moment earlier", Priority, with(func(v *Victim) { v.Elapsed = v.Walltime - 5*model.Minute - 1 }), true},
		{"overdue", Priority, with(func(v *Victim) { v.Elapsed = v.Walltime + 1 }), false},
		{"without a walltime", Priority, with(func(v *Victim) { v.Walltime = model.Forever }), true},
		{"at home", Reclaim, with(func(*Victim) {}), false},
		{"a borrower", Reclaim, with(func(v *Victim) { v.Borrowed = true }), true},
		{"a borrower of a higher class", Reclaim, with(func(v *Victim) { v.Borrowed, v.Class = true, 9 }), true},
		{"a sensitive borrower", Reclaim, with(func(v *Victim) { v.Borrowed, v.Sensitive = true, true }), false},
		{"a higher class", Priority, with(func(v *Victim) { v.Class = 9 }), false},
		{"a higher class, for sensitive work", Sensitive, with(func(v *Victim) { v.Class = 9 }), true},
		{"sensitive, for sensitive work", Sensitive, with(func(v *Victim) { v.Sensitive = true }), false},
	} {
		cfg := DefaultConfig()
		_, ok := chosen(t, &cfg, c.trigger, 5, 1, 0, []Victim{c.victim})
		require.Equal(t, c.ok, ok, c.what)
	}
}

// Each row's victim 1 goes before its victim 0.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(first, second *Victim)
	}{
		{"the lower class, whatever it costs", func(first, _ *Victim) { first.Class, first.Checkpoint = 2, none }},
		{"the lower cost per node", func(first, _ *Victim) { first.Elapsed = model.Hour }},
		{"the one above its share", func(first, _ *Victim) { first.Burst = true }},
		{"the one with more nodes of use", func(_, second *Victim) { second.Usable = 1 }},
		{"the latest start", func(first, _ *Victim) { first.Start = 1 }},
		{"the lower id", func(first, second *Victim) { first.Job, second.Job = 0, 1 }},
	} {
		v := []Victim{victim(0, 3, 2), victim(1, 3, 2)}
		c.change(&v[1], &v[0])
		cfg := DefaultConfig()
		jobs, ok := chosen(t, &cfg, Priority, 5, 2, 0, v)
		require.True(t, ok)
		require.Equal(t, []model.JobID{v[1].Job}, jobs, c.what)
	}
}

func TestSelectCap(t *testing.T) {
	v := []Victim{victim(0, 1, 2), victim(1, 1, 2), victim(2, 1, 2), victim(3, 1, 2)}
	for _, c := range []struct {
		need, free int
		most       int32
		jobs       []model.JobID
		ok         bool
	}{
		{2, 2, 3, []model.JobID{}, true}, // it fits as it is
		{4, 2, 3, []model.JobID{0}, true},
		{8, 2, 3, []model.JobID{0, 1, 2}, true},
		{9, 2, 3, []model.JobID{}, false},
		{9, 2, 4, []model.JobID{0, 1, 2, 3}, true},
		{11, 2, 4, []model.JobID{}, false},
	} {
		cfg := DefaultConfig()
		cfg.MaxVictims = c.most
		jobs, ok := chosen(t, &cfg, Priority, 5, c.need, c.free, v)
		require.Equal(t, c.ok, ok, "%+v", c)
		require.Equal(t, c.jobs, jobs, "%+v", c)
	}
}

// Of 60 victims with a node each go exactly the first ones, and Fits is asked as
// seldom as Select says.
func TestSelectFewest(t *testing.T) {
	victims := make([]Victim, 60)
	for i := range victims {
		victims[i] = victim(model.JobID(i), 1, 1)
	}
	cfg := DefaultConfig()
	cfg.MaxVictims = 60
	for need := 1; need <= 60; need++ {
		b := lined(t, 0, need, victims)
		got, ok := Select(&cfg, Priority, 5, 0, victims, b, nil)
		require.True(t, ok)
		require.Equal(t, numbers(need), got)
		require.LessOrEqual(t, b.fits, 2+need+2*bits.Len(uint(len(victims))), need)
	}
	b := lined(t, 0, 61, victims)
	_, ok := Select(&cfg, Priority, 5, 0, victims, b, nil)
	require.False(t, ok)
	require.LessOrEqual(t, b.fits, 2+bits.Len(uint(len(victims))))
}

// In Lattice's code a job with checkpoints costs the same on 1 node and on 512, 55 minutes half way
// through its walltime, and a class-5 job of fewer minutes leaves before best effort.
func TestDefectD19VictimCostIgnoresSizeAndClass(t *testing.T) {
	small, large := victim(0, 3, 1), victim(1, 3, 512)
	cfg := DefaultConfig()
	large.Usable = 1 // what counts is what the pending job gets of it
	require.EqualValues(t, 55*4*model.Minute, cfg.Cost(&small, model.Time(2*model.Hour), cfg.Bandwidth))
	require.EqualValues(t, 512*55*4*model.Minute, cfg.Cost(&large, model.Time(2*model.Hour), cfg.Bandwidth))

	best, normal := victim(0, 0, 4), victim(1, 5, 4)
	normal.Elapsed = 10 * model.Minute
	require.Less(t, cfg.Cost(&normal, 0, cfg.Bandwidth), cfg.Cost(&best, 0, cfg.Bandwidth))
	jobs, ok := chosen(t, &cfg, Priority, 6, 4, 0, []Victim{best, normal})
	require.True(t, ok)
	require.Equal(t, []model.JobID{0}, jobs)
}

// Lattice's code kills a first small victim that one taken later makes
// superfluous, and frees 6 nodes for a job that needs 6 where 5 are free.
func TestDefectD20GreedyVictimsAreNotPruned(t *testing.T) {
	cfg := DefaultConfig()
	small, large := victim(0, 1, 1), victim(1, 1, 6)
	small.Elapsed = 10 * model.Minute
	require.Less(t, cfg.Cost(&small, 0, cfg.Bandwidth), cfg.Cost(&large, 0, cfg.Bandwidth), "it is taken first")
	jobs, ok := chosen(t, &cfg, Priority, 5, 6, 0, []Victim{small, large})
	require.True(t, ok)
	require.Equal(t, []model.JobID{1}, jobs)
	jobs, ok = chosen(t, &cfg, Priority, 5, 6, 5, []Victim{small, large})
	require.True(t, ok)
	require.Equal(t, []model.JobID{0}, jobs, "what is free counts")
}

// Lattice treats Slurm's urgent work as sensitive, because it is mapped to class
// 10. Here the classes up to 9 are ordinary: urgent work of class 9 preempts and
// is preempted. Class 10 is sensitive and never loses its nodes.
func TestDefectD26UrgentIsNotSensitive(t *testing.T) {
	cfg := DefaultConfig()
	asked := func(class int32) Victim {
		a := model.Allocation{Class: class}
		v := victim(0, class, 1)
		v.Sensitive, v.Preemptible, v.Borrowed = a.IsSensitive(), a.Preemptible(), true
		return v
	}
	for _, c := range []struct {
		trigger         Trigger
		pending, victim int32
		ok              bool
	}{
		{Priority, 9, 8, true},
		{Priority, 10, 9, true},
		{Sensitive, 0, 9, true},
		{Reclaim, 0, 9, true},
		{Priority, 10, 10, false},
		{Sensitive, 10, 10, false},
		{Reclaim, 10, 10, false},
	} {
		_, ok := chosen(t, &cfg, c.trigger, c.pending, 1, 0, []Victim{asked(c.victim)})
		require.Equal(t, c.ok, ok, "%+v", c)
	}
}

// naive is the rule as it is written down: one after the other until it fits,
// then from the last to the first spare those that are not needed.
func naive(cfg *Config, pending int32, now model.Time, victims []Victim, b *board) ([]int, bool) {
	if b.Fits() {
		return nil, true
	}
	var order []int
	for i := range victims {
		v := &victims[i]
		if v.Class < pending && v.Preemptible && !v.Sensitive && v.Usable > 0 && v.Walltime-v.Elapsed > cfg.NearCompletion {
			order = append(order, i)
		}
	}
	key := func(i int) string {
		v := &victims[i]
		return fmt.Sprintf("%02d %020d %020d %010d", v.Class, cfg.Cost(v, now, cfg.Bandwidth), model.Never-v.Start, v.Job)
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(key(a), key(b)) })
	defer func(free uint64) { b.free = free }(b.free)
	var taken []int
	for _, i := range order {
		if !b.Fits() {
			b.Give(&victims[i])
			taken = append(taken, i)
		}
	}
	if !b.Fits() {
		return nil, false
	}
	for k := len(taken) - 1; k >= 0; k-- {
		v := &victims[taken[k]]
		if b.Take(v); b.Fits() {
			taken = slices.Delete(taken, k, k+1)
		} else {
			b.Give(v)
		}
	}
	return taken, len(taken) <= int(cfg.MaxVictims)
}

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Select does what the naive selection does, leaves the trial as it found it, and
// every victim it names is needed.
func TestSelectLikeNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &board{t: t, need: rapid.IntRange(1, 16).Draw(t, "need")}
		per := rapid.IntRange(8, 32).Draw(t, "nodes of a group")
		for at := 0; at+per <= 64; at += per {
			b.groups = append(b.groups, (1<<per-1)<<at)
		}
		nodes := rapid.Permutation(numbers(64)).Draw(t, "nodes")
		some := func(most int, what string) (held uint64) {
			n := min(rapid.IntRange(0, most).Draw(t, what), len(nodes))
			for _, node := range nodes[:n] {
				held |= 1 << node
			}
			nodes = nodes[n:]
			return held
		}
		b.free = some(16, "free")
		now := model.Time(model.Day)
		victims := make([]Victim, rapid.IntRange(0, 16).Draw(t, "jobs"))
		for i := range victims {
			b.held = append(b.held, some(4, "held"))
			v := victim(model.JobID(i), rapid.SampledFrom([]int32{1, 1, 1, 3, 5}).Draw(t, "class"), int32(bits.OnesCount64(b.held[i])))
			v.Usable = max(0, v.Nodes-rapid.SampledFrom([]int32{0, 0, 1}).Draw(t, "of no use"))
			v.Elapsed = model.Duration(rapid.SampledFrom([]int{1, 2, 8, 23, 24}).Draw(t, "elapsed")) * 10 * model.Minute
			v.Start = now - model.Time(v.Elapsed)
			v.Checkpoint = model.Checkpoint(rapid.IntRange(0, 2).Draw(t, "checkpoint"))
			v.Burst, v.Preemptible = rapid.Bool().Draw(t, "burst"), rapid.IntRange(0, 9).Draw(t, "preemptible") < 9
			victims[i] = v
		}
		cfg := DefaultConfig()
		cfg.MaxVictims = rapid.Int32Range(1, 9).Draw(t, "most")

		want, wantOK := naive(&cfg, 5, now, victims, b)
		if !wantOK {
			want = nil
		}
		before := b.free
		got, ok := Select(&cfg, Priority, 5, now, victims, b, make([]int, 3))
		require.Equal(t, wantOK, ok)
		require.Equal(t, before, b.free)
		require.Equal(t, append([]int{}, want...), append([]int{}, got...))
	})
}

// counted is a trial that has no nodes: enough must be given.
type counted struct{ free, need int32 }

func (c *counted) Give(v *Victim) { c.free += v.Usable }
func (c *counted) Take(v *Victim) { c.free -= v.Usable }
func (c *counted) Fits() bool     { return c.free >= c.need }

// crowd is 1,000 running jobs of all classes below 5, sizes and ages.
func crowd() []Victim {
	all := make([]Victim, 1000)
	for i := range all {
		v := victim(model.JobID(i), int32(i*7%5), int32(1+i*13%40))
		v.Elapsed = model.Duration(i*29%230) * model.Minute
		v.Start = model.Time(2*model.Hour - v.Elapsed)
		v.Checkpoint = model.Checkpoint(i % 3)
		all[i] = v
	}
	return all
}

func TestSelectDoesNotAllocate(t *testing.T) {
	cfg, all, dst := DefaultConfig(), crowd(), make([]int, 0, 1000)
	c := &counted{need: 64}
	require.Zero(t, testing.AllocsPerRun(10, func() {
		got, ok := Select(&cfg, Priority, 5, 0, all, c, dst)
		require.True(t, ok)
		dst = got
	}))
}

func BenchmarkSelect(b *testing.B) {
	for _, c := range []struct {
		what string
		need int32
	}{{"few", 64}, {"never", 1 << 30}} {
		b.Run(c.what, func(b *testing.B) {
			cfg, all, dst := DefaultConfig(), crowd(), []int(nil)
			trial := &counted{need: c.need}
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = Select(&cfg, Priority, 5, 0, all, trial, dst)
			}
		})
	}
}

// Where MayYield says no, Select finds no victims: for bounds below and above the sizes
// that it keeps in mind.
func TestMayYieldIsNeeded(t *testing.T) {
	said := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		victims := make([]Victim, rapid.IntRange(0, 12).Draw(t, "jobs"))
		for i := range victims {
			victims[i] = victim(model.JobID(i), rapid.SampledFrom([]int32{1, 3, 7}).Draw(t, "class"), rapid.Int32Range(1, 4).Draw(t, "nodes"))
			victims[i].Preemptible = rapid.IntRange(0, 4).Draw(t, "preemptible") > 0
		}
		free, need := rapid.IntRange(0, 4).Draw(t, "free"), rapid.IntRange(5, 40).Draw(t, "need")
		cfg := DefaultConfig()
		cfg.MaxVictims = rapid.Int32Range(1, 11).Draw(t, "most")
		may := cfg.MayYield(Priority, 5, victims, int32(need-free))
		said[may]++
		if _, ok := chosen(t, &cfg, Priority, 5, need, free, victims); !may {
			require.False(t, ok)
		}
	})
	require.Positive(t, said[true])
	require.Positive(t, said[false])

	three := []Victim{victim(0, 1, 2), victim(1, 1, 4), victim(2, 1, 3)}
	cfg := DefaultConfig()
	cfg.MaxVictims = 2
	require.True(t, cfg.MayYield(Priority, 5, three, 7))
	require.False(t, cfg.MayYield(Priority, 5, three, 8), "two of them hold 7 nodes at most")
	cfg.MaxVictims = 9
	require.True(t, cfg.MayYield(Priority, 5, three, 9))
	require.False(t, cfg.MayYield(Priority, 1, three, 1), "none is of a lower class")
}
