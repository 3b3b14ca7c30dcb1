package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// camera is a browser that takes pictures.
type camera struct {
	ctx   context.Context //nolint:containedctx // the browser lives as long as it
	close func()
}

func newCamera(ctx context.Context) (*camera, error) {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell"} {
		if p, err := exec.LookPath(name); err == nil && path == "" {
			path = p
		}
	}
	if path == "" {
		return nil, errors.New("found no Chromium in PATH: install it (apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU)
	ctx, end := chromedp.NewExecAllocator(ctx, options...)
	ctx, stop := chromedp.NewContext(ctx)
	return &camera{ctx, func() { stop(); end() }}, nil
}

// view is how a page is looked at.
type view struct {
	scheme string
	width  int64
}

var views = []view{{"light", 1400}, {"dark", 1400}, {"light", 400}, {"dark", 400}}

// shown are the views that the documents show.
var shown = []view{{"light", 1400}, {"dark", 400}}

const (
	// most is the height of a picture of a whole page, in pixels: longer ones are parted.
	most = 2000
	// tall is the height of a picture in the documents.
	tall = 900
	// wait is how long a page may take until it is drawn.
	wait = 30 * time.Second
)

// take takes the pictures of a page.
func (o *options) take(c *camera, file, name string) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	dir, list := o.out, shown
	if o.whole != "" {
		dir, list = o.whole, views
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, v := range list {
		if err := c.open("file://"+path, v); err != nil {
			return err
		}
		to := filepath.Join(dir, fmt.Sprintf("%s-%s-%d", name, v.scheme, v.width))
		if o.whole != "" {
			err = c.whole(to, v)
		} else {
			err = c.part(to+".png", cdp.Viewport{Width: float64(v.width), Height: tall, Scale: 1})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tries is how often a page is opened: a browser that is slow loses the page that it is
// asked about now and then.
const tries = 4

// open opens a page and waits until its script has drawn it.
func (c *camera) open(url string, v view) error {
	var err error
	for range tries {
		if err = c.openOnce(url, v); err == nil {
			return nil
		}
	}
	return err
}

func (c *camera) openOnce(url string, v view) error {
	ctx, stop := context.WithTimeout(c.ctx, wait)
	defer stop()
	if err := chromedp.Run(c.ctx); err != nil { // the browser starts, and is not to end with ctx
		return err
	}
	return chromedp.Run(ctx,
		emulation.SetDeviceMetricsOverride(v.width, tall, 1, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v.scheme}}),
		chromedp.Navigate(url),
		chromedp.Poll(`!document.querySelector("script:not([type])") || document.documentElement.dataset.ready === "1"`, nil),
		chromedp.Sleep(300*time.Millisecond), // two frames: what is laid out again is drawn again
	)
}

// whole takes a page from top to bottom.
func (c *camera) whole(to string, v view) error {
	var height float64
	if err := chromedp.Run(c.ctx, chromedp.Evaluate(`document.documentElement.scrollHeight`, &height)); err != nil {
		return err
	}
	for i := 0; float64(i*most) < height; i++ {
		at := cdp.Viewport{Y: float64(i * most), Width: float64(v.width), Height: min(most, height-float64(i*most)), Scale: 1}
		if err := c.part(fmt.Sprintf("%s-%d.png", to, i+1), at); err != nil {
			return err
		}
	}
	return nil
}

// part takes a rectangle of a page.
func (c *camera) part(to string, at cdp.Viewport) error {
	var png []byte
	err := chromedp.Run(c.ctx, chromedp.ActionFunc(func(ctx context.Context) (err error) {
		png, err = cdp.CaptureScreenshot().WithFormat(cdp.CaptureScreenshotFormatPng).WithCaptureBeyondViewport(true).WithClip(&at).Do(ctx)
		return err
	}))
	if err != nil {
		return err
	}
	return os.WriteFile(to, png, 0o644)
}
