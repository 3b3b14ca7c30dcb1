package compare

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/reports/internal/reporttest"
	"orrery/reports/table"
	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/record"
)

// movedTiny is tiny with job 12 held until 160 s, job 13 started at 60 s before
// its turn, and job 14 started instead of cancelled.
func movedTiny() *reporttest.Fixture {
	f := &reporttest.Fixture{Nodes: 4, Trace: "cafe0001", Order: "sjf", Users: []string{"ada", "bob"}}
	f.Ran(11, 0, 0, 0, 60, 0, 2)
	f.Ran(12, 1, 10, 160, 550, 2, 2)
	f.Ran(13, 0, 20, 60, 120, 0, 2)
	f.Ran(14, 0, 30, 120, 130, 0, 1)
	f.Idle(15, 40, 40, 9, model.Rejected)
	return f
}

func TestCompare(t *testing.T) {
	c, err := Runs(reporttest.TempRun(t, reporttest.Tiny("fcfs")), reporttest.TempRun(t, movedTiny()))
	require.NoError(t, err)
	require.Equal(t, JobCounts{Same: 1, Earlier: 1, Later: 1, StartedOnlyB: 1, NeverStarted: 1}, c.Jobs)
	require.Equal(t, []MovedJob{
		{Job: 1, ID: 12, User: "bob", Procs: 2, WaitA: 0, WaitB: 150 * model.Second, user: 1},
		{Job: 2, ID: 13, User: "ada", Procs: 2, WaitA: 80 * model.Second, WaitB: 40 * model.Second, user: 0},
	}, c.Moved)

	byName := map[string]MetricDiff{}
	for _, m := range c.Metrics {
		if m.Window == "all" {
			byName[m.Name] = m
		}
	}
	wait := byName["wait_max"]
	require.Equal(t, 80.0, *wait.A)
	require.Equal(t, 150.0, *wait.B)
	require.Equal(t, 70.0, *wait.Diff)
	require.Equal(t, 0.875, *wait.Relative)
	require.Equal(t, metric.Stable, c.B.Verdict)
	require.Equal(t, "differs", wait.Change)
	require.Equal(t, "differs", byName["jobs_completed"].Change, "one replay of each ranks nothing")
	require.Equal(t, "higher", byName["jobs_completed"].Better)
	require.Equal(t, "", byName["jobs_cancelled"].Better, "neither better nor worse")
	require.Equal(t, "same", byName["jobs_rejected"].Change)
	require.Nil(t, byName["queue_growth"].Diff, "undefined in this window")

	var b bytes.Buffer
	require.NoError(t, table.Write(&b, c.MovedTable(), table.Text, table.Options{}))
	require.Equal(t, ""+
		"job  user  procs  wait in A  wait in B      moved\n"+
		" 12  bob       2   00:00:00   00:02:30  +00:02:30\n"+
		" 13  ada       2   00:01:20   00:00:40  -00:00:40\n", b.String())
	for _, f := range c.ownFigures() {
		require.NoError(t, f.WriteSVG(&bytes.Buffer{}))
	}
	require.NoError(t, table.Write(&b, c.CountTable(), table.Markdown, table.Options{}))
	require.NoError(t, table.Write(&b, c.MetricTable(), table.JSON, table.Options{}))
}

func TestMetricDifferences(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		name           string
		a, b           *float64
		diff, relative *float64
		better, change string
	}{
		{"wait_mean", v(80), v(100), v(20), v(0.25), "lower", "differs"},
		{"wait_mean", v(10000), v(9996), v(-4), v(-0.0004), "lower", "differs"},
		{"utilisation", v(0.5), v(0.75), v(0.25), v(0.5), "higher", "differs"},
		{"utilisation", v(0.5), v(0.5), v(0), v(0), "higher", "same"},
		{"queue_growth", v(-2), v(1), v(3), v(1.5), "", "differs"},
		{"wait_p50", v(0), v(7), v(7), nil, "lower", "differs"},
		{"wait_p50", nil, v(7), nil, nil, "lower", ""},
		{"makespan", v(5), nil, nil, nil, "lower", ""},
	} {
		d := diffMetric(metric.Metric{Name: c.name, Value: c.a}, metric.Metric{Name: c.name, Value: c.b})
		require.Equal(t, MetricDiff{Name: c.name, A: c.a, B: c.b, Diff: c.diff, Relative: c.relative, Better: c.better, Change: c.change}, d, c.name)
	}
}

