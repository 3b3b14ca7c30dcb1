package columns

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/format"
)

func file(text string) format.File {
	return format.File{Name: "f.csv", Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
		Head: format.Head{Bytes: []byte(text), Whole: true}}
}

// made imports text under a mapping.
func made(t testing.TB, m *Mapping, text string, o format.Options) (*traces.Bundle, traces.Report, error) {
	t.Helper()
	log, err := m.Format().Scan(m.Format(), []format.File{file(text)}, o)
	if err != nil {
		return nil, traces.Report{}, err
	}
	meta, err := log.Meta(log.Report())
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "x.trace")
	w, err := traces.NewWriter(path, meta)
	require.NoError(t, err)
	defer w.Abort()
	if err := log.Write(w); err != nil {
		return nil, traces.Report{}, err
	}
	_, err = w.Close()
	require.NoError(t, err)
	report := log.Report()
	require.True(t, report.Balanced(), "%+v", report)
	if report.Kept > 0 {
		valid, err := traces.Validate(path)
		require.NoError(t, err)
		require.Equal(t, report.Kept, valid.Kept)
	}
	b, err := traces.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	return b, report, nil
}

func parse(t testing.TB, table string, columns, set []string) *Mapping {
	t.Helper()
	m, err := mapping(table, columns, set)
	require.NoError(t, err)
	return m
}

