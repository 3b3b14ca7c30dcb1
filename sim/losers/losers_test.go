package losers_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/sim/losers"
	"orrery/sim/metric"
)

// row is a cell of a test: a user and a size class, with the waits of its jobs in hours.
type row struct {
	user, size string
	jobs       int64
	now, then  float64
	work       int64
}

// sides are the cells of both policies, of one class of run times.
func sides(rows ...row) (now, then []losers.Cell) {
	for _, r := range rows {
		c := losers.Cell{Runtime: "0-10m", Size: r.size, User: r.user, Jobs: r.jobs, Work: r.work}
		c.Waits = losers.Sum{S: int64(3600 * r.now)}
		now = append(now, c)
		c.Waits = losers.Sum{S: int64(3600 * r.then)}
		then = append(then, c)
	}
	return now, then
}

// named are the losers in short: by, name and hours.
func named(list []losers.Loser) (out []string) {
	for _, l := range list {
		text, _ := json.Marshal(l.Hours)
		out = append(out, l.By+" "+l.Name+" "+string(text))
	}
	return out
}

func TestRankByHand(t *testing.T) {
	now, then := sides(row{"ann", "1", 10, 10, 40, 600}, row{"ann", "2-4", 10, 20, 50, 200}, row{"bob", "1", 20, 30, 25, 100}, row{"bob", "2-4", 10, 7, 7, 100})
	require.Equal(t, []losers.Loser{{
		By: "user", Name: "ann", Jobs: 20, Hours: 60, WaitNow: 1.5 * 3600, WaitThen: 4.5 * 3600, PartOfJobs: 0.4, PartOfWork: 0.8,
	}}, losers.Rank(now, then), "each of her size classes loses as much for a job, and explains half of it")
	text, err := json.Marshal(losers.Rank(now, then)[0])
	require.NoError(t, err)
	require.JSONEq(t, `{"by":"user","name":"ann","jobs":20,"hours":60,"wait_now":5400,"wait_then":16200,"part_of_jobs":0.4,"part_of_work":0.8}`, string(text))
}

// TestRankNamesTheExactGroup, and neither more jobs nor fewer.
func TestRankNamesTheExactGroup(t *testing.T) {
	for name, c := range map[string]struct {
		rows []row
		want []string
	}{
		"a crossed class": {
			[]row{{"ann", "1", 10, 0, 50, 1}, {"ann", "2-4", 10, 0, 0.1, 1}, {"bob", "1", 10, 0, 0.1, 1}, {"bob", "2-4", 10, 0, 0, 1}},
			[]string{"user × size ann × 1 50"},
		},
		"a size class, to which one user adds most": {
			[]row{{"ann", "1", 90, 0, 90, 1}, {"ann", "2-4", 20, 5, 5, 1}, {"bob", "1", 10, 0, 10, 1}, {"bob", "2-4", 20, 5, 5, 1}},
			[]string{"size 1 100"},
		},
		"a user that is most of a size class": {
			[]row{{"ann", "1", 90, 0, 90, 1}, {"ann", "2-4", 20, 0, 20, 1}, {"bob", "1", 10, 0, 0.1, 1}, {"bob", "2-4", 20, 5, 5, 1}},
			[]string{"user ann 110"},
		},
		"one set of jobs with two names: the one with fewer dimensions, then by name": {
			[]row{{"zoe", "1", 10, 0, 30, 1}, {"bob", "2-4", 10, 0, 0, 1}, {"cid", "2-4", 10, 0, 0, 1}},
			[]string{"size 1 30"},
		},
		"two losers, by hours": {
			[]row{{"ann", "1", 10, 0, 20, 1}, {"ann", "2-4", 10, 0, 20, 1}, {"bob", "5-16", 5, 0, 70, 1}, {"cid", "1", 10, 0, 0, 1}, {"cid", "2-4", 10, 0, 0, 1}, {"cid", "5-16", 10, 0, 0, 1}},
			[]string{"user bob 70", "user ann 40"},
		},
		"single jobs lose more each, and come later": {
			[]row{{"ann", "1", 100, 0, 100, 1}, {"ann", "2-4", 100, 0, 100, 1}, {"bob", "1", 1, 0, 40, 1}, {"bob", "2-4", 100, 0, 0, 1}},
			[]string{"user ann 200", "user × size bob × 1 40"},
		},
	} {
		require.Equal(t, c.want, named(losers.Rank(sides(c.rows...))), name)
	}
}

