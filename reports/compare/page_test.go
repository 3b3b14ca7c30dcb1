package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"orrery/reports/internal/reporttest"
	"orrery/reports/page"
	"orrery/scheduler/model"
	"orrery/sim/paired"
	"orrery/sim/record"
	"orrery/sim/stat"
)

// delayed is a synthetic run, and the same with every seventh job later.
func delayed() (a, b *reporttest.Fixture) {
	a, b = reporttest.Synthetic(400, 64, 0.8, 5), reporttest.Synthetic(400, 64, 0.8, 5)
	b.Order = "sjf"
	for i := range b.Jobs {
		if j := &b.Jobs[i]; i%7 == 3 {
			j.Start, j.End = j.Start+7200*reporttest.Second, j.End+7200*reporttest.Second
		}
	}
	return a, b
}

func comparedPage(t *testing.T, a, b *reporttest.Fixture) (dir, html string) {
	root := t.TempDir()
	c, err := Runs(a.Write(t, filepath.Join(root, "before")), b.Write(t, filepath.Join(root, "after")))
	require.NoError(t, err)
	c.Windows = windowed(t, c.A.Dir, c.B.Dir)
	dir = filepath.Join(root, "page")
	require.NoError(t, Write(dir, c, page.Made{}))
	text, err := os.ReadFile(filepath.Join(dir, page.FileHTML))
	require.NoError(t, err)
	return dir, string(text)
}

// windowed compares two runs by ten windows.
func windowed(t *testing.T, a, b string) *paired.Result {
	var sides [2]paired.Side
	for i, dir := range [2]string{a, b} {
		f, err := record.Open(dir)
		require.NoError(t, err)
		jobs, err := paired.Read(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		sides[i] = paired.Side{Name: dir, Runs: []paired.Run{{Jobs: jobs}}}
	}
	r, err := paired.Compare(sides[0], sides[1:], paired.Options{Windows: 10, Stat: stat.Defaults()})
	require.NoError(t, err)
	return r
}

// TestThePageHasIntervals: every job waits longer by a twentieth, which all windows show. Without a measured noise that is a difference, and no rank.
func TestThePageHasIntervals(t *testing.T) {
	a, b := delayed()
	longer := func(times float64) {
		for i := range b.Jobs {
			wait := model.Time(float64(a.Jobs[i].Start-a.Jobs[i].Submit) * times)
			b.Jobs[i].Start, b.Jobs[i].End = a.Jobs[i].Start+wait, a.Jobs[i].End+wait
		}
	}
	longer(1) // at the last submission most of the log still waits
	_, html := comparedPage(t, a, b)
	require.Contains(t, html, "not ranked by waits: after is overloaded")

	longer(0.05)
	_, html = comparedPage(t, a, b)
	require.Contains(t, html, "the runs differ; the noise was not measured")
	require.Regexp(t, `&#43;[0-9.]+ % \(&#43;[0-9.]+ % to &#43;[0-9.]+ %\), differs</em><span>mean wait, 10 windows, A → B`, html)
	require.Contains(t, html, `<h2>By windows</h2>`)
	require.Contains(t, html, "No noise was measured: the intervals hold for the jobs exactly as submitted")
	require.Contains(t, html, "orrery compare A B --noise LOG")
	require.NotContains(t, html, `<em class="good">`)

	_, html = comparedPage(t, a, a)
	require.Contains(t, html, `<span class="verdict good">no difference</span>`)
}

func TestTheVerdictOfThePage(t *testing.T) {
	for _, c := range []struct {
		rows []string
		want string
		good bool
	}{
		{[]string{"better", "better", "better"}, "B is better", true},
		{[]string{"better", "no evidence", "no evidence"}, "B is better by m0; no evidence for 2 of 3", true},
		{[]string{"no difference", "better", "no evidence"}, "B is better by m1; no difference for 1 of 3; no evidence for 1 of 3", true},
		{[]string{"worse", "worse"}, "B is worse", false},
		{[]string{"worse", "no evidence"}, "B is worse by m0; no evidence for 1 of 2", false},
		{[]string{"worse", "better"}, "B is better by m1, worse by m0", false},
		{[]string{"differs", "no evidence"}, "the runs differ; the noise was not measured", false},
		{[]string{"no difference", "no difference"}, "no difference", true},
		{[]string{"no difference", "no evidence"}, "no evidence of a difference", false},
		{nil, "no evidence of a difference", false},
	} {
		r := &paired.Result{}
		for i, verdict := range c.rows {
			r.Rows = append(r.Rows, paired.Row{Metric: fmt.Sprintf("m%d", i), Verdict: verdict})
		}
		says, good := (&Comparison{Windows: r}).verdict()
		require.Equal(t, c.want, says)
		require.Equal(t, c.good, good)
	}
}

func TestWriteComparison(t *testing.T) {
	dir, html := comparedPage(t, reporttest.Tiny("fcfs"), movedTiny())
	require.Contains(t, html, "A: before, fcfs order")
	require.Contains(t, html, "B: after, sjf order")
	require.NotContains(t, html, "not ranked by waits")
	require.Contains(t, html, "From A to B 1 job starts earlier, 1 later, 1 at the same time; the longest wait grows from 80\u00a0s to 2.5\u00a0min. Most of all, job 12 starts 2.5\u00a0min later.")
	require.Contains(t, html, "replay both with --decisions")
	require.NotContains(t, html, "<script")
	for _, name := range []string{"utilisation-compared", "wait-cdf-compared", "wait-difference", "gantt-moves"} {
		require.FileExists(t, filepath.Join(dir, page.DirFigures, name+".svg"))
		require.FileExists(t, filepath.Join(dir, page.DirFigures, name+".png"))
	}
	_, again := comparedPage(t, reporttest.Tiny("fcfs"), movedTiny())
	require.Equal(t, html[len(html)/2:], again[len(again)/2:])

	_, html = comparedPage(t, reporttest.Tiny("fcfs"), reporttest.Tiny("fcfs"))
	require.Contains(t, html, "No job moved.")
	require.Contains(t, html, "8 needed", "a log of some minutes")
}

func TestWriteComparisonOfRunsThatAreGone(t *testing.T) {
	_, err := (&Comparison{A: Side{Dir: filepath.Join(t.TempDir(), "absent")}}).allFigures()
	require.Error(t, err)
}

func TestComparisonInABrowser(t *testing.T) {
	ctx, complaints, requests := reporttest.Browser(t)
	a, b := delayed()
	dir, _ := comparedPage(t, a, b)
	url := "file://" + filepath.Join(dir, page.FileHTML)
	var verdict string
	var figures, wider int
	require.NoError(t, chromedp.Run(ctx,
		chromedp.Navigate(url),
		chromedp.Text(".verdict", &verdict, chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelectorAll("figure svg.wide").length`, &figures),
		chromedp.Evaluate(`document.documentElement.scrollWidth - innerWidth`, &wider),
		chromedp.Click(`a[href="#moved"]`, chromedp.ByQuery),
		chromedp.Poll(`scrollY > 500`, nil),
	))
	require.Equal(t, "no evidence of a difference", verdict)
	require.Equal(t, 4, figures)
	require.LessOrEqual(t, wider, 0, "nothing is cut off")
	require.Empty(t, complaints())
	require.Equal(t, []string{url}, requests())
}
