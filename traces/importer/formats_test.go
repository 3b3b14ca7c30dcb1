package importer

import (
	"compress/gzip"
	"encoding/csv"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/internal/disk"
	"orrery/scheduler/model"
	"orrery/tools/refdata"
	"orrery/traces"
	"orrery/traces/importer/columns"
)

// naive is a public file as encoding/csv reads it, independent of the importers: the
// header and the rows.
func naive(t *testing.T, path string) (header map[string]int, rows [][]string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		in, err = gzip.NewReader(f)
		require.NoError(t, err)
	}
	text, err := io.ReadAll(in)
	require.NoError(t, err)
	rows, err = csv.NewReader(strings.NewReader(strings.TrimPrefix(string(text), "\ufeff"))).ReadAll()
	require.NoError(t, err)
	header = map[string]int{}
	for i, name := range rows[0] {
		header[name] = i
	}
	return header, rows[1:]
}

func whole(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return n
}

// imported imports files into a bundle, checks that and opens it.
func imported(t *testing.T, o Options, paths ...string) (*traces.Bundle, traces.Report) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.trace")
	report, err := Import(paths, out, o)
	require.NoError(t, err)
	require.True(t, report.Balanced())
	valid, err := traces.Validate(out)
	require.NoError(t, err)
	require.Equal(t, report.Kept, valid.Kept)
	b, err := traces.Open(out)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b, report
}

func loadOf(t *testing.T, b *traces.Bundle) (out []traces.Load) {
	t.Helper()
	for l, err := range b.Load() {
		require.NoError(t, err)
		out = append(out, *l)
	}
	return out
}

func jobsOf(t *testing.T, b *traces.Bundle) (out []traces.Job) {
	t.Helper()
	for j, err := range b.Rows() {
		require.NoError(t, err)
		out = append(out, *j)
	}
	return out
}

// TestOpenb imports the pods and nodes of Alibaba's cluster, in either order, and holds
// every sum to those of the files.
func TestOpenb(t *testing.T) {
	folder := refdata.Path(t, "traces", "gpu", "alibaba-openb-v2023")
	pods, nodes := filepath.Join(folder, "openb_pod_list_gpuspec33.csv.gz"), filepath.Join(folder, "openb_node_list_all_node.csv")
	b, report := imported(t, Options{}, pods, nodes)
	other, _ := imported(t, Options{}, nodes, pods)
	require.Equal(t, b.Info().Hash, other.Info().Hash, "the order of the files does not matter")
	require.Equal(t, "cpus-rounded-up=5603 zero-memory=1", counts(report.Repaired))
	require.Equal(t, pods+", "+nodes, report.File)
	require.Equal(t, []int64{8152, 8152, 1523, 1523}, []int64{report.Tables[0].Read, report.Tables[0].Kept, report.Tables[1].Read, report.Tables[1].Kept})
	require.Equal(t, report.Repaired, report.Tables[0].Repaired)
	require.Equal(t, "GPUs", report.Tables[0].Use[2].What)
	require.EqualValues(t, 6212, report.Tables[0].Use[2].Stated)
	require.Equal(t, []int32{1523, 125514}, []int32{b.Info().MaxNodes, b.Info().MaxProcs})
	require.False(t, b.Info().EpochKnown)

	at, rows := naive(t, pods)
	jobs := jobsOf(t, b)
	require.Len(t, jobs, len(rows))
	for i, r := range rows {
		j, field := jobs[i], func(name string) int64 { return whole(t, r[at[name]]) }
		require.Equal(t, r[at["name"]], j.Name)
		require.Equal(t, int64(i)+1, j.ID)
		require.Equal(t, field("creation_time")*1_000_000, int64(j.Submit))
		require.Equal(t, r[at["qos"]], j.Tenant)
		require.Equal(t, (field("cpu_milli")+999)/1000, int64(j.CPUsPerNode.V))
		require.Equal(t, field("memory_mib") > 0, j.MemPerNode.OK)
		require.Equal(t, field("memory_mib")*1024*1024, j.MemPerNode.V)
		require.Equal(t, field("num_gpu"), int64(j.GPUsTotal.V))
		require.Equal(t, field("num_gpu") == 1 && field("gpu_milli") < 1000, j.GPUMilli.OK)
		require.Equal(t, r[at["gpu_spec"]], j.GPUType+j.GPUTypes)
		require.Equal(t, strings.Contains(j.GPUTypes, "|"), j.GPUTypes != "")
		if r[at["scheduled_time"]] == "" {
			require.False(t, j.Start.OK || j.Runtime.OK)
			require.Equal(t, field("deletion_time")*1_000_000, int64(j.CancelledAt.V))
			continue
		}
		require.Equal(t, field("scheduled_time")*1_000_000, int64(j.Start.V))
		require.Equal(t, (field("deletion_time")-field("scheduled_time"))*1_000_000, int64(j.Runtime.V))
	}
	at, rows = naive(t, nodes)
	require.Len(t, b.Nodes(), len(rows))
	gpus := 0
	for i, r := range rows {
		n := b.Nodes()[i]
		require.Equal(t, traces.Node{Name: r[at["sn"]], GPUModel: r[at["model"]], GPUs: n.GPUs, CPUs: int32(whole(t, r[at["cpu_milli"]]) / 1000),
			Memory: whole(t, r[at["memory_mib"]]) << 20, Up: true}, n)
		require.Equal(t, whole(t, r[at["gpu"]]), int64(n.GPUs))
		gpus += int(n.GPUs)
	}
	require.Equal(t, 6212, gpus)

	for _, alone := range []string{pods, nodes, filepath.Join(folder, "openb_pod_list_default.csv.gz"), filepath.Join(folder, "openb_node_list_gpu_node.csv")} {
		imported(t, Options{}, alone)
	}
	_, err := Import([]string{filepath.Join(folder, "openb_pod_list_multigpu50.csv.gz")}, filepath.Join(t.TempDir(), "x.trace"), Options{})
	require.ErrorContains(t, err, "found pods without times")
	_, err = Import([]string{pods, pods}, filepath.Join(t.TempDir(), "x.trace"), Options{})
	require.ErrorContains(t, err, "found a second list of pods")
}

