package importer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/importer/columns"
	"orrery/traces/importer/format"
	"orrery/traces/localtime"
)

// localJob is a job by its true instants.
type localJob struct{ submit, start, end model.Time }

// localFormats write jobs in a format whose times are local, for each such format of jobs.
var localFormats = []struct {
	name  string
	write func(jobs []localJob, show func(model.Time) string) (text string, o Options)
}{
	{"sacct", func(jobs []localJob, show func(model.Time) string) (string, Options) {
		text := "JobID|Submit|Start|End|Elapsed|State|NNodes|NCPUS\n"
		for i, j := range jobs {
			run := time.Duration(j.end.Sub(j.start)) * time.Microsecond
			text += fmt.Sprintf("%d|%s|%s|%s|%02d:%02d:%02d|COMPLETED|1|1\n", i+1, show(j.submit), show(j.start), show(j.end), int(run.Hours()), int(run.Minutes())%60, int(run.Seconds())%60)
		}
		return text, Options{}
	}},
	{"helios", func(jobs []localJob, show func(model.Time) string) (string, Options) {
		text := "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
		for i, j := range jobs {
			text += fmt.Sprintf("%d,u,v,1,1,1,COMPLETED,%s,%s,%s,%d,0\n", i+1, show(j.submit), show(j.start), show(j.end), j.end.Sub(j.start)/model.Second)
		}
		return text, Options{}
	}},
	{"philly-json", func(jobs []localJob, show func(model.Time) string) (string, Options) {
		var all []map[string]any
		for i, j := range jobs {
			all = append(all, map[string]any{"status": "Pass", "vc": "v", "jobid": fmt.Sprint("application_", i+1), "user": "u", "submitted_time": show(j.submit),
				"attempts": []map[string]any{{"start_time": show(j.start), "end_time": show(j.end), "detail": []any{}}}})
		}
		text, err := json.Marshal(all)
		if err != nil {
			panic(err)
		}
		return string(text), Options{}
	}},
	{"table jobs", func(jobs []localJob, show func(model.Time) string) (string, Options) {
		text := "n,sub,beg,fin,run\n"
		for i, j := range jobs {
			text += fmt.Sprintf("%d,%s,%s,%s,%d\n", i+1, show(j.submit), show(j.start), show(j.end), j.end.Sub(j.start)/model.Second)
		}
		m, err := columns.New("jobs", []columns.Column{{Name: "id", From: "n"}, {Name: "submit", From: "sub", Unit: "text"}, {Name: "start", From: "beg", Unit: "text"},
			{Name: "end", From: "fin", Unit: "text"}, {Name: "runtime", From: "run", Unit: "s"}}, nil)
		if err != nil {
			panic(err)
		}
		return text, Options{Columns: m}
	}},
}

// Jobs around a change of the clocks, written in local time and imported, have their true instants, or the report counts
// them as ambiguous.
func TestLocalTimesOfJobsAreNeverSilentlyWrong(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom([]string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Antarctica/Troll"}).Draw(t, "zone"))
		require.NoError(t, err)
		_, change := time.Date(rapid.SampledFrom([]int{2019, 2020}).Draw(t, "year"), 8, 1, 0, 0, 0, 0, time.UTC).In(zone).ZoneBounds()
		if rapid.Bool().Draw(t, "other") {
			_, change = change.ZoneBounds()
		}
		jobs := make([]localJob, rapid.IntRange(1, 6).Draw(t, "jobs"))
		for i := range jobs {
			var at [3]model.Time
			for k := range at {
				at[k] = model.Time(change.Unix()+60*rapid.Int64Range(-150, 150).Draw(t, "minute")) * model.Time(model.Second)
			}
			slices.Sort(at[:])
			jobs[i] = localJob{at[0], at[1], at[2]}
		}
		if rapid.Bool().Draw(t, "sorted") {
			slices.SortFunc(jobs, func(a, b localJob) int { return int(a.submit - b.submit) })
		} else {
			jobs = append(jobs, localJob{jobs[0].submit - 1e12, jobs[0].submit - 9e11, jobs[0].submit - 8e11}) // for all to see
		}
		f := rapid.SampledFrom(localFormats).Draw(t, "format")
		text, o := f.write(jobs, func(at model.Time) string { return time.UnixMicro(int64(at)).In(zone).Format("2006-01-02T15:04:05") })
		o.Zone = zone
		n++
		in, out := filepath.Join(dir, fmt.Sprint(n)), filepath.Join(dir, fmt.Sprint(n, ".trace"))
		require.NoError(t, os.WriteFile(in, []byte(text), 0o600))
		report, err := Import([]string{in}, out, o)
		require.NoError(t, err, "%s\n%s", f.name, text)
		b, err := traces.Open(out)
		require.NoError(t, err)
		defer b.Close()
		wrong := int64(0)
		got := rowsOfJobs(t, b)
		require.Len(t, got, len(jobs), f.name)
		for _, j := range got {
			truth := jobs[j.ID-1]
			if e := b.Info().Epoch; (localJob{j.Submit + e, j.Start.V + e, j.End.V + e}) != truth {
				wrong++
			}
		}
		counted := int64(0)
		for _, r := range report.Repaired {
			require.NotEqual(t, localtime.RuleSkipped, r.Rule)
			if r.Rule == localtime.RuleAmbiguous {
				counted = r.Count
			}
		}
		require.LessOrEqual(t, wrong, counted, "%s\n%s", f.name, text)
	})
}

