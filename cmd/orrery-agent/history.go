package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"orrery/capture/history"
	"orrery/scheduler/model"
	"orrery/traces"
)

// asked is what the flags of history say.
type asked struct {
	history.Query
	out string
}

func parseHistory(args []string, now time.Time, help io.Writer) (*asked, error) {
	a := &asked{Query: history.Query{Select: history.DefaultSelect, Timeout: time.Minute, MaxBody: 64 << 20}}
	var from, to, tokenFile string
	var step time.Duration
	f := pflag.NewFlagSet("orrery-agent history", pflag.ContinueOnError)
	f.SetOutput(help)
	f.SortFlags = false
	f.StringVar(&a.out, "out", "", "bundle `OUT` to write: NAME.trace, which must not be there (required)")
	f.StringVar(&from, "from", "", "first instant, `TIME` like 2026-11-01T00:00:00Z or 24h for so long ago (required)")
	f.StringVar(&to, "to", "0s", "instant after the last, as --from")
	f.DurationVar(&step, "step", 0, "a row every `DUR`, 1s to 1h, with the latest values of up to 5 min before; 0 for every sample as it was scraped")
	f.StringVar(&a.Select, "select", a.Select, "series, as a `SELECTOR` of Prometheus")
	f.StringVar(&a.Label, "node-label", "", "`LABEL` that names the node; by default Hostname, which DCGM-exporter gives, else instance without its port")
	f.StringVar(&a.Node, "node", "", "`NAME` of the node where the series have no Hostname, when all are of one node")
	f.StringVar(&tokenFile, "token-file", "", "send the content of `FILE` as a bearer token")
	f.DurationVar(&a.Timeout, "timeout", a.Timeout, "wait for an answer for `DUR`")
	f.Usage = func() {
		fmt.Fprintf(help, "Usage: orrery-agent history http://HOST:9090 --from TIME --out OUT.trace [flags]\n\nMake a bundle of what a Prometheus server has kept of DCGM-exporter and node-exporter.\n\n%s\n"+
			"Exit codes: 0 written, 1 failed, or nothing found, 2 usage, 130 interrupted.\n", f.FlagUsages())
	}
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() != 1 {
		return nil, errors.New("history wants one address of a Prometheus server, http://HOST:9090")
	}
	a.URL, a.Step = f.Arg(0), model.Duration(step/time.Microsecond)
	var err1, err2, err3 error
	a.From, err1 = instant("--from", from, now)
	a.To, err2 = instant("--to", to, now)
	if tokenFile != "" {
		var text []byte
		text, err3 = os.ReadFile(tokenFile)
		a.Token = strings.TrimSpace(string(text))
	}
	if err := errors.Join(err1, err2, err3, a.Validate()); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(a.out, ".trace") {
		return nil, fmt.Errorf("--out %q: want NAME.trace", a.out)
	}
	if _, err := os.Lstat(a.out); err == nil {
		return nil, fmt.Errorf("--out %s: it is there already", a.out)
	}
	return a, nil
}

// instant reads a time, or how long ago it was, in ms.
func instant(flag, text string, now time.Time) (model.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if ago, err2 := time.ParseDuration(text); err2 == nil && ago >= 0 {
		at, err = now.Add(-ago), nil
	}
	if err != nil {
		return 0, fmt.Errorf("%s %q: want a time like 2026-11-01T00:00:00Z, or 24h for so long ago", flag, text)
	}
	return model.Time(at.UnixMilli() * 1000), nil
}

func runHistory(args []string, stdout, stderr io.Writer) int {
	a, err := parseHistory(args, time.Now(), stdout)
	if errors.Is(err, pflag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "orrery-agent: %s\n", strings.ReplaceAll(err.Error(), "\n", "\n\t"))
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err = a.write(ctx, stdout)
	switch {
	case err != nil && ctx.Err() != nil:
		return exitInterrupted
	case err != nil:
		fmt.Fprintf(stderr, "orrery-agent: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// write makes the bundle. What goes wrong leaves nothing.
func (a *asked) write(ctx context.Context, stdout io.Writer) error {
	epoch := a.From - a.From%model.Time(model.Second)
	w, err := traces.NewWriter(a.out, traces.Meta{Source: "history of Prometheus", Epoch: epoch, EpochKnown: true, TimeZone: "UTC"})
	if err != nil {
		return err
	}
	defer w.Abort()
	found := history.New()
	err = a.Rows(ctx, found, func(t *traces.Telemetry) error {
		t.Time = model.Time(t.Time.Sub(epoch))
		return w.WriteTelemetry(t)
	})
	if err != nil {
		return err
	}
	if found.Rows == 0 {
		return fmt.Errorf("the server has nothing of %s in that time", a.Select)
	}
	for _, n := range found.Nodes() {
		if err := w.WriteNode(n); err != nil {
			return err
		}
	}
	missing := int64(0)
	for _, e := range found.Events(&a.Query) {
		missing += history.Missing(&e)
		e.Time = model.Time(e.Time.Sub(epoch))
		if err := w.WriteEvent(e); err != nil {
			return err
		}
	}
	hash, err := w.Close()
	if err != nil {
		return err
	}
	for _, c := range found.Account.Left {
		if _, err := fmt.Fprintf(stdout, "left out %s: %d samples\n", c.Rule, c.Count); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(stdout, "%s: %d rows of %d nodes in %d requests, %d samples missing, content hash %s\n", a.out, found.Rows, len(found.Nodes()), found.Requests, missing, hash)
	return err
}