// TestAzureLLM holds every request to the file.
func TestAzureLLM(t *testing.T) {
	path := refdata.Path(t, "traces", "service", "azure-llm-2023", "AzureLLMInferenceTrace_code.csv.gz")
	b, report := imported(t, Options{}, path)
	_, rows := naive(t, path)
	load := loadOf(t, b)
	require.EqualValues(t, len(rows), report.Read)
	require.Len(t, load, len(rows))
	require.Empty(t, report.Repaired)
	for i, r := range rows {
		at, err := time.Parse("2006-01-02 15:04:05.9999999", r[0])
		require.NoError(t, err)
		require.Equal(t, traces.Load{Service: "llm", Time: model.Time(at.UnixMicro()) - b.Info().Epoch, Arrivals: traces.Some(1.0),
			TokensIn: traces.Some(float64(whole(t, r[1]))), TokensOut: traces.Some(float64(whole(t, r[2])))}, load[i])
	}
	require.Equal(t, "2023-11-16T18:17:03Z", time.UnixMicro(int64(b.Info().Epoch)).UTC().Format(time.RFC3339))
	require.Equal(t, "UTC", b.Info().TimeZone)

	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	moved, _ := imported(t, Options{Zone: berlin, Service: "code"}, path)
	require.Equal(t, model.Hour, b.Info().Epoch.Sub(moved.Info().Epoch))
	require.Equal(t, "code", loadOf(t, moved)[0].Service)
}

// TestWorldCup98 holds the counts to the file.
func TestWorldCup98(t *testing.T) {
	path := refdata.Path(t, "traces", "service", "worldcup98", "invocation_count.csv.gz")
	b, report := imported(t, Options{}, path)
	_, rows := naive(t, path)
	require.EqualValues(t, 125_300, len(rows))
	require.EqualValues(t, len(rows), report.Kept)
	sum, want := 0.0, int64(0)
	load := loadOf(t, b)
	for i, r := range rows {
		want += whole(t, r[1])
		sum += load[i].Arrivals.V
		require.Equal(t, model.Minute, load[i].Width)
	}
	require.EqualValues(t, 1_352_804_107, want)
	require.Equal(t, float64(want), sum)
	require.Equal(t, "1998-07-26 21:59:00", time.UnixMicro(int64(b.Info().Epoch+load[len(load)-1].Time)).UTC().Format("2006-01-02 15:04:05"))
}

