package reports

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// delayed is a synthetic run, and the same with every seventh job later.
func delayed() (a, b *fixture) {
	a, b = synthetic(400, 64, 0.8, 5), synthetic(400, 64, 0.8, 5)
	b.order = "sjf"
	for i := range b.jobs {
		if j := &b.jobs[i]; i%7 == 3 {
			j.Start, j.End = j.Start+7200*second, j.End+7200*second
		}
	}
	return a, b
}

func comparedPage(t *testing.T, a, b *fixture) (dir, page string) {
	root := t.TempDir()
	c, err := Compare(a.write(t, filepath.Join(root, "before")), b.write(t, filepath.Join(root, "after")))
	require.NoError(t, err)
	dir = filepath.Join(root, "page")
	require.NoError(t, WriteComparison(dir, c))
	text, err := os.ReadFile(filepath.Join(dir, FileHTML))
	require.NoError(t, err)
	return dir, string(text)
}

func TestWriteComparison(t *testing.T) {
	dir, page := comparedPage(t, tiny("fcfs"), movedTiny())
	require.Contains(t, page, "A: before, fcfs order")
	require.Contains(t, page, "B: after, sjf order")
	require.Contains(t, page, "not ranked by waits: after is overloaded")
	require.Contains(t, page, "From A to B 1 job starts earlier, 1 later, 1 at the same time. Most of all, job 12 starts 2.5\u00a0min later.")
	require.Contains(t, page, "replay both with --decisions")
	require.NotContains(t, page, "<script")
	for _, name := range []string{"utilisation-compared", "wait-cdf-compared", "wait-difference", "gantt-moves"} {
		require.FileExists(t, filepath.Join(dir, DirFigures, name+".svg"))
		require.FileExists(t, filepath.Join(dir, DirFigures, name+".png"))
	}
	_, again := comparedPage(t, tiny("fcfs"), movedTiny())
	require.Equal(t, page[len(page)/2:], again[len(again)/2:])

	_, page = comparedPage(t, tiny("fcfs"), tiny("fcfs"))
	require.Contains(t, page, "No job moved.")
	require.Contains(t, page, ">about the same<")
}

func TestWriteComparisonOfRunsThatAreGone(t *testing.T) {
	_, err := (&Comparison{A: Side{Dir: filepath.Join(t.TempDir(), "absent")}}).AllFigures()
	require.Error(t, err)
}

func TestComparisonInABrowser(t *testing.T) {
	ctx, complaints, requests := browser(t)
	a, b := delayed()
	dir, _ := comparedPage(t, a, b)
	url := "file://" + filepath.Join(dir, FileHTML)
	var verdict string
	var figures, wider int
	require.NoError(t, chromedp.Run(ctx,
		chromedp.Navigate(url),
		chromedp.Text(".verdict", &verdict, chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelectorAll("figure svg").length`, &figures),
		chromedp.Evaluate(`document.documentElement.scrollWidth - innerWidth`, &wider),
		chromedp.Click(`a[href="#moved"]`, chromedp.ByQuery),
		chromedp.Poll(`scrollY > 500`, nil),
	))
	require.Contains(t, verdict, "in this replay")
	require.Equal(t, 4, figures)
	require.LessOrEqual(t, wider, 0, "nothing is cut off")
	require.Empty(t, complaints())
	require.Equal(t, []string{url}, requests())
}
