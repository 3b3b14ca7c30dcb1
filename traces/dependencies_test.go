package traces_test

import (
	"cmp"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
	"orrery/traces"
)

func dependencies(t testingT, dir string, c *content, afterJob bool) *traces.Dependencies {
	t.Helper()
	path := filepath.Join(dir, "x.trace")
	write(t, path, c)
	b, err := traces.Open(path)
	require.NoError(t, err)
	defer b.Close()
	d, err := b.Dependencies(afterJob)
	require.NoError(t, err)
	return d
}

func jobsOf(ids ...int64) (jobs []traces.Job) {
	for i, id := range ids {
		jobs = append(jobs, traces.Job{ID: id, Submit: model.Time(i)})
	}
	return jobs
}

func TestDependencies(t *testing.T) {
	ok, any := model.AfterOK, model.AfterAny
	for _, c := range []struct {
		name  string
		ids   []int64
		deps  []traces.Dep
		edges []traces.Edge
		left  []traces.Rule
	}{
		{name: "none", ids: []int64{1, 2}},
		{name: "by successor, not by row of the table", ids: []int64{10, 20, 30},
			deps:  []traces.Dep{{30, 20, "success"}, {20, 10, "any"}, {30, 10, "failure"}},
			edges: []traces.Edge{{Job: 1, On: 0, Condition: any}, {Job: 2, On: 0, Condition: model.AfterNotOK}, {Job: 2, On: 1, Condition: ok}}},
		{name: "twice the same", ids: []int64{1, 2}, deps: []traces.Dep{{2, 1, "any"}, {2, 1, "any"}}, edges: []traces.Edge{{Job: 1, On: 0, Condition: any}}},
		{name: "latest earlier row", ids: []int64{7, 7, 8, 7}, deps: []traces.Dep{{8, 7, "any"}}, edges: []traces.Edge{{Job: 2, On: 1, Condition: any}}},
		{name: "the last row waits", ids: []int64{7, 8, 8, 7, 8}, deps: []traces.Dep{{8, 7, "any"}}, edges: []traces.Edge{{Job: 4, On: 3, Condition: any}}},
		{name: "a later row when there is no earlier", ids: []int64{8, 7, 7}, deps: []traces.Dep{{8, 7, "mutex"}}, edges: []traces.Edge{{Job: 0, On: 1, Condition: model.Mutex}}},
		{name: "unknown", ids: []int64{1, 2}, deps: []traces.Dep{{2, 9, "any"}, {9, 2, "any"}, {2, 1, "corresponding"}},
			edges: []traces.Edge{{Job: 1, On: 0, Condition: model.AfterCorr}},
			left:  []traces.Rule{{Rule: "dependency on a job that is not in the trace", Count: 2, Example: "2 on 9"}}},
		{name: "itself", ids: []int64{1, 1}, deps: []traces.Dep{{1, 1, "any"}},
			left: []traces.Rule{{Rule: "dependency of a job on itself", Count: 1, Example: "id 1"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := dependencies(t, t.TempDir(), &content{jobs: jobsOf(c.ids...), deps: c.deps}, false)
			require.Equal(t, c.edges, d.Edges)
			require.Equal(t, c.left, d.Left)
		})
	}
}

func TestDependenciesOfAfterJob(t *testing.T) {
	jobs := jobsOf(1, 2, 1, 3, 4)
	jobs[1].AfterJob = traces.Some(int64(1))
	jobs[3].AfterJob, jobs[3].ThinkTime = traces.Some(int64(1)), traces.Some(model.Minute)
	jobs[4].AfterJob = traces.Some(int64(9))
	c := &content{jobs: jobs, deps: []traces.Dep{{4, 1, "success"}}}
	require.Len(t, dependencies(t, t.TempDir(), c, false).Edges, 1)
	d := dependencies(t, t.TempDir(), c, true)
	require.Equal(t, []traces.Edge{
		{Job: 1, On: 0, Condition: model.AfterAny},
		{Job: 3, On: 2, Condition: model.AfterAny, Think: model.Minute},
		{Job: 4, On: 2, Condition: model.AfterOK},
	}, d.Edges)
	require.Equal(t, []traces.Rule{{Rule: "after_job that is no earlier job of the trace", Count: 1, Example: "row 5 after id 9"}}, d.Left)
	require.Equal(t, d.Edges[1:2], d.Of(3))
	require.Equal(t, d.Edges[2:], d.Of(4))
	require.Empty(t, d.Of(0))
	require.Empty(t, d.Of(2))
	require.Empty(t, d.Of(5))
}

func TestDependenciesRefuseUnknownConditions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.trace")
	write(t, path, &content{jobs: jobsOf(1, 2), deps: []traces.Dep{{2, 1, "soon"}}})
	b, err := traces.Open(path)
	require.NoError(t, err)
	defer b.Close()
	_, err = b.Dependencies(false)
	require.ErrorContains(t, err, "column condition: found soon, expected success, failure")
}