// TestSteam holds the players of each game to the file.
func TestSteam(t *testing.T) {
	path := refdata.Path(t, "traces", "service", "steam", "chart_data.csv.gz")
	b, report := imported(t, Options{}, path)
	header, rows := naive(t, path)
	require.Len(t, rows, 4102)
	want, filled := map[string]float64{}, int64(0)
	for name, i := range header {
		for _, r := range rows {
			if name != "DateTime" && r[i] != "" {
				want[name] += float64(whole(t, r[i]))
				filled++
			}
		}
	}
	got := map[string]float64{}
	for _, l := range loadOf(t, b) {
		got[l.Service] += l.Concurrent.V
		require.Equal(t, model.Day, l.Width)
	}
	require.Equal(t, want, got)
	require.EqualValues(t, 13_878, filled)
	require.Equal(t, filled, report.Read)
}

// TestColumnsOfRealFiles reads tables that no format knows, by their columns.
func TestColumnsOfRealFiles(t *testing.T) {
	philly := refdata.Path(t, "traces", "gpu", "philly", "philly.csv.gz")
	m, err := columns.New("jobs", []columns.Column{{Name: "submit", From: "timestamp", Unit: "text"}, {Name: "runtime", From: "duration", Unit: "s"},
		{Name: "gpus_total", From: "num_gpus"}, {Name: "tenant", From: "cluster"}}, nil)
	require.NoError(t, err)
	pacific, err := time.LoadLocation("US/Pacific")
	require.NoError(t, err)
	b, report := imported(t, Options{Columns: m, Zone: pacific}, philly)
	at, rows := naive(t, philly)
	require.EqualValues(t, len(rows), report.Kept)
	var seconds, gpus, run, asked int64
	for _, r := range rows {
		x, err := strconv.ParseFloat(r[at["duration"]], 64)
		require.NoError(t, err)
		seconds += int64(math.Round(x * 1e6))
		gpus += whole(t, r[at["num_gpus"]])
	}
	for _, j := range jobsOf(t, b) {
		run += int64(j.Runtime.V)
		asked += int64(j.GPUsTotal.V)
	}
	require.Equal(t, []int64{seconds, gpus}, []int64{run, asked})
	require.Equal(t, "ambiguous-local-time=7 sorted=1", counts(report.Repaired), "clocks were set back on 5 November")
	first := time.UnixMicro(int64(b.Info().Epoch)).In(pacific)
	require.Equal(t, "2017-09-04", first.Format("2006-01-02"))
}

// The registry refuses what it does not know, and says what came nearest and why.
func TestUnknownFilesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"TIMESTAMP,ContextTokens,Generated\n2023-11-16 18:17:03,1,2\n": "the file lacks GeneratedTokens; of the known formats azure-llm came nearest",
		"period,count\n2020-01-01 00:00:00,4\n":                        "found \"2020-01-01 00:00:00,4\", expected a period of 1998",
		"DateTime,price\n2020-01-01 00:00:00,4.5\n":                    "expected a chart as SteamDB exports it",
		"a,b,c,d\n1,2,3,4\n":                                           "it resembles no known format; a table of comma-separated values is imported by naming its columns",
		"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n":                  "found 17 fields",
		"hello world\n": "it resembles no known format; orrery import --help describes the ",
		"sn,cpu_milli,memory_mib,gpus,models\na,1,1,1,x\n": "the file lacks gpu, model; of the known formats openb came nearest",
	} {
		_, err := Detect(save(t, "x.swf", text), Options{})
		var data *traces.DataError
		require.ErrorAs(t, err, &data, text)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "x.swf: line ")
		require.ErrorContains(t, err, "known formats")
	}
}

// Files of the wrong number and kind, and options that do not apply.
func TestFilesGivenTogether(t *testing.T) {
	log := save(t, "a.swf", tiny)
	counted := save(t, "b.csv", "period,count\n1998-05-01 00:00:00,4\n")
	out := filepath.Join(t.TempDir(), "x.trace")
	_, err := Import([]string{log, counted}, out, Options{})
	require.ErrorContains(t, err, "found a file of the format worldcup98, expected swf, as "+log)
	var option *OptionError
	_, err = Import([]string{log, log}, out, Options{})
	require.ErrorAs(t, err, &option)
	require.ErrorContains(t, err, "2 files of the format swf: want 1 at most")
	_, err = Import([]string{log}, out, Options{Zone: time.UTC})
	require.ErrorAs(t, err, &option)
	_, err = Import([]string{log}, out, Options{Service: "x"})
	require.ErrorAs(t, err, &option)
}

