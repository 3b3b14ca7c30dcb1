package reports

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"orrery/reports/internal/reporttest"
	"orrery/reports/page"
	"orrery/sim/record"
)

func writePage(t *testing.T, dir string, o Options) {
	html, _ := pages(t, dir, o)
	require.NoError(t, os.WriteFile(filepath.Join(dir, page.FileHTML), []byte(html), 0o644))
}

// colorsOnCanvas counts the distinct colours that the Gantt shows.
const colorsOnCanvas = `(() => {
  const c = document.getElementById("gantt-canvas"), g = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
  g.drawImage(c, 0, 0);
  return new Set(new Uint32Array(g.getImageData(0, 0, c.width, c.height).data.buffer)).size;
})()`

func TestPageInABrowser(t *testing.T) {
	ctx, complaints, requests := reporttest.Browser(t)
	dir := reporttest.TempRun(t, reporttest.Synthetic(4000, 64, 0.7, 3))
	writePage(t, dir, Options{Title: "browser test"})
	url := "file://" + filepath.Join(dir, page.FileHTML)
	var title, background, says, mode string
	var colors, charts int
	require.NoError(t, chromedp.Run(ctx,
		chromedp.Navigate(url),
		chromedp.WaitVisible(`html[data-ready="1"] #gantt-canvas[data-drawn]`, chromedp.ByQuery),
		chromedp.Title(&title),
		chromedp.Evaluate(`getComputedStyle(document.body).backgroundColor`, &background),
		chromedp.Evaluate(colorsOnCanvas, &colors),
		chromedp.Evaluate(`document.querySelectorAll(".uplot canvas").length`, &charts),
	))
	require.Equal(t, "Replay of browser test", title)
	require.Equal(t, "rgb(255, 255, 255)", background)
	require.Greater(t, colors, 8, "the Gantt is not blank")
	require.Equal(t, 2, charts)

	// The curves zoom and move by keyboard, both together.
	var zoomed, whole string
	read := `JSON.stringify([...document.querySelectorAll(".uplot")].length) + ":" + document.querySelector("#series-busy").dataset.span`
	require.NoError(t, chromedp.Run(ctx,
		chromedp.Evaluate(read, &whole),
		chromedp.Focus("#series-busy", chromedp.ByQuery), chromedp.KeyEvent("+"), chromedp.KeyEvent(kb.ArrowRight),
		chromedp.Evaluate(read, &zoomed),
	))
	require.NotEqual(t, whole, zoomed)
	require.NoError(t, chromedp.Run(ctx, chromedp.KeyEvent("0"), chromedp.Evaluate(read, &zoomed)))

	// Zoomed in, jobs are told apart and named.
	require.NoError(t, chromedp.Run(ctx,
		chromedp.Evaluate(`for (let i = 0; i < 6; i++) document.getElementById("gantt-in").click()`, nil),
		chromedp.Poll(`document.getElementById("gantt-mode").textContent === "each colour is one job"`, nil),
		chromedp.Text("#gantt-mode", &mode, chromedp.ByQuery),
		chromedp.Evaluate(`(() => {
			const c = document.getElementById("gantt-canvas"), r = c.getBoundingClientRect(), says = document.getElementById("gantt-says");
			for (let x = 80; x < r.width; x += 20) {
				c.dispatchEvent(new PointerEvent("pointermove", { clientX: r.left + x, clientY: r.top + 200, bubbles: true }));
				if (says.textContent.includes("job ")) break;
			}
			return says.textContent;
		})()`, &says),
	))
	require.Regexp(t, `node \d+: job \d+, user user\d\d, \d+ processors, COMPLETED: waited .*, ran .* UTC`, says)

	// Dark.
	require.NoError(t, chromedp.Run(ctx,
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}),
		chromedp.Evaluate(`getComputedStyle(document.body).backgroundColor`, &background),
		chromedp.Evaluate(colorsOnCanvas, &colors),
	))
	require.Equal(t, "rgb(20, 24, 29)", background)
	require.Greater(t, colors, 4)

	require.Empty(t, complaints())
	require.Equal(t, []string{url}, requests())
}