func rowsOfJobs(t require.TestingT, b *traces.Bundle) (out []traces.Job) {
	for j, err := range b.Rows() {
		require.NoError(t, err)
		out = append(out, *j)
	}
	return out
}

// A series in local time over the hour that occurred twice: it is in order, and no instant comes twice.
func TestLocalTimesOfSeries(t *testing.T) {
	berlin := zoneOf(t, "Europe/Berlin")
	load := func(table string, source ...columns.Column) Options {
		m, err := columns.New(table, append([]columns.Column{{Name: "time", From: "at", Unit: "text"}}, source...), nil)
		require.NoError(t, err)
		return Options{Columns: m, Zone: berlin, Service: "web"}
	}
	hours := []string{"00:00", "01:00", "02:00", "02:00", "03:00", "04:00"}
	for name, o := range map[string]Options{
		"load":   load("load", columns.Column{Name: "arrivals", From: "v"}, columns.Column{Name: "width", Constant: true, Value: "3600", Unit: "s"}),
		"prices": {Columns: load("prices", columns.Column{Name: "price", From: "v", Unit: "EUR/MWh"}).Columns, Zone: berlin},
	} {
		path := filepath.Join(t.TempDir(), "in.csv")
		text := "at,v\n"
		for _, h := range hours {
			text += "2023-10-29 " + h + ":00,5\n"
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		out := filepath.Join(t.TempDir(), "out.trace")
		report, err := Import([]string{path}, out, o)
		require.NoError(t, err, name)
		require.Equal(t, localtime.RuleByOrder+"=2", counts(report.Repaired), name)
		b, err := traces.Open(out)
		require.NoError(t, err)
		var got []string
		for _, at := range instantsOf(t, b, name) {
			got = append(got, time.UnixMicro(at).UTC().Format("15:04"))
		}
		want := map[string]string{"prices": "22:00 22:00 23:00 23:00 00:00 00:00 01:00 01:00 02:00 02:00 03:00 03:00", // each begins and ends
			"load": "22:00 23:00 23:00 00:00 00:00 01:00 01:00 02:00 02:00 03:00 03:00 04:00"}[name]
		require.Equal(t, want, strings.Join(got, " "), name)
		require.NoError(t, b.Close())
	}
}

// A text that names its zone means what it says, and a local time without a zone is refused.
func TestLocalTimesWithTheirZone(t *testing.T) {
	job := func(submit string) string {
		return `[{"status": "Pass", "vc": "v", "jobid": "a", "user": "u", "submitted_time": "` + submit + `", "attempts": []}]`
	}
	read := func(submit string, o Options) (string, error) {
		path := filepath.Join(t.TempDir(), "log.json")
		require.NoError(t, os.WriteFile(path, []byte(strings.Replace(job(submit), "Pass", "Killed", 1)), 0o600))
		out := filepath.Join(t.TempDir(), "out.trace")
		report, err := Import([]string{path}, out, o)
		if err != nil {
			return "", err
		}
		b, err := traces.Open(out)
		require.NoError(t, err)
		defer b.Close()
		return time.UnixMicro(int64(b.Info().Epoch)).UTC().Format("15:04") + counts(report.Repaired), nil
	}
	pacific := Options{Zone: zoneOf(t, "US/Pacific")}
	for text, want := range map[string]string{
		"2017-11-05 01:30:00 PDT": "08:30", "2017-11-05 01:30:00 PST": "09:30", "2017-11-05 01:30:00": "08:30" + localtime.RuleAmbiguous + "=1",
		"2017-07-05 01:30:00 PST": "08:30", // summer: the word is wrong, the clock is not
		"2017-03-12 02:30:00":     "10:30" + localtime.RuleSkipped + "=1",
	} {
		got, err := read(text, pacific)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	_, err := read("2017-07-05 01:30:00", Options{})
	require.ErrorContains(t, err, "--time-zone")
}

// A row of an hour that never was yields to the row that shows its instant, whichever comes first; where none does it stays.
func TestHourThatNeverWas(t *testing.T) {
	table := func(kind string, source ...columns.Column) *columns.Mapping {
		m, err := columns.New(kind, append([]columns.Column{{Name: "time", From: "at", Unit: "text"}}, source...), nil)
		require.NoError(t, err)
		return m
	}
	row := func(h int, v string) string { return fmt.Sprintf("2020-03-29 %02d:00,%s\n", h, v) }
	prices := Options{}
	load := Options{Columns: table("load", columns.Column{Name: "arrivals", From: "v"}, columns.Column{Name: "width", Constant: true, Value: "3600", Unit: "s"}), Service: "web"}
	entsoe := func(h int, v string) string { return fmt.Sprintf("29.03.2020,DE,DE,%02d:00 - %02d:00,%s\n", h, h+1, v) }
	all := []int{0, 1, 2, 3, 4}
	for _, c := range []struct {
		kind, head string
		row        func(int, string) string
		o          Options
		hours      []int
		want       string // hours that are kept, by their instants in UTC
		dropped    string
	}{
		{"prices", ",Real price\n", row, prices, all, "23=0 00=1 01=3 02=4", format.RuleYields + "=1"},
		{"prices", ",Real price\n", row, prices, []int{3, 2, 4, 0, 1}, "23=0 00=1 01=3 02=4", format.RuleYields + "=1"},
		{"prices", ",Real price\n", row, prices, []int{0, 1, 2, 4}, "23=0 00=1 01=2 02=4", ""},
		{"prices", "date,country,area,mtu,price(eur/mwh)\n", entsoe, prices, all, "23=0 00=1 01=3 02=4", format.RuleYields + "=1"},
		{"load", "at,v\n", row, load, all, "23=0 00=1 01=3 02=4", format.RuleYields + "=1"},
		{"load", "at,v\n", row, load, []int{0, 1, 2, 4}, "23=0 00=1 01=2 02=4", ""},
	} {
		text := c.head
		for _, h := range c.hours {
			text += c.row(h, fmt.Sprint(1000*h))
		}
		path, out := filepath.Join(t.TempDir(), "in.csv"), filepath.Join(t.TempDir(), "out.trace")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		c.o.Zone = zoneOf(t, "Europe/Berlin")
		report, err := Import([]string{path}, out, c.o)
		require.NoError(t, err, "%+v", c)
		require.True(t, report.Balanced())
		require.Equal(t, c.dropped, counts(report.Dropped), "%+v", c)
		b, err := traces.Open(out)
		require.NoError(t, err)
		var got []string
		show := func(at model.Time, v float64) {
			got = append(got, time.UnixMicro(int64(at)+int64(b.Info().Epoch)).UTC().Format("15")+fmt.Sprintf("=%.0f", v))
		}
		if c.kind == "load" {
			for _, l := range loadOf(t, b) {
				show(l.Time, l.Arrivals.V/1000)
			}
		} else {
			for _, p := range b.Prices() {
				show(p.Time, p.Price)
			}
		}
		require.Equal(t, c.want, strings.Join(got, " "), "%+v", c)
		require.NoError(t, b.Close())
	}
}