func TestRankLeavesOut(t *testing.T) {
	for name, rows := range map[string][]row{
		"nothing":                  nil,
		"no change":                {{"ann", "1", 10, 5, 5, 1}, {"bob", "2-4", 10, 5, 5, 1}},
		"gains alone":              {{"ann", "1", 10, 5, 4, 1}, {"bob", "2-4", 10, 5, 0, 1}},
		"less than a minute a job": {{"ann", "1", 1200, 5, 24, 1}, {"bob", "2-4", 10, 5, 5, 1}},
		"one group, which is all":  {{"ann", "1", 10, 5, 50, 1}},
		"a group that has no job":  {{"ann", "1", 0, 0, 0, 1}, {"bob", "2-4", 10, 5, 5, 1}},
		"a second below a minute":  {{"ann", "1", 60, 0, 0.98, 1}, {"bob", "2-4", 60, 0, 0.98, 1}},
	} {
		require.Empty(t, losers.Rank(sides(rows...)), name)
		now, then := sides(rows...)
		_, found := losers.Worst(now, then, 0)
		require.False(t, found, name)
	}
}

// TestRankIsShort: of thirty users that lose, the twenty that lose most.
func TestRankIsShort(t *testing.T) {
	var rows []row
	for i := range 30 {
		rows = append(rows, row{"u" + string(rune('A'+i)), "1", 10, 0, float64(i + 1), 1})
	}
	list := losers.Rank(sides(rows...))
	require.Len(t, list, 20)
	for i, l := range list {
		require.EqualValues(t, 30-i, l.Hours)
	}
}

// TestDimensions: jobs without a name are a group too, and what all jobs share is none.
func TestDimensions(t *testing.T) {
	now := []losers.Cell{
		{Runtime: "0-10m", Size: "1", Tenant: "t", Partition: "p", VCluster: "v", Jobs: 10},
		{Runtime: "0-10m", Size: "1", User: "ann", Tenant: "t", Partition: "q", VCluster: "w", Jobs: 10},
		{Runtime: "0-10m", Size: "1", User: "bob", Tenant: "t", Partition: "q", VCluster: "w", Jobs: 10},
	}
	then := slices.Clone(now)
	then[0].Waits = losers.Sum{S: 36000}
	require.Equal(t, []string{"user (none) 10"}, named(losers.Rank(now, then)), "the first by name of three that are the same jobs")
	then[1].Waits, then[2].Waits = then[0].Waits, then[0].Waits
	then[0].Waits = losers.Sum{}
	require.Equal(t, []string{"partition q 20"}, named(losers.Rank(now, then)))
	then[1].Waits.S, then[2].VCluster, now[2].VCluster, then[2].Runtime, now[2].Runtime = 0, "v", "v", "6h+", "6h+"
	require.Equal(t, []string{"runtime 6h+ 10"}, named(losers.Rank(now, then)))
}

// TestCellsOfOneSide: a cell that the other run does not have counts as without jobs there,
// and jobs that never started have no wait.
func TestCellsOfOneSide(t *testing.T) {
	now, then := sides(row{"ann", "1", 10, 10, 30, 5}, row{"bob", "1", 10, 10, 10, 5}, row{"cid", "1", 4, 4, 9, 0})
	now[0].Unstarted = 2
	list := losers.Rank(now, slices.Delete(slices.Clone(then), 1, 2))
	require.Equal(t, []string{"user ann 20", "user cid 5"}, named(list))
	require.EqualValues(t, 10*3600/8., list[0].WaitNow)
	require.EqualValues(t, 3*3600, list[0].WaitThen)
	now = slices.Delete(now, 1, 2)
	require.Equal(t, []string{"user ann 20", "user cid 5"}, named(losers.Rank(now, then)), "without jobs of the current policy there is nothing to compare with")
}

