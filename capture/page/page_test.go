package page_test

import (
	"bytes"
	"context"
	"iter"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/capture/page"
	"orrery/capture/review"
	"orrery/scheduler/model"
	"orrery/traces"
)

// epoch is in the year 2026.
const epoch = model.Time(1_782_000_000_000_000)

// source is a node of eight GPUs, sampled for two hours at 10 s, of which one is missing for a time and clocks are held down at the peaks. Of the
// node as a whole its processors are known.
func source() review.Source {
	at := func(s int) model.Time { return epoch.Add(model.Duration(s) * model.Second) }
	mode := capture.Record{Record: capture.RecordMode, Mode: "debug", Interval: 10 * model.Second}
	gap := capture.Record{Record: capture.RecordGap, Samples: 100, Span: 1000 * model.Second, Reason: capture.GapHung}
	alert := capture.Record{Record: capture.RecordAlert, Alert: "hang", Reason: "no answer <for> 10 s"}
	inventory := capture.Record{Record: capture.RecordInventory, Inventory: &capture.Inventory{Facts: []capture.Fact{{Name: "driver.version", Value: "550.54.15"}}}}
	return review.Source{
		Nodes:  []traces.Node{{Name: "n1", GPUs: 8, GPUModel: "NVIDIA H100 80GB HBM3", Fingerprint: strings.Repeat("ab", 32)}},
		Events: []traces.Event{mode.Event(epoch, "n1"), inventory.Event(epoch, "n1"), gap.Event(at(2000), "n1/3"), alert.Event(at(2010), "n1/3")},
		Telemetry: func() iter.Seq2[*traces.Telemetry, error] {
			return func(yield func(*traces.Telemetry, error) bool) {
				for s := 0; s < 7200; s += 10 {
					if !yield(&traces.Telemetry{Node: "n1", Time: at(s), CPUUtil: traces.Some(0.25), MemUsed: traces.Some[int64](900 << 30)}, nil) {
						return
					}
					for g := range int32(8) {
						if g == 3 && s >= 2000 && s < 3000 {
							continue
						}
						wave := math.Sin(float64(s)/600 + float64(g))
						held := int64(0)
						if wave > 0.9 {
							held = 4
						}
						if !yield(&traces.Telemetry{Node: "n1", GPU: traces.Some(g), Time: at(s), Power: traces.Some(400 + 300*wave), SMUtil: traces.Some(0.5 + 0.4*wave), TensorActive: traces.Some(0.25),
							MemUsed: traces.Some[int64](40 << 30), Throttle: traces.Some(held)}, nil) {
							return
						}
					}
				}
			}
		},
	}
}

func written(t *testing.T) []byte {
	t.Helper()
	src := source()
	sum, err := review.Of(src)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, page.Write(&b, src, sum, sum.Nodes[0]))
	return b.Bytes()
}

func TestPage(t *testing.T) {
	text := string(written(t))
	require.Equal(t, text, string(written(t)), "the same bytes")
	for _, part := range []string{"8 × NVIDIA H100 80GB HBM3. From 2026-06-21 00:00:00 to 2026-06-21 02:00:00 UTC, 2h0m0s.", "Power drawn (W)", "Tensor activity", "Processors: share of the time in which they worked, of the node as a whole (%)",
		"Memory in use, of the node as a whole (GiB)", `<td>GPU 3</td><td>hung</td><td class="n">100</td><td class="n">1</td>`, "no answer &lt;for&gt; 10 s", "550.54.15", "clocks held down"} {
		require.Contains(t, text, part)
	}
	require.NotContains(t, text, "Temperature of the chip", "what was not measured has no figure")
	require.NotContains(t, text, "http://", "it asks the network for nothing")
	require.Equal(t, strings.Count(text, `<svg class="wide"`), strings.Count(text, `<svg class="narrow"`))
}

// legibility counts texts under 9 px and pairs that overlap, of the figures that are shown, and says how wide the page is.
const legibility = `(() => {
	let small = 0, over = 0, figures = 0;
	for (const svg of document.querySelectorAll("figure svg")) {
		if (svg.getBoundingClientRect().height === 0) continue;
		figures++;
		const boxes = [];
		for (const e of svg.querySelectorAll("text")) {
			const m = e.getScreenCTM(), scale = Math.hypot(m.a, m.b);
			if (parseFloat(getComputedStyle(e).fontSize) * scale < 9) small++;
			boxes.push(e.getBoundingClientRect());
		}
		for (let i = 0; i < boxes.length; i++) for (let k = 0; k < i; k++) {
			const a = boxes[i], b = boxes[k];
			if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3) over++;
		}
	}
	return [figures, small, over, Math.max(0, document.documentElement.scrollWidth - innerWidth)];
})()`

// In a browser, wide and narrow, no text is small or lies over another; the page is as wide as the screen, and dark where that is wanted.
func TestPageInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium in PATH")
	}
	file := filepath.Join(t.TempDir(), "n1.html")
	require.NoError(t, os.WriteFile(file, written(t), 0o600))
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	ctx, stop = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU)...)
	defer stop()
	ctx, stop = chromedp.NewContext(ctx)
	defer stop()
	for _, width := range []int64{1400, 400} {
		var found [4]int
		require.NoError(t, chromedp.Run(ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate("file://"+file), chromedp.Evaluate(legibility, &found)))
		require.Equal(t, [4]int{6, 0, 0, 0}, found, "at %d px: figures, texts under 9 px, texts over others, px beyond the screen", width)
	}
	var light, dark string
	paper := chromedp.Evaluate(`getComputedStyle(document.body).backgroundColor`, &light)
	require.NoError(t, chromedp.Run(ctx, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}}), paper))
	require.NoError(t, chromedp.Run(ctx, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}),
		chromedp.Evaluate(`getComputedStyle(document.body).backgroundColor`, &dark)))
	require.Equal(t, []string{"rgb(255, 255, 255)", "rgb(20, 24, 29)"}, []string{light, dark})
}