func TestCompareWithItself(t *testing.T) {
	dir := reporttest.TempRun(t, reporttest.Tiny("fcfs"))
	c, err := Runs(dir, dir)
	require.NoError(t, err)
	require.Equal(t, JobCounts{Same: 3, NeverStarted: 2}, c.Jobs)
	require.Empty(t, c.Moved)
	for _, m := range c.Metrics {
		require.NotEqual(t, "differs", m.Change, m.Name)
	}
}

// TestOverloadedRunsAreNotRanked compares a machine that cannot keep up with
// one that has all nodes it wants: waits say little, utilisation still does.
func TestOverloadedRunsAreNotRanked(t *testing.T) {
	a, b := reporttest.Synthetic(3000, 32, 2, 1), reporttest.Synthetic(3000, 256, 2, 1)
	c, err := Runs(reporttest.TempRun(t, a), reporttest.TempRun(t, b))
	require.NoError(t, err)
	require.Equal(t, metric.Overloaded, c.A.Verdict)
	changes := map[string]string{}
	for _, m := range c.Metrics {
		changes[m.Name+" "+m.Window] = m.Change
	}
	require.Equal(t, NotRanked, changes["wait_mean all"])
	require.Contains(t, c.overloaded(), "overloaded")
	require.Equal(t, NotRanked, changes["bounded_slowdown_p95 steady"])
	require.Equal(t, "differs", changes["utilisation all"])
}

func TestCompareCountsJobsOfOneRunOnly(t *testing.T) {
	a, b := reporttest.Tiny("fcfs"), reporttest.Tiny("sjf")
	b.Jobs, b.Placed = b.Jobs[:4], b.Placed[:4]
	c, err := Runs(reporttest.TempRun(t, a), reporttest.TempRun(t, b))
	require.NoError(t, err)
	require.EqualValues(t, 1, c.Jobs.OnlyA)
	c, err = Runs(reporttest.TempRun(t, b), reporttest.TempRun(t, a))
	require.NoError(t, err)
	require.EqualValues(t, 1, c.Jobs.OnlyB)
}

func TestCompareRefusesOtherTraces(t *testing.T) {
	other := reporttest.Tiny("fcfs")
	other.Trace = "cafe0002"
	_, err := Runs(reporttest.TempRun(t, reporttest.Tiny("fcfs")), reporttest.TempRun(t, other))
	var mismatch *MismatchError
	require.ErrorAs(t, err, &mismatch)
	require.ErrorContains(t, err, "cafe0002")
	require.ErrorContains(t, err, "replay one trace")
	_, err = Runs(reporttest.TempRun(t, reporttest.Tiny("fcfs")), t.TempDir())
	var data *record.DataError
	require.ErrorAs(t, err, &data)
}

// TestMovedListIsTheNaiveOne keeps the largest moves of many against a sort.
func TestMovedListIsTheNaiveOne(t *testing.T) {
	c := &Comparison{}
	for j := range int32(500) {
		wait := model.Duration((int64(j)*7919)%101-50) * model.Second
		c.keepMoved(MovedJob{Job: j, WaitB: wait})
	}
	require.Len(t, c.Moved, mostMoved)
	for i := 1; i < len(c.Moved); i++ {
		x, y := c.Moved[i-1], c.Moved[i]
		dx, dy := magnitude(x.Moved()), magnitude(y.Moved())
		require.True(t, dx > dy || dx == dy && x.Job < y.Job)
	}
	require.Equal(t, 50*model.Second, magnitude(c.Moved[0].Moved()))
}

func csvFile(t *testing.T, text string, zip bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "schedule.csv")
	data := []byte(text)
	if zip {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err := w.Write(data)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		path, data = path+".gz", b.Bytes()
	}
	require.NoError(t, os.WriteFile(path, data, 0o644))
	return path
}