func TestWorst(t *testing.T) {
	now, then := sides(row{"ann", "1", 10, 10, 40, 60}, row{"bob", "1", 10, 10, 90, 9}, row{"bob", "2-4", 10, 50, 50, 30}, row{"cid", "2-4", 10, 0, 5, 1})
	worst := func(least float64) string {
		l, found := losers.Worst(now, then, least)
		require.True(t, found)
		return l.By + " " + l.Name
	}
	require.Equal(t, "user cid", worst(0), "from nothing")
	require.Equal(t, "size 1", worst(0.02), "from 1 h to 6.5 h; no crossed class counts")
	l, _ := losers.Worst(now, then, 0.69)
	require.Equal(t, "1", l.Name)
	require.Equal(t, 0.69, l.PartOfWork, "the least part is enough")
	require.Equal(t, 5.5, losers.Growth(l))
	_, found := losers.Worst(now, then, 0.70)
	require.False(t, found)

	now, then = sides(row{"bob", "1", 60, 0, 1, 1}, row{"ann", "2-4", 60, 0, 1, 1}, row{"cid", "2-4", 120, 0, 3, 1})
	l, _ = losers.Worst(now, then, 0)
	require.Equal(t, "user cid", l.By+" "+l.Name, "from nothing to 90 s, and the others to 60 or 80")
	now, then = sides(row{"bob", "1", 60, 0, 1, 1}, row{"ann", "2-4", 60, 0, 1, 1}, row{"cid", "2-4", 60, 0, 1, 1})
	l, _ = losers.Worst(now, then, 0)
	require.Equal(t, "size 2-4", l.By+" "+l.Name, "of equal growths the one with most hours")
	now, then = sides(row{"bob", "1", 60, 0, 1, 1}, row{"ann", "1", 60, 0, 1, 1})
	l, _ = losers.Worst(now, then, 0)
	require.Equal(t, "ann", l.Name, "then by name; a minute is enough")
}

func TestGrowth(t *testing.T) {
	require.Equal(t, 0.5, losers.Growth(losers.Loser{WaitNow: 60, WaitThen: 90}))
	require.Equal(t, -0.5, losers.Growth(losers.Loser{WaitNow: 60, WaitThen: 30}))
	require.Equal(t, 14.0, losers.Growth(losers.Loser{WaitThen: 840}), "no wait counts as a minute")
	require.Zero(t, losers.Growth(losers.Loser{}))
}

func TestSum(t *testing.T) {
	var s losers.Sum
	s.Add(1_500_000)
	s.Add(2_600_000)
	require.Equal(t, losers.Sum{S: 4, US: 100_000}, s)
	require.Equal(t, losers.Sum{S: -5, US: 900_000}, losers.Sum{}.Minus(s))
	require.Equal(t, losers.Sum{}, s.Plus(losers.Sum{}.Minus(s)))
	require.InDelta(t, -4.1, losers.Sum{}.Minus(s).Seconds(), 1e-12)
	require.Equal(t, 4.1/3, s.Over(3))
	var long losers.Sum
	for range 1000 {
		long.Add(math.MaxInt64)
	}
	require.Equal(t, losers.Sum{S: 9_223_372_036_854_775, US: 807_000}, long)
	require.Negative(t, losers.Sum{S: 4}.Compare(s))
	require.Negative(t, losers.Sum{S: 4, US: 1}.Compare(losers.Sum{S: 4, US: 2}))
}

// cellsOf draws the cells of two runs, some of which are in one run alone.
func cellsOf(t *rapid.T) (now, then []losers.Cell) {
	draw := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(t, label) }
	met := map[losers.Cell]bool{}
	for range rapid.IntRange(0, 40).Draw(t, "cells") {
		c := losers.Cell{
			Runtime: draw("runtime", "0-10m", "6h+"), Size: draw("size", "1", "2-4", "5-16"), User: draw("user", "", "ann", "bob", "cid"),
			Tenant: draw("tenant", "", "t"), Partition: draw("partition", "p", "q"), VCluster: draw("vCluster", "v", "w"),
		}
		if met[c] {
			continue
		}
		met[c] = true
		c.Jobs = rapid.Int64Range(1, 50).Draw(t, "jobs")
		c.Work = rapid.Int64Range(0, 1000).Draw(t, "work")
		for i, side := range []*[]losers.Cell{&now, &then} {
			if in := rapid.IntRange(0, 9).Draw(t, "side"); in > 0 || i == 0 {
				c.Waits = losers.Sum{S: rapid.Int64Range(0, 100_000).Draw(t, "s"), US: rapid.Int64Range(0, 999_999).Draw(t, "µs")}
				*side = append(*side, c)
			}
		}
	}
	return now, then
}

