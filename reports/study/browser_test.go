package study

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"orrery/internal/doc"
	"orrery/reports/internal/reporttest"
	"orrery/reports/page"
)

// openStudy writes the page of a study and opens it in a browser.
func openStudy(t *testing.T, s *Study) (p *opened) {
	ctx, complaints, requests := reporttest.Browser(t)
	p = &opened{t: t, dir: t.TempDir(), complaints: complaints, requests: requests}
	p.do = func(actions ...chromedp.Action) { t.Helper(); require.NoError(t, chromedp.Run(ctx, actions...)) }
	path := filepath.Join(p.dir, page.FileHTML)
	require.NoError(t, os.WriteFile(path, []byte(studyHTMLOf(t, s)), 0o644))
	p.url = "file://" + path
	p.do(chromedp.Navigate(p.url), chromedp.WaitReady(`html[data-ready="1"]`, chromedp.ByQuery))
	return p
}

type opened struct {
	t                    *testing.T
	dir, url             string
	do                   func(...chromedp.Action)
	complaints, requests func() []string
}

// text is the value of an expression of the page.
func (p *opened) text(js string) (s string) {
	p.t.Helper()
	p.do(chromedp.Evaluate(js, &s))
	return s
}

// column is what the table shows in its k-th column, from 0.
func (p *opened) column(k int) (out []string) {
	p.t.Helper()
	p.do(chromedp.Evaluate(fmt.Sprintf(`[...document.querySelectorAll("#rows tbody tr")].map((r) => r.cells[%d].textContent.trim())`, k), &out))
	return out
}

func (p *opened) count() string { return p.text(`document.getElementById("count").textContent`) }