func TestCompareSchedule(t *testing.T) {
	dir := reporttest.TempRun(t, reporttest.Tiny("fcfs"))
	for _, c := range []struct {
		name, csv                string
		jobs, differing, submits int64
		ids                      []int64
	}{
		{"equal", "job_id,submit,start,end,procs\n11,0,0,100,2\n12,10,10,400,2\n13,20,100,160,2\n", 3, 0, 0, nil},
		{"other order, extra column, decimals", "note,start,job_id\nx,100.000000,13\ny,0,11\nz,10.0,12\n", 3, 0, 0, nil},
		{"never started is empty", "job_id,start\n11,0\n12,10\n13,100\n14,\n15,\n", 5, 0, 0, nil},
		{"one later by a microsecond", "job_id,start\n11,0\n12,10.000001\n13,100\n", 3, 1, 0, []int64{12}},
		{"one missing, one unknown", "job_id,start\n11,0\n13,100\n99,5\n", 4, 2, 0, []int64{12, 99}},
		{"one of another start, one not started here", "job_id,submit,start\n11,0,0\n12,11,10\n13,20,99\n14,30,31\n", 4, 2, 1, []int64{13, 14}},
	} {
		for _, zip := range []bool{false, true} {
			got, err := Schedule(dir, csvFile(t, c.csv, zip))
			require.NoError(t, err, c.name)
			require.Equal(t, [3]int64{c.jobs, c.differing, c.submits}, [3]int64{got.Jobs, got.Differing, got.Submits}, c.name)
			var ids []int64
			for _, d := range got.First {
				ids = append(ids, d.ID)
			}
			require.Equal(t, c.ids, ids, c.name)
		}
	}
	got, err := Schedule(dir, csvFile(t, "job_id,start\n11,0\n12,12\n13,100\n", false))
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, table.Write(&b, got.Table(), table.Text, table.Options{}))
	require.Equal(t, ""+
		"job  start in schedule  start in run      moved\n"+
		" 12           00:00:12      00:00:10  -00:00:02\n", b.String())
}

func TestCompareScheduleNamesTheLine(t *testing.T) {
	dir := reporttest.TempRun(t, reporttest.Tiny("fcfs"))
	for text, want := range map[string]string{
		"":                                        "an empty file",
		"id,begin\n1,2\n":                         `:1: found the header "id,begin"`,
		"job_id,start\n11,0\nx,1\n":               ":3: column job_id: found \"x\"",
		"job_id,start\n11,zero\n":                 ":2: column start: found \"zero\"",
		"job_id,start\n11,NaN\n":                  ":2: column start",
		"job_id,start\n11,1e3\n":                  ":2: column start",
		"job_id,start\n11,1.0000001\n":            ":2: column start",
		"job_id,start\n11,99999999999999999999\n": ":2: column start",
		"job_id,submit,start\n11,-,0\n":           ":2: column submit",
		"job_id,start\n11,0\n12\n":                ":3: found wrong number of fields",
		"job_id,start\n11,0\n11,0\n":              "job 11 twice",
		"job_id,start\n11,\"0\n":                  "found",
	} {
		_, err := Schedule(dir, csvFile(t, text, false))
		var data *record.DataError
		require.ErrorAs(t, err, &data, "%q", text)
		require.ErrorContains(t, err, want, "%q", text)
	}
	whole, err := os.ReadFile(csvFile(t, "job_id,start\n11,0\n12,10\n13,100\n", true))
	require.NoError(t, err)
	cut := filepath.Join(t.TempDir(), "cut.csv.gz")
	require.NoError(t, os.WriteFile(cut, whole[:len(whole)-9], 0o644))
	_, err = Schedule(dir, cut)
	var data *record.DataError
	require.ErrorAs(t, err, &data)
	_, err = Schedule(dir, "missing.csv")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzSeconds(f *testing.F) {
	for _, s := range []string{"", "0", "12.5", "-3.000001", "1.", ".5", "9223372036853"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		us, err := parseSeconds(s)
		if err != nil || us == record.Absent {
			return
		}
		sign, left := "", us
		if us < 0 {
			sign, left = "-", -us
		}
		back, err := parseSeconds(fmt.Sprintf("%s%d.%06d", sign, left/1e6, left%1e6))
		require.NoError(t, err)
		require.Equal(t, us, back)
	})
}
