package reporttest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Browser starts a headless Chromium and collects what the page complains of
// and asks for. The test is skipped where there is none.
func Browser(t *testing.T) (ctx context.Context, complaints, requests func() []string) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium in PATH: the page is not opened (install chromium to have it tested)")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.WindowSize(1200, 900))
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	var mu sync.Mutex
	var bad, asked []string
	note := func(list *[]string, s string) { mu.Lock(); defer mu.Unlock(); *list = append(*list, s) }
	chromedp.ListenTarget(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventConsoleAPICalled:
			note(&bad, "console: "+string(ev.Type))
		case *runtime.EventExceptionThrown:
			note(&bad, "exception: "+ev.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			note(&bad, "log: "+ev.Entry.Text)
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(ev.Request.URL, "data:") {
				note(&asked, ev.Request.URL)
			}
		}
	})
	list := func(l *[]string) func() []string {
		return func() []string { mu.Lock(); defer mu.Unlock(); return append([]string(nil), *l...) }
	}
	require.NoError(t, chromedp.Run(ctx, network.Enable(), log.Enable(), runtime.Enable()))
	return ctx, list(&bad), list(&asked)
}

// Read is a file that a report has written.
func Read(t testing.TB, parts ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(parts...))
	require.NoError(t, err)
	return b
}
