package reports

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/reports/internal/reporttest"
	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/sim/metric"
	"orrery/sim/record"
)

var update = flag.Bool("update", false, "write the golden files anew")

// pages draws what people read of a run, without the PNG files, which take
// most of the time.
func pages(t testing.TB, dir string, o Options) (html, markdown string) {
	t.Helper()
	if o.MostJobs == 0 {
		o.MostJobs = defaultMostJobs
	}
	r, err := load(dir, o.MostJobs)
	require.NoError(t, err)
	defer r.close()
	if o.Title == "" {
		o.Title = r.About.Title()
	}
	var h, m bytes.Buffer
	figures := r.figures()
	d := r.document(o.Title, figures)
	p, err := r.page(d, figures)
	require.NoError(t, err)
	require.NoError(t, p.HTML(&h))
	require.NoError(t, page.Markdown(&m, d, figures))
	return h.String(), m.String()
}

var figureNames = []string{"utilisation", "wait-cdf", "slowdown-by-size", "waits-by-hour", "gantt"}

func TestWriteDrawsEverythingTwiceAlike(t *testing.T) {
	if testing.Short() {
		t.Skip("draws sixteen figures")
	}
	dir := reporttest.TempRun(t, reporttest.Tiny("fcfs"))
	names := []string{page.FileHTML, FileMarkdown}
	for _, f := range figureNames {
		names = append(names, page.DirFigures+"/"+f+".svg", page.DirFigures+"/"+f+".png")
	}
	first := map[string][]byte{}
	require.NoError(t, Write(dir, Options{}))
	for _, n := range names {
		first[n] = reporttest.Read(t, dir, n)
	}
	require.NoError(t, Write(dir, Options{}))
	for _, n := range names {
		require.True(t, bytes.Equal(first[n], reporttest.Read(t, dir, n)), n)
		if strings.HasSuffix(n, ".png") {
			img, err := png.Decode(bytes.NewReader(first[n]))
			require.NoError(t, err)
			require.Equal(t, 1440, img.Bounds().Dx())
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	require.Empty(t, left, "no temporary file stays")
}

func TestMarkdownGolden(t *testing.T) {
	_, got := pages(t, reporttest.TempRun(t, reporttest.Tiny("fcfs")), Options{})
	golden := filepath.Join("testdata", "tiny.md")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	require.Equal(t, string(reporttest.Read(t, golden)), got)
}

func TestPageIsSelfContained(t *testing.T) {
	html, _ := pages(t, reporttest.TempRun(t, reporttest.Tiny("fcfs")), Options{Title: `a <b> & "c"`})

	script := between(t, html, "<script>", "</script>")
	sum := sha256.Sum256([]byte(script))
	policy := between(t, html, `http-equiv="Content-Security-Policy" content="`, `"`)
	policy = strings.ReplaceAll(policy, "&#43;", "+")
	policy = strings.ReplaceAll(policy, "&#39;", "'")
	require.Contains(t, policy, "default-src 'none'")
	require.Contains(t, policy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")

	body := strings.Replace(html, script, "", 1)
	for _, m := range regexp.MustCompile(`(?:src|href|xlink:href|action|data)="([^"]*)"|url\(([^)]*)\)|@import`).FindAllStringSubmatch(body, -1) {
		target := m[1] + m[2]
		require.True(t, strings.HasPrefix(target, "#") || strings.HasPrefix(target, "data:"), "reference %q", m[0])
	}
	require.NotRegexp(t, `\son[a-z]+=`, body, "inline handlers")
	require.Contains(t, body, "a &lt;b&gt; &amp;")
	require.Contains(t, script, "MIT License")
	for _, words := range []string{"Replayed 5 jobs", "1 job was rejected", "1 job left the queue", "too-large", "0123456789abcdef", "utilisation", `<svg class="wide" role`} {
		require.Contains(t, body, words)
	}
	for _, style := range regexp.MustCompile(`(?:fill|stroke):#[0-9A-F]{6}`).FindAllString(body, -1) {
		require.Fail(t, "a colour of a figure does not follow the theme", style)
	}
}

func between(t *testing.T, s, a, b string) string {
	t.Helper()
	_, rest, ok := strings.Cut(s, a)
	require.True(t, ok, a)
	mid, _, ok := strings.Cut(rest, b)
	require.True(t, ok, b)
	return mid
}

// TestHundredThousandJobs bounds the size of the page, and by it the work of
// drawing: the raster takes a constant number of additions per range.
func TestHundredThousandJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("writes a run of 100,000 jobs")
	}
	dir := reporttest.TempRun(t, reporttest.Synthetic(100_000, 100, 0.8, 7))
	html, _ := pages(t, dir, Options{})
	t.Logf("report.html has %d bytes", len(html))
	require.Less(t, len(html), 5_000_000)
	require.Contains(t, html, `"layout"`, "every allocation is embedded")

	summed, _ := pages(t, dir, Options{MostJobs: 50_000})
	t.Logf("summed up it has %d bytes", len(summed))
	require.Less(t, len(summed), 3_000_000)
	require.NotContains(t, summed, `"layout"`)
}

func TestDetailGivesUpForGood(t *testing.T) {
	d := newDetail(2, 1, false)
	c := record.AttemptColumns{Job: []int32{0, 1, 2}, ID: []int64{1, 2, 3}, Start: []int64{5, 4, 3}, End: []int64{6, 6, 6}, Procs: []int32{1, 1, 1}}
	for i := range 3 {
		d.addAttempt(&c, i)
		d.addRange(0, 3, 1)
		d.addRange(4, 5, 1)
	}
	require.True(t, d.gaveUp)
	require.Nil(t, d.finish(nil))
	require.Nil(t, newDetail(1, 2, false).finish(nil))
	require.Nil(t, (*detail)(nil).bars())

	d = newDetail(2, 2, false)
	d.addAttempt(&c, 0)
	d.addRange(0, 3, 1)
	d.addRange(4, 5, 1)
	d.addAttempt(&c, 1)
	d.addRange(7, 7, 1)
	require.Equal(t, []plot.Bar{{Job: 1, StartUS: 4, EndUS: 6, Lo: 7, Hi: 7}, {Job: 0, StartUS: 5, EndUS: 6, Lo: 0, Hi: 5}}, d.finish(nil).bars())
}

func TestPlanesRoundTrip(t *testing.T) {
	cols := []pageColumn{{Name: "a", Delta: true, values: []int32{5, 3, 1 << 30}}, {Name: "b", values: []int32{-1, 7, 0}}}
	raw := planes(cols)
	require.Len(t, raw, 2*3*4)
	for c, col := range cols {
		sum := int32(0)
		for i, want := range col.values {
			v := uint32(0)
			for p := range 4 {
				v |= uint32(raw[c*12+p*3+i]) << (8 * p)
			}
			sum = int32(v) + sum*map[bool]int32{true: 1, false: 0}[col.Delta]
			require.Equal(t, want, sum)
		}
	}
}

func TestMetricsThatReportsNameExist(t *testing.T) {
	for _, name := range []string{page.MetricUtilisation, page.MetricWaitMean, metricWaitMedian, page.MetricWaitP95, page.MetricSlowdown, metricWindowBegin, metricWindowLength} {
		known := false
		for _, d := range metric.Definitions() {
			known = known || d.Name == name
		}
		require.True(t, known, name)
	}
}

func TestWriteRefusesWhatIsNoRun(t *testing.T) {
	var data *record.DataError
	for _, c := range []struct{ file, text, want string }{
		{record.FileMetrics, "{", "metrics.json"},
		{record.FileMetrics, `{"schema":9}`, "schema 9"},
		{record.FileRun, "[]", "not a JSON object"},
		{record.FileRun, `{"cluster":{"nodes":2}}`, "node 3 is not among the 2 nodes of the cluster in attempt 1 of job 12"},
	} {
		dir := reporttest.TempRun(t, reporttest.Tiny("fcfs"))
		require.NoError(t, os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o644))
		err := Write(dir, Options{})
		require.ErrorAs(t, err, &data, c.want)
		require.ErrorContains(t, err, c.want)
	}
	require.ErrorAs(t, Write(t.TempDir(), Options{}), &data)
	require.Error(t, Write(filepath.Join(t.TempDir(), "missing"), Options{}))
}

// TestRunThatSaysLittle draws a run whose run.json has no cluster: the nodes in
// use are taken for all.
func TestRunThatSaysLittle(t *testing.T) {
	dir := reporttest.TempRun(t, reporttest.Tiny("fcfs"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, record.FileRun), []byte("{}"), 0o644))
	_, markdown := pages(t, dir, Options{})
	require.Contains(t, markdown, "Replayed 5 jobs of replay on 4 processors")
}