// mapping is that of columns and constants as the flags have them.
func mapping(table string, columns, set []string) (*Mapping, error) {
	var all []Column
	for _, text := range columns {
		c, err := Parse(table, text, false)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	for _, text := range set {
		c, err := Parse(table, text, true)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return New(table, all, nil)
}

// Every kind of unit, exactly.
func TestJobs(t *testing.T) {
	m := parse(t, "jobs", []string{"submit=at:text", "runtime=run:ms", "walltime=limit:text", "mem_per_node=mem:GiB", "cpus_per_node=cpu:milli",
		"gpu_milli=share:%", "comm_fraction=comm:%", "io_demand=io:MB/s", "power=kw:kW", "exclusive=alone", "user=who"}, []string{"class=3"})
	b, report, err := made(t, m, `at;run;limit;mem;cpu;share;comm;io;kw;alone;who;rest
2024-03-01 00:00:01.5;1500.0015;1-02:03:04;1.5;1500;46;25;2;0.3;yes;ann;left
2024-03-01 00:00:00;NULL;;;;;;;;;NULL;
`, format.Options{Zone: time.UTC})
	require.NoError(t, err)
	var jobs []traces.Job
	for j, err := range b.Rows() {
		require.NoError(t, err)
		jobs = append(jobs, *j)
	}
	require.Equal(t, []traces.Job{
		{ID: 2, Kind: "bounded", Submit: 0, Class: traces.Some[int32](3)},
		{ID: 1, Kind: "bounded", Submit: 1_500_000, Runtime: traces.Some(model.Duration(1_500_001)), Walltime: traces.Some(model.Duration(93_784 * 1_000_000)),
			MemPerNode: traces.Some[int64](3 << 29), CPUsPerNode: traces.Some[int32](2), GPUMilli: traces.Some[int32](460), CommFraction: traces.Some(0.25),
			IODemand: traces.Some[int64](2_000_000), Power: traces.Some[int64](300), Exclusive: traces.Some(true), User: "ann", Extra: `{"rest":"left"}`, Class: traces.Some[int32](3)},
	}, jobs)
	require.Equal(t, []traces.Rule{{Rule: "rounded-to-microsecond", Count: 1, Example: "line 2"}, {Rule: "cpus_per_node-rounded-up", Count: 1, Example: "line 2"}, {Rule: "sorted", Count: 1, Example: "line 3"}}, report.Repaired)
	require.Equal(t, []traces.Assumption{{What: "jobs.id", Value: "the number of the row", Why: "no column was given for it"}}, report.Assumed)
	require.True(t, b.Info().EpochKnown)
	require.Equal(t, "UTC", b.Info().TimeZone)
}

// Load by a rate, in the smallest step; prices; telemetry; relative times.
func TestOtherTables(t *testing.T) {
	b, report, err := made(t, parse(t, "load", []string{"time=t:s", "arrivals=qps:/s", "tokens_in=in"}, []string{"width=step"}), "t,qps,in,x\n0,0.5,10,a\n60,2,20,b\n180,1,,c\n", format.Options{Service: "web"})
	require.NoError(t, err)
	var load []traces.Load
	for l, err := range b.Load() {
		require.NoError(t, err)
		load = append(load, *l)
	}
	require.Equal(t, []traces.Load{
		{Service: "web", Time: 0, Width: model.Minute, Arrivals: traces.Some(30.0), TokensIn: traces.Some(10.0)},
		{Service: "web", Time: 60_000_000, Width: model.Minute, Arrivals: traces.Some(120.0), TokensIn: traces.Some(20.0)},
		{Service: "web", Time: 180_000_000, Width: model.Minute, Arrivals: traces.Some(60.0)},
	}, load)
	require.False(t, b.Info().EpochKnown)
	require.Contains(t, report.Assumed, traces.Assumption{What: "columns left out", Value: "x", Why: "no column of the table was given for them"})

	b, report, err = made(t, parse(t, "prices", []string{"time=when:unix-s", "price=eur:EUR/MWh", "carbon=co2:kg/MWh"}, nil),
		"when|eur|co2\n1700000000|-50|300\n1700003600|N/A|1\n1700003600|100|\n1700003600|7|7\n", format.Options{})
	require.NoError(t, err)
	require.Equal(t, []traces.Price{{Time: 0, Price: -0.05, Carbon: traces.Some(300.0)}, {Time: 3_600_000_000, Price: 0.1}}, b.Prices())
	require.Equal(t, []traces.Rule{{Rule: "no-price", Count: 1, Example: "line 3"}, {Rule: "price-not-later-than-the-one-before-it", Count: 1, Example: "line 5"}}, report.Dropped)

	b, _, err = made(t, parse(t, "telemetry", []string{"time=ts:unix-ms", "node=host", "gpu=i", "sm_util=util:%", "power=mw:mW", "energy=e:J", "mem_used=m:MiB"}, nil),
		"ts\thost\ti\tutil\tmw\te\tm\n1700000000250\tn1\t0\t50\t310500\t2\t1024\n", format.Options{})
	require.NoError(t, err)
	for g, err := range b.Telemetry() {
		require.NoError(t, err)
		require.Equal(t, traces.Telemetry{Node: "n1", GPU: traces.Some[int32](0), Time: 250_000, SMUtil: traces.Some(0.5), Power: traces.Some(310.5), Energy: traces.Some[int64](2000), MemUsed: traces.Some[int64](1 << 30)}, *g)
	}
	b, r, err := made(t, parse(t, "telemetry", []string{"time=ts:unix-ms", "node=host", "gpu=i", "temperature=c:C", "power=w:W"}, nil), "ts,host,i,c,w\n1700000000250,n1,0,2147483632,81\n1700000001250,n1,0,40,140737488355330\n", format.Options{})
	require.NoError(t, err)
	require.Equal(t, []traces.Rule{{Rule: "temperature-that-cannot-be", Count: 1, Example: "line 2"}, {Rule: "power-that-cannot-be", Count: 1, Example: "line 3"}}, r.Repaired, "the rows are kept without these values")
	for g, err := range b.Telemetry() {
		require.NoError(t, err)
		require.NotEqual(t, g.Power.OK, g.Temperature.OK)
	}
	b, _, err = made(t, parse(t, "nodes", []string{"name=id", "cpus=c", "memory=m:GB", "gpus=g"}, nil), "id,c,m,g\na,8,1,2\nb,4,1,0\n", format.Options{})
	require.NoError(t, err)
	require.Equal(t, []traces.Node{{Name: "a", CPUs: 8, Memory: 1e9, GPUs: 2, Up: true}, {Name: "b", CPUs: 4, Memory: 1e9, Up: true}}, b.Nodes())
}

// What a mapping lacks or gets wrong is refused before a file is read.
func TestMappingsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		table        string
		columns, set []string
		want         string
	}{
		{"job", nil, nil, `table "job" (did you mean jobs?): want one of jobs, nodes`},
		{"deps", nil, nil, `table "deps"`},
		{"load", []string{"time"}, nil, "want NAME=SOURCE or NAME=SOURCE:UNIT"},
		{"load", []string{"arivals=n"}, nil, `no column "arivals" (did you mean arrivals?)`},
		{"load", []string{"time=t"}, nil, "a number of time needs a unit, one of text, unix-s"},
		{"load", []string{"time=t:unix"}, nil, `"unix" is no unit of time`},
		{"load", []string{"time=t:s", "work=w"}, []string{"width=1:min"}, "a number of work needs a unit"},
		{"load", []string{"time=t:s"}, []string{"width=60"}, "a number of width needs a unit"},
		{"load", []string{"time=t:s"}, nil, "the table load needs the column width"},
		{"load", []string{"time=t:s", "time=u:s"}, nil, "time is given twice"},
		{"prices", []string{"time=t:text", "price=p:USD/MWh"}, nil, `"USD/MWh" is no unit of price`},
		{"prices", []string{"time=t:text"}, nil, "the table prices needs the column price (price of energy, below zero when one is paid to use it): say which column of the file it is, or which value it has in every row, in EUR/kWh, EUR/MWh"},
		{"jobs", []string{"submit=t:text", "comm_fraction=c"}, nil, "needs a unit, one of 1, %"},
		{"jobs", []string{"submit=t:text", "class=c:x"}, nil, "class takes no unit"},
		{"jobs", []string{"submit=t:unix-s", "start=u:s"}, nil, "counted from an arbitrary zero"},
		{"nodes", []string{"name=n", "cpus=c"}, nil, "the table nodes needs the column gpus"},
	} {
		_, err := mapping(c.table, c.columns, c.set)
		require.ErrorContains(t, err, c.want)
	}
}