// screenshot keeps what the page looks like, in ORRERY_LOOK when that is set.
func (p *opened) screenshot(name string) {
	p.t.Helper()
	var png []byte
	p.do(chromedp.FullScreenshot(&png, 100))
	require.Greater(p.t, len(png), 20_000)
	dir := p.dir
	if look := os.Getenv("ORRERY_LOOK"); look != "" {
		dir = look
	}
	require.NoError(p.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
}

// place is where a part of an element is in the window, after scrolling there.
func (p *opened) place(selector string, x, y float64) (at struct{ X, Y float64 }) {
	p.t.Helper()
	p.do(chromedp.Evaluate(fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		e.scrollIntoView({ block: "center" });
		const r = e.getBoundingClientRect();
		return { X: r.left + r.width * %v, Y: r.top + r.height * %v };
	})()`, selector, x, y), &at))
	return at
}

// drag presses the mouse on one part of an element and releases it on another.
func (p *opened) drag(selector string, x0, y0, x1, y1 float64) {
	p.t.Helper()
	a, b := p.place(selector, x0, y0), p.place(selector, x1, y1)
	p.do(
		chromedp.MouseEvent(input.MousePressed, a.X, a.Y, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.MouseMoved, (a.X+b.X)/2, (a.Y+b.Y)/2, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.MouseMoved, b.X, b.Y, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.MouseReleased, b.X, b.Y, chromedp.ButtonLeft),
	)
}

// ordered are the labels of the rows by a metric, as Go sorts them.
// byRank are the labels in the order in which the table begins.
func byRank(s *Study) []string {
	var out []string
	for _, i := range s.ranked() {
		out = append(out, s.Rows[i].label())
	}
	return out
}

func ordered(s *Study, metric int, down bool) []string {
	rows := slices.Clone(s.Rows)
	slices.SortStableFunc(rows, func(a, b Row) int {
		x, y := a.Metrics[metric], b.Metrics[metric]
		switch {
		case !x.Defined() || !y.Defined():
			if x.Defined() == y.Defined() {
				return 0
			}
			if x.Defined() {
				return -1
			}
			return 1
		case x == y:
			return 0
		case (x < y) != down:
			return -1
		}
		return 1
	})
	var out []string
	for i := range rows {
		out = append(out, rows[i].label())
	}
	return out
}

func TestStudyInABrowser(t *testing.T) {
	s := study(300)
	p := openStudy(t, s)
	require.Equal(t, "303 candidates", p.count())
	p.screenshot("study")

	// What is recommended and what is current first; a click on a head sorts, another turns it round.
	require.Equal(t, byRank(s)[:50], p.column(0))
	require.Equal(t, []string{"recommended", "production"}, p.column(0)[:2])
	head := func(k int) string { return fmt.Sprintf("#rows th:nth-child(%d) button", k+1) }
	sorted := func(k int) string {
		return p.text(fmt.Sprintf(`document.querySelector("#rows th:nth-child(%d)").getAttribute("aria-sort")`, k+1))
	}
	const use = 4 // the candidate, its run, the verdict, then the metrics
	require.Equal(t, "none", sorted(use))
	p.do(chromedp.Click(head(use), chromedp.ByQuery))
	require.Equal(t, "descending", sorted(use), "more is better: the best first")
	require.Equal(t, ordered(s, 1, true)[:50], p.column(0))
	p.do(chromedp.Focus(head(use), chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
	require.Equal(t, "ascending", sorted(use), "by keyboard")
	require.Equal(t, ordered(s, 1, false)[:50], p.column(0))

	// What has no value is last both ways.
	p.do(chromedp.Click(head(3), chromedp.ByQuery), chromedp.Click("#last", chromedp.ByQuery))
	got := p.column(3)
	require.Equal(t, "-", got[len(got)-1])
	p.do(chromedp.Click(head(3), chromedp.ByQuery), chromedp.Click("#last", chromedp.ByQuery))
	got = p.column(3)
	require.Equal(t, "-", got[len(got)-1])

	// Filters.
	p.do(chromedp.SendKeys("#find", "conservative", chromedp.ByQuery))
	for _, c := range p.column(10) {
		require.Equal(t, "conservative", c)
	}
	p.do(chromedp.Click("#clear", chromedp.ByQuery), chromedp.Click("#only-front", chromedp.ByQuery))
	front := 0
	for i := range s.Rows {
		if s.Rows[i].Front {
			front++
		}
	}
	require.Equal(t, fmt.Sprintf("%d of 303 candidates", front), p.count())
	p.do(chromedp.Click("#clear", chromedp.ByQuery))
	require.Equal(t, "303 candidates", p.count())
	require.Empty(t, p.complaints())
	require.Equal(t, []string{p.url}, p.requests())
}

func TestStudyBrushes(t *testing.T) {
	s := study(300)
	p := openStudy(t, s)
	// A range as a number keeps exactly the rows within it.
	within := func(k int, lo, hi float64) int {
		n := 0
		for i := range s.Rows {
			if v := float64(s.Rows[i].Values[k]); v >= lo && v <= hi {
				n++
			}
		}
		return n
	}
	p.do(chromedp.Evaluate(`document.getElementById("axes").open = true`, nil),
		chromedp.SetValue(`[aria-label="least weights.wait_time"]`, "0.5", chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelector('[aria-label="least weights.wait_time"]').dispatchEvent(new Event("change"))`, nil))
	require.Equal(t, fmt.Sprintf("%d of 303 candidates", within(0, 0.5, 1)), p.count())
	p.do(chromedp.Click("#clear", chromedp.ByQuery), chromedp.Evaluate(`document.getElementById("axes").open = false`, nil))

	// Dragging along the first axis does the same as its numbers then say.
	axis := p.text(`String(Draw.parallelFrame(1, 1, 1) && (() => { const r = document.querySelector("#par .over").getBoundingClientRect(); return Draw.parallelFrame(r.width, r.height, 7).x(0) / r.width; })())`)
	var x float64
	_, err := fmt.Sscan(axis, &x)
	require.NoError(t, err)
	p.drag("#par .over", x, 0.3, x, 0.6)
	p.do(chromedp.Poll(`document.querySelector('[aria-label="most weights.wait_time"]').value !== ""`, nil))
	var lo, hi float64
	_, err = fmt.Sscan(p.text(`document.querySelector('[aria-label="least weights.wait_time"]').value + " " + document.querySelector('[aria-label="most weights.wait_time"]').value`), &lo, &hi)
	require.NoError(t, err)
	require.Less(t, lo, hi)
	kept := within(0, lo, hi)
	require.Equal(t, fmt.Sprintf("%d of 303 candidates", kept), p.count())
	require.Greater(t, kept, 10)
	require.Less(t, kept, 290)
	p.screenshot("study-brushed")
	// A click on the axis unpins.
	at := p.place("#par .over", x, 0.45)
	p.do(chromedp.MouseClickXY(at.X, at.Y))
	require.Equal(t, "303 candidates", p.count())

	// A rectangle in the plane bounds both of its columns.
	p.drag("#plane .over", 0.15, 0.1, 0.5, 0.6)
	require.Regexp(t, `^\d+ of 303 candidates$`, p.count())
	p.do(chromedp.Click("#clear", chromedp.ByQuery))
	require.Equal(t, "303 candidates", p.count())
	require.Empty(t, p.complaints())
}