// TestOrderOfRowsDoesNotMatter, nor is what the caller holds changed.
func TestOrderOfRowsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, then := cellsOf(t)
		list := losers.Rank(now, then)
		worst, found := losers.Worst(now, then, 0.1)
		shuffled := rapid.Permutation(now).Draw(t, "now")
		kept := slices.Clone(shuffled)
		other := rapid.Permutation(then).Draw(t, "then")
		require.Equal(t, list, losers.Rank(shuffled, other))
		again, foundAgain := losers.Worst(shuffled, other, 0.1)
		require.Equal(t, found, foundAgain)
		require.Equal(t, worst, again)
		require.Equal(t, kept, shuffled)
	})
}

// TestHoursAddUp: over the groups of a dimension, or of two, the cells are those of the run,
// each once, and so are the hours, jobs and parts.
func TestHoursAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, then := cellsOf(t)
		total, jobs := losers.Sum{}, int64(0)
		for i := range now {
			total, jobs = total.Minus(now[i].Waits), jobs+now[i].Jobs
		}
		for i := range then {
			total = total.Plus(then[i].Waits)
		}
		type sums struct {
			hours, ofJobs float64
			jobs          int64
			cells         []int32
		}
		by := map[string]*sums{}
		for _, g := range losers.Groups(now, then) {
			s := by[g.By]
			if s == nil {
				s = &sums{}
				by[g.By] = s
			}
			s.hours, s.ofJobs, s.jobs, s.cells = s.hours+g.Hours, s.ofJobs+g.PartOfJobs, s.jobs+g.Jobs, append(s.cells, g.Cells...)
		}
		for name, s := range by {
			require.InDelta(t, total.Over(3600), s.hours, 1e-9*(1+math.Abs(s.hours)), name)
			require.InDelta(t, 1, s.ofJobs, 1e-12, name)
			require.Equal(t, jobs, s.jobs, name)
			slices.Sort(s.cells)
			require.Equal(t, len(s.cells), len(slices.Compact(s.cells)), name)
		}
	})
}

// TestListedGroups are losers, each once, most hours first, with the numbers of their cells.
func TestListedGroups(t *testing.T) {
	of := map[string]func(*losers.Cell) string{
		metric.ByUser: func(c *losers.Cell) string { return c.User }, metric.BySize: func(c *losers.Cell) string { return c.Size },
		metric.ByRuntime: func(c *losers.Cell) string { return c.Runtime }, metric.ByTenant: func(c *losers.Cell) string { return c.Tenant },
		metric.ByVCluster: func(c *losers.Cell) string { return c.VCluster }, "partition": func(c *losers.Cell) string { return c.Partition },
	}
	rapid.Check(t, func(t *rapid.T) {
		now, then := cellsOf(t)
		list := losers.Rank(now, then)
		require.LessOrEqual(t, len(list), 20)
		met := map[string]bool{}
		for i, l := range list {
			by, names := strings.Split(l.By, " × "), strings.Split(l.Name, " × ")
			sum := func(cells []losers.Cell) (s losers.Cell) {
				for k := range cells {
					in := true
					for n := range by {
						name := of[by[n]](&cells[k])
						in = in && (name == names[n] || name == "" && names[n] == "(none)")
					}
					if in {
						s.Jobs, s.Waits, s.Work = s.Jobs+cells[k].Jobs, s.Waits.Plus(cells[k].Waits), s.Work+cells[k].Work
					}
				}
				return s
			}
			a, b := sum(now), sum(then)
			require.Equal(t, a.Jobs, l.Jobs)
			require.Equal(t, b.Waits.Minus(a.Waits).Over(3600), l.Hours)
			require.Positive(t, l.Hours)
			require.GreaterOrEqual(t, l.WaitThen-l.WaitNow, 60.)
			require.Equal(t, a.Waits.Over(a.Jobs), l.WaitNow)
			require.Equal(t, b.Waits.Over(b.Jobs), l.WaitThen)
			require.False(t, met[l.By+l.Name])
			met[l.By+l.Name] = true
			require.True(t, i == 0 || list[i-1].Hours >= l.Hours)
		}
	})
}