// What is wrong with a file is named by line and column.
func TestFilesThatAreRefused(t *testing.T) {
	m := parse(t, "load", []string{"time=when:text", "arrivals=n"}, []string{"width=60:s", "service=web"})
	for text, want := range map[string]string{
		"wen,n\n2024-01-01,1\n":             `expected a column "when"; name a column of the file (did you mean wen?)`,
		"when,n\n2024-01-01 00:00:00,x\n":   `f.csv: line 2, column n: found "x", expected a number`,
		"when,n\n01.01.2024,1\n":            `f.csv: line 2, column when: found "01.01.2024", expected a date and time such as 2006-01-02 15:04:05`,
		"when,n\n":                          "found a header without rows",
		"when,n,x,x\n":                      "line 1: found two columns x",
		"when,n\n2024-01-01 00:00:00,1,2\n": "found 3 fields, expected 2",
	} {
		_, _, err := made(t, m, text, format.Options{Zone: time.UTC})
		var data *traces.DataError
		require.ErrorAs(t, err, &data)
		require.ErrorContains(t, err, want)
	}
	_, _, err := made(t, m, "when,n\n2024-01-01 00:00:00,1\n", format.Options{})
	require.ErrorContains(t, err, "expected an instant with its zone; name the zone of the file with --time-zone")
	_, _, err = made(t, parse(t, "load", []string{"time=when:s", "arrivals=n"}, []string{"width=a:s"}), "when,n\n1,1\n", format.Options{Service: "x"})
	require.ErrorContains(t, err, `f.csv: column width: found "a", expected a number; correct --set`)
	_, _, err = made(t, parse(t, "load", []string{"time=when:s", "arrivals=n"}, []string{"width=1:s"}), "when,n\n1,1\n", format.Options{})
	require.ErrorContains(t, err, "found load of a service without a name")
	big := parse(t, "jobs", []string{"submit=t:d", "nodes_min=n"}, nil)
	for _, n := range []string{"1,4294967296", "99999999999,1", "1e3,1", "1_0,1", "1,1.5", "-.,1", strings.Repeat("9", 100) + ",1"} {
		_, _, err := made(t, big, "t,n\n"+n+"\n", format.Options{})
		require.ErrorContains(t, err, "f.csv: line 2", n)
	}
}

// Local times in a file of one row an hour, over both changes of clocks: every hour
// stays an hour.
func TestLocalTimes(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	m := parse(t, "prices", []string{"time=t:text", "price=p:EUR/kWh"}, nil)
	for _, day := range []time.Time{time.Date(2023, 3, 25, 23, 0, 0, 0, time.UTC), time.Date(2023, 10, 28, 20, 0, 0, 0, time.UTC)} {
		var text strings.Builder
		text.WriteString("t,p\n")
		for i := range 12 {
			text.WriteString(day.Add(time.Duration(i)*time.Hour).In(berlin).Format("2006-01-02 15:04:05") + ",1\n")
		}
		b, report, err := made(t, m, text.String(), format.Options{Zone: berlin})
		require.NoError(t, err)
		require.EqualValues(t, 12, report.Kept)
		require.Equal(t, day, time.UnixMicro(int64(b.Info().Epoch)).UTC())
		for i, p := range b.Prices() {
			require.Equal(t, model.Time(i)*model.Time(model.Hour), p.Time)
		}
	}
}

// FuzzColumns feeds a mapping of every kind of column with anything.
func FuzzColumns(f *testing.F) {
	f.Add("a,b,c,d\n2024-01-01 00:00:00,1.5,x,7\n")
	f.Add("a;b;c;d\n2024-10-27 02:30:00;-1;\"q\";NaN\n2023-01-01;2;;1e9\n")
	f.Add("a\tb\tc\td\n")
	m := parse(f, "jobs", []string{"submit=a:text", "runtime=b:min", "user=c", "scale_target=d"}, nil)
	f.Fuzz(func(t *testing.T, text string) {
		_, _, err := made(t, m, text, format.Options{Zone: time.UTC})
		var data *traces.DataError
		if err != nil && !errors.As(err, &data) {
			t.Fatalf("refused without a DataError: %v", err)
		}
	})
}