func TestStudyPointsLinkToRuns(t *testing.T) {
	s := study(300)
	p := openStudy(t, s)
	// Where the plane draws the recommended row: hover says what it is, a click pins it.
	p.do(chromedp.Evaluate(`document.querySelector('#rows .pin').click()`, nil), chromedp.WaitVisible("#open-run", chromedp.ByQuery))
	require.Contains(t, p.text(`document.getElementById("pinned").textContent`), byRank(s)[0])
	p.do(chromedp.Evaluate(`document.querySelector("#pinned button").click()`, nil), chromedp.WaitNotVisible("#pinned", chromedp.ByQuery))
	p.place("#plane .over", 0, 0)
	says := p.text(`(() => {
		const c = document.querySelector("#plane .over"), r = c.getBoundingClientRect(), says = document.getElementById("says");
		says.textContent = "";
		for (let y = 10; y < r.height; y += 6) for (let x = 80; x < r.width; x += 6) {
			c.dispatchEvent(new PointerEvent("pointermove", { clientX: r.left + x, clientY: r.top + y, bubbles: true }));
			if (says.textContent.startsWith("recommended")) {
				const e = { clientX: r.left + x, clientY: r.top + y, bubbles: true, button: 0, pointerId: 1 };
				c.dispatchEvent(new PointerEvent("pointerdown", e));
				c.dispatchEvent(new PointerEvent("pointerup", e));
				return says.textContent;
			}
		}
		return says.textContent;
	})()`)
	require.Regexp(t, `^recommended \(recommended, better\): wait_p95 \d\.\d+ h, utilisation \d+\.\d+ %, weights\.wait_time `, says)
	require.Equal(t, s.first(RoleChosen).Link, p.text(`document.getElementById("open-run").getAttribute("href")`))
	// Arrow keys step through the rows in the order of the table.
	p.do(chromedp.Focus("#plane .over", chromedp.ByQuery), chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
	require.Contains(t, p.text(`document.getElementById("pinned").textContent`), byRank(s)[1])
	require.Empty(t, p.complaints())
}

// TestColumnsAndCommands hides a column, shows the commands of a candidate, and looks for
// what is not drawn with one axis.
func TestColumnsAndCommands(t *testing.T) {
	s := study(30)
	for i := range s.Rows {
		s.Rows[i].Commands = []string{"orrery study materialize . " + s.Rows[i].ID, "orrery study profile . " + s.Rows[i].ID + " --out profile.yaml"}
		s.Rows[i].Low, s.Rows[i].High = slices.Clone(s.Rows[i].Metrics), slices.Clone(s.Rows[i].Metrics)
	}
	s.Headlines = []doc.Tile{{Value: "-31 %", Label: "wait_p95 on acceptance windows", Good: true}}
	keys := doc.New("key", "now", "then")
	keys.Row("backfill", "easy", "none")
	s.Sections = []doc.Section{{Title: "What changes", Parts: []doc.Part{doc.Say("Two keys."), doc.Show(keys)}}}
	p := openStudy(t, s)
	require.Equal(t, "-31 %", p.text(`document.querySelector(".tiles b.good").textContent`))
	require.Equal(t, "true", p.text(`String(document.querySelector("#section-1 td").getBoundingClientRect().top < document.getElementById("candidates").getBoundingClientRect().top)`))
	shown := `String([...document.querySelectorAll("#rows th")].filter((e) => !e.hidden).length + "/" + document.querySelector("#rows tbody tr").cells.length)`
	require.Equal(t, "13/13", p.text(shown))
	p.do(chromedp.Evaluate(`document.querySelector("#columns input").click()`, nil))
	require.Equal(t, "12/12", p.text(shown))
	require.Equal(t, "orrery study materialize . "+s.Rows[s.ranked()[0]].ID, p.text(`document.querySelector("#rows td .cmd").textContent`))
	require.Contains(t, p.text(`document.querySelector("#rows td .range").textContent`), " to ")
	// All axes but one are taken away: a lone axis has no lines.
	p.do(chromedp.Evaluate(`[...document.querySelectorAll("#ranges input[type=checkbox]")].filter((e) => e.checked).slice(1).forEach((e) => e.click())`, nil),
		chromedp.Poll(`document.getElementById("par").hidden`, nil))
	require.Empty(t, p.complaints())
}

// TestNarrowScreens has the narrow form of each figure on small screens, and it alone.
func TestNarrowScreens(t *testing.T) {
	p := openStudy(t, study(30))
	count := `String([".wide", ".narrow"].map((c) => [...document.querySelectorAll("#figures svg" + c)].filter((e) => e.getBoundingClientRect().height > 0).length))`
	wide := p.text(count)
	p.do(emulation.SetDeviceMetricsOverride(400, 800, 1, false))
	narrow := p.text(count)
	require.Regexp(t, `^[1-9]\d*,0$`, wide)
	require.Equal(t, "0,"+strings.TrimSuffix(wide, ",0"), narrow)
	require.Equal(t, "true", p.text(`String(document.documentElement.scrollWidth <= 400)`), "nothing is wider than the screen")
	require.Empty(t, p.complaints())
}

// TestLargeStudyInABrowser holds the time of a brush stroke over 5,000 rows: it
// is drawn while one drags.
func TestLargeStudyInABrowser(t *testing.T) {
	p := openStudy(t, study(5000))
	require.Equal(t, "5,003 candidates", p.count())
	var ms float64
	p.do(chromedp.Evaluate(`(async () => {
		const drawn = () => +document.getElementById("explore").dataset.drawn, start = performance.now(), before = drawn();
		document.getElementById("find").value = "easy";
		document.getElementById("find").dispatchEvent(new Event("input"));
		while (drawn() === before) await new Promise(requestAnimationFrame);
		return performance.now() - start;
	})()`, &ms, chromedp.EvalAsValue, awaited))
	t.Logf("filtering and drawing 5,003 rows: %.0f ms", ms)
	require.Less(t, ms, 3000.0, "it hangs")
	p.do(chromedp.Click("#clear", chromedp.ByQuery))
	p.screenshot("study-large")
	require.Empty(t, p.complaints())
}

// TestNastyStudyInABrowser opens what users may write: nothing of it runs.
func TestNastyStudyInABrowser(t *testing.T) {
	s := study(20)
	s.Name, s.Summary, s.Parameters[0].Name, s.Parameters[3].Choices[0], s.Metrics[0].Name = nasty, []string{nasty}, nasty, nasty, nasty
	for i := range s.Rows {
		s.Rows[i].Name, s.Rows[i].Verdict = nasty, nasty
	}
	p := openStudy(t, s)
	require.Contains(t, p.column(0)[0], "<script>")
	p.do(chromedp.Evaluate(`document.querySelector('#rows .pin').click()`, nil))
	require.Equal(t, "0", p.text(`String(document.querySelectorAll("img").length)`))
	require.Empty(t, p.complaints())
	require.Equal(t, []string{p.url}, p.requests())
}

func TestStudyWithoutScript(t *testing.T) {
	p := openStudy(t, study(100))
	p.do(emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(p.url), chromedp.WaitVisible("#still figure svg", chromedp.ByQuery),
		emulation.SetScriptExecutionDisabled(false))
	var shown, rows int
	p.do(chromedp.Evaluate(`[...document.querySelectorAll("figure svg")].filter((e) => e.getBoundingClientRect().height > 100).length`, &shown),
		chromedp.Evaluate(`document.querySelectorAll("#still tbody tr").length`, &rows))
	require.Equal(t, 8, shown)
	require.Equal(t, mostBest, rows)
	require.Equal(t, "true", p.text(`String(document.getElementById("explore").hidden)`))
}

func TestStudyInTheDark(t *testing.T) {
	p := openStudy(t, study(300))
	p.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}),
		chromedp.Poll(`document.getElementById("explore").dataset.drawn > 1`, nil))
	p.screenshot("study-dark")
	require.Equal(t, "rgb(20, 24, 29)", p.text(`getComputedStyle(document.body).backgroundColor`))
	require.Empty(t, p.complaints())
}

// awaited has the browser wait for a promise.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