// TestCacheOfBundles keeps imports of several tables, apart by files and options.
func TestCacheOfBundles(t *testing.T) {
	pods := save(t, "pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\np0,1500,64,1,500,,LS,Running,5,9,6\np1,1000,64,0,0,,BE,Pending,4,9,\n")
	nodes := save(t, "nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\nn0,8000,1024,2,T4\n")
	counted := save(t, "b.csv", "period,count\n1998-05-01 00:00:00,4\n")
	opts := Options{CacheDir: t.TempDir()}
	open := func(o Options, paths ...string) (traces.Info, *Opened) {
		src, opened, err := OpenAny(paths, o)
		require.NoError(t, err)
		require.NoError(t, src.Close())
		return src.Info(), opened
	}
	first, o := open(opts, pods, nodes)
	require.False(t, o.Cached)
	require.Equal(t, "pods", first.Name)
	require.Equal(t, "cpus-rounded-up=1 sorted=1", counts(o.Report.Repaired))
	require.Equal(t, []traces.TableRows{{Table: "jobs", Rows: 2}, {Table: "nodes", Rows: 1}}, first.Tables)
	again, o := open(opts, pods, nodes)
	require.True(t, o.Cached)
	require.Equal(t, first, again)
	require.ElementsMatch(t, []string{"jobs.parquet", "nodes.parquet", "label.json"}, inventory(t, o.Table))
	require.NoError(t, os.WriteFile(filepath.Join(o.Table, "nodes.parquet"), []byte("x"), 0o600))
	again, o = open(opts, pods, nodes)
	require.False(t, o.Cached)
	require.Equal(t, first, again)
	_, o = open(opts, pods)
	require.False(t, o.Cached)
	_, o = open(opts, counted)
	require.False(t, o.Cached)
	named := opts
	named.Service = "other"
	_, o = open(named, counted)
	require.False(t, o.Cached)
	require.Contains(t, o.Table, "-worldcup982-schema")
	_, o = open(named, counted)
	require.True(t, o.Cached)
}

// FuzzFormats feeds every format with anything: each refuses it with a DataError, or
// makes a bundle that is valid and accounted for.
func FuzzFormats(f *testing.F) {
	for _, seed := range []string{
		"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\np0,1500,64,1,500,A|B,LS,Running,5,9,6\np1,1,0,0,0,,BE,Pending,4,9,\n",
		"sn,cpu_milli,memory_mib,gpu,model\nn0,8000,1024,2,T4\n",
		"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799601,4808,10\n2023-11-16 18:17:02,1,1\n",
		"period,count\n1998-04-30 21:30:00,2\n1998-04-30 21:31:00,11\n",
		"\ufeff\"DateTime\",\"A\",\"B\"\n\"2011-09-22 00:00:00\",194,\n\"2011-09-23 00:00:00\",,7\n",
	} {
		f.Add([]byte(seed))
	}
	f.Cleanup(disk.Through(unsynced))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		path, out := filepath.Join(dir, "f"), filepath.Join(dir, "x.trace")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		report, err := Import([]string{path}, out, Options{})
		sound(t, out, 1, report, err)
	})
}

// TestOtherXML: a DAX is XML 1.0 in UTF-8.
func TestOtherXML(t *testing.T) {
	for head, want := range map[string]string{
		`<?xml version="1.0" encoding="latin1"?>`: `x.dax: line 1: found the encoding "latin1", expected UTF-8`,
		`<?xml version="2.0"?>`:                   `unsupported version "2.0"; only version 1.0 is supported, expected XML 1.0`,
	} {
		_, err := Import([]string{save(t, "x.dax", head+"\n<adag name=\"a\"></adag>\n")}, filepath.Join(t.TempDir(), "x.trace"), Options{})
		var data *traces.DataError
		require.ErrorAs(t, err, &data)
		require.ErrorContains(t, err, want)
	}
}