// The naive implementation looks at every pair of rows.
func TestDependenciesAgainstNaive(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Int64Range(1, 6)
		ids := rapid.SliceOfN(id, 0, 12).Draw(t, "ids")
		c := &content{jobs: jobsOf(ids...)}
		for range rapid.IntRange(0, 8).Draw(t, "deps") {
			c.deps = append(c.deps, traces.Dep{Job: id.Draw(t, "job"), On: id.Draw(t, "on"), Condition: "any"})
		}
		var want []traces.Edge
		for _, d := range c.deps {
			last := func(id int64, before int) int {
				for i := before - 1; i >= 0; i-- {
					if ids[i] == id {
						return i
					}
				}
				return -1
			}
			job := last(d.Job, len(ids))
			if job < 0 || d.Job == d.On {
				continue
			}
			on := last(d.On, job)
			if on < 0 {
				on = slices.Index(ids, d.On)
			}
			if on >= 0 {
				want = append(want, traces.Edge{Job: model.JobID(job), On: model.JobID(on), Condition: model.AfterAny})
			}
		}
		slices.SortFunc(want, func(a, b traces.Edge) int { return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.On, b.On)) })
		require.Equal(t, slices.Compact(want), dependencies(t, dir, c, false).Edges)
	})
}

func TestCircles(t *testing.T) {
	for _, c := range []struct {
		name   string
		edges  [][2]model.JobID
		circle []model.JobID
	}{
		{name: "none"},
		{name: "a diamond", edges: [][2]model.JobID{{1, 0}, {2, 0}, {3, 1}, {3, 2}}},
		{name: "two", edges: [][2]model.JobID{{0, 1}, {1, 0}}, circle: []model.JobID{0, 1}},
		{name: "three behind a path", edges: [][2]model.JobID{{0, 4}, {4, 5}, {5, 6}, {6, 4}}, circle: []model.JobID{4, 5, 6}},
	} {
		d := &traces.Dependencies{}
		for _, e := range c.edges {
			d.Edges = append(d.Edges, traces.Edge{Job: e[0], On: e[1]})
		}
		require.Equal(t, c.circle, d.Circle(), c.name)
	}
	mutual := &traces.Dependencies{Edges: []traces.Edge{{Job: 0, On: 1, Condition: model.Mutex}, {Job: 1, On: 0, Condition: model.Mutex}}}
	require.Nil(t, mutual.Circle())

	path := filepath.Join(t.TempDir(), "x.trace")
	write(t, path, &content{jobs: jobsOf(1, 2, 3), deps: []traces.Dep{{1, 3, "any"}, {3, 1, "success"}}})
	_, err := traces.Validate(path)
	require.ErrorContains(t, err, "2 jobs that wait for each other in a circle, one of them in row 1")
}

// Any edges: a circle is found exactly when taking out jobs that wait for
// no job, again and again, does not take out all.
func TestCirclesAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := rapid.Int32Range(0, 7)
		d := &traces.Dependencies{}
		for range rapid.IntRange(0, 10).Draw(t, "edges") {
			d.Edges = append(d.Edges, traces.Edge{Job: model.JobID(job.Draw(t, "job")), On: model.JobID(job.Draw(t, "on"))})
		}
		slices.SortFunc(d.Edges, func(a, b traces.Edge) int { return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.On, b.On)) })
		left := slices.Clone(d.Edges)
		for before := -1; before != len(left); {
			before = len(left)
			left = slices.DeleteFunc(left, func(e traces.Edge) bool {
				return !slices.ContainsFunc(left, func(o traces.Edge) bool { return o.Job == e.On })
			})
		}
		circle := d.Circle()
		require.Equal(t, len(left) > 0, circle != nil)
		for i, job := range circle {
			next := circle[(i+1)%len(circle)]
			require.True(t, slices.ContainsFunc(d.Of(job), func(e traces.Edge) bool { return e.On == next }))
		}
	})
}