// TestPageNamesNodes points at nodes of a site with names.
func TestPageNamesNodes(t *testing.T) {
	ctx, complaints, _ := reporttest.Browser(t)
	dir := reporttest.TempRun(t, reporttest.Tiny("fcfs"))
	path := filepath.Join(dir, record.FileRun)
	info, err := os.ReadFile(path)
	require.NoError(t, err)
	named := strings.Replace(string(info), `"nodes": 4`, `"node_names": "login,gpu[09,11-12]x", "nodes": 4`, 1)
	require.NotEqual(t, string(info), named)
	require.NoError(t, os.WriteFile(path, []byte(named), 0o644))
	writePage(t, dir, Options{})
	html, err := os.ReadFile(filepath.Join(dir, page.FileHTML))
	require.NoError(t, err)
	require.Regexp(t, `>gpu12x<`, string(html), "the still figure names nodes on its axis")
	var said []string
	require.NoError(t, chromedp.Run(ctx,
		chromedp.Navigate("file://"+filepath.Join(dir, page.FileHTML)),
		chromedp.WaitVisible(`html[data-ready="1"] #gantt-canvas[data-drawn]`, chromedp.ByQuery),
		chromedp.Evaluate(`(() => {
			const c = document.getElementById("gantt-canvas"), r = c.getBoundingClientRect(), says = document.getElementById("gantt-says"), found = new Set();
			for (let y = 2; y < r.height; y++) {
				c.dispatchEvent(new PointerEvent("pointermove", { clientX: r.left + 200, clientY: r.top + y, bubbles: true }));
				const at = /, node ([^:]*):/.exec(says.textContent);
				if (at) found.add(at[1]);
			}
			return [...found];
		})()`, &said),
	))
	require.Equal(t, []string{"gpu12x", "gpu11x", "gpu09x", "login"}, said)
	require.Empty(t, complaints())
}

// TestPageWithoutScript shows the still figures and the tables.
func TestPageWithoutScript(t *testing.T) {
	ctx, complaints, _ := reporttest.Browser(t)
	dir := reporttest.TempRun(t, reporttest.Tiny("fcfs"))
	writePage(t, dir, Options{})
	var shown, hidden, rows int
	require.NoError(t, chromedp.Run(ctx,
		emulation.SetScriptExecutionDisabled(true),
		chromedp.Navigate("file://"+filepath.Join(dir, page.FileHTML)),
		chromedp.WaitVisible("#gantt-static figure svg", chromedp.ByQuery),
		emulation.SetScriptExecutionDisabled(false),
		chromedp.Evaluate(`[...document.querySelectorAll("figure svg")].filter((e) => e.getBoundingClientRect().height > 100).length`, &shown),
		chromedp.Evaluate(`[...document.querySelectorAll(".panel")].filter((e) => e.hidden).length`, &hidden),
		chromedp.Evaluate(`document.querySelectorAll("#metrics tbody tr").length`, &rows),
	))
	require.Equal(t, len(figureNames), shown)
	require.Equal(t, 2, hidden)
	require.Greater(t, rows, 20)
	require.Empty(t, complaints())
}

// A site of which powers are known has them among its curves, with the rest zoomed alike.
func TestPowerInABrowser(t *testing.T) {
	ctx, complaints, _ := reporttest.Browser(t)
	dir := reporttest.GuestSite(t, filepath.Join(t.TempDir(), "run"))
	writePage(t, dir, Options{})
	var charts int
	var labels, before, after string
	span := `document.querySelector("#series-busy").dataset.span + "|" + document.querySelector("#series-power").dataset.span`
	require.NoError(t, chromedp.Run(ctx,
		chromedp.Navigate("file://"+filepath.Join(dir, page.FileHTML)),
		chromedp.WaitVisible(`html[data-ready="1"] #series-power canvas`, chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelectorAll(".uplot canvas").length`, &charts),
		chromedp.Evaluate(`[...document.querySelectorAll("#series-power .u-label")].map((e) => e.textContent).join(" ")`, &labels),
		chromedp.Evaluate(span, &before),
		chromedp.Focus("#series-power", chromedp.ByQuery), chromedp.KeyEvent("+"),
		chromedp.Evaluate(span, &after),
	))
	require.Equal(t, 3, charts)
	require.Equal(t, "time at most at least most likely cap", strings.ReplaceAll(labels, ":", ""))
	busy, power, _ := strings.Cut(after, "|")
	require.Equal(t, busy, power)
	require.NotEqual(t, before, after)
	require.Empty(t, complaints())
}
